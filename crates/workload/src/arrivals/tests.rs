use proptest::prelude::*;

use super::*;

const INTERVAL: Duration = Duration::from_millis(10);

fn offsets(arrivals: Arrivals, seed: u64, count: usize) -> Vec<Duration> {
    let mut process = ArrivalProcess::new(arrivals, INTERVAL, seed).unwrap();
    std::iter::from_fn(|| process.next_offset()).take(count).collect()
}

fn bursts() -> Arrivals {
    Arrivals::OnOff { on: Duration::from_millis(200), off: Duration::from_millis(800) }
}

#[test]
fn constant_arrivals_start_at_once_and_keep_their_distance() {
    let expected: Vec<Duration> = (0..5).map(|n| INTERVAL * n).collect();
    assert_eq!(offsets(Arrivals::Constant, 1, 5), expected);
}

#[test]
fn poisson_intervals_have_the_mean_and_the_variance_of_the_exponential_law() {
    let count = 200_000;
    let offsets = offsets(Arrivals::Poisson, 7, count);
    let gaps: Vec<f64> = std::iter::once(offsets[0])
        .chain(offsets.windows(2).map(|pair| pair[1] - pair[0]))
        .map(|gap| gap.as_secs_f64() * 1e3)
        .collect();
    let mean = gaps.iter().sum::<f64>() / 200_000.0;
    let variance = gaps.iter().map(|gap| (gap - mean).powi(2)).sum::<f64>() / 199_999.0;
    // Standard errors: 10/√n = 0.022 for the mean, 100·√(8/n) = 0.63 for the variance; four of each.
    assert!((mean - 10.0).abs() < 0.09, "mean {mean}");
    assert!((variance - 100.0).abs() < 2.6, "variance {variance}");
    let above = f64::from(u32::try_from(gaps.iter().filter(|gap| **gap > 30.0).count()).unwrap()) / 200_000.0;
    assert!((above - (-3.0f64).exp()).abs() < 0.002, "P(gap > 3 means) {above}");
}

#[test]
fn bursts_are_silent_in_between_and_keep_the_mean_interval() {
    let offsets = offsets(bursts(), 3, 50_000);
    let period = 1_000_000_000;
    assert!(offsets.iter().all(|offset| offset.as_nanos() % period <= 200_000_000));
    let mean_ms = offsets.last().unwrap().as_secs_f64() * 1e3 / 50_000.0;
    assert!((mean_ms - 10.0).abs() < 0.3, "mean {mean_ms}");
}

#[test]
fn a_trace_is_played_once() {
    let gaps = vec![Duration::from_millis(5), Duration::ZERO, Duration::from_millis(1)];
    let expected = [5, 5, 6].map(Duration::from_millis);
    assert_eq!(offsets(Arrivals::Trace(gaps), 1, 10), expected);
}

#[test]
fn the_seed_decides_the_times() {
    assert_eq!(offsets(Arrivals::Poisson, 5, 100), offsets(Arrivals::Poisson, 5, 100));
    assert_ne!(offsets(Arrivals::Poisson, 5, 100), offsets(Arrivals::Poisson, 6, 100));
}

#[test]
fn processes_without_length_are_refused() {
    let nothing = ArrivalProcess::new(Arrivals::Poisson, Duration::ZERO, 1);
    assert_eq!(nothing.unwrap_err(), ArrivalsError::ZeroInterval);
    let on_off = Arrivals::OnOff { on: Duration::ZERO, off: INTERVAL };
    assert_eq!(ArrivalProcess::new(on_off, INTERVAL, 1).unwrap_err(), ArrivalsError::ZeroBurst);
}

#[test]
fn specifications_are_read_and_printed_alike() {
    for text in ["constant", "poisson", "onoff:200ms,1.5s", "trace:/data/calls.txt"] {
        assert_eq!(text.parse::<ArrivalSpec>().unwrap().to_string(), text);
    }
    for text in
        ["", "Poisson", "poisson:1", "onoff", "onoff:1s", "onoff:1,2", "onoff:0s,1s", "trace:", "trace"]
    {
        assert!(text.parse::<ArrivalSpec>().is_err(), "{text}");
    }
    assert_eq!("trace:a:b".parse::<ArrivalSpec>().unwrap().into_arrivals(), Err("a:b".to_owned()));
}

#[test]
fn trace_texts_are_intervals_unless_they_say_timestamps() {
    let millis = |values: &[u64]| values.iter().copied().map(Duration::from_millis).collect::<Vec<_>>();
    assert_eq!(parse_trace("# calls\n0.5\n\n0.25 # busy\n"), Ok(millis(&[500, 250])));
    assert_eq!(parse_trace("timestamps\n10.5\n10.5\n10.75"), Ok(millis(&[0, 0, 250])));
    assert_eq!(parse_trace("timestamps\n2\n1"), Err(TraceError::BackInTime { line: 3 }));
    assert_eq!(parse_trace("1\ntimestamps"), Err(TraceError::MeaningTooLate { line: 2 }));
    assert!(matches!(parse_trace("1\n-1"), Err(TraceError::OutOfRange { line: 2, .. })));
    assert!(matches!(parse_trace("1\nNaN"), Err(TraceError::OutOfRange { line: 2, .. })));
    assert!(matches!(parse_trace("one"), Err(TraceError::NotANumber { line: 1, .. })));
    assert_eq!(parse_trace("# nothing\n"), Err(TraceError::Empty));
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn send_times_never_go_back(seed: u64, on in 1u64..u64::MAX, off: u64, interval in 1u64..u64::MAX) {
        let on_off = Arrivals::OnOff { on: Duration::from_nanos(on), off: Duration::from_nanos(off) };
        for arrivals in [Arrivals::Constant, Arrivals::Poisson, on_off] {
            let mut process = ArrivalProcess::new(arrivals, Duration::from_nanos(interval), seed).unwrap();
            let offsets: Vec<Duration> = std::iter::from_fn(|| process.next_offset()).take(50).collect();
            prop_assert!(offsets.is_sorted());
        }
    }

    #[test]
    fn arbitrary_texts_never_panic(text in ".{0,60}") {
        drop(parse_trace(&text));
        drop(text.parse::<ArrivalSpec>());
    }
}

#[test]
fn messages_leave_with_the_first_tick_at_or_after_their_time() {
    let tick = Duration::from_millis(4);
    let ticking = offsets(Arrivals::Ticks(tick), 3, 1000);
    for (at_tick, free) in ticking.iter().zip(offsets(Arrivals::Poisson, 3, 1000)) {
        assert_eq!(at_tick.as_nanos() % tick.as_nanos(), 0);
        assert!(*at_tick >= free && *at_tick < free + tick);
    }
    assert_eq!("ticks:4ms".parse(), Ok(ArrivalSpec::Ticks(tick)));
    assert_eq!("ticks:0ms".parse::<ArrivalSpec>(), Err(ArrivalsError::ZeroTick));
}

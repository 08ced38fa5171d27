use super::*;

const MANY: NonZeroU32 = NonZeroU32::MIN.saturating_add(1023);

fn at_rate(rate: f64) -> Conditions {
    Conditions {
        rtt: Duration::from_millis(20),
        loss: Probability::new(0.01).unwrap(),
        rate: Rate::per_second(rate).unwrap(),
        rto: Duration::from_secs(1),
        processing: Duration::from_micros(500),
    }
}

fn ms(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e3
}

#[test]
fn s4_table_is_reproduced_to_five_microseconds() {
    let expected = [40.500, 23.573, 40.500, 21.512, 40.500, 23.573, 30.862, 30.862];
    for (cell, expected) in s4::published_table().iter().zip(expected) {
        let ours = ms(s4::recompute(cell).unwrap());
        assert!((ours - expected).abs() < 0.005, "{cell:?}: {ours}");
        assert!((ours - cell.response_ms).abs() < 0.1, "{cell:?}: {ours}");
    }
}

#[test]
fn s4_simco_load_is_ten_milliseconds_and_five_streams() {
    let workload = s4::SimcoWorkload {
        opening_rate: Rate::from_interval(Duration::from_millis(30)).unwrap(),
        call_duration: Duration::from_secs(180),
        refresh: Duration::from_secs(120),
    };
    let load = s4::simco_load(&workload).unwrap();
    assert!((load.interval_s - 0.010).abs() < 1e-9);
    assert!((load.interval_exact_s - 0.009_82).abs() < 5e-6);
    assert!((load.transactions_per_second - 100.0).abs() < 1e-6);
    assert!((load.calls - 3000.0).abs() < 1e-6);
    assert_eq!(s4::simco_sufficient_streams(&workload, Duration::from_millis(20)).unwrap().get(), 5);
}

#[test]
fn s4_six_streams_suffice_at_one_percent() {
    let derivation = s4::response_time(&at_rate(100.0), Flow::ONE_STREAM).unwrap();
    assert!((ms(derivation.detection) - (20.0 + 30.0 / 0.9801)).abs() < 1e-6);
    assert_eq!(derivation.sufficient_streams.unwrap().get(), 6);
}

#[test]
fn s1_detection_is_fast_retransmit_at_high_and_timer_at_low_rates() {
    assert_eq!(s1::detection_delay(&at_rate(100.0), Flow::ONE_STREAM).unwrap(), Duration::from_millis(50));
    assert_eq!(s1::detection_delay(&at_rate(1.0), Flow::ONE_STREAM).unwrap(), Duration::from_secs(1));
    // Just below the threshold of 3/RTO the acknowledgment of the packet before no longer restarts the timer.
    let threshold = s1::fast_retransmit_threshold(Duration::from_secs(1)).unwrap();
    assert!((threshold.value() - 3.0).abs() < 1e-12);
}

#[test]
fn s1_one_way_extra_sums_the_messages_that_wait() {
    // D = 50 ms, d = 10 ms: 50 + 40 + 30 + 20 + 10 + 0 = 150 ms for each lost message.
    let derivation = s1::response_time(&at_rate(100.0), Flow::ONE_STREAM).unwrap();
    assert!((ms(derivation.one_way_extra) - 1.5).abs() < 1e-6);
    assert!((ms(derivation.response_time) - 23.5).abs() < 1e-6);
}

#[test]
fn with_sufficient_streams_ordered_is_as_fast_as_unordered() {
    let conditions = at_rate(100.0);
    let unordered = s1::response_time(&conditions, Flow::Unordered).unwrap();
    let sufficient = unordered.sufficient_streams.unwrap();
    assert_eq!(sufficient.get(), 5);
    assert_eq!(
        s1::response_time(&conditions, Flow::Streams(sufficient)).unwrap().response_time,
        unordered.response_time
    );
    let fewer = NonZeroU32::new(sufficient.get() - 1).unwrap();
    assert!(
        s1::response_time(&conditions, Flow::Streams(fewer)).unwrap().response_time > unordered.response_time
    );
    assert_eq!(
        s1::response_time(&conditions, Flow::Streams(MANY)).unwrap().response_time,
        unordered.response_time
    );
}

#[test]
fn s1_connections_recover_alone() {
    let four = Flow::Connections(NonZeroU32::new(4).unwrap());
    // RTT + 3·N·d = 20 + 120 ms.
    assert_eq!(s1::detection_delay(&at_rate(100.0), four).unwrap(), Duration::from_millis(140));
}

#[test]
fn s1_optimum_of_connections_is_the_minimum_of_the_model() {
    let rate = Rate::per_second(2000.0).unwrap();
    let rtt = Duration::from_millis(20);
    let optimal = s1::optimal_connections(rate, rtt).unwrap();
    assert!((optimal.optimum - 11.547).abs() < 1e-3);
    let conditions = Conditions { rate, ..at_rate(1.0) };
    let response = |connections: u32| {
        let flow = Flow::Connections(NonZeroU32::new(connections).unwrap());
        s1::response_time(&conditions, flow).unwrap().response_time
    };
    let best = (1..60).min_by_key(|&connections| response(connections)).unwrap();
    // Q is a whole number in the model and a real one in the formula: the minimum is flat and a little
    // ragged.
    assert!(response(optimal.connections.get()) < response(best).mul_f64(1.002), "best {best}");
    assert_eq!(s1::optimal_connections(Rate::per_second(1.0).unwrap(), rtt).unwrap().connections.get(), 1);
}

#[test]
fn udp_mean_diverges_when_half_of_the_attempts_fail() {
    let udp = |loss| {
        let loss = Probability::new(loss).unwrap();
        s4::udp_response_time(Duration::from_millis(20), loss, Duration::from_millis(500), Duration::ZERO)
    };
    assert!(udp(0.29).is_ok());
    assert!(matches!(udp(0.30), Err(ModelError::Diverges { .. })));
}

#[test]
fn nonsense_is_refused() {
    assert!(Probability::new(1.0).is_err());
    assert!(Probability::new(f64::NAN).is_err());
    assert!(Rate::per_second(0.0).is_err());
    assert!(Rate::from_interval(Duration::ZERO).is_err());
    assert_eq!(Probability::new(0.0025).unwrap().to_string(), "0.25%");
}

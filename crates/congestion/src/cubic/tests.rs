use super::*;

const SEGMENT: u64 = 1000;

fn acked(millis: u64, bytes: u64, rtt_ms: u64) -> Acknowledged {
    let srtt = Duration::from_millis(rtt_ms);
    Acknowledged { now: Instant::from_millis(millis), bytes, srtt, is_window_used: true }
}

/// Congestion at this many segments, then congestion avoidance with a full window, acknowledged in ten pieces each
/// round trip. Gives the window in segments at the end of each round.
fn rounds(at: u64, rtt_ms: u64, count: u64) -> Vec<f64> {
    let mut cubic = Cubic::new(SEGMENT, at * SEGMENT);
    cubic.on_congestion();
    let mut windows = Vec::new();
    for piece in 0..count * 10 {
        cubic.on_acknowledged(&acked(piece * rtt_ms / 10, cubic.cwnd() / 10, rtt_ms));
        if piece % 10 == 9 {
            windows.push(f64::from(u32::try_from(cubic.cwnd()).unwrap()) / 1000.0);
        }
    }
    windows
}

/// The same by the formulas of RFC 9438 §4.2 and §4.3 in floating point, written down independently of the code.
fn reference(at: f64, rtt: f64, count: u32) -> Vec<f64> {
    let (mut cwnd, mut reno) = (at * 0.7, at * 0.7);
    let k = ((at - cwnd) / 0.4).cbrt();
    let curve = |t: f64| 0.4 * (t - k).powi(3) + at;
    let mut windows = Vec::new();
    for piece in 0..count * 10 {
        let t = f64::from(piece) * rtt / 10.0;
        let acked = cwnd / 10.0;
        let alpha = if reno < at { 3.0 * 0.3 / 1.7 } else { 1.0 };
        reno += alpha * acked / cwnd;
        if curve(t) < reno {
            cwnd = cwnd.max(reno);
        } else {
            cwnd += (curve(t + rtt).clamp(cwnd, 1.5 * cwnd) - cwnd) * acked / cwnd;
        }
        if piece % 10 == 9 {
            windows.push(cwnd);
        }
    }
    windows
}

#[test]
fn window_follows_the_formulas_in_every_region() {
    // Long and fat: concave, plateau, convex. Short: Reno's region, beyond the old maximum too.
    for (at, rtt_ms, count) in [(100, 100, 120), (1000, 200, 150), (20, 20, 100), (10, 5, 400)] {
        let computed = reference(f64::from(u32::try_from(at).unwrap()), rtt_ms as f64 / 1000.0, count);
        for (round, (window, expected)) in rounds(at, rtt_ms, count.into()).iter().zip(&computed).enumerate()
        {
            let error = (window - expected).abs() / expected;
            assert!(error < 0.005, "at {at}, {rtt_ms} ms, round {round}: {window} instead of {expected}");
        }
    }
}

/// By hand: 100 segments reduced to 70 are reached again after ∛75 = 4.2 s, whatever the round trip, if it is long
/// enough for Reno to be slower.
#[test]
fn old_maximum_is_reached_again_after_k() {
    for rtt_ms in [200_u64, 400] {
        let windows = rounds(100, rtt_ms, 10_000 / rtt_ms);
        let at = |millis: u64| windows[usize::try_from(millis / rtt_ms).unwrap() - 1];
        assert!((at(4_400) - 100.0).abs() < 1.0, "{} at {rtt_ms} ms", at(4_400));
        assert!(at(2_000) > 93.0 && at(6_000) < 105.0 && at(8_000) > 118.0);
    }
}

/// RFC 9438 §4.6, §4.7.
#[test]
fn reduction_is_to_seven_tenths_and_a_falling_maximum_makes_room() {
    let mut cubic = Cubic::new(SEGMENT, 100_000);
    cubic.on_congestion();
    assert_eq!((cubic.cwnd(), cubic.state.w_max()), (70_000, 100_000));
    cubic.on_congestion();
    assert_eq!((cubic.cwnd(), cubic.state.w_max()), (49_000, 59_500));
    for _ in 0..20 {
        cubic.on_congestion();
    }
    assert_eq!(cubic.cwnd(), 2000);
}

/// RFC 9438 §4.8: slow start to the threshold, then a curve that begins at its plateau.
#[test]
fn timeout_begins_with_one_segment_and_a_flat_curve() {
    let mut cubic = Cubic::new(SEGMENT, 100_000);
    cubic.on_timeout();
    assert_eq!((cubic.cwnd(), cubic.ssthresh()), (1000, Some(70_000)));
    while cubic.cwnd() < 70_000 {
        cubic.on_acknowledged(&acked(0, 2000, 100));
    }
    assert_eq!(cubic.cwnd(), 70_000);
    for round in 0..5 {
        cubic.on_acknowledged(&acked(round * 100, cubic.cwnd(), 100));
    }
    assert!(cubic.cwnd() < 73_000, "{}", cubic.cwnd());
}

/// RFC 9438 §4.10: one acknowledgment may stand for many packets, and slow start ends where it should all the same.
#[test]
fn slow_start_adds_what_is_acknowledged_up_to_the_threshold() {
    let mut cubic = Cubic::new(SEGMENT, 10_000);
    cubic.on_acknowledged(&acked(0, 10_000, 100));
    assert_eq!(cubic.cwnd(), 20_000);
    cubic.on_timeout();
    cubic.on_acknowledged(&acked(0, 1000, 100));
    cubic.on_acknowledged(&acked(0, 50_000, 100));
    assert_eq!((cubic.cwnd(), cubic.ssthresh()), (14_000, Some(14_000)));
}

/// RFC 9438 §4.9.
#[test]
fn spurious_congestion_is_undone_unless_the_window_has_outgrown_it() {
    let mut cubic = Cubic::new(SEGMENT, 50_000);
    cubic.on_congestion();
    cubic.on_spurious_congestion();
    assert_eq!((cubic.cwnd(), cubic.ssthresh()), (50_000, None));
    cubic.on_spurious_congestion();
    assert_eq!(cubic.cwnd(), 50_000);

    cubic.on_congestion();
    for round in 0..200 {
        cubic.on_acknowledged(&acked(round * 100, cubic.cwnd(), 100));
    }
    let grown = cubic.cwnd();
    assert!(grown > 50_000);
    cubic.on_spurious_congestion();
    assert_eq!(cubic.cwnd(), grown);
    cubic.on_timeout();
    cubic.on_spurious_congestion();
    assert_eq!(cubic.cwnd(), grown);
}

/// RFC 9438 §5.8: time in which the window limited nobody does not count.
#[test]
fn unused_window_does_not_grow_and_its_time_does_not_count() {
    let mut cubic = Cubic::new(SEGMENT, 100_000);
    cubic.on_congestion();
    cubic.on_acknowledged(&acked(0, 1000, 100));
    let begun = cubic.cwnd();
    for second in 1..60 {
        cubic.on_acknowledged(&Acknowledged { is_window_used: false, ..acked(second * 1000, 1000, 100) });
    }
    assert_eq!(cubic.cwnd(), begun);
    cubic.on_acknowledged(&acked(59_100, 1000, 100));
    assert!(cubic.cwnd() < begun + 200, "{begun} {}", cubic.cwnd());
}

/// A window in its first slow start, and what each round has seen: all of it acknowledged in ten pieces with this round trip.
fn slow_start(rtts_ms: impl IntoIterator<Item = u64>) -> (Cubic, Vec<u64>) {
    let mut cubic = Cubic::new(SEGMENT, 10 * SEGMENT);
    let mut windows = Vec::new();
    for rtt_ms in rtts_ms {
        let (piece, round) = (cubic.cwnd() / 10, cubic.cwnd());
        for left in (0..10).rev() {
            let rtt = Some(Duration::from_millis(rtt_ms));
            // What was acknowledged is in flight again, and what the window has grown by.
            let flight = if left == 9 { round } else { left * piece };
            cubic.on_measured(&acked(0, piece, rtt_ms), &Measured { rtt, flight });
        }
        windows.push(cubic.cwnd() / SEGMENT);
    }
    (cubic, windows)
}

/// RFC 9406 §4.2: an eighth of 80 ms is 10 ms; of the round that shows it eight pieces had gone by at full speed.
#[test]
fn slow_start_slows_down_when_the_round_trip_grows_by_an_eighth_and_ends_five_rounds_later() {
    let (steady, windows) = slow_start([80, 80, 89, 89, 89]);
    assert_eq!((windows.as_slice(), steady.ssthresh()), (&[20, 40, 80, 160, 320][..], None));
    let (slowed, windows) = slow_start([80, 80, 90, 90]);
    assert_eq!(slowed.ssthresh(), None);
    assert!((65..=72).contains(&windows[2]) && (80..=90).contains(&windows[3]), "{windows:?}");
    let (ended, windows) = slow_start([80, 80, 90, 90, 90, 90, 90, 90]);
    // The round that showed it is one of the five.
    assert_eq!(ended.ssthresh().map(|octets| octets / SEGMENT), Some(windows[6]), "{windows:?}");
    assert!(windows[6] < 180 && windows[7] <= windows[6] + 2, "{windows:?}");
}

/// RFC 9406 §4.2: what looked like a queue was none.
#[test]
fn slow_start_goes_on_at_full_speed_when_the_round_trip_shortens_again() {
    let (cubic, windows) = slow_start([80, 80, 90, 80, 80, 80]);
    assert_eq!(cubic.ssthresh(), None);
    assert_eq!(windows[5], 2 * windows[4], "{windows:?}");
}

/// Rules of RFC 9406 §4.3: the step is 4 ms at least and 16 ms at most.
#[test]
fn step_of_the_round_trip_that_counts_has_bounds() {
    let slowed = |rtts: [u64; 3]| slow_start(rtts).1[2] < 80;
    assert!(!slowed([8, 8, 11]) && slowed([8, 8, 12]));
    assert!(!slowed([400, 400, 415]) && slowed([400, 400, 416]));
}

#[test]
fn window_that_nobody_fills_says_nothing_about_a_queue() {
    let mut cubic = Cubic::new(SEGMENT, 10 * SEGMENT);
    for round in 0..40 {
        for _ in 0..10 {
            let rtt = Some(Duration::from_millis(if round < 2 { 80 } else { 300 }));
            let thin = acked(0, SEGMENT, 80);
            let thin = Acknowledged { is_window_used: false, ..thin };
            cubic.on_measured(&thin, &Measured { rtt, flight: 0 });
        }
    }
    assert_eq!((cubic.cwnd(), cubic.ssthresh()), (10 * SEGMENT, None));
}

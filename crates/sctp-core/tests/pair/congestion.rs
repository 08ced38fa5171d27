//! How much is in flight (RFC 9260 §7.2).

use core::time::Duration;

use sctp_core::{AssociationConfig, CongestionAlgorithm, InitialWindow, Pacing, StandingQueue};

use crate::net::{End, Pair, Setup, ordered};

const PMDCS: usize = 1400 - 20 - 12;

fn cwnd(pair: &Pair) -> usize {
    pair.statistics(End::Left).paths[0].cwnd_bytes
}

/// A bottleneck of 10 Mbit/s, so that packets and their acknowledgments come one by one.
fn paced() -> Setup {
    let mut setup = Setup::rfc9260();
    setup.request.rate = netem::BitRate::from_bits_per_second(10_000_000);
    setup
}

fn flow(pair: &mut Pair, messages: usize) {
    for number in 0..messages {
        pair.send(End::Left, ordered(0, number, 1352));
    }
}

#[test]
fn window_begins_small_and_grows_only_while_it_is_used() {
    let mut pair = paced().connected();
    assert_eq!(cwnd(&pair), 4404);
    pair.send(End::Left, ordered(0, 1, 100));
    pair.run_ms(500);
    assert_eq!(cwnd(&pair), 4404, "an unused window does not grow");
    let from = pair.now_ms();
    flow(&mut pair, 60);
    assert_eq!(pair.times_of(End::Left, "DATA", from).len(), 4, "one packet may exceed the window");
    pair.run_ms(25);
    assert!(cwnd(&pair) >= 4404 + PMDCS);
    pair.run_ms(2000);
    assert!(cwnd(&pair) > 4 * 4404);
    assert_eq!(pair.side(End::Right).received.len(), 61);
}

/// RFC 6928, which leaves it to the window alone how much leaves at first; what comes later is paced.
#[test]
fn initial_window_of_ten_packets_leaves_at_once_and_later_ones_do_not() {
    let mut setup =
        Setup::signalling().configure(|config| config.congestion.initial_window = InitialWindow::TenPackets);
    for way in [&mut setup.request, &mut setup.response] {
        way.delay = Duration::from_millis(10);
    }
    let mut pair = setup.connected();
    let from = pair.now_ms();
    flow(&mut pair, 60);
    assert_eq!(pair.times_of(End::Left, "DATA", from).len(), 10);
    pair.run_ms(20);
    assert!(pair.times_of(End::Left, "DATA", from).len() < 20, "{:?}", pair.log(End::Left, from));
    pair.run_ms(1000);
    assert_eq!(pair.side(End::Right).received.len(), 60);
}

/// RFC 9260 §6.1 (B): never more than the window and one packet.
#[test]
fn flight_never_exceeds_the_window_by_more_than_a_packet() {
    for seed in 0..5 {
        let mut setup = paced();
        setup.seed = seed;
        let lossy = netem::Impairments { loss: "2%".parse().unwrap(), ..setup.request.clone() };
        let mut pair = setup.connected();
        pair.impair(End::Left, lossy);
        flow(&mut pair, 500);
        for _ in 0..500 {
            let before = cwnd(&pair);
            pair.run_ms(1);
            let path = pair.statistics(End::Left).paths[0];
            let limit = before.max(path.cwnd_bytes) + PMDCS;
            assert!(path.flight_bytes < limit || path.counters.recoveries > 0, "{path:?}");
        }
    }
}

#[test]
fn loss_halves_the_window_once_per_recovery() {
    let mut pair = paced().connected();
    flow(&mut pair, 100);
    pair.run_ms(500);
    let grown = cwnd(&pair);
    let from = pair.now_ms();
    pair.drop_next(End::Left, &[1, 3]);
    flow(&mut pair, 100);
    pair.run_ms(80);
    let path = pair.statistics(End::Left).paths[0];
    assert_eq!(path.counters.recoveries, 1, "{:?}", pair.log(End::Left, from));
    assert!(path.cwnd_bytes <= (grown + 6 * PMDCS) / 2 && path.cwnd_bytes >= 4 * PMDCS, "{grown} {path:?}");
    pair.run_ms(3000);
    assert_eq!(pair.statistics(End::Left).paths[0].counters.timeouts, 0);
    assert_eq!(pair.side(End::Right).received.len(), 200);
}

/// RFC 9260 §7.2.1: halved per idle timeout, though packets without data keep going out.
#[test]
fn idle_window_shrinks_even_while_the_peer_sends() {
    let mut pair = paced().connected();
    flow(&mut pair, 200);
    pair.run_ms(2000);
    assert!(cwnd(&pair) > 8 * PMDCS);
    for number in 0..40 {
        pair.send(End::Right, ordered(0, number, 100));
        pair.run_ms(500);
    }
    pair.send(End::Left, ordered(0, 1, 100));
    assert_eq!(cwnd(&pair), 4 * PMDCS);
}

/// RFC 9260 §6.1 (D): at most Max.Burst packets on one occasion.
#[test]
fn burst_is_limited() {
    let mut pair = paced().connected();
    flow(&mut pair, 200);
    pair.run_ms(2000);
    let from = pair.now_ms();
    pair.with(End::Left, |side, now| {
        for number in 0..20 {
            side.endpoint.send(now, side.id.unwrap(), ordered(0, number, 1352)).unwrap();
        }
    });
    assert_eq!(pair.times_of(End::Left, "DATA", from), [from; 4]);
}

/// In the manner of RFC 9002 §7.7: a burst at once, the rest by a timer and not by acknowledgments.
#[test]
fn pacing_spreads_what_exceeds_a_burst_over_the_round_trip() {
    let mut pair = paced().configure(|config| config.congestion.pacing = Pacing::On).connected();
    flow(&mut pair, 200);
    pair.run_ms(2000);
    assert!(cwnd(&pair) > 8 * PMDCS);
    let from = pair.now_ms();
    pair.with(End::Left, |side, now| {
        for number in 0..8 {
            side.endpoint.send(now, side.id.unwrap(), ordered(0, number, 1352)).unwrap();
        }
    });
    pair.run_ms(20);
    let times = pair.times_of(End::Left, "DATA", from);
    assert_eq!(times[..4], [from; 4]);
    assert!(times.len() == 8 && times[7] > from, "{from}: {times:?}");
    assert!(pair.statistics(End::Left).paths[0].congestion.paced > 0);
    pair.run_ms(100);
    assert_eq!(pair.side(End::Right).received.len(), 208);
}

/// What is of priority waits behind what has left, however little: with a bound that is short, and the transfer takes no
/// longer.
#[test]
fn a_bounded_queue_shortens_the_round_trip_and_not_the_rate() {
    let transfer = |standing_queue| {
        let mut pair = paced()
            .configure(move |config| {
                config.congestion.standing_queue = standing_queue;
                config.buffers.send_bytes = 2 << 20;
            })
            .connected();
        let from = pair.now_ms();
        flow(&mut pair, 700);
        let mut longest = Duration::ZERO;
        while pair.side(End::Right).received.len() < 700 {
            pair.run_ms(10);
            assert!(pair.now_ms() - from < 10_000, "it ends");
            if pair.now_ms() - from > 300 {
                longest = longest.max(pair.statistics(End::Left).paths[0].srtt.unwrap());
            }
        }
        (longest, pair.now_ms() - from)
    };
    let (unbounded, time) = transfer(StandingQueue::Unbounded);
    let (bounded, bounded_time) = transfer(StandingQueue::Within(Duration::from_millis(15)));
    // 20 ms and the 15 that are allowed.
    assert!(bounded < Duration::from_millis(40), "{bounded:?}");
    assert!(bounded * 2 < unbounded, "{bounded:?} and {unbounded:?}");
    assert!(bounded_time * 100 <= time * 103, "{bounded_time} and {time} ms");
}

/// RFC 9438: the same transfer with the other algorithm.
#[test]
fn cubic_carries_a_lossy_transfer_and_shrinks_to_seven_tenths() {
    let cubic = |config: &mut AssociationConfig| config.congestion.algorithm = CongestionAlgorithm::Cubic;
    let mut pair = paced().configure(cubic).connected();
    flow(&mut pair, 100);
    pair.run_ms(500);
    let grown = cwnd(&pair);
    pair.drop_next(End::Left, &[5]);
    flow(&mut pair, 100);
    pair.run_ms(60);
    let path = pair.statistics(End::Left).paths[0];
    assert_eq!(path.counters.recoveries, 1);
    assert!(path.ssthresh_bytes.unwrap() >= grown / 10 * 7, "{grown} {path:?}");
    pair.run_ms(2000);
    assert_eq!(pair.side(End::Right).received.len(), 200);
    assert_eq!(pair.statistics(End::Left).paths[0].counters.timeouts, 0);
}

/// Without a bottleneck packets arrive together and one SACK acknowledges many: what it acknowledges may be replaced
/// at once, beyond Max.Burst, so that slow start goes on.
#[test]
fn acknowledgments_that_come_together_do_not_throttle() {
    let mut pair = Setup::rfc9260().connected();
    let from = pair.now_ms();
    flow(&mut pair, 500);
    pair.run_ms(600);
    assert_eq!(pair.side(End::Right).received.len(), 500);
    assert!(cwnd(&pair) > 8 * PMDCS, "cwnd {} after {} ms", cwnd(&pair), pair.now_ms() - from);
}

/// The same where no two messages fit a packet and none fills one: packets are replaced by packets, however full.
#[test]
fn acknowledgments_of_packets_that_are_not_full_do_not_throttle() {
    let mut pair = Setup::rfc9260().connected();
    for number in 0..600 {
        pair.send(End::Left, ordered(0, number, 760));
    }
    pair.run_ms(900);
    assert_eq!(pair.side(End::Right).received.len(), 600);
    assert!(cwnd(&pair) > 16 * PMDCS, "cwnd {}", cwnd(&pair));
}

/// An idle right end and a left end with a window of many packets.
fn wide_open() -> Pair {
    let mut pair = paced().connected();
    flow(&mut pair, 200);
    pair.run_ms(600);
    assert!(cwnd(&pair) > 12 * PMDCS);
    pair
}

/// RFC 9260 §6.1 (D): whoever sends message by message gets no more than whoever hands them over at once.
#[test]
fn sending_in_a_loop_does_not_renew_the_burst_limit() {
    let mut pair = wide_open();
    let from = pair.now_ms();
    flow(&mut pair, 12);
    assert_eq!(pair.times_of(End::Left, "DATA", from).len(), 4);
    pair.run_ms(200);
    assert_eq!(pair.side(End::Right).received.len(), 212);
}

/// Small messages, and large ones no denser than the window allows, leave at once all the same.
#[test]
fn burst_limit_does_not_delay_messages_that_come_one_by_one() {
    for (bytes, pause) in [(100, 1), (1352, 4)] {
        let mut pair = wide_open();
        for number in 0..30 {
            let now = pair.now_ms();
            pair.send(End::Left, ordered(0, number, bytes));
            assert_eq!(pair.times_of(End::Left, "DATA", now).len(), 1, "message {number} of {bytes}");
            pair.run_ms(pause);
        }
    }
}

/// RFC 9260 §6.2: every second packet. In bulk each packet fills the window again; were each marked with the I bit
/// (§6.1), the flow would be acknowledged, and would open its window in slow start, twice as fast as TCP does.
#[test]
fn bulk_is_acknowledged_every_second_packet_in_both_profiles() {
    for mut setup in [Setup::rfc9260(), Setup::signalling()] {
        setup.request = paced().request;
        let mut pair = setup.connected();
        let from = pair.now_ms();
        flow(&mut pair, 40);
        pair.run_ms(2000);
        let [data, sacks] = [(End::Left, "DATA"), (End::Right, "SACK")]
            .map(|(end, chunk)| pair.times_of(end, chunk, from).len());
        assert!(data >= 40 && sacks <= data / 2 + 5, "{sacks} SACKs for {data} packets");
        assert_eq!(pair.side(End::Right).received.len(), 40);
    }
}

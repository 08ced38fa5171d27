//! A congestion control that has a model of the path: BBRv3 (draft-ietf-ccwg-bbr).

use core::time::Duration;

use sctp_core::{AssociationConfig, CongestionAlgorithm, Pacing, Profile};

use crate::net::{End, Pair, Setup, ms, ordered};

/// A path of 10 Mbit/s and 100 ms with a queue of 60 packets, which loses this of the packets with data.
fn long(algorithm: CongestionAlgorithm, loss: &str) -> Pair {
    let mut setup = Setup::new(Profile::Signalling).configure(|config: &mut AssociationConfig| {
        config.congestion.algorithm = algorithm;
        config.buffers.send_bytes = 4 << 20;
        config.buffers.receive_bytes = 1 << 20;
    });
    for way in [&mut setup.request, &mut setup.response] {
        way.delay = Duration::from_millis(50);
    }
    setup.request.rate = netem::BitRate::from_bits_per_second(10_000_000);
    setup.request.queue = Some(netem::QueueLimit::Packets(60));
    let lossy = netem::Impairments { loss: loss.parse().unwrap(), ..setup.request.clone() };
    let mut pair = setup.build();
    pair.connect();
    pair.run_ms(1000);
    pair.impair(End::Left, lossy);
    pair
}

/// Hands messages in, and returns how many milliseconds pass until all have arrived, at most a minute.
fn transfer(pair: &mut Pair, messages: usize) -> u64 {
    let from = pair.now_ms();
    for number in 0..messages {
        pair.send(End::Left, ordered(0, number, 1352));
    }
    while pair.side(End::Right).received.len() < messages && pair.now_ms() - from < 60_000 {
        pair.run_ms(10);
    }
    pair.now_ms() - from
}

/// By hand: 2000 packets of 1400 octets take 2.24 s of 10 Mbit/s.
#[test]
fn losses_by_chance_leave_the_rate_nearly_as_it_is() {
    let mut pair = long(CongestionAlgorithm::Bbr, "1%");
    let model = transfer(&mut pair, 2000);
    let cubic = transfer(&mut long(CongestionAlgorithm::Cubic, "1%"), 2000);
    assert!(model < 3500, "{model} ms");
    assert!(2 * cubic > 3 * model, "{cubic} and {model} ms");
    assert_eq!(pair.side(End::Right).received.len(), 2000);
}

#[test]
fn no_queue_is_kept_and_nothing_lost_once_the_path_is_known() {
    let mut pair = long(CongestionAlgorithm::Bbr, "0%");
    assert!(transfer(&mut pair, 1000) < 3000);
    let before = pair.statistics(End::Left).sender.retransmissions;
    let mut longest = Duration::ZERO;
    for number in 1000..2500 {
        pair.send(End::Left, ordered(0, number, 1352));
    }
    while pair.side(End::Right).received.len() < 2500 {
        pair.run_ms(10);
        longest = longest.max(pair.statistics(End::Left).paths[0].srtt.unwrap());
        assert!(pair.now_ms() < 60_000, "it ends");
    }
    // A quarter more is sent for a few round trips, now and then.
    assert!(longest < ms(150), "{longest:?}");
    assert_eq!(pair.statistics(End::Left).sender.retransmissions, before);
}

/// RFC 9260 §7.2.3, §6.3.3: whatever the model says.
#[test]
fn path_that_falls_silent_is_probed_by_single_packets_and_used_again_when_it_answers() {
    let mut pair = long(CongestionAlgorithm::Bbr, "0%");
    transfer(&mut pair, 500);
    pair.cut();
    for number in 500..1000 {
        pair.send(End::Left, ordered(0, number, 1352));
    }
    pair.run_ms(1000);
    let from = pair.now_ms();
    pair.run_ms(3000);
    let probes = pair.times_of(End::Left, "DATA", from).len();
    assert!(probes <= 6, "{probes} packets into a path that does not answer");
    pair.mend();
    pair.run_ms(12_000);
    assert_eq!(pair.side(End::Right).received.len(), 1000);
}

/// A control that sets a rate has it kept, whatever the profile says about windows.
#[test]
fn packets_are_spread_though_pacing_is_off() {
    let setup = Setup::rfc9260().configure(|config: &mut AssociationConfig| {
        config.congestion.algorithm = CongestionAlgorithm::Bbr;
        assert_eq!(config.congestion.pacing, Pacing::Off);
    });
    let mut pair = setup.connected();
    transfer(&mut pair, 300);
    assert!(pair.statistics(End::Left).paths[0].congestion.paced > 10);
}

//! Laws that hold for every link, whatever its impairments and the traffic.

use std::time::Duration;

use netem::{GilbertElliott, Impairments, Link, Loss, Probability, QueueLimit, Verdict};
use proptest::prelude::*;
use virtual_time::Instant;

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_packet_is_delivered_dropped_or_in_flight(
        impairments in impairments(), seed: u64, traffic in traffic()
    ) {
        let mut link = Link::new(impairments, seed).unwrap();
        let mut now = Instant::EPOCH;
        for (gap, wire_bytes) in traffic {
            now += gap;
            link.offer(now, wire_bytes, ());
            while let Some(delivery) = link.poll_deliver(now) {
                prop_assert!(delivery.due <= now && delivery.offered_at <= delivery.due);
            }
            let stats = link.stats();
            let in_flight = u64::try_from(link.in_flight()).unwrap();
            prop_assert_eq!(stats.offered + stats.duplicated, stats.delivered + stats.dropped() + in_flight);
        }
        while link.poll_deliver(Instant::MAX).is_some() {}
        let stats = link.stats();
        prop_assert_eq!(stats.offered + stats.duplicated, stats.delivered + stats.dropped());
        prop_assert_eq!(link.poll_timeout(), None);
    }

    #[test]
    fn arrivals_are_no_earlier_than_the_least_delay_and_ordered_by_due_time(
        impairments in impairments(), seed: u64, traffic in traffic()
    ) {
        let least = impairments.delay - impairments.jitter;
        let can_skip_delay = impairments.reorder.is_possible();
        let mut link = Link::new(impairments, seed).unwrap();
        let mut now = Instant::EPOCH;
        for (gap, wire_bytes) in traffic {
            now += gap;
            if let Verdict::Queued { deliver_at, .. } = link.offer(now, wire_bytes, ()) {
                prop_assert!(can_skip_delay || deliver_at >= now + least);
            }
        }
        let mut last = Instant::EPOCH;
        while let Some(due) = link.poll_timeout() {
            let delivery = link.poll_deliver(due).unwrap();
            prop_assert_eq!(delivery.due, due);
            prop_assert!(due >= last);
            last = due;
        }
    }

    #[test]
    fn decisions_repeat_with_the_seed(impairments in impairments(), seed: u64, traffic in traffic()) {
        let run = || {
            let mut link = Link::new(impairments.clone(), seed).unwrap();
            let mut now = Instant::EPOCH;
            for (number, (gap, wire_bytes)) in traffic.iter().enumerate() {
                now += *gap;
                link.offer(now, *wire_bytes, number);
            }
            let mut arrivals = Vec::new();
            while let Some(delivery) = link.poll_deliver(Instant::MAX) {
                arrivals.push(delivery);
            }
            arrivals
        };
        prop_assert_eq!(run(), run());
    }
}

fn traffic() -> impl Strategy<Value = Vec<(Duration, usize)>> {
    prop::collection::vec(((0_u64..3_000_000).prop_map(Duration::from_nanos), 20_usize..1500), 1..200)
}

fn probability() -> impl Strategy<Value = Probability> {
    prop_oneof![Just(0.0), 0.0..0.5].prop_filter_map("in range", |p| Probability::new(p).ok())
}

fn loss() -> impl Strategy<Value = Loss> {
    prop_oneof![
        Just(Loss::None),
        probability().prop_map(Loss::Bernoulli),
        (0.0..0.5, 0.01..1.0, 0.0..1.0, 0.5..1.0)
            .prop_filter_map("loses all", |(p, r, h, k)| GilbertElliott::new(p, r, h, k).ok())
            .prop_map(Loss::GilbertElliott),
    ]
}

fn rate_and_queue() -> impl Strategy<Value = (Option<netem::BitRate>, Option<QueueLimit>)> {
    let queue = prop_oneof![
        Just(None),
        (0_u32..20).prop_map(|packets| Some(QueueLimit::Packets(packets))),
        (0_u64..20_000).prop_map(|octets| Some(QueueLimit::Bytes(octets))),
    ];
    let rate = (100_000_u64..100_000_000).prop_map(netem::BitRate::from_bits_per_second);
    prop_oneof![Just((None, None)), (rate, queue)]
}

prop_compose! {
    fn impairments()(
        delay in 0_u64..20_000_000,
        jitter_percent in 0_u64..=100,
        loss in loss(),
        drop_packets in prop::collection::btree_set(1_u64..200, 0..5),
        (rate, queue) in rate_and_queue(),
        reorder in probability(),
        duplicate in probability(),
        corrupt in probability(),
    ) -> Impairments {
        let (delay, jitter) = (Duration::from_nanos(delay), Duration::from_nanos(delay / 100 * jitter_percent));
        Impairments { delay, jitter, loss, drop_packets, rate, queue, reorder, duplicate, corrupt }
    }
}

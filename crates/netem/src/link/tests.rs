//! Behaviour of one link in virtual time.

use std::time::Duration;

use super::*;
use crate::{Probability, QueueLimit};

const fn millis(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

fn probability(p: f64) -> Probability {
    Probability::new(p).unwrap()
}

fn perfect() -> Impairments {
    Impairments::default()
}

fn link(impairments: Impairments) -> Link<u64> {
    Link::new(impairments, 1).unwrap()
}

/// Offers packets 1..=count, `gap` apart, and returns the numbers dropped.
fn dropped_numbers(link: &mut Link<u64>, count: u64, gap: Duration) -> Vec<u64> {
    let mut now = Instant::EPOCH;
    let mut dropped = Vec::new();
    for n in 1..=count {
        if let Verdict::Dropped { number, .. } = link.offer(now, 100, n) {
            assert_eq!(number, n);
            dropped.push(n);
        }
        now += gap;
    }
    dropped
}

/// Everything in flight, in order of arrival.
fn drain(link: &mut Link<u64>) -> Vec<Delivery<u64>> {
    std::iter::from_fn(|| {
        let due = link.poll_timeout()?;
        assert!(
            due == Instant::EPOCH || link.poll_deliver(due - Duration::from_nanos(1)).is_none(),
            "never early"
        );
        link.poll_deliver(due)
    })
    .collect()
}

#[test]
fn perfect_link_delivers_at_once_and_in_order() {
    let mut link = link(perfect());
    let now = Instant::from_millis(3);
    for packet in 1..=3 {
        assert_eq!(link.offer(now, 100, packet), Verdict::Queued { number: packet, deliver_at: now });
    }
    let packets: Vec<u64> =
        std::iter::from_fn(|| link.poll_deliver(now)).map(|delivery| delivery.packet).collect();
    assert_eq!(packets, [1, 2, 3]);
    assert_eq!(link.poll_timeout(), None);
    assert_eq!((link.stats().delivered, link.stats().delivered_bytes), (3, 300));
}

#[test]
fn listed_packets_are_dropped_and_no_others() {
    let mut link = link(Impairments { drop_packets: [2, 5].into(), ..perfect() });
    assert_eq!(dropped_numbers(&mut link, 10, millis(1)), [2, 5]);
    assert_eq!(link.stats().dropped_listed, 2);
}

#[test]
fn same_seed_drops_the_same_numbers_whatever_the_timing() {
    for loss in ["1%", "ge:1%,30%,0.1,0.999"] {
        let wan = Impairments { loss: loss.parse().unwrap(), ..perfect() };
        let jittery = Impairments {
            delay: millis(10),
            jitter: millis(5),
            duplicate: probability(0.1),
            reorder: probability(0.1),
            corrupt: probability(0.1),
            rate: "1mbit".parse().ok(),
            ..wan.clone()
        };
        let dropped = dropped_numbers(&mut link(wan.clone()), 5000, millis(1));
        assert!(!dropped.is_empty());
        assert_eq!(dropped, dropped_numbers(&mut link(wan.clone()), 5000, millis(7)));
        assert_eq!(dropped, dropped_numbers(&mut link(jittery), 5000, Duration::ZERO));
        assert_ne!(dropped, dropped_numbers(&mut Link::new(wan, 2).unwrap(), 5000, millis(1)));
    }
}

#[test]
fn bursts_come_and_go_with_time_whoever_sends() {
    let bursts = Impairments { loss: "bursts:90ms,10ms".parse().unwrap(), ..perfect() };
    let dropped = |every: u64| dropped_numbers(&mut link(bursts.clone()), 60_000 / every, millis(every));
    let (often, seldom) = (dropped(1), dropped(4));
    assert!((4_000..=8_000).contains(&often.len()), "{}", often.len());
    // Packet n of the second link is sent when packet 4n - 3 of the first one is.
    assert!(
        seldom.iter().map(|number| 4 * number - 3).eq(often.into_iter().filter(|number| number % 4 == 1))
    );
}

#[test]
fn loss_switched_on_in_the_middle_decides_as_if_it_had_always_been_on() {
    let lossy = Impairments { loss: "5%".parse().unwrap(), ..perfect() };
    let always = dropped_numbers(&mut link(lossy.clone()), 1000, millis(1));
    let mut late = link(perfect());
    let mut dropped = Vec::new();
    for packet in 1..=1000 {
        if packet == 501 {
            late.set_impairments(lossy.clone()).unwrap();
        }
        if let Verdict::Dropped { number, .. } = late.offer(Instant::EPOCH, 100, packet) {
            dropped.push(number);
        }
    }
    assert_eq!(dropped, always.into_iter().filter(|number| *number > 500).collect::<Vec<_>>());
}

#[test]
fn bernoulli_loses_its_share_independently() {
    let mut link = link(Impairments { loss: "2%".parse().unwrap(), ..perfect() });
    let dropped = dropped_numbers(&mut link, 200_000, Duration::ZERO);
    let pairs = dropped.windows(2).filter(|pair| pair[1] == pair[0] + 1).count();
    // 4000 ± 4σ with σ = 63; adjacent losses 80 ± 4σ with σ = 9.
    assert!((3750..=4250).contains(&dropped.len()), "{}", dropped.len());
    assert!((44..=116).contains(&pairs), "{pairs}");
}

#[test]
fn gilbert_elliott_loses_its_share_in_bursts_of_one_over_r() {
    let loss = "ge:1%,25%".parse().unwrap();
    let mut link = link(Impairments { loss, ..perfect() });
    let dropped = dropped_numbers(&mut link, 400_000, Duration::ZERO);
    let bursts = 1 + dropped.windows(2).filter(|pair| pair[1] != pair[0] + 1).count();
    let share = dropped.len() as f64 / 400_000.0;
    let burst_length = dropped.len() as f64 / bursts as f64;
    assert!((share - loss.mean()).abs() < 0.002, "{share} against {}", loss.mean());
    assert!((burst_length - 4.0).abs() < 0.25, "{burst_length}");
}

#[test]
fn rate_spaces_packets_by_their_serialisation_time() {
    let mut link = link(Impairments { rate: "1mbit".parse().ok(), delay: millis(10), ..perfect() });
    // 125 octets take 1 ms at 1 Mbit/s.
    for packet in 1..=3 {
        let deliver_at = Instant::from_millis(10 + packet);
        assert_eq!(link.offer(Instant::EPOCH, 125, packet), Verdict::Queued { number: packet, deliver_at });
    }
    let idle = Instant::from_millis(50);
    assert_eq!(link.offer(idle, 250, 4), Verdict::Queued { number: 4, deliver_at: Instant::from_millis(62) });
}

#[test]
fn full_queue_drops_the_tail_in_packets_or_octets() {
    for queue in [QueueLimit::Packets(2), QueueLimit::Bytes(250)] {
        let mut link = link(Impairments { rate: "1mbit".parse().ok(), queue: Some(queue), ..perfect() });
        // One on the wire, two waiting, the rest too many.
        assert_eq!(dropped_numbers_at_once(&mut link, 5), [4, 5]);
        // After 1 ms the second is on the wire, so that one more may wait.
        assert!(matches!(link.offer(Instant::from_millis(1), 125, 6), Verdict::Queued { .. }));
        assert!(matches!(link.offer(Instant::from_millis(1), 125, 7), Verdict::Dropped { .. }));
        assert_eq!(link.stats().dropped_queue, 3);
        let due: Vec<Instant> = drain(&mut link).iter().map(|delivery| delivery.due).collect();
        assert_eq!(due, [1, 2, 3, 4].map(Instant::from_millis));
    }
}

fn dropped_numbers_at_once(link: &mut Link<u64>, count: u64) -> Vec<u64> {
    let verdicts = (1..=count).map(|packet| link.offer(Instant::EPOCH, 125, packet));
    verdicts
        .filter_map(|verdict| match verdict {
            Verdict::Dropped { number, reason } => {
                assert_eq!(reason, DropReason::QueueFull);
                Some(number)
            }
            Verdict::Queued { .. } => None,
        })
        .collect()
}

#[test]
fn queue_of_zero_packets_still_serves_an_idle_link() {
    let queue = Some(QueueLimit::Packets(0));
    let mut link = link(Impairments { rate: "1mbit".parse().ok(), queue, ..perfect() });
    assert_eq!(dropped_numbers_at_once(&mut link, 2), [2]);
}

#[test]
fn reordered_packets_skip_the_delay() {
    let mut link = link(Impairments { delay: millis(10), reorder: probability(0.25), ..perfect() });
    assert!(dropped_numbers(&mut link, 4000, Duration::ZERO).is_empty());
    let reordered = link.stats().reordered;
    assert!((850..=1150).contains(&reordered), "{reordered}");
    let arrivals = drain(&mut link);
    let (early, late) = arrivals.split_at(usize::try_from(reordered).unwrap());
    assert!(early.iter().all(|delivery| delivery.due == Instant::EPOCH));
    assert!(late.iter().all(|delivery| delivery.due == Instant::from_millis(10)));
    for part in [early, late] {
        assert!(part.is_sorted_by(|a, b| a.number < b.number), "equal due times keep their order");
    }
}

#[test]
fn duplicates_follow_their_original() {
    let mut link = link(Impairments { delay: millis(10), duplicate: probability(0.1), ..perfect() });
    dropped_numbers(&mut link, 4000, millis(1));
    let duplicated = link.stats().duplicated;
    assert!((320..=480).contains(&duplicated), "{duplicated}");
    let arrivals = drain(&mut link);
    let copies = arrivals.windows(2).filter(|pair| pair[0].number == pair[1].number).count();
    assert_eq!(u64::try_from(copies).unwrap(), duplicated);
    assert_eq!(link.stats().delivered, 4000 + duplicated);
}

#[test]
fn copies_take_their_own_time_on_the_link() {
    let mut link =
        link(Impairments { rate: "1mbit".parse().ok(), duplicate: probability(0.999_999), ..perfect() });
    link.offer(Instant::EPOCH, 125, 1);
    let arrivals: Vec<_> =
        drain(&mut link).into_iter().map(|delivery| (delivery.number, delivery.due)).collect();
    assert_eq!(arrivals, [(1, Instant::from_millis(1)), (1, Instant::from_millis(2))]);
}

#[test]
fn corruption_flips_exactly_one_bit_anywhere() {
    let mut link = link(Impairments { corrupt: probability(0.5), ..perfect() });
    dropped_numbers(&mut link, 4000, Duration::ZERO);
    let corrupted = link.stats().corrupted;
    assert!((1850..=2150).contains(&corrupted), "{corrupted}");
    let mut flips = [0_u32; 32];
    for flip in drain(&mut link).iter().filter_map(|delivery| delivery.flipped_bit) {
        let mut packet = [0_u8; 4];
        flip.apply(&mut packet);
        let bits = u32::from_be_bytes(packet);
        assert_eq!(bits.count_ones(), 1);
        assert_eq!(u64::from(bits.leading_zeros()), flip.position(4));
        flips[usize::try_from(bits.leading_zeros()).unwrap()] += 1;
        flip.apply(&mut []);
    }
    assert!(flips.iter().all(|count| (20..=120).contains(count)), "{flips:?}");
}

#[test]
fn shorter_delay_in_the_middle_lets_later_packets_overtake() {
    let mut link = link(Impairments { delay: millis(100), ..perfect() });
    link.offer(Instant::EPOCH, 100, 1);
    link.set_impairments(Impairments { delay: millis(10), ..perfect() }).unwrap();
    link.offer(Instant::EPOCH, 100, 2);
    link.offer(Instant::EPOCH, 100, 3);
    let arrivals: Vec<_> = drain(&mut link).into_iter().map(|delivery| delivery.packet).collect();
    assert_eq!(arrivals, [2, 3, 1]);
}

#[test]
fn impairments_out_of_bounds_leave_the_link_as_it_was() {
    let wan = Impairments { delay: millis(10), ..perfect() };
    let mut link = link(wan.clone());
    assert!(link.set_impairments(Impairments { jitter: millis(20), ..wan.clone() }).is_err());
    assert_eq!(link.impairments(), &wan);
    assert!(Link::<u64>::new(Impairments { jitter: millis(1), ..perfect() }, 1).is_err());
}

//! Virtual time: everything happens exactly when it should, and only then.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on ends here")]

mod peer;

use std::time::Duration;

use netem::Impairments;
use netsim::{Ended, Protocol, World};
use peer::{Pair, Peer, delay, host};
use virtual_time::Instant;

const fn millis(millis: u64) -> Instant {
    Instant::from_millis(millis)
}

#[test]
fn timers_fire_at_exactly_their_time() {
    let mut world = World::new(1);
    let (id, _) = host(&mut world, &["10.0.0.1"]);
    let alarms = [1, 5_000_000_001, 5_000_000_002, 3_600_000_000_000].map(Instant::from_nanos);
    world.with_host(id, |peer, _| peer.alarms.extend(alarms));
    world.run_until(millis(3_600_000));
    assert_eq!(world.host(id).fired, alarms);
    assert_eq!((world.counters().events, world.counters().timeouts), (4, 4));
}

#[test]
fn a_timer_moved_earlier_or_later_or_away_is_obeyed() {
    let mut world = World::new(1);
    let (id, _) = host(&mut world, &["10.0.0.1"]);
    for alarm in [50, 20, 80] {
        world.with_host(id, |peer, _| peer.alarms = [millis(alarm)].into());
    }
    world.run_until(millis(100));
    world.with_host(id, |peer, _| peer.alarms = [millis(120)].into());
    world.with_host(id, |peer, _| peer.alarms.clear());
    world.run_until(millis(200));
    assert_eq!(world.host(id).fired, [millis(80)]);
    assert_eq!(world.counters().timeouts, 1, "waking up too early is no event");
}

#[test]
fn a_timer_set_into_the_past_fires_now() {
    let mut world = World::new(1);
    let (id, _) = host(&mut world, &["10.0.0.1"]);
    world.run_until(millis(10));
    world.with_host(id, |peer, _| peer.alarms = [millis(3)].into());
    assert_eq!(world.step(), Some(millis(10)));
    assert_eq!(world.host(id).fired, [millis(10)]);
}

#[test]
fn a_timer_of_a_host_added_later_counts() {
    let mut world = World::new(1);
    world.run_until(millis(10));
    let id = world.add_host(Peer { alarms: [millis(15)].into(), ..Peer::default() });
    assert_eq!(world.step(), Some(millis(15)));
    assert_eq!(world.host(id).fired, [millis(15)]);
}

#[test]
fn packets_arrive_after_serialisation_and_delay_of_their_wire_size() {
    // 1000 bit/s: an octet takes 8 ms. IPv4 and UDP headers make 28 of 7 octets 35, then 280 ms.
    let slow = Impairments { rate: Some("1kbit".parse().unwrap()), ..delay(5) };
    let mut pair = Pair::new(1, slow);
    let udp = Protocol::Udp { source_port: 9, destination_port: 9899 };
    pair.world.with_host(pair.left, |peer, _| {
        peer.send(None, "10.0.0.2", udp, b"7 bytes");
        peer.send(None, "10.0.0.2", Protocol::Sctp, b"7 bytes");
    });
    pair.world.run_until(millis(10_000));
    let times: Vec<Instant> = pair.world.host(pair.right).inbox.iter().map(|arrived| arrived.at).collect();
    assert_eq!(times, [millis(285), millis(285 + 216)]);
}

#[test]
fn run_until_includes_the_deadline_and_ends_there() {
    let mut pair = Pair::new(1, delay(10));
    pair.send(b"x");
    pair.world.run_until(Instant::from_nanos(9_999_999));
    assert!(pair.world.host(pair.right).inbox.is_empty());
    pair.world.run_until(millis(10));
    assert_eq!(pair.world.host(pair.right).inbox.len(), 1);
    pair.world.run_until(millis(70));
    assert_eq!(pair.world.now(), millis(70));
    pair.world.run_until(millis(60));
    assert_eq!(pair.world.now(), millis(70), "time never goes back");
}

#[test]
fn run_while_says_why_it_ended() {
    let mut pair = Pair::new(1, delay(10));
    pair.world.host_mut(pair.right).answers = usize::MAX;
    pair.world.host_mut(pair.left).answers = 4;
    pair.send(b"x");
    let (left, right) = (pair.left, pair.right);
    let ended = pair.world.run_while(millis(1_000), |world| world.host(right).inbox.len() < 2);
    assert_eq!((ended, pair.world.now()), (Ended::ConditionFailed, millis(30)));
    assert_eq!(pair.world.run_while(millis(45), |_| true), Ended::Deadline);
    assert_eq!(pair.world.now(), millis(45));
    assert_eq!(pair.world.next_event_at(), Some(millis(50)));
    pair.world.with_host(left, |peer, _| peer.alarms = [millis(5_000)].into());
    pair.world.with_host(left, |peer, _| peer.alarms.clear());
    assert_eq!(pair.world.run_while(millis(1_000), |_| true), Ended::Idle, "no timer runs any more");
    assert_eq!(pair.world.next_event_at(), None);
    assert_eq!((pair.world.now(), pair.world.host(left).inbox.len()), (millis(100), 5));
}

#[test]
fn packets_of_one_instant_are_read_together_before_the_host_answers() {
    let mut pair = Pair::new(1, delay(10));
    pair.world.host_mut(pair.right).answers = 2;
    (0..2).for_each(|_| pair.send(b"x"));
    assert_eq!(pair.world.step(), Some(millis(10)));
    assert_eq!(pair.world.host(pair.right).inbox.len(), 2);
    assert_eq!(pair.world.step(), Some(millis(20)));
    assert_eq!((pair.world.host(pair.left).inbox.len(), pair.world.step()), (2, None));
}

#[test]
fn a_burst_in_segments_travels_as_separate_packets() {
    let mut pair = Pair::new(1, delay(1));
    pair.world.with_host(pair.left, |peer, _| {
        peer.send(None, "10.0.0.2", Protocol::Sctp, b"aaabbbcc");
        peer.outbox[0].0.segment_bytes = Some(3);
    });
    pair.world.run_until(Instant::EPOCH + Duration::from_secs(1));
    assert_eq!(pair.world.host(pair.right).payloads(), [b"aaa".as_slice(), b"bbb", b"cc"]);
    assert_eq!(pair.world.counters().sent, 3);
}

//! How data begins on the path that it moves to: pictures of 30,000 octets, thirty a second, over round trips of 200 ms.

use netem::{Impairments, QueueLimit};
use sctp_core::{PathId, PathState, PathStatistics, StartUp};

use crate::net::{End, Pair, Setup, ms, ordered};

const PICTURE: usize = 30_000;
const ONE_WAY_MS: u64 = 100;

/// Two links, and the left end has sent pictures over the first one for three seconds.
fn moving(start_up: StartUp) -> Pair {
    let mut setup = Setup::signalling().two_homes().configure(|config| {
        config.congestion.start_up = start_up;
        config.buffers.send_bytes = 8 << 20;
    });
    let link = Impairments { delay: ms(ONE_WAY_MS), ..Impairments::default() };
    (setup.request, setup.response) = (link.clone(), link);
    let mut pair = setup.build();
    pair.connect();
    pair.run_ms(2000);
    show(&mut pair, 90);
    pair
}

/// Sends so many pictures; gives when each left the application.
fn show(pair: &mut Pair, pictures: u64) -> Vec<u64> {
    let begun = pair.now_ms();
    let mut times = Vec::new();
    for picture in 0..pictures {
        times.push(pair.now_ms());
        pair.send(End::Left, ordered(0, usize::try_from(picture).unwrap(), PICTURE));
        let next = begun + (picture + 1) * 100 / 3;
        pair.run_ms(next - pair.now_ms());
    }
    times
}

fn move_to(pair: &mut Pair, path: u32) {
    let chosen = PathId::new(path);
    pair.with(End::Left, |side, now| side.endpoint.set_primary(now, side.id.unwrap(), chosen)).unwrap();
}

fn path(pair: &Pair, number: usize) -> PathStatistics {
    pair.statistics(End::Left).paths[number]
}

/// The longest that a picture took on the second path, beyond the time to the peer.
fn longest_wait(start_up: StartUp) -> u64 {
    let mut pair = moving(start_up);
    move_to(&mut pair, 1);
    let before = pair.read_times(End::Right).len();
    let sent = show(&mut pair, 60);
    pair.run_ms(3000);
    let read = pair.read_times(End::Right);
    let on_the_way = 90 - before;
    assert_eq!(read.len(), 150, "nothing is lost");
    let waits = sent.iter().zip(&read[before + on_the_way..]).map(|(sent, read)| read - sent - ONE_WAY_MS);
    assert_eq!(path(&pair, 1).counters.timeouts, 0);
    waits.max().unwrap()
}

/// Study S5: near a second by slow start; its next step was to be a start-up that knows what is wanted.
#[test]
fn pictures_wait_a_second_for_slow_start_and_not_for_a_window_of_what_they_used_before() {
    let slow = longest_wait(StartUp::SlowStart);
    assert!((700..1100).contains(&slow), "{slow} ms");
    let resumed = longest_wait(StartUp::RESUME);
    assert!(resumed <= 60, "{resumed} ms");
}

/// The second path carries a tenth of what is wanted, through a queue of twenty packets.
fn narrow(start_up: StartUp) -> (Pair, u64) {
    let mut pair = moving(start_up);
    pair.impair_link(1, End::Left, narrow_link());
    move_to(&mut pair, 1);
    let moved_at = pair.now_ms();
    show(&mut pair, 18);
    (pair, moved_at)
}

#[test]
fn path_that_carries_a_tenth_is_retreated_from_within_two_round_trips() {
    let (mut pair, moved_at) = narrow(StartUp::RESUME);
    let after = path(&pair, 1);
    assert_eq!((after.congestion.resumed, after.congestion.retreats), (1, 1));
    let octets = |until: u64| -> usize {
        let sent = pair.side(End::Left).sent.iter();
        let there = sent.filter(|sent| sent.to.to_string() == "10.0.1.2");
        there
            .filter(|sent| (moved_at..moved_at + until).contains(&sent.at_ms()))
            .map(|sent| sent.octets.len())
            .sum()
    };
    let (first, second) = (octets(200), octets(400));
    assert!(first <= 8 * PICTURE * 11 / 10, "{first} octets in the first round trip");
    assert!(second - first <= 3 * PICTURE, "{} octets in the second", second - first);
    assert!(after.cwnd_bytes <= 2 * PICTURE, "{}", after.cwnd_bytes);
    pair.run_ms(60_000);
    assert_eq!(pair.payloads(End::Right).len(), 108, "late, and whole");
}

#[test]
fn way_back_within_a_moment_keeps_the_window_that_the_path_has() {
    let mut pair = moving(StartUp::RESUME);
    let window = path(&pair, 0).cwnd_bytes;
    move_to(&mut pair, 1);
    show(&mut pair, 10);
    move_to(&mut pair, 0);
    assert_eq!(path(&pair, 0).cwnd_bytes, window);
    assert_eq!(path(&pair, 0).congestion.resumed, 0);
    assert_eq!(path(&pair, 1).congestion.resumed, 1);
}

/// Two links, of which the second comes up while pictures go over the first; gives when data moves to it, as soon as the peer is
/// known to be there or a third of a second later, and how many pictures that were.
fn found(link: Impairments, is_late: bool) -> (Pair, u64, u64) {
    let mut setup = Setup::signalling().two_homes().configure(|config| {
        config.congestion.start_up = StartUp::PROBE;
        config.buffers.send_bytes = 8 << 20;
    });
    let free = Impairments { delay: ms(ONE_WAY_MS), ..Impairments::default() };
    (setup.request, setup.response) = (free.clone(), free);
    let mut pair = setup.build();
    pair.cut_link(1);
    pair.connect();
    pair.run_ms(1000);
    show(&mut pair, 60);
    pair.impair_link(1, End::Left, link);
    pair.mend_link(1);
    let mut shown = 60;
    while pair.path_states(End::Left)[1] != PathState::Active {
        show(&mut pair, 1);
        shown += 1;
        assert!(shown < 1000, "the peer is not found");
    }
    let late = if is_late { 10 } else { 0 };
    show(&mut pair, late);
    move_to(&mut pair, 1);
    let moved_at = pair.now_ms();
    (pair, moved_at, shown + late)
}

fn narrow_link() -> Impairments {
    Impairments {
        delay: ms(ONE_WAY_MS),
        rate: Some("720kbit".parse().unwrap()),
        queue: Some(QueueLimit::Packets(20)),
        ..Impairments::default()
    }
}

/// What left for the second path within a time, in octets.
fn octets_there(pair: &Pair, [from, until]: [u64; 2]) -> usize {
    let sent = pair.side(End::Left).sent.iter();
    let there = sent.filter(|sent| sent.to.to_string() == "10.0.1.2");
    there.filter(|sent| (from..until).contains(&sent.at_ms())).map(|sent| sent.octets.len()).sum()
}

/// The longest time without a picture at the peer since data has moved; 60 more are sent.
fn longest_gap_after(pair: &mut Pair, moved_at: u64, shown: u64) -> u64 {
    show(pair, 60);
    pair.run_ms(3000);
    let read = pair.read_times(End::Right);
    assert_eq!(read.len() as u64, shown + 60, "nothing is lost");
    let after = read.iter().filter(|read| **read > moved_at + ONE_WAY_MS);
    let gaps = after.clone().zip(after.skip(1)).map(|(one, next)| next - one);
    gaps.max().unwrap()
}

#[test]
fn path_that_carries_the_pictures_is_measured_before_and_they_do_not_wait_there() {
    let fast = Impairments {
        delay: ms(ONE_WAY_MS),
        rate: Some("20mbit".parse().unwrap()),
        ..Impairments::default()
    };
    let (mut pair, moved_at, shown) = found(fast, true);
    let gap = longest_gap_after(&mut pair, moved_at, shown);
    let after = path(&pair, 1);
    assert_eq!((after.congestion.trains, after.congestion.resumed, after.congestion.retreats), (1, 1, 0));
    assert!(gap <= 34 + 60, "{gap} ms between pictures");
}

#[test]
fn measurement_that_comes_after_the_movement_ends_slow_start_after_its_round_trip() {
    let fast = Impairments {
        delay: ms(ONE_WAY_MS),
        rate: Some("20mbit".parse().unwrap()),
        ..Impairments::default()
    };
    let (mut pair, moved_at, shown) = found(fast, false);
    let gap = longest_gap_after(&mut pair, moved_at, shown);
    assert_eq!((path(&pair, 1).congestion.trains, path(&pair, 1).congestion.resumed), (1, 1));
    assert!(gap <= 450, "{gap} ms between pictures");
}

#[test]
fn path_that_carries_a_tenth_is_measured_and_gets_no_more_than_that_in_two_round_trips() {
    let (mut pair, moved_at, shown) = found(narrow_link(), true);
    show(&mut pair, 18);
    let after = path(&pair, 1);
    assert_eq!((after.congestion.trains, after.congestion.retreats), (1, 0));
    let [first, second] = [200, 400].map(|time| octets_there(&pair, [moved_at, moved_at + time]));
    assert!(first <= PICTURE, "{first} octets in the first round trip");
    assert!(second <= 2 * PICTURE, "{second} octets in the first two");
    pair.run_ms(120_000);
    assert_eq!(pair.payloads(End::Right).len() as u64, shown + 18, "late, and whole");
}

#[test]
fn who_does_not_ask_for_it_sends_no_train() {
    let (mut pair, _) = narrow(StartUp::RESUME);
    pair.run_ms(10_000);
    assert_eq!((path(&pair, 0).congestion.trains, path(&pair, 1).congestion.trains), (0, 0));
}

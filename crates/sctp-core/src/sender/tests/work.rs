//! What a SACK may cost: steps over chunks and ranges, counted, with as many chunks outstanding as a peer can have us keep.

use super::*;
use crate::path::Acknowledged;
use crate::sender::steps::counted;

const CHUNKS: u16 = 16_000;
/// SACKs that fit a packet, of 20 octets each.
const SACKS: u64 = 85;

/// Many small chunks outstanding on the first of so many paths, each of which has carried some; the last chunks of each
/// are still in flight.
fn full(profile: Profile, paths: u8) -> Bench {
    let mut bench = Bench::with(profile, |config| config.buffers.send_bytes = 1 << 26);
    bench.sender.advertised_window = 1 << 26;
    for number in 1..paths {
        let destination =
            Destination { address: [10, 0, 1, number].into(), encapsulation: Encapsulation::Ip };
        let _added = bench.paths.add(destination, PathState::Active, &AssociationConfig::default());
    }
    let news =
        Acknowledged { bytes: 1 << 20, flight_before: usize::MAX, is_paced: true, ..Acknowledged::default() };
    for number in 0..paths {
        let path = PathIndex::new(number);
        bench.paths.on_measurement(path, bench.now, Duration::from_millis(20));
        (0..3_000).for_each(|_| bench.paths.path_mut(path).congestion.on_acknowledged(&news));
        bench.path = path;
        bench.send_apart(usize::from(CHUNKS / u16::from(paths)), 0);
        bench.pass(1);
    }
    bench.pass(20);
    bench
}

/// Steps that SACKs take at most, each of which says this; the first time it may be news.
fn worst(bench: &mut Bench, mut sack: impl FnMut(&mut Bench, u16)) -> u64 {
    (0..3).for_each(|number| sack(bench, number));
    (3..40).map(|number| counted(|| sack(bench, number))).max().unwrap()
}

/// What a SACK without news, or with one chunk of it, may take: some steps for each path and block.
fn bound(paths: u8, blocks: u64) -> u64 {
    64 + 24 * u64::from(paths) + 16 * blocks
}

#[test]
fn robustness_31_sack_without_news_costs_what_its_blocks_cost() {
    for profile in Profile::ALL {
        for paths in [1, 8] {
            let mut bench = full(profile, paths);
            let first = counted(|| drop(bench.sack(0, &[(3, CHUNKS)])));
            assert!(first >= u64::from(CHUNKS) / 2, "all of it is news: {first}");
            let steps = worst(&mut bench, |bench, _| drop(bench.sack(0, &[(3, CHUNKS)])));
            assert!(steps <= bound(paths, 1), "{profile}, {paths} paths: {steps}");
            assert!(SACKS * steps < 100 * u64::from(CHUNKS));
        }
    }
}

/// The peer acknowledges from the end, one chunk a SACK: all others are missing below it.
#[test]
fn robustness_31_sack_with_a_chunk_of_news_costs_no_walk_over_what_is_missing() {
    // By the letter each missing chunk counts three reports (RFC 9260 §7.2.4): three walks, not one a SACK.
    for profile in [Profile::Signalling, Profile::WebRtc, Profile::Rfc9260] {
        for paths in [1, 8] {
            let mut bench = full(profile, paths);
            let last = |number: u16| CHUNKS - 100 + number;
            let all = counted(|| {
                (0..100).for_each(|number| drop(bench.sack(0, &[(CHUNKS - 100, last(number))])));
            });
            assert!(all <= 12 * u64::from(CHUNKS) + 100 * bound(paths, 1), "{profile}, {paths}: {all}");
        }
    }
}

#[test]
fn robustness_31_acknowledgments_taken_back_and_given_again_cost_a_walk_a_second() {
    for profile in Profile::ALL {
        for paths in [1, 8] {
            let mut bench = full(profile, paths);
            // One further chunk each makes it news.
            let mut to_and_fro = |number: u16| {
                let end = CHUNKS - 2 * number;
                let blocks =
                    if number.is_multiple_of(2) { vec![(3, end)] } else { vec![(3, 3), (end, CHUNKS)] };
                drop(bench.sack(0, &blocks));
            };
            let all = counted(|| (0..200).for_each(&mut to_and_fro));
            assert!(all <= 32 * u64::from(CHUNKS) + 200 * bound(paths, 2), "{profile}, {paths}: {all}");
        }
    }
}

/// One chunk of two acknowledged, by SACKs that go down or up with as many blocks as fit a packet.
#[test]
fn robustness_31_ranges_are_bounded_however_sacks_pile_them_up() {
    let mut bench = full(Profile::Signalling, 1);
    for upward in [true, false] {
        for step in 0..48_u16 {
            let from = if upward { step } else { 47 - step } * 330;
            let blocks: Vec<_> = (0..165).map(|block| from + 2 * block + 3).map(|at| (at, at)).collect();
            drop(bench.sack(0, &blocks));
        }
    }
    let steps = worst(&mut bench, |bench, _| drop(bench.sack(0, &[(3, 3)])));
    assert!(steps <= bound(1, 1), "{steps}");
    let steps = worst(&mut bench, |bench, number| drop(bench.sack(u32::from(number), &[])));
    assert!(steps <= bound(1, 1), "{steps}");
}

#[test]
fn robustness_31_list_of_duplicates_costs_no_more_than_its_beginning() {
    let mut bench = full(Profile::Signalling, 8);
    bench.sender.lose_flight(bench.now, PathIndex::FIRST);
    bench.path = PathIndex::FIRST;
    (0..20).for_each(|_| drop(bench.write_lost()));
    let duplicates: Vec<u32> = (0..16_000).collect();
    let steps = worst(&mut bench, |bench, _| drop(bench.sack_with(0, WINDOW, &[], &duplicates)));
    assert!(steps <= bound(8, 0) + 32 * 512, "{steps}");
}

#[test]
fn robustness_31_window_that_opens_and_shuts_costs_no_walk_each_time() {
    let mut bench = full(Profile::Signalling, 8);
    let steps = worst(&mut bench, |bench, number| {
        let window = if number.is_multiple_of(2) { 0 } else { 1 << 26 };
        drop(bench.sack_with(0, window, &[], &[]));
    });
    assert!(steps <= bound(8, 0), "{steps}");
}

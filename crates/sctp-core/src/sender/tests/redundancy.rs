//! Copies in packets of new data.

use super::*;
use crate::config::RedundancyConfig;

fn redundant() -> Bench {
    Bench::with(Profile::SignallingRedundant, |_| {})
}

/// A packet of one new message of 64 octets, ten milliseconds after the last one.
fn next(bench: &mut Bench) -> Vec<Written> {
    bench.pass(10);
    bench.send(64);
    bench.write_new()
}

fn offsets(written: &[Written]) -> Vec<u32> {
    written.iter().map(|&(offset, ..)| offset).collect()
}

#[test]
fn packet_of_new_data_carries_what_is_unacknowledged_twice_at_most_in_the_order_of_tsns() {
    let mut bench = redundant();
    assert_eq!(offsets(&next(&mut bench)), [0]);
    assert_eq!(offsets(&next(&mut bench)), [0, 1]);
    assert_eq!(offsets(&next(&mut bench)), [0, 1, 2]);
    assert_eq!(next(&mut bench), [(1, 64, false), (2, 64, false), (3, 64, true)]);
    assert_eq!(bench.sender.statistics().copies.sent, 5);
}

#[test]
fn newest_chunks_are_copied_within_the_octets_that_are_allowed() {
    let mut bench = Bench::with(Profile::SignallingRedundant, |config| {
        config.recovery.redundancy =
            Some(RedundancyConfig { copies: 8, bytes: 170, ..RedundancyConfig::default() });
    });
    (0..3).for_each(|_| drop(next(&mut bench)));
    assert_eq!(offsets(&next(&mut bench)), [1, 2, 3]);
}

#[test]
fn full_packets_and_what_left_at_the_same_time_have_no_copies() {
    let mut bench = redundant();
    (0..20).for_each(|_| bench.send(1000));
    bench.write_new();
    bench.pass(10);
    assert_eq!(bench.write_new().len(), 1);
    let mut bench = redundant();
    bench.send(64);
    bench.write_new();
    bench.send(64);
    assert_eq!(offsets(&bench.write_new()), [1]);
}

/// The first SACK that covers the packet of a copy says what became of the original.
#[test]
fn copy_that_mended_a_loss_is_a_congestion_signal_and_one_reported_as_duplicate_is_none() {
    for (duplicates, mended) in [(&[0][..], 0), (&[][..], 1)] {
        let mut bench = redundant();
        next(&mut bench);
        next(&mut bench);
        bench.pass(20);
        let outcome = bench.sack_with(2, WINDOW, &[], duplicates).unwrap();
        assert_eq!(outcome.repaired.contains(PathIndex::FIRST), mended == 1);
        assert_eq!(bench.sender.statistics().copies.mended, mended);
        assert!(outcome.refuted.is_empty() && outcome.duplicates.is_empty());
        // How long an original took that may not have arrived is not known.
        assert_eq!(outcome.rtt.len(), 0);
    }
}

#[test]
fn original_that_is_acknowledged_before_its_copy_is_measured_and_no_loss() {
    let mut bench = redundant();
    next(&mut bench);
    next(&mut bench);
    bench.pass(10);
    let outcome = bench.sack_with(1, WINDOW, &[], &[]).unwrap();
    assert_eq!(outcome.rtt.as_slice(), [(PathIndex::FIRST, Duration::from_millis(20))]);
    let outcome = bench.sack_with(2, WINDOW, &[], &[0]).unwrap();
    assert!(!outcome.repaired.contains(PathIndex::FIRST));
    assert_eq!(bench.sender.statistics().copies.mended, 0);
}

//! Recoveries path by path, and those that turn out to have been needless (RFC 8985 §6.2, RFC 5682, RFC 4015).

use super::*;
use crate::trace::LossCause;

const SECOND: PathIndex = PathIndex::new(1);

fn refuted(outcome: &SackOutcome) -> Vec<(PathIndex, LossCause)> {
    outcome.refuted.iter().map(|refuted| (refuted.path, refuted.cause)).collect()
}

/// After a changeover the chunks of the new path arrive first: that reports none of the old path missing.
#[test]
fn chunks_of_the_new_path_are_no_missing_reports_against_those_of_the_old_one() {
    let mut bench = Bench::new(Profile::Rfc9260);
    bench.send_apart(3, 1);
    bench.change_over();
    bench.send_apart(6, 1);
    for last in 4..=9 {
        assert!(!bench.sack(0, &[(4, last)]).unwrap().losses.any, "the old path has not said anything yet");
    }
    let outcome = bench.sack(0, &[(2, 9)]).unwrap();
    assert!(!outcome.losses.any, "one report of its own path each");
    assert_eq!(bench.sender.outstanding.get(0).unwrap().missing_reports, 1);
}

/// The same by time (RFC 8985 §6.2 keeps its state per connection; SCTP has one per path).
#[test]
fn chunks_of_the_new_path_are_no_evidence_of_time_against_those_of_the_old_one() {
    let mut bench = Bench::measured(Profile::Signalling);
    bench.send_apart(2, 1);
    bench.change_over();
    bench.send_apart(1, 18);
    let outcome = bench.sack(0, &[(3, 3)]).unwrap();
    assert!(!outcome.losses.any && outcome.losses.look_again_at.is_none());
    let outcome = bench.sack(0, &[(2, 3)]).unwrap();
    assert_eq!(outcome.losses.look_again_at, Some(Instant::from_millis(1024)));
}

/// A retransmission on another path leaves open which path delivered the chunk.
#[test]
fn chunk_sent_on_two_paths_is_no_evidence_on_either() {
    let mut bench = Bench::new(Profile::Rfc9260);
    bench.send_apart(5, 0);
    bench.sender.lose_flight(bench.now, PathIndex::FIRST);
    bench.change_over();
    assert_eq!(bench.write_lost().len(), 5);
    for last in 2..=5 {
        assert!(!bench.sack(0, &[(2, last)]).unwrap().losses.any);
    }
    assert_eq!(bench.sender.outstanding.get(0).unwrap().missing_reports, 0);
}

/// RFC 9260 §7.2.4 (2): one cut a recovery, but each path has its own.
#[test]
fn recovery_of_one_path_leaves_the_other_free_to_begin_its_own() {
    let mut bench = Bench::measured(Profile::Signalling);
    bench.send_apart(2, 0);
    bench.change_over();
    bench.send_apart(2, 0);
    bench.pass(20);
    bench.sack(0, &[(2, 2)]).unwrap();
    assert_eq!(bench.look_again().paths, PathIds::from_iter([PathIndex::FIRST]));
    let outcome = bench.sack(0, &[(2, 2), (4, 4)]).unwrap();
    assert_eq!(outcome.recovering, PathIds::from_iter([PathIndex::FIRST]));
    assert_eq!(bench.look_again().paths, PathIds::from_iter([SECOND]));
}

/// RFC 8985 §6.2 step 4: the peer has it twice, so it came only later than expected.
#[test]
fn duplicate_of_a_late_chunk_undoes_the_recovery_and_widens_the_window() {
    let mut bench = Bench::measured(Profile::Signalling);
    bench.send_apart(2, 0);
    bench.pass(20);
    bench.sack(0, &[(2, 2)]).unwrap();
    assert!(bench.look_again().any);
    bench.write_lost();
    bench.pass(15);
    assert_eq!(refuted(&bench.sack(2, &[]).unwrap()), [], "it may be the retransmission that arrived");
    bench.pass(10);
    let outcome = bench.sack_with(2, WINDOW, &[], &[0]).unwrap();
    assert_eq!(refuted(&outcome), [(PathIndex::FIRST, LossCause::Acknowledgment)]);
    assert_eq!(
        (
            bench.sender.statistics().needless_retransmissions,
            bench.sender.statistics().reordering_window_growths
        ),
        (1, 1)
    );

    bench.send_apart(2, 0);
    bench.pass(20);
    let outcome = bench.sack(2, &[(2, 2)]).unwrap();
    assert!(!outcome.losses.any, "now half a round trip of patience");
    assert_eq!(outcome.losses.look_again_at, Some(bench.now + Duration::from_millis(10)));
}

#[test]
fn recovery_with_one_real_loss_is_not_undone() {
    let mut bench = Bench::measured(Profile::Signalling);
    bench.send_apart(3, 0);
    bench.pass(20);
    bench.sack(0, &[(3, 3)]).unwrap();
    assert!(bench.look_again().any);
    assert_eq!(bench.write_lost().len(), 2);
    bench.pass(20);
    assert_eq!(refuted(&bench.sack_with(3, WINDOW, &[], &[1]).unwrap()), []);
    assert_eq!(
        refuted(&bench.sack_with(3, WINDOW, &[], &[0]).unwrap()),
        [(PathIndex::FIRST, LossCause::Acknowledgment)]
    );
}

/// A needless recovery by what the peer says: it has everything twice. True if it is undone.
fn needless(bench: &mut Bench, count: u32) -> bool {
    bench.send_apart(2, 0);
    bench.pass(20);
    bench.sack(count, &[(2, 2)]).unwrap();
    bench.pass(60);
    assert!(bench.sender.has_lost() || bench.sender.losses_by_time(bench.now, &bench.paths).any);
    bench.write_lost();
    bench.pass(25);
    let before = bench.sender.statistics().undoings_refused;
    let undone = refuted(&bench.sack_with(count + 2, WINDOW, &[], &[count]).unwrap()).len();
    assert_eq!(undone as u64 + bench.sender.statistics().undoings_refused - before, 1);
    undone == 1
}

/// RFC 3708 §5: nothing tells a liar from an honest peer, so what it gains is bounded.
#[test]
fn robustness_36_eight_recoveries_are_undone_and_then_one_of_eight() {
    let mut bench = Bench::measured(Profile::Signalling);
    let undone: Vec<bool> = (0..40).map(|number| needless(&mut bench, 2 * number)).collect();
    assert_eq!(undone[..8], [true; 8]);
    let later = undone[16..].iter().filter(|undone| **undone).count();
    assert_eq!(later, 3, "{undone:?}");
}

/// RFC 3708 §3: where the network itself duplicates, reports of duplicates prove nothing.
#[test]
fn duplicate_of_what_was_sent_once_ends_the_investigation() {
    let mut bench = Bench::measured(Profile::Signalling);
    bench.send_apart(2, 0);
    bench.pass(20);
    bench.sack(0, &[(2, 2)]).unwrap();
    assert!(bench.look_again().any);
    bench.write_lost();
    bench.pass(20);
    assert_eq!(refuted(&bench.sack_with(2, WINDOW, &[], &[1, 0]).unwrap()), []);
}

#[test]
fn lost_chunk_that_arrives_before_it_was_sent_again_undoes_the_recovery() {
    let mut bench = Bench::measured(Profile::Signalling);
    bench.send_apart(2, 0);
    bench.pass(20);
    bench.sack(0, &[(2, 2)]).unwrap();
    assert!(bench.look_again().any);
    let outcome = bench.sack(2, &[]).unwrap();
    assert_eq!((outcome.acknowledgment.spurious, refuted(&outcome).len()), (1, 1));
    assert!(outcome.recovering.is_empty());
}

/// RFC 5682: the answer comes too soon after the first retransmission to be its own.
#[test]
fn timeout_is_refuted_by_an_answer_too_soon_and_what_is_left_is_not_sent_again() {
    let mut bench = Bench::measured(Profile::Signalling);
    for _ in 0..3 {
        bench.send(FULL);
        bench.write_new();
    }
    bench.pass(1000);
    bench.sender.lose_flight(bench.now, PathIndex::FIRST);
    assert_eq!(bench.write_lost().len(), 1);
    bench.pass(5);
    let outcome = bench.sack(1, &[]).unwrap();
    assert_eq!(refuted(&outcome), [(PathIndex::FIRST, LossCause::Timeout)]);
    assert!(!bench.sender.has_lost() && bench.flight() == 2 * (FULL + 16));
}

#[test]
fn timeout_answered_after_a_round_trip_needs_duplicates_to_be_refuted() {
    let mut bench = Bench::measured(Profile::Signalling);
    bench.send_apart(2, 0);
    bench.pass(1000);
    bench.sender.lose_flight(bench.now, PathIndex::FIRST);
    assert_eq!(bench.write_lost().len(), 2);
    bench.pass(20);
    assert_eq!(refuted(&bench.sack(2, &[]).unwrap()), []);
    let outcome = bench.sack_with(2, WINDOW, &[], &[0, 1]).unwrap();
    assert_eq!(refuted(&outcome), [(PathIndex::FIRST, LossCause::Timeout)]);
    assert_eq!(bench.sender.statistics().reordering_window_growths, 0, "patience had no part in it");
}

/// RFC 9260 §6.3.3 knows no such thing: the timer stays backed off, the window as it is.
#[test]
fn letter_of_rfc_9260_takes_no_timeout_back() {
    let mut bench = Bench::measured(Profile::Rfc9260);
    bench.send_apart(1, 0);
    bench.pass(1000);
    bench.sender.lose_flight(bench.now, PathIndex::FIRST);
    bench.write_lost();
    bench.pass(5);
    assert_eq!(refuted(&bench.sack_with(1, WINDOW, &[], &[0]).unwrap()), []);
}

/// A chunk that was probed and sent again needs a report for each: the probe may have repaired a loss.
#[test]
fn duplicate_of_a_probe_does_not_undo_the_timeout_after_it() {
    let mut bench = Bench::measured(Profile::Signalling);
    bench.send_apart(1, 40);
    bench.write_probe();
    bench.pass(160);
    bench.sender.lose_flight(bench.now, PathIndex::FIRST);
    bench.write_lost();
    bench.pass(20);
    assert_eq!(refuted(&bench.sack_with(1, WINDOW, &[], &[0]).unwrap()), []);
    assert_eq!(refuted(&bench.sack_with(1, WINDOW, &[], &[0]).unwrap()).len(), 1);
}

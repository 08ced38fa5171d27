//! Attempts to fool the drawings.

use lab::report::Verdict;

use super::*;

fn of(case: &str) -> Vec<Trip> {
    trips(&Effort::quick(), case).expect("a plan of ours")
}

#[test]
fn three_streams_do_not_pass_for_one_and_one_not_for_three() {
    let verdict = |case: &str, streams| HOLDS.judge("waits", waits_for_all(&of(case), streams)).verdict();
    assert_eq!((verdict("one", 1), verdict("three", 3)), (Verdict::Reproduced, Verdict::Reproduced));
    assert_eq!((verdict("one", 3), verdict("three", 1)), (Verdict::NotReproduced, Verdict::NotReproduced));
}

#[test]
fn a_rule_with_another_number_of_reports_turns_the_verdict() {
    let verdict = |case: &str| DETECTED.judge("sent again", detection(&of(case))).verdict();
    assert_eq!(verdict("one-three-reports"), Verdict::Reproduced);
    assert_eq!(verdict("one"), Verdict::NotReproduced);
}

#[test]
fn every_message_near_the_loss_has_its_arrows() {
    let page = fig1(&Effort::quick()).expect("a page of ours");
    let arrows = |name: &str| {
        page.series.iter().find(|series| series.name == name).map_or(0, |series| series.points.len() / 2)
    };
    assert_eq!((arrows("lost on its way"), arrows("sent again")), (1, 1));
    assert_eq!(
        arrows("on its way") + arrows("sent again"),
        arrows("held back") + arrows("delivered as it arrives")
    );
    assert!(arrows("held back") >= 4);
}

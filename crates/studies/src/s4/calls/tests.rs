use lab::report::Verdict;

use super::*;

#[test]
fn the_page_has_every_transport_and_tells_who_waited_where_that_is_known() {
    let effort = Effort { seeds: 2, share: 0.2, ..Effort::default() };
    let page = calls(&effort).expect("a plan of ours");
    let rows = &page.tables[0].rows;
    assert_eq!(rows.len(), CASES.len());
    for (row, (case, transport, name)) in rows.iter().zip(CASES) {
        assert_eq!(row[0], name);
        assert!(row[1].starts_with('2') || case == "udp", "about the round trip: {row:?}");
        assert_eq!(row[2] != "–", transport.is_some(), "{row:?}");
        assert_eq!(row[5] != "–", case.starts_with("sctp"), "{row:?}");
    }
    // Four of the model's R, five of two seconds, two of order.
    assert_eq!(page.statements.len(), 11);
    assert_eq!(page.statements[10].verdict(), Verdict::Reproduced, "without order nothing waits");
}

#[test]
fn one_call_that_waits_without_order_turns_the_statement() {
    for (shares, verdict) in [([0.0, 0.0], Verdict::Reproduced), ([0.0, 0.1], Verdict::NotReproduced)] {
        let share = Estimate::of_runs(&shares).unwrap();
        let statement = Criterion::holds().judge(String::new(), whether_none(share));
        assert_eq!(statement.verdict(), verdict, "{shares:?}");
    }
}

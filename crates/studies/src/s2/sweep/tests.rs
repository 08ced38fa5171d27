//! Attempts to fool the statements over load and loss.

use lab::report::Verdict;

use super::*;

/// Returns the verdict on what order costs at 0.3 % loss beside the formula for another loss.
fn verdict(plan: &str, loss_of_formula: f64) -> Verdict {
    let effort = Effort { seeds: 20, share: 0.5, ..Effort::default() };
    let losses = "\"links.middle.loss\" = [\"0.05%\", \"0.1%\", \"0.2%\", \"0.3%\", \"0.5%\", \"1%\"]";
    let plan = plan.replace(losses, "\"links.middle.loss\" = [\"0.3%\"]");
    let cells = effort.run("test", &plan).expect("a plan of ours");
    let cost = cost(cells.get(&[number("loss", 0.003)]).expect("one cell")).expect("twenty runs");
    let offset = cost.scaled(100.0 / by_formula(loss_of_formula), -100.0);
    NO_FIT.judge("order costs p·λ·R²/2", Evidence::Several(vec![("0.3 %".to_owned(), offset)])).verdict()
}

#[test]
fn a_rule_that_finds_losses_later_or_a_wrong_loss_turns_the_verdict() {
    let late = ORDER.replace("message = 500\n", "message = 500\n\n[flows.sip.sctp.s2]\nreports = 30\n");
    assert_ne!(verdict(ORDER, 0.003), Verdict::NotReproduced);
    assert_eq!(verdict(&late, 0.003), Verdict::NotReproduced);
    assert_eq!(verdict(ORDER, 0.0015), Verdict::NotReproduced);
}

#[test]
fn a_load_that_is_too_much_has_no_steady_state() {
    let effort = Effort { seeds: 3, share: 0.3, ..Effort::default() };
    let plan =
        LOAD.replace("[cases.95]\n\"flows.sip.rate\" = 360.49", "[cases.95]\n\"flows.sip.rate\" = 500.0");
    assert_ne!(plan, LOAD);
    let cells = effort.run("test", &plan).expect("a plan of ours");
    let holds = |load| {
        let cell = cells.get(&[text("queue", "20p"), number("case", load)]).expect("one cell");
        HOLDS.judge("carried", steady(cell)).verdict()
    };
    assert_eq!((holds(40.0), holds(95.0)), (Verdict::Reproduced, Verdict::NotReproduced));
}

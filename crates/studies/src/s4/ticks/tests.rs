//! An attempt to fool the statement on steps.

use lab::report::Verdict;

use super::*;

#[test]
fn steps_are_found_where_a_clock_ticks_and_nowhere_else() {
    let effort = Effort { seeds: 4, share: 0.3, ..Effort::default() };
    let verdict = |plan: &str, arrivals: &str| {
        let cells = effort.run("test", plan).expect("a plan of ours");
        let cell = cells.get(&[text("arrivals", arrivals)]).expect("one cell");
        STEPS.judge("steps of 4 ms", on_steps(cell)).verdict()
    };
    assert_eq!(verdict(PLAN, "ticks:4ms"), Verdict::Reproduced);
    assert_eq!(verdict(PLAN, "poisson"), Verdict::NotReproduced);
    let wrong = PLAN.replace("ticks:4ms", "ticks:3ms");
    assert_eq!(
        verdict(&wrong, "ticks:3ms"),
        Verdict::NotReproduced,
        "a clock of 333 Hz makes no steps of 4 ms"
    );
}

use super::*;

const WITHIN: Criterion = Criterion::within(23.5, 0.03, "ms");

fn estimate(value: f64, half: f64) -> Estimate {
    Estimate::new(value, Some([value - half, value + half]))
}

fn verdict(criterion: Criterion, evidence: impl Into<Evidence>) -> Verdict {
    criterion.judge("a statement", evidence).verdict()
}

#[test]
fn a_value_is_reproduced_only_if_its_whole_interval_is_within_the_bar() {
    assert_eq!(verdict(WITHIN, estimate(23.6, 0.2)), Verdict::Reproduced);
    assert_eq!(verdict(WITHIN, estimate(23.6, 2.0)), Verdict::Undecided, "a hit with a wide interval");
    assert_eq!(verdict(WITHIN, estimate(26.0, 2.0)), Verdict::Undecided, "a miss with a wide interval");
    assert_eq!(verdict(WITHIN, estimate(26.0, 0.2)), Verdict::NotReproduced);
    assert_eq!(verdict(WITHIN, Estimate::new(23.5, None)), Verdict::Undecided, "no interval");
}

#[test]
fn a_wrong_published_value_turns_the_verdict() {
    let ours = estimate(23.6, 0.2);
    assert_eq!(verdict(WITHIN, ours), Verdict::Reproduced);
    assert_eq!(verdict(Criterion::within(32.5, 0.03, "ms"), ours), Verdict::NotReproduced);
}

#[test]
fn what_equals_its_one_bound_is_neither_more_nor_less() {
    let same = Estimate::exact(0.0);
    for (rule, word) in [(Criterion::more_than(0.0, "%"), "more"), (Criterion::less_than(0.0, "%"), "less")] {
        assert_eq!(verdict(rule, same), Verdict::NotReproduced, "{word}: exactly equal");
        assert_eq!(verdict(rule, estimate(0.0, 0.1)), Verdict::Undecided, "{word}: equal, but for noise");
    }
    let steps = || {
        Evidence::Several(vec![
            ("one".to_owned(), estimate(5.0, 0.0)),
            ("two".to_owned(), estimate(5.0, 0.0)),
        ])
    };
    assert_eq!(verdict(Criterion::rising(0.0, "ms"), steps()), Verdict::NotReproduced);
    assert_eq!(verdict(Criterion::falling(0.0, "ms"), steps()), Verdict::NotReproduced);
    let between = Criterion::equivalent([0.0, 1.0], "%");
    assert_eq!(verdict(between, same), Verdict::Reproduced, "two bounds belong to what lies between");
}

#[test]
fn what_is_no_number_is_undecided() {
    assert_eq!(verdict(WITHIN, estimate(f64::NAN, 0.1)), Verdict::Undecided);
    assert_eq!(verdict(WITHIN, Evidence::Missing("no cell".to_owned())), Verdict::Undecided);
    assert_eq!(verdict(WITHIN, Evidence::Fact(true, String::new())), Verdict::Undecided, "of another kind");
}

#[test]
fn more_runs_do_not_make_a_prediction_interval_take_in_more() {
    let runs = |count: u32| Evidence::Runs((0..count).map(|run| 100.0 + f64::from(run % 10) - 4.5).collect());
    let published = Criterion::one_of_the_runs(112.0, 0.95, "ms");
    assert_eq!(verdict(published, runs(30)), Verdict::NotReproduced);
    assert_eq!(verdict(published, runs(3000)), Verdict::NotReproduced);
    assert_eq!(verdict(Criterion::one_of_the_runs(103.0, 0.95, "ms"), runs(30)), Verdict::Reproduced);
    assert_eq!(verdict(published, runs(9)), Verdict::Undecided, "too few runs");
}

#[test]
fn a_prediction_interval_that_takes_in_anything_decides_nothing() {
    let wide = Evidence::Runs((0..20).map(|run| 10.0 + 20.0 * f64::from(run)).collect());
    assert_eq!(verdict(Criterion::one_of_the_runs(200.0, 0.95, "ms"), wide), Verdict::Undecided);
}

#[test]
fn an_order_is_reproduced_if_every_step_is() {
    let values = |steps: [f64; 3], half: f64| {
        Evidence::Several(steps.map(|step| ("N".to_owned(), estimate(step, half))).to_vec())
    };
    let falling = Criterion::falling(0.0, "ms");
    assert_eq!(verdict(falling, values([30.0, 25.0, 22.0], 0.5)), Verdict::Reproduced);
    assert_eq!(verdict(falling, values([22.0, 25.0, 30.0], 0.5)), Verdict::NotReproduced, "shuffled");
    assert_eq!(verdict(falling, values([30.0, 25.0, 24.9], 0.5)), Verdict::Undecided);
    assert_eq!(verdict(Criterion::falling(0.05, "ms"), values([30.0, 25.0, 24.9], 0.1)), Verdict::Reproduced);
    assert_eq!(verdict(Criterion::rising(0.0, "ms"), values([22.0, 25.0, 30.0], 0.5)), Verdict::Reproduced);
}

#[test]
fn one_value_beyond_the_bounds_is_one_too_many() {
    let values = |last: Estimate| {
        Evidence::Several(vec![("a".to_owned(), estimate(0.5, 0.2)), ("b".to_owned(), last)])
    };
    let each = Criterion::each([-3.0, 3.0], "%");
    assert_eq!(verdict(each, values(estimate(-2.0, 0.5))), Verdict::Reproduced);
    assert_eq!(verdict(each, values(estimate(4.0, 0.5))), Verdict::NotReproduced);
    assert_eq!(verdict(each, values(estimate(3.2, 0.5))), Verdict::Undecided);
    assert_eq!(verdict(each, Evidence::Several(Vec::new())), Verdict::Undecided, "no value at all");
}

#[test]
fn a_statement_is_explained_by_a_second_run_alone() {
    let missed = || WITHIN.judge("a statement", estimate(26.0, 0.2));
    let explained = WITHIN.explain(missed(), "the older rule", "page/old", estimate(23.4, 0.1));
    assert_eq!((explained.verdict(), explained.evidence()), (Verdict::Explained, Some("page/old")));
    let still = WITHIN.explain(missed(), "the older rule", "page/old", estimate(25.0, 0.1));
    assert_eq!(still.verdict(), Verdict::NotReproduced, "the cause does not produce the value");
    let vague = WITHIN.explain(missed(), "the older rule", "page/old", estimate(23.4, 3.0));
    assert_eq!(vague.verdict(), Verdict::NotReproduced, "nor does an interval that takes in both");
}

#[test]
fn neither_a_note_nor_another_criterion_turns_a_verdict() {
    let missed = WITHIN.judge("a statement", estimate(26.0, 0.2)).noting("known");
    assert_eq!(missed.verdict(), Verdict::NotReproduced);
    let easier = Criterion::within(23.5, 0.5, "ms");
    let evidence = estimate(23.5, 0.1);
    assert_eq!(
        easier.explain(missed, "a wider bar", "page/other", evidence).verdict(),
        Verdict::NotReproduced
    );
}

#[test]
fn differences_of_two_estimates_are_as_unsure_as_both() {
    let beyond = estimate(22.0, 0.22).beyond(estimate(20.0, 0.2));
    assert!((beyond.value() - 0.1).abs() < 1e-12);
    assert!((beyond.half_width().unwrap_or_default() - 1.1 * 0.01 * 2.0_f64.sqrt()).abs() < 1e-9);
}

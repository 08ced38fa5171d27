//! Attempts to fool a page: each must turn the verdict, or leave it where nothing is different.

use lab::report::Verdict;

use super::*;

/// Returns the verdict on one stream at 1 % loss by a rule of recovery, beside the model at a rate.
fn verdict(factors: &[&str], model_rate: f64) -> Verdict {
    let (head, _) = PROFILES.split_once("[factors]").unwrap_or((PROFILES, ""));
    let effort = Effort { seeds: 20, share: 1.0, ..Effort::default() };
    let cells =
        effort.run("test", &format!("{head}[factors]\n{}\n", factors.join("\n"))).expect("a plan of ours");
    let chosen = cells.all(&[text("transport", "sctp:1"), number("loss", 0.01)]).expect("one cell");
    let evidence = offsets(&chosen, "loss", |_| model_ms(0.01, model_rate, flow("sctp:1")));
    AS_THE_MODEL.judge("simulation and model agree", evidence.expect("a model")).verdict()
}

const LOSS: &str = "\"links.wan.loss\" = [\"0%\", \"1%\"]";
const TRANSPORT: &str = "\"flows.requests.transport\" = [\"sctp:1\"]";
const MODELS_OWN: &str = "\"flows.requests.profile\" = [\"studies\"]";

#[test]
fn the_models_own_rule_agrees_with_the_model_in_whatever_order_the_factors_stand() {
    assert_eq!(verdict(&[LOSS, MODELS_OWN, TRANSPORT], 100.0), Verdict::Reproduced);
    assert_eq!(verdict(&[TRANSPORT, LOSS, MODELS_OWN], 100.0), Verdict::Reproduced);
}

#[test]
fn a_simulator_with_another_rule_turns_the_verdict() {
    let once = "\"flows.requests.profile\" = [\"linux-2.6.16\"]";
    assert_eq!(verdict(&[LOSS, once, TRANSPORT], 100.0), Verdict::NotReproduced);
}

#[test]
fn a_wrong_published_value_turns_the_verdict() {
    assert_eq!(verdict(&[LOSS, MODELS_OWN, TRANSPORT], 30.0), Verdict::NotReproduced);
}

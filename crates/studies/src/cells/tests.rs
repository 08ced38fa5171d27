use super::*;
use crate::effort::Effort;

const PLAN: &str = include_str!("../../../../plans/studies/s1-loss-profiles.toml");

fn little() -> Effort {
    Effort { seeds: 2, share: 0.05, ..Effort::default() }
}

/// Returns the plan with two losses, its factors in another order.
fn shuffled() -> (String, String) {
    let [loss, profile, transport] = [
        "\"links.wan.loss\" = [\"0%\", \"2%\"]\n",
        "\"flows.requests.profile\" = [\"studies\", \"linux-2.6.16\"]\n",
        "\"flows.requests.transport\" = [\"sctp:1\", \"sctp:6\"]\n",
    ];
    let (head, _) = PLAN.split_once("[factors]").unwrap_or((PLAN, ""));
    (
        format!("{head}[factors]\n{loss}{profile}{transport}"),
        format!("{head}[factors]\n{transport}{loss}{profile}"),
    )
}

#[test]
fn factors_in_another_order_give_the_same_cells() {
    let (one, other) = shuffled();
    let [one, other] = [one, other].map(|plan| little().run("test", &plan).expect("a plan of ours"));
    for loss in [0.0, 0.02] {
        for transport in ["sctp:1", "sctp:6"] {
            let key = [text("transport", transport), number("loss", loss), text("profile", "studies")];
            let means = [&one, &other].map(|cells| cells.get(&key).expect("a cell").mean());
            assert_eq!(means[0], means[1]);
        }
    }
}

#[test]
fn a_cell_that_is_not_there_is_an_error_and_no_number() {
    let cells = little().run("test", &shuffled().0).expect("a plan of ours");
    let wrong = [text("transport", "sctp:2"), number("loss", 0.02), text("profile", "studies")];
    let error = cells.get(&wrong).expect_err("no such cell");
    assert_eq!(
        error.to_string(),
        "test: 0 cells have transport = sctp:2, loss = 0.02, profile = studies, and it takes one"
    );
    assert!(cells.get(&[number("loss", 0.02)]).is_err(), "four cells have it");
    assert!(cells.get(&[number("lost", 0.02)]).is_err(), "no such factor");
    assert!(cells.iter().all(|cell| cell.number("transport").is_err() && cell.level("case").is_err()));
}

#[test]
fn a_cell_without_a_steady_state_has_no_mean() {
    let (head, _) = PLAN.split_once("[factors]").unwrap_or((PLAN, ""));
    let slow = head.replace("rate = \"100mbit\"", "rate = \"60kbit\"");
    let cells = little().run("test", &format!("{slow}[factors]\n\"links.wan.loss\" = [\"0%\"]\n"));
    let cells = cells.expect("a plan of ours");
    let cell = cells.get(&[number("loss", 0.0)]).expect("the only cell");
    assert!(cell.is_overloaded() && cell.mean().is_none() && cell.mean_of_answered().is_some());
    let (answered, all) = cell.answered();
    assert!(answered > 0 && all >= answered);
}

//! Why what concerns a rule stays on its stream (S4 §5.1): PLC(0) overtaking PLC(>0) would be refused.

use core::time::Duration;

use simco::NegativeCode;
use simco::PolicyRequest;
use simco::agent::{AgentEvent, AgentSettings, PolicyReply};

use super::network::{Conditions, Order, Pair};
use crate::support::{Bench, change, config, owner, pinhole};

const STREAMS: u16 = 6;
const RULES: usize = 10_000;

/// Opens 10,000 pinholes, refreshes and deletes each as soon as it is there; returns the refusals.
fn refresh_then_delete(order: Order) -> Vec<NegativeCode> {
    let mut config = config();
    config.agents.known.get_mut(&owner("a")).unwrap().policy.most_rules = RULES;
    let conditions = Conditions { order, one_lost_in: 10, jitter: Duration::from_millis(5) };
    let mut pair = Pair::new(Bench::with(config), AgentSettings::default(), STREAMS, conditions);
    let (mut opened, mut deleted, mut refusals) = (0, 0, Vec::new());
    while deleted < RULES {
        for _ in 0..(RULES - opened).min(10) {
            pair.ask(PolicyRequest::Enable(pinhole()));
            opened += 1;
        }
        pair.pass(Duration::from_millis(5));
        while let Some(event) = pair.events.pop_front() {
            match event {
                AgentEvent::Answered { outcome: Ok(PolicyReply::Enable(enabled)), .. } => {
                    pair.ask(change(enabled.rule, 120));
                    pair.ask(change(enabled.rule, 0));
                }
                AgentEvent::Answered { outcome: Ok(PolicyReply::Deletion), .. } => deleted += 1,
                AgentEvent::Answered { outcome: Err(code), .. } => refusals.push(code),
                _ => {}
            }
        }
    }
    pair.run_until(|pair| pair.agent.outstanding() == 0);
    while let Some(event) = pair.events.pop_front() {
        if let AgentEvent::Answered { outcome: Err(code), .. } = event {
            refusals.push(code);
        }
    }
    assert_eq!(pair.bench.middlebox.rule_count(), 0);
    refusals
}

#[test]
fn refresh_then_delete_of_10_000_rules_is_never_refused_over_six_streams() {
    assert_eq!(refresh_then_delete(Order::Ordered), []);
}

/// The counterproof: the same over unordered messages.
#[test]
fn refresh_then_delete_is_refused_where_messages_of_a_rule_overtake_each_other() {
    let refusals = refresh_then_delete(Order::Unordered);
    assert!(refusals.len() > RULES / 100, "{} refusals", refusals.len());
    assert!(refusals.iter().all(|code| *code == NegativeCode::NoSuchRule));
}

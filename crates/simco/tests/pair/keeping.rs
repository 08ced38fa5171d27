//! Rules that are held live on; after a reconnection both sides agree again.

use core::time::Duration;

use simco::agent::{
    AgentCloseReason, AgentEvent, AgentSettings, Loss, PolicyReply, Reconnection, Refresh, Resynchronisation,
};
use simco::{Lifetime, PolicyRequest, PolicyRuleId};

use super::network::{Pair, QUIET};
use crate::support::{Bench, pinhole, seconds};

fn opened(pair: &mut Pair) -> PolicyRuleId {
    let transaction = pair.ask(PolicyRequest::Enable(pinhole()));
    let mut rule = None;
    pair.run_until(|pair| {
        while let Some(event) = pair.events.pop_front() {
            if let AgentEvent::Answered {
                transaction: answered,
                outcome: Ok(PolicyReply::Enable(enabled)),
                ..
            } = event
                && answered == transaction
            {
                rule = Some(enabled.rule);
            }
        }
        rule.is_some()
    });
    rule.unwrap()
}

fn pair() -> Pair {
    Pair::new(Bench::new(), AgentSettings::default(), 6, QUIET)
}

fn losses(pair: &mut Pair) -> Vec<(PolicyRuleId, Loss)> {
    let loss = |event| match event {
        AgentEvent::RuleLost { rule, loss } => Some((rule, loss)),
        _ => None,
    };
    pair.events.drain(..).filter_map(loss).collect()
}

/// Whether its own clock or the middlebox tells the agent first is a matter of the path.
fn lost(pair: &mut Pair) -> Vec<PolicyRuleId> {
    losses(pair).into_iter().map(|(rule, _)| rule).collect()
}

#[test]
fn held_rule_outlives_its_lifetime_and_a_released_one_does_not() {
    let mut pair = pair();
    let (held, free) = (opened(&mut pair), opened(&mut pair));
    assert!(pair.agent.hold(pair.bench.now, held, seconds(300)));
    pair.pass(Duration::from_secs(3000));
    assert_eq!(lost(&mut pair), [free]);
    let rules: Vec<_> = pair.bench.middlebox.rules().map(|rule| rule.id).collect();
    assert_eq!(rules, [held]);
    pair.agent.release(held);
    pair.pass(Duration::from_secs(301));
    assert_eq!(lost(&mut pair), [held]);
}

#[test]
fn refreshes_of_rules_made_together_spread_by_their_jitter() {
    let refresh = Refresh { period: Some(Duration::from_secs(120)), latest: 0.5, jitter: 0.2 };
    let settings = AgentSettings { refresh, ..AgentSettings::default() };
    let mut pair = Pair::new(Bench::new(), settings, 6, QUIET);
    let rules: Vec<_> = (0..200).map(|_| opened(&mut pair)).collect();
    let start = pair.bench.now;
    for rule in &rules {
        pair.agent.hold(start, *rule, seconds(300));
    }
    let mut moments = Vec::new();
    while pair.bench.now < start + Duration::from_secs(130) {
        let before: Vec<_> = pair.bench.middlebox.rules().map(|rule| rule.deadline).collect();
        pair.pass(Duration::from_secs(1));
        let after = pair.bench.middlebox.rules().map(|rule| rule.deadline);
        let refreshed = before.iter().zip(after).filter(|(old, new)| **old != *new).count();
        moments.extend(core::iter::repeat_n(pair.bench.now.since(start).as_secs(), refreshed));
    }
    assert_eq!(moments.len(), 200, "each once in 130 s");
    let (first, last) = (moments[0], moments[199]);
    assert!((96..100).contains(&first) && (116..=121).contains(&last), "{first} to {last} s");
}

#[test]
fn after_reconnection_lost_rules_are_reported_and_the_others_kept() {
    let mut pair = pair();
    let rules: Vec<_> = (0..150).map(|_| opened(&mut pair)).collect();
    for rule in &rules {
        pair.agent.hold(pair.bench.now, *rule, seconds(300));
    }
    pair.break_connection();
    assert!(pair.events.contains(&AgentEvent::Closed { reason: AgentCloseReason::Lost }));
    pair.bench.middlebox.remove_rule(pair.bench.now, rules[70]);
    pair.events.clear();
    pair.reconnect(6);
    pair.run_until(|pair| pair.events.iter().any(|event| matches!(event, AgentEvent::Resynchronised { .. })));
    assert!(pair.events.contains(&AgentEvent::Resynchronised { listed: 149 }));
    assert_eq!(losses(&mut pair), [(rules[70], Loss::NotListed)]);
    pair.pass(Duration::from_secs(1000));
    assert_eq!(pair.bench.middlebox.rule_count(), 149, "refreshed over the new connection");
}

#[test]
fn restarted_agent_finds_its_rules() {
    let mut pair = pair();
    let rule = opened(&mut pair);
    pair.break_connection();
    let settings = AgentSettings { resynchronisation: Resynchronisation::Always, ..AgentSettings::default() };
    pair.agent = simco::agent::Agent::new(settings, [6; 32]);
    pair.reconnect(2);
    pair.run_until(|pair| pair.events.iter().any(|event| matches!(event, AgentEvent::Resynchronised { .. })));
    assert!(pair.agent.hold(pair.bench.now, rule, seconds(300)));
}

#[test]
fn rule_that_runs_out_while_there_is_no_connection_is_lost() {
    let mut pair = pair();
    let rule = opened(&mut pair);
    pair.agent.hold(pair.bench.now, rule, seconds(300));
    pair.break_connection();
    pair.events.clear();
    pair.pass(Duration::from_secs(301));
    assert_eq!(losses(&mut pair), [(rule, Loss::Expired)]);
    assert_eq!(pair.agent.known_rules().count(), 0);
}

#[test]
fn termination_waits_for_answers_on_other_streams() {
    let mut pair = pair();
    let asked: Vec<_> = (0..12).map(|_| pair.ask(PolicyRequest::Enable(pinhole()))).collect();
    pair.agent.terminate();
    assert!(pair.agent.request(PolicyRequest::List).is_err());
    let over = AgentEvent::Closed { reason: AgentCloseReason::Terminated };
    pair.run_until(|pair| pair.events.contains(&over));
    let answered =
        pair.events.iter().filter(|event| matches!(event, AgentEvent::Answered { outcome: Ok(_), .. }));
    assert_eq!(answered.count(), asked.len());
    assert_eq!(pair.bench.middlebox.rule_count(), 12);
    assert!(pair.bench.middlebox.rules().all(|rule| rule.remaining(pair.bench.now) > Lifetime::ZERO));
}

#[test]
fn refresh_that_the_break_left_unanswered_is_made_again() {
    let settings = AgentSettings { resynchronisation: Resynchronisation::Never, ..AgentSettings::default() };
    let mut pair = Pair::new(Bench::new(), settings, 6, QUIET);
    let rule = opened(&mut pair);
    pair.agent.hold(pair.bench.now, rule, seconds(300));
    while pair.agent.outstanding() == 0 {
        pair.pass(Duration::from_millis(5));
    }
    pair.break_connection();
    pair.reconnect(6);
    pair.pass(Duration::from_secs(3000));
    assert_eq!(losses(&mut pair), []);
    assert_eq!(pair.bench.middlebox.rule_count(), 1);
}

/// What the agent plans after its session ended: the attempt, and how long it waits.
fn attempts(pair: &mut Pair, count: usize) -> Vec<(u32, Duration)> {
    for _ in 0..count {
        pair.agent.next_attempt(pair.bench.now).unwrap();
    }
    let events = core::iter::from_fn(|| pair.agent.poll_event());
    events
        .filter_map(|event| match event {
            AgentEvent::Reconnecting { attempt, after } => Some((attempt, after)),
            _ => None,
        })
        .collect()
}

#[test]
fn attempts_come_later_and_later_until_a_session_has_lasted() {
    let settings = AgentSettings { reconnection: Some(Reconnection::default()), ..AgentSettings::default() };
    let mut pair = Pair::new(Bench::new(), settings, 6, QUIET);
    pair.pass(Duration::from_secs(60));
    pair.break_connection();
    let made = attempts(&mut pair, 12);
    for (number, (attempt, after)) in (1..).zip(made) {
        assert_eq!(attempt, number);
        let whole = Duration::from_millis(500 * 2_u64.pow(attempt - 1)).min(Duration::from_secs(30));
        assert!(after <= whole && after >= whole / 2, "{attempt}: {after:?}");
    }
    // A session that ends soon does not make it more eager, one that lasts does.
    for (lasts, next) in [(10, 13), (30, 1)] {
        pair.reconnect(6);
        pair.run_until(|pair| pair.agent.is_open());
        pair.pass(Duration::from_secs(lasts));
        pair.break_connection();
        assert_eq!(attempts(&mut pair, 1)[0].0, next);
    }
}

#[test]
fn no_attempt_is_made_where_none_is_wanted_or_none_can_help() {
    let mut unwanted = pair();
    unwanted.break_connection();
    assert_eq!(unwanted.agent.next_attempt(unwanted.bench.now), None);
    let settings = AgentSettings { reconnection: Some(Reconnection::default()), ..AgentSettings::default() };
    let mut ended = Pair::new(Bench::new(), settings, 6, QUIET);
    ended.agent.terminate();
    ended
        .run_until(|pair| pair.events.contains(&AgentEvent::Closed { reason: AgentCloseReason::Terminated }));
    assert_eq!(ended.agent.next_attempt(ended.bench.now), None);
}

//! ARE: who is told what (RFC 4540 §8.9).

use core::time::Duration;

use simco::middlebox::{AgentPolicy, Flow, Framing, MiddleboxEvent};
use simco::{Lifetime, PolicyRequest};

use crate::support::{Bench, change, config, connection, pinhole, reservation, seconds};

#[test]
fn sessions_of_the_owner_and_overseers_are_told_but_not_the_one_that_asked() {
    let mut bench = Bench::new();
    let (asker, same, other, root) = (bench.open("a"), bench.open("a"), bench.open("b"), bench.open("root"));
    let reserved = bench.reserve(asker, reservation()).rule;
    let told = |bench: &mut Bench| [same, root, other, asker].map(|session| bench.rule_events(session));
    let expected = |lifetime| [vec![(reserved, lifetime)], vec![(reserved, lifetime)], vec![], vec![]];
    assert_eq!(told(&mut bench), expected(seconds(300)));
    bench.ask(asker, PolicyRequest::EnableReserved { rule: reserved, pinhole: pinhole() }).enabled();
    assert_eq!(told(&mut bench), expected(seconds(300)));
    bench.ask(asker, change(reserved, 60)).lifetime();
    assert_eq!(told(&mut bench), expected(seconds(60)));
    assert!(bench.ask(asker, change(reserved, 0)).is_deletion());
    assert_eq!(told(&mut bench), expected(Lifetime::ZERO));
}

/// Ruling R17.
#[test]
fn nobody_is_told_of_what_failed() {
    let mut bench = Bench::new();
    let (asker, same) = (bench.open("a"), bench.open("a"));
    let mut request = pinhole();
    request.lifetime = Lifetime::ZERO;
    bench.refusal(asker, PolicyRequest::Enable(request));
    assert_eq!(bench.rule_events(same), []);
}

#[test]
fn owner_without_session_is_not_told_and_an_administrator_tells_all() {
    let mut bench = Bench::new();
    let (asker, root) = (bench.open("a"), bench.open("root"));
    let rule = bench.enable(asker, pinhole()).rule;
    bench.inbox.clear();
    assert!(bench.middlebox.remove_rule(bench.now, rule));
    bench.drain();
    assert_eq!(bench.rule_events(asker), [(rule, Lifetime::ZERO)]);
    assert_eq!(bench.rule_events(root), [(rule, Lifetime::ZERO)]);
    assert!(!bench.middlebox.remove_rule(bench.now, rule));
}

/// Events go round the streams, with identifiers of their own that never repeat.
#[test]
fn events_go_round_the_streams() {
    let mut bench = Bench::new();
    let asker = bench.open("a");
    let listener = bench.open_with("a", Framing::Messages { streams: 3 });
    for _ in 0..4 {
        bench.enable(asker, pinhole());
    }
    let said = bench.inbox.remove(&listener).unwrap();
    let streams: Vec<_> = said.iter().map(|(stream, octets)| (stream.get(), octets[7])).collect();
    assert_eq!(streams, [(0, 1), (1, 2), (2, 3), (0, 4)]);
}

/// An agent that does not read ends by itself, not the middlebox' memory.
#[test]
fn session_that_does_not_read_its_events_is_cut() {
    let mut config = config();
    config.limits.outbox_bytes = 1000;
    config.agents.anonymous = Some(AgentPolicy::default());
    let mut bench = Bench::with(config);
    let (asker, idle) = (bench.open("a"), bench.open("a"));
    bench.middlebox.set_flow(idle, Flow::Paused);
    for _ in 0..50 {
        bench.enable(asker, pinhole());
    }
    assert!(bench.close_reason(idle).is_some());
    assert!(!bench.inbox.contains_key(&idle));
    bench.connect(connection(None));
}

/// What an audit log needs: who, what, why.
#[test]
fn every_change_is_an_event_with_its_author() {
    let mut bench = Bench::new();
    let session = bench.open("a");
    let rule = bench.enable(session, pinhole()).rule;
    bench.pass(Duration::from_secs(300));
    let changes: Vec<_> = bench
        .events
        .iter()
        .filter_map(|event| match event {
            MiddleboxEvent::Changed { by, change } => {
                Some((by.clone().map(|(id, owner)| (id, owner.to_string())), change))
            }
            _ => None,
        })
        .collect();
    assert_eq!(changes.len(), 2);
    assert_eq!(changes[0].0, Some((session, "a".to_owned())));
    assert_eq!(changes[0].1.after().unwrap().id, rule);
    assert_eq!(changes[1].0, None);
    assert!(changes[1].1.after().is_none());
}

//! Codes 0x0340 to 0x0346 and what PRS and PRL tell.

use simco::middlebox::{AgentPolicy, Offer, RequestRate};
use simco::{
    Body, GroupId, Lifetime, Location, NegativeCode, PolicyRequest, PolicyRuleId, PositiveReply, TupleForm,
};

use crate::support::{Bench, UDP, block, change, config, owner, pinhole, pinhole_at, reservation, seconds};

/// 0x0340: PDR is optional.
#[test]
fn disable_rules_that_are_not_offered_are_not_supported() {
    let mut config = config();
    config.disable_rules = Offer::Refused;
    let mut bench = Bench::with(config);
    let session = bench.open("a");
    let code = bench.refusal(session, PolicyRequest::Disable(block()));
    assert_eq!(code, NegativeCode::TransactionNotSupported);
}

/// 0x0341: each transaction has its permission.
#[test]
fn transactions_an_agent_may_not_make_are_refused() {
    let mut config = config();
    let policy = &mut config.agents.known.get_mut(&owner("a")).unwrap().policy;
    *policy = AgentPolicy {
        may_reserve: false,
        may_enable: false,
        may_disable: false,
        may_change_lifetimes: false,
        may_inspect: false,
        ..AgentPolicy::default()
    };
    let mut bench = Bench::with(config);
    let session = bench.open("a");
    let rule = PolicyRuleId::new(1);
    for request in [
        PolicyRequest::Reserve(reservation()),
        PolicyRequest::Enable(pinhole()),
        PolicyRequest::EnableReserved { rule, pinhole: pinhole() },
        PolicyRequest::Disable(block()),
        change(rule, 0),
        PolicyRequest::Status { rule },
        PolicyRequest::List,
    ] {
        assert_eq!(bench.refusal(session, request), NegativeCode::TransactionNotAuthorized, "{request:?}");
    }
}

/// 0x0342: an agent's rules, all rules, requests per second.
#[test]
fn limits_of_rules_and_requests_hold() {
    let mut config = config();
    config.limits.rules = 3;
    let policy = &mut config.agents.known.get_mut(&owner("a")).unwrap().policy;
    policy.most_rules = 2;
    policy.request_rate = Some(RequestRate { per_second: 10, burst: 6 });
    let mut bench = Bench::with(config);
    let (a, b) = (bench.open("a"), bench.open("b"));
    let first = bench.enable(a, pinhole_at(1)).rule;
    bench.enable(a, pinhole_at(2));
    let more = PolicyRequest::Enable(pinhole_at(3));
    assert_eq!(bench.refusal(a, more), NegativeCode::NoResources, "his own limit");
    bench.enable(b, pinhole_at(4));
    assert_eq!(bench.refusal(b, PolicyRequest::Reserve(reservation())), NegativeCode::NoResources);
    assert!(bench.ask(a, change(first, 0)).is_deletion());
    bench.enable(b, pinhole_at(5));
    bench.listed(a);
    bench.listed(a);
    assert_eq!(bench.refusal(a, PolicyRequest::List), NegativeCode::NoResources, "the burst is used up");
    bench.pass(core::time::Duration::from_millis(100));
    assert_eq!(bench.listed(a).len(), 1);
}

/// 0x0313: 8,191 rules fit into a list.
#[test]
fn list_that_does_not_fit_is_refused() {
    let mut bench = Bench::new();
    let session = bench.open("a");
    for _ in 0..8191 {
        bench.enable(session, pinhole());
    }
    assert_eq!(bench.listed(session).len(), 8191);
    bench.enable(session, pinhole());
    assert_eq!(bench.refusal(session, PolicyRequest::List), NegativeCode::ReplyTooBig);
}

/// 0x0343 and 0x0345: rules that are not there, and rules of others.
#[test]
fn rules_of_others_are_out_of_reach_but_for_overseers() {
    let mut bench = Bench::new();
    let (a, b, root) = (bench.open("a"), bench.open("b"), bench.open("root"));
    let rule = bench.reserve(a, reservation()).rule;
    let requests = |rule| {
        [
            PolicyRequest::EnableReserved { rule, pinhole: pinhole() },
            change(rule, 10),
            change(rule, 0),
            PolicyRequest::Status { rule },
        ]
    };
    for request in requests(PolicyRuleId::new(77)) {
        assert_eq!(bench.refusal(a, request), NegativeCode::NoSuchRule);
    }
    for request in requests(rule) {
        assert_eq!(bench.refusal(b, request), NegativeCode::RuleNotAuthorized);
    }
    assert_eq!(bench.listed(b), []);
    assert_eq!(bench.listed(root), [rule.get()]);
    assert!(bench.ask(root, change(rule, 0)).is_deletion());
}

/// 0x0344 and 0x0346: groups live while they have members, and belong to one agent.
#[test]
fn groups_take_members_of_their_owner_only_and_end_with_the_last() {
    let mut bench = Bench::new();
    let (a, b) = (bench.open("a"), bench.open("b"));
    let first = bench.enable(a, pinhole());
    let join = |group| PolicyRequest::Enable(simco::EnableRequest { group: Some(group), ..pinhole_at(9) });
    let reserve =
        |group| PolicyRequest::Reserve(simco::ReserveRequest { group: Some(group), ..reservation() });
    let second = bench.ask(a, join(first.group)).enabled();
    assert_eq!(second.group, first.group);
    assert_eq!(bench.ask(a, reserve(first.group)).reserved().group, first.group);
    assert_eq!(bench.refusal(b, join(first.group)), NegativeCode::GroupNotAuthorized);
    assert_eq!(bench.refusal(b, reserve(first.group)), NegativeCode::GroupNotAuthorized);
    assert_eq!(bench.refusal(a, join(GroupId::new(99))), NegativeCode::NoSuchGroup);
    assert_eq!(bench.refusal(a, reserve(GroupId::new(99))), NegativeCode::NoSuchGroup);
    for rule in bench.listed(a) {
        bench.ask(a, change(PolicyRuleId::new(rule), 0));
    }
    assert_eq!(bench.refusal(a, join(first.group)), NegativeCode::NoSuchGroup);
}

#[test]
fn identifiers_are_not_used_again_soon() {
    let mut bench = Bench::new();
    let session = bench.open("a");
    let first = bench.enable(session, pinhole());
    assert_eq!((first.rule.get(), first.group.get()), (1, 1));
    bench.ask(session, change(first.rule, 0));
    let second = bench.enable(session, pinhole());
    assert_eq!((second.rule.get(), second.group.get()), (2, 2));
}

#[test]
fn firewall_reports_the_tuples_of_the_request() {
    let mut bench = Bench::new();
    let session = bench.open("a");
    let enabled = bench.enable(session, pinhole());
    assert_eq!(enabled.outside, pinhole().internal.at(Location::OUTSIDE));
    assert_eq!(enabled.inside, Some(pinhole().external.at(Location::INSIDE)));
    let reserved = bench.reserve(session, reservation());
    assert_eq!(reserved.outside.location, Location::OUTSIDE);
    assert_eq!((reserved.outside.protocol, reserved.outside.prefix_length), (UDP, 0));
    assert!(matches!(reserved.outside.form, TupleForm::ProtocolsOnly(_)) && reserved.inside.is_none());
}

#[test]
fn status_tells_what_was_asked_and_granted_and_what_time_is_left() {
    let mut bench = Bench::new();
    let session = bench.open("a");
    let reserved = bench.reserve(session, reservation());
    let enabled = bench.enable(session, pinhole());
    let disabled = bench.ask(session, PolicyRequest::Disable(block())).disabled();
    bench.pass(core::time::Duration::from_millis(100_500));
    let said = bench.ask(session, PolicyRequest::Status { rule: reserved.rule });
    let Body::Positive(PositiveReply::ReserveStatus(status)) = said.body() else { panic!("{said:?}") };
    assert_eq!((status.reserved.lifetime, status.owner), (seconds(200), &b"a"[..]));
    assert_eq!(simco::Reserved { lifetime: seconds(300), ..status.reserved }, reserved);
    let said = bench.ask(session, PolicyRequest::Status { rule: enabled.rule });
    let Body::Positive(PositiveReply::EnableStatus(status)) = said.body() else { panic!("{said:?}") };
    assert_eq!(simco::Enabled { lifetime: seconds(300), ..status.enabled }, enabled);
    assert_eq!((status.internal, status.external), (pinhole().internal, pinhole().external));
    assert_eq!(status.parameters, pinhole().parameters);
    let said = bench.ask(session, PolicyRequest::Status { rule: disabled });
    let Body::Positive(PositiveReply::DisableStatus(status)) = said.body() else { panic!("{said:?}") };
    assert_eq!(
        (status.internal, status.external, status.lifetime),
        (block().internal, block().external, seconds(500))
    );
}

/// The table of PID states: RESERVED becomes ENABLED once, with the same PID and GID.
#[test]
fn reservation_becomes_a_pinhole_with_the_same_identifiers() {
    let mut bench = Bench::new();
    let session = bench.open("a");
    let reserved = bench.reserve(session, reservation());
    let request = PolicyRequest::EnableReserved { rule: reserved.rule, pinhole: pinhole() };
    let enabled = bench.ask(session, request).enabled();
    assert_eq!((enabled.rule, enabled.group), (reserved.rule, reserved.group));
    assert_eq!(bench.refusal(session, request), NegativeCode::InconsistentRequest, "enabled already");
    assert!(bench.ask(session, change(enabled.rule, 0)).is_deletion());
    assert_eq!(bench.refusal(session, change(enabled.rule, 0)), NegativeCode::NoSuchRule);
}

#[test]
fn failed_enabling_leaves_the_reservation() {
    let mut bench = Bench::new();
    let session = bench.open("a");
    let reserved = bench.reserve(session, reservation());
    let mut wrong = pinhole();
    wrong.lifetime = Lifetime::ZERO;
    let request = PolicyRequest::EnableReserved { rule: reserved.rule, pinhole: wrong };
    assert_eq!(bench.refusal(session, request), NegativeCode::ConfigurationFailed);
    let said = bench.ask(session, PolicyRequest::Status { rule: reserved.rule });
    assert!(matches!(said.body(), Body::Positive(PositiveReply::ReserveStatus(_))));
}

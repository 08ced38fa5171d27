//! Lifetimes: granted, changed, at their end. Codes 0x034A, 0x0351, 0x0352.

use core::time::Duration;

use simco::filter::PacketFilter;
use simco::{EnableRequest, Lifetime, NegativeCode, PolicyRequest, ReserveRequest};

use crate::support::{Bench, block, change, config, owner, pinhole, reservation, seconds};

/// 0x034A: a lifetime of zero is refused where something would be created.
#[test]
fn rule_without_lifetime_is_refused() {
    let mut bench = Bench::new();
    let session = bench.open("a");
    let rule = bench.reserve(session, reservation()).rule;
    let dead = EnableRequest { lifetime: Lifetime::ZERO, ..pinhole() };
    for request in [
        PolicyRequest::Enable(dead),
        PolicyRequest::EnableReserved { rule, pinhole: dead },
        PolicyRequest::Reserve(ReserveRequest { lifetime: Lifetime::ZERO, ..reservation() }),
        PolicyRequest::Disable(simco::DisableRequest { lifetime: Lifetime::ZERO, ..block() }),
    ] {
        assert_eq!(bench.refusal(session, request), NegativeCode::ConfigurationFailed);
    }
    assert_eq!(bench.listed(session), [rule.get()]);
}

#[test]
fn lifetime_is_capped_by_the_longest() {
    let mut bench = Bench::new();
    let session = bench.open("a");
    let enabled = bench.enable(session, EnableRequest { lifetime: seconds(u32::MAX), ..pinhole() });
    assert_eq!(enabled.lifetime, seconds(3600));
    assert_eq!(bench.ask(session, change(enabled.rule, 5000)).lifetime(), seconds(3600));
    assert_eq!(bench.ask(session, change(enabled.rule, 5)).lifetime(), seconds(5), "shorter, too");
}

#[test]
fn rule_ends_at_its_deadline_and_the_filter_with_it() {
    let mut bench = Bench::new();
    let session = bench.open("a");
    let rule = bench.enable(session, pinhole()).rule;
    bench.pass(Duration::from_secs(200));
    assert_eq!(bench.ask(session, change(rule, 120)).lifetime(), seconds(120));
    bench.pass(Duration::from_millis(119_999));
    assert_eq!(bench.listed(session), [rule.get()]);
    assert_eq!(bench.rule_events(session), []);
    bench.pass(Duration::from_millis(1));
    assert_eq!(bench.rule_events(session), [(rule, Lifetime::ZERO)], "its owner is told");
    assert_eq!(bench.refusal(session, change(rule, 10)), NegativeCode::NoSuchRule);
    let now = bench.now;
    assert_eq!(bench.middlebox.filter_mut().list(now).unwrap(), []);
    assert_eq!(bench.middlebox.rule_count(), 0);
}

/// A request that comes at the deadline, before the timeout was handled.
#[test]
fn request_at_the_deadline_finds_nothing() {
    let mut bench = Bench::new();
    let session = bench.open("a");
    let rule = bench.enable(session, pinhole()).rule;
    bench.now += Duration::from_secs(300);
    let octets = bench.encode(simco::Request::Policy(change(rule, 10)));
    bench.send(session, 0, &octets);
    assert_eq!(bench.types(session), [0x0403, 0x0343]);
}

/// 0x0351: may end rules, not extend them.
#[test]
fn agent_that_may_not_extend_may_delete() {
    let mut config = config();
    config.agents.known.get_mut(&owner("a")).unwrap().policy.may_extend = false;
    let mut bench = Bench::with(config);
    let session = bench.open("a");
    let rule = bench.enable(session, pinhole()).rule;
    assert_eq!(bench.refusal(session, change(rule, 10)), NegativeCode::LifetimeNotAuthorized);
    assert!(bench.ask(session, change(rule, 0)).is_deletion());
}

/// 0x0352: a rule that is as old as it may grow.
#[test]
fn rule_does_not_outgrow_the_longest_age() {
    let mut config = config();
    config.longest_age = Some(Duration::from_secs(400));
    let mut bench = Bench::with(config);
    let session = bench.open("a");
    let rule = bench.enable(session, pinhole()).rule;
    bench.pass(Duration::from_secs(250));
    assert_eq!(bench.ask(session, change(rule, 300)).lifetime(), seconds(150));
    bench.pass(Duration::from_millis(149_500));
    assert_eq!(bench.refusal(session, change(rule, 300)), NegativeCode::LifetimeNotExtensible);
    bench.pass(Duration::from_millis(500));
    assert_eq!(bench.middlebox.rule_count(), 0);
}

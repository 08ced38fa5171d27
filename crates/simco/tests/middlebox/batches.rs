//! Requests that wait together, and a packet filter that refuses: codes 0x034A and 0x0342.

use simco::filter::MemoryFilter;
use simco::{NegativeCode, PolicyRequest, PolicyRuleId, Request};

use crate::support::{Bench, change, config, pinhole, pinhole_at};

#[test]
fn requests_that_wait_share_one_call_of_the_filter_and_see_each_other() {
    let mut bench = Bench::new();
    let session = bench.open("a");
    let mut octets = bench.encode(Request::Policy(PolicyRequest::Enable(pinhole())));
    octets.extend(bench.encode(Request::Policy(change(PolicyRuleId::new(1), 60))));
    octets.extend(bench.encode(Request::Policy(PolicyRequest::List)));
    octets.extend(bench.encode(Request::Policy(change(PolicyRuleId::new(1), 0))));
    octets.extend(bench.encode(Request::Policy(change(PolicyRuleId::new(1), 60))));
    bench.send(session, 0, &octets);
    assert_eq!(bench.types(session), [0x0212, 0x0215, 0x0222, 0x0216, 0x0343]);
    assert_eq!(bench.middlebox.filter().calls, 1);
}

/// 0x034A, and nothing half done.
#[test]
fn refusal_of_the_filter_changes_nothing() {
    let mut bench = Bench::new();
    let session = bench.open("a");
    let rule = bench.enable(session, pinhole()).rule;
    bench.middlebox.filter_mut().refuses = true;
    for request in [PolicyRequest::Enable(pinhole_at(2)), change(rule, 60), change(rule, 0)] {
        assert_eq!(bench.refusal(session, request), NegativeCode::ConfigurationFailed);
    }
    bench.middlebox.filter_mut().refuses = false;
    assert_eq!(bench.listed(session), [rule.get()]);
    let remaining = bench.middlebox.rules().next().unwrap().remaining(bench.now);
    assert_eq!(remaining.as_secs(), 300);
}

#[test]
fn filter_that_refuses_several_together_gets_them_one_by_one() {
    let mut bench = Bench::new();
    let (a, b) = (bench.open("a"), bench.open("b"));
    bench.middlebox.filter_mut().most_inserts = 1;
    for (session, port) in [(a, 1), (b, 2), (a, 3)] {
        let octets = bench.encode(Request::Policy(PolicyRequest::Enable(pinhole_at(port))));
        bench.hand_in(session, 0, &octets);
    }
    bench.drain();
    assert_eq!(bench.types(a), [0x0212, 0x0212]);
    assert_eq!(bench.types(b), [0x0212]);
    assert_eq!(bench.middlebox.filter().calls, 4);
    assert_eq!(bench.middlebox.rule_count(), 3);
}

/// 0x0342: the filter is full.
#[test]
fn filter_without_room_lacks_resources() {
    let mut bench = Bench::with_filter(config(), MemoryFilter::new().with_room_for(2));
    let session = bench.open("a");
    let mut octets = Vec::new();
    for port in 1..=3 {
        octets.extend(bench.encode(Request::Policy(PolicyRequest::Enable(pinhole_at(port)))));
    }
    bench.send(session, 0, &octets);
    assert_eq!(bench.types(session), [0x0212, 0x0212, 0x0342]);
    let third = bench.refusal(session, PolicyRequest::Enable(pinhole_at(3)));
    assert_eq!(third, NegativeCode::NoResources);
}

/// Requests received before the connection broke are processed.
#[test]
fn requests_before_a_loss_count() {
    let mut bench = Bench::new();
    let session = bench.open("a");
    let octets = bench.encode(Request::Policy(PolicyRequest::Enable(pinhole())));
    bench.hand_in(session, 0, &octets);
    bench.middlebox.handle_lost(bench.now, session);
    assert_eq!(bench.middlebox.rule_count(), 1);
}

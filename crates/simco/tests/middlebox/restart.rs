//! A middlebox that takes over what was there before.

use core::time::Duration;

use simco::PolicyRequest;
use simco::filter::PacketFilter;

use crate::support::{Bench, block, change, pinhole, pinhole_at, reservation};

#[test]
fn restored_rules_are_the_same_to_agents_and_filter() {
    let mut before = Bench::new();
    let session = before.open("a");
    before.reserve(session, reservation());
    let joined = before.enable(session, pinhole());
    before.ask(session, PolicyRequest::Disable(block())).disabled();
    let rules: Vec<_> = before.middlebox.rules().map(|rule| (**rule).clone()).collect();
    let mut after = Bench::new();
    after.now = before.now + Duration::from_secs(100);
    after.middlebox.restore(after.now, rules.clone()).unwrap();
    let now = after.now;
    let listed = after.middlebox.filter_mut().list(now).unwrap();
    assert_eq!(listed, before.middlebox.filter_mut().list(now).unwrap());
    let session = after.open("a");
    assert_eq!(after.listed(session), [1, 2, 3]);
    let mut member = pinhole_at(7);
    member.group = Some(joined.group);
    let enabled = after.enable(session, member);
    assert_eq!((enabled.rule.get(), enabled.group), (4, joined.group), "numbers go on");
    assert!(after.ask(session, change(joined.rule, 0)).is_deletion());
    let mut late = Bench::new();
    late.now = before.now + Duration::from_secs(300);
    late.middlebox.restore(late.now, rules).unwrap();
    assert_eq!(late.middlebox.rule_count(), 1, "only the block still lives");
}

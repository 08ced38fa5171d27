//! Disable rules against pinholes: code 0x0350 (RFC 4540 §8.8).

use core::time::Duration;

use simco::filter::{Passage, ProbePacket};
use simco::{
    AddressTuple, DisableRequest, EnableRequest, IpVersion, Lifetime, Location, NegativeCode, PolicyRequest,
};

use crate::support::{Bench, UDP, block, change, external, internal, pinhole, pinhole_at, reservation};

/// From anywhere to 10.1.8.3:12345: the RFC's example of a pinhole that the block is against.
fn open_to_all() -> EnableRequest {
    let external = AddressTuple::protocols_only(Location::EXTERNAL, UDP, IpVersion::V4);
    EnableRequest { external, ..pinhole() }
}

#[test]
fn block_ends_conflicting_pinholes_of_everybody_at_once() {
    let mut bench = Bench::new();
    let (a, b) = (bench.open("a"), bench.open("b"));
    let partly = bench.enable(a, open_to_all()).rule;
    let own = bench.enable(b, EnableRequest { external: external("192.0.2.100", 5), ..pinhole() }).rule;
    let other = bench.enable(a, pinhole()).rule;
    bench.inbox.clear();
    let octets = bench.encode(simco::Request::Policy(PolicyRequest::Disable(block())));
    bench.send(b, 0, &octets);
    let of_b: Vec<_> =
        bench.inbox[&b].iter().map(|(_, octets)| u16::from_be_bytes([octets[0], octets[1]])).collect();
    assert_eq!(of_b, [0x0214, 0x0403], "the reply first, then the end of his own pinhole");
    assert_eq!(bench.rule_events(b), [(own, Lifetime::ZERO)]);
    assert_eq!(bench.rule_events(a), [(partly, Lifetime::ZERO)]);
    assert_eq!(bench.listed(a), [other.get()]);
}

/// 0x0350, until the block ends; a reservation survives it.
#[test]
fn pinholes_against_a_block_are_refused_until_it_ends() {
    let mut bench = Bench::new();
    let (a, b) = (bench.open("a"), bench.open("b"));
    let reserved = bench.reserve(a, reservation()).rule;
    let block = bench.ask(b, PolicyRequest::Disable(block())).disabled();
    let after = PolicyRequest::EnableReserved { rule: reserved, pinhole: open_to_all() };
    assert_eq!(bench.refusal(a, PolicyRequest::Enable(open_to_all())), NegativeCode::Conflict);
    assert_eq!(bench.refusal(a, after), NegativeCode::Conflict);
    bench.enable(a, pinhole());
    assert!(bench.ask(b, change(block, 0)).is_deletion());
    bench.ask(a, after).enabled();
    bench.enable(a, open_to_all());
}

#[test]
fn block_ends_by_itself() {
    let mut bench = Bench::new();
    let (a, b) = (bench.open("a"), bench.open("b"));
    bench.ask(b, PolicyRequest::Disable(block())).disabled();
    bench.pass(Duration::from_secs(600));
    bench.enable(a, open_to_all());
}

/// The filter in memory agrees: packets pass while their rule lives.
#[test]
fn packets_pass_while_their_rule_lives_and_no_block_is_against_them() {
    let mut bench = Bench::new();
    let session = bench.open("a");
    let packet = |from: &str, port: u16, passage| ProbePacket {
        protocol: UDP,
        internal: format!("10.1.8.3:{port}").parse().unwrap(),
        external: from.parse().unwrap(),
        passage,
    };
    let rule = bench.enable(session, open_to_all()).rule;
    let passes = |bench: &Bench, packet| bench.middlebox.filter().memory.passes(bench.now, &packet);
    assert_eq!(passes(&bench, packet("203.0.113.9:7", 12_345, Passage::In)), Some(rule));
    assert_eq!(passes(&bench, packet("203.0.113.9:7", 12_345, Passage::Out)), None, "inbound only");
    assert_eq!(passes(&bench, packet("203.0.113.9:7", 12_346, Passage::In)), None);
    let other = bench.open("b");
    bench.ask(other, PolicyRequest::Disable(block()));
    assert_eq!(passes(&bench, packet("203.0.113.9:7", 12_345, Passage::In)), None, "ended by the block");
    bench.enable(session, pinhole());
    assert!(passes(&bench, packet("203.0.113.9:7", 12_345, Passage::In)).is_some());
    assert_eq!(passes(&bench, packet("192.0.2.100:7", 12_345, Passage::In)), None);
}

/// RFC 5189 §2.3.9: rules that do not contradict each other may overlap, or be the same.
#[test]
fn equal_and_overlapping_pinholes_are_accepted_on_a_firewall() {
    let mut bench = Bench::new();
    let (a, b) = (bench.open("a"), bench.open("b"));
    for request in [pinhole(), pinhole(), open_to_all(), pinhole_at(9)] {
        bench.enable(a, request);
        bench.enable(b, request);
    }
}

#[test]
fn overlapping_blocks_are_accepted_and_each_counts() {
    let mut bench = Bench::new();
    let (a, b) = (bench.open("a"), bench.open("b"));
    let narrow = DisableRequest { internal: internal("10.1.8.3", 12_345), ..block() };
    let first = bench.ask(a, PolicyRequest::Disable(block())).disabled();
    bench.ask(b, PolicyRequest::Disable(narrow)).disabled();
    bench.ask(a, change(first, 0));
    assert_eq!(bench.refusal(a, PolicyRequest::Enable(open_to_all())), NegativeCode::Conflict);
    bench.enable(a, EnableRequest { internal: internal("10.1.8.4", 12_345), ..open_to_all() });
}

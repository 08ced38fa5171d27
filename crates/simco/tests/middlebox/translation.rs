//! Traditional and twice NAT: what is given out, kept, shared and refused. Codes 0x0348, 0x0349, 0x034C, 0x034E, 0x0350,
//! 0x0356, 0x0358.

use simco::middlebox::{MiddleboxConfig, Pool, Service};
use simco::{
    AddressTuple, Body, Direction, EnableParameters, EnableParity, EnableRequest, Location, NatMode,
    NegativeCode, PolicyRequest, PositiveReply, ReserveParity, TransportProtocol,
};

use crate::support::{
    Bench, UDP, change, config, external, internal, pinhole, pinhole_at, reservation, tuple,
};

fn pool(addresses: &[&str], ports: core::ops::RangeInclusive<u16>) -> Pool {
    Pool { addresses: addresses.iter().map(|address| address.parse().unwrap()).collect(), ports }
}

fn traditional(ports: core::ops::RangeInclusive<u16>) -> MiddleboxConfig {
    let outside = pool(&["192.0.2.1"], ports);
    MiddleboxConfig { service: Service::TraditionalNat { outside }, ..config() }
}

fn twice() -> MiddleboxConfig {
    let outside = pool(&["192.0.2.1"], 20_000..=20_999);
    let inside = pool(&["10.255.0.1"], 30_000..=30_999);
    MiddleboxConfig { service: Service::TwiceNat { outside, inside }, ..config() }
}

fn outside(port: u16, range: u16) -> AddressTuple {
    tuple(Location::OUTSIDE, "192.0.2.1", port, range)
}

#[test]
fn traditional_nat_gives_out_an_outside_port_and_leaves_the_inside_out() {
    let mut bench = Bench::with(traditional(20_000..=20_010));
    let session = bench.open("a");
    let enabled = bench.enable(session, pinhole());
    assert_eq!((enabled.outside, enabled.inside), (outside(20_000, 1), None));
    let filter = bench.middlebox.rules().next().unwrap().filter_rule().unwrap();
    assert_eq!(filter.translation.unwrap().outside.address.to_string(), "192.0.2.1");
    assert_eq!(bench.enable(session, pinhole_at(9)).outside, outside(20_001, 1));
}

#[test]
fn reservation_is_kept_and_its_ports_open_the_pinhole() {
    let mut bench = Bench::with(traditional(20_001..=20_010));
    let session = bench.open("a");
    let reserved = bench.reserve(session, reservation());
    assert_eq!((reserved.outside, reserved.inside), (outside(20_002, 2), None));
    let request = EnableRequest { internal: tuple(Location::INTERNAL, "10.1.8.3", 5004, 2), ..pinhole() };
    let enabled =
        bench.ask(session, PolicyRequest::EnableReserved { rule: reserved.rule, pinhole: request }).enabled();
    assert_eq!(enabled.outside, reserved.outside);
    let said = bench.ask(session, PolicyRequest::Status { rule: reserved.rule });
    let Body::Positive(PositiveReply::EnableStatus(status)) = said.body() else { panic!("{said:?}") };
    assert_eq!((status.enabled.outside, status.internal), (reserved.outside, request.internal));
}

/// 0x034E.
#[test]
fn nat_mode_that_is_not_offered_is_refused() {
    let mut request = reservation();
    let mut bench = Bench::with(traditional(20_000..=20_010));
    let session = bench.open("a");
    for mode in [Some(NatMode::Twice), None] {
        request.parameters.nat_mode = mode;
        let code = bench.refusal(session, PolicyRequest::Reserve(request));
        assert_eq!(code, NegativeCode::NatModeNotSupported);
    }
    let mut bench = Bench::with(twice());
    let session = bench.open("a");
    request.parameters.nat_mode = Some(NatMode::Twice);
    let reserved = bench.reserve(session, request);
    assert_eq!(reserved.inside, Some(tuple(Location::INSIDE, "10.255.0.1", 30_000, 2)));
    request.parameters.nat_mode = Some(NatMode::Traditional);
    assert_eq!(bench.reserve(session, request).inside, None, "a box that can do both");
}

/// 0x0349 and 0x0348, and what ends is free again.
#[test]
fn pool_that_is_used_up_lacks_ports_or_addresses() {
    let mut bench = Bench::with(traditional(20_000..=20_002));
    let session = bench.open("a");
    let first = bench.reserve(session, reservation());
    assert_eq!(first.outside, outside(20_000, 2));
    let code = bench.refusal(session, PolicyRequest::Reserve(reservation()));
    assert_eq!(code, NegativeCode::LackOfPorts, "one is left, two are needed");
    bench.enable(session, pinhole());
    assert_eq!(bench.refusal(session, PolicyRequest::Enable(pinhole_at(9))), NegativeCode::LackOfPorts);
    bench.ask(session, change(first.rule, 0));
    assert_eq!(bench.reserve(session, reservation()).outside, outside(20_000, 2));
    let mut address = reservation();
    address.parameters.protocol = TransportProtocol::ANY;
    assert_eq!(bench.refusal(session, PolicyRequest::Reserve(address)), NegativeCode::LackOfAddresses);
    let v6 = EnableRequest {
        internal: internal("2001:db8::1", 5),
        external: external("2001:db8::2", 6),
        ..pinhole()
    };
    // A pool without addresses of a version is a side without that version, and said to be so.
    assert_eq!(bench.refusal(session, PolicyRequest::Enable(v6)), NegativeCode::IpVersionMismatch);
    let capabilities = bench.middlebox.capabilities();
    assert_eq!(capabilities.external_versions, simco::IpVersions::V4);
    assert_eq!(capabilities.internal_versions, simco::IpVersions::V4);
}

#[test]
fn reserved_address_belongs_to_one_rule_whatever_its_protocol() {
    let mut config = traditional(20_000..=20_009);
    config.service = Service::TraditionalNat { outside: pool(&["192.0.2.1", "192.0.2.2"], 20_000..=20_009) };
    let mut bench = Bench::with(config);
    let session = bench.open("a");
    let mut whole = reservation();
    whole.parameters.protocol = TransportProtocol::ANY;
    let reserved = bench.reserve(session, whole);
    assert_eq!(reserved.outside.full().unwrap().0.to_string(), "192.0.2.1");
    let request = PolicyRequest::EnableReserved { rule: reserved.rule, pinhole: pinhole() };
    assert_eq!(bench.ask(session, request).enabled().outside, reserved.outside);
    let next = bench.enable(session, pinhole_at(9));
    assert_eq!(
        next.outside.full().unwrap().0.to_string(),
        "192.0.2.2",
        "the pinhole still holds the address"
    );
}

/// 0x0356.
#[test]
fn more_ports_than_the_pool_has_are_refused_and_all_ports_are_a_number_of_their_own() {
    let mut bench = Bench::with(traditional(20_000..=20_010));
    let session = bench.open("a");
    let mut request = reservation();
    request.parameters.port_range = 12;
    let code = bench.refusal(session, PolicyRequest::Reserve(request));
    assert_eq!(code, NegativeCode::IllegalPortRange);
    request.parameters.port_range = 0xFFFF;
    let reserved = bench.reserve(session, request);
    assert_eq!(reserved.outside, outside(1, 0xFFFF));
    assert_eq!(bench.refusal(session, PolicyRequest::Enable(pinhole())), NegativeCode::LackOfPorts);
}

/// Parity "same", and 0x0358 where the reservation has the other one.
#[test]
fn parity_is_kept() {
    let mut bench = Bench::with(traditional(20_000..=20_010));
    let session = bench.open("a");
    let parameters = EnableParameters { parity: EnableParity::Same, direction: Direction::Inbound };
    let same = |port| EnableRequest { parameters, ..pinhole_at(port) };
    assert_eq!(bench.enable(session, same(5001)).outside, outside(20_001, 1));
    assert_eq!(bench.enable(session, same(5003)).outside, outside(20_003, 1));
    assert_eq!(bench.enable(session, same(5002)).outside, outside(20_004, 1));
    let mut request = reservation();
    request.parameters.parity = ReserveParity::Odd;
    let rule = bench.reserve(session, request).rule;
    let odd = |port| PolicyRequest::EnableReserved { rule, pinhole: same(port) };
    assert_eq!(bench.refusal(session, odd(5004)), NegativeCode::ParityMismatch);
    bench.ask(session, odd(5005)).enabled();
}

/// Ruling R26: what has no binding is 0x034C; outbound the translator chooses ports as packets come.
#[test]
fn wildcards_without_binding_are_refused() {
    let mut bench = Bench::with(traditional(20_000..=20_010));
    let session = bench.open("a");
    let network = AddressTuple { prefix_length: 24, ..pinhole().internal };
    let request = EnableRequest { internal: network, ..pinhole() };
    assert_eq!(bench.refusal(session, PolicyRequest::Enable(request)), NegativeCode::WildcardNotSupported);
    let any_port = pinhole_at(0);
    assert_eq!(bench.refusal(session, PolicyRequest::Enable(any_port)), NegativeCode::WildcardNotSupported);
    let parameters = EnableParameters { direction: Direction::Outbound, ..pinhole().parameters };
    let outbound = EnableRequest { parameters, external: external("203.0.113.9", 6000), ..any_port };
    assert_eq!(bench.enable(session, outbound).outside, outside(0, 1));
    bench.enable(session, pinhole());
    let mut bench = Bench::with(twice());
    let session = bench.open("a");
    let peers = AddressTuple { prefix_length: 24, ..pinhole().external };
    let request = EnableRequest { external: peers, ..pinhole() };
    assert_eq!(bench.refusal(session, PolicyRequest::Enable(request)), NegativeCode::WildcardNotSupported);
}

/// RFC 5189 §2.3.9: one endpoint has one translation towards the same peers. 0x0350.
#[test]
fn second_rule_for_an_endpoint_shares_its_binding_or_contradicts_it() {
    let mut bench = Bench::with(traditional(20_000..=20_010));
    let (a, b) = (bench.open("a"), bench.open("b"));
    let first = bench.enable(a, pinhole());
    let second = bench.enable(b, pinhole());
    assert_eq!(second.outside, first.outside);
    bench.ask(a, change(first.rule, 0));
    assert_eq!(bench.enable(a, pinhole()).outside, first.outside, "still in use by the other");
    let wider = EnableRequest { internal: tuple(Location::INTERNAL, "10.1.8.3", 12_344, 2), ..pinhole() };
    assert_eq!(bench.refusal(a, PolicyRequest::Enable(wider)), NegativeCode::Conflict);
    let elsewhere = EnableRequest { external: external("203.0.113.10", 0), ..wider };
    bench.enable(a, elsewhere);
    let reserved = bench.reserve(a, reservation()).rule;
    let request = PolicyRequest::EnableReserved { rule: reserved, pinhole: pinhole() };
    assert_eq!(bench.refusal(a, request), NegativeCode::Conflict);
}

#[test]
fn twice_nat_gives_out_both_sides() {
    let mut bench = Bench::with(twice());
    let session = bench.open("a");
    let request = EnableRequest { external: external("203.0.113.9", 6000), ..pinhole() };
    let enabled = bench.enable(session, request);
    assert_eq!(enabled.outside, outside(20_000, 1));
    assert_eq!(enabled.inside, Some(tuple(Location::INSIDE, "10.255.0.1", 30_000, 1)));
    let other = EnableRequest { external: external("203.0.113.9", 6001), ..pinhole() };
    assert_eq!(bench.enable(session, other).inside, Some(tuple(Location::INSIDE, "10.255.0.1", 30_001, 1)));
    assert_eq!(enabled.outside.protocol, UDP);
}

#[test]
fn refusal_of_the_filter_frees_the_ports() {
    let mut bench = Bench::with(traditional(20_000..=20_000));
    let session = bench.open("a");
    bench.middlebox.filter_mut().refuses = true;
    assert_eq!(bench.refusal(session, PolicyRequest::Enable(pinhole())), NegativeCode::ConfigurationFailed);
    bench.middlebox.filter_mut().refuses = false;
    assert_eq!(bench.enable(session, pinhole()).outside, outside(20_000, 1));
}

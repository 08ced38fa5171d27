//! What address tuples may say: codes 0x0347, 0x034B to 0x0356 on a firewall.

use simco::filter::{MemoryFilter, Network, PacketFilter};
use simco::middlebox::{Realms, Scope};
use simco::{
    AddressTuple, Direction, EnableRequest, IpVersion, IpVersions, Location, NegativeCode, PolicyRequest,
    ReserveRequest, TransportProtocol, TupleForm, Wildcards,
};

use crate::support::{Bench, UDP, block, config, external, internal, owner, pinhole, reservation, tuple};

#[track_caller]
fn refused(bench: &mut Bench, request: EnableRequest, code: NegativeCode) {
    let session = bench.open("a");
    assert_eq!(bench.refusal(session, PolicyRequest::Enable(request)), code, "{request:?}");
    let reserved = bench.reserve(session, reservation()).rule;
    let after =
        PolicyRequest::EnableReserved { rule: reserved, pinhole: EnableRequest { group: None, ..request } };
    assert_eq!(bench.refusal(session, after), code, "PEA {request:?}");
    bench.middlebox.handle_lost(bench.now, session);
}

fn any_protocol(tuple: AddressTuple) -> AddressTuple {
    AddressTuple { protocol: TransportProtocol::ANY, ..tuple }
}

/// 0x034B: tuples that contradict each other or stand in the wrong place.
#[test]
fn tuples_that_contradict_each_other_are_inconsistent() {
    let mut bench = Bench::new();
    let base = pinhole();
    let tcp = AddressTuple { protocol: TransportProtocol::TCP, ..base.external };
    let both_ways = simco::EnableParameters { direction: Direction::BiDirectional, ..base.parameters };
    for request in [
        EnableRequest { internal: base.internal.at(Location::new(9)), ..base },
        EnableRequest { internal: base.external, external: base.internal, ..base },
        EnableRequest { external: tcp, ..base },
        EnableRequest { external: tuple(Location::EXTERNAL, "203.0.113.9", 4000, 2), ..base },
        EnableRequest { parameters: both_ways, ..base },
    ] {
        refused(&mut bench, request, NegativeCode::InconsistentRequest);
    }
    let session = bench.open("a");
    let disable = simco::DisableRequest { internal: block().external, ..block() };
    let code = bench.refusal(session, PolicyRequest::Disable(disable));
    assert_eq!(code, NegativeCode::InconsistentRequest);
}

/// Ruling R27, and 0xFFFF: ranges that need not agree.
#[test]
fn port_range_beside_a_wildcard_does_not_matter() {
    let mut bench = Bench::new();
    let session = bench.open("a");
    let base = pinhole();
    let range = |range| tuple(Location::INTERNAL, "10.1.8.3", 1000, range);
    for (internal, external) in [
        (range(4), external("203.0.113.9", 0)),
        (range(4), AddressTuple::protocols_only(Location::EXTERNAL, UDP, IpVersion::V4)),
        (any_protocol(range(4)), any_protocol(external("203.0.113.9", 7))),
        (tuple(Location::INTERNAL, "10.1.8.3", 1, 0xFFFF), external("203.0.113.9", 7)),
    ] {
        bench.enable(session, EnableRequest { internal, external, ..base });
    }
}

/// 0x034C: wildcards are capabilities.
#[test]
fn wildcards_the_middlebox_does_not_support_are_refused() {
    let base = pinhole();
    let concrete = EnableRequest { external: external("203.0.113.9", 5), ..base };
    let prefix = |tuple: AddressTuple| AddressTuple { prefix_length: 24, ..tuple };
    let everybody = AddressTuple::protocols_only(Location::EXTERNAL, UDP, IpVersion::V4);
    for (request, lacking) in [
        (EnableRequest { internal: prefix(base.internal), ..concrete }, |w: &mut Wildcards| {
            w.internal_address = false;
        }),
        (EnableRequest { external: prefix(concrete.external), ..concrete }, |w| {
            w.external_address = false;
        }),
        (EnableRequest { external: everybody, ..base }, |w| {
            w.external_address = false;
        }),
        (EnableRequest { external: everybody, ..base }, |w| {
            w.port = false;
        }),
        (base, |w| {
            w.port = false;
        }),
    ] as [(EnableRequest, fn(&mut Wildcards)); 5]
    {
        let mut capabilities = MemoryFilter::new().capabilities();
        lacking(&mut capabilities.wildcards);
        let mut bench = Bench::with_filter(config(), MemoryFilter::new().with_capabilities(capabilities));
        refused(&mut bench, request, NegativeCode::WildcardNotSupported);
        let session = bench.open("a");
        bench.enable(session, concrete);
        let mut all = Bench::new();
        let session = all.open("a");
        all.enable(session, request);
    }
}

/// 0x034D: not the protocol that was reserved.
#[test]
fn pinhole_of_another_protocol_than_reserved_is_refused() {
    let mut bench = Bench::new();
    let session = bench.open("a");
    let rule = bench.reserve(session, reservation()).rule;
    let tcp = |tuple| AddressTuple { protocol: TransportProtocol::TCP, ..tuple };
    let request =
        EnableRequest { internal: tcp(pinhole().internal), external: tcp(pinhole().external), ..pinhole() };
    let code = bench.refusal(session, PolicyRequest::EnableReserved { rule, pinhole: request });
    assert_eq!(code, NegativeCode::ProtocolMismatch);
}

/// 0x034F: IP versions of both sides.
#[test]
fn ip_version_of_neither_side_is_refused() {
    let v6 = EnableRequest {
        internal: internal("2001:db8::1", 5),
        external: external("2001:db8::2", 6),
        ..pinhole()
    };
    let mut bench = Bench::new();
    let session = bench.open("a");
    bench.enable(session, v6);
    let mixed = EnableRequest { external: external("2001:db8::2", 6), ..pinhole() };
    refused(&mut bench, mixed, NegativeCode::IpVersionMismatch);
    let capabilities = MemoryFilter::new().capabilities();
    let v4_only = simco::Capabilities {
        internal_versions: IpVersions::V4,
        external_versions: IpVersions::V4,
        ..capabilities
    };
    let mut bench = Bench::with_filter(config(), MemoryFilter::new().with_capabilities(v4_only));
    refused(&mut bench, v6, NegativeCode::IpVersionMismatch);
    let session = bench.open("a");
    let mut request = reservation();
    request.parameters.outside_version = Some(IpVersion::V6);
    let code = bench.refusal(session, PolicyRequest::Reserve(request));
    assert_eq!(code, NegativeCode::IpVersionMismatch);
}

/// 0x0353 and 0x0347: addresses that are no host's, of the wrong side, or closed.
#[test]
fn addresses_out_of_the_realms_are_illegal_or_not_available() {
    let network = |text: &str, bits| Network::new(text.parse().unwrap(), bits);
    let mut config = config();
    config.realms.internal = vec![network("10.0.0.0", 8)];
    config.realms.closed = vec![network("10.9.0.0", 16), network("198.51.100.0", 24)];
    let mut bench = Bench::with(config);
    let base = pinhole();
    for address in ["0.0.0.0", "224.0.0.1", "255.255.255.255", "192.168.1.1"] {
        let request = EnableRequest { internal: internal(address, 5), ..base };
        refused(&mut bench, request, NegativeCode::IllegalAddress);
    }
    let too_long = AddressTuple { prefix_length: 33, ..base.internal };
    refused(&mut bench, EnableRequest { internal: too_long, ..base }, NegativeCode::IllegalAddress);
    for (inside, outside) in [("10.9.7.1", "203.0.113.9"), ("10.1.8.3", "198.51.100.77")] {
        let request = EnableRequest { internal: internal(inside, 5), external: external(outside, 6), ..base };
        refused(&mut bench, request, NegativeCode::AddressSpaceNotAvailable);
    }
}

/// 0x0353 and 0x0347: whatever a wildcard matches has to be allowed.
#[test]
fn wildcards_reach_nothing_beyond_the_realms_and_nothing_closed() {
    let network = |text: &str, bits| Network::new(text.parse().unwrap(), bits);
    let mut config = config();
    config.realms.internal = vec![network("10.0.0.0", 9), network("10.128.0.0", 9)];
    config.realms.closed = vec![network("10.1.0.2", 32)];
    let mut bench = Bench::with(config);
    let base = pinhole();
    let prefix = |address: &str, bits| AddressTuple { prefix_length: bits, ..internal(address, 5) };
    for (address, bits) in [("10.1.0.0", 24), ("10.1.0.2", 31), ("10.1.0.2", 32), ("10.0.0.0", 8)] {
        let request = EnableRequest { internal: prefix(address, bits), ..base };
        refused(&mut bench, request, NegativeCode::AddressSpaceNotAvailable);
    }
    let everybody = AddressTuple::protocols_only(Location::INTERNAL, UDP, IpVersion::V4);
    for internal in [everybody, prefix("0.0.0.0", 0), prefix("10.0.0.0", 7), prefix("192.168.0.0", 16)] {
        refused(&mut bench, EnableRequest { internal, ..base }, NegativeCode::IllegalAddress);
    }
    let session = bench.open("a");
    for (address, bits) in [("10.1.0.3", 32), ("10.1.0.0", 31), ("10.64.0.0", 10), ("10.2.0.0", 15)] {
        let request = EnableRequest { internal: prefix(address, bits), ..base };
        let is_free = !network(address, bits).contains("10.1.0.2".parse().unwrap());
        assert!(is_free);
        bench.enable(session, request);
    }
    // A block may be wider than what is closed, and cover two realms that lie side by side.
    let wide = simco::DisableRequest { internal: prefix("10.0.0.0", 8), ..block() };
    bench.ask(session, PolicyRequest::Disable(wide)).disabled();
}

/// 0x0353, 0x0347, 0x0354 and 0x0355 for one agent alone.
#[test]
fn an_agent_is_confined_to_its_scope() {
    let network = |text: &str, bits| Network::new(text.parse().unwrap(), bits);
    let mut config = config();
    let scope = Scope {
        realms: Realms {
            internal: vec![network("10.1.8.0", 24)],
            external: Vec::new(),
            closed: vec![network("203.0.113.0", 28)],
        },
        protocols: Some(vec![UDP]),
        ports: Some(5000..=5999),
    };
    config.agents.known.get_mut(&owner("a")).unwrap().policy.scope = scope.into();
    let mut bench = Bench::with(config);
    let base = EnableRequest {
        internal: internal("10.1.8.3", 5000),
        external: external("203.0.113.99", 7),
        ..pinhole()
    };
    let tcp = |tuple| AddressTuple { protocol: TransportProtocol::TCP, ..tuple };
    for (request, code) in [
        (EnableRequest { internal: internal("10.1.9.3", 5000), ..base }, NegativeCode::IllegalAddress),
        (
            EnableRequest { external: external("203.0.113.9", 7), ..base },
            NegativeCode::AddressSpaceNotAvailable,
        ),
        (
            EnableRequest {
                external: external("203.0.113.99", 0),
                internal: internal("10.1.8.3", 0),
                ..base
            },
            NegativeCode::IllegalPort,
        ),
        (
            EnableRequest {
                internal: tuple(Location::INTERNAL, "10.1.8.3", 5999, 2),
                external: tuple(Location::EXTERNAL, "203.0.113.99", 7, 2),
                ..base
            },
            NegativeCode::IllegalPort,
        ),
        (EnableRequest { internal: internal("10.1.8.3", 4999), ..base }, NegativeCode::IllegalPort),
        (
            EnableRequest { internal: tcp(base.internal), external: tcp(base.external), ..base },
            NegativeCode::ProtocolNotSupported,
        ),
    ] {
        let session = bench.open("a");
        assert_eq!(bench.refusal(session, PolicyRequest::Enable(request)), code, "{request:?}");
        bench.middlebox.handle_lost(bench.now, session);
    }
    let session = bench.open("a");
    bench.enable(session, base);
}

/// 0x0354: protocols not served.
#[test]
fn protocol_not_served_is_refused() {
    let mut config = config();
    config.protocols = Some(vec![UDP]);
    let mut bench = Bench::with(config);
    let tcp = |tuple| AddressTuple { protocol: TransportProtocol::TCP, ..tuple };
    let base = pinhole();
    let request = EnableRequest { internal: tcp(base.internal), external: tcp(base.external), ..base };
    refused(&mut bench, request, NegativeCode::ProtocolNotSupported);
    let session = bench.open("a");
    let mut request = reservation();
    request.parameters.protocol = TransportProtocol::TCP;
    let code = bench.refusal(session, PolicyRequest::Reserve(request));
    assert_eq!(code, NegativeCode::ProtocolNotSupported);
}

/// 0x0355 and 0x0356: ports that do not exist.
#[test]
fn ports_that_cannot_be_are_refused() {
    let mut bench = Bench::new();
    let base = pinhole();
    let ports =
        |port, range| EnableRequest { internal: tuple(Location::INTERNAL, "10.1.8.3", port, range), ..base };
    refused(&mut bench, ports(65_535, 2), NegativeCode::IllegalPort);
    refused(&mut bench, ports(5, 0), NegativeCode::IllegalPortRange);
    let session = bench.open("a");
    bench.enable(session, ports(65_534, 2));
    let icmp = |tuple: AddressTuple| AddressTuple { protocol: TransportProtocol::ICMP, ..tuple };
    let no_ports = EnableRequest { internal: icmp(base.internal), external: icmp(base.external), ..base };
    let code = bench.refusal(session, PolicyRequest::Enable(no_ports));
    assert_eq!(code, NegativeCode::IllegalPort, "ICMP has none");
    let mut request: ReserveRequest = reservation();
    request.parameters.port_range = 0;
    assert_eq!(bench.refusal(session, PolicyRequest::Reserve(request)), NegativeCode::IllegalPortRange);
    let whole = TupleForm::Full { address: "10.1.8.3".parse().unwrap(), port: 0, port_range: 0 };
    let wildcard = EnableRequest { internal: AddressTuple { form: whole, ..base.internal }, ..base };
    bench.enable(session, wildcard);
}

//! Messages octet by octet, constructed from the layouts of RFC 4540 §4 and §5. Each decodes to the value beside it
//! and the value encodes to exactly these octets.
#![allow(clippy::unwrap_used, reason = "tests; clippy knows only functions marked as such")]

use core::net::IpAddr;

use simco::{
    AddressTuple, Body, Capabilities, Direction, DisableRequest, EnableParameters, EnableParity,
    EnableRequest, Enabled, GroupId, IpVersion, IpVersions, Lifetime, Location, Message, NatMode,
    NegativeCode, NegativeReply, Notification, PolicyRequest, PolicyRuleId, PositiveReply, Request,
    ReserveParameters, ReserveParity, ReserveRequest, Reserved, RuleIds, Services, TransactionId,
    TransportProtocol, TupleForm, Version, Wildcards,
};

const UDP: TransportProtocol = TransportProtocol::UDP;

fn octets(hex: &str) -> Vec<u8> {
    let digits: String = hex.split_whitespace().collect();
    (0..digits.len()).step_by(2).map(|at| u8::from_str_radix(&digits[at..at + 2], 16).unwrap()).collect()
}

#[track_caller]
fn both_ways(transaction: u32, body: Body<'_>, hex: &str) {
    let message = Message { transaction: TransactionId::new(transaction), body };
    let expected = octets(hex);
    assert_eq!(Message::decode(&expected), Ok(message));
    let mut written = vec![0xEE];
    message.encode(&mut written).unwrap();
    assert_eq!(written[1..], expected, "{message:?}");
}

fn positive(transaction: u32, reply: PositiveReply<'_>, hex: &str) {
    both_ways(transaction, Body::Positive(reply), hex);
}

fn policy(transaction: u32, request: PolicyRequest, hex: &str) {
    both_ways(transaction, Body::Request(Request::Policy(request)), hex);
}

fn host(location: Location, address: &str, port: u16, range: u16) -> AddressTuple {
    AddressTuple::host(location, UDP, address.parse::<IpAddr>().unwrap(), port, range)
}

fn rule(id: u32) -> PolicyRuleId {
    PolicyRuleId::new(id)
}

fn seconds(count: u32) -> Lifetime {
    Lifetime::from_secs(count)
}

#[test]
fn session_establishment() {
    let request = Request::SessionEstablishment { version: Version::CURRENT, challenge: None };
    both_ways(1, Body::Request(request), "01010008 00000001 00010004 03000000");
    let services = Services {
        is_firewall: true,
        is_translator: true,
        can_disable: true,
        can_translate_twice: false,
        can_translate_protocol: false,
        can_translate_ports: true,
    };
    let capabilities = Capabilities {
        services,
        wildcards: Wildcards::ALL,
        is_persistent: false,
        internal_versions: IpVersions::V4,
        external_versions: IpVersions::V4,
        longest_lifetime: seconds(3600),
    };
    let reply = PositiveReply::SessionEstablishment { capabilities };
    positive(1, reply, "0201000c 00000001 00040008 d1e50000 00000e10");
}

#[test]
fn session_authentication() {
    let challenge = octets("0011223344556677");
    let reply = PositiveReply::SessionAuthentication { challenge: Some(&challenge), token: None };
    positive(1, reply, "0202000c 00000001 00020008 00112233 44556677");
    let request = Request::SessionAuthentication { token: Some(&[0xAA, 0xBB, 0xCC]) };
    both_ways(2, Body::Request(request), "01020007 00000002 00030003 aabbcc");
}

#[test]
fn session_termination() {
    both_ways(12, Body::Request(Request::SessionTermination), "01030000 0000000c");
}

#[test]
fn reserve_request() {
    let parameters = ReserveParameters {
        nat_mode: Some(NatMode::Twice),
        parity: ReserveParity::Even,
        inside_version: Some(IpVersion::V4),
        outside_version: Some(IpVersion::V4),
        protocol: UDP,
        port_range: 2,
    };
    let request = PolicyRequest::Reserve(ReserveRequest { parameters, lifetime: seconds(300), group: None });
    policy(3, request, "01110010 00000003 000a0004 a5110002 00070004 0000012c");
}

fn reserved(outside: AddressTuple) -> PositiveReply<'static> {
    PositiveReply::Reserve(Reserved {
        rule: rule(7),
        group: GroupId::new(5),
        lifetime: seconds(300),
        outside,
        inside: None,
    })
}

#[test]
fn reserve_reply_of_a_translator() {
    positive(
        3,
        reserved(host(Location::OUTSIDE, "192.0.2.1", 20_000, 2)),
        "02110028 00000003 00050004 00000007 00060004 00000005 00070004 0000012c
         0009000c 01201102 4e200002 c0000201",
    );
}

#[test]
fn reserve_reply_of_a_firewall() {
    positive(
        3,
        reserved(AddressTuple::protocols_only(Location::OUTSIDE, UDP, IpVersion::V4)),
        "02110020 00000003 00050004 00000007 00060004 00000005 00070004 0000012c 00090004 11001102",
    );
}

#[test]
fn enable_request() {
    let request = EnableRequest {
        parameters: EnableParameters { parity: EnableParity::Same, direction: Direction::Inbound },
        internal: host(Location::INTERNAL, "10.1.8.3", 12_345, 1),
        external: host(Location::EXTERNAL, "203.0.113.9", 0, 1),
        lifetime: seconds(300),
        group: None,
    };
    policy(
        4,
        PolicyRequest::Enable(request),
        "01120030 00000004 000b0004 03010000 0009000c 01201100 30390001 0a010803
         0009000c 01201103 00000001 cb007109 00070004 0000012c",
    );
}

#[test]
fn enable_reply_of_a_firewall() {
    let enabled = Enabled {
        rule: rule(8),
        group: GroupId::new(6),
        lifetime: seconds(300),
        outside: host(Location::OUTSIDE, "10.1.8.3", 12_345, 1),
        inside: Some(host(Location::INSIDE, "203.0.113.9", 0, 1)),
    };
    positive(
        4,
        PositiveReply::Enable(enabled),
        "02120038 00000004 00050004 00000008 00060004 00000006 00070004 0000012c
         0009000c 01201102 30390001 0a010803 0009000c 01201101 00000001 cb007109",
    );
}

#[test]
fn enable_after_reservation() {
    let pinhole = EnableRequest {
        parameters: EnableParameters { parity: EnableParity::Any, direction: Direction::BiDirectional },
        internal: host(Location::INTERNAL, "10.0.0.5", 4000, 2),
        external: host(Location::EXTERNAL, "203.0.113.9", 6000, 2),
        lifetime: seconds(300),
        group: None,
    };
    policy(
        5,
        PolicyRequest::EnableReserved { rule: rule(7), pinhole },
        "01130038 00000005 000b0004 00030000 0009000c 01201100 0fa00002 0a000005
         0009000c 01201103 17700002 cb007109 00070004 0000012c 00050004 00000007",
    );
}

#[test]
fn lifetime_change_request() {
    let request = PolicyRequest::LifetimeChange { rule: rule(8), lifetime: Lifetime::ZERO };
    policy(6, request, "01150010 00000006 00050004 00000008 00070004 00000000");
}

#[test]
fn deletion_reply() {
    positive(6, PositiveReply::Deletion, "02160000 00000006");
}

#[test]
fn lifetime_change_reply() {
    let reply = PositiveReply::LifetimeChange { lifetime: seconds(120) };
    positive(7, reply, "02150008 00000007 00070004 00000078");
}

#[test]
fn status_request() {
    policy(8, PolicyRequest::Status { rule: rule(7) }, "01210008 00000008 00050004 00000007");
}

#[test]
fn list_request_and_reply() {
    policy(9, PolicyRequest::List, "01220000 00000009");
    positive(
        9,
        PositiveReply::List(RuleIds::of(&[rule(7), rule(8)])),
        "02220010 00000009 00050004 00000007 00050004 00000008",
    );
}

#[test]
fn disable_request_and_reply() {
    let internal = AddressTuple {
        location: Location::INTERNAL,
        protocol: UDP,
        prefix_length: 0,
        form: TupleForm::Full { address: "0.0.0.0".parse().unwrap(), port: 0, port_range: 1 },
    };
    let external = host(Location::EXTERNAL, "192.0.2.100", 0, 1);
    policy(
        10,
        PolicyRequest::Disable(DisableRequest { internal, external, lifetime: seconds(600) }),
        "01140028 0000000a 0009000c 01001100 00000001 00000000 0009000c 01201103
         00000001 c0000264 00070004 00000258",
    );
    let reply = PositiveReply::Disable { rule: rule(9), lifetime: seconds(600) };
    positive(10, reply, "02140010 0000000a 00050004 00000009 00070004 00000258");
}

#[test]
fn negative_replies() {
    both_ways(11, Body::Negative(NegativeReply::new(NegativeCode::Conflict)), "03500000 0000000b");
    both_ways(
        1,
        Body::Negative(NegativeReply::new(NegativeCode::VersionMismatch)),
        "03220008 00000001 00010004 03000000",
    );
}

#[test]
fn notifications() {
    let event = Notification::RuleEvent { rule: rule(8), lifetime: Lifetime::ZERO };
    both_ways(1, Body::Notification(event), "04030010 00000001 00050004 00000008 00070004 00000000");
    both_ways(2, Body::Notification(Notification::SessionTermination), "04020000 00000002");
    both_ways(3, Body::Notification(Notification::BadlyFormedMessage), "04010000 00000003");
}

/// The tuple of 28 octets stands in a PDR request here, both sides the same.
#[test]
fn address_tuple_of_ip_version_6() {
    let tuple = |location| host(location, "2001:db8::1", 5004, 2);
    let request = DisableRequest {
        internal: tuple(Location::INTERNAL),
        external: tuple(Location::EXTERNAL),
        lifetime: seconds(1),
    };
    policy(
        1,
        PolicyRequest::Disable(request),
        "01140040 00000001
         00090018 02801100 138c0002 20010db8 00000000 00000000 00000001
         00090018 02801103 138c0002 20010db8 00000000 00000000 00000001
         00070004 00000001",
    );
}

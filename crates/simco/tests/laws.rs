//! Laws of the codec: what is written reads back, and whatever reads writes something that reads the same.
#![allow(clippy::unwrap_used, reason = "tests; clippy knows only functions marked as such")]

use core::net::IpAddr;

use proptest::prelude::*;
use simco::{
    AddressTuple, AttributeType, Body, Capabilities, DecodeError, Direction, DisableRequest, DisableStatus,
    EnableParameters, EnableParity, EnableRequest, EnableStatus, Enabled, GroupId, HEADER_BYTES, Header,
    IpVersion, IpVersions, Lifetime, Location, Message, NatMode, NegativeCode, NegativeReply, Notification,
    PAYLOAD_BYTES, PolicyRequest, PolicyRuleId, PositiveReply, Request, ReserveParameters, ReserveParity,
    ReserveRequest, ReserveStatus, Reserved, RuleIds, Services, TransactionId, TransportProtocol, TupleForm,
    Version, Wildcards,
};

fn version() -> impl Strategy<Value = IpVersion> {
    prop_oneof![Just(IpVersion::V4), Just(IpVersion::V6)]
}

fn tuple(location: Location) -> impl Strategy<Value = AddressTuple> {
    let full = (any::<IpAddr>(), any::<u16>(), any::<u16>())
        .prop_map(|(address, port, port_range)| TupleForm::Full { address, port, port_range });
    let form = prop_oneof![version().prop_map(TupleForm::ProtocolsOnly), full];
    (form, any::<u8>(), any::<u8>()).prop_map(move |(form, prefix_length, protocol)| AddressTuple {
        location,
        protocol: TransportProtocol::new(protocol),
        prefix_length,
        form,
    })
}

prop_compose! {
    fn reserve_parameters()(
        nat_mode in prop_oneof![Just(None), Just(Some(NatMode::Traditional)), Just(Some(NatMode::Twice))],
        parity in prop_oneof![Just(ReserveParity::Any), Just(ReserveParity::Odd), Just(ReserveParity::Even)],
        inside_version in proptest::option::of(version()),
        outside_version in proptest::option::of(version()),
        protocol in any::<u8>(),
        port_range in any::<u16>(),
    ) -> ReserveParameters {
        let protocol = TransportProtocol::new(protocol);
        ReserveParameters { nat_mode, parity, inside_version, outside_version, protocol, port_range }
    }
}

fn enable_parameters() -> impl Strategy<Value = EnableParameters> {
    let direction =
        prop_oneof![Just(Direction::Inbound), Just(Direction::Outbound), Just(Direction::BiDirectional)];
    let parity = prop_oneof![Just(EnableParity::Any), Just(EnableParity::Same)];
    (parity, direction).prop_map(|(parity, direction)| EnableParameters { parity, direction })
}

fn rule() -> impl Strategy<Value = PolicyRuleId> {
    any::<u32>().prop_map(PolicyRuleId::new)
}

fn lifetime() -> impl Strategy<Value = Lifetime> {
    any::<u32>().prop_map(Lifetime::from_secs)
}

fn group() -> impl Strategy<Value = Option<GroupId>> {
    proptest::option::of(any::<u32>().prop_map(GroupId::new))
}

prop_compose! {
    fn enable_request()(
        parameters in enable_parameters(),
        internal in tuple(Location::INTERNAL),
        external in tuple(Location::EXTERNAL),
        lifetime in lifetime(),
        group in group(),
    ) -> EnableRequest {
        EnableRequest { parameters, internal, external, lifetime, group }
    }
}

fn policy_request() -> impl Strategy<Value = PolicyRequest> {
    prop_oneof![
        (reserve_parameters(), lifetime(), group()).prop_map(|(parameters, lifetime, group)| {
            PolicyRequest::Reserve(ReserveRequest { parameters, lifetime, group })
        }),
        enable_request().prop_map(PolicyRequest::Enable),
        (rule(), enable_request()).prop_map(|(rule, request)| PolicyRequest::EnableReserved {
            rule,
            pinhole: EnableRequest { group: None, ..request },
        }),
        enable_request().prop_map(|request| PolicyRequest::Disable(DisableRequest {
            internal: request.internal,
            external: request.external,
            lifetime: request.lifetime,
        })),
        (rule(), lifetime()).prop_map(|(rule, lifetime)| PolicyRequest::LifetimeChange { rule, lifetime }),
        rule().prop_map(|rule| PolicyRequest::Status { rule }),
        Just(PolicyRequest::List),
    ]
}

prop_compose! {
    fn reserved()(
        rule in rule(),
        group in any::<u32>().prop_map(GroupId::new),
        lifetime in lifetime(),
        outside in tuple(Location::OUTSIDE),
        inside in proptest::option::of(tuple(Location::INSIDE)),
    ) -> Reserved {
        Reserved { rule, group, lifetime, outside, inside }
    }
}

fn enabled() -> impl Strategy<Value = Enabled> {
    reserved().prop_map(|Reserved { rule, group, lifetime, outside, inside }| Enabled {
        rule,
        group,
        lifetime,
        outside,
        inside,
    })
}

/// Octets and lists that replies borrow.
#[derive(Clone, Debug)]
struct Lent {
    challenge: Option<Vec<u8>>,
    token: Vec<u8>,
    owner: Vec<u8>,
    rules: Vec<PolicyRuleId>,
}

prop_compose! {
    fn lent()(
        challenge in proptest::option::of(proptest::collection::vec(any::<u8>(), 0..60)),
        token in proptest::collection::vec(any::<u8>(), 0..60),
        owner in proptest::collection::vec(any::<u8>(), 0..=255),
        rules in proptest::collection::vec(rule(), 0..50),
    ) -> Lent {
        Lent { challenge, token, owner, rules }
    }
}

fn capabilities(octets: [bool; 10], versions: [bool; 4], longest: Lifetime) -> Capabilities {
    let [
        is_firewall,
        is_translator,
        can_disable,
        can_translate_twice,
        can_translate_protocol,
        can_translate_ports,
        internal_address,
        external_address,
        port,
        is_persistent,
    ] = octets;
    Capabilities {
        services: Services {
            is_firewall,
            is_translator,
            can_disable,
            can_translate_twice,
            can_translate_protocol,
            can_translate_ports,
        },
        wildcards: Wildcards { internal_address, external_address, port },
        is_persistent,
        internal_versions: IpVersions { v4: versions[0], v6: versions[1] },
        external_versions: IpVersions { v4: versions[2], v6: versions[3] },
        longest_lifetime: longest,
    }
}

#[track_caller]
fn reads_back(transaction: u32, body: Body<'_>) {
    let message = Message { transaction: TransactionId::new(transaction), body };
    let mut octets = Vec::new();
    message.encode(&mut octets).unwrap();
    assert_eq!(Message::decode(&octets), Ok(message));
    for length in 0..octets.len() {
        assert!(Message::decode(&octets[..length]).is_err(), "{length} octets of {message:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn requests_read_back(transaction in any::<u32>(), request in policy_request(), lent in lent()) {
        reads_back(transaction, Body::Request(Request::Policy(request)));
        let challenge = lent.challenge.as_deref();
        let version = Version { major: 3, minor: 1 };
        reads_back(transaction, Body::Request(Request::SessionEstablishment { version, challenge }));
        reads_back(transaction, Body::Request(Request::SessionAuthentication { token: challenge }));
    }

    #[test]
    fn replies_read_back(
        transaction in any::<u32>(),
        reserved in reserved(),
        enabled in enabled(),
        request in enable_request(),
        lent in lent(),
    ) {
        let EnableRequest { parameters, internal, external, lifetime, .. } = request;
        let owner = &lent.owner;
        let token = Some(lent.token.as_slice());
        for reply in [
            PositiveReply::SessionAuthentication { challenge: lent.challenge.as_deref(), token },
            PositiveReply::Reserve(reserved),
            PositiveReply::Enable(enabled),
            PositiveReply::Disable { rule: enabled.rule, lifetime },
            PositiveReply::LifetimeChange { lifetime },
            PositiveReply::ReserveStatus(ReserveStatus { reserved, owner }),
            PositiveReply::EnableStatus(EnableStatus { parameters, internal, external, enabled, owner }),
            PositiveReply::DisableStatus(DisableStatus { rule: enabled.rule, internal, external, lifetime, owner }),
            PositiveReply::SessionTermination,
            PositiveReply::Deletion,
        ] {
            reads_back(transaction, Body::Positive(reply));
        }
        let event = Notification::RuleEvent { rule: enabled.rule, lifetime };
        reads_back(transaction, Body::Notification(event));
    }

    #[test]
    fn capabilities_read_back(octets: [bool; 10], versions: [bool; 4], longest in lifetime()) {
        let capabilities = capabilities(octets, versions, longest);
        reads_back(1, Body::Positive(PositiveReply::SessionEstablishment { capabilities }));
    }

    #[test]
    fn lists_read_back(lent in lent()) {
        let mut octets = Vec::new();
        let list = RuleIds::of(&lent.rules);
        let body = Body::Positive(PositiveReply::List(list));
        Message { transaction: TransactionId::new(1), body }.encode(&mut octets).unwrap();
        let decoded = Message::decode(&octets).unwrap();
        let Body::Positive(PositiveReply::List(found)) = decoded.body else { panic!("{decoded:?}") };
        prop_assert_eq!(found.len(), lent.rules.len());
        prop_assert!(found.iter().eq(lent.rules.iter().copied()));
    }

    /// Whatever is accepted means something: written again it reads the same.
    #[test]
    fn what_reads_writes_the_same_meaning(
        basic in 1_u8..=4,
        sub_type in prop_oneof![0_u8..=0x25, 0x40_u8..=0x58],
        attributes in proptest::collection::vec(
            (1_u16..=0x0C, proptest::collection::vec(any::<u8>(), 0..25)), 0..6),
    ) {
        let mut payload = Vec::new();
        for (kind, value) in attributes {
            payload.extend(kind.to_be_bytes());
            payload.extend(u16::try_from(value.len()).unwrap().to_be_bytes());
            payload.extend(value);
        }
        let mut octets = vec![basic, sub_type];
        octets.extend(u16::try_from(payload.len()).unwrap().to_be_bytes());
        octets.extend([0, 0, 0, 9]);
        octets.extend(payload);
        if let Ok(message) = Message::decode(&octets) {
            let mut again = Vec::new();
            message.encode(&mut again).unwrap();
            prop_assert_eq!(Message::decode(&again), Ok(message));
        }
    }
}

#[test]
fn every_negative_code_reads_back() {
    for code in NegativeCode::ALL {
        reads_back(1, Body::Negative(NegativeReply::new(*code)));
        assert_eq!(code.code() >> 8, 3);
    }
    assert_eq!(NegativeCode::ALL.len(), 36);
}

#[test]
fn length_beyond_the_longest_message_is_no_header() {
    let octets = [1, 1, 0xFF, 0xF9, 0, 0, 0, 1];
    assert_eq!(Header::decode(&octets), Err(DecodeError::TooLong { length: 65_529 }));
    let longest = [1, 1, 0xFF, 0xF8, 0, 0, 0, 1];
    assert_eq!(Header::decode(&longest).map(|header| header.payload_bytes), Ok(PAYLOAD_BYTES));
}

#[test]
fn the_longest_list_fits_and_one_more_does_not() {
    let rules: Vec<_> = (0..8192).map(PolicyRuleId::new).collect();
    let message = |rules| Message {
        transaction: TransactionId::new(1),
        body: Body::Positive(PositiveReply::List(RuleIds::of(rules))),
    };
    let mut octets = Vec::new();
    message(&rules[..RuleIds::MOST]).encode(&mut octets).unwrap();
    assert_eq!(octets.len(), HEADER_BYTES + PAYLOAD_BYTES);
    octets.clear();
    assert!(message(&rules).encode(&mut octets).is_err());
    assert!(octets.is_empty(), "what was written is taken back");
}

#[test]
fn too_long_challenge_token_and_owner_are_refused_both_ways() {
    let long = vec![0; 4097];
    let request = Request::SessionAuthentication { token: Some(&long) };
    let message = Message { transaction: TransactionId::new(1), body: Body::Request(request) };
    assert!(message.encode(&mut Vec::new()).is_err());
    let mut octets = vec![1, 2, 0x10, 0x05, 0, 0, 0, 1, 0, 3, 0x10, 0x01];
    octets.extend(&long);
    let error = simco::AttributeError::WrongLength { kind: AttributeType::Token, length: 4097 };
    assert_eq!(Message::decode(&octets), Err(DecodeError::Attribute(error)));
}

use super::*;
use crate::error::Item;
use crate::write::encode_parameters;

fn one(octets: &[u8]) -> Parameter<'_> {
    Parameters::new(octets).iter().next().unwrap().unwrap()
}

/// Wire octets, value, line.
fn table() -> Vec<(Vec<u8>, Parameter<'static>, &'static str)> {
    let v6 = Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1);
    let mut v6_octets = vec![0, 6, 0, 20];
    v6_octets.extend(v6.octets());
    let both = ParameterTypes::IPV4_AND_IPV6;
    vec![
        (vec![0, 1, 0, 5, 9], Parameter::HeartbeatInfo(&[9]), "Heartbeat Info 1 B"),
        (vec![0, 5, 0, 8, 10, 0, 0, 1], Parameter::Ipv4Address(Ipv4Addr::new(10, 0, 0, 1)), "IPv4 10.0.0.1"),
        (v6_octets, Parameter::Ipv6Address(v6), "IPv6 2001:db8::1"),
        (vec![0, 7, 0, 6, 1, 2], Parameter::StateCookie(&[1, 2]), "State Cookie 2 B"),
        (
            vec![0, 8, 0, 8, 0xc0, 0, 0, 4],
            Parameter::UnrecognizedParameter(&[0xc0, 0, 0, 4]),
            "Unrecognized Parameter [Forward-TSN-Supported]",
        ),
        (
            vec![0, 9, 0, 8, 0, 0, 3, 0xe8],
            Parameter::CookiePreservative { increment_ms: 1000 },
            "Cookie Preservative 1000 ms",
        ),
        (vec![0, 11, 0, 6, b'a', 0], Parameter::HostNameAddress(b"a\0"), "Host Name 2 B"),
        (
            vec![0, 12, 0, 8, 0, 5, 0, 6],
            Parameter::SupportedAddressTypes(both),
            "Supported Address Types [IPv4, IPv6]",
        ),
    ]
}

fn extension_table() -> Vec<(Vec<u8>, Parameter<'static>, &'static str)> {
    const UNKNOWN: &[u8] = &[0x80, 0xff, 0, 6, 1, 2];
    let unknown = UnknownParameter { kind: ParameterType::new(0x80ff), value: &[1, 2], raw: UNKNOWN };
    vec![
        (vec![0x80, 0, 0, 4], Parameter::EcnCapable, "ECN Capable"),
        (
            vec![0x80, 1, 0, 8, 0, 0, 0, 1],
            Parameter::ZeroChecksumAcceptable { edmid: ErrorDetectionMethod::SCTP_OVER_DTLS },
            "Zero Checksum Acceptable edmid=1",
        ),
        (vec![0x80, 2, 0, 6, 1, 2], Parameter::Random(&[1, 2]), "Random 2 B"),
        (
            vec![0x80, 3, 0, 6, 0xc1, 0x80],
            Parameter::ChunkList(ChunkTypes::new(&[0xc1, 0x80])),
            "Chunk List [ASCONF, ASCONF-ACK]",
        ),
        (
            vec![0x80, 4, 0, 8, 0, 3, 0, 1],
            Parameter::HmacAlgorithms(HmacIds::SHA_256_AND_SHA_1),
            "HMAC Algorithms [SHA-256, SHA-1]",
        ),
        (vec![0x80, 5, 0, 5, 0], Parameter::Padding(&[0]), "Padding 1 B"),
        (
            vec![0x80, 8, 0, 6, 0x82, 0xc0],
            Parameter::SupportedExtensions(ChunkTypes::new(&[0x82, 0xc0])),
            "Supported Extensions [RE-CONFIG, FORWARD TSN]",
        ),
        (vec![0xc0, 0, 0, 4], Parameter::ForwardTsnSupported, "Forward-TSN-Supported"),
        (
            vec![0xc0, 6, 0, 8, 0, 0, 0, 7],
            Parameter::AdaptationLayerIndication(7),
            "Adaptation Layer Indication 0x00000007",
        ),
        (UNKNOWN.to_vec(), Parameter::Unknown(unknown), "parameter 0x80ff 2 B"),
    ]
}

/// RFC 5061 §4.2, with the addresses and correlation ids of its examples.
fn address_table() -> Vec<(Vec<u8>, Parameter<'static>, &'static str)> {
    let v4 = |correlation| AddressRequest {
        correlation: CorrelationId::new(correlation),
        address: IpAddr::from([192, 0, 2, 1]),
    };
    let with = |kind, last| vec![0xc0, kind, 0, 16, 1, 2, 0x34, last, 0, 5, 0, 8, 0xc0, 0, 2, 1];
    let v6 = Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1);
    let mut v6_octets = vec![0xc0, 1, 0, 28, 0, 0, 0, 9, 0, 6, 0, 20];
    v6_octets.extend(v6.octets());
    let v6 = AddressRequest { correlation: CorrelationId::new(9), address: v6.into() };
    vec![
        (with(1, 0x74), Parameter::AddIpAddress(v4(0x0102_3474)), "Add IP Address corr=16921716 192.0.2.1"),
        (
            with(2, 0x76),
            Parameter::DeleteIpAddress(v4(0x0102_3476)),
            "Delete IP Address corr=16921718 192.0.2.1",
        ),
        (
            with(4, 0x79),
            Parameter::SetPrimaryAddress(v4(0x0102_3479)),
            "Set Primary Address corr=16921721 192.0.2.1",
        ),
        (v6_octets, Parameter::AddIpAddress(v6), "Add IP Address corr=9 2001:db8::1"),
        (
            vec![0xc0, 5, 0, 8, 0, 0, 0, 9],
            Parameter::SuccessIndication(CorrelationId::new(9)),
            "Success Indication corr=9",
        ),
    ]
}

/// RFC 6525 §4.
fn reconfig_table() -> Vec<(Vec<u8>, Parameter<'static>, &'static str)> {
    let (request, response) = (ReconfigSequence::new(3), ReconfigSequence::new(8));
    let (add, last_tsn) = (AddStreams { request, count: 5 }, crate::Tsn::new(9));
    let (some, all) = (StreamIds::new(&[[0, 4], [1, 0]]), StreamIds::new(&[]));
    vec![
        (
            vec![0, 13, 0, 20, 0, 0, 0, 3, 0, 0, 0, 8, 0, 0, 0, 9, 0, 4, 1, 0],
            Parameter::OutgoingSsnReset(OutgoingSsnReset { request, response, last_tsn, streams: some }),
            "Outgoing SSN Reset Request seq=3 resp=8 last_tsn=9 streams=[4, 256]",
        ),
        (
            vec![0, 14, 0, 8, 0, 0, 0, 3],
            Parameter::IncomingSsnReset(IncomingSsnReset { request, streams: all }),
            "Incoming SSN Reset Request seq=3 streams=all",
        ),
        (vec![0, 15, 0, 8, 0, 0, 0, 3], Parameter::SsnTsnReset { request }, "SSN/TSN Reset Request seq=3"),
        (
            vec![0, 17, 0, 12, 0, 0, 0, 3, 0, 5, 0, 0],
            Parameter::AddOutgoingStreams(add),
            "Add Outgoing Streams Request seq=3 count=5",
        ),
        (
            vec![0, 18, 0, 12, 0, 0, 0, 3, 0, 5, 0, 0],
            Parameter::AddIncomingStreams(add),
            "Add Incoming Streams Request seq=3 count=5",
        ),
    ]
}

/// RFC 6525 §4.4, table 3.
#[test]
fn every_result_of_a_reconfiguration_is_read_written_and_shown() {
    let lines = [
        "nothing to do",
        "performed",
        "denied",
        "wrong SSN",
        "request already in progress",
        "bad sequence number",
        "in progress",
        "result 7",
    ];
    for (number, line) in (0_u8..).zip(lines) {
        let octets = [0, 16, 0, 12, 0, 0, 0, 8, 0, 0, 0, number];
        let parameter = one(&octets);
        assert_eq!(encode_parameters(&[parameter]).unwrap(), octets);
        assert_eq!(parameter.to_string(), format!("Re-configuration Response resp=8 {line}"));
        let octets = [&[0, 16, 0, 20][..], &octets[4..], &[0, 0, 0, 1, 0, 0, 0, 2]].concat();
        let parameter = one(&octets);
        assert_eq!(encode_parameters(&[parameter]).unwrap(), octets);
        assert!(parameter.to_string().ends_with(" next_tsn=1/2"));
    }
    let half = [0, 16, 0, 16, 0, 0, 0, 8, 0, 0, 0, 1, 0, 0, 0, 1];
    assert!(Parameters::new(&half).iter().next().unwrap().is_err());
}

/// RFC 5061 §4.2.3; the line stops at the codes, so that causes and parameters cannot nest in it.
#[test]
fn error_cause_indication_wraps_causes() {
    let octets = [0xc0, 3, 0, 20, 0, 0, 0, 9, 0, 11, 0, 12, 0xc0, 3, 0, 8, 0, 0, 0, 1];
    let parameter = one(&octets);
    let Parameter::ErrorCauseIndication(indication) = parameter else { panic!("{parameter}") };
    assert_eq!((indication.correlation, indication.causes.iter().count()), (CorrelationId::new(9), 1));
    assert_eq!(encode_parameters(&[parameter]).unwrap(), octets);
    let line = "Error Cause Indication corr=9 [Restart of an Association with New Addresses]";
    assert_eq!(parameter.to_string(), line);
}

#[test]
fn address_requests_without_an_address_are_malformed_and_can_be_had_as_they_came() {
    let octets =
        [0xc0, 1, 0, 8, 0, 0, 0, 9, 0xc0, 1, 0, 13, 0, 0, 0, 9, 0, 5, 0, 5, 1, 0, 0, 0, 0xc0, 0, 0, 4];
    let list = Parameters::new(&octets);
    let read: Vec<_> = list.iter().collect();
    let item = Item::Parameter(ParameterType::ADD_IP_ADDRESS);
    let missing = DecodeError::Body { item, offset: 0, flaw: Flaw::NoAddress };
    let short = Flaw::TooShort { needed: 4, available: 1 };
    let short = DecodeError::Body { item, offset: 8, flaw: short };
    assert_eq!(read, [Err(missing), Err(short), Ok(Parameter::ForwardTsnSupported)]);
    assert_eq!(list.undecoded(&missing).unwrap().raw, &octets[..8]);
    assert_eq!(list.undecoded(&short).unwrap().value, &octets[12..21]);
    assert_eq!(list.undecoded(&DecodeError::ShortPacket { length: 1 }), None);
}

#[test]
fn lists_are_looked_up() {
    assert!(
        HmacIds::SHA_1.contains(crate::HmacId::SHA_1) && !HmacIds::SHA_1.contains(crate::HmacId::SHA_256)
    );
    assert!(StreamIds::new(&[[1, 0]]).contains(crate::StreamId::new(256)) && StreamIds::new(&[]).is_empty());
    let list = ChunkTypes::new(&[0x82]);
    assert!(list.contains(crate::ChunkType::RE_CONFIG) && !list.is_empty());
    assert!(list.iter().eq([crate::ChunkType::RE_CONFIG]));
}

fn all_tables() -> impl Iterator<Item = (Vec<u8>, Parameter<'static>, &'static str)> {
    [table(), extension_table(), address_table(), reconfig_table()].into_iter().flatten()
}

#[test]
fn every_parameter_is_read_written_and_shown() {
    for (octets, parameter, line) in all_tables() {
        assert_eq!(one(&octets), parameter);
        assert_eq!(encode_parameters(&[parameter]).unwrap(), octets, "{line}");
        assert_eq!(parameter.to_string(), line);
        assert_eq!(parameter.kind().to_wire(), octets[..2]);
    }
}

/// RFC 9260 §3.2: between parameters, but not after the last.
#[test]
fn lists_are_padded_between_their_parameters() {
    let list = [Parameter::StateCookie(&[1]), Parameter::StateCookie(&[2, 3])];
    let octets = encode_parameters(&list).unwrap();
    assert_eq!(octets, [0, 7, 0, 5, 1, 0, 0, 0, 0, 7, 0, 6, 2, 3]);
    let read: Result<Vec<_>, _> = Parameters::new(&octets).into_iter().collect();
    assert_eq!(read.unwrap(), list);
}

#[test]
fn fixed_parameters_of_the_wrong_length_are_malformed_and_skipped() {
    let octets = [0, 5, 0, 7, 10, 0, 0, 0, 0x80, 0, 0, 6, 1, 2, 0, 0, 0, 12, 0, 5, 0, 0, 0, 0, 0xc0, 0, 0, 4];
    let read: Vec<_> = Parameters::new(&octets).iter().collect();
    let body = |kind, offset, flaw| Err(DecodeError::Body { item: Item::Parameter(kind), offset, flaw });
    assert_eq!(
        read,
        [
            body(ParameterType::IPV4_ADDRESS, 0, Flaw::TooShort { needed: 4, available: 3 }),
            body(ParameterType::ECN_CAPABLE, 8, Flaw::TooLong { octets: 2 }),
            body(ParameterType::SUPPORTED_ADDRESS_TYPES, 16, Flaw::OddList { octets: 1 }),
            Ok(Parameter::ForwardTsnSupported),
        ]
    );
}

#[test]
fn a_length_beyond_the_list_ends_it() {
    let octets = [0xc0, 0, 0, 4, 0, 7, 0, 9, 1, 2, 3, 4];
    let read: Vec<_> = (&Parameters::new(&octets)).into_iter().collect();
    let item = Item::Parameter(ParameterType::STATE_COOKIE);
    let error = DecodeError::Length { item, offset: 4, length: 9, available: 8 };
    assert_eq!(read, [Ok(Parameter::ForwardTsnSupported), Err(error)]);
}

#[test]
fn parameters_say_what_to_do_when_they_are_not_spoken() {
    assert_eq!(Parameter::ForwardTsnSupported.action(), UnknownAction::SkipAndReport);
    let Parameter::Unknown(unknown) = one(&[0x7f, 1, 0, 4]) else { panic!("0x7f01 is unknown") };
    assert_eq!(unknown.action(), UnknownAction::StopAndReport);
    assert_eq!(unknown.raw, [0x7f, 1, 0, 4]);
}

#[test]
fn supported_address_types_are_looked_up() {
    assert!(ParameterTypes::IPV4.contains(ParameterType::IPV4_ADDRESS));
    assert!(!ParameterTypes::IPV4.contains(ParameterType::IPV6_ADDRESS));
    assert!(ParameterTypes::IPV6.iter().eq([ParameterType::IPV6_ADDRESS]));
}

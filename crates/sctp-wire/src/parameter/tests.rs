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
    let random =
        UnknownParameter { kind: ParameterType::RANDOM, value: &[1, 2], raw: &[0x80, 2, 0, 6, 1, 2] };
    vec![
        (vec![0x80, 0, 0, 4], Parameter::EcnCapable, "ECN Capable"),
        (
            vec![0x80, 1, 0, 8, 0, 0, 0, 1],
            Parameter::ZeroChecksumAcceptable { edmid: 1 },
            "Zero Checksum Acceptable edmid=1",
        ),
        (vec![0x80, 2, 0, 6, 1, 2], Parameter::Unknown(random), "Random 2 B"),
        (vec![0x80, 5, 0, 5, 0], Parameter::Padding(&[0]), "Padding 1 B"),
        (
            vec![0x80, 8, 0, 6, 0x82, 0xc0],
            Parameter::SupportedExtensions(&[0x82, 0xc0]),
            "Supported Extensions [RE-CONFIG, FORWARD TSN]",
        ),
        (vec![0xc0, 0, 0, 4], Parameter::ForwardTsnSupported, "Forward-TSN-Supported"),
        (
            vec![0xc0, 6, 0, 8, 0, 0, 0, 7],
            Parameter::AdaptationLayerIndication(7),
            "Adaptation Layer Indication 0x00000007",
        ),
    ]
}

#[test]
fn every_parameter_is_read_written_and_shown() {
    for (octets, parameter, line) in table().into_iter().chain(extension_table()) {
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

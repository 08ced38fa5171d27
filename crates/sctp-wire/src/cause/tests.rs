use super::*;
use crate::write::encode_causes;

/// Wire octets, value, line.
fn table() -> Vec<(Vec<u8>, Cause<'static>, &'static str)> {
    vec![
        (
            vec![0, 1, 0, 8, 0, 5, 0, 0],
            Cause::InvalidStreamIdentifier(StreamId::new(5)),
            "Invalid Stream Identifier 5",
        ),
        (
            vec![0, 2, 0, 10, 0, 0, 0, 1, 0, 7],
            Cause::MissingMandatoryParameter(ParameterTypes::STATE_COOKIE),
            "Missing Mandatory Parameter [State Cookie]",
        ),
        (vec![0, 3, 0, 8, 0, 0, 0, 9], Cause::StaleCookie { staleness_us: 9 }, "Stale Cookie by 9 us"),
        (vec![0, 4, 0, 4], Cause::OutOfResource, "Out of Resource"),
        (
            vec![0, 5, 0, 9, 0, 11, 0, 5, 65],
            Cause::UnresolvableAddress(&[0, 11, 0, 5, 65]),
            "Unresolvable Address [Host Name]",
        ),
        (
            vec![0, 6, 0, 8, 0xc1, 0, 0, 4],
            Cause::UnrecognizedChunkType(&[0xc1, 0, 0, 4]),
            "Unrecognized Chunk Type [ASCONF]",
        ),
        (vec![0, 7, 0, 4], Cause::InvalidMandatoryParameter, "Invalid Mandatory Parameter"),
        (
            vec![0, 8, 0, 8, 0xc0, 0, 0, 4],
            Cause::UnrecognizedParameters(&[0xc0, 0, 0, 4]),
            "Unrecognized Parameters [Forward-TSN-Supported]",
        ),
        (vec![0, 9, 0, 8, 0, 0, 0, 7], Cause::NoUserData(Tsn::new(7)), "No User Data tsn=7"),
        (vec![0, 10, 0, 4], Cause::CookieReceivedWhileShuttingDown, "Cookie Received While Shutting Down"),
        (vec![0, 12, 0, 5, 65], Cause::UserInitiatedAbort(b"A"), "User-Initiated Abort 1 B"),
        (vec![0, 13, 0, 4], Cause::ProtocolViolation(b""), "Protocol Violation 0 B"),
    ]
}

/// RFC 5061 §4.3, RFC 4895 §4.1.
fn extension_table() -> Vec<(Vec<u8>, Cause<'static>, &'static str)> {
    const REQUEST: &[u8] = &[0xc0, 1, 0, 16, 0, 0, 0, 1, 0, 5, 0, 8, 10, 0, 0, 1];
    let with = |code| [&[0, code, 0, 20], REQUEST].concat();
    vec![
        (
            with(0xa0),
            Cause::DeleteLastAddress(REQUEST),
            "Request to Delete Last Remaining IP Address [Add IP Address]",
        ),
        (
            with(0xa1),
            Cause::ResourceShortage(REQUEST),
            "Operation Refused Due to Resource Shortage [Add IP Address]",
        ),
        (
            with(0xa2),
            Cause::DeleteSourceAddress(REQUEST),
            "Request to Delete Source IP Address [Add IP Address]",
        ),
        (vec![0, 0xa3, 0, 4], Cause::IllegalAsconfAck, "Association Aborted Due to Illegal ASCONF-ACK"),
        (with(0xa4), Cause::NoAuthorization(REQUEST), "Request Refused - No Authorization [Add IP Address]"),
        (
            vec![1, 5, 0, 6, 0, 2],
            Cause::UnsupportedHmacIdentifier(HmacId::new(2)),
            "Unsupported HMAC Identifier HMAC 0x02",
        ),
        (
            vec![0, 99, 0, 6, 0, 2],
            Cause::Unknown { code: CauseCode::new(99), value: &[0, 2] },
            "cause 0x63 2 B",
        ),
    ]
}

#[test]
fn every_cause_is_read_written_and_shown() {
    for (octets, cause, line) in table().into_iter().chain(extension_table()) {
        assert_eq!(Causes::new(&octets).iter().next(), Some(Ok(cause)), "{line}");
        assert_eq!(encode_causes(&[cause]).unwrap(), octets, "{line}");
        assert_eq!(cause.to_string(), line);
    }
}

#[test]
fn restart_lists_its_new_addresses() {
    let octets = [0, 11, 0, 12, 0, 5, 0, 8, 10, 0, 0, 1];
    let cause = Causes::new(&octets).iter().next().unwrap().unwrap();
    assert_eq!(cause.to_string(), "Restart of an Association with New Addresses [IPv4 10.0.0.1]");
    assert_eq!(encode_causes(&[cause]).unwrap(), octets);
}

#[test]
fn a_count_that_does_not_fit_is_malformed() {
    let missing = |count| [0, 2, 0, 10, 0xff, 0xff, 0xff, count, 0, 7];
    let octets = missing(0xff);
    let Some(Err(DecodeError::Body { flaw, .. })) = Causes::new(&octets).iter().next() else {
        panic!("four thousand million types in two octets");
    };
    assert!(matches!(flaw, Flaw::TooShort { available: 2, .. }));
}

#[test]
fn causes_are_padded_between_one_another() {
    let list = [Cause::ProtocolViolation(b"why"), Cause::OutOfResource];
    let octets = encode_causes(&list).unwrap();
    assert_eq!(octets, [0, 13, 0, 7, b'w', b'h', b'y', 0, 0, 4, 0, 4]);
    assert_eq!((&Causes::new(&octets)).into_iter().collect::<Result<Vec<_>, _>>().unwrap(), list);
    assert!(Causes::new(&[]).is_empty());
}

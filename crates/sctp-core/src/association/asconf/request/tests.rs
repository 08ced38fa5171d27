use sctp_wire::{
    Cause, Causes, Checksum, Chunk, ErrorCauseIndication, Packet, PacketWriter, SctpPort, VerificationTag,
    encode_causes,
};

use super::*;

fn ip(last: u8) -> IpAddr {
    [10, 0, 0, last].into()
}

fn requests(changes: &[AddressChange]) -> Requests {
    let mut requests = Requests::new(AsconfSerial::new(u32::MAX));
    changes.iter().for_each(|change| assert!(requests.push(*change)));
    requests
}

/// Has the answer read by `requests`.
fn answer(requests: &mut Requests, serial: u32, responses: &[Parameter<'_>]) -> AsconfAnswer {
    let (port, mut octets) = (SctpPort::new(9).unwrap(), Vec::new());
    let mut writer = PacketWriter::begin(&mut octets, port, port, VerificationTag::new(1), 1400);
    writer.asconf_ack(AsconfSerial::new(serial), responses).unwrap();
    let _len = writer.finish();
    let packet = Packet::decode(&octets, Checksum::Verify).unwrap();
    let Some(Ok(Chunk::AsconfAck(ack))) = packet.chunks().next() else { panic!("{packet}") };
    requests.on_ack(&ack)
}

fn outcomes(answered: AsconfAnswer) -> Vec<AddressOutcome> {
    let AsconfAnswer::Outstanding(outcomes) = answered else { panic!("{answered:?}") };
    outcomes.into_iter().map(|(_, outcome)| outcome).collect()
}

const CHANGES: [AddressChange; 3] = [
    AddressChange::Add(IpAddr::V4(core::net::Ipv4Addr::new(10, 0, 0, 3))),
    AddressChange::SetPrimary(IpAddr::V4(core::net::Ipv4Addr::new(10, 0, 0, 3))),
    AddressChange::Delete(IpAddr::V4(core::net::Ipv4Addr::new(10, 0, 0, 1))),
];

#[test]
fn one_chunk_at_a_time_with_rising_serial_numbers_rfc_5061_5_1() {
    let mut requests = requests(&CHANGES);
    let first = requests.next(Instant::EPOCH, ip(1), PathIndex::FIRST).unwrap();
    assert_eq!(requests.outstanding().map(|outstanding| &outstanding.chunk), Some(&first));
    assert!(requests.push(AddressChange::Add(ip(4))));
    assert_eq!(requests.next(Instant::EPOCH, ip(1), PathIndex::FIRST), None, "one is outstanding");
    assert_eq!(answer(&mut requests, 5, &[]), AsconfAnswer::Stray);
    assert_eq!(outcomes(answer(&mut requests, u32::MAX, &[])), [AddressOutcome::Done; 3]);
    assert!(requests.next(Instant::EPOCH, ip(1), PathIndex::FIRST).is_some());
    assert_eq!(answer(&mut requests, u32::MAX, &[]), AsconfAnswer::Stray, "that was the one before");
    assert_eq!(outcomes(answer(&mut requests, 0, &[])), [AddressOutcome::Done]);
    assert_eq!(answer(&mut requests, 0, &[]), AsconfAnswer::Stray);
}

/// RFC 5061 §5.3 (F0).
#[test]
fn answer_to_what_was_never_asked_is_illegal() {
    for serial in [u32::MAX, 0, 0x7fff_0000] {
        assert_eq!(answer(&mut requests(&[]), serial, &[]), AsconfAnswer::Illegal);
    }
    assert_eq!(answer(&mut requests(&[]), u32::MAX - 1, &[]), AsconfAnswer::Stray);
}

fn refusal(correlation: u32, causes: &[u8]) -> Parameter<'_> {
    let correlation = CorrelationId::new(correlation);
    Parameter::ErrorCauseIndication(ErrorCauseIndication { correlation, causes: Causes::new(causes) })
}

#[test]
fn what_follows_a_failure_failed_unless_success_is_said_rfc_5061_5_1_a7() {
    let refused = AddressOutcome::Refused { cause: 0xa1 };
    let causes = encode_causes(&[Cause::ResourceShortage(&[])]).unwrap();
    let mut asked = requests(&CHANGES);
    asked.next(Instant::EPOCH, ip(1), PathIndex::FIRST).unwrap();
    let responses = [refusal(2, &causes)];
    assert_eq!(outcomes(answer(&mut asked, u32::MAX, &responses)), [AddressOutcome::Done, refused, refused]);
    let mut asked = requests(&CHANGES);
    asked.next(Instant::EPOCH, ip(1), PathIndex::FIRST).unwrap();
    let responses = [refusal(1, &causes), Parameter::SuccessIndication(CorrelationId::new(3))];
    assert_eq!(outcomes(answer(&mut asked, u32::MAX, &responses)), [refused, refused, AddressOutcome::Done]);
}

/// RFC 5061 §5.1 (A9), §5.3 (F3a, F3b).
#[test]
fn peer_that_does_not_understand_is_not_asked_again() {
    let causes = encode_causes(&[Cause::UnrecognizedParameters(&[])]).unwrap();
    let mut asked = requests(&CHANGES[1..2]);
    asked.next(Instant::EPOCH, ip(1), PathIndex::FIRST).unwrap();
    let _ = answer(&mut asked, u32::MAX, &[refusal(1, &causes)]);
    assert!(asked.is_refused(CHANGES[1]) && !asked.is_refused(CHANGES[0]));
    assert!(asked.push(CHANGES[0]));
    asked.next(Instant::EPOCH, ip(1), PathIndex::FIRST).unwrap();
    let _ = answer(&mut asked, 0, &[refusal(2, &causes)]);
    assert!(CHANGES.iter().all(|change| asked.is_refused(*change)));
    let mut asked = requests(&CHANGES[..1]);
    asked.next(Instant::EPOCH, ip(1), PathIndex::FIRST).unwrap();
    assert!(asked.push(CHANGES[2]));
    assert_eq!(asked.on_not_understood().to_vec(), [CHANGES[0], CHANGES[2]]);
    assert!(asked.is_refused(CHANGES[0]) && asked.outstanding().is_none());
}

#[test]
fn requests_that_wait_are_bounded() {
    let mut requests = requests(&[AddressChange::Add(ip(1)); WAITING_MAX]);
    assert!(!requests.push(AddressChange::Add(ip(1))));
    requests.next(Instant::EPOCH, ip(1), PathIndex::FIRST).unwrap();
    assert_eq!(requests.outstanding().map(|outstanding| outstanding.asked.len()), Some(REQUESTS_MAX));
}

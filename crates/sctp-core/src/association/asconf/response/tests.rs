use sctp_wire::{AddressRequest, Checksum, Chunk, Packet, PacketWriter, SctpPort, VerificationTag};

use super::*;

fn ip(last: u8) -> IpAddr {
    [10, 0, 0, last].into()
}

fn ask(
    kind: fn(AddressRequest) -> Parameter<'static>,
    correlation: u32,
    address: IpAddr,
) -> Parameter<'static> {
    kind(AddressRequest { correlation: CorrelationId::new(correlation), address })
}

const ADD: fn(AddressRequest) -> Parameter<'static> = Parameter::AddIpAddress;
const DELETE: fn(AddressRequest) -> Parameter<'static> = Parameter::DeleteIpAddress;
const PRIMARY: fn(AddressRequest) -> Parameter<'static> = Parameter::SetPrimaryAddress;

fn anywhere() -> IpAddr {
    [0, 0, 0, 0].into()
}

/// Asked from 10.0.0.1 by a peer at 10.0.0.1 and 10.0.0.2, of at most four addresses.
fn judge(requests: &[Parameter<'_>]) -> Judgement {
    let encoded = encode_parameters(requests).unwrap();
    let is_usable = |address: IpAddr| !address.is_multicast();
    Judgement::of(Parameters::new(&encoded), ip(1), &[ip(1), ip(2)], 4, &is_usable)
}

/// What is granted; correlation identifier and cause of what is not.
fn verdict(requests: &[Parameter<'_>]) -> (Vec<AddressChange>, Option<(u32, u16)>) {
    let judgement = judge(requests);
    let refused = judgement.refused.as_ref().map(|refusal| {
        let cause = Causes::new(&refusal.causes).iter().next().unwrap().unwrap();
        (refusal.correlation.get(), cause.code().get())
    });
    (judgement.granted.to_vec(), refused)
}

/// Requests, what is granted of them, and correlation identifier and cause of what is not.
type Row<'a> = (&'a [Parameter<'a>], &'a [AddressChange], Option<(u32, u16)>);

#[test]
fn each_request_is_judged_by_what_those_before_it_leave_rfc_5061_5_3() {
    use AddressChange::{Add, Delete, SetPrimary};
    let (all, one) = (anywhere(), ip(1));
    let rows: [Row<'_>; 12] = [
        (&[ask(ADD, 1, ip(3))], &[Add(ip(3))], None),
        (&[ask(ADD, 1, ip(2))], &[], None),
        (&[ask(ADD, 1, [224, 0, 0, 1].into())], &[], Some((1, 0xa4))),
        (
            &[ask(ADD, 1, ip(3)), ask(ADD, 2, ip(4)), ask(ADD, 3, ip(5))],
            &[Add(ip(3)), Add(ip(4))],
            Some((3, 0xa1)),
        ),
        (&[ask(DELETE, 1, ip(2))], &[Delete(ip(2))], None),
        (&[ask(DELETE, 1, ip(9))], &[], None),
        (&[ask(DELETE, 1, one)], &[], Some((1, 0xa2))),
        (&[ask(DELETE, 1, ip(2)), ask(DELETE, 2, one)], &[Delete(ip(2))], Some((2, 0xa0))),
        (&[ask(DELETE, 1, all)], &[Delete(ip(2))], None),
        (&[ask(PRIMARY, 1, ip(2))], &[SetPrimary(ip(2))], None),
        (&[ask(PRIMARY, 1, ip(3))], &[], Some((1, 5))),
        (
            &[ask(ADD, 1, ip(3)), ask(PRIMARY, 2, ip(3)), ask(DELETE, 3, ip(2))],
            &[Add(ip(3)), SetPrimary(ip(3)), Delete(ip(2))],
            None,
        ),
    ];
    for (requests, granted, refused) in rows {
        assert_eq!(verdict(requests), (granted.to_vec(), refused), "{requests:?}");
    }
}

/// RFC 5061 §5.3 (F11): what is refused is not followed by a deletion that is granted.
#[test]
fn nothing_behind_a_refused_request_is_done() {
    let requests = [ask(ADD, 1, ip(3)), ask(ADD, 2, ip(4)), ask(ADD, 3, ip(5)), ask(DELETE, 4, ip(2))];
    let (granted, refused) = verdict(&requests);
    assert_eq!(granted.len(), 2);
    assert_eq!(refused, Some((3, 0xa1)));
}

#[test]
fn wildcards_stand_for_the_source_rfc_5061_4_2() {
    let encoded = encode_parameters(&[
        ask(ADD, 1, anywhere()),
        ask(PRIMARY, 2, anywhere()),
        ask(DELETE, 3, anywhere()),
    ]);
    let encoded = encoded.unwrap();
    let judgement = Judgement::of(Parameters::new(&encoded), ip(7), &[ip(1), ip(2)], 4, &|_| true);
    use AddressChange::{Add, Delete, SetPrimary};
    assert_eq!(judgement.granted.to_vec(), [Add(ip(7)), SetPrimary(ip(7)), Delete(ip(1)), Delete(ip(2))]);
    let only_delete = encode_parameters(&[ask(DELETE, 3, anywhere())]).unwrap();
    let stranger = Judgement::of(Parameters::new(&only_delete), ip(7), &[ip(1), ip(2)], 4, &|_| true);
    assert!(stranger.granted.is_empty() && stranger.refused.is_some(), "nothing would be left");
}

#[test]
fn what_is_not_understood_is_given_back_with_its_correlation_rfc_5061_5_2() {
    let (granted, refused) = verdict(&[Parameter::AdaptationLayerIndication(77), ask(ADD, 1, ip(3))]);
    assert_eq!((granted, refused), (vec![], Some((77, 8))));
    // High bits 10: skipped without a word.
    let (granted, refused) = verdict(&[Parameter::Padding(&[1; 4]), ask(ADD, 1, ip(3))]);
    assert_eq!((granted.len(), refused), (1, None));
    let malformed = [0xc0, 1, 0, 8, 0, 0, 0, 9];
    let judgement = Judgement::of(Parameters::new(&malformed), ip(1), &[ip(1)], 4, &|_| true);
    assert_eq!(judgement.refused.unwrap().correlation, CorrelationId::new(9));
}

fn read(chunk: &ChunkBuf) -> Vec<u8> {
    let (port, mut octets) = (SctpPort::new(9).unwrap(), Vec::new());
    let mut writer = PacketWriter::begin(&mut octets, port, port, VerificationTag::new(1), 1400);
    writer.raw(chunk).unwrap();
    let _len = writer.finish();
    let packet = Packet::decode(&octets, Checksum::Verify).unwrap();
    let Some(Ok(Chunk::AsconfAck(ack))) = packet.chunks().next() else { panic!("{packet}") };
    ack.responses.as_bytes().to_vec()
}

#[test]
fn success_is_an_answer_without_words_and_a_refusal_holds_the_request_rfc_5061_4_3_1() {
    let serial = AsconfSerial::new(7);
    assert!(read(&judge(&[ask(ADD, 1, ip(3))]).answer(serial).unwrap()).is_empty());
    let refused = read(&judge(&[ask(DELETE, 0x0102_3476, ip(1))]).answer(serial).unwrap());
    let expected = [
        0xc0, 3, 0, 28, 1, 2, 0x34, 0x76, 0, 0xa2, 0, 20, 0xc0, 2, 0, 16, 1, 2, 0x34, 0x76, 0, 5, 0, 8, 10,
        0, 0, 1,
    ];
    assert_eq!(refused, expected);
}

#[test]
fn answers_are_repeated_and_other_serial_numbers_discarded_rfc_5061_5_2() {
    let mut responder = AsconfResponder::new(AsconfSerial::new(0));
    let answer = |number| judge(&[]).answer(AsconfSerial::new(number)).unwrap();
    assert_eq!(responder.screen(AsconfSerial::new(1)), Screening::Discarded);
    for number in 0..10 {
        let serial = AsconfSerial::new(number);
        assert_eq!(responder.screen(serial), Screening::Next);
        responder.on_answered(serial, answer(number));
        assert_eq!(responder.screen(serial), Screening::Repeated(answer(number)));
    }
    assert_eq!(responder.screen(AsconfSerial::new(6)), Screening::Repeated(answer(6)));
    assert_eq!(responder.screen(AsconfSerial::new(5)), Screening::Discarded);
    assert_eq!(responder.screen(AsconfSerial::new(11)), Screening::Discarded);
}

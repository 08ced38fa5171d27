//! Chunks of the extensions, written.

use core::net::{IpAddr, Ipv4Addr};

use super::begin;
use crate::codepoints::{ChunkType, PayloadProtocolId};
use crate::packet::{Checksum, Packet};
use crate::{
    AddressRequest, AsconfSerial, AuthPolicy, Chunk, ChunkBuf, CorrelationId, DataFlags, FragmentLabel, Fsn,
    Full, HmacAlgorithm, IDataHeader, Mid, Parameter, ReconfigSequence, SharedKeyId, SkippedMid, SkippedSsn,
    Ssn, StreamId, Tsn,
};

/// No HMAC, but a sum that notices every octet and its place.
fn sum(octets: impl Iterator<Item = u8>) -> u8 {
    octets.fold(7, |sum, octet| sum.rotate_left(3) ^ octet)
}

/// What `compute` is shown on writing is what a receiver finds the HMAC to cover.
#[test]
fn an_hmac_written_is_one_that_verifies() {
    for algorithm in [HmacAlgorithm::Sha1, HmacAlgorithm::Sha256] {
        let mut buffer = vec![0xee; 3];
        let mut writer = begin(&mut buffer, 100);
        writer.cookie_ack().unwrap();
        writer.auth(SharedKeyId::new(2), algorithm).unwrap();
        writer.cookie_echo(b"abcde").unwrap();
        let length = writer.finish_authenticated(|octets, hmac| {
            assert_eq!(hmac.len(), algorithm.hmac_bytes());
            assert_eq!(octets.len(), algorithm.chunk_bytes() + 12);
            hmac.fill(sum(octets.iter().copied()));
        });
        assert_eq!(length, 12 + 4 + algorithm.chunk_bytes() + 12);
        let packet = Packet::decode(&buffer[3..], Checksum::Verify).unwrap();
        let Some(Ok(Chunk::Auth(auth))) = packet.chunks().nth(1) else { panic!("{packet}") };
        assert_eq!((auth.key, auth.hmac_id), (SharedKeyId::new(2), algorithm.id()));
        let covered = sum(auth.authenticated_octets().flatten().copied());
        assert_eq!(auth.hmac, vec![covered; algorithm.hmac_bytes()]);
        buffer[3 + length - 5] ^= 1;
        let packet = Packet::decode(&buffer[3..], Checksum::Ignore).unwrap();
        let Some(Ok(Chunk::Auth(auth))) = packet.chunks().nth(1) else { panic!("{packet}") };
        assert_ne!(sum(auth.authenticated_octets().flatten().copied()), covered);
    }
}

/// RFC 4895 §5.1: one AUTH chunk in a packet.
#[test]
fn a_packet_takes_one_auth_chunk_if_it_fits() {
    let mut buffer = Vec::new();
    let mut writer = begin(&mut buffer, 12 + 39);
    assert_eq!(writer.auth(SharedKeyId::new(0), HmacAlgorithm::Sha256), Err(Full));
    assert!(writer.is_empty());
    writer.auth(SharedKeyId::new(0), HmacAlgorithm::Sha1).unwrap();
    let length = writer.len();
    assert_eq!(writer.auth(SharedKeyId::new(0), HmacAlgorithm::Sha1), Err(Full));
    assert_eq!(writer.len(), length);
    assert_eq!(
        writer.finish_authenticated(|octets, hmac| hmac.copy_from_slice(&[9; 28][..octets.len() - 8])),
        40
    );
    assert_eq!(buffer[20..], [9; 20]);
}

fn policy(kinds: &[ChunkType]) -> AuthPolicy {
    let chunks = kinds.iter().copied().collect();
    AuthPolicy { key: SharedKeyId::new(5), algorithm: HmacAlgorithm::Sha1, chunks }
}

/// RFC 4895 §6.2: what has to be authenticated follows an AUTH chunk, one for all of it, and what fits no more
/// leaves no AUTH chunk behind.
#[test]
fn auth_stands_in_front_of_the_first_chunk_that_needs_it_or_not_at_all() {
    let mut buffer = Vec::new();
    let mut writer = begin(&mut buffer, 12 + 4 + 28 + 4 + 8 + 4);
    writer.authenticate(policy(&[ChunkType::COOKIE_ACK, ChunkType::SHUTDOWN]));
    writer.shutdown_ack().unwrap();
    assert_eq!(writer.cookie_echo(&[1; 41]), Err(Full));
    let too_long = ChunkBuf::encode(ChunkType::SHUTDOWN, 0, |value| value.zeros(24)).unwrap();
    assert_eq!(writer.raw(&too_long), Err(Full));
    assert_eq!(writer.chunk(ChunkType::SHUTDOWN, 0, |value| value.zeros(24)), Err(Full));
    assert_eq!(writer.len(), 16, "no AUTH chunk with nothing behind it");
    writer.cookie_ack().unwrap();
    writer.raw(&ChunkBuf::shutdown(Tsn::new(1))).unwrap();
    writer.sign(|octets, hmac| hmac.fill(u8::try_from(octets.len()).unwrap()));
    assert_eq!(writer.shutdown_ack(), Err(Full), "nothing follows what is signed");
    let _octets = writer.finish();
    let packet = Packet::decode(&buffer, Checksum::Verify).unwrap();
    let kinds: Vec<_> = packet.chunks().map(|chunk| chunk.unwrap().kind()).collect();
    use ChunkType as C;
    assert_eq!(kinds, [C::SHUTDOWN_ACK, C::AUTH, C::COOKIE_ACK, C::SHUTDOWN]);
    assert_eq!(buffer[24..44], [28 + 4 + 8; 20]);
}

#[test]
fn room_for_data_leaves_out_the_auth_chunk_it_needs() {
    for (kinds, owed) in [(&[ChunkType::DATA][..], 28), (&[ChunkType::I_DATA], 28), (&[ChunkType::SACK], 0)] {
        let mut buffer = Vec::new();
        let mut writer = begin(&mut buffer, 112);
        writer.authenticate(policy(kinds));
        assert_eq!(writer.remaining(), 100 - owed);
        writer.chunk(kinds[0], 0, |_| {}).unwrap();
        assert_eq!(writer.remaining(), 100 - 28 - 4);
        let _unfinished = writer;
    }
}

#[test]
fn without_an_auth_chunk_nothing_is_computed() {
    let (mut plain, mut asked) = (Vec::new(), Vec::new());
    let mut writer = begin(&mut plain, 100);
    writer.cookie_ack().unwrap();
    let _ = writer.finish();
    let mut writer = begin(&mut asked, 100);
    writer.cookie_ack().unwrap();
    let mut calls = 0;
    assert_eq!(writer.finish_authenticated(|_, _| calls += 1), 16);
    assert_eq!((calls, asked), (0, plain));
}

fn octets(write: impl FnOnce(&mut crate::PacketWriter<'_>) -> Result<(), Full>) -> Vec<u8> {
    let mut buffer = Vec::new();
    let mut writer = begin(&mut buffer, 200);
    write(&mut writer).unwrap();
    let _ = writer.finish();
    buffer.split_off(12)
}

/// RFC 8260 §2.1.
#[test]
fn i_data_sets_the_b_bit_as_its_label_has_it() {
    let flags = DataFlags { beginning: true, ending: true, ..DataFlags::default() };
    let mut header = IDataHeader {
        tsn: Tsn::new(7),
        stream: StreamId::new(1),
        mid: Mid::new(0x1_0003),
        label: FragmentLabel::Beginning(PayloadProtocolId::SIMCO),
        flags,
    };
    let written = octets(|writer| writer.i_data(&header, b"a"));
    assert_eq!(written, [64, 3, 0, 21, 0, 0, 0, 7, 0, 1, 0, 0, 0, 1, 0, 3, 0, 0, 0, 15, b'a', 0, 0, 0]);
    header.label = FragmentLabel::Later(Fsn::new(2));
    assert_eq!(octets(|writer| writer.i_data(&header, b"a"))[1], 1);
}

#[test]
fn forward_tsns_are_written_whole_or_not_at_all() {
    let skipped = [SkippedSsn { stream: StreamId::new(1), ssn: Ssn::new(3) }];
    let written = octets(|writer| writer.forward_tsn(Tsn::new(9), skipped));
    assert_eq!(written, [192, 0, 0, 12, 0, 0, 0, 9, 0, 1, 0, 3]);
    let unordered = [SkippedMid { stream: StreamId::new(1), unordered: true, mid: Mid::new(0x1_0003) }];
    let written = octets(|writer| writer.i_forward_tsn(Tsn::new(9), unordered));
    assert_eq!(written, [194, 0, 0, 16, 0, 0, 0, 9, 0, 1, 0, 1, 0, 1, 0, 3]);
    let mut buffer = Vec::new();
    let mut writer = begin(&mut buffer, 12 + 12);
    assert_eq!(writer.forward_tsn(Tsn::new(9), skipped.repeat(2)), Err(Full));
    assert_eq!(writer.i_forward_tsn(Tsn::new(9), unordered), Err(Full));
    assert!(writer.is_empty());
    assert_eq!(writer.forward_tsn(Tsn::new(9), skipped), Ok(()));
}

#[test]
fn address_and_stream_changes_are_written_the_same_ahead_and_in_place() {
    let address = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1));
    let request = AddressRequest { correlation: CorrelationId::new(3), address };
    let (serial, list) = (AsconfSerial::new(5), [Parameter::DeleteIpAddress(request)]);
    let written = octets(|writer| writer.asconf(serial, address, &list));
    let expected = [
        193, 0, 0, 32, 0, 0, 0, 5, 0, 5, 0, 8, 10, 0, 0, 1, 0xc0, 2, 0, 16, 0, 0, 0, 3, 0, 5, 0, 8, 10, 0, 0,
        1,
    ];
    assert_eq!(written, expected);
    assert_eq!(ChunkBuf::asconf(serial, address, &list).unwrap().as_bytes(), written);
    let list = [Parameter::SuccessIndication(CorrelationId::new(3))];
    let written = octets(|writer| writer.asconf_ack(serial, &list));
    assert_eq!(written, [128, 0, 0, 16, 0, 0, 0, 5, 0xc0, 5, 0, 8, 0, 0, 0, 3]);
    assert_eq!(ChunkBuf::asconf_ack(serial, &list).unwrap().as_bytes(), written);
    let list = [Parameter::SsnTsnReset { request: ReconfigSequence::new(4) }];
    let written = octets(|writer| writer.re_config(&list));
    assert_eq!(written, [130, 0, 0, 12, 0, 15, 0, 8, 0, 0, 0, 4]);
    assert_eq!(ChunkBuf::re_config(&list).unwrap().as_bytes(), written);
}

#[test]
fn pad_fills_the_room_it_is_given() {
    assert_eq!(octets(|writer| writer.pad(5)), [132, 0, 0, 9, 0, 0, 0, 0, 0, 0, 0, 0]);
    let mut buffer = Vec::new();
    let mut writer = begin(&mut buffer, 60);
    assert_eq!(writer.pad(45), Err(Full));
    assert_eq!(writer.pad(writer.remaining() - 4), Ok(()));
    assert_eq!(writer.remaining(), 0);
}

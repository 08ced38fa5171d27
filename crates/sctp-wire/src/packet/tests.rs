use super::*;
use crate::codepoints::ChunkType;
use crate::error::Flaw;
use crate::write::PacketWriter;

/// 5001 to 7626 with these octets as chunks and a right checksum.
fn packet_of(chunks: &[u8]) -> Vec<u8> {
    let mut packet = vec![0x13, 0x89, 0x1d, 0xca, 0, 0, 0, 7, 0, 0, 0, 0];
    packet.extend_from_slice(chunks);
    let checksum = checksum::of_zeroed(&packet);
    packet[8..12].copy_from_slice(&checksum.to_le_bytes());
    packet
}

fn walk(packet: &[u8]) -> Vec<Result<Chunk<'_>, DecodeError>> {
    Packet::decode(packet, Checksum::Verify).unwrap().chunks().collect()
}

const INIT_5001_TO_7626: [u8; 32] = [
    0x13, 0x89, 0x1d, 0xca, 0, 0, 0, 0, 0x0c, 0x92, 0x25, 0xa6, 1, 0, 0, 0x14, 1, 2, 3, 4, 0, 0, 0xff, 0xff,
    0, 10, 0, 10, 0x0a, 0x0b, 0x0c, 0x0d,
];

#[test]
fn a_whole_packet_decodes_with_its_checksum() {
    let packet = Packet::decode(&INIT_5001_TO_7626, Checksum::Verify).unwrap();
    assert_eq!((packet.source_port.get(), packet.destination_port.get()), (5001, 7626));
    assert_eq!(packet.verification_tag, VerificationTag::ZERO);
    assert_eq!(packet.checksum, 0xA625_920C);
    assert_eq!(
        packet.to_string(),
        "5001 > 7626 tag=0x00000000 | INIT tag=0x01020304 a_rwnd=65535 os=10 mis=10 tsn=168496141 []"
    );
}

/// RFC 9653 figure 1.
#[test]
fn a_checksum_of_zero_can_be_right() {
    let mut packet = vec![0x13, 0x89, 0x13, 0x89, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0x14];
    packet.extend([0xfc, 0xb7, 0x5c, 0xca, 0, 0, 0x05, 0xdc, 0, 1, 0, 1, 0, 0, 0, 0]);
    assert_eq!(Packet::decode(&packet, Checksum::Verify).unwrap().checksum, 0);
}

#[test]
fn a_wrong_checksum_is_an_error_unless_ignored() {
    let mut packet = INIT_5001_TO_7626;
    packet[20] ^= 1;
    let Err(DecodeError::Checksum { expected, found }) = Packet::decode(&packet, Checksum::Verify) else {
        panic!("a flipped bit went unnoticed");
    };
    assert_eq!(found, 0xA625_920C);
    assert_ne!(expected, found);
    assert!(Packet::decode(&packet, Checksum::Ignore).is_ok());
}

#[test]
fn anything_shorter_than_the_common_header_is_refused() {
    for length in 0..COMMON_HEADER_BYTES {
        let error = Packet::decode(&INIT_5001_TO_7626[..length], Checksum::Ignore).unwrap_err();
        assert_eq!(error, DecodeError::ShortPacket { length });
    }
    assert!(Packet::decode(&INIT_5001_TO_7626[..12], Checksum::Ignore).unwrap().chunks().next().is_none());
}

/// RFC 9260 §3.1.
#[test]
fn port_zero_is_refused_on_either_side() {
    for offset in [0, 2] {
        let mut packet = INIT_5001_TO_7626;
        packet[offset..offset + 2].fill(0);
        let error = Packet::decode(&packet, Checksum::Ignore).unwrap_err();
        assert_eq!(error, DecodeError::ZeroPort { offset });
    }
}

#[test]
fn a_chunk_length_below_four_ends_the_walk() {
    let packet = packet_of(&[11, 0, 0, 4, 8, 0, 0, 3, 11, 0, 0, 4]);
    let item = Item::Chunk(ChunkType::SHUTDOWN_ACK);
    let error = DecodeError::Length { item, offset: 16, length: 3, available: 8 };
    assert_eq!(walk(&packet), [Ok(Chunk::CookieAck), Err(error)]);
    assert!(error.ends_walk());
}

#[test]
fn a_chunk_length_beyond_the_packet_ends_the_walk() {
    let packet = packet_of(&[10, 0, 0, 9, 1, 2, 3, 4]);
    let item = Item::Chunk(ChunkType::COOKIE_ECHO);
    assert_eq!(walk(&packet), [Err(DecodeError::Length { item, offset: 12, length: 9, available: 8 })]);
}

#[test]
fn fewer_octets_than_a_chunk_header_end_the_walk() {
    let packet = packet_of(&[11, 0, 0, 4, 11, 0, 0]);
    let error = DecodeError::Header { layer: Layer::Chunk, offset: 16, available: 3 };
    assert_eq!(walk(&packet), [Ok(Chunk::CookieAck), Err(error)]);
}

#[test]
fn a_malformed_body_costs_only_its_own_chunk() {
    let packet = packet_of(&[7, 0, 0, 6, 1, 2, 0, 0, 11, 0, 0, 4]);
    let item = Item::Chunk(ChunkType::SHUTDOWN);
    let error = DecodeError::Body { item, offset: 12, flaw: Flaw::TooShort { needed: 4, available: 2 } };
    assert_eq!(walk(&packet), [Err(error), Ok(Chunk::CookieAck)]);
    assert!(!error.ends_walk());
    assert_eq!(error.to_string(), "SHUTDOWN at offset 12: a field needs 4 octets, 2 are left");
}

#[test]
fn padding_is_skipped_whatever_it_holds_and_may_be_missing_at_the_end() {
    let padded = packet_of(&[10, 0, 0, 5, 42, 0xff, 0xff, 0xff, 10, 0, 0, 6, 1, 2]);
    let chunks = walk(&padded);
    let cookies: Vec<&[u8]> = chunks
        .iter()
        .filter_map(|chunk| if let Ok(Chunk::CookieEcho(cookie)) = chunk { Some(cookie.0) } else { None })
        .collect();
    assert_eq!((chunks.len(), cookies), (2, vec![&[42][..], &[1, 2]]));
}

#[test]
fn packets_read_as_one_line() {
    let mut buffer = Vec::new();
    let port = SctpPort::new(9).unwrap();
    let mut writer = PacketWriter::begin(&mut buffer, port, port, VerificationTag::new(1), 100);
    writer.cookie_ack().unwrap();
    writer.shutdown(crate::Tsn::new(4)).unwrap();
    assert_eq!(writer.finish(), 24);
    buffer.extend([7, 0, 0, 4]);
    let packet = Packet::decode(&buffer, Checksum::Ignore).unwrap();
    let malformed = "malformed: SHUTDOWN at offset 24: a field needs 4 octets, 0 are left";
    assert_eq!(
        packet.to_string(),
        format!("9 > 9 tag=0x00000001 | COOKIE ACK | SHUTDOWN cum=4 | {malformed}")
    );
}

#[test]
fn user_data_is_read_as_the_walk_reads_it_and_nothing_else_is() {
    let mut chunks = vec![0, 3, 0, 17, 0, 0, 0, 9, 0, 1, 0, 2, 0, 0, 0, 3, b'x', 0, 0, 0];
    chunks.extend([64, 3, 0, 21, 0, 0, 0, 10, 0, 1, 0, 0, 0, 0, 0, 2, 0, 0, 0, 3, b'y', 0, 0, 0]);
    chunks.extend([11, 0, 0, 4]);
    chunks.extend([0, 3, 0, 8, 0, 0, 0, 11]);
    chunks.extend([64, 3, 0, 8, 0, 0, 0, 11]);
    chunks.extend([0, 3, 0, 99, 0, 0, 0, 12, 0, 1, 0, 2, 0, 0, 0, 3, b'z']);
    let packet = packet_of(&chunks);
    let mut walk = Packet::decode(&packet, Checksum::Verify).unwrap().chunks();
    let mut found = Vec::new();
    loop {
        let (mut data, mut i_data) = (walk.clone(), walk.clone());
        let read = [data.next_data().map(Chunk::Data), i_data.next_i_data().map(Chunk::IData)];
        let before = walk.rest();
        let Some(next) = walk.next() else { break };
        let behind = [data.rest(), i_data.rest()];
        for (read, behind) in read.into_iter().zip(behind) {
            assert_eq!(behind, if read.is_some() { walk.rest() } else { before });
            assert!(read.is_none_or(|read| Ok(read) == next), "{read:?} {next:?}");
        }
        found.push(read.map(|read| read.is_some()));
    }
    let nothing = [false, false];
    assert_eq!(found, [[true, false], [false, true], nothing, nothing, nothing, nothing]);
}

#[test]
fn the_header_of_the_last_packet_never_makes_a_wrong_checksum_right() {
    let (packet, mut last) = (packet_of(&[11, 0, 0, 4]), checksum::KnownHeader::default());
    for place in 0..packet.len() {
        assert!(Packet::verify(&packet, &mut last).is_ok());
        let mut damaged = packet.clone();
        damaged[place] ^= 1;
        assert!(Packet::verify(&damaged, &mut last).is_err(), "{place}");
    }
}

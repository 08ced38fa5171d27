mod extensions;

use super::*;
use crate::codepoints::PayloadProtocolId;
use crate::numbers::{Ssn, StreamId};
use crate::packet::{Checksum, Packet};
use crate::{Chunk, DataFlags};

fn begin(buffer: &mut Vec<u8>, max_bytes: usize) -> PacketWriter<'_> {
    let port = SctpPort::new(7626).unwrap();
    PacketWriter::begin(buffer, port, port, VerificationTag::new(1), max_bytes)
}

const HEADER: DataHeader = DataHeader {
    tsn: Tsn::new(7),
    stream: StreamId::new(1),
    ssn: Ssn::new(3),
    ppid: PayloadProtocolId::UNSPECIFIED,
    flags: DataFlags::WHOLE,
};

#[test]
fn the_written_packet_is_the_published_one() {
    let mut buffer = Vec::new();
    let (from, to) = (SctpPort::new(5001).unwrap(), SctpPort::new(7626).unwrap());
    let mut writer = PacketWriter::begin(&mut buffer, from, to, VerificationTag::ZERO, 1500);
    let header = InitHeader {
        initiate_tag: VerificationTag::new(0x0102_0304),
        a_rwnd: 65535,
        outbound_streams: 10,
        inbound_streams: 10,
        initial_tsn: Tsn::new(0x0A0B_0C0D),
    };
    writer.init(&header, &[]).unwrap();
    assert_eq!(writer.finish(), 32);
    let expected = "13891dca000000000c9225a601000014010203040000ffff000a000a0a0b0c0d";
    let hex: String = buffer.iter().map(|octet| format!("{octet:02x}")).collect();
    assert_eq!(hex, expected);
}

#[test]
fn data_is_padded_and_its_length_is_not() {
    let mut buffer = Vec::new();
    let mut writer = begin(&mut buffer, 100);
    writer.data(&HEADER, b"abcde").unwrap();
    assert_eq!(writer.len(), 12 + 24);
    assert_eq!(crate::Data::chunk_bytes(5), 24);
    assert_eq!(crate::Data::chunk_bytes(8), 24);
    assert_eq!(crate::Data::chunk_bytes(9), 28);
    let _ = writer.finish();
    assert_eq!(buffer[12..16], [0, 3, 0, 21]);
    assert_eq!(buffer[28..], [b'a', b'b', b'c', b'd', b'e', 0, 0, 0]);
}

#[test]
fn what_does_not_fit_leaves_the_packet_as_it_was() {
    let mut buffer = Vec::new();
    let mut writer = begin(&mut buffer, 12 + 20 + 3);
    assert_eq!(writer.remaining(), 20);
    assert!(writer.is_empty());
    assert_eq!(writer.data(&HEADER, b"abcde"), Err(Full));
    assert_eq!(writer.cookie_echo(&[0; 70_000]), Err(Full));
    assert!(writer.is_empty());
    writer.data(&HEADER, b"abcd").unwrap();
    assert_eq!(writer.remaining(), 0);
    assert_eq!(writer.raw(&ChunkBuf::cookie_ack()), Err(Full));
    assert_eq!(writer.finish(), 32);
}

#[test]
fn a_limit_below_the_common_header_holds_no_chunk() {
    let mut buffer = Vec::new();
    let mut writer = begin(&mut buffer, 7);
    assert_eq!(writer.remaining(), 0);
    assert_eq!(writer.cookie_ack(), Err(Full));
    assert_eq!(writer.finish(), 12);
}

#[test]
fn a_packet_given_up_leaves_no_trace() {
    let mut buffer = vec![1, 2, 3];
    let mut writer = begin(&mut buffer, 100);
    writer.cookie_ack().unwrap();
    drop(writer);
    assert_eq!(buffer, [1, 2, 3]);
}

#[test]
fn packets_stand_one_after_the_other() {
    let mut buffer = vec![0xee];
    for _ in 0..2 {
        let mut writer = begin(&mut buffer, 100);
        writer.data(&HEADER, b"abc").unwrap();
        assert_eq!(writer.finish(), 32);
    }
    let packets = &buffer[1..];
    assert_eq!(packets[..32], packets[32..]);
    assert!(Packet::decode(&packets[32..], Checksum::Verify).is_ok());
}

#[test]
fn sack_gives_up_duplicates_before_gaps() {
    let gaps = [GapAckBlock { start: 2, end: 3 }, GapAckBlock { start: 5, end: 5 }];
    let duplicates = [Tsn::new(4), Tsn::new(6)];
    let write = |room: usize| {
        let mut buffer = Vec::new();
        let mut writer = begin(&mut buffer, 12 + room);
        let outcome = writer.sack(Tsn::new(9), 100, gaps, duplicates);
        let _ = writer.finish();
        outcome.map(|()| {
            Packet::decode(&buffer, Checksum::Verify).unwrap().chunks().next().unwrap().unwrap().to_string()
        })
    };
    assert_eq!(write(12), Err(Full));
    assert_eq!(write(16).unwrap(), "SACK cum=9 a_rwnd=100");
    assert_eq!(write(20).unwrap(), "SACK cum=9 a_rwnd=100 gaps=[2-3]");
    assert_eq!(write(28).unwrap(), "SACK cum=9 a_rwnd=100 gaps=[2-3 5-5] dup=[4]");
    assert_eq!(write(99).unwrap(), "SACK cum=9 a_rwnd=100 gaps=[2-3 5-5] dup=[4 6]");
}

#[test]
fn cumulative_sack_is_a_sack_without_gaps_and_duplicates() {
    for room in [0, 12, 16, 20] {
        let [mut short, mut long] = [Vec::new(), Vec::new()];
        let (mut in_short, mut in_long) = (begin(&mut short, 12 + room), begin(&mut long, 12 + room));
        let outcomes = (in_short.cumulative_sack(Tsn::new(9), 100), in_long.sack(Tsn::new(9), 100, [], []));
        assert_eq!(outcomes.0, outcomes.1);
        assert_eq!((in_short.finish(), &short), (in_long.finish(), &long));
    }
}

#[test]
fn sack_stays_within_the_longest_chunk() {
    let mut buffer = Vec::new();
    let mut writer = begin(&mut buffer, 1_000_000);
    let blocks = (0..u16::MAX).map(|start| GapAckBlock { start, end: start });
    writer.sack(Tsn::new(9), 100, blocks, []).unwrap();
    let _ = writer.finish();
    let Some(Ok(Chunk::Sack(sack))) = Packet::decode(&buffer, Checksum::Verify).unwrap().chunks().next()
    else {
        panic!("the SACK does not decode");
    };
    assert_eq!(sack.gap_ack_block_count(), (65535 - 16) / 4);
}

#[test]
fn chunks_encoded_ahead_are_those_written_in_place() {
    let causes = [Cause::ProtocolViolation(b"odd"), Cause::OutOfResource];
    let parameters = [Parameter::StateCookie(&[1, 2, 3]), Parameter::ForwardTsnSupported];
    let (info, tag) = ([1, 2, 3], TagOrigin::Reflected);
    let init = InitHeader {
        initiate_tag: VerificationTag::new(1),
        a_rwnd: 2,
        outbound_streams: 3,
        inbound_streams: 4,
        initial_tsn: Tsn::new(5),
    };
    let ahead = [
        ChunkBuf::init(&init, &parameters).unwrap(),
        ChunkBuf::init_ack(&init, &parameters).unwrap(),
        ChunkBuf::heartbeat(&info).unwrap(),
        ChunkBuf::heartbeat_ack(&info).unwrap(),
        ChunkBuf::abort(tag, &causes).unwrap(),
        ChunkBuf::error(&causes).unwrap(),
        ChunkBuf::cookie_echo(&info).unwrap(),
        ChunkBuf::cookie_ack(),
        ChunkBuf::shutdown(Tsn::new(9)),
        ChunkBuf::shutdown_ack(),
        ChunkBuf::shutdown_complete(tag),
    ];
    let (mut raw, mut direct) = (Vec::new(), Vec::new());
    let mut writer = begin(&mut raw, 1000);
    ahead.iter().for_each(|chunk| writer.raw(chunk).unwrap());
    let _ = writer.finish();
    write_all(begin(&mut direct, 1000), &init, &parameters, &causes, &info).unwrap();
    assert_eq!(raw, direct);
    assert_eq!(raw.len(), 12 + ahead.iter().map(ChunkBuf::len).sum::<usize>());
}

fn write_all(
    mut writer: PacketWriter<'_>,
    init: &InitHeader,
    parameters: &[Parameter<'_>],
    causes: &[Cause<'_>],
    info: &[u8],
) -> Result<(), Full> {
    writer.init(init, parameters)?;
    writer.init_ack(init, parameters)?;
    writer.heartbeat(info)?;
    writer.heartbeat_ack(info)?;
    writer.abort(TagOrigin::Reflected, causes)?;
    writer.error(causes)?;
    writer.cookie_echo(info)?;
    writer.cookie_ack()?;
    writer.shutdown(Tsn::new(9))?;
    writer.shutdown_ack()?;
    writer.shutdown_complete(TagOrigin::Reflected)?;
    let _ = writer.finish();
    Ok(())
}

#[test]
fn chunks_have_at_most_65535_octets() {
    assert_eq!(ChunkBuf::cookie_echo(&[0; 65531]).map(|chunk| chunk.len()), Ok(65536));
    assert_eq!(ChunkBuf::cookie_echo(&[0; 65532]), Err(Full));
    assert_eq!(ChunkBuf::error(&[Cause::UnrecognizedChunkType(&[0; 65531])]), Err(Full));
    assert_eq!(encode_parameters(&[Parameter::Padding(&[0; 65532])]), Err(Full));
}

#[test]
fn a_packet_may_go_without_checksum_where_the_peer_accepts_it() {
    let mut buffer = Vec::new();
    let mut writer = begin(&mut buffer, 100);
    writer.cookie_ack().unwrap();
    assert_eq!(writer.finish_with_zero_checksum(), 16);
    assert!(Packet::decode(&buffer, Checksum::Verify).is_err());
    assert_eq!(Packet::decode(&buffer, Checksum::Ignore).unwrap().checksum, 0);
}

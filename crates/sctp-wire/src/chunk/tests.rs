mod extensions;

use super::*;
use crate::cause::Cause;
use crate::codepoints::{PayloadProtocolId, UnknownAction};
use crate::error::Layer;
use crate::numbers::{Ssn, StreamId, Tsn};
use crate::write::ChunkBuf;

fn decode(octets: &[u8]) -> Result<Chunk<'_>, Flaw> {
    let tlv = Cursor::new(octets, 12).tlv(Layer::Chunk).unwrap().unwrap();
    Chunk::decode(tlv)
}

/// The chunk and its line, for the snapshots.
fn read(octets: &[u8]) -> (Chunk<'_>, String) {
    let chunk = decode(octets).unwrap();
    (chunk, chunk.to_string())
}

#[test]
fn data_decodes_field_by_field() {
    let octets = [0, 3, 0, 19, 0, 0, 0, 7, 0, 1, 0, 3, 0, 0, 0, 15, b'a', b'b', b'c', 0];
    let (chunk, line) = read(&octets);
    let Chunk::Data(data) = chunk else { panic!("{line}") };
    assert_eq!((data.tsn, data.stream, data.ssn), (Tsn::new(7), StreamId::new(1), Ssn::new(3)));
    assert_eq!((data.ppid, data.flags), (PayloadProtocolId::SIMCO, DataFlags::WHOLE));
    assert_eq!(data.payload, b"abc");
    assert_eq!(line, "DATA tsn=7 stream=1 ssn=3 ppid=15 BE 3 B");
}

#[test]
fn data_without_data_decodes_for_the_association_to_refuse() {
    let (_, line) = read(&[0, 0x0c, 0, 16, 0, 0, 0, 7, 0, 1, 0, 3, 0, 0, 0, 0]);
    assert_eq!(line, "DATA tsn=7 stream=1 ssn=3 ppid=0 IU 0 B");
    assert_eq!(decode(&[0, 0, 0, 14, 0, 0, 0, 7, 0, 1, 0, 3, 0, 0]), Err(too_short(12, 10)));
}

#[test]
fn data_flags_keep_their_four_bits_and_drop_the_reserved_ones() {
    for bits in 0..=u8::MAX {
        assert_eq!(DataFlags::from(bits).bits(), bits & 0x0f);
    }
    assert_eq!(DataFlags::from(0).to_string(), "-");
    assert_eq!(DataFlags::from(0x0f).to_string(), "IUBE");
    assert!(DataFlags::WHOLE.is_whole() && !DataFlags::from(0x02).is_whole());
}

#[test]
fn init_decodes_field_by_field() {
    let octets =
        [1, 0, 0, 28, 1, 2, 3, 4, 0, 0, 0xff, 0xff, 0, 10, 0, 20, 0, 0, 0, 9, 0, 5, 0, 8, 10, 0, 0, 1];
    let (chunk, line) = read(&octets);
    let Chunk::Init(init) = chunk else { panic!("{line}") };
    assert_eq!((init.outbound_streams, init.inbound_streams, init.a_rwnd), (10, 20, 65535));
    assert_eq!(line, "INIT tag=0x01020304 a_rwnd=65535 os=10 mis=20 tsn=9 [IPv4 10.0.0.1]");
    let mut ack = octets;
    ack[0] = 2;
    assert_eq!(read(&ack).1, line.replace("INIT", "INIT ACK"));
}

#[test]
fn sack_decodes_blocks_and_duplicates() {
    let octets = [3, 0, 0, 28, 0, 0, 0, 9, 0, 1, 0, 0, 0, 2, 0, 1, 0, 2, 0, 3, 0, 5, 0, 5, 0, 0, 0, 4];
    let (chunk, line) = read(&octets);
    let Chunk::Sack(sack) = chunk else { panic!("{line}") };
    assert_eq!(sack.gap_ack_block_count(), 2);
    assert_eq!(sack.gap_ack_blocks().last(), Some(GapAckBlock { start: 5, end: 5 }));
    assert_eq!(sack.duplicate_tsns().collect::<Vec<_>>(), [Tsn::new(4)]);
    assert_eq!(line, "SACK cum=9 a_rwnd=65536 gaps=[2-3 5-5] dup=[4]");
}

#[test]
fn sack_whose_counts_do_not_fit_its_length_is_malformed() {
    let mut octets = [3, 0, 0, 20, 0, 0, 0, 9, 0, 1, 0, 0, 0, 2, 0, 0, 0, 2, 0, 3];
    assert_eq!(decode(&octets), Err(too_short(8, 4)));
    octets[13] = 0;
    assert_eq!(decode(&octets), Err(Flaw::TooLong { octets: 4 }));
}

#[test]
fn heartbeat_gives_the_content_of_its_one_parameter() {
    let octets = [4, 0, 0, 14, 0, 1, 0, 10, 1, 2, 3, 4, 5, 6, 0, 0];
    let info = &[1, 2, 3, 4, 5, 6][..];
    let alone = HeartbeatInfo { info, value: &[0, 1, 0, 10, 1, 2, 3, 4, 5, 6] };
    assert_eq!(read(&octets), (Chunk::Heartbeat(alone), "HEARTBEAT 6 B".into()));
    let padding_counted = [5, 0, 0, 16, 0, 1, 0, 10, 1, 2, 3, 4, 5, 6, 0, 0];
    assert_eq!(
        read(&padding_counted).0,
        Chunk::HeartbeatAck(HeartbeatInfo { info, value: &padding_counted[4..] })
    );
    assert_eq!(decode(&[4, 0, 0, 4]), Err(Flaw::NoHeartbeatInfo));
    assert_eq!(decode(&[4, 0, 0, 8, 0, 2, 0, 4]), Err(Flaw::NoHeartbeatInfo));
    let followed = [4, 0, 0, 16, 0, 1, 0, 8, 1, 2, 3, 4, 0, 1, 0, 4];
    assert_eq!(
        read(&followed).0,
        Chunk::Heartbeat(HeartbeatInfo { info: &info[..4], value: &followed[4..] })
    );
}

#[test]
fn abort_and_error_list_their_causes() {
    let abort = [6, 1, 0, 11, 0, 12, 0, 7, b'b', b'y', b'e', 0];
    let (chunk, line) = read(&abort);
    let Chunk::Abort(decoded) = chunk else { panic!("{line}") };
    assert_eq!(decoded.tag, TagOrigin::Reflected);
    assert_eq!(decoded.causes.iter().next(), Some(Ok(Cause::UserInitiatedAbort(b"bye"))));
    assert_eq!(line, "ABORT T [User-Initiated Abort 3 B]");
    assert_eq!(read(&[6, 0, 0, 4]).1, "ABORT");
    assert_eq!(read(&[9, 0, 0, 12, 0, 3, 0, 8, 0, 0, 0, 9]).1, "ERROR [Stale Cookie by 9 us]");
}

#[test]
fn small_chunks_are_named() {
    assert_eq!(read(&[7, 0, 0, 8, 0, 0, 0, 5]).1, "SHUTDOWN cum=5");
    assert_eq!(read(&[8, 0, 0, 4]), (Chunk::ShutdownAck, "SHUTDOWN ACK".into()));
    assert_eq!(
        read(&[10, 0, 0, 6, 1, 2, 0, 0]),
        (Chunk::CookieEcho(Cookie(&[1, 2])), "COOKIE ECHO 2 B".into())
    );
    assert_eq!(read(&[11, 0, 0, 4]), (Chunk::CookieAck, "COOKIE ACK".into()));
    assert_eq!(read(&[14, 0, 0, 4]).0, Chunk::ShutdownComplete(TagOrigin::Receiver));
    assert_eq!(read(&[14, 1, 0, 4]).1, "SHUTDOWN COMPLETE T");
    for kind in [8, 11, 14] {
        assert_eq!(decode(&[kind, 0, 0, 8, 0, 0, 0, 0]), Err(Flaw::TooLong { octets: 4 }));
    }
}

#[test]
fn unknown_chunks_keep_their_octets_for_the_report() {
    let octets = [0xfe, 7, 0, 6, 1, 2, 0, 0];
    let (chunk, line) = read(&octets);
    let Chunk::Unknown(unknown) = chunk else { panic!("{line}") };
    assert_eq!((unknown.raw, unknown.value), (&octets[..6], &octets[4..6]));
    assert_eq!(unknown.action(), UnknownAction::SkipAndReport);
    assert_eq!(line, "chunk 0xfe flags=0x07 2 B");
}

#[test]
fn a_chunk_knows_its_type() {
    for kind in [8, 11, 14, 130, 132, 255] {
        assert_eq!(decode(&[kind, 0, 0, 4]).unwrap().kind(), ChunkType::new(kind));
    }
    let heartbeat = ChunkBuf::heartbeat(&[1]).unwrap();
    assert_eq!(decode(heartbeat.as_bytes()).unwrap().kind(), heartbeat.kind());
}

const fn too_short(needed: usize, available: usize) -> Flaw {
    Flaw::TooShort { needed, available }
}

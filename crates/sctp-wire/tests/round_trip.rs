//! What is decoded and written again is the same packet, octet by octet.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod strategies;

use proptest::prelude::*;
use sctp_wire::{Cause, Causes, Checksum, Chunk, DecodeError, Full, Init, Packet, PacketWriter, Parameter};

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 512, ..ProptestConfig::default() })]

    #[test]
    fn every_packet_survives_decoding_and_writing(octets in strategies::packet(12)) {
        let packet = Packet::decode(&octets, Checksum::Verify).unwrap();
        let mut again = Vec::new();
        let (from, to) = (packet.source_port, packet.destination_port);
        let mut writer = PacketWriter::begin(&mut again, from, to, packet.verification_tag, octets.len());
        for chunk in packet.chunks() {
            prop_assert_eq!(rewrite(&mut writer, &chunk.unwrap()), Ok(()));
        }
        prop_assert_eq!(writer.remaining(), 0);
        prop_assert_eq!(writer.finish(), octets.len());
        prop_assert_eq!(again, octets);
    }
}

fn rewrite(writer: &mut PacketWriter<'_>, chunk: &Chunk<'_>) -> Result<(), Full> {
    match chunk {
        Chunk::Data(data) => writer.data(&data.header(), data.payload),
        Chunk::Init(init) => writer.init(&init.header(), &parameters(init)),
        Chunk::InitAck(init) => writer.init_ack(&init.header(), &parameters(init)),
        Chunk::Sack(sack) => {
            let (gaps, duplicates) = (sack.gap_ack_blocks(), sack.duplicate_tsns());
            writer.sack(sack.cumulative_tsn_ack, sack.a_rwnd, gaps, duplicates)
        }
        Chunk::Heartbeat(info) => writer.heartbeat(info.0),
        Chunk::HeartbeatAck(info) => writer.heartbeat_ack(info.0),
        Chunk::Abort(abort) => writer.abort(abort.tag, &causes(abort.causes)),
        Chunk::Shutdown(shutdown) => writer.shutdown(shutdown.cumulative_tsn_ack),
        Chunk::ShutdownAck => writer.shutdown_ack(),
        Chunk::Error(list) => writer.error(&causes(*list)),
        Chunk::CookieEcho(cookie) => writer.cookie_echo(cookie.0),
        Chunk::CookieAck => writer.cookie_ack(),
        Chunk::ShutdownComplete(tag) => writer.shutdown_complete(*tag),
        Chunk::Unknown(unknown) => {
            writer.chunk(unknown.kind, unknown.flags, |value| value.bytes(unknown.value))
        }
    }
}

fn parameters<'a>(init: &Init<'a>) -> Vec<Parameter<'a>> {
    let read: Result<Vec<_>, DecodeError> = init.parameters.into_iter().collect();
    read.unwrap()
}

fn causes(list: Causes<'_>) -> Vec<Cause<'_>> {
    let read: Result<Vec<_>, DecodeError> = list.into_iter().collect();
    read.unwrap()
}

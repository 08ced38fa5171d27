//! What is decoded and written again is the same packet, octet by octet.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod strategies;

use proptest::prelude::*;
use sctp_wire::{
    Cause, Causes, Checksum, Chunk, DecodeError, Full, Packet, PacketWriter, Parameter, Parameters,
};

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
        Chunk::Init(init) => writer.init(&init.header(), &parameters(init.parameters)),
        Chunk::InitAck(init) => writer.init_ack(&init.header(), &parameters(init.parameters)),
        Chunk::Sack(sack) => {
            let (gaps, duplicates) = (sack.gap_ack_blocks(), sack.duplicate_tsns());
            writer.sack(sack.cumulative_tsn_ack, sack.a_rwnd, gaps, duplicates)
        }
        Chunk::Heartbeat(info) | Chunk::HeartbeatAck(info) => {
            writer.chunk(chunk.kind(), 0, |value| value.bytes(info.value))
        }
        Chunk::Abort(abort) => writer.abort(abort.tag, &causes(abort.causes)),
        Chunk::Shutdown(shutdown) => writer.shutdown(shutdown.cumulative_tsn_ack),
        Chunk::ShutdownAck => writer.shutdown_ack(),
        Chunk::Error(list) => writer.error(&causes(*list)),
        Chunk::CookieEcho(cookie) => writer.cookie_echo(cookie.0),
        Chunk::CookieAck => writer.cookie_ack(),
        Chunk::ShutdownComplete(tag) => writer.shutdown_complete(*tag),
        Chunk::IData(data) => writer.i_data(&data.header(), data.payload),
        Chunk::ForwardTsn(forward) => writer.forward_tsn(forward.new_cumulative_tsn, forward.skipped()),
        Chunk::IForwardTsn(forward) => writer.i_forward_tsn(forward.new_cumulative_tsn, forward.skipped()),
        Chunk::Asconf(asconf) => writer.asconf(asconf.serial, asconf.address, &parameters(asconf.requests)),
        Chunk::AsconfAck(ack) => writer.asconf_ack(ack.serial, &parameters(ack.responses)),
        Chunk::ReConfig(reconfig) => writer.re_config(&parameters(reconfig.parameters)),
        Chunk::Pad(pad) => writer.pad(pad.padding.len()),
        // Any number of AUTH chunks, with HMACs of any length: the writer of real ones takes neither.
        Chunk::Auth(auth) => writer.chunk(chunk.kind(), 0, |value| {
            value.u16(auth.key.get());
            value.u16(auth.hmac_id.get());
            value.bytes(auth.hmac);
        }),
        Chunk::Unknown(unknown) => {
            writer.chunk(unknown.kind, unknown.flags, |value| value.bytes(unknown.value))
        }
    }
}

fn parameters(list: Parameters<'_>) -> Vec<Parameter<'_>> {
    let read: Result<Vec<_>, DecodeError> = list.into_iter().collect();
    read.unwrap()
}

fn causes(list: Causes<'_>) -> Vec<Cause<'_>> {
    let read: Result<Vec<_>, DecodeError> = list.into_iter().collect();
    read.unwrap()
}

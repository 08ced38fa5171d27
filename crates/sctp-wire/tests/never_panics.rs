//! A packet can cause an error, never a panic, and no walk goes on for ever.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod strategies;

use proptest::collection::vec;
use proptest::prelude::*;
use sctp_wire::{Cause, Causes, Checksum, Chunk, DecodeError, Packet, Parameter, Parameters};

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 1024, ..ProptestConfig::default() })]

    #[test]
    fn random_octets_decode_or_fail(octets in vec(any::<u8>(), 0..300)) {
        let _ = Packet::decode(&octets, Checksum::Verify);
        walk_packet(&octets);
    }

    /// Chunk types and lengths that are mostly plausible reach deeper than noise.
    #[test]
    fn robustness_15_plausible_octets_decode_or_fail(
        chunks in vec((plausible_type(), any::<u8>(), 0_u8..60, vec(plausible_octet(), 0..60)), 0..6),
    ) {
        let mut octets = vec![1; 12];
        for (kind, flags, length, value) in chunks {
            octets.extend([kind, flags, 0, length]);
            octets.extend(value);
        }
        walk_packet(&octets);
    }

    #[test]
    fn robustness_15_damaged_packets_decode_or_fail(
        mut octets in strategies::packet(8),
        damage in vec((any::<prop::sample::Index>(), any::<u8>()), 1..8),
        cut in any::<prop::sample::Index>(),
        is_cut: bool,
    ) {
        for (place, octet) in damage {
            *place.get_mut(&mut octets) = octet;
        }
        let length = if is_cut { cut.index(octets.len()) } else { octets.len() };
        walk_packet(&octets[..length]);
    }
}

fn plausible_type() -> impl Strategy<Value = u8> {
    prop_oneof![0_u8..20, prop::sample::select(&[64_u8, 128, 130, 132, 192, 193, 194][..])]
}

/// Small numbers make types and lengths; 0x80 and 0xC0 begin the types of most extensions' parameters.
fn plausible_octet() -> impl Strategy<Value = u8> {
    prop_oneof![20 => 0_u8..20, 1 => Just(0x80), 3 => Just(0xc0)]
}

/// Reads each chunk that is a SACK without reports in both ways, and no other by the short one.
fn compare_sacks(packet: &Packet<'_>) {
    let mut chunks = packet.chunks();
    while !chunks.rest().is_empty() {
        let mut ahead = chunks.clone();
        let short = ahead.next_cumulative_sack();
        let long = match chunks.next() {
            Some(Ok(Chunk::Sack(sack))) if !sack.has_reports() => Some(sack),
            _ => None,
        };
        assert_eq!(short, long);
        assert!(short.is_none() || ahead.rest() == chunks.rest());
    }
}

/// Reads and shows everything there is to read.
fn walk_packet(octets: &[u8]) {
    let Ok(packet) = Packet::decode(octets, Checksum::Ignore) else { return };
    let _ = packet.to_string();
    compare_sacks(&packet);
    for error in packet.chunks().filter_map(Result::err) {
        assert_eq!(packet.undecoded(&error).is_none(), error.ends_walk());
    }
    let chunks = check_walk(packet.chunks(), octets.len());
    for chunk in chunks {
        if let Some(unknown) = chunk.as_unknown() {
            assert_eq!((unknown.kind, unknown.raw.len()), (chunk.kind(), unknown.value.len() + 4));
        }
        match chunk {
            Chunk::Init(init) | Chunk::InitAck(init) => walk_parameters(init.parameters, octets.len()),
            Chunk::Abort(abort) => walk_causes(abort.causes, octets.len()),
            Chunk::Error(causes) => walk_causes(causes, octets.len()),
            Chunk::Sack(sack) => {
                assert_eq!(sack.gap_ack_blocks().count(), sack.gap_ack_block_count());
                assert!(sack.duplicate_tsns().count() * 4 <= octets.len());
            }
            Chunk::Auth(auth) => {
                let covered = auth.authenticated_octets().map(<[u8]>::len).sum::<usize>();
                assert!((auth.hmac.len() + 8..=octets.len() - 12).contains(&covered));
            }
            Chunk::ForwardTsn(forward) => assert!(forward.skipped().count() * 4 <= octets.len()),
            Chunk::IForwardTsn(forward) => assert!(forward.skipped().count() * 8 <= octets.len()),
            Chunk::Asconf(asconf) => walk_parameters(asconf.requests, octets.len()),
            Chunk::AsconfAck(ack) => walk_parameters(ack.responses, octets.len()),
            Chunk::ReConfig(reconfig) => {
                let _ = reconfig.combination();
                walk_parameters(reconfig.parameters, octets.len());
            }
            Chunk::IData(data) => assert_eq!(data.flags.beginning, data.label.ppid().is_some()),
            Chunk::Data(_)
            | Chunk::Pad(_)
            | Chunk::Heartbeat(_)
            | Chunk::HeartbeatAck(_)
            | Chunk::Shutdown(_)
            | Chunk::ShutdownAck
            | Chunk::CookieEcho(_)
            | Chunk::CookieAck
            | Chunk::ShutdownComplete(_)
            | Chunk::Unknown(_) => {}
        }
    }
}

fn walk_parameters(parameters: Parameters<'_>, length: usize) {
    for error in parameters.iter().filter_map(Result::err) {
        assert_eq!(parameters.undecoded(&error).is_none(), error.ends_walk());
    }
    for parameter in check_walk(parameters.iter(), length) {
        if let Parameter::ErrorCauseIndication(indication) = parameter {
            walk_causes(indication.causes, length);
        }
    }
}

fn walk_causes(causes: Causes<'_>, length: usize) {
    for cause in check_walk(causes.iter(), length) {
        if let Cause::RestartWithNewAddresses(addresses) = cause {
            walk_parameters(addresses, length);
        }
    }
}

/// The laws of every walk: each item takes 4 octets at least, errors point into the packet, nothing follows
/// an error that ends it.
fn check_walk<T>(mut walk: impl Iterator<Item = Result<T, DecodeError>>, length: usize) -> Vec<T> {
    let (mut items, mut steps) = (Vec::new(), 0);
    while let Some(step) = walk.next() {
        steps += 1;
        assert!(steps <= length / 4 + 1, "the walk does not end");
        match step {
            Ok(item) => items.push(item),
            Err(error) => {
                assert!(offset(&error) < length, "{error} is outside");
                assert!(!error.ends_walk() || walk.next().is_none(), "{error} did not end the walk");
            }
        }
    }
    items
}

fn offset(error: &DecodeError) -> usize {
    match error {
        DecodeError::ShortPacket { .. } | DecodeError::Checksum { .. } => 0,
        DecodeError::ZeroPort { offset }
        | DecodeError::Header { offset, .. }
        | DecodeError::Length { offset, .. }
        | DecodeError::Body { offset, .. } => *offset,
        // Outside, wherever that is.
        _ => usize::MAX,
    }
}

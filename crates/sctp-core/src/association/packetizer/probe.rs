//! Packets of HEARTBEAT and PAD: they try whether a path carries such a size (RFC 8899 §6.2.1.2), or how fast it carries them.

use sctp_wire::{CHUNK_HEADER_BYTES, COMMON_HEADER_BYTES, PacketWriter};
use virtual_time::Instant;

use super::envelope::Envelope;
use crate::association::Association;
use crate::config::StartUp;
use crate::path::Heartbeat;
use crate::transmit::Transmit;

impl Association {
    /// Writes probes of path MTUs, because nothing of the user's or the peer's is due; returns whether that is
    /// all.
    pub(super) fn write_mtu_probes(
        &mut self,
        now: Instant,
        limit: usize,
        packets: &mut usize,
        buffer: &mut Vec<u8>,
        each: &mut dyn FnMut(Transmit),
    ) -> bool {
        while let Some((path, tag)) =
            self.outbound.mtu_probe_path(self.session.state.name()).zip(self.session.peer.peer_tag)
        {
            if *packets >= limit {
                return false;
            }
            let nonce = self.session.nonces.u64();
            let Some(size) = self.outbound.begin_mtu_probe(now, path, nonce) else { break };
            let envelope = Envelope::of_probe(path, tag, size, &self.session);
            let Some(writer) = fill(envelope.open(buffer), &Heartbeat::info(path, nonce), size) else {
                break;
            };
            each(self.finish_packet(&envelope, writer));
            *packets += 1;
        }
        true
    }

    /// Writes trains of packets that measure paths, one packet behind the other; returns whether that is all.
    pub(super) fn write_trains(
        &mut self,
        now: Instant,
        limit: usize,
        packets: &mut usize,
        buffer: &mut Vec<u8>,
        each: &mut dyn FnMut(Transmit),
    ) -> bool {
        if !matches!(self.session.config.congestion.start_up, StartUp::Probe { .. }) {
            return true;
        }
        while let Some((path, tag)) =
            self.outbound.train_path(now, self.session.state.name()).zip(self.session.peer.peer_tag)
        {
            if *packets >= limit {
                return false;
            }
            let nonce = self.session.nonces.u64();
            let Some((size, nonce)) = self.outbound.next_of_train(now, path, nonce) else { break };
            let envelope = Envelope::of_probe(path, tag, size, &self.session);
            let Some(writer) = fill(envelope.open(buffer), &Heartbeat::info(path, nonce), size) else {
                break;
            };
            each(self.finish_packet(&envelope, writer));
            *packets += 1;
        }
        true
    }
}

/// Writes HEARTBEAT and PAD, together as large as the packet is to be (RFC 8899 §6.2.1.2).
fn fill<'b>(mut writer: PacketWriter<'b>, info: &[u8], limit: usize) -> Option<PacketWriter<'b>> {
    writer.heartbeat(info).ok()?;
    // What is left beside HEARTBEAT, and beside AUTH where the peer wants that (RFC 4895).
    let mut padding = limit - COMMON_HEADER_BYTES - CHUNK_HEADER_BYTES;
    while writer.pad(padding).is_err() {
        padding = padding.checked_sub(4)?;
    }
    Some(writer)
}

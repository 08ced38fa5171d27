//! Packets of HEARTBEAT and PAD: they try whether a path carries such a size (RFC 8899 §6.2.1.2), or how fast it carries them.

use sctp_wire::{CHUNK_HEADER_BYTES, COMMON_HEADER_BYTES, PacketWriter};
use virtual_time::Instant;

use super::envelope::Envelope;
use crate::association::Association;
use crate::association::outbound::ProbeDue;
use crate::config::StartUp;
use crate::path::Heartbeat;
use crate::transmit::Transmit;

impl Association {
    /// Writes trains of packets that measure paths, and probes of path MTUs; returns whether that is all.
    #[inline(never)]
    pub(super) fn write_probes(
        &mut self,
        now: Instant,
        limit: usize,
        packets: &mut usize,
        buffer: &mut Vec<u8>,
        each: &mut dyn FnMut(Transmit),
    ) -> bool {
        while let Some(tag) = self.session.peer.peer_tag {
            let Some(due) = probe_due(now, self) else { break };
            if *packets >= limit {
                return false;
            }
            let nonce = self.session.nonces.u64();
            let (path, next) = match due {
                ProbeDue::Train(path) => (path, self.outbound.next_of_train(now, path, nonce)),
                ProbeDue::Mtu(path) => {
                    (path, self.outbound.begin_mtu_probe(now, path, nonce).map(|size| (size, nonce)))
                }
            };
            let Some((size, nonce)) = next else { break };
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

/// Returns the probe that is to be sent now, when nothing of the user's or the peer's is due.
#[inline]
pub(super) fn probe_due(now: Instant, association: &Association) -> Option<ProbeDue> {
    let Association { session, outbound, .. } = association;
    let measures = matches!(session.config.congestion.start_up, StartUp::Probe { .. });
    outbound.probe_due(now, session.state.name(), measures)
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

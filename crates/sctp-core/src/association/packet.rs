//! A packet arrives: its chunks, one after the other.

use sctp_wire::{Chunk, ChunkType, Chunks, Packet, TagOrigin, VerificationTag};
use virtual_time::Instant;

use super::auth::{Admission, Authenticity};
use super::dispatch::Flow;
use super::{Association, AssociationState, Timer};
use crate::receiver::{Receiver, SackDemand};
use crate::transmit::{Datagram, PathId};

impl Association {
    /// A packet that passed the tag rules (RFC 9260 §8.5) and came from an address of the peer. After the last one of
    /// those that came together, [`after_input`](Self::after_input) does what follows from them.
    pub(crate) fn handle_packet(
        &mut self,
        now: Instant,
        path: PathId,
        datagram: &Datagram<'_>,
        packet: &Packet<'_>,
        authenticity: Authenticity,
    ) {
        self.paths.on_packet(path, datagram.source, datagram.local);
        self.counters.packets_received += 1;
        self.authentication.on_packet(authenticity);
        let mut chunks = packet.chunks();
        if !is_data(&chunks) && self.is_tag_refused(packet) {
            self.counters.note().discarded.bad_tags += 1;
            return;
        }
        if let Some(receiver) = &mut self.receiver {
            receiver.begin_packet(now);
        }
        let mut had_data = self.take_data(now, packet.verification_tag, &mut chunks);
        while !(chunks.rest().is_empty() || self.is_closed())
            && let Some(chunk) = chunks.next()
        {
            let unspoken;
            let chunk = match &chunk {
                Ok(chunk) => chunk,
                Err(error) => match self.unspoken(packet, error) {
                    Some(unknown) => {
                        unspoken = unknown;
                        &unspoken
                    }
                    None => {
                        self.counters.note().discarded.malformed += 1;
                        continue;
                    }
                },
            };
            if !self.tag_fits(packet.verification_tag, chunk) {
                self.counters.note().discarded.bad_tags += 1;
                // Behind data, where none belongs: what it ends is what is left.
                if may_reflect(chunk) {
                    break;
                }
                continue;
            }
            if matches!(chunk, Chunk::Abort(_)) && self.is_leaving(datagram.local) {
                continue;
            }
            if self.authentication.is_agreed() {
                match self.admit(path, chunk) {
                    Admission::Admitted => {}
                    Admission::Skipped => continue,
                    Admission::RestDiscarded => break,
                }
            }
            had_data |= self.counts_as_data(chunk);
            if self.dispatch(now, path, chunk) == Flow::Stop {
                break;
            }
            if travels_alone(chunk) && chunks.next().is_some() {
                self.counters.note().discarded.behind_lone_chunks += 1;
                break;
            }
            had_data |= self.take_data(now, packet.verification_tag, &mut chunks);
        }
        if had_data && !self.is_closed() {
            self.on_data_packet_end(now, path);
        }
        self.wait_for_shutdown_ack(now);
    }

    /// Takes DATA or I-DATA chunks in up to one of another kind, where nothing can forbid them: they are not decoded to
    /// chunks of any kind before. Says whether there were any.
    #[inline]
    fn take_data(&mut self, now: Instant, tag: VerificationTag, chunks: &mut Chunks<'_>) -> bool {
        let mut any = false;
        while is_data(chunks)
            && self.takes_any_data(tag)
            && let Some(receiver) = &mut self.receiver
        {
            let taken = receiver.take_in(now, chunks);
            any |= taken.any;
            if taken.any {
                self.outgoing.usage.on_user_data(now);
            }
            if taken.message_ready {
                self.tell_message_ready();
            }
            let Some(arrival) = taken.stopped_at else { break };
            self.on_arrival(now, arrival);
        }
        any
    }

    /// Returns whether every DATA chunk behind this tag is for the receiver: in this state, authenticated or
    /// not, before a reset of its stream or behind it.
    #[inline]
    fn takes_any_data(&self, tag: VerificationTag) -> bool {
        tag == self.peer.local_tag
            && self.takes_data()
            && self.authentication.lets_in(ChunkType::DATA)
            && self.authentication.lets_in(ChunkType::I_DATA)
            && !self.awaits_reset()
    }

    /// A SACK that may wait has a timer, which is started when all packets that came together are read: most of them bring
    /// one about that may not.
    #[inline]
    pub(super) fn watch_sack_delay(&mut self, now: Instant) {
        if self.receiver.as_ref().is_some_and(Receiver::is_sack_delayed) {
            self.timers.start_if_stopped(Timer::SackDelay, now + self.config.sack.delay);
        }
    }

    /// Returns whether an ABORT or SHUTDOWN COMPLETE says with its T bit that the tag should be another one:
    /// nothing of its packet counts (RFC 9260 §8.5.1 (B), (C)). Such chunks stand before all data (RFC 9260
    /// §3.3.7), so that none is looked at.
    #[inline]
    fn is_tag_refused(&self, packet: &Packet<'_>) -> bool {
        let mut chunks = packet.chunks();
        while !is_data(&chunks)
            && let Some(kind) = next_kind(&chunks)
        {
            if !matches!(kind, ChunkType::ABORT | ChunkType::SHUTDOWN_COMPLETE) {
                chunks.skip_next();
            } else if let Some(Ok(chunk)) = chunks.next()
                && !self.tag_fits(packet.verification_tag, &chunk)
            {
                return true;
            }
        }
        false
    }

    /// Returns whether a verification tag fits: the T bit says whose tag an ABORT or SHUTDOWN COMPLETE carries
    /// (RFC 9260 §8.5.1 (B), (C)).
    fn tag_fits(&self, tag: VerificationTag, chunk: &Chunk<'_>) -> bool {
        match chunk.tag_origin() {
            TagOrigin::Receiver => tag == self.peer.local_tag,
            TagOrigin::Reflected => Some(tag) == self.peer.peer_tag,
        }
    }

    fn on_data_packet_end(&mut self, now: Instant, path: PathId) {
        self.outgoing.sack_path = self.path_for_sack(path);
        let demand = self.receiver.as_mut().map_or(SackDemand::None, Receiver::on_packet_end);
        if demand == SackDemand::Immediate {
            self.timers.stop(Timer::SackDelay);
        }
        // RFC 9260 §9.2: while waiting for SHUTDOWN ACK, data is answered with SHUTDOWN and SACK at once.
        if self.state.name() == AssociationState::ShutdownSent {
            self.repeat_shutdown(now);
        }
    }
}

/// Returns whether nothing may stand behind a chunk in its packet (RFC 9260 §6.10).
fn travels_alone(chunk: &Chunk<'_>) -> bool {
    matches!(chunk, Chunk::InitAck(_) | Chunk::ShutdownComplete(_))
}

/// Returns whether the next chunk may carry user data.
#[inline]
fn is_data(chunks: &Chunks<'_>) -> bool {
    matches!(next_kind(chunks), Some(ChunkType::DATA | ChunkType::I_DATA))
}

#[inline]
fn next_kind(chunks: &Chunks<'_>) -> Option<ChunkType> {
    chunks.rest().first().map(|kind| ChunkType::new(*kind))
}

/// Returns whether a chunk has a T bit.
fn may_reflect(chunk: &Chunk<'_>) -> bool {
    matches!(chunk, Chunk::Abort(_) | Chunk::ShutdownComplete(_))
}

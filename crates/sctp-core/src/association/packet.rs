//! A packet arrives: its chunks, one after the other.

use sctp_wire::{Chunk, ChunkType, Chunks, Packet, VerificationTag};
use virtual_time::Instant;

use super::auth::{Admission, Authenticity};
use super::dispatch::Flow;
use super::session::Session;
use super::{Association, AssociationState, Capability};
use crate::transmit::{Datagram, PathIndex};

impl Association {
    /// A packet that passed the tag rules (RFC 9260 §8.5) and came from an address of the peer. After the last one of
    /// those that came together, [`after_input`](Self::after_input) does what follows from them.
    pub(crate) fn handle_packet(
        &mut self,
        now: Instant,
        path: PathIndex,
        datagram: &Datagram<'_>,
        packet: &Packet<'_>,
        authenticity: Authenticity,
    ) {
        self.outbound.paths.on_packet(now, path, datagram.source, datagram.local);
        self.session.counters.packets_received += 1;
        self.session.authentication.on_packet(authenticity);
        let mut chunks = packet.chunks();
        let mut sack = None;
        if !is_data(&chunks) {
            if lets_sacks_in(packet.verification_tag, &self.session) {
                sack = chunks.next_cumulative_sack();
            }
            if is_tag_refused(chunks.clone(), packet.verification_tag, &self.session) {
                self.session.counters.note().discarded.bad_tags += 1;
                return;
            }
        }
        if let Some(receiver) = &mut self.inbound.receiver {
            receiver.begin_packet(now);
        }
        // What `take_chunks` asks of each chunk, its tag and its authentication, was asked above.
        if let Some(sack) = sack {
            self.on_sack(now, &sack);
        }
        let had_data = self.take_chunks(now, path, datagram, packet, chunks);
        if had_data && !self.is_closed() {
            self.outbound.paths.on_data(now, path);
            self.inbound.on_packet_end(path, &mut self.outbound);
            // RFC 9260 §9.2: while waiting for SHUTDOWN ACK, data is answered with SHUTDOWN and SACK at once.
            if self.session.state.name() == AssociationState::ShutdownSent {
                self.repeat_shutdown(now);
            }
        }
        self.outbound.look_at_port(now, path, &mut self.session);
        self.wait_for_shutdown_ack(now);
    }

    /// Takes in the chunks of a packet from there on; returns whether data was among them.
    #[inline]
    fn take_chunks(
        &mut self,
        now: Instant,
        path: PathIndex,
        datagram: &Datagram<'_>,
        packet: &Packet<'_>,
        mut chunks: Chunks<'_>,
    ) -> bool {
        let mut had_data = false;
        loop {
            if is_data(&chunks) {
                had_data |= self.take_data(now, packet.verification_tag, &mut chunks);
            }
            if chunks.rest().is_empty() || self.is_closed() {
                break;
            }
            let Some(chunk) = chunks.next() else { break };
            let read = match &chunk {
                Err(error) => self.session.unspoken(packet, error),
                Ok(_) => None,
            };
            let Some(chunk) = chunk.as_ref().ok().or(read.as_ref()) else {
                self.session.counters.note().discarded.malformed += 1;
                continue;
            };
            if !self.session.peer.tag_fits(packet.verification_tag, chunk) {
                self.session.counters.note().discarded.bad_tags += 1;
                // Behind data, where none belongs: what it ends is what is left.
                if may_reflect(chunk) {
                    break;
                }
                continue;
            }
            if self.is_abort_of_leaving(datagram.local, chunk) {
                continue;
            }
            if self.session.is_authenticated() {
                match self.session.admit(path, chunk, &mut self.outbound) {
                    Admission::Admitted => {}
                    Admission::Skipped => continue,
                    Admission::RestDiscarded => break,
                }
            }
            had_data |= self.session.counts_as_data(chunk);
            if self.dispatch(now, path, chunk) == Flow::Stop {
                break;
            }
            if travels_alone(chunk) && chunks.next().is_some() {
                self.session.counters.note().discarded.behind_lone_chunks += 1;
                break;
            }
        }
        had_data
    }

    /// Hands DATA or I-DATA chunks up to one of another kind to the receiver, if it may have them: they are not decoded to
    /// chunks of any kind before. Returns whether there were any.
    #[inline]
    fn take_data(&mut self, now: Instant, tag: VerificationTag, chunks: &mut Chunks<'_>) -> bool {
        if gate(tag, &self.session) == Gate::Shut {
            return false;
        }
        let mut any = false;
        while let Some(receiver) = &mut self.inbound.receiver {
            let taken = receiver.take_in(now, chunks, self.reconfig.awaited_reset());
            any |= taken.any;
            if taken.withheld > 0 {
                self.reconfig.count_withheld(taken.withheld);
            }
            if taken.any {
                self.outbound.supervision.on_data_received(now);
            }
            if taken.message_ready {
                self.session.tell_message_ready();
            }
            let Some(arrival) = taken.stopped_at else { break };
            self.on_arrival(now, arrival);
            if self.is_closed() {
                break;
            }
        }
        any
    }
}

/// What DATA chunks meet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Gate {
    /// They are for the receiver.
    Open,
    /// None is for the receiver: each is looked at as any other chunk.
    Shut,
}

/// Returns what DATA chunks behind this tag meet: by the state, and by whether they have to be authenticated. It is the same
/// for all that stand next to each other, and changes only by chunks of other kinds between them.
#[inline]
fn gate(tag: VerificationTag, session: &Session) -> Gate {
    let Session { peer, state, authentication, .. } = session;
    let is_interleaved = peer.agreed.capabilities.has(Capability::Interleaving);
    let kind = if is_interleaved { ChunkType::I_DATA } else { ChunkType::DATA };
    let is_open = tag == peer.local_tag && state.name().takes_data() && authentication.lets_in(kind);
    if is_open { Gate::Open } else { Gate::Shut }
}

/// Returns whether a SACK behind this tag counts, if the state lets it.
#[inline]
fn lets_sacks_in(tag: VerificationTag, session: &Session) -> bool {
    tag == session.peer.local_tag && session.authentication.lets_in(ChunkType::SACK)
}

/// Returns whether an ABORT or SHUTDOWN COMPLETE says with its T bit that the tag should be another one:
/// nothing of its packet counts (RFC 9260 §8.5.1 (B), (C)). Such chunks stand before all data (RFC 9260
/// §3.3.7), so that none is looked at.
#[inline]
fn is_tag_refused(mut chunks: Chunks<'_>, tag: VerificationTag, session: &Session) -> bool {
    while !is_data(&chunks)
        && let Some(kind) = next_kind(&chunks)
    {
        if !matches!(kind, ChunkType::ABORT | ChunkType::SHUTDOWN_COMPLETE) {
            chunks.skip_next();
        } else if let Some(Ok(chunk)) = chunks.next()
            && !session.peer.tag_fits(tag, &chunk)
        {
            return true;
        }
    }
    false
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

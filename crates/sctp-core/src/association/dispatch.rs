//! The dispatch of chunks: which goes where, and in which state it counts.

use sctp_wire::{Cause, Causes, Chunk, ChunkBuf, Sack, UnknownAction, UnknownChunk};
use virtual_time::Instant;

use super::asconf::is_about_asconf;
use super::outbound::Whereabouts;
use super::reported::remote_error;
use super::{Association, AssociationState as S, Capability};
use crate::error::{AssociationError, ProtocolViolation, ReceiverViolation};
use crate::event::Event;
use crate::receiver::{Arrival, ForwardOutcome, Receiver};
use crate::sender::acknowledge::SackRefused;
use crate::transmit::PathIndex;

/// Whether the rest of the packet is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Flow {
    Continue,
    Stop,
}

impl Association {
    pub(super) fn dispatch(&mut self, now: Instant, path: PathIndex, chunk: &Chunk<'_>) -> Flow {
        match chunk {
            // What the receiver takes has gone to it before.
            Chunk::Data(data) => self.on_misplaced_data(ReceiverViolation::DataInsteadOfIData(data.tsn)),
            Chunk::IData(data) if self.session.offers(Capability::Interleaving) => {
                self.on_misplaced_data(ReceiverViolation::IDataNotAgreed(data.tsn));
            }
            Chunk::ForwardTsn(forward) if self.session.has(Capability::PartialReliability) => {
                self.on_forwarding(|receiver| receiver.on_forward_tsn(now, forward));
            }
            Chunk::IForwardTsn(forward) if self.session.has(Capability::PartialReliability) => {
                self.on_forwarding(|receiver| receiver.on_i_forward_tsn(now, forward));
            }
            Chunk::Sack(sack) => self.on_sack(now, sack),
            Chunk::Heartbeat(info) => self.outbound.answer_heartbeat(path, *info, &mut self.session),
            Chunk::HeartbeatAck(info) => {
                if self.outbound.on_heartbeat_ack((now, path), *info, &mut self.session) == Whereabouts::New {
                    self.inbound.repeat_sack(path);
                }
            }
            Chunk::InitAck(init_ack) => self.on_init_ack(now, path, init_ack),
            Chunk::CookieAck => self.on_cookie_ack(now, path),
            Chunk::Abort(abort) => self.on_abort(abort.causes),
            Chunk::Error(causes) => self.on_error(now, *causes),
            Chunk::Shutdown(shutdown) => self.on_shutdown(now, path, shutdown.cumulative_tsn_ack),
            Chunk::ShutdownAck => self.on_shutdown_ack(path),
            Chunk::ShutdownComplete(_) => self.on_shutdown_complete(),
            Chunk::ReConfig(chunk) if self.session.has(Capability::Reconfiguration) => {
                self.on_reconfig(now, path, chunk);
            }
            // Only its length matters, to who sent it (RFC 4820 §3), and that there are many: they measure the path.
            Chunk::Pad(pad) => self.outbound.on_padding((now, path), pad.padding.len(), &mut self.session),
            Chunk::Asconf(asconf) if self.session.has(Capability::DynamicAddresses) => {
                self.on_asconf(now, (self.outbound.paths.path(path).destination, None), asconf);
            }
            Chunk::AsconfAck(ack) if self.session.has(Capability::DynamicAddresses) => {
                self.on_asconf_ack(now, path, ack);
            }
            // Extensions that are not spoken.
            Chunk::Auth(_)
            | Chunk::IData(_)
            | Chunk::ForwardTsn(_)
            | Chunk::IForwardTsn(_)
            | Chunk::Asconf(_)
            | Chunk::AsconfAck(_)
            | Chunk::ReConfig(_)
            | Chunk::Unknown(_) => {
                return chunk.as_unknown().map_or(Flow::Continue, |unknown| self.on_unknown(path, &unknown));
            }
            // The endpoint handles these before an association sees the packet.
            Chunk::Init(_) | Chunk::CookieEcho(_) => {}
        }
        Flow::Continue
    }

    /// Acts on a DATA or I-DATA chunk that the receiver does not take: the state forbids it (RFC 9260 §6), or the other kind
    /// is agreed on (RFC 8260 §2.2.1).
    #[cold]
    fn on_misplaced_data(&mut self, violation: ReceiverViolation) {
        if self.session.state.name().takes_data() {
            self.abort_for(violation.into());
        } else {
            self.session.counters.note().discarded.data_in_wrong_state += 1;
        }
    }

    /// Acts on the outcome of a DATA chunk that was not kept (RFC 9260 §6.2, §6.5).
    #[cold]
    pub(super) fn on_arrival(&mut self, now: Instant, arrival: Arrival) {
        match arrival {
            Arrival::Accepted { message_ready } => {
                self.outbound.supervision.on_data_received(now);
                if message_ready {
                    self.session.tell_message_ready();
                }
            }
            Arrival::Duplicate => self.inbound.on_duplicate(),
            Arrival::DroppedNoBuffer | Arrival::DroppedOutOfReach | Arrival::GivenUp => {}
            Arrival::InvalidStream(stream) => {
                let path = self.inbound.sack_path;
                let error = ChunkBuf::error(&[Cause::InvalidStreamIdentifier(stream)]);
                self.outbound.push(path, &mut self.session, error);
            }
            Arrival::Hopeless { bytes } => {
                self.abort_exhausted(AssociationError::ReceiveBufferExhausted { bytes });
            }
            Arrival::NoUserData(tsn) => self.abort_for(ProtocolViolation::NoUserData(tsn)),
            Arrival::Violation(violation) => self.abort_for(violation.into()),
        }
    }

    /// Acts on a FORWARD TSN or I-FORWARD-TSN (RFC 3758 §3.6, RFC 8260 §2.3.1).
    fn on_forwarding(&mut self, forward: impl FnOnce(&mut Receiver) -> ForwardOutcome) {
        let Some(receiver) = self.receiver_of_data() else { return };
        match forward(receiver) {
            ForwardOutcome::Moved { message_ready: true } => self.session.tell_message_ready(),
            ForwardOutcome::Moved { message_ready: false }
            | ForwardOutcome::Old
            | ForwardOutcome::OutOfReach => {}
            ForwardOutcome::Violation(violation) => self.abort_for(violation.into()),
        }
    }

    /// Returns the receiver, in a state in which the peer may send data.
    fn receiver_of_data(&mut self) -> Option<&mut Receiver> {
        if !self.session.state.name().takes_data() {
            self.session.counters.note().discarded.data_in_wrong_state += 1;
            return None;
        }
        self.inbound.receiver.as_mut()
    }

    pub(super) fn on_sack(&mut self, now: Instant, sack: &Sack<'_>) {
        let state = self.session.state.name();
        // RFC 9260 §6: before COOKIE ACK nothing of ours can have been taken.
        if !state.sends_data() || state.is_setting_up() {
            return;
        }
        if self.reconfig.is_renumbering() {
            self.session.counters.note().discarded.old_sacks += 1;
            return;
        }
        match self.outbound.on_sack(now, sack, &mut self.session) {
            Ok(()) => {}
            Err(SackRefused::Old) => self.session.counters.note().discarded.old_sacks += 1,
            Err(SackRefused::Malformed) => self.session.counters.note().discarded.malformed += 1,
            Err(SackRefused::Violation(violation)) => self.abort_for(violation),
        }
    }

    /// Ends the association after an ABORT of the peer (RFC 9260 §9.1).
    fn on_abort(&mut self, causes: Causes<'_>) {
        // Everything was acknowledged, in both directions, and the peer may be gone already: then what we asked it before
        // was answered by ABORT, which can overtake SHUTDOWN COMPLETE on another path (RFC 9260 §8.4).
        if self.session.state.name() == S::ShutdownAckSent {
            self.outbound.control.clear();
            return self.close(None);
        }
        let error = remote_error(causes);
        let is_refusal = self.session.is_setting_up();
        let error = if is_refusal {
            AssociationError::Refused(error)
        } else {
            AssociationError::AbortedByPeer(error)
        };
        self.outbound.control.clear();
        self.close(Some(error));
    }

    fn on_error(&mut self, now: Instant, causes: Causes<'_>) {
        if causes.iter().flatten().any(|cause| is_about_asconf(&cause)) {
            self.on_asconf_not_understood(now);
        }
        let stale = causes.iter().flatten().any(|cause| matches!(cause, Cause::StaleCookie { .. }));
        if stale && self.session.state.name() == S::CookieEchoed {
            self.on_stale_cookie(now, remote_error(causes));
        } else if !matches!(self.session.state.name(), S::CookieWait) {
            self.session.tell(Event::RemoteError(remote_error(causes)));
        }
    }

    /// Treats an unknown chunk as the two highest bits of its type say (RFC 9260 §3.2).
    fn on_unknown(&mut self, path: PathIndex, chunk: &UnknownChunk<'_>) -> Flow {
        self.session.counters.note().discarded.unknown += 1;
        let (flow, is_reported) = match chunk.action() {
            UnknownAction::Stop => (Flow::Stop, false),
            UnknownAction::StopAndReport => (Flow::Stop, true),
            UnknownAction::Skip => (Flow::Continue, false),
            UnknownAction::SkipAndReport => (Flow::Continue, true),
        };
        if is_reported {
            // Echoed in part if long: an error must not be larger than what provoked it.
            let raw = &chunk.raw[..chunk.raw.len().min(REPORTED_BYTES)];
            let error = ChunkBuf::error(&[Cause::UnrecognizedChunkType(raw)]);
            self.outbound.push(path, &mut self.session, error);
        }
        flow
    }
}

/// Octets of an unknown chunk that are reported back.
const REPORTED_BYTES: usize = 512;

//! Which chunk goes where, and in which state it counts.

use sctp_wire::{
    Cause, Causes, Chunk, ChunkBuf, Data, DecodeError, HeartbeatInfo, Packet, Sack, UnknownAction,
    UnknownChunk,
};
use virtual_time::Instant;

use super::{Association, AssociationState as S, Timer};
use crate::error::{AssociationError, ProtocolViolation, RemoteError};
use crate::event::Event;
use crate::path::{Acknowledged, Heartbeat};
use crate::receiver::Arrival;
use crate::sender::acknowledge::SackRefused;
use crate::sender::recovery::{LossCause, Refuted};
use crate::sender::{Losses, SackOutcome};
use crate::transmit::PathId;

/// Whether the rest of the packet is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Flow {
    Continue,
    Stop,
}

impl Association {
    pub(super) fn dispatch(&mut self, now: Instant, path: PathId, chunk: Chunk<'_>) -> Flow {
        tracing::trace!(%path, %chunk, "received");
        match chunk {
            Chunk::Data(data) => self.on_data(now, &data),
            Chunk::Sack(sack) => self.on_sack(now, &sack),
            Chunk::Heartbeat(info) => self.on_heartbeat(path, info),
            Chunk::HeartbeatAck(info) => self.on_heartbeat_ack(now, info),
            Chunk::InitAck(init_ack) => self.on_init_ack(now, path, &init_ack),
            Chunk::CookieAck => self.on_cookie_ack(now, path),
            Chunk::Abort(abort) => self.on_abort(abort.causes),
            Chunk::Error(causes) => self.on_error(now, causes),
            Chunk::Shutdown(shutdown) => self.on_shutdown(now, shutdown.cumulative_tsn_ack),
            Chunk::ShutdownAck => self.on_shutdown_ack(path),
            Chunk::ShutdownComplete(_) => self.on_shutdown_complete(),
            // Extensions that are not spoken.
            Chunk::Auth(_)
            | Chunk::IData(_)
            | Chunk::ForwardTsn(_)
            | Chunk::IForwardTsn(_)
            | Chunk::Asconf(_)
            | Chunk::AsconfAck(_)
            | Chunk::ReConfig(_)
            | Chunk::Pad(_)
            | Chunk::Unknown(_) => {
                return chunk.as_unknown().map_or(Flow::Continue, |unknown| self.on_unknown(path, &unknown));
            }
            // The endpoint handles these before an association sees the packet.
            Chunk::Init(_) | Chunk::CookieEcho(_) => {}
        }
        Flow::Continue
    }

    /// RFC 9260 §6.2, §6.5; DATA counts in three states only (§6).
    fn on_data(&mut self, now: Instant, data: &Data<'_>) {
        if !matches!(self.state.name(), S::Established | S::ShutdownPending | S::ShutdownSent) {
            self.counters.data_in_wrong_state += 1;
            return;
        }
        let Some(receiver) = self.receiver.as_mut() else { return };
        match receiver.on_data(now, data) {
            Arrival::Accepted { message_ready: true } => self.tell_message_ready(),
            Arrival::Accepted { message_ready: false }
            | Arrival::Duplicate
            | Arrival::DroppedNoBuffer
            | Arrival::DroppedOutOfReach => {}
            Arrival::InvalidStream(stream) => {
                let path = self.outgoing.sack_path;
                self.push_chunk(path, ChunkBuf::error(&[Cause::InvalidStreamIdentifier(stream)]));
            }
            Arrival::NoUserData(tsn) => self.abort_for(ProtocolViolation::NoUserData(tsn)),
            Arrival::Violation(violation) => self.abort_for(violation.into()),
        }
    }

    fn tell_message_ready(&mut self) {
        if self.events.back() != Some(&Event::MessageReady) {
            self.events.push_back(Event::MessageReady);
        }
    }

    fn on_sack(&mut self, now: Instant, sack: &Sack<'_>) {
        if !self.may_send_data() {
            return;
        }
        let outcome = match self.sender.on_sack(now, sack, &self.paths) {
            Ok(outcome) => outcome,
            Err(SackRefused::Old) => {
                self.counters.old_sacks += 1;
                return;
            }
            Err(SackRefused::Malformed) => {
                self.counters.malformed_chunks += 1;
                return;
            }
            Err(SackRefused::Violation(violation)) => return self.abort_for(violation),
        };
        self.outgoing.peer_is_alive = true;
        self.apply_sack(now, &outcome);
    }

    /// What a SACK, or the cumulative ack of a SHUTDOWN, means for windows, timers and the user.
    pub(super) fn apply_sack(&mut self, now: Instant, outcome: &SackOutcome) {
        for &(path, rtt) in &outcome.rtt {
            self.paths.on_measurement(path, now, rtt);
        }
        for acked in &outcome.acknowledgment.paths {
            let path = self.paths.path_mut(acked.path);
            path.congestion.on_acknowledged(&Acknowledged {
                now,
                bytes: acked.bytes,
                flight_before: acked.flight_before,
                all_acknowledged: outcome.all_acknowledged,
                in_recovery: outcome.recovering.contains(&acked.path),
                srtt: path.rto.srtt().unwrap_or_default(),
            });
            self.outgoing.acknowledged_bytes += acked.bytes;
            self.answered(acked.path);
            let t3 = Timer::T3Rtx(acked.path);
            if !self.sender.has_outstanding(acked.path) {
                self.timers.stop(t3);
            } else if acked.earliest {
                let rto = self.paths.path(acked.path).rto.rto();
                self.timers.set(t3, now + rto);
            }
        }
        self.undo(&outcome.refuted);
        for &path in &outcome.repaired_by_probe {
            self.cut_window(path);
        }
        self.apply_losses(&outcome.losses);
        if outcome.buffer_available {
            self.events.push_back(Event::SendBufferAvailable);
        }
        if outcome.acknowledgment.cumulative_advanced && self.sender.is_dry() {
            self.events.push_back(Event::SenderDry);
        }
    }

    /// Losses found through acknowledgments or the reordering timer.
    pub(super) fn apply_losses(&mut self, losses: &Losses) {
        for &path in &losses.paths {
            self.cut_window(path);
            self.outgoing.fast_retransmit = true;
        }
        self.timers.apply(Timer::Reordering, losses.look_again_at);
    }

    /// Takes back what needless recoveries did (RFC 4015 §3.2, RFC 5682 §3).
    fn undo(&mut self, refuted: &[Refuted]) {
        for Refuted { path, cause } in refuted {
            let path = self.paths.path_mut(*path);
            path.congestion.on_spurious();
            path.counters.recoveries_undone += 1;
            if *cause == LossCause::Timeout {
                path.rto.end_back_off();
            }
            tracing::debug!(path = %path.id, cwnd = path.congestion.cwnd(), "loss recovery was needless");
        }
    }

    fn cut_window(&mut self, path: PathId) {
        let path = self.paths.path_mut(path);
        path.congestion.on_loss();
        path.counters.recoveries += 1;
        tracing::debug!(path = %path.id, cwnd = path.congestion.cwnd(), "loss recovery begins");
    }

    /// The peer answered on a path: error counters are cleared (RFC 9260 §8.1, §8.2).
    pub(super) fn answered(&mut self, path: PathId) {
        self.outgoing.errors = 0;
        let path = self.paths.path_mut(path);
        if path.on_answered() {
            self.events.push_back(Event::PeerAddressChange { path: path.id, state: path.state });
        }
    }

    /// RFC 9260 §8.3: echoed unchanged, while data may flow.
    fn on_heartbeat(&mut self, path: PathId, info: HeartbeatInfo<'_>) {
        if matches!(self.state.name(), S::CookieWait | S::ShutdownAckSent | S::Closed) {
            return;
        }
        self.push_chunk(path, ChunkBuf::heartbeat_ack(info.0));
    }

    fn on_heartbeat_ack(&mut self, now: Instant, info: HeartbeatInfo<'_>) {
        let sent =
            Heartbeat::parse(info.0).filter(|(path, _)| self.paths.iter().any(|known| known.id == *path));
        let answer = sent.and_then(|(path, nonce)| {
            self.paths.path_mut(path).heartbeat.on_ack(now, nonce).map(|rtt| (path, rtt))
        });
        let Some((path, rtt)) = answer else {
            self.counters.unexpected_heartbeat_acks += 1;
            return;
        };
        self.paths.on_measurement(path, now, rtt);
        self.answered(path);
        self.schedule_heartbeat(now, path);
    }

    /// RFC 9260 §9.1.
    fn on_abort(&mut self, causes: Causes<'_>) {
        let error = remote_error(causes);
        let error = match self.state.name() {
            S::CookieWait | S::CookieEchoed => AssociationError::Refused(error),
            S::Established
            | S::ShutdownPending
            | S::ShutdownSent
            | S::ShutdownReceived
            | S::ShutdownAckSent
            | S::Closed => AssociationError::AbortedByPeer(error),
        };
        self.control.clear();
        self.close(Some(error));
    }

    fn on_error(&mut self, now: Instant, causes: Causes<'_>) {
        let stale = causes.iter().flatten().any(|cause| matches!(cause, Cause::StaleCookie { .. }));
        if stale && self.state.name() == S::CookieEchoed {
            self.on_stale_cookie(now, remote_error(causes));
        } else if !matches!(self.state.name(), S::CookieWait) {
            self.events.push_back(Event::RemoteError(remote_error(causes)));
        }
    }

    /// The two highest bits of the type say what to do (RFC 9260 §3.2).
    fn on_unknown(&mut self, path: PathId, chunk: &UnknownChunk<'_>) -> Flow {
        self.counters.unknown_chunks += 1;
        let action = chunk.action();
        if matches!(action, UnknownAction::StopAndReport | UnknownAction::SkipAndReport) {
            // Echoed in part if long: an error must not be larger than what provoked it.
            let raw = &chunk.raw[..chunk.raw.len().min(REPORTED_BYTES)];
            self.push_chunk(path, ChunkBuf::error(&[Cause::UnrecognizedChunkType(raw)]));
        }
        match action {
            UnknownAction::Stop | UnknownAction::StopAndReport => Flow::Stop,
            UnknownAction::Skip | UnknownAction::SkipAndReport => Flow::Continue,
        }
    }
}

/// A malformed chunk of an extension: to who does not speak it, unknown like a sound one (RFC 9260 §3.2).
pub(super) fn unspoken<'a>(packet: &Packet<'a>, error: &DecodeError) -> Option<Chunk<'a>> {
    packet.undecoded(error).filter(|chunk| chunk.kind.is_extension()).map(Chunk::Unknown)
}

/// The first cause of an ABORT or ERROR.
fn remote_error(causes: Causes<'_>) -> RemoteError {
    match causes.iter().flatten().next() {
        None => RemoteError::default(),
        Some(Cause::UserInitiatedAbort(reason)) if !reason.is_empty() => {
            let text = String::from_utf8_lossy(reason).escape_debug().to_string();
            RemoteError { cause: Some(Cause::UserInitiatedAbort(reason).code().get()), text }
        }
        Some(cause) => RemoteError { cause: Some(cause.code().get()), text: cause.to_string() },
    }
}

/// Octets of an unknown chunk that are reported back.
const REPORTED_BYTES: usize = 512;

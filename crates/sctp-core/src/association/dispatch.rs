//! The dispatch of chunks: which goes where, and in which state it counts.

use sctp_wire::{
    Cause, Causes, Chunk, ChunkBuf, ChunkType, DecodeError, Packet, Sack, UnknownAction, UnknownChunk,
};
use virtual_time::Instant;

use super::asconf::is_about_asconf;
use super::reported::remote_error;
use super::{Association, AssociationState as S, Capabilities, Capability, Timer};
use crate::error::{AssociationError, ProtocolViolation};
use crate::event::Event;
use crate::path::{Acknowledged, Answer, Congestion};
use crate::receiver::{Aborted, Arrival, Forwarding, Receiver};
use crate::sender::acknowledge::SackRefused;
use crate::sender::recovery::{LossCause, Refuted};
use crate::sender::{Losses, SackOutcome};
use crate::trace;
use crate::transmit::PathId;

/// Whether the rest of the packet is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Flow {
    Continue,
    Stop,
}

impl Association {
    pub(crate) fn chunk_counters(&self) -> trace::ChunkCounters {
        trace::ChunkCounters {
            association: self.counters.get(),
            authentication: self.authentication.statistics.get(),
            asconf: self.addresses.statistics.get(),
            reconfiguration: self.reconfig.statistics(),
        }
    }

    pub(super) fn dispatch(&mut self, now: Instant, path: PathId, chunk: &Chunk<'_>) -> Flow {
        match chunk {
            Chunk::Data(data) if self.is_behind_reset(data.stream, data.tsn) => {}
            Chunk::IData(data) if self.is_behind_reset(data.stream, data.tsn) => {}
            Chunk::Data(data) => self.on_user_data(now, |receiver| receiver.on_data(now, data)),
            Chunk::IData(data) if self.offers(Capability::Interleaving) => {
                self.on_user_data(now, |receiver| receiver.on_i_data(now, data));
            }
            Chunk::ForwardTsn(forward) if self.speaks(Capability::PartialReliability) => {
                self.on_forwarding(|receiver| receiver.on_forward_tsn(now, forward));
            }
            Chunk::IForwardTsn(forward) if self.speaks(Capability::PartialReliability) => {
                self.on_forwarding(|receiver| receiver.on_i_forward_tsn(now, forward));
            }
            Chunk::Sack(sack) => self.on_sack(now, sack),
            Chunk::Heartbeat(info) => self.on_heartbeat(path, *info),
            Chunk::HeartbeatAck(info) => self.on_heartbeat_ack(now, *info),
            Chunk::InitAck(init_ack) => self.on_init_ack(now, path, init_ack),
            Chunk::CookieAck => self.on_cookie_ack(now, path),
            Chunk::Abort(abort) => self.on_abort(abort.causes),
            Chunk::Error(causes) => self.on_error(now, *causes),
            Chunk::Shutdown(shutdown) => self.on_shutdown(now, path, shutdown.cumulative_tsn_ack),
            Chunk::ShutdownAck => self.on_shutdown_ack(path),
            Chunk::ShutdownComplete(_) => self.on_shutdown_complete(),
            Chunk::ReConfig(chunk) if self.speaks(Capability::Reconfiguration) => {
                self.on_reconfig(now, path, chunk);
            }
            // Only its length matters, to who sent it (RFC 4820 §3).
            Chunk::Pad(_) => {}
            Chunk::Asconf(asconf) if self.has(Capability::DynamicAddresses) => {
                let source = self.paths.path(path).destination;
                self.on_asconf(now, source, asconf);
            }
            Chunk::AsconfAck(ack) if self.has(Capability::DynamicAddresses) => {
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

    /// Returns a malformed chunk of an extension as an unknown one, if the extension is not spoken (RFC 9260
    /// §3.2).
    pub(super) fn unspoken<'a>(&self, packet: &Packet<'a>, error: &DecodeError) -> Option<Chunk<'a>> {
        let chunk = packet.undecoded(error)?;
        let is_known = if chunk.kind == ChunkType::I_DATA {
            self.offers(Capability::Interleaving)
        } else {
            matches!(chunk.kind, ChunkType::FORWARD_TSN | ChunkType::I_FORWARD_TSN)
                && self.speaks(Capability::PartialReliability)
        };
        (chunk.kind.is_extension() && !is_known).then_some(Chunk::Unknown(chunk))
    }

    /// Returns whether chunks of an extension are known here; whether they may be used is for their owner to
    /// judge.
    fn offers(&self, capability: Capability) -> bool {
        Capabilities::offered_by(&self.config.extensions).has(capability)
    }

    /// Returns whether chunks of an extension may be used.
    fn speaks(&self, capability: Capability) -> bool {
        self.peer.agreed.capabilities.has(capability)
    }

    /// Returns whether a chunk is answered with a SACK.
    #[inline]
    pub(super) fn counts_as_data(&self, chunk: &Chunk<'_>) -> bool {
        matches!(chunk, Chunk::Data(_))
            || (matches!(chunk, Chunk::IData(_)) && self.offers(Capability::Interleaving))
            || (matches!(chunk, Chunk::ForwardTsn(_) | Chunk::IForwardTsn(_))
                && self.speaks(Capability::PartialReliability))
    }

    /// DATA and I-DATA count in three states only (RFC 9260 §6).
    fn on_user_data(&mut self, now: Instant, arrive: impl FnOnce(&mut Receiver) -> Arrival) {
        let Some(receiver) = self.receiver_of_data() else { return };
        let arrival = arrive(receiver);
        self.on_arrival(now, arrival);
    }

    /// Acts on the outcome of a DATA chunk (RFC 9260 §6.2, §6.5).
    pub(super) fn on_arrival(&mut self, now: Instant, arrival: Arrival) {
        match arrival {
            Arrival::Accepted { message_ready } => {
                self.outgoing.usage.on_user_data(now);
                if message_ready {
                    self.tell_message_ready();
                }
            }
            Arrival::Duplicate => self.outgoing.had_duplicate = true,
            Arrival::DroppedNoBuffer | Arrival::DroppedOutOfReach | Arrival::GivenUp => {}
            Arrival::InvalidStream(stream) => {
                let path = self.outgoing.sack_path;
                self.push_chunk(path, ChunkBuf::error(&[Cause::InvalidStreamIdentifier(stream)]));
            }
            Arrival::Hopeless { bytes } => self.abort_exhausted(bytes),
            Arrival::NoUserData(tsn) => self.abort_for(ProtocolViolation::NoUserData(tsn)),
            Arrival::Violation(violation) => self.abort_for(violation.into()),
        }
    }

    /// Acts on a FORWARD TSN or I-FORWARD-TSN (RFC 3758 §3.6, RFC 8260 §2.3.1).
    fn on_forwarding(&mut self, forward: impl FnOnce(&mut Receiver) -> Forwarding) {
        let Some(receiver) = self.receiver_of_data() else { return };
        match forward(receiver) {
            Forwarding::Moved { message_ready: true } => self.tell_message_ready(),
            Forwarding::Moved { message_ready: false } | Forwarding::Old | Forwarding::OutOfReach => {}
            Forwarding::Violation(violation) => self.abort_for(violation.into()),
        }
    }

    /// Returns whether the peer may send data in this state (RFC 9260 §6).
    pub(super) fn takes_data(&self) -> bool {
        matches!(self.state.name(), S::Established | S::ShutdownPending | S::ShutdownSent)
    }

    /// Returns the receiver, in a state in which the peer may send data.
    fn receiver_of_data(&mut self) -> Option<&mut Receiver> {
        if !self.takes_data() {
            self.counters.note().discarded.data_in_wrong_state += 1;
            return None;
        }
        self.receiver.as_mut()
    }

    pub(super) fn tell_message_ready(&mut self) {
        self.events.push_message_ready();
    }

    /// The peer gave up what was delivered in part.
    pub(super) fn report_aborted(&mut self, abort: impl FnOnce(&mut Receiver) -> Vec<Aborted>) {
        let aborted = self.receiver.as_mut().map(abort).unwrap_or_default();
        self.events.extend(
            aborted
                .into_iter()
                .map(|Aborted { stream, message }| Event::PartialDeliveryAborted { stream, message }),
        );
    }

    fn on_sack(&mut self, now: Instant, sack: &Sack<'_>) {
        // RFC 9260 §6: before COOKIE ACK nothing of ours can have been taken.
        if !self.may_send_data() || self.is_setting_up() {
            return;
        }
        if self.is_renumbering() {
            self.counters.note().discarded.old_sacks += 1;
            return;
        }
        let outcome = match self.sender.on_sack(now, sack, &self.paths) {
            Ok(outcome) => outcome,
            Err(SackRefused::Old) => {
                self.counters.note().discarded.old_sacks += 1;
                return;
            }
            Err(SackRefused::Malformed) => {
                self.counters.note().discarded.malformed += 1;
                return;
            }
            Err(SackRefused::Violation(violation)) => return self.abort_for(violation),
        };
        self.outgoing.peer_is_alive = true;
        self.apply_sack(now, &outcome);
    }

    /// Acts on a SACK, or on the cumulative ack of a SHUTDOWN: windows, timers and the user.
    pub(super) fn apply_sack(&mut self, now: Instant, outcome: &SackOutcome) {
        for &(path, rtt) in &outcome.rtt {
            self.paths.on_measurement(path, now, rtt);
        }
        for &(path, bytes) in &outcome.duplicates {
            let path = self.paths.path_mut(path);
            path.change_window("duplicates", |congestion| congestion.on_duplicates(bytes));
        }
        for acked in &outcome.acknowledgment.paths {
            let path = self.paths.path_mut(acked.path);
            let acknowledged = Acknowledged {
                now,
                bytes: acked.bytes,
                flight_before: acked.flight_before,
                all_acknowledged: outcome.all_acknowledged,
                in_recovery: outcome.recovering.contains(acked.path),
                srtt: path.rto.srtt().unwrap_or_default(),
                rtt: outcome.rtt.iter().find(|(of, _)| *of == acked.path).map(|&(_, rtt)| rtt),
                min_rtt: path.rto.min_rtt().unwrap_or_default(),
                is_paced: path.congestion.is_paced(),
            };
            path.change_window("acknowledgment", |congestion| congestion.on_acknowledged(&acknowledged));
            self.refill(acked.path, acked.flight_before);
            let answer = if acked.is_certain { Answer::Acknowledged } else { Answer::Ambiguous };
            self.answered(now, acked.path, answer);
            let t3 = Timer::T3Rtx(acked.path);
            if self.sender.has_outstanding(acked.path) && acked.earliest {
                let rto = self.paths.path(acked.path).rto.rto();
                self.timers.set(t3, now + rto);
            }
        }
        if let Some(path) = outcome.forward_confirmed {
            self.answered(now, path, Answer::Acknowledged);
        }
        self.undo(now, &outcome.refuted);
        self.keep_t3_in_step(now);
        for path in outcome.repaired_by_probe {
            trace::tail_loss_probe_repaired(path);
            self.cut_window(path);
        }
        self.apply_losses(&outcome.losses);
        if outcome.buffer_available {
            self.events.push(Event::SendBufferAvailable);
        }
        if outcome.acknowledgment.cumulative_advanced {
            self.outgoing.progress.on_acknowledged(now);
            if self.sender.is_dry() {
                self.events.push(Event::SenderDry);
            }
        }
    }

    /// RFC 9260 §6.3.2 (R2), also for paths whose chunks were acknowledged after they went again on another one; (R4),
    /// also for paths that were idle since.
    fn keep_t3_in_step(&mut self, now: Instant) {
        for path in self.paths.ever() {
            let t3 = Timer::T3Rtx(path.id);
            if !self.sender.needs_t3(path.id) {
                self.timers.stop(t3);
            } else if self.sender.flight(path.id) > 0 {
                self.timers.start_if_stopped(t3, now + path.rto.rto());
            }
        }
    }

    /// Losses found through acknowledgments or the reordering timer.
    pub(super) fn apply_losses(&mut self, losses: &Losses) {
        for path in losses.paths {
            self.cut_window(path);
            self.outgoing.fast_retransmit = true;
        }
        for path in losses.vanishing {
            self.on_vanishing(path);
        }
        self.timers.apply(Timer::Reordering, losses.look_again_at);
    }

    /// Takes back what needless recoveries did (RFC 4015 §3.2, RFC 5682 §3). What was lost is in flight again and wants its
    /// timer (RFC 9260 §6.3.2 (R1)), which the timeout has used up.
    fn undo(&mut self, now: Instant, refuted: &[Refuted]) {
        for Refuted { path, cause } in refuted {
            let path = self.paths.path_mut(*path);
            trace::recovery_undone(path.id, *cause);
            path.change_window("recovery undone", Congestion::on_spurious);
            path.counters.note().recoveries_undone += 1;
            if *cause == LossCause::Timeout {
                path.rto.end_back_off();
            }
            let (id, rto) = (path.id, path.rto.rto());
            if self.sender.flight(id) > 0 {
                self.timers.start_if_stopped(Timer::T3Rtx(id), now + rto);
            }
        }
    }

    fn cut_window(&mut self, path: PathId) {
        let path = self.paths.path_mut(path);
        trace::recovery_begun(path.id);
        path.change_window("loss", Congestion::on_loss);
        path.counters.note().recoveries += 1;
    }

    /// Ends the association after an ABORT of the peer (RFC 9260 §9.1).
    fn on_abort(&mut self, causes: Causes<'_>) {
        // Everything was acknowledged, in both directions, and the peer may be gone already: then what we asked it before
        // was answered by ABORT, which can overtake SHUTDOWN COMPLETE on another path (RFC 9260 §8.4).
        if self.state.name() == S::ShutdownAckSent {
            self.control.clear();
            return self.close(None);
        }
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
        if causes.iter().flatten().any(|cause| is_about_asconf(&cause)) {
            self.on_asconf_not_understood(now);
        }
        let stale = causes.iter().flatten().any(|cause| matches!(cause, Cause::StaleCookie { .. }));
        if stale && self.state.name() == S::CookieEchoed {
            self.on_stale_cookie(now, remote_error(causes));
        } else if !matches!(self.state.name(), S::CookieWait) {
            self.events.push(Event::RemoteError(remote_error(causes)));
        }
    }

    /// Treats an unknown chunk as the two highest bits of its type say (RFC 9260 §3.2).
    fn on_unknown(&mut self, path: PathId, chunk: &UnknownChunk<'_>) -> Flow {
        self.counters.note().discarded.unknown += 1;
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

/// Octets of an unknown chunk that are reported back.
const REPORTED_BYTES: usize = 512;

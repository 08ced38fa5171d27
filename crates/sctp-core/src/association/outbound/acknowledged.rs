//! What SACKs and losses do to congestion windows and T3-rtx.

use core::time::Duration;

use sctp_wire::Sack;
use virtual_time::Instant;

use super::Outbound;
use crate::association::session::Session;
use crate::association::timers::Timer;
use crate::path::{Acknowledged, Answer, Congestion};
use crate::sender::acknowledge::{PathAcknowledgment, SackRefused};
use crate::sender::expected::ExpectedAcknowledgment;
use crate::sender::recovery::Refuted;
use crate::sender::{Losses, LostChunk, SackOutcome};
use crate::trace::{self, LossCause};
use crate::transmit::PathIndex;

impl Outbound {
    /// Takes in a SACK chunk: who sent it is there.
    pub(in crate::association) fn on_sack(
        &mut self,
        now: Instant,
        sack: &Sack<'_>,
        session: &mut Session,
    ) -> Result<(), SackRefused> {
        self.sender.screen(sack)?;
        self.peer_is_alive = true;
        // Tests compare the short way with the long one.
        #[cfg(test)]
        let may_be_expected = self.ways.may_be_short();
        #[cfg(not(test))]
        let may_be_expected = true;
        if may_be_expected && let Some(expected) = self.sender.on_expected_sack(now, sack, &self.paths) {
            self.apply_expected(now, &expected, session);
        } else {
            let outcome = self.sender.on_sack(now, sack, &self.paths);
            self.apply_sack(now, &outcome, session);
        }
        Ok(())
    }

    /// Takes in a cumulative TSN ack without gaps and without a window, as SHUTDOWN has it.
    pub(in crate::association) fn on_cumulative_ack(
        &mut self,
        now: Instant,
        cumulative_tsn_ack: sctp_wire::Tsn,
        session: &mut Session,
    ) -> Result<(), SackRefused> {
        let a_rwnd = u32::try_from(self.sender.peer_window()).unwrap_or(u32::MAX);
        let sack = Sack::cumulative(cumulative_tsn_ack, a_rwnd);
        self.sender.screen(&sack)?;
        let outcome = self.sender.on_sack(now, &sack, &self.paths);
        self.apply_sack(now, &outcome, session);
        Ok(())
    }

    /// Acts on a SACK that was expected, as on any other: what only others can say is not looked at.
    #[inline]
    fn apply_expected(&mut self, now: Instant, expected: &ExpectedAcknowledgment, session: &mut Session) {
        #[cfg(test)]
        self.ways.note_expected();
        let path = PathIndex::FIRST;
        if let Some(rtt) = expected.rtt {
            self.paths.on_measurement(path, now, rtt);
        }
        if let Some(acked) = &expected.acked {
            let circumstances = Circumstances {
                all_acknowledged: expected.all_acknowledged,
                in_recovery: false,
                rtt: expected.rtt,
            };
            self.on_acknowledged(now, &circumstances, acked);
            self.answered(now, path, Answer::Acknowledged, session);
        }
        self.keep_t3_of(now, path);
        self.apply_losses(now, &expected.losses);
        if expected.buffer_available {
            session.tell_buffer_available();
        }
        if expected.acked.is_some() {
            self.progress.on_acknowledged(now);
            self.tell_if_dry(session);
        }
    }

    /// Acts on what a SACK says that is new: windows and timers, the paths that have answered, the user.
    #[inline(never)]
    fn apply_sack(&mut self, now: Instant, outcome: &SackOutcome, session: &mut Session) {
        self.on_measured(now, outcome);
        for acked in &outcome.acknowledgment.paths {
            let circumstances = Circumstances {
                all_acknowledged: outcome.all_acknowledged,
                in_recovery: outcome.recovering.contains(acked.path),
                rtt: outcome.rtt.iter().find(|(of, _)| *of == acked.path).map(|&(_, rtt)| rtt),
            };
            self.on_acknowledged(now, &circumstances, acked);
            let answer = if acked.is_certain { Answer::Acknowledged } else { Answer::Ambiguous };
            self.answered(now, acked.path, answer, session);
        }
        if let Some(path) = outcome.forward_confirmed {
            self.answered(now, path, Answer::Acknowledged, session);
        }
        self.after_acknowledged(now, outcome, session);
    }

    /// Takes over the round trips that a SACK has measured, and what it says came twice.
    fn on_measured(&mut self, now: Instant, outcome: &SackOutcome) {
        for &(path, rtt) in &outcome.rtt {
            self.paths.on_measurement(path, now, rtt);
        }
        for &(path, bytes) in &outcome.duplicates {
            let path = self.paths.path_mut(path);
            path.change_window("duplicates", |congestion| congestion.on_duplicates(bytes));
        }
    }

    /// Takes over what a SACK acknowledges on a path.
    #[inline(always)]
    fn on_acknowledged(&mut self, now: Instant, circumstances: &Circumstances, acked: &PathAcknowledgment) {
        let &Circumstances { all_acknowledged, in_recovery, rtt } = circumstances;
        let path = self.paths.path_mut(acked.path);
        let acknowledged = Acknowledged {
            now,
            bytes: acked.bytes,
            flight_before: acked.flight_before,
            all_acknowledged,
            in_recovery,
            srtt: path.rto.srtt().unwrap_or_default(),
            newest_sent_at: acked.newest,
            rtt,
            latest_rtt: self.sender.latest_rtt(acked.path),
            min_rtt: path.rto.min_rtt().unwrap_or_default(),
            is_paced: path.congestion.is_paced(),
            is_held: false,
        };
        path.change_window("acknowledgment", |congestion| congestion.on_acknowledged(&acknowledged));
        let rto = path.rto.rto();
        if self.sender.may_buffer_grow() {
            self.sender.grow_buffer(path.congestion.cwnd());
        }
        self.refill(acked.path, acked.flight_before);
        if acked.earliest && !all_acknowledged && self.sender.has_outstanding(acked.path) {
            self.timers.set(Timer::T3Rtx(acked.path), now + rto);
        }
    }

    /// Takes over the rest of a SACK, when all paths have what concerns them.
    fn after_acknowledged(&mut self, now: Instant, outcome: &SackOutcome, session: &mut Session) {
        self.undo(now, &outcome.refuted);
        self.keep_t3_in_step(now);
        for path in outcome.repaired {
            self.cut_window(path);
        }
        self.apply_losses(now, &outcome.losses);
        if outcome.buffer_available {
            session.tell_buffer_available();
        }
        if outcome.acknowledgment.cumulative_advanced {
            self.progress.on_acknowledged(now);
            self.tell_if_dry(session);
        }
    }

    /// A chunk's reordering window has run out.
    pub(in crate::association) fn detect_losses(&mut self, now: Instant) {
        let losses = self.sender.losses_by_time(now, &self.paths);
        self.apply_losses(now, &losses);
    }

    /// Acts on losses found through acknowledgments or the reordering timer.
    #[inline]
    fn apply_losses(&mut self, now: Instant, losses: &Losses) {
        if losses.any {
            self.answer_losses(now, losses);
        }
        self.timers.apply(Timer::Reordering, losses.look_again_at);
    }

    /// Chunks were lost: windows are cut.
    #[cold]
    fn answer_losses(&mut self, now: Instant, losses: &Losses) {
        for &LostChunk { path, bytes, sent_at } in losses.chunks.as_ref().into_iter().flatten() {
            let path = self.paths.path_mut(path);
            path.change_window("loss", |congestion| congestion.on_lost(now, bytes, sent_at));
        }
        for path in losses.paths {
            self.cut_window(path);
            self.fast_retransmit = true;
        }
        for path in losses.vanishing {
            self.on_vanishing(path);
        }
    }

    /// Takes back what needless recoveries did (RFC 4015 §3.2, RFC 5682 §3). What was lost is in flight again and wants its
    /// timer (RFC 9260 §6.3.2 (R1)), which the timeout has used up.
    fn undo(&mut self, now: Instant, refuted: &[Refuted]) {
        for Refuted { path, cause } in refuted {
            let path = self.paths.path_mut(*path);
            trace::recovery_undone(path.index, *cause);
            path.change_window("recovery undone", Congestion::on_spurious);
            path.counters.note().recoveries_undone += 1;
            if *cause == LossCause::Timeout {
                path.rto.end_back_off();
            }
            let (id, rto) = (path.index, path.rto.rto());
            if self.sender.flight(id) > 0 {
                self.timers.start_if_stopped(Timer::T3Rtx(id), now + rto);
            }
        }
    }

    fn cut_window(&mut self, path: PathIndex) {
        let path = self.paths.path_mut(path);
        trace::recovery_begun(path.index);
        path.change_window("loss", Congestion::on_loss);
        path.counters.note().recoveries += 1;
    }

    /// Returns whether T3-rtx that expired says nothing about the peer: a closed window that it keeps confirming is no
    /// failure (RFC 9260 §6.1 (A)).
    pub(in crate::association) fn excuses_silence(&mut self) -> bool {
        let heard = core::mem::take(&mut self.peer_is_alive);
        self.sender.waits_for_window() && heard
    }

    /// Acts on T3-rtx, which has expired on a path of the peer (RFC 9260 §6.3.3).
    pub(in crate::association) fn on_t3(&mut self, now: Instant, path: PathIndex) {
        let entry = self.paths.path_mut(path);
        entry.back_off();
        entry.counters.note().timeouts += 1;
        if !self.sender.waits_for_window() {
            entry.change_window("timeout", Congestion::on_timeout);
        }
        if self.sender.lose_flight(now, path) {
            self.on_vanishing(path);
        }
        self.timers.stop(Timer::TailLossProbe(path));
        self.paths.path_mut(path).probe_is_due = false;
        self.fast_retransmit = false;
        // The reordering windows of the other paths run on.
        if self.timers.is_running(Timer::Reordering) {
            self.detect_losses(now);
        }
    }
}

/// The circumstances under which chunks of a path were acknowledged.
#[derive(Clone, Copy, Debug)]
struct Circumstances {
    all_acknowledged: bool,
    in_recovery: bool,
    /// The round trip that was measured there.
    rtt: Option<Duration>,
}

//! The SACKs that nearly always arrive: they acknowledge the earliest chunks, to which nothing has ever happened, while nothing is
//! being repaired on the only path.
//!
//! Such a SACK has no gap ack blocks and no duplicates, so that its chunks are one run, which is passed in one walk. All that it
//! does not concern is known from [`expects`](Sender::expects), and not asked for one by one. It goes by the rules of any other, and
//! what comes of it is what [`on_sack`](Sender::on_sack) would find out.

use core::time::Duration;

use sctp_wire::Sack;
use virtual_time::Instant;

use super::acknowledge::{Delivered, PathAcknowledgment};
use super::{Losses, Sender};
use crate::config::LossDetection;
use crate::path::PathSet;
use crate::transmit::PathIndex;

/// The outcome of a SACK that was expected.
#[derive(Debug)]
pub(crate) struct ExpectedAcknowledgment {
    /// What was acknowledged, if anything was.
    pub(crate) acked: Option<PathAcknowledgment>,
    /// The round trip of the chunk that was timed, if it is among that.
    pub(crate) rtt: Option<Duration>,
    pub(crate) losses: Losses,
    pub(crate) all_acknowledged: bool,
    pub(crate) buffer_available: bool,
}

impl Sender {
    /// Returns whether a SACK that [counts](Self::screen) has nothing to say but that the earliest chunks have arrived, and none of
    /// what is kept beside the chunks waits for what it says.
    #[inline]
    fn expects(&self, sack: &Sack<'_>, paths: &PathSet) -> bool {
        !sack.has_reports()
            && paths.has_only_first()
            && self.outstanding.is_untouched()
            && self.probes.is_empty()
            && self.redundancy.is_none()
            && !self.forwarding.exists()
            && !self.recoveries.are_under_way()
            && !self.rtt_samples[PathIndex::FIRST].is_spoiled()
    }

    /// Takes in a SACK that [counts](Self::screen), if it is expected; otherwise nothing has changed, and
    /// [`on_sack`](Self::on_sack) is for it.
    #[inline]
    pub(crate) fn on_expected_sack(
        &mut self,
        now: Instant,
        sack: &Sack<'_>,
        paths: &PathSet,
    ) -> Option<ExpectedAcknowledgment> {
        if !self.expects(sack, paths) {
            return None;
        }
        let path = PathIndex::FIRST;
        let flight_before = self.outstanding.flight(path);
        let messages = self.queue.messages_mut();
        let passed = self.outstanding.pass_untouched(sack.cumulative_tsn_ack, |fragment| {
            if fragment.flags().ending {
                messages.release(fragment.message);
            }
        });
        let (mut acked, mut rtt, mut freed_payload) = (None, None, 0);
        if let Some(run) = passed {
            let delivered = Delivered::untouched(path, &run);
            self.rack.on_delivered(now, &delivered, paths.path(path).rto.min_rtt());
            rtt = self.rtt_samples[path].on_delivered(now, &delivered);
            acked = Some(PathAcknowledgment::of_earliest(&delivered, flight_before));
            freed_payload = run.load.payload;
        }
        self.outstanding.advance_firsts_on(path);
        self.rack.on_cumulative_ack(self.outstanding.cumulative_ack());
        self.update_window(now, sack.a_rwnd as usize, paths);
        let losses = match self.options.loss_detection {
            // No chunk that it passes over could be reported missing.
            LossDetection::MissingReports | LossDetection::RepeatedMissingReports { .. } => Losses::default(),
            LossDetection::Rack => self.losses_by_time(now, paths),
        };
        Some(ExpectedAcknowledgment {
            acked,
            rtt,
            losses,
            all_acknowledged: self.outstanding.is_empty(),
            buffer_available: self.release(freed_payload),
        })
    }
}

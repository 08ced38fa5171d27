//! Losses found by time (RFC 8985 §6).

use core::time::Duration;

use virtual_time::Instant;

use super::scoreboard::{Delivered, Judgement, Scoreboard, Sent};

/// The state of RACK (RFC 8985 §6).
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Rack {
    /// The time and the end of the segment sent last among those that arrived.
    latest: Option<(Instant, u64)>,
    rtt: Duration,
    min_rtt: Option<Duration>,
    has_seen_reordering: bool,
    /// The reordering window in quarters of the least round trip, 0 for one (RFC 8985 §6.2, step 4).
    more_quarters: u32,
    /// Duplicates reported above this offset belong to another round.
    quarters_round: u64,
}

/// Whether a recovery is under way, and how much was reported: what decides on patience.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Patience {
    pub(crate) is_recovering: bool,
    pub(crate) sacked: u64,
    pub(crate) srtt: Duration,
}

impl Rack {
    /// RFC 8985 §6.2, steps 1 to 3.
    pub(crate) fn on_delivered(&mut self, now: Instant, told: &Delivered) {
        self.has_seen_reordering |= told.is_reordered;
        if let Some(rtt) = told.rtt {
            self.min_rtt = Some(self.min_rtt.map_or(rtt, |least| least.min(rtt)));
        }
        let Some((sent_at, to, is_resent)) = told.latest else { return };
        let rtt = now.since(sent_at);
        // An answer that is too early for the retransmission was one to the original.
        if is_resent && self.min_rtt.is_some_and(|least| rtt < least) {
            return;
        }
        self.rtt = rtt;
        if self.latest.is_none_or(|latest| latest < (sent_at, to)) {
            self.latest = Some((sent_at, to));
        }
    }

    /// A needless retransmission was reported: more patience, once a round (RFC 8985 §6.2, step 4).
    pub(crate) fn on_duplicate(&mut self, una: u64, next: u64) {
        if una >= self.quarters_round {
            self.more_quarters = (self.more_quarters + 1).min(15);
            self.quarters_round = next;
        }
    }

    /// Returns the reordering window (RFC 8985 §6.2, step 4): none while nothing was ever reordered and it is
    /// clear that something is missing.
    fn reordering_window(&self, patience: Patience) -> Duration {
        let is_clear = patience.is_recovering || patience.sacked >= DUPLICATE_THRESHOLD;
        if !self.has_seen_reordering && is_clear {
            return Duration::ZERO;
        }
        let quarter = self.min_rtt.unwrap_or_default() / 4;
        (quarter * (1 + self.more_quarters)).min(patience.srtt)
    }

    /// Marks segments that are late as lost, and returns the time until the next one will be (RFC 8985 §6.2,
    /// step 5).
    pub(crate) fn detect(
        &self,
        now: Instant,
        board: &mut Scoreboard,
        patience: Patience,
    ) -> Option<Duration> {
        let latest = self.latest?;
        let window = self.reordering_window(patience);
        let mut wait: Option<Duration> = None;
        board.mark_lost(|segment| {
            if (segment.sent_at, segment.to) >= latest {
                return if segment.is_resent { Judgement::Fine } else { Judgement::Stop };
            }
            let due = segment.sent_at + self.rtt + window;
            if due <= now {
                return Judgement::Lost;
            }
            let left = due.since(now);
            wait = Some(wait.map_or(left, |longest| longest.max(left)));
            Judgement::Fine
        });
        wait
    }

    /// Marks the oldest segment, and what was sent long enough before now, as lost after the timer expired (RFC
    /// 8985 §6.3).
    pub(crate) fn on_timeout(&self, now: Instant, board: &mut Scoreboard) {
        let oldest = board.oldest().map(|segment| segment.from);
        board.mark_lost(|segment: &Sent| {
            let is_late = segment.sent_at + self.rtt <= now;
            if is_late || Some(segment.from) == oldest { Judgement::Lost } else { Judgement::Fine }
        });
    }
}

/// RFC 8985 §6.2, step 4, and RFC 5681 §2.
const DUPLICATE_THRESHOLD: u64 = 3;

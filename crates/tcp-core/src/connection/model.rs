//! BBRv3 (draft-ietf-ccwg-bbr) for TCP: the model is the crate `bbr`'s; the time at which the next segment may leave is kept here.

use core::time::Duration;

use congestion::bbr::{Acknowledgment, Bbr, Lost, Sent};
use virtual_time::Instant;

/// A model of the path, and when it lets something leave.
#[derive(Clone, Debug)]
pub(crate) struct Model {
    bbr: Bbr,
    /// The time at which everything sent so far has left at the pacing rate.
    next_at: Instant,
}

impl Model {
    pub(crate) fn new(mss: u64, initial_window: u64) -> Self {
        // Flows fall out of step by the times at which they draw; the seed may be the same.
        Self { bbr: Bbr::new(mss, initial_window, 0), next_at: Instant::EPOCH }
    }

    pub(crate) fn cwnd(&self) -> u64 {
        self.bbr.cwnd()
    }

    pub(crate) fn is_starting(&self) -> bool {
        self.bbr.is_starting()
    }

    /// Returns the time until which a segment has to wait for those before it; `None` if it need not.
    pub(crate) fn paced_until(&self, now: Instant) -> Option<Instant> {
        Some(self.next_at).filter(|at| *at > now)
    }

    /// A segment of so many octets leaves, with so many in flight before.
    pub(crate) fn on_sent(&mut self, now: Instant, bytes: u64, flight: u64) {
        self.bbr.on_sent(&Sent { now, bytes, flight });
        if let Some(rate) = self.bbr.pacing_rate() {
            let nanos = u128::from(bytes) * 1_000_000_000 / u128::from(rate.max(1));
            let span = Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX));
            self.next_at = self.next_at.max(now) + span;
        }
    }

    pub(crate) fn on_acknowledged(&mut self, acked: &Acknowledgment) {
        self.bbr.on_acknowledged(acked);
    }

    /// Octets that left then were declared lost.
    pub(crate) fn on_lost(&mut self, now: Instant, bytes: u64, sent_at: Instant) {
        self.bbr.on_lost(&Lost { now, bytes, sent_at });
    }

    /// The retransmission timer expired: one segment beside what is in flight still.
    pub(crate) fn on_timeout(&mut self, window: u64) {
        self.bbr.on_timeout();
        self.bbr.set_window(window);
    }

    pub(crate) fn set_window(&mut self, window: u64) {
        self.bbr.set_window(window);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn segments_leave_at_the_rate_of_the_model_once_there_is_one() {
        let mut model = Model::new(1000, 10_000);
        let now = Instant::from_millis(1000);
        model.on_sent(now, 1000, 0);
        assert_eq!(model.paced_until(now), None, "nothing was measured");
        let later = now + Duration::from_millis(100);
        let acked = Acknowledgment::new(later, 1000, 0);
        model.on_acknowledged(&Acknowledgment {
            sent_at: now,
            rtt: Some(Duration::from_millis(100)),
            ..acked
        });
        model.on_sent(later, 1000, 0);
        // 2.77 times ten segments in 100 ms: one in 3.6 ms.
        let wait = model.paced_until(later).unwrap().since(later);
        assert!((3500..3700).contains(&wait.as_micros()), "{wait:?}");
        assert_eq!(model.paced_until(later + wait), None);
    }

    #[test]
    fn timeout_leaves_one_segment_beside_what_is_in_flight() {
        let mut model = Model::new(1000, 10_000);
        model.on_timeout(3000);
        assert_eq!(model.cwnd(), 3000);
    }
}

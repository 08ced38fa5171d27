//! How much later than expected a chunk may arrive before it counts as lost (RFC 8985 §6.2 step 4).
//!
//! Patience begins with a quarter of the smallest round trip. It grows by as much for every round trip in which the
//! peer reports as duplicate what was sent again for want of patience, up to a whole smoothed round trip, and is
//! forgotten after sixteen recoveries that gave no reason for it. A path without reordering needs none while it
//! recovers. Departure from RFC 8985 §6.2 step 3: that a path reorders is forgotten in the same way.

use core::time::Duration;

use sctp_wire::Tsn;

use crate::path::rto::RtoEstimator;

/// The reordering window of one path.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ReorderingWindow {
    /// Quarters of the smallest round trip beyond the first.
    growth: u32,
    /// Recoveries until growth is forgotten.
    growth_lasts: u8,
    /// Recoveries until it is forgotten that the path reorders; zero: it does not.
    reordering_lasts: u8,
    /// The TSN until whose acknowledgment further duplicates belong to the same round trip.
    round: Option<Tsn>,
}

impl ReorderingWindow {
    /// A chunk arrived after one that was sent later.
    pub(crate) fn on_reordering(&mut self) {
        self.reordering_lasts = RECOVERIES;
    }

    /// Grows the window, because the peer has twice what was sent again for being late: patience was too short.
    /// Returns whether it grew.
    pub(crate) fn on_needless_retransmission(&mut self, next_tsn: Tsn) -> bool {
        self.growth_lasts = RECOVERIES;
        let is_new_round = self.round.is_none();
        if is_new_round {
            self.round = Some(next_tsn);
            self.growth = self.growth.saturating_add(1);
        }
        is_new_round
    }

    /// Everything up to this TSN is acknowledged.
    pub(crate) fn on_cumulative_ack(&mut self, point: Tsn) {
        self.round = self.round.filter(|round| point.precedes(*round));
    }

    /// A recovery ended.
    pub(crate) fn on_recovered(&mut self) {
        self.reordering_lasts = self.reordering_lasts.saturating_sub(1);
        self.growth_lasts = self.growth_lasts.saturating_sub(1);
        if self.growth_lasts == 0 {
            self.growth = 0;
        }
    }

    /// Returns the window now. `acknowledged`: chunks of the path that gap ack blocks cover.
    pub(crate) fn patience(&self, rto: &RtoEstimator, in_recovery: bool, acknowledged: usize) -> Duration {
        if self.reordering_lasts == 0 && (in_recovery || acknowledged >= DUPLICATE_THRESHOLD) {
            return Duration::ZERO;
        }
        let quarters = rto.min_rtt().unwrap_or_default().saturating_mul(self.growth.saturating_add(1)) / 4;
        rto.srtt().map_or(quarters, |srtt| quarters.min(srtt))
    }
}

/// Recoveries without a reason after which growth is forgotten (RFC 8985 §6.2 step 4).
const RECOVERIES: u8 = 16;

/// Chunks acknowledged by gap blocks after which a path without reordering needs no further patience.
const DUPLICATE_THRESHOLD: usize = 3;

#[cfg(test)]
mod tests {
    use virtual_time::Instant;

    use super::*;
    use crate::config::AssociationConfig;

    fn rto() -> RtoEstimator {
        let mut rto = RtoEstimator::new(AssociationConfig::default().rto);
        rto.on_measurement(Instant::EPOCH, Duration::from_millis(40));
        rto
    }

    fn millis(window: &ReorderingWindow, in_recovery: bool) -> u128 {
        window.patience(&rto(), in_recovery, 0).as_millis()
    }

    /// RFC 8985 §6.2 step 4.
    #[test]
    fn window_grows_once_a_round_trip_by_a_quarter_and_up_to_srtt() {
        let mut window = ReorderingWindow::default();
        assert_eq!(millis(&window, false), 10);
        assert!(window.on_needless_retransmission(Tsn::new(5)));
        assert!(!window.on_needless_retransmission(Tsn::new(6)), "the same round trip");
        assert_eq!(millis(&window, false), 20);
        window.on_cumulative_ack(Tsn::new(4));
        assert!(!window.on_needless_retransmission(Tsn::new(7)));
        for (round, expected) in [(5, 30), (10, 40), (15, 40)] {
            window.on_cumulative_ack(Tsn::new(round));
            assert!(window.on_needless_retransmission(Tsn::new(round + 5)));
            assert_eq!(millis(&window, false), expected);
        }
    }

    #[test]
    fn growth_is_forgotten_after_sixteen_recoveries_without_a_duplicate() {
        let mut window = ReorderingWindow::default();
        window.on_needless_retransmission(Tsn::new(5));
        (0..15).for_each(|_| window.on_recovered());
        assert_eq!(millis(&window, false), 20);
        window.on_cumulative_ack(Tsn::new(5));
        window.on_needless_retransmission(Tsn::new(9));
        (0..15).for_each(|_| window.on_recovered());
        assert_eq!(millis(&window, false), 30, "a duplicate begins the count anew");
        window.on_recovered();
        assert_eq!(millis(&window, false), 10);
    }

    #[test]
    fn path_that_reordered_keeps_its_patience_in_recovery_for_sixteen_of_them() {
        let mut window = ReorderingWindow::default();
        assert_eq!(millis(&window, true), 0);
        assert_eq!(window.patience(&rto(), false, 3), Duration::ZERO);
        window.on_reordering();
        (0..15).for_each(|_| window.on_recovered());
        assert_eq!(millis(&window, true), 10);
        window.on_recovered();
        assert_eq!(millis(&window, true), 0);
    }
}

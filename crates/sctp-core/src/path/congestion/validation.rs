//! Congestion window validation (RFC 7661): a window that was not used for long says little about the network.
//!
//! Measures what was really acknowledged per round trip (pipeACK). While that is less than half the window, the window
//! is *not validated*: it is kept for a while, so that a burst need not begin in slow start, but a loss is answered by
//! what was in use and not by what was allowed.

use core::time::Duration;

use virtual_time::Instant;

use super::{Acknowledged, CongestionWindow};

/// How far the window of a path is validated.
#[derive(Clone, Debug, Default)]
pub(super) struct Validation {
    pipe_ack: PipeAck,
    /// The time when the window was validated last.
    validated_at: Instant,
    /// A loss met a window that was not validated; until the recovery ends.
    loss: Option<UnvalidatedLoss>,
}

#[derive(Clone, Copy, Debug)]
struct UnvalidatedLoss {
    /// The octets that were in use: the larger of pipeACK and the octets in flight.
    used: u32,
    resent: u32,
}

impl Validation {
    /// Returns whether the window is validated (RFC 7661 §4.3): half of it was used, or nothing is known yet.
    /// Slow start has doubled it since the use was measured, and doubles it again before the next measurement:
    /// what counts is the window of then.
    fn is_validated(&self, window: CongestionWindow) -> bool {
        let measured = window.cwnd.min(octets(self.pipe_ack.window));
        self.pipe_ack.value().is_none_or(|used| used >= measured / 2)
    }

    /// Returns the window for data that is about to be sent, if it changes: it is halved after each
    /// non-validated period (RFC 7661 §4.4.3).
    pub(super) fn on_send(
        &mut self,
        now: Instant,
        window: CongestionWindow,
        initial_window: usize,
    ) -> Option<CongestionWindow> {
        self.pipe_ack.forget_old(now);
        if self.is_validated(window) {
            self.validated_at = now;
            return None;
        }
        let before = window;
        let mut window = window;
        while now.since(self.validated_at) >= NON_VALIDATED_PERIOD {
            self.validated_at += NON_VALIDATED_PERIOD;
            if window.cwnd <= initial_window {
                self.validated_at = now;
                break;
            }
            window.ssthresh = window.ssthresh.max(window.cwnd / 4 * 3);
            window.cwnd = (window.cwnd / 2).max(initial_window);
        }
        (window != before).then_some(window)
    }

    /// Takes in what a SACK acknowledged, and returns the window that a recovery leaves behind when it ends
    /// (RFC 7661 §4.4.1).
    pub(super) fn on_acknowledged(
        &mut self,
        acked: &Acknowledged,
        window: CongestionWindow,
        floor: usize,
    ) -> Option<CongestionWindow> {
        if acked.in_recovery {
            return None;
        }
        if let Some(loss) = self.loss.take() {
            let cwnd = (octets(loss.used.saturating_sub(loss.resent)) / 2).max(floor).min(window.cwnd);
            return Some(CongestionWindow { cwnd, ssthresh: cwnd });
        }
        self.pipe_ack.on_acknowledged(acked, window);
        if self.is_validated(window) {
            self.validated_at = acked.now;
        }
        None
    }

    /// Takes note that losses showed, and returns the window to go on with if the present one was not validated
    /// (RFC 7661 §4.4.1).
    pub(super) fn on_loss(
        &mut self,
        flight: usize,
        window: CongestionWindow,
        floor: usize,
    ) -> Option<CongestionWindow> {
        let pipe_ack = self.pipe_ack.value().filter(|_| !self.is_validated(window));
        self.pipe_ack.reset();
        let used = pipe_ack?.max(flight);
        self.loss = Some(UnvalidatedLoss { used: count(used), resent: 0 });
        let cwnd = (used / 2).max(floor);
        Some(CongestionWindow { cwnd, ssthresh: cwnd })
    }

    /// Octets were sent again.
    pub(super) fn on_resent(&mut self, bytes: usize) {
        if let Some(loss) = &mut self.loss {
            loss.resent = loss.resent.saturating_add(count(bytes));
        }
    }

    /// There was no loss: what the recovery was to leave behind is void.
    pub(super) fn on_spurious(&mut self) {
        self.loss = None;
    }

    pub(super) fn on_timeout(&mut self) {
        self.pipe_ack.reset();
        self.loss = None;
    }
}

/// The pipeACK variable: the most that was acknowledged in one round trip of late (RFC 7661 §4.2, §4.5.1).
#[derive(Clone, Copy, Debug, Default)]
struct PipeAck {
    /// The round trip being measured.
    sample: Option<Sample>,
    /// The window when the last one that was measured began.
    window: u32,
    /// The largest samples of the last measurement periods, the present one first; `None` before the first sample.
    largest: Option<[u32; 5]>,
    period_began: Instant,
    /// The length of a measurement period, in nanoseconds.
    period: u64,
}

/// How much came back since when, and the window of then.
#[derive(Clone, Copy, Debug)]
struct Sample {
    begun: Instant,
    bytes: u32,
    window: u32,
}

impl PipeAck {
    fn value(&self) -> Option<usize> {
        self.largest.and_then(|largest| largest.into_iter().max()).map(octets)
    }

    fn reset(&mut self) {
        *self = Self::default();
    }

    fn on_acknowledged(&mut self, acked: &Acknowledged, window: CongestionWindow) {
        if acked.srtt.is_zero() {
            return;
        }
        // What comes back in less than a round trip is less than the window, however well that is used.
        let round_trip = nanos(acked.present_rtt());
        self.period = round_trip.saturating_mul(3).max(SAMPLING_PERIOD_MIN) / PERIODS;
        self.forget_old(acked.now);
        let next = Sample { begun: acked.now, bytes: count(acked.bytes), window: count(window.cwnd) };
        let sample = self.sample.unwrap_or(Sample { bytes: 0, ..next });
        let Sample { begun, bytes, window } = sample;
        if acked.now.as_nanos().saturating_sub(begun.as_nanos()) < round_trip {
            self.sample = Some(Sample { bytes: bytes.saturating_add(next.bytes), ..sample });
            return;
        }
        (self.sample, self.window) = (Some(next), window);
        match &mut self.largest {
            Some([present, ..]) => *present = bytes.max(*present),
            None => {
                self.largest = Some([bytes, 0, 0, 0, 0]);
                self.period_began = acked.now;
            }
        }
    }

    /// Samples older than the sampling period no longer count.
    fn forget_old(&mut self, now: Instant) {
        let Some(largest) = &mut self.largest else { return };
        for _ in 0..PERIODS {
            if now.as_nanos().saturating_sub(self.period_began.as_nanos()) < self.period {
                return;
            }
            largest.rotate_right(1);
            largest[0] = 0;
            self.period_began += Duration::from_nanos(self.period);
        }
        self.period_began = now;
    }
}

fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

/// Returns the number of octets in half the room: no round trip brings more than this can say.
fn count(octets: usize) -> u32 {
    u32::try_from(octets).unwrap_or(u32::MAX)
}

fn octets(count: u32) -> usize {
    usize::try_from(count).unwrap_or(usize::MAX)
}

/// How long a window is kept that is not used (NVP, RFC 7661 §4.4.3, §5).
const NON_VALIDATED_PERIOD: Duration = Duration::from_secs(300);
/// The pipeACK Sampling Period is three round trips, but not less than these nanoseconds (RFC 7661 §4.2)…
const SAMPLING_PERIOD_MIN: u64 = 1_000_000_000;
/// …measured in so many parts (RFC 7661 §4.5.1).
const PERIODS: u64 = 5;

#[cfg(test)]
mod tests {
    use super::*;

    const RTT: Duration = Duration::from_millis(100);
    const FLOOR: usize = 4000;

    fn acked(millis: u64, bytes: usize) -> Acknowledged {
        Acknowledged { now: Instant::from_millis(millis), bytes, srtt: RTT, ..Acknowledged::default() }
    }

    fn window(cwnd: usize) -> CongestionWindow {
        CongestionWindow { cwnd, ssthresh: 50_000 }
    }

    /// 2000 octets acknowledged every 100 ms, the round trip, from 0 to `until_ms`.
    fn thin(until_ms: u64) -> Validation {
        let mut validation = Validation::default();
        for millis in (0..=until_ms).step_by(50) {
            assert_eq!(validation.on_acknowledged(&acked(millis, 1000), window(40_000), FLOOR), None);
        }
        validation
    }

    /// RFC 7661 §4.2.
    #[test]
    fn pipe_ack_is_the_largest_round_trip_of_the_last_second() {
        let mut pipe = PipeAck::default();
        assert_eq!(pipe.value(), None);
        for (millis, bytes) in [(0, 500), (50, 3000), (100, 700), (200, 900), (300, 100)] {
            pipe.on_acknowledged(&acked(millis, bytes), window(4000));
        }
        assert_eq!(pipe.value(), Some(3500));
        pipe.forget_old(Instant::from_millis(1099));
        assert_eq!(pipe.value(), Some(3500));
        pipe.forget_old(Instant::from_millis(1300));
        assert_eq!(pipe.value(), Some(0));
        pipe.on_acknowledged(&acked(60_000, 800), window(4000));
        pipe.on_acknowledged(&acked(60_100, 1), window(4000));
        assert_eq!(pipe.value(), Some(800));
    }

    /// RFC 7661 §4.3.
    #[test]
    fn window_is_validated_while_half_of_it_is_used_or_nothing_is_known() {
        let validation = thin(1000);
        assert!(validation.is_validated(window(4000)));
        assert!(!validation.is_validated(window(4004)));
        assert!(Validation::default().is_validated(window(1_000_000)));
    }

    /// A window of acknowledgments each round trip, of which each octet enlarges it by as much.
    #[test]
    fn window_of_slow_start_is_validated_throughout_as_long_as_it_is_used() {
        let mut validation = Validation::default();
        let mut cwnd = 10_000;
        for round in 0..6 {
            let tenth = cwnd / 10;
            for step in 0..10 {
                validation.on_acknowledged(&acked(100 * round + 10 * step, tenth), window(cwnd), FLOOR);
                cwnd += tenth;
                assert!(validation.is_validated(window(cwnd)), "{cwnd} octets in round {round}");
            }
        }
        validation.pipe_ack.forget_old(Instant::from_millis(10_000));
        assert!(!validation.is_validated(window(cwnd)));
    }

    /// A queue has made the round trip three times as long as the smoothed one says: a third of the window comes back in that time.
    #[test]
    fn window_that_is_used_is_validated_while_a_queue_builds_up() {
        let mut validation = Validation::default();
        for millis in (0..=1200).step_by(10) {
            let latest_rtt = Some(3 * RTT);
            let acked = Acknowledged { latest_rtt, ..acked(millis, 1000) };
            assert_eq!(validation.on_acknowledged(&acked, window(30_000), FLOOR), None);
        }
        assert!(validation.is_validated(window(30_000)));
        assert_eq!(validation.on_loss(30_000, window(30_000), FLOOR), None);
    }

    /// RFC 7661 §4.4.3.
    #[test]
    fn unused_window_is_kept_for_five_minutes_and_then_halved_down_to_the_initial_one() {
        let mut validation = thin(1000);
        let mut send = |millis, cwnd| validation.on_send(Instant::from_millis(millis), window(cwnd), 4404);
        assert_eq!(send(60_000, 40_000), None);
        assert_eq!(send(299_000, 40_000), None);
        assert_eq!(send(302_000, 40_000), Some(window(20_000)));
        assert_eq!(send(303_000, 20_000), None);
        assert_eq!(send(10_000_000, 20_000), Some(window(4404)));
        assert_eq!(send(20_000_000, 4404), None);
    }

    #[test]
    fn threshold_remembers_three_quarters_of_the_rate_once_sustained() {
        let mut validation = thin(1000);
        let low = CongestionWindow { cwnd: 40_000, ssthresh: 8000 };
        let halved = validation.on_send(Instant::from_millis(302_000), low, 4404);
        assert_eq!(halved, Some(CongestionWindow { cwnd: 20_000, ssthresh: 30_000 }));
    }

    /// RFC 7661 §4.4.1: by what was in use; after the recovery less by half of what had to be sent again.
    #[test]
    fn loss_in_an_unvalidated_window_cuts_to_half_of_what_was_in_use() {
        let mut validation = thin(1000);
        let cut = validation.on_loss(20_000, window(60_000), FLOOR).unwrap();
        assert_eq!((cut.cwnd, cut.ssthresh), (10_000, 10_000));
        validation.on_resent(6000);
        let recovering = Acknowledged { in_recovery: true, ..acked(1100, 1000) };
        assert_eq!(validation.on_acknowledged(&recovering, cut, FLOOR), None);
        let after = validation.on_acknowledged(&acked(1200, 1000), cut, FLOOR);
        assert_eq!(after, Some(CongestionWindow { cwnd: 7000, ssthresh: 7000 }));
        assert!(validation.is_validated(window(7000)), "the next measurement begins anew");
        assert_eq!(validation.on_acknowledged(&acked(1300, 1000), window(7000), FLOOR), None);
    }

    #[test]
    fn loss_in_a_validated_window_is_left_to_the_controller() {
        let mut validation = thin(1000);
        assert_eq!(validation.on_loss(3000, window(4000), FLOOR), None);
        assert_eq!(validation.on_acknowledged(&acked(1200, 1000), window(4000), FLOOR), None);
    }
}

//! CUBIC as Linux computes it.
//!
//! RFC 9438 in whole segments. Four things keep its window below the RFC's where windows are small and round trips short: what a
//! loss leaves is rounded down; the Reno estimate counts only once it is ahead by a whole segment; beyond the window of the
//! last loss it grows no faster than before (RFC 9438 §4.3 lets it); and the pace is computed anew 32 times a second at most. HyStart is
//! left out.

use core::time::Duration;

use virtual_time::Instant;

/// A window of whole segments.
#[derive(Clone, Debug)]
pub(crate) struct LinuxCubic {
    cwnd: u64,
    ssthresh: u64,
    /// The window at the last loss, lowered by fast convergence; zero if there was none since the last timeout.
    before_loss: u64,
    /// Acknowledged segments that did not enlarge the window yet.
    credit: u64,
    /// The number of acknowledged segments that enlarge the window by one.
    pace: u64,
    /// The window and the time for which the pace was computed.
    paced: Option<(u64, Instant)>,
    epoch: Option<Epoch>,
    least_rtt: Option<Duration>,
    /// The time up to which idleness was left out of the epoch.
    idle_until: Instant,
}

/// Congestion avoidance since the last loss.
#[derive(Clone, Copy, Debug)]
struct Epoch {
    began: Instant,
    /// The place where the curve is flat: how long after the beginning, in milliseconds, and at which window.
    plateau_ms: u64,
    plateau: u64,
    /// The window that Reno would have, and the segments acknowledged since it last grew.
    estimate: u64,
    acknowledged: u64,
}

impl LinuxCubic {
    pub(crate) fn new(initial: u64) -> Self {
        Self {
            cwnd: initial,
            ssthresh: u64::MAX,
            before_loss: 0,
            credit: 0,
            pace: u64::MAX,
            paced: None,
            epoch: None,
            least_rtt: None,
            idle_until: Instant::EPOCH,
        }
    }

    /// Returns the window, in segments.
    pub(crate) fn cwnd(&self) -> u64 {
        self.cwnd
    }

    /// Returns ssthresh, in segments; the largest number if there was no loss yet.
    pub(crate) fn ssthresh(&self) -> u64 {
        self.ssthresh
    }

    /// Grows the window after `segments` were acknowledged while it was used.
    pub(crate) fn on_acknowledged(&mut self, now: Instant, segments: u64, rtt: Duration) {
        self.least_rtt = Some(self.least_rtt.map_or(rtt, |least| least.min(rtt)));
        let doubling = segments.min(self.ssthresh.saturating_sub(self.cwnd));
        self.cwnd += doubling;
        let rest = segments - doubling;
        if rest == 0 {
            return;
        }
        self.set_pace(now, rest);
        // What was saved up at a slower pace is worth a segment at most.
        if self.credit >= self.pace {
            self.credit = 0;
            self.cwnd += 1;
        }
        self.credit += rest;
        self.cwnd += self.credit / self.pace;
        self.credit %= self.pace;
    }

    /// Sets how many acknowledged segments enlarge the window by one (RFC 9438 §4.2 and §4.3).
    fn set_pace(&mut self, now: Instant, acknowledged: u64) {
        let least_rtt = self.least_rtt.unwrap_or_default();
        let epoch = self.epoch.get_or_insert_with(|| Epoch::new(now, self.cwnd, self.before_loss));
        epoch.acknowledged += acknowledged;
        let is_fresh = |(cwnd, at): (u64, Instant)| cwnd == self.cwnd && now.since(at) <= PACE_LASTS;
        if self.paced.is_some_and(is_fresh) {
            return;
        }
        self.paced = Some((self.cwnd, now));
        let target = epoch.curve(now.since(epoch.began) + least_rtt);
        self.pace = match target.checked_sub(self.cwnd) {
            None | Some(0) => 100 * self.cwnd,
            Some(missing) => self.cwnd / missing,
        };
        if self.before_loss == 0 {
            self.pace = self.pace.min(20);
        }
        let estimate = epoch.estimate(self.cwnd);
        if let Some(behind) = estimate.checked_sub(self.cwnd).filter(|behind| *behind > 0) {
            self.pace = self.pace.min(self.cwnd / behind);
        }
        self.pace = self.pace.max(2);
    }

    /// Reduces the window after a loss (RFC 9438 §4.6, §4.7).
    pub(crate) fn on_loss(&mut self) {
        let has_converged = self.cwnd >= self.before_loss;
        self.before_loss = if has_converged { self.cwnd } else { self.cwnd * 17 / 20 };
        self.ssthresh = (self.cwnd * 7 / 10).max(2);
        self.cwnd = self.ssthresh;
        self.begin_anew();
    }

    /// The window is this now; `is_first` of a row of timeouts.
    pub(crate) fn on_timeout(&mut self, window: u64, is_first: bool) {
        if is_first {
            self.on_loss();
        }
        self.cwnd = window;
        self.before_loss = 0;
        self.begin_anew();
    }

    /// Nothing was in flight for so long: the epoch is that much shorter.
    pub(crate) fn on_idle(&mut self, now: Instant, idle: Duration) {
        let idle = idle.min(now.since(self.idle_until));
        self.idle_until = now;
        if let Some(epoch) = &mut self.epoch {
            epoch.began = (epoch.began + idle).min(now);
        }
    }

    /// Shrinks the window that was not used.
    pub(crate) fn shrink_to(&mut self, window: u64, ssthresh: u64) {
        (self.cwnd, self.ssthresh) = (window, ssthresh);
    }

    fn begin_anew(&mut self) {
        (self.epoch, self.paced, self.credit) = (None, None, 0);
    }
}

impl Epoch {
    fn new(now: Instant, cwnd: u64, before_loss: u64) -> Self {
        // K = ∛((W_max − cwnd)/C) with C = 0.4, in milliseconds.
        let missing = before_loss.saturating_sub(cwnd);
        let plateau_ms = cube_root(missing.saturating_mul(2_500_000_000));
        Self { began: now, plateau_ms, plateau: before_loss.max(cwnd), estimate: cwnd, acknowledged: 0 }
    }

    /// Returns the window of the curve in whole segments (RFC 9438 §4.2, figure 1).
    fn curve(&self, since: Duration) -> u64 {
        let since_ms = u64::try_from(since.as_millis()).unwrap_or(u64::MAX).min(LONGEST_MS);
        let away_ms = since_ms.abs_diff(self.plateau_ms).min(LONGEST_MS);
        let off = away_ms.pow(3) / 2_500_000_000;
        if since_ms < self.plateau_ms { self.plateau.saturating_sub(off) } else { self.plateau + off }
    }

    /// Returns the window that Reno would have: α = 3·(1 − 0.7)/(1 + 0.7), a segment more for each 15/8 windows
    /// (RFC 9438 §4.3).
    fn estimate(&mut self, cwnd: u64) -> u64 {
        let step = (cwnd * 15 / 8).max(1);
        self.estimate += self.acknowledged / step;
        self.acknowledged %= step;
        self.estimate
    }
}

/// Returns the largest number whose cube is not larger.
fn cube_root(cube: u64) -> u64 {
    let (mut low, mut high) = (0_u64, 2_642_245_u64);
    while low < high {
        let middle = (low + high).div_ceil(2);
        if middle.pow(3) <= cube {
            low = middle;
        } else {
            high = middle - 1;
        }
    }
    low
}

/// The pace of an unchanged window is not computed anew within this.
const PACE_LASTS: Duration = Duration::from_micros(31_250);
/// Times are cut off here; their cubes fit 64 bits.
const LONGEST_MS: u64 = 2_000_000;

#[cfg(test)]
mod tests {
    use super::*;

    const RTT: Duration = Duration::from_millis(20);

    /// Acknowledges a window per round trip.
    fn rounds(window: &mut LinuxCubic, from_ms: u64, count: u64) {
        for round in 0..count {
            let cwnd = window.cwnd();
            (0..cwnd).for_each(|_| {
                window.on_acknowledged(Instant::from_millis(from_ms + 20 * round), 1, RTT);
            });
        }
    }

    #[test]
    fn a_loss_leaves_seven_tenths_rounded_down() {
        let mut window = LinuxCubic::new(10);
        rounds(&mut window, 0, 1);
        assert_eq!(window.cwnd(), 20);
        window.on_loss();
        assert_eq!((window.cwnd(), window.ssthresh(), window.before_loss), (14, 14, 20));
        window.on_loss();
        assert_eq!((window.cwnd(), window.before_loss), (9, 11), "a flow that shrinks makes room");
        window.on_timeout(1, true);
        assert_eq!((window.cwnd(), window.ssthresh(), window.before_loss), (1, 6, 0));
    }

    /// Reno's estimate grows by 0.53 segments a round trip, and the window hardly gets before it.
    #[test]
    fn small_windows_follow_reno_from_behind() {
        let mut window = LinuxCubic::new(20);
        window.on_loss();
        for round in 0..24 {
            rounds(&mut window, 20 * round, 1);
            let estimate = window.epoch.map(|epoch| epoch.estimate).unwrap_or_default();
            assert!(window.cwnd() <= estimate + 1, "{} before {estimate}", window.cwnd());
        }
        assert!((24..=27).contains(&window.cwnd()), "{}", window.cwnd());
    }

    /// K = ∛(0.3·200/0.4) = 5.3 s, and as long again for as much more.
    #[test]
    fn large_windows_follow_the_curve() {
        let mut window = LinuxCubic::new(200);
        window.on_loss();
        assert_eq!(window.cwnd(), 140);
        let at = |window: &mut LinuxCubic, ms: u64| {
            (0..window.cwnd()).for_each(|_| window.on_acknowledged(Instant::from_millis(ms), 1, RTT * 5));
        };
        (0..53).for_each(|round| at(&mut window, 100 * round));
        assert!((195..=200).contains(&window.cwnd()), "{}", window.cwnd());
        (53..106).for_each(|round| at(&mut window, 100 * round));
        assert!((240..=262).contains(&window.cwnd()), "{}", window.cwnd());
    }

    #[test]
    fn idleness_is_no_part_of_the_epoch() {
        let mut window = LinuxCubic::new(20);
        window.on_loss();
        rounds(&mut window, 0, 2);
        let later = Instant::from_millis(60_000);
        window.on_idle(later, Duration::from_secs(59));
        window.on_idle(later, Duration::from_secs(59));
        assert_eq!(window.epoch.map(|epoch| epoch.began), Some(Instant::from_millis(59_000)));
    }

    #[test]
    fn cube_roots_are_rounded_down() {
        for (cube, root) in [(0, 0), (1, 1), (7, 1), (8, 2), (27_000_000, 300), (u64::MAX, 2_642_245)] {
            assert_eq!(cube_root(cube), root, "{cube}");
        }
    }
}

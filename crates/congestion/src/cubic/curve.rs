//! The curve of one stage of congestion avoidance, and Reno's beside it.

use core::time::Duration;

use virtual_time::Instant;

use super::Acknowledged;

/// One stage: from a reduction, or the end of slow start, to the next.
#[derive(Clone, Debug)]
pub(crate) struct Epoch {
    /// t = 0, moved forward by the time in which the window limited nobody.
    start: Instant,
    last_heard: Instant,
    segment: u64,
    w_max: u64,
    /// K in microseconds.
    k_micros: u64,
    /// The window that Reno would have, in 1/1024 octets (W_est, RFC 9438 §4.3).
    reno: u64,
    /// Growth not yet worth an octet: this many times 1/cwnd.
    credit: u64,
}

impl Epoch {
    pub(crate) fn new(now: Instant, cwnd: u64, w_max: u64, segment: u64) -> Self {
        let k_micros = k_micros(w_max.saturating_sub(cwnd), segment);
        Self { start: now, last_heard: now, segment, w_max, k_micros, reno: cwnd * RENO_UNIT, credit: 0 }
    }

    /// Returns the window after an acknowledgment (RFC 9438 §4.2, §4.3).
    pub(crate) fn grow(&mut self, acked: &Acknowledged, cwnd: u64, cwnd_prior: u64) -> u64 {
        self.last_heard = acked.now;
        let elapsed = acked.now.since(self.start);
        let reno = self.grow_reno(acked.bytes, cwnd, cwnd_prior);
        if self.at(elapsed) < reno {
            return cwnd.max(reno);
        }
        let target = self.at(elapsed + acked.srtt).clamp(cwnd, cwnd + cwnd / 2);
        let credit = self.credit.saturating_add((target - cwnd).saturating_mul(acked.bytes));
        self.credit = credit % cwnd;
        cwnd + credit / cwnd
    }

    /// The window limited nobody since it was last heard: that time does not count (RFC 9438 §5.8).
    pub(crate) fn pause(&mut self, now: Instant) {
        self.start += now.since(self.last_heard);
        self.last_heard = now;
    }

    /// Grows Reno's window by α segments per window acknowledged and returns it in octets: α is 3·(1 − β)/(1 +
    /// β) = 9/17, and 1 once Reno has caught up.
    fn grow_reno(&mut self, bytes: u64, cwnd: u64, cwnd_prior: u64) -> u64 {
        let (numerator, denominator) = if self.reno < cwnd_prior * RENO_UNIT { (9, 17) } else { (1, 1) };
        let growth = u128::from(bytes) * u128::from(self.segment) * u128::from(RENO_UNIT) * numerator
            / (u128::from(cwnd) * denominator);
        self.reno = self.reno.saturating_add(u64::try_from(growth).unwrap_or(u64::MAX));
        self.reno / RENO_UNIT
    }

    /// Returns W_cubic(t), the height of the curve after `elapsed`, in octets (RFC 9438 §4.2, figure 1).
    fn at(&self, elapsed: Duration) -> u64 {
        let elapsed = i128::try_from(elapsed.as_micros()).unwrap_or(i128::MAX);
        let offset = (elapsed - i128::from(self.k_micros)).clamp(-OFFSET_LIMIT, OFFSET_LIMIT);
        let rise = offset.pow(3) * i128::from(self.segment) * C.0 / C.1 / MICROS_CUBED;
        u64::try_from(i128::from(self.w_max) + rise).unwrap_or(0)
    }
}

/// Returns K, the time that the curve takes to rise by `rise` octets, in microseconds (RFC 9438 §4.2, figure
/// 2).
fn k_micros(rise: u64, segment: u64) -> u64 {
    let cube = u128::from(rise) * MICROS_CUBED.unsigned_abs() * C.1.unsigned_abs()
        / (u128::from(segment) * C.0.unsigned_abs());
    cube_root(cube)
}

/// Returns the largest integer whose cube is not larger.
fn cube_root(value: u128) -> u64 {
    let mut root: u128 = 0;
    for bit in (0..42).rev() {
        let candidate = root | (1 << bit);
        if candidate.pow(3) <= value {
            root = candidate;
        }
    }
    u64::try_from(root).unwrap_or(u64::MAX)
}

/// C = 0.4 segments per second cubed (RFC 9438 §4.1), as a fraction.
const C: (i128, i128) = (4, 10);
const MICROS_CUBED: i128 = 1_000_000_000_000_000_000;
/// Ten minutes either side of the plateau: the curve is never followed so far, and its cube still fits.
const OFFSET_LIMIT: i128 = 600_000_000;
const RENO_UNIT: u64 = 1024;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cube_roots_are_exact() {
        for (value, root) in [(0, 0), (1, 1), (7, 1), (8, 2), (26, 2), (27, 3), (1_000_000_007, 1000)] {
            assert_eq!(cube_root(value), root);
        }
        let largest = u128::from(u64::MAX >> 23);
        assert_eq!(u128::from(cube_root(largest.pow(3))), largest);
        assert_eq!(u128::from(cube_root(largest.pow(3) - 1)), largest - 1);
    }

    /// By hand: ∛(30 / 0.4) = ∛75 = 4.217163326 s.
    #[test]
    fn k_is_the_time_to_the_plateau() {
        assert_eq!(k_micros(30_000, 1000), 4_217_163);
        assert_eq!(k_micros(30 * 1460, 1460), 4_217_163);
        assert_eq!(k_micros(0, 1460), 0);
    }

    /// By hand: 100 − 0.4·75 = 70 segments at 0, 100 + 0.4·(5.782837 s)³ = 177.354 at 10 s.
    #[test]
    fn curve_passes_through_reduction_and_plateau() {
        let epoch = Epoch::new(Instant::EPOCH, 70_000, 100_000, 1000);
        for (millis, expected) in [(0, 70_000), (4217, 100_000), (10_000, 177_354)] {
            let octets = epoch.at(Duration::from_millis(millis));
            assert!(octets.abs_diff(expected) <= 1, "{octets} after {millis} ms");
        }
    }

    #[test]
    fn far_from_the_plateau_the_curve_neither_wraps_nor_panics() {
        let high = Epoch::new(Instant::EPOCH, 1, u64::MAX / 2, 65_535);
        assert!(
            high.at(Duration::from_secs(3600)) < u64::MAX / 2,
            "K is longer than anything the curve is asked for"
        );
        let late = Epoch::new(Instant::EPOCH, 1000, 1000, 65_535);
        assert!(late.at(Duration::MAX) > late.at(Duration::from_secs(60)));
        assert!(Epoch::new(Instant::EPOCH, 1, 1_000_000, 1000).at(Duration::ZERO) <= 2);
    }
}

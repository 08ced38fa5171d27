//! The channel of Gilbert and Elliott: two states, each with a loss probability.

use core::str::FromStr;
use core::time::Duration;

use crate::error::ModelError;
use crate::quantity::{Probability, Rate};

/// Losses in bursts. E. O. Elliott, "Estimates of Error Rates for Codes on Burst-Noise Channels", Bell System Technical
/// Journal 42, 1963; named as the emulator's `ge:p,r,h,k` and Linux' netem do.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GilbertElliott {
    /// `p`: from good to bad, per packet.
    worsens: f64,
    /// `r`: from bad to good.
    recovers: f64,
    /// Loss probabilities in the good (`1 − k`) and in the bad state (`1 − h`).
    losses: [f64; 2],
    /// The rate at which the channel forgets its state, per second, where it goes with time instead of packets.
    forgets: Option<f64>,
}

impl GilbertElliott {
    /// Creates a channel that goes from good to bad with probability `p` and back with `r`; `h` of the packets
    /// survive the bad state and `k` the good one.
    ///
    /// # Errors
    /// [`ModelError::OutOfRange`] if one is outside 0 to 1 or nothing would ever leave the bad state,
    /// [`ModelError::NotAProbability`] if everything would be lost.
    pub fn new(p: f64, r: f64, h: f64, k: f64) -> Result<Self, ModelError> {
        for (quantity, value) in [("p", p), ("r", r), ("h", h), ("k", k)] {
            if !(0.0..=1.0).contains(&value) {
                return Err(ModelError::OutOfRange { quantity, value, range: "from 0 to 1" });
            }
        }
        if p > 0.0 && r <= 0.0 {
            return Err(ModelError::OutOfRange { quantity: "r", value: r, range: "above 0 if p is" });
        }
        let channel = Self { worsens: p, recovers: r, losses: [1.0 - k, 1.0 - h], forgets: None };
        Probability::new(channel.mean())?;
        Ok(channel)
    }

    /// Creates Gilbert's channel: everything is lost in the bad state, nothing in the good one, bad spells of
    /// `burst_packets` on average.
    ///
    /// # Errors
    /// [`ModelError::OutOfRange`] unless `burst_packets ≥ 1` and the loss can be had with such bursts.
    pub fn simple(loss: Probability, burst_packets: f64) -> Result<Self, ModelError> {
        if burst_packets.is_nan() || burst_packets < 1.0 {
            let (quantity, value) = ("the burst length", burst_packets);
            return Err(ModelError::OutOfRange { quantity, value, range: "at least 1 packet" });
        }
        let recovers = burst_packets.recip();
        Self::new(recovers * loss.value() / loss.complement(), recovers, 0.0, 1.0)
    }

    /// Returns the channel that stays good for `good` and bad for `bad` in the mean, whoever sends, as messages see it that come at
    /// random with `rate`.
    ///
    /// # Errors
    /// As [`new`](Self::new); times of zero are out of range.
    pub fn in_time(good: Duration, bad: Duration, [h, k]: [f64; 2], rate: Rate) -> Result<Self, ModelError> {
        for (quantity, span) in [("the time between bursts", good), ("the length of a burst", bad)] {
            if span.is_zero() {
                return Err(ModelError::OutOfRange { quantity, value: 0.0, range: "above 0" });
            }
        }
        let (worsens, recovers) = (good.as_secs_f64().recip(), bad.as_secs_f64().recip());
        let forgets = worsens + recovers;
        // Between two messages a time passes that is distributed exponentially.
        let changed = forgets / (forgets + rate.value());
        let channel = Self::new(worsens / forgets * changed, recovers / forgets * changed, h, k)?;
        Ok(Self { forgets: Some(forgets), ..channel })
    }

    /// Returns the share of packets lost in the long run.
    #[must_use]
    pub fn mean_loss(&self) -> Probability {
        Probability::new(self.mean()).unwrap_or(Probability::ZERO)
    }

    fn mean(&self) -> f64 {
        let [good, bad] = self.stationary();
        good * self.losses[0] + bad * self.losses[1]
    }

    /// Returns the probabilities of the good and the bad state.
    pub(super) fn stationary(&self) -> [f64; 2] {
        if self.worsens <= 0.0 {
            return [1.0, 0.0];
        }
        let bad = self.worsens / (self.worsens + self.recovers);
        [1.0 - bad, bad]
    }

    /// Returns the probability of `to` one packet after `from`. Also one packet before: a chain of two states
    /// looks the same in both directions.
    pub(super) fn step(&self, from: usize, to: usize) -> f64 {
        match (from, to) {
            (0, 0) => 1.0 - self.worsens,
            (0, _) => self.worsens,
            (_, 0) => self.recovers,
            (_, _) => 1.0 - self.recovers,
        }
    }

    /// Returns the loss probability in a state.
    pub(super) fn loss(&self, state: usize) -> f64 {
        self.losses[state]
    }

    /// Returns the loss probability of a packet that follows one in `state` after `seconds`, and after a Poisson number of others
    /// that come with `rate`.
    pub(super) fn loss_after(&self, state: usize, seconds: f64, rate: f64) -> f64 {
        let left = if let Some(forgets) = self.forgets {
            (-forgets * seconds).exp()
        } else {
            let memory = 1.0 - self.worsens - self.recovers;
            // E[memory^(N + 1)] over the Poisson number N.
            memory * (-rate * seconds * (1.0 - memory)).exp()
        };
        let mean = self.mean();
        mean + left * (self.losses[state] - mean)
    }
}

/// `p,r,h,k`, of which `r`, `h`, `k` may be left out from the right: then `1 − p`, 0 and 1, as in `tc-netem(8)`. Numbers or
/// percentages.
impl FromStr for GilbertElliott {
    type Err = ModelError;

    fn from_str(text: &str) -> Result<Self, ModelError> {
        let number = |text: &str| {
            let (digits, unit) = text.strip_suffix('%').map_or((text, 1.0), |digits| (digits, 100.0));
            digits.trim().parse::<f64>().map(|value| value / unit).unwrap_or(f64::NAN)
        };
        let numbers: Vec<f64> = text.split(',').map(number).collect();
        match numbers[..] {
            [p] => Self::new(p, 1.0 - p, 0.0, 1.0),
            [p, r] => Self::new(p, r, 0.0, 1.0),
            [p, r, h] => Self::new(p, r, h, 1.0),
            [p, r, h, k] => Self::new(p, r, h, k),
            _ => Err(ModelError::OutOfRange {
                quantity: "the number of parameters",
                value: f64::from(u32::try_from(numbers.len()).unwrap_or(u32::MAX)),
                range: "1 to 4: p,r,h,k",
            }),
        }
    }
}

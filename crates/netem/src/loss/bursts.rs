//! Bursts that come and go with time, whoever sends.

use core::fmt;
use core::str::FromStr;
use core::time::Duration;

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use virtual_time::Instant;

use super::{ChannelState, fraction_up_to_one};
use crate::parse::{self, ParseError};
use crate::probability::unit;

/// Loss in bursts: a channel with a good and a bad state that stays in each for an exponentially distributed time.
///
/// When the channel is bad is a function of its seed alone, so that transports over links of the same seed meet the same
/// bursts, and one that stalls does not prolong them. It begins in the good state. A packet is lost with `1-h` in the bad
/// state and with `1-k` in the good one, as in [`GilbertElliott`](super::GilbertElliott), whose chain steps per packet.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Bursts {
    good: Duration,
    bad: Duration,
    h: f64,
    k: f64,
}

impl Bursts {
    /// Returns bursts of `bad` in the mean with `good` in the mean between them; `h` of the packets survive the bad state
    /// and `k` the good one.
    ///
    /// # Errors
    /// When a time is zero or longer than a year, `h` or `k` is not between 0 and 1 inclusive, or all would be lost.
    pub fn new(good: Duration, bad: Duration, h: f64, k: f64) -> Result<Self, InvalidBursts> {
        for (name, value) in [("GOOD", good), ("BAD", bad)] {
            if value.is_zero() || value > LONGEST {
                return Err(InvalidBursts::Time { name, value });
            }
        }
        for (name, value) in [("h", h), ("k", k)] {
            if !(0.0..=1.0).contains(&value) {
                return Err(InvalidBursts::OutOfRange { name, value });
            }
        }
        let model = Self { good, bad, h, k };
        if model.mean_loss() >= 1.0 { Err(InvalidBursts::LosesAll) } else { Ok(model) }
    }

    /// Returns the mean time between two bursts.
    #[must_use]
    pub const fn good(&self) -> Duration {
        self.good
    }

    /// Returns the mean length of a burst.
    #[must_use]
    pub const fn bad(&self) -> Duration {
        self.bad
    }

    /// Returns the shares of packets that survive the bad and the good state, `h` and `k`.
    #[must_use]
    pub const fn survivors(&self) -> [f64; 2] {
        [self.h, self.k]
    }

    /// Returns the share of packets lost in the long run, of those sent at any time.
    #[must_use]
    pub fn mean_loss(&self) -> f64 {
        let (good, bad) = (self.good.as_secs_f64(), self.bad.as_secs_f64());
        (bad * (1.0 - self.h) + good * (1.0 - self.k)) / (good + bad)
    }

    fn loss(&self, state: ChannelState) -> f64 {
        match state {
            ChannelState::Good => 1.0 - self.k,
            ChannelState::Bad => 1.0 - self.h,
        }
    }

    fn mean_stay(&self, state: ChannelState) -> Duration {
        match state {
            ChannelState::Good => self.good,
            ChannelState::Bad => self.bad,
        }
    }
}

/// The channel as it goes through time.
#[derive(Clone, Debug)]
pub(crate) struct BurstChannel {
    rng: Xoshiro256PlusPlus,
    /// The model that it goes by, its state, and until when it stays there.
    stay: Option<(Bursts, ChannelState, Instant)>,
}

impl BurstChannel {
    pub(crate) fn new(seed: u64) -> Self {
        Self { rng: Xoshiro256PlusPlus::seed_from_u64(seed), stay: None }
    }

    /// Returns whether a packet of `now` with this draw is lost.
    // Apart from who calls it for each packet, most of which have no such channel to pass.
    #[inline(never)]
    pub(crate) fn loses(&mut self, now: Instant, model: Bursts, loss_draw: u64) -> bool {
        let known = self.stay.filter(|(known, ..)| *known == model);
        // The first model goes on from the beginning of time, one that replaces another from now.
        let begin = if self.stay.is_none() { Instant::EPOCH } else { now };
        let (_, mut state, mut until) = known.unwrap_or_else(|| {
            let state = ChannelState::Good;
            (model, state, begin + self.draw_stay(model, state))
        });
        while until <= now {
            state = state.other();
            until += self.draw_stay(model, state);
        }
        self.stay = Some((model, state, until));
        unit(loss_draw) < model.loss(state)
    }

    /// Draws an exponentially distributed time of at least a nanosecond, so that time goes on.
    fn draw_stay(&mut self, model: Bursts, state: ChannelState) -> Duration {
        let mean = model.mean_stay(state).as_secs_f64();
        let stay = Duration::from_secs_f64(mean * -(1.0 - unit(self.rng.next_u64())).ln());
        stay.max(Duration::from_nanos(1))
    }
}

/// `bursts:GOOD,BAD[,h[,k]]`, two times with their units; left out, `h` is 0 and `k` is 1.
impl FromStr for Bursts {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        let not_bursts = || ParseError::NotBursts { value: text.to_owned() };
        let parts: Vec<&str> = text.strip_prefix(PREFIX).ok_or_else(not_bursts)?.split(',').collect();
        let [good, bad, ref survivors @ ..] = parts[..] else { return Err(not_bursts()) };
        let survivors = survivors
            .iter()
            .map(|text| fraction_up_to_one(text))
            .collect::<Result<Vec<f64>, ParseError>>()?;
        let (h, k) = match survivors[..] {
            [] => (0.0, 1.0),
            [h] => (h, 1.0),
            [h, k] => (h, k),
            _ => return Err(not_bursts()),
        };
        let [good, bad] = [good, bad].map(|text| parse::span(text).ok_or_else(not_bursts));
        Self::new(good?, bad?, h, k)
            .map_err(|reason| ParseError::InvalidBursts { value: text.to_owned(), reason })
    }
}

impl fmt::Display for Bursts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{PREFIX}{:?},{:?},{},{}", self.good, self.bad, self.h, self.k)
    }
}

/// Four values that make no bursts.
#[derive(Clone, Copy, PartialEq, Debug, thiserror::Error)]
pub enum InvalidBursts {
    /// A mean time is zero, or longer than a year.
    #[error("{name} = {value:?} must be above zero and at most a year")]
    Time {
        /// The name of the time, `GOOD` or `BAD`.
        name: &'static str,
        /// The mean time that was given for it.
        value: Duration,
    },
    /// A share of survivors is outside 0 to 1.
    #[error("{name} = {value} must be between 0 and 1")]
    OutOfRange {
        /// The name of the share, `h` or `k`.
        name: &'static str,
        /// The share that was given.
        value: f64,
    },
    /// Both `h` and `k` are zero, so that nothing would arrive.
    #[error("every packet would be lost: h or k must be above 0")]
    LosesAll,
}

impl Eq for InvalidBursts {}

pub(super) const PREFIX: &str = "bursts:";
const LONGEST: Duration = Duration::from_secs(365 * 24 * 3600);

#[cfg(test)]
mod tests {
    use super::*;

    fn bursts(text: &str) -> Bursts {
        text.parse().unwrap()
    }

    #[test]
    fn bursts_are_two_times_and_two_shares() {
        let model = bursts("bursts:990ms,10ms");
        assert_eq!(Bursts::new(Duration::from_millis(990), Duration::from_millis(10), 0.0, 1.0), Ok(model));
        assert!((model.mean_loss() - 0.01).abs() < 1e-12);
        assert_eq!(model.to_string(), "bursts:990ms,10ms,0,1");
        for text in ["bursts:990ms,10ms", "bursts:1.0000001s,3.3µs,0.1,0.95"] {
            assert_eq!(bursts(&bursts(text).to_string()), bursts(text));
        }
        assert!((bursts("bursts:1s,1s,50%,90%").mean_loss() - 0.3).abs() < 1e-12);
    }

    #[test]
    fn unusable_bursts_are_refused_by_name() {
        let refusal = |text: &str| text.parse::<Bursts>().unwrap_err().to_string();
        assert!(refusal("bursts:990ms").contains("bursts:GOOD,BAD"));
        assert!(refusal("bursts:1%,30%").contains("bursts:GOOD,BAD"));
        assert!(refusal("bursts:1s,0ms").contains("BAD = 0ns must be above zero"));
        assert!(refusal("bursts:1s,1ms,130%").contains("h = 1.3 must be between 0 and 1"));
        assert!(refusal("bursts:1s,1ms,0,0").contains("h or k must be above 0"));
    }

    #[test]
    fn the_channel_is_the_same_for_whoever_looks() {
        let model = bursts("bursts:90ms,10ms");
        let lost = |step: u64| {
            let mut channel = BurstChannel::new(7);
            let mut lost = |at: &u64| channel.loses(Instant::from_nanos(*at * 1_000), model, 0);
            (0..10_000_000)
                .step_by(usize::try_from(step).unwrap())
                .filter(|at| lost(at))
                .collect::<Vec<u64>>()
        };
        let (often, seldom) = (lost(100), lost(1_000));
        assert_eq!(seldom, often.into_iter().filter(|at| at % 1_000 == 0).collect::<Vec<_>>());
        let share = seldom.len() as f64 / 10_000.0;
        assert!((0.05..0.15).contains(&share), "{share}");
    }
}

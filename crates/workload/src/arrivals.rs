//! The arrival processes: the times at which requests are sent.

mod trace;

use core::fmt;
use core::str::FromStr;
use core::time::Duration;

use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use thiserror::Error;

pub use trace::{TraceError, parse_trace};

use crate::units::{DurationError, parse_duration};

/// The law of the send times.
///
/// All but [`Trace`](Self::Trace) have the mean interval of the [`ArrivalProcess`].
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub enum Arrivals {
    /// One message every interval, the first at the start.
    Constant,
    /// Exponential intervals: many independent sources, as in the studies S1, S2 and S4. The default.
    #[default]
    Poisson,
    /// Bursts: Poisson during `on`, silent during `off`, in turn, starting with `on`. Both phases have exactly
    /// the length given; within `on` messages come faster, so that the mean interval over both holds.
    OnOff {
        /// Length of a burst, above zero.
        on: Duration,
        /// Length of the silence after it.
        off: Duration,
    },
    /// Exponential intervals on a clock that ticks: a message leaves with the first tick at or after its time, as from a program whose
    /// kernel wakes it by ticks.
    Ticks(Duration),
    /// Recorded intervals: message *n* follows message *n − 1* (the first one follows the start) by the *n*-th
    /// of them. The trace is played once; what lies beyond the run's duration is not sent.
    Trace(Vec<Duration>),
}

/// Draws the send times of one run as offsets from its start, in order.
#[derive(Clone, Debug)]
pub struct ArrivalProcess {
    arrivals: Arrivals,
    interval: Duration,
    rng: Xoshiro256PlusPlus,
    drawn: usize,
    /// Time that has passed on the clock of the process; it stands still in the silence of [`Arrivals::OnOff`].
    clock: Duration,
}

impl ArrivalProcess {
    /// Creates a process with a mean `interval`; the same seed draws the same times.
    ///
    /// # Errors
    ///
    /// [`ArrivalsError::ZeroInterval`]; [`ArrivalsError::ZeroBurst`] for bursts and [`ArrivalsError::ZeroTick`] for ticks of no length.
    pub fn new(arrivals: Arrivals, interval: Duration, seed: u64) -> Result<Self, ArrivalsError> {
        if interval.is_zero() {
            return Err(ArrivalsError::ZeroInterval);
        }
        if arrivals == Arrivals::Ticks(Duration::ZERO) {
            return Err(ArrivalsError::ZeroTick);
        }
        if matches!(arrivals, Arrivals::OnOff { on: Duration::ZERO, .. }) {
            return Err(ArrivalsError::ZeroBurst);
        }
        let rng = Xoshiro256PlusPlus::seed_from_u64(seed);
        Ok(Self { arrivals, interval, rng, drawn: 0, clock: Duration::ZERO })
    }

    /// Returns the offset of the next message from the start; `None` after the end of a trace. Never decreases.
    pub fn next_offset(&mut self) -> Option<Duration> {
        let first = self.drawn == 0;
        let offset = match &self.arrivals {
            Arrivals::Constant if first => Duration::ZERO,
            Arrivals::Constant => self.clock.saturating_add(self.interval),
            Arrivals::Poisson => self.clock.saturating_add(exponential(&mut self.rng, self.interval)),
            Arrivals::Ticks(tick) => {
                self.clock = self.clock.saturating_add(exponential(&mut self.rng, self.interval));
                self.drawn += 1;
                return Some(at_tick(self.clock, *tick));
            }
            Arrivals::OnOff { on, off } => {
                let share = on.as_secs_f64() / (on.as_secs_f64() + off.as_secs_f64());
                let mean = seconds(self.interval.as_secs_f64() * share);
                self.clock = self.clock.saturating_add(exponential(&mut self.rng, mean));
                self.drawn += 1;
                return Some(with_silences(self.clock, *on, *off));
            }
            Arrivals::Trace(intervals) => self.clock.saturating_add(*intervals.get(self.drawn)?),
        };
        self.clock = offset;
        self.drawn += 1;
        Some(offset)
    }
}

/// The name of an arrival process, before its trace file is read.
///
/// Grammar: `poisson`, `constant`, `onoff:ON,OFF` with durations as in `onoff:200ms,800ms`, `ticks:4ms`, `trace:FILE`.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub enum ArrivalSpec {
    /// The process [`Arrivals::Constant`].
    Constant,
    /// [`Arrivals::Poisson`], the default.
    #[default]
    Poisson,
    /// The process [`Arrivals::OnOff`].
    OnOff {
        /// The length of a burst of requests.
        on: Duration,
        /// Length of the silence after it.
        off: Duration,
    },
    /// The process [`Arrivals::Ticks`].
    Ticks(Duration),
    /// [`Arrivals::Trace`] out of this file; its text is for [`parse_trace`].
    Trace(String),
}

impl ArrivalSpec {
    /// Returns the arrivals, if no file is needed; the path of the trace file otherwise.
    ///
    /// # Errors
    ///
    /// The path, so that the caller reads the file and goes on with [`parse_trace`].
    pub fn into_arrivals(self) -> Result<Arrivals, String> {
        match self {
            Self::Constant => Ok(Arrivals::Constant),
            Self::Poisson => Ok(Arrivals::Poisson),
            Self::OnOff { on, off } => Ok(Arrivals::OnOff { on, off }),
            Self::Ticks(tick) => Ok(Arrivals::Ticks(tick)),
            Self::Trace(path) => Err(path),
        }
    }
}

impl FromStr for ArrivalSpec {
    type Err = ArrivalsError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (kind, argument) = text.split_once(':').map_or((text, None), |(kind, rest)| (kind, Some(rest)));
        match (kind, argument) {
            ("constant", None) => Ok(Self::Constant),
            ("poisson", None) => Ok(Self::Poisson),
            ("onoff", Some(phases)) => {
                let unreadable = || ArrivalsError::Unreadable(text.to_owned());
                let (on, off) = phases.split_once(',').ok_or_else(unreadable)?;
                let (on, off) = (parse_duration(on)?, parse_duration(off)?);
                if on.is_zero() { Err(ArrivalsError::ZeroBurst) } else { Ok(Self::OnOff { on, off }) }
            }
            ("ticks", Some(tick)) => {
                let tick = parse_duration(tick).map_err(ArrivalsError::Tick)?;
                if tick.is_zero() { Err(ArrivalsError::ZeroTick) } else { Ok(Self::Ticks(tick)) }
            }
            ("trace", Some(file)) if !file.is_empty() => Ok(Self::Trace(file.to_owned())),
            _ => Err(ArrivalsError::Unreadable(text.to_owned())),
        }
    }
}

impl fmt::Display for ArrivalSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Constant => f.write_str("constant"),
            Self::Poisson => f.write_str("poisson"),
            Self::OnOff { on, off } => write!(f, "onoff:{on:?},{off:?}"),
            Self::Ticks(tick) => write!(f, "ticks:{tick:?}"),
            Self::Trace(file) => write!(f, "trace:{file}"),
        }
    }
}

/// The reason why there is no arrival process.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ArrivalsError {
    /// A mean interval of zero would be infinitely many messages at once.
    #[error("the mean interval between messages must be above zero")]
    ZeroInterval,
    /// Bursts without length carry nothing.
    #[error("onoff: the first duration, the length of a burst, must be above zero")]
    ZeroBurst,
    /// A clock without ticks stands still.
    #[error("ticks: the duration between two ticks must be above zero")]
    ZeroTick,
    /// The duration between two ticks of `ticks` cannot be read.
    #[error("ticks: {0}")]
    Tick(DurationError),
    /// The text is not in the grammar of [`ArrivalSpec`].
    #[error("`{0}` is no arrival process: use poisson, constant, onoff:200ms,800ms, ticks:4ms or trace:FILE")]
    Unreadable(String),
    /// One of the two durations of `onoff`.
    #[error("onoff: {0}")]
    Duration(#[from] DurationError),
}

/// Returns an exponential interval by the inverse of its distribution function.
fn exponential(rng: &mut Xoshiro256PlusPlus, mean: Duration) -> Duration {
    let uniform: f64 = rng.random();
    seconds(-mean.as_secs_f64() * (1.0 - uniform).ln())
}

/// Puts the silences back into a time that counts bursts only.
fn with_silences(clock: Duration, on: Duration, off: Duration) -> Duration {
    let bursts_over = u32::try_from(clock.as_nanos() / on.as_nanos().max(1)).unwrap_or(u32::MAX);
    clock.saturating_add(off.saturating_mul(bursts_over))
}

/// Returns the first tick at or after a time.
fn at_tick(time: Duration, tick: Duration) -> Duration {
    let ticks = time.as_nanos().div_ceil(tick.as_nanos().max(1));
    tick.saturating_mul(u32::try_from(ticks).unwrap_or(u32::MAX))
}

fn seconds(value: f64) -> Duration {
    Duration::try_from_secs_f64(value).unwrap_or(Duration::MAX)
}

#[cfg(test)]
mod tests;

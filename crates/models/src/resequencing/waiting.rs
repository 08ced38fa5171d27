//! How long a message is held back: its own recovery, or that of an earlier message of its stream.

use core::num::NonZeroU32;

use super::recovery::Recovery;
use crate::quantity::{Probability, Rate};

/// The rule by which messages go to streams.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dealing {
    /// One after the other over so many streams.
    RoundRobin(NonZeroU32),
    /// Each message goes to one of so many streams with the same probability, independently.
    Random(NonZeroU32),
    /// No streams: nothing waits for anything but itself.
    Unordered,
}

/// The distribution of `W`, a message's extra delay in one direction.
#[derive(Debug, Clone, PartialEq)]
pub struct Waiting {
    times: Vec<f64>,
    /// `P(W > t)` at each time: kept instead of the complement because it is small.
    tail: Vec<f64>,
}

impl Waiting {
    /// Creates the wait of Poisson arrivals with `rate` (over all streams), of which each is lost with
    /// probability `loss` and then arrives late by an independent `recovery`.
    ///
    /// `P(W ≤ t) = (1 − p·R̄(t)) · Φ(t)`, where `Φ(t)` is the probability that no earlier message of the same
    /// stream is still missing. For round robin the gaps within a stream are Erlang distributed and `Φ`
    /// follows from a system of linear differential equations, see `docs/models.md`; for one stream and for
    /// random dealing it is `exp(−(λp/n)·∫_t^∞ R̄(u) du)`.
    #[must_use]
    pub fn new(recovery: &Recovery, rate: Rate, loss: Probability, dealing: Dealing) -> Self {
        let late = recovery.tail();
        let blocked = blocked(recovery.grid().times(), &late, rate, loss, dealing);
        Self::from_blocked(recovery, loss, blocked)
    }

    /// Creates the wait that [`Self::new`] creates, but `Φ(t)` for `t` from `hindsight.from_s` on is taken with
    /// `hindsight.tail` for `R̄`.
    pub(super) fn with_hindsight(
        recovery: &Recovery,
        hindsight: &Hindsight,
        rate: Rate,
        loss: Probability,
        dealing: Dealing,
    ) -> Self {
        let times = recovery.grid().times();
        let short = blocked(times, &recovery.tail(), rate, loss, dealing);
        let long = blocked(times, &hindsight.tail, rate, loss, dealing);
        let split = times.partition_point(|&time| time < hindsight.from_s);
        // Less is missing in hindsight than before, so this only ever falls.
        let blocked = short.into_iter().take(split).chain(long.into_iter().skip(split)).collect();
        Self::from_blocked(recovery, loss, blocked)
    }

    /// Creates the wait from `P(W > t)` at each time.
    pub(super) fn from_tail(times: Vec<f64>, tail: Vec<f64>) -> Self {
        Self { times, tail }
    }

    /// Creates the wait from the probability that an earlier message is missing.
    fn from_blocked(recovery: &Recovery, loss: Probability, blocked: Vec<f64>) -> Self {
        let either = |late: f64, blocked: f64| loss.value() * late + (1.0 - loss.value() * late) * blocked;
        let tail =
            recovery.tail().into_iter().zip(blocked).map(|(late, blocked)| either(late, blocked)).collect();
        Self { times: recovery.grid().times().to_vec(), tail }
    }

    /// Returns the mean `E[W]` in seconds.
    #[must_use]
    pub fn mean_s(&self) -> f64 {
        let slices = self.times.windows(2).zip(self.tail.windows(2));
        slices.map(|(time, tail)| (time[1] - time[0]) * f64::midpoint(tail[0], tail[1])).sum()
    }

    /// Returns `P(W > t)` for `time_s ≥ 0`, interpolated.
    #[must_use]
    pub fn tail_at(&self, time_s: f64) -> f64 {
        let above = self.times.partition_point(|&time| time <= time_s);
        if above == 0 || above == self.times.len() {
            return if above == 0 { 1.0 } else { 0.0 };
        }
        let (low, high) = (self.times[above - 1], self.times[above]);
        let share = (time_s - low) / (high - low);
        self.tail[above - 1] * (1.0 - share) + self.tail[above] * share
    }

    /// Returns the probability of each grid time; what lies between two of them is halved.
    pub(super) fn masses(&self) -> Vec<f64> {
        let mut masses = vec![0.0; self.tail.len()];
        masses[0] = 1.0 - self.tail[0];
        for (index, tail) in self.tail.windows(2).enumerate() {
            let half = (tail[0] - tail[1]).max(0.0) / 2.0;
            masses[index] += half;
            masses[index + 1] += half;
        }
        masses
    }
}

/// Recovery as a message sees it that has waited for `from_s`: by then its own acknowledgment is back, and
/// with it those of the messages between, which may have revealed the loss that it waits for.
pub(super) struct Hindsight {
    pub(super) from_s: f64,
    /// `R̄(t)` at the grid's times.
    pub(super) tail: Vec<f64>,
}

/// Returns `1 − Φ(t)` at the grid's times: the probability that an earlier message of the stream is missing.
fn blocked(times: &[f64], late: &[f64], rate: Rate, loss: Probability, dealing: Dealing) -> Vec<f64> {
    match dealing {
        Dealing::Unordered => vec![0.0; times.len()],
        Dealing::Random(streams) => {
            let per_stream = rate.value() / f64::from(streams.get());
            blocked_by_poisson(times, late, per_stream * loss.value())
        }
        Dealing::RoundRobin(streams) => blocked_round_robin(times, late, rate, loss, streams),
    }
}

/// Returns `1 − Φ(t) = 1 − exp(−a·∫_t^∞ R̄(u) du)`: losses are a Poisson process with rate `a = λp/n`.
fn blocked_by_poisson(times: &[f64], late: &[f64], loss_rate: f64) -> Vec<f64> {
    let mut blocked = vec![0.0; times.len()];
    let mut integral = 0.0;
    for index in (0..times.len().saturating_sub(1)).rev() {
        integral += (times[index + 1] - times[index]) * f64::midpoint(late[index], late[index + 1]);
        blocked[index] = -(-loss_rate * integral).exp_m1();
    }
    blocked
}

/// Returns `1 − Φ(t)` for round robin over `streams`, by going back in time from a message past the arrivals
/// before it.
///
/// Let `B_j(t)` be the probability that something is missing when the `j`-th arrival back from here is the
/// next message of the same stream. Going back, arrivals come with rate `λ`: `B_j(t) = ∫
/// λe^(−λu)·B_(j−1)(t+u) du`, and at the message itself `B_0(t) = p·R̄(t) + (1 − p·R̄(t))·B_n(t)`. The wanted
/// function is `B_n`; at the horizon all are zero.
fn blocked_round_robin(
    times: &[f64],
    late: &[f64],
    rate: Rate,
    loss: Probability,
    streams: NonZeroU32,
) -> Vec<f64> {
    let stages = streams.get().min(MOST_STAGES);
    let stage_rate = rate.value() * f64::from(stages) / f64::from(streams.get());
    // phases[j] is B_j at the time last visited.
    let mut phases = vec![0.0; 1 + usize::try_from(stages).unwrap_or(usize::MAX)];
    let mut blocked = vec![0.0; times.len()];
    let is_relevant = |index: &usize| late[*index] * loss.value() > IMPOSSIBLE;
    let latest = (0..times.len().saturating_sub(1)).rev().find(is_relevant).unwrap_or(0);
    for index in (0..=latest).rev() {
        let step = StageStep::new(stage_rate * (times[index + 1] - times[index]));
        blocked[index] = step.apply(&mut phases, loss.value() * late[index]);
    }
    blocked
}

/// One step of the stages: `B_j(t) = decay·Φ_j(t+h) + near·Φ_(j−1)(t) + far·Φ_(j−1)(t+h)`, exact where
/// `B_(j−1)` is linear between `t` and `t+h`, whatever the number of arrivals in a step.
pub(super) struct StageStep {
    decay: f64,
    near: f64,
    far: f64,
}

impl StageStep {
    /// Creates the step that sees `arrivals` on average.
    pub(super) fn new(arrivals: f64) -> Self {
        let decay = (-arrivals).exp();
        let far = if arrivals < 1e-4 {
            arrivals / 2.0 - arrivals * arrivals / 3.0
        } else {
            (-(-arrivals).exp_m1() - arrivals * decay) / arrivals
        };
        Self { decay, near: -(-arrivals).exp_m1() - far, far }
    }

    /// Returns `B_j(t)` from `B_j(t+h)`, `B_(j−1)(t)` and `B_(j−1)(t+h)`.
    pub(super) fn combine(&self, later: f64, near: f64, far: f64) -> f64 {
        self.decay * later + self.near * near + self.far * far
    }

    /// Moves the phases one step back in time; `missing` is `p·R̄(t)` there. Returns `B_n(t)`.
    fn apply(&self, phases: &mut [f64], missing: f64) -> f64 {
        // B_0(t) is not known before B_n(t), which depends on it linearly: first without it, …
        let mut far_phase = phases[0];
        let mut near_phase = 0.0;
        let mut share_of_first = 1.0;
        for phase in phases.iter_mut().skip(1) {
            let here = self.combine(*phase, near_phase, far_phase);
            far_phase = *phase;
            near_phase = here;
            *phase = here;
            share_of_first *= self.near;
        }
        // … then solve B_n = near_phase + share·(missing + (1 − missing)·B_n), and add what was left out.
        let last = (near_phase + share_of_first * missing) / (1.0 - share_of_first * (1.0 - missing));
        phases[0] = missing + (1.0 - missing) * last;
        let mut addition = phases[0];
        for phase in phases.iter_mut().skip(1) {
            addition *= self.near;
            if addition < IMPOSSIBLE {
                break;
            }
            *phase += addition;
        }
        last
    }
}

/// Probabilities below are zero.
const IMPOSSIBLE: f64 = 1e-18;
/// The largest number of stages. More streams are computed as so many with the rate lowered in proportion: the
/// gaps within a stream keep their mean and vary by 2 % either way.
const MOST_STAGES: u32 = 2048;

//! How long a message is held back: its own recovery, or that of an earlier message of its stream.

use core::num::NonZeroU32;

use super::recovery::Recovery;
use crate::quantity::{Probability, Rate};

/// To which stream a message goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dealing {
    /// One after the other over so many streams.
    RoundRobin(NonZeroU32),
    /// To each of so many streams with the same probability, independently.
    Random(NonZeroU32),
    /// No streams: nothing waits for anything but itself.
    Unordered,
}

/// The distribution of `W`, a message's extra delay in one direction.
#[derive(Debug, Clone, PartialEq)]
pub struct Waiting {
    times: Vec<f64>,
    /// `P(W ≤ t)` at each time.
    cdf: Vec<f64>,
}

impl Waiting {
    /// The wait of Poisson arrivals with `rate` (over all streams), of which each is lost with probability `loss`
    /// and then arrives late by an independent `recovery`.
    ///
    /// `P(W ≤ t) = (1 − p·R̄(t)) · Φ(t)`, where `Φ(t)` is the probability that no earlier message of the same
    /// stream is still missing. For round robin the gaps within a stream are Erlang distributed and `Φ` follows
    /// from a system of linear differential equations, see `docs/models.md`; for one stream and for random dealing
    /// it is `exp(−(λp/n)·∫_t^∞ R̄(u) du)`.
    #[must_use]
    pub fn new(recovery: &Recovery, rate: Rate, loss: Probability, dealing: Dealing) -> Self {
        let times = recovery.grid().times().to_vec();
        let tail = recovery.tail();
        let clear = match dealing {
            Dealing::Unordered => vec![1.0; times.len()],
            Dealing::Random(streams) => {
                let per_stream = rate.value() / f64::from(streams.get());
                no_loss_behind_poisson(&times, &tail, per_stream * loss.value())
            }
            Dealing::RoundRobin(streams) => no_loss_behind_round_robin(&times, &tail, rate, loss, streams),
        };
        let cdf = tail.iter().zip(clear).map(|(late, clear)| (1.0 - loss.value() * late) * clear).collect();
        Self { times, cdf }
    }

    /// `E[W]` in seconds.
    #[must_use]
    pub fn mean_s(&self) -> f64 {
        let slices = self.times.windows(2).zip(self.cdf.windows(2));
        slices.map(|(time, cdf)| (time[1] - time[0]) * (1.0 - f64::midpoint(cdf[0], cdf[1]))).sum()
    }

    /// `P(W > t)` for `time_s ≥ 0`, interpolated.
    #[must_use]
    pub fn tail_at(&self, time_s: f64) -> f64 {
        let above = self.times.partition_point(|&time| time <= time_s);
        if above == 0 || above == self.times.len() {
            return if above == 0 { 1.0 } else { 0.0 };
        }
        let (low, high) = (self.times[above - 1], self.times[above]);
        let share = (time_s - low) / (high - low);
        1.0 - (self.cdf[above - 1] * (1.0 - share) + self.cdf[above] * share)
    }

    /// The probability of each grid time; what lies between two of them is halved.
    pub(super) fn masses(&self) -> Vec<f64> {
        let mut masses = vec![0.0; self.cdf.len()];
        masses[0] = self.cdf[0];
        for (index, cdf) in self.cdf.windows(2).enumerate() {
            let half = (cdf[1] - cdf[0]).max(0.0) / 2.0;
            masses[index] += half;
            masses[index + 1] += half;
        }
        masses
    }
}

/// `Φ(t) = exp(−a·∫_t^∞ R̄(u) du)`: losses are a Poisson process with rate `a = λp/n`.
fn no_loss_behind_poisson(times: &[f64], tail: &[f64], loss_rate: f64) -> Vec<f64> {
    let mut clear = vec![1.0; times.len()];
    let mut integral = 0.0;
    for index in (0..times.len().saturating_sub(1)).rev() {
        integral += (times[index + 1] - times[index]) * f64::midpoint(tail[index], tail[index + 1]);
        clear[index] = (-loss_rate * integral).exp();
    }
    clear
}

/// `Φ(t)` for round robin over `streams`, by going back in time from a message past the arrivals before it.
///
/// Let `Φ_j(t)` be the probability that nothing is missing when `j` more arrivals lie between here and the next
/// message of the same stream. Going back, arrivals come with rate `λ`: `Φ_j(t) = ∫ λe^(−λu)·Φ_(j−1)(t+u) du`, and at
/// the message itself `Φ_0(t) = (1 − p·R̄(t))·Φ_n(t)`. The wanted function is `Φ_n`; at the horizon all are one.
fn no_loss_behind_round_robin(
    times: &[f64],
    tail: &[f64],
    rate: Rate,
    loss: Probability,
    streams: NonZeroU32,
) -> Vec<f64> {
    let stages = streams.get().min(MOST_STAGES);
    let stage_rate = rate.value() * f64::from(stages) / f64::from(streams.get());
    // phases[j] is Φ_j at the time last visited.
    let mut phases = vec![1.0; 1 + usize::try_from(stages).unwrap_or(usize::MAX)];
    let mut clear = vec![1.0; times.len()];
    for index in (0..times.len().saturating_sub(1)).rev() {
        let step = StageStep::new(stage_rate * (times[index + 1] - times[index]));
        clear[index] = step.apply(&mut phases, 1.0 - loss.value() * tail[index]);
    }
    clear
}

/// One step of the stages: `Φ_j(t) = decay·Φ_j(t+h) + near·Φ_(j−1)(t) + far·Φ_(j−1)(t+h)`, exact where `Φ_(j−1)` is
/// linear between `t` and `t+h`, whatever the number of arrivals in a step.
struct StageStep {
    decay: f64,
    near: f64,
    far: f64,
}

impl StageStep {
    /// For a step that sees `arrivals` on average.
    fn new(arrivals: f64) -> Self {
        let decay = (-arrivals).exp();
        let far = if arrivals < 1e-4 {
            arrivals / 2.0 - arrivals * arrivals / 3.0
        } else {
            (-(-arrivals).exp_m1() - arrivals * decay) / arrivals
        };
        Self { decay, near: -(-arrivals).exp_m1() - far, far }
    }

    /// Moves the phases one step back in time; `survival` is `1 − p·R̄(t)` there. Returns `Φ_n(t)`.
    fn apply(&self, phases: &mut [f64], survival: f64) -> f64 {
        // Φ_0(t) is not known before Φ_n(t), which depends on it linearly: first without it, …
        let mut far_phase = phases[0];
        let mut near_phase = 0.0;
        let mut share_of_first = 1.0;
        for phase in phases.iter_mut().skip(1) {
            let here = self.decay * *phase + self.near * near_phase + self.far * far_phase;
            far_phase = *phase;
            near_phase = here;
            *phase = here;
            share_of_first *= self.near;
        }
        // … then solve Φ_n = near_phase + share·survival·Φ_n, and add what was left out.
        let last = near_phase / (1.0 - share_of_first * survival);
        phases[0] = survival * last;
        let mut addition = phases[0];
        for phase in phases.iter_mut().skip(1) {
            addition *= self.near;
            if addition < f64::EPSILON {
                break;
            }
            *phase += addition;
        }
        last
    }
}

/// More streams are computed as so many with the rate lowered in proportion: the gaps within a stream keep their mean
/// and vary by 2 % either way.
const MOST_STAGES: u32 = 2048;

//! How late a lost message arrives: the distribution of `R`, attempt by attempt. Owns no transport's rules.

use core::time::Duration;

use super::grid::{Grid, Masses};
use crate::error::ModelError;
use crate::numeric::erlang_tail;
use crate::quantity::Probability;

/// The distribution of `R`: by how much a lost message arrives later than if it had not been lost.
#[derive(Debug, Clone, PartialEq)]
pub struct Recovery {
    grid: Grid,
    masses: Masses,
}

impl Recovery {
    /// Creates the recovery in which `R` is always the same.
    ///
    /// # Errors
    /// [`ModelError::ZeroDuration`] if `time` is zero.
    pub fn constant(time: Duration) -> Result<Self, ModelError> {
        Self::from_atoms(&[(time, 1.0)])
    }

    /// Creates the recovery in which `R` takes each time with a probability in proportion to its weight;
    /// negative weights count as zero.
    ///
    /// # Errors
    /// [`ModelError::ZeroDuration`] if no weight is positive or the mean is zero.
    pub fn from_atoms(atoms: &[(Duration, f64)]) -> Result<Self, ModelError> {
        let weights: f64 = atoms.iter().map(|(_, weight)| weight.max(0.0)).sum();
        let mean =
            atoms.iter().map(|(time, weight)| time.as_secs_f64() * weight.max(0.0)).sum::<f64>() / weights;
        if mean.is_nan() || mean <= 0.0 {
            return Err(ModelError::ZeroDuration { quantity: "the mean recovery time" });
        }
        let grid = Grid::new(mean);
        let origin = grid.origin();
        let mut masses = grid.empty();
        for (time, weight) in atoms {
            grid.add_shifted(&origin, time.as_secs_f64(), weight.max(0.0) / weights, &mut masses);
        }
        Ok(Self { grid, masses })
    }

    /// Creates the `R` of a retransmission scheme: from attempt `first` on, each attempt ends with a
    /// retransmission, which is lost with probability `loss` and then leads to the next attempt.
    pub(super) fn from_attempts(grid: Grid, attempts: &[Attempt], first: usize, loss: Probability) -> Self {
        // Only the first attempt begins at a sharp time; what the later ones add to is spread out already.
        let mut outcomes: Vec<Vec<Outcome>> =
            attempts.iter().map(|attempt| attempt.outcomes(&grid)).collect();
        for outcomes in outcomes.iter_mut().skip(1) {
            *outcomes = coarser(core::mem::take(outcomes));
        }
        let mut waiting: Vec<Masses> = attempts.iter().map(|_| grid.empty()).collect();
        let mut next = waiting.clone();
        waiting[first] = grid.origin();
        let mut masses = grid.empty();
        let mut left = 1.0;
        for _ in 0..MOST_ATTEMPTS {
            next.iter_mut().for_each(Masses::clear);
            for (begun, outcomes) in waiting.iter().zip(&outcomes) {
                if begun.total() < INSIGNIFICANT {
                    continue;
                }
                for outcome in outcomes {
                    grid.add_shifted(begun, outcome.after_s, outcome.weight, &mut next[outcome.next]);
                }
            }
            for retransmitted in &mut next {
                masses.add(retransmitted, loss.complement());
                retransmitted.scale(loss.value());
            }
            core::mem::swap(&mut waiting, &mut next);
            left *= loss.value();
            if left < INSIGNIFICANT {
                break;
            }
        }
        let total = masses.total();
        // Rounding and the cut of hopeless attempts leave it just below one.
        masses.scale(total.recip());
        Self { grid, masses }
    }

    /// Returns the mean `E[R]` in seconds.
    #[must_use]
    pub fn mean_s(&self) -> f64 {
        self.grid.mean(self.masses.at())
    }

    pub(super) fn grid(&self) -> &Grid {
        &self.grid
    }

    /// Returns `R̄(t)` at the grid's times.
    pub(super) fn tail(&self) -> Vec<f64> {
        Grid::tail(self.masses.at())
    }
}

/// One wait for a retransmission: the acknowledgments of later packets or a timer, whichever is first.
#[derive(Debug, Clone)]
pub(super) struct Attempt {
    /// The work of acknowledgments; `None` where only the timer is left.
    pub(super) feedback: Option<Feedback>,
    /// The times at which the timer fires, in seconds after the packet was sent, with their probabilities.
    pub(super) timer: Vec<(f64, f64)>,
    /// The time before its acknowledgment, in seconds, at which a revealing packet stops the timer: zero if the
    /// acknowledgment does it, a round-trip time if the timer is re-armed by each transmission, as a probe is.
    pub(super) stopped_before_s: f64,
    /// The attempt that follows if the retransmission was caused by feedback and is lost.
    pub(super) after_feedback: usize,
    /// The attempt that follows if the retransmission was caused by the timer.
    pub(super) after_timer: usize,
}

/// How acknowledgments reveal that a packet is lost.
#[derive(Debug, Clone, Copy)]
pub(super) struct Feedback {
    /// The time from sending a revealing packet to its acknowledgment, in seconds.
    pub(super) rtt_s: f64,
    /// Revealing packets per second.
    pub(super) rate: f64,
    /// The number of revealing packets that are needed.
    pub(super) packets: u32,
    /// The time that must have passed since the acknowledgment of the lost packet was due, in seconds (RACK's
    /// reordering window).
    pub(super) window_s: f64,
    /// The number of packets whose acknowledgments make waiting for the window unnecessary.
    pub(super) packets_within_window: Option<u32>,
}

/// A possible end of an attempt.
struct Outcome {
    after_s: f64,
    weight: f64,
    next: usize,
}

impl Attempt {
    /// Cuts the attempt into the grid's slices. The weights sum to one.
    fn outcomes(&self, grid: &Grid) -> Vec<Outcome> {
        let mut outcomes = Vec::new();
        if let Some(feedback) = self.feedback {
            let latest = self.timer.iter().map(|(time, _)| *time).fold(0.0, f64::max) + self.stopped_before_s;
            let mut unrevealed = feedback.tail(0.0);
            for pair in grid.times().windows(2).take_while(|pair| pair[0] < latest) {
                if unrevealed <= INSIGNIFICANT {
                    break;
                }
                let middle = f64::midpoint(pair[0], pair[1]);
                let later = feedback.tail(pair[1]);
                let mass = unrevealed - later;
                unrevealed = later;
                let weight = mass * self.timer_tail(middle - self.stopped_before_s);
                if weight > INSIGNIFICANT {
                    outcomes.push(Outcome { after_s: middle, weight, next: self.after_feedback });
                }
            }
        }
        for &(time, weight) in &self.timer {
            let stopped_until = time + self.stopped_before_s;
            let unrevealed = self.feedback.map_or(1.0, |feedback| feedback.tail(stopped_until));
            outcomes.push(Outcome { after_s: time, weight: weight * unrevealed, next: self.after_timer });
        }
        let total: f64 = outcomes.iter().map(|outcome| outcome.weight).sum();
        for outcome in &mut outcomes {
            outcome.weight /= total;
        }
        outcomes
    }

    /// Returns the mean time to the retransmission, in seconds.
    pub(super) fn mean_s(&self, grid: &Grid) -> f64 {
        self.outcomes(grid).iter().map(|outcome| outcome.after_s * outcome.weight).sum()
    }

    /// Returns the probability, at the grid's times, that the retransmission is later.
    pub(super) fn tail(&self, grid: &Grid) -> Vec<f64> {
        let origin = grid.origin();
        let mut masses = grid.empty();
        for outcome in self.outcomes(grid) {
            grid.add_shifted(&origin, outcome.after_s, outcome.weight, &mut masses);
        }
        Grid::tail(masses.at())
    }

    /// Returns the probability that the timer has not fired at `time`.
    fn timer_tail(&self, time_s: f64) -> f64 {
        self.timer.iter().filter(|(fires, _)| *fires > time_s).map(|(_, weight)| weight).sum()
    }
}

impl Feedback {
    /// Returns the feedback that is left when `packets` of the revealing packets are known to be there.
    pub(super) fn after(self, packets: u32) -> Self {
        Self {
            packets: self.packets.saturating_sub(packets),
            packets_within_window: self.packets_within_window.map(|needed| needed.saturating_sub(packets)),
            ..self
        }
    }

    /// Returns the probability that the loss is not revealed at `time` seconds after the packet was sent.
    fn tail(&self, time_s: f64) -> f64 {
        let sent_before = time_s - self.rtt_s;
        if sent_before < 0.0 {
            return 1.0;
        }
        if sent_before >= self.window_s {
            return erlang_tail(self.packets, self.rate, sent_before);
        }
        self.packets_within_window.map_or(1.0, |packets| erlang_tail(packets, self.rate, sent_before))
    }
}

/// Merges neighbours until each has a weight of at least [`COARSE_WEIGHT`], keeping their mean.
fn coarser(outcomes: Vec<Outcome>) -> Vec<Outcome> {
    let mut merged: Vec<Outcome> = Vec::new();
    for outcome in outcomes {
        match merged.last_mut() {
            Some(last) if last.next == outcome.next && last.weight < COARSE_WEIGHT => {
                let weight = last.weight + outcome.weight;
                last.after_s = (last.after_s * last.weight + outcome.after_s * outcome.weight) / weight;
                last.weight = weight;
            }
            Some(_) | None => merged.push(outcome),
        }
    }
    merged
}

/// Probabilities below are not followed further.
const INSIGNIFICANT: f64 = 1e-12;
/// The least weight of an outcome of a later attempt, where there is a neighbour to share with.
const COARSE_WEIGHT: f64 = 0.005;
/// The largest number of attempts: at 90 % loss one message in 10⁹ needs so many.
const MOST_ATTEMPTS: u32 = 200;

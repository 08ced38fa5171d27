//! Going through the arrivals backwards. Owns the recursion and its numbers.
//!
//! The question is whether a message that was sent `t` ago could have been delivered by now (all times less the one-way
//! delay). Going back from now, every packet met changes what is known: the state of the channel, and for how many
//! packets behind it acknowledgments are back. A lost packet of the stream is missing as long as too few are, and after
//! that if its retransmission was lost and not repaired since.

use core::num::NonZeroU32;

use super::{Detection, GilbertElliott};
use crate::resequencing::Scenario;
use crate::resequencing::rules::Rules;
use crate::resequencing::waiting::{StageStep, Waiting};

/// Returns `P(W > t)` on the grid of the rules. `streams`: round robin over so many; none: unordered.
pub(super) fn waiting(scenario: &Scenario, channel: &GilbertElliott, streams: Option<NonZeroU32>) -> Waiting {
    let rules = Rules::sctp(scenario);
    let times = rules.recovery.grid().times().to_vec();
    let scan = Scan::new(scenario, channel, &rules, &times);
    let latest = scan.latest(&times);
    let blocked = match streams {
        Some(streams) => scan.blocked(&times, latest, streams),
        None => vec![vec![0.0; scan.phases()]; times.len()],
    };
    let mut tail = vec![0.0; times.len()];
    let mut after = scan.stationary();
    for index in 0..=latest {
        if index > 0 {
            scan.pass(&mut after, times[index - 1], times[index], index);
        }
        let missing = scan.own(index, &blocked[index]);
        tail[index] = after.iter().zip(missing).map(|(weight, missing)| weight * missing).sum();
    }
    Waiting::from_tail(times, tail)
}

/// A phase is a channel state and a word of bits: bit 0 says whether losses met next are still missing, bit `i` whether
/// those behind `i` further reports are; the highest bit, whether any report is back.
struct Scan<'a> {
    channel: &'a GilbertElliott,
    rate: f64,
    /// The probability that an acknowledgment survives.
    reported: f64,
    words: usize,
    /// The probability, by time and channel state, that what a report at this time reveals is missing still.
    missing_behind: Vec<[f64; 2]>,
    /// The probability, by time, that a loss at this time is missing of which no report is back.
    unrevealed: Vec<f64>,
    /// How many points of the grid a loss is young for, whatever was reported.
    young: usize,
    /// How many points of the grid a report is not back for.
    unheard: usize,
}

impl<'a> Scan<'a> {
    fn new(scenario: &Scenario, channel: &'a GilbertElliott, rules: &Rules, times: &[f64]) -> Self {
        let detection = Detection::of(scenario);
        let (rate, rtt_s) = (scenario.rate.value(), scenario.rtt.as_secs_f64());
        let again = rules.repeated_tail();
        let at = |time: f64| interpolated(times, &again, time);
        let lost_again = [0, 1].map(|state| channel.loss_after(state, rtt_s, rate));
        let missing_behind = times.iter().map(|&time| {
            let since = time - rtt_s;
            lost_again.map(|lost| if since < 0.0 { 1.0 } else { lost * at(since) })
        });
        let mean = scenario.loss.value();
        let timer_s = rules.first_timer_s() + (rtt_s - rate.recip()).max(0.0);
        let by_timer = |time: f64| if time < timer_s { 1.0 } else { mean * at(time - timer_s) };
        Self {
            channel,
            rate,
            reported: scenario.loss.complement(),
            words: 2 << detection.reports,
            missing_behind: missing_behind.collect(),
            unrevealed: times.iter().map(|&time| by_timer(time)).collect(),
            young: times.partition_point(|&time| time < detection.window_s),
            unheard: times.partition_point(|&time| time < rtt_s),
        }
    }

    fn phases(&self) -> usize {
        2 * self.words
    }

    /// Returns the highest bit of a word.
    fn heard(&self) -> usize {
        self.words / 2
    }

    /// Returns the last point of the grid that matters.
    fn latest(&self, times: &[f64]) -> usize {
        let matters = |index: &usize| {
            let [good, bad] = self.missing_behind[*index];
            good.max(bad).max(self.unrevealed[*index]) > IMPOSSIBLE
        };
        (0..times.len().saturating_sub(1)).rev().find(matters).unwrap_or(0)
    }

    /// Returns the probabilities of the phases now, when nothing is known.
    fn stationary(&self) -> Vec<f64> {
        let mut weights = vec![0.0; self.phases()];
        for (state, weight) in self.channel.stationary().into_iter().enumerate() {
            weights[state * self.words + self.heard() - 1] = weight;
        }
        weights
    }

    /// Returns what an arrival of another stream at grid point `index` makes of each phase: its weight and the
    /// phase behind it.
    fn passes(&self, phase: usize, index: usize) -> impl Iterator<Item = (f64, usize)> {
        let (from, word) = (phase / self.words, phase % self.words);
        (0..2).flat_map(move |to| {
            let step = self.channel.step(from, to);
            let report = (1.0 - self.channel.loss(to)) * self.reported;
            let behind = self.missing_behind[index][to];
            let base = to * self.words;
            let heard = if index < self.unheard { word & self.heard() } else { self.heard() };
            let shifted = (word & (self.heard() - 1)) >> 1 | heard;
            [
                (step * (1.0 - report), base + word),
                (step * report * behind, base + shifted + self.heard() / 2),
                (step * report * (1.0 - behind), base + shifted),
            ]
        })
    }

    /// Moves the distribution of the phases on from one time to the next: Poisson arrivals of packets sent later than the
    /// message.
    fn pass(&self, weights: &mut Vec<f64>, from: f64, to: f64, index: usize) {
        let mean = self.rate * (to - from);
        let mut arrivals = core::mem::replace(weights, vec![0.0; self.phases()]);
        let mut probability = (-mean).exp();
        let mut left = 1.0;
        let mut count = 0.0;
        loop {
            for (weight, arrival) in weights.iter_mut().zip(&arrivals) {
                *weight += probability * arrival;
            }
            left -= probability;
            if left < NEGLIGIBLE || count > 4.0 * mean + 50.0 {
                break;
            }
            let mut next = vec![0.0; self.phases()];
            for (phase, weight) in arrivals.iter().enumerate().filter(|(_, weight)| **weight > 0.0) {
                for (share, behind) in self.passes(phase, index) {
                    next[behind] += weight * share;
                }
            }
            arrivals = next;
            count += 1.0;
            probability *= mean / count;
        }
    }

    /// Returns the probability, by phase, that something is missing from a message of the stream at grid point
    /// `index` on, `blocked` being that of what is behind it.
    fn own(&self, index: usize, blocked: &[f64]) -> Vec<f64> {
        let of_phase = |phase: usize| {
            let (from, word) = (phase / self.words, phase % self.words);
            let is_open = word & 1 == 1;
            let missing = if index < self.young {
                1.0
            } else if is_open {
                if word & self.heard() == 0 { self.unrevealed[index] } else { 1.0 }
            } else {
                0.0
            };
            let kept: f64 = self.passes(phase, index).map(|(share, behind)| share * blocked[behind]).sum();
            let lost: f64 = (0..2)
                .map(|to| {
                    let lost = self.channel.step(from, to) * self.channel.loss(to);
                    lost * missing * (1.0 - blocked[to * self.words + word])
                })
                .sum();
            kept + lost
        };
        (0..self.phases()).map(of_phase).collect()
    }

    /// Returns the probability, by grid point and phase, that something is missing behind a message of the
    /// stream.
    fn blocked(&self, times: &[f64], latest: usize, streams: NonZeroU32) -> Vec<Vec<f64>> {
        let stages = usize::try_from(streams.get()).unwrap_or(usize::MAX);
        let phases = self.phases();
        let mut result = vec![vec![0.0; phases]; times.len()];
        // stages[j] at the point last visited: the (j+1)-th arrival back is the next message of the stream.
        let mut later = vec![vec![0.0; phases]; stages];
        let mut own_later = vec![0.0; phases];
        for index in (0..=latest).rev() {
            let step = StageStep::new(self.rate * (times[index + 1] - times[index]));
            let mut last = later[stages - 1].clone();
            // What is behind the message at this point depends on itself, weakly unless a step sees many arrivals.
            for _ in 0..MOST_ROUNDS {
                let own = self.own(index, &last);
                let now = self.stages(index, &step, &later, &own_later, &own);
                let change = largest_difference(&now[stages - 1], &last);
                last.clone_from(&now[stages - 1]);
                if change < CONVERGED {
                    own_later = own;
                    later = now;
                    break;
                }
            }
            result[index].clone_from(&last);
        }
        result
    }

    /// Returns the stages one step further back, given what an own message at this point means (`own`) and
    /// meant at the point before.
    fn stages(
        &self,
        index: usize,
        step: &StageStep,
        later: &[Vec<f64>],
        own_later: &[f64],
        own: &[f64],
    ) -> Vec<Vec<f64>> {
        let mut now = Vec::with_capacity(later.len());
        let (mut near, mut far) = (own.to_vec(), own_later.to_vec());
        for stage in later {
            let combined = |((stage, near), far): ((&f64, &f64), &f64)| step.combine(*stage, *near, *far);
            let here: Vec<f64> = stage.iter().zip(&near).zip(&far).map(combined).collect();
            near = self.behind_other(index, &here);
            far = self.behind_other(index + 1, stage);
            now.push(here);
        }
        now
    }

    /// Returns the expectation of `values` behind an arrival of another stream.
    fn behind_other(&self, index: usize, values: &[f64]) -> Vec<f64> {
        let of_phase = |phase| self.passes(phase, index).map(|(share, behind)| share * values[behind]).sum();
        (0..self.phases()).map(of_phase).collect()
    }
}

fn largest_difference(one: &[f64], other: &[f64]) -> f64 {
    one.iter().zip(other).map(|(one, other)| (one - other).abs()).fold(0.0, f64::max)
}

/// Returns the value of a function of time between the points of the grid.
fn interpolated(times: &[f64], values: &[f64], time: f64) -> f64 {
    let above = times.partition_point(|&point| point <= time);
    if above == 0 || above == times.len() {
        return if above == 0 { 1.0 } else { 0.0 };
    }
    let share = (time - times[above - 1]) / (times[above] - times[above - 1]);
    values[above - 1] * (1.0 - share) + values[above] * share
}

/// Probabilities below are zero.
const IMPOSSIBLE: f64 = 1e-12;
const NEGLIGIBLE: f64 = 1e-14;
const CONVERGED: f64 = 1e-12;
/// A step with many arrivals converges slowly, but is far out where little is left.
const MOST_ROUNDS: usize = 200;

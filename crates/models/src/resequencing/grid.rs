//! Points in time on which distributions are kept: fine and even near zero, then growing in proportion.

use core::ops::Range;

/// Times in seconds, ascending from zero.
///
/// Up to `2.5` scales the points are `scale / 200` apart; beyond, each is 0.2 % later than the one before, up
/// to [`HORIZON_S`]. Repeated timeouts reach minutes, and what happens near a round-trip time must not blur.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Grid {
    times: Vec<f64>,
}

impl Grid {
    /// Creates a grid for a path whose times of interest are around `scale_s`.
    pub(super) fn new(scale_s: f64) -> Self {
        let step = scale_s / FINE_STEPS_PER_SCALE;
        let mut times: Vec<f64> = (0..=FINE_STEPS).map(|index| f64::from(index) * step).collect();
        let growth = 1.0 + f64::from(FINE_STEPS).recip();
        let mut time = f64::from(FINE_STEPS) * step;
        while time < HORIZON_S {
            time *= growth;
            times.push(time);
        }
        Self { times }
    }

    pub(super) fn times(&self) -> &[f64] {
        &self.times
    }

    /// Returns a distribution without any mass, to add to.
    pub(super) fn empty(&self) -> Masses {
        Masses { at: vec![0.0; self.times.len()], within: 0..0 }
    }

    /// Returns the distribution of a time that is zero.
    pub(super) fn origin(&self) -> Masses {
        let mut origin = self.empty();
        (origin.at[0], origin.within) = (1.0, 0..1);
        origin
    }

    /// Adds `source`, moved by `shift_s` and multiplied by `weight`, to `target`. Mass between two points is
    /// split so that the mean is kept; what falls beyond the end is put there.
    pub(super) fn add_shifted(&self, source: &Masses, shift_s: f64, weight: f64, target: &mut Masses) {
        let last = self.times.len() - 1;
        let within = source.within.clone();
        let earliest = self.times[within.start] + shift_s;
        let mut above = self.times.partition_point(|&time| time <= earliest).clamp(1, last);
        let lowest = above - 1;
        for (&mass, &time) in source.at[within.clone()].iter().zip(&self.times[within]) {
            if mass < NEGLIGIBLE {
                continue;
            }
            let moved = time + shift_s;
            while above < last && self.times[above] <= moved {
                above += 1;
            }
            let (low, high) = (self.times[above - 1], self.times[above]);
            let share = ((moved - low) / (high - low)).clamp(0.0, 1.0);
            target.at[above - 1] += mass * weight * (1.0 - share);
            target.at[above] += mass * weight * share;
        }
        target.widen(lowest..above + 1);
    }

    /// Returns the distribution of the sum of two independent times.
    pub(super) fn convolve(&self, one: &[f64], other: &[f64]) -> Masses {
        let other = Masses { within: 0..other.len(), at: other.to_vec() };
        let mut sum = self.empty();
        for (&weight, &time) in one.iter().zip(&self.times) {
            if weight >= NEGLIGIBLE {
                self.add_shifted(&other, time, weight, &mut sum);
            }
        }
        sum
    }

    /// Returns `P(T > t)` at each point, a point's own mass counted half: integrating this by trapezoids gives
    /// the mean.
    pub(super) fn tail(masses: &[f64]) -> Vec<f64> {
        let mut beyond = 0.0;
        let mut tail: Vec<f64> = masses
            .iter()
            .rev()
            .map(|mass| {
                let here = beyond + mass / 2.0;
                beyond += mass;
                here
            })
            .collect();
        tail.reverse();
        tail
    }

    /// Returns the mean in seconds.
    pub(super) fn mean(&self, masses: &[f64]) -> f64 {
        masses.iter().zip(&self.times).map(|(mass, time)| mass * time).sum()
    }
}

/// A distribution on a grid.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Masses {
    at: Vec<f64>,
    /// The points outside of which there is no mass: most distributions have some on a few points only.
    within: Range<usize>,
}

impl Masses {
    /// Returns the mass of each point of the grid.
    pub(super) fn at(&self) -> &[f64] {
        &self.at
    }

    /// Returns the sum of the masses.
    pub(super) fn total(&self) -> f64 {
        self.at[self.within.clone()].iter().sum()
    }

    /// Adds `other`, multiplied by `weight`, point by point.
    pub(super) fn add(&mut self, other: &Self, weight: f64) {
        let within = other.within.clone();
        for (here, mass) in self.at[within.clone()].iter_mut().zip(&other.at[within.clone()]) {
            *here += mass * weight;
        }
        self.widen(within);
    }

    /// Multiplies all masses by `factor`.
    pub(super) fn scale(&mut self, factor: f64) {
        for mass in &mut self.at[self.within.clone()] {
            *mass *= factor;
        }
    }

    /// Takes all masses away.
    pub(super) fn clear(&mut self) {
        self.at[self.within.clone()].fill(0.0);
        self.within = 0..0;
    }

    fn widen(&mut self, within: Range<usize>) {
        if self.within.is_empty() {
            self.within = within;
        } else if !within.is_empty() {
            self.within = self.within.start.min(within.start)..self.within.end.max(within.end);
        }
    }
}

const FINE_STEPS: u32 = 500;
const FINE_STEPS_PER_SCALE: f64 = 200.0;
const HORIZON_S: f64 = 10_000.0;
/// Masses below are left out of sums: they cannot move a probability above 1e-9.
const NEGLIGIBLE: f64 = 1e-15;

//! The figures of one transport, thinned to what an eye can see.

use workload::Sample;

use super::{is_unanswered, offset_s};
use crate::compare::{Prediction, RawRun};
use crate::statistics::{Distribution, milliseconds};
use crate::transport::TransportSpec;

/// The figures of one transport.
#[derive(Clone, Debug, PartialEq)]
pub struct RunCurves {
    /// The transport of the curves.
    pub transport: TransportSpec,
    /// `(ms, share of requests not answered by then)`: a step function, from (0, 1) on.
    pub measured: Vec<(f64, f64)>,
    /// The curve that the model predicts; empty if there is none.
    pub predicted: Vec<(f64, f64)>,
    /// `(intended send time in s, response time in ms)` of the first repetition.
    pub over_time: Vec<(f64, f64)>,
    /// Intended send times of its unanswered requests in s.
    pub unanswered_s: Vec<f64>,
}

impl RunCurves {
    pub(super) fn new(
        transport: TransportSpec,
        runs: &[&RawRun],
        times: &Distribution,
        prediction: Option<Prediction>,
    ) -> Self {
        let first = runs.first();
        let samples = |run: &&RawRun| run.samples.iter().filter_map(|sample| point(run, sample)).collect();
        let lost = |run: &&RawRun| {
            let unanswered = run.samples.iter().filter(|sample| is_unanswered(sample));
            unanswered.map(|sample| offset_s(run, sample.intended)).take(MOST_POINTS).collect()
        };
        Self {
            transport,
            measured: thin_ccdf(&times.ccdf()),
            predicted: prediction.map(|prediction| prediction.ccdf).unwrap_or_default(),
            over_time: thin_scatter(first.map(samples).unwrap_or_default()),
            unanswered_s: first.map(lost).unwrap_or_default(),
        }
    }
}

fn point(run: &RawRun, sample: &Sample) -> Option<(f64, f64)> {
    Some((offset_s(run, sample.intended), milliseconds(sample.response?)))
}

/// Drops steps that lie within a pixel of the one kept before, on logarithmic axes; keeps both ends.
fn thin_ccdf(steps: &[(f64, f64)]) -> Vec<(f64, f64)> {
    let mut kept = vec![(0.0, 1.0)];
    let (mut last_ms, mut last_share) = (0.0, 1.0);
    for (index, (ms, share)) in steps.iter().copied().enumerate() {
        let is_end = index + 1 == steps.len();
        if is_end || ms > last_ms * CCDF_STEP || share * CCDF_STEP < last_share {
            kept.push((ms, share));
            (last_ms, last_share) = (ms, share);
        }
    }
    kept
}

/// Keeps the shortest and the longest response of each of many short intervals, if there are too many points.
fn thin_scatter(points: Vec<(f64, f64)>) -> Vec<(f64, f64)> {
    if points.len() <= MOST_POINTS {
        return points;
    }
    let size = (2 * points.len()).div_ceil(MOST_POINTS);
    let mut kept = Vec::with_capacity(MOST_POINTS);
    for few in points.chunks(size) {
        let shortest = few.iter().min_by(|a, b| a.1.total_cmp(&b.1));
        let longest = few.iter().max_by(|a, b| a.1.total_cmp(&b.1));
        kept.extend(shortest);
        kept.extend(longest);
    }
    kept
}

/// Two responses per pixel column of a small figure are more than enough.
const MOST_POINTS: usize = 3000;

/// Half a per cent: below the width of a line.
const CCDF_STEP: f64 = 1.005;

#[cfg(test)]
mod tests;

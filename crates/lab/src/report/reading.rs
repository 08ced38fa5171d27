//! The result in plain words.

use super::numbers::{count, time};
use super::table::{deviation, late_sends_that_matter};
use crate::summary::{CompareResult, ResponseResult, RunResult};
use crate::transport::TransportSpec;

/// Sentences that say what the numbers mean, the most important first.
#[must_use]
pub fn reading(result: &CompareResult) -> Vec<String> {
    let mut sentences = Vec::new();
    if let Some(comparison) = Yardstick::of(result) {
        sentences.push(comparison.tail());
        sentences.extend(comparison.mean());
    }
    sentences.extend(head_of_line_blocking(result));
    sentences.extend(retransmission_by_the_application(result));
    sentences.extend(models(result));
    sentences.extend(result.runs.iter().filter_map(failure));
    sentences.extend(reservations(result));
    sentences
}

/// The transport that did best in the tail, beside the one that all are compared with.
struct Yardstick<'a> {
    tail: Tail,
    best: &'a RunResult,
    baseline: &'a RunResult,
    is_alone: bool,
}

/// A percentile and how to say it.
#[derive(Clone, Copy)]
struct Tail {
    of: fn(&ResponseResult) -> Option<f64>,
    share: &'static str,
}

/// The farther out the better, if the samples support it.
const TAILS: [Tail; 3] = [
    Tail { of: |response| response.p99, share: "99 %" },
    Tail { of: |response| response.p90, share: "90 %" },
    Tail { of: |response| response.p50, share: "half" },
];

impl<'a> Yardstick<'a> {
    /// One TCP connection is the baseline; without it, the slowest in the tail.
    fn of(result: &'a CompareResult) -> Option<Self> {
        let complete: Vec<&RunResult> = result.runs.iter().filter(|run| run.because.is_none()).collect();
        let tail =
            *TAILS.iter().find(|tail| complete.iter().all(|run| (tail.of)(&run.response_ms).is_some()))?;
        let value = |run: &RunResult| (tail.of)(&run.response_ms).unwrap_or(f64::INFINITY);
        let best = complete.iter().copied().min_by(|a, b| value(a).total_cmp(&value(b)))?;
        let tcp = complete.iter().copied().find(|run| run.id == "tcp");
        let slowest = complete.iter().copied().max_by(|a, b| value(a).total_cmp(&value(b)));
        let baseline = tcp.or(slowest)?;
        let is_alone = result.runs.len() == 1;
        Some(Self { tail, best, baseline, is_alone })
    }

    fn tail(&self) -> String {
        let within = |run: &RunResult| (self.tail.of)(&run.response_ms).unwrap_or_default();
        let (best, baseline) = (within(self.best), within(self.baseline));
        let share = self.tail.share;
        let first = format!("{} answered {share} of the requests within {}", subject(self.best), time(best));
        if self.is_alone {
            return format!("{first}.");
        }
        if self.best.id == self.baseline.id {
            return format!("{first}; no other transport was faster.");
        }
        let second = format!("{first}; {} needed {}", in_words(self.baseline), time(baseline));
        let times = baseline / best;
        if times < 1.05 {
            format!("{second}: no difference that matters.")
        } else {
            format!("{second}, {times:.1} times as long.")
        }
    }

    fn mean(&self) -> Option<String> {
        let (best, baseline) = (self.best.response_ms.mean?, self.baseline.response_ms.mean?);
        if self.best.id == self.baseline.id {
            return None;
        }
        let means = format!("Their mean response times are {} and {}", time(best), time(baseline));
        let [low, high] = self.best.response_ms.ci95?;
        let [baseline_low, baseline_high] = self.baseline.response_ms.ci95?;
        let overlap = low <= baseline_high && baseline_low <= high;
        Some(if overlap {
            format!("{means}; the 95 % confidence intervals overlap, so a longer run may turn that round.")
        } else {
            format!("{means}; the 95 % confidence intervals do not overlap.")
        })
    }
}

/// The ordered association with the fewest streams beside the one with the most.
fn head_of_line_blocking(result: &CompareResult) -> Option<String> {
    let ordered = || result.runs.iter().filter(|run| run.ordered && run.blocking.is_some());
    let few = ordered().min_by_key(|run| run.streams)?;
    let many = ordered().max_by_key(|run| run.streams)?;
    let (few_blocking, many_blocking) = (few.blocking?, many.blocking?);
    if few_blocking.messages_blocked == 0 {
        return None;
    }
    let waited = format!(
        "Over {}, {} had to wait for an earlier one, {} in the mean",
        in_words(few),
        count(few_blocking.messages_blocked, "message"),
        time(few_blocking.mean_blocked_ms)
    );
    if few.id == many.id {
        return Some(format!("{waited}: head-of-line blocking."));
    }
    let left = count(many_blocking.messages_blocked, "message");
    Some(format!("{waited}; over {}, {left}. That is head-of-line blocking.", in_words(many)))
}

fn retransmission_by_the_application(result: &CompareResult) -> Option<String> {
    let run = result.runs.iter().find(|run| run.retransmissions.is_some_and(|repeated| repeated > 0))?;
    let repeated = count(run.retransmissions?, "request");
    let longest = time(run.response_ms.max?);
    Some(format!(
        "UDP repeated {repeated}; each lost packet costs the application at least half a second there, and the longest \
         response took {longest}."
    ))
}

fn models(result: &CompareResult) -> Option<String> {
    let deviations = || result.runs.iter().filter_map(|run| Some((run, deviation(run)?)));
    let (farthest, most) = deviations().max_by(|a, b| a.1.abs().total_cmp(&b.1.abs()))?;
    let all = deviations().count();
    let near = deviations().filter(|(_, deviation)| deviation.abs() <= NEAR_PERCENT).count();
    let whole = format!(
        "The models' means are within {NEAR_PERCENT:.0} % of the measured ones for {near} of {all} transports"
    );
    Some(if most.abs() <= NEAR_PERCENT {
        format!("{whole}.")
    } else {
        let direction = if most > 0.0 { "above" } else { "below" };
        format!(
            "{whole}; farthest off is {}, measured {:.0} % {direction} its model.",
            in_words(farthest),
            most.abs()
        )
    })
}

fn failure(run: &RunResult) -> Option<String> {
    Some(format!("{}: {}.", subject(run), run.because.as_ref()?))
}

/// What to keep in mind.
fn reservations(result: &CompareResult) -> Vec<String> {
    let mut sentences = Vec::new();
    if let Some(late) = late_sends_that_matter(result) {
        sentences.push(format!(
            "{} left more than 1 ms late because this machine was busy; their delay is in the response times.",
            count(late, "request")
        ));
    }
    if result.runs.iter().any(|run| run.response_ms.p99.is_none() && run.counts.responses > 0) {
        sentences.push(
            "A dash stands for a number that so few requests do not support; run longer for it.".to_owned(),
        );
    }
    sentences
}

fn in_words(run: &RunResult) -> String {
    run.id.parse::<TransportSpec>().map_or_else(|_| run.id.clone(), TransportSpec::in_words)
}

/// The same at the beginning of a sentence.
fn subject(run: &RunResult) -> String {
    let words = in_words(run);
    let mut letters = words.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

const NEAR_PERCENT: f64 = 5.0;

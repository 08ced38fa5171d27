//! The result in plain words.

use super::{CompareResult, FramesResult, LateResult, LossSplit, ResponseResult, RunResult};
use crate::numbers::{count, tenths, time};
use crate::transport::TransportSpec;

/// Sentences that say what the numbers mean, the most important first.
#[must_use]
pub fn reading(result: &CompareResult) -> Vec<String> {
    let mut sentences = closing_words(result);
    sentences.extend(head_of_line_blocking(result));
    sentences.extend(retransmission_by_the_application(result));
    sentences.extend(models(result));
    sentences.extend(reservation(result));
    sentences
}

/// Returns the sentences that a table ends with: what failed, who waited for whose losses, what that cost.
#[must_use]
pub fn closing_words(result: &CompareResult) -> Vec<String> {
    let mut sentences: Vec<String> = result.runs.iter().filter_map(failure).collect();
    if let Some(frames) = missed_frames(result) {
        sentences.push(frames);
    } else if let Some(pair) = Pair::of(result) {
        sentences.extend(pair.lateness());
        sentences.extend(pair.excess());
        sentences.extend(pair.tail());
    }
    sentences
}

/// Returns which transports delivered the most and the fewest frames in time; `None` without frames.
fn missed_frames(result: &CompareResult) -> Option<String> {
    let rows = || result.runs.iter().filter_map(|run| Some((run, run.counts.frames?)));
    let order = |a: &(&RunResult, FramesResult), b: &(&RunResult, FramesResult)| {
        a.1.missed_share.total_cmp(&b.1.missed_share)
    };
    let ((worst, most), (best, least)) = (rows().max_by(order)?, rows().min_by(order)?);
    let missed = |run: &RunResult, frames: FramesResult| {
        let share = tenths(frames.missed_share);
        format!("over {}, {share} ({} late, {} lost)", in_words(run), frames.late, frames.lost)
    };
    let bound = format!("Frames that were not there {} after they were due", time(most.deadline_ms));
    Some(if most.missed_share <= least.missed_share {
        format!("{bound}: {} of all, over every transport.", tenths(most.missed_share))
    } else {
        format!("{bound}: {}; {}.", missed(worst, most), missed(best, least))
    })
}

/// The transport that did best beside the one that all are compared with.
struct Pair<'a> {
    best: &'a RunResult,
    baseline: &'a RunResult,
    is_alone: bool,
}

impl<'a> Pair<'a> {
    /// Picks the pair: one TCP connection is the baseline; without it, the one that did worst. Only who
    /// answered everything takes part.
    fn of(result: &'a CompareResult) -> Option<Self> {
        let complete = || result.runs.iter().filter(|run| run.because.is_none());
        let is_comparable = |run: &&RunResult| run.response_ms.mean.is_some();
        let mean = |run: &RunResult| run.response_ms.mean.unwrap_or(f64::INFINITY);
        let others = |run: &RunResult| losses(run).map_or(f64::INFINITY, |losses| losses.by_others_loss);
        // Where nobody was late for others, the mean tells.
        let order = |a: &&RunResult, b: &&RunResult| {
            others(a).total_cmp(&others(b)).then(mean(a).total_cmp(&mean(b)))
        };
        let best = complete().filter(is_comparable).min_by(order)?;
        let tcp = complete().filter(is_comparable).find(|run| run.id == "tcp");
        let worst = || complete().filter(is_comparable).filter(|run| losses(run).is_some()).max_by(order);
        let baseline = tcp.or_else(worst).or_else(|| complete().filter(is_comparable).max_by(order))?;
        Some(Self { best, baseline, is_alone: result.runs.len() == 1 })
    }

    fn is_one(&self) -> bool {
        self.best.id == self.baseline.id
    }

    /// Returns whose two values were told.
    fn respectively(&self) -> String {
        format!(" over {} and {}", in_words(self.baseline), in_words(self.best))
    }

    /// Returns sentences on who waited for somebody else's loss, and for how long.
    fn lateness(&self) -> Vec<String> {
        let Some(late) = &self.baseline.late else { return Vec::new() };
        let over = in_words(self.baseline);
        let Some(theirs) = late.losses else { return vec![self.lateness_alone(late)] };
        if late.share <= 0.0 {
            let bound = time(late.threshold_ms);
            return vec![format!("Over {over}, no request was late: all were answered within {bound}.")];
        }
        let first = format!("Over {over}, {}", waited(&theirs));
        let second = match losses(self.best) {
            Some(_) if self.is_one() && self.is_alone => String::new(),
            Some(_) if self.is_one() => "; over no other transport were they fewer".to_owned(),
            Some(best) => format!("; over {}, {}", in_words(self.best), shortly(&best)),
            None => String::new(),
        };
        let own = format!("Late because of losses of their own: {}", tenths(theirs.by_own_loss));
        let own = match losses(self.best).filter(|_| !self.is_one()) {
            Some(best) => format!("{own} and {}{}", tenths(best.by_own_loss), self.respectively()),
            None => own,
        };
        let without = match theirs.without_loss {
            share if share < WORTH_TELLING => String::new(),
            share => format!("; for other reasons over {over}: {}", tenths(share)),
        };
        vec![format!("{first}{second}."), format!("{own}{without}.")]
    }

    /// Returns the sentence for where nobody knows whose packets were lost.
    fn lateness_alone(&self, late: &LateResult) -> String {
        let share = |run: &RunResult| run.late.as_ref().map(|late| tenths(late.share)).unwrap_or_default();
        let bound = time(late.threshold_ms);
        let first = format!(
            "Over {}, {} of the requests took longer than {bound}",
            in_words(self.baseline),
            tenths(late.share)
        );
        let second = if self.is_one() {
            String::new()
        } else {
            format!("; over {}, {}", in_words(self.best), share(self.best))
        };
        let because = late.unsplit.as_ref().map(|because| format!(": {because}")).unwrap_or_default();
        format!("{first}{second}. Whose losses delayed them cannot be told{because}.")
    }

    /// Returns the mean beyond what the path alone takes, and how sure the difference is.
    fn excess(&self) -> Option<String> {
        let excess =
            |run: &RunResult| run.late.as_ref().and_then(|late| late.mean_excess_ms).or(run.response_ms.mean);
        let (best, baseline) = (excess(self.best)?, excess(self.baseline)?);
        let first = match &self.baseline.late {
            Some(late) => format!("Beyond the {} of the path, a request took", time(late.shortest_ms)),
            None => "A request took".to_owned(),
        };
        let first = format!("{first} {} in the mean", time(baseline));
        if self.is_one() {
            return Some(format!("{first} over {}.", in_words(self.baseline)));
        }
        let both = format!(
            "{first} over {} and {} over {}",
            in_words(self.baseline),
            time(best),
            in_words(self.best)
        );
        let intervals = self.best.response_ms.ci95.zip(self.baseline.response_ms.ci95);
        Some(match intervals {
            Some((best, baseline)) if best[0] <= baseline[1] && baseline[0] <= best[1] => {
                format!(
                    "{both}; the 95 % confidence intervals overlap, so that it takes a longer run to be sure of a difference."
                )
            }
            Some(_) => format!("{both}; the 95 % confidence intervals do not overlap."),
            None => format!("{both}."),
        })
    }

    /// Returns the percentiles that differ, where the samples support them.
    fn tail(&self) -> Option<String> {
        let within = |of: fn(&ResponseResult) -> Option<f64>, share: &str| {
            let (best, baseline) = (of(&self.best.response_ms)?, of(&self.baseline.response_ms)?);
            let (best, baseline) = (time(best), time(baseline));
            let is_telling = self.is_one() || best != baseline;
            let both = if self.is_one() { best } else { format!("{baseline} and {best}") };
            is_telling.then(|| format!("{share} within {both}"))
        };
        let told: Vec<String> = [
            within(|times| times.p90, "90 % of the requests were answered"),
            within(|times| times.p999, "99.9 %"),
        ]
        .into_iter()
        .flatten()
        .collect();
        let whose = if self.is_one() { String::new() } else { self.respectively() };
        (!told.is_empty()).then(|| format!("{}{whose}.", told.join(", ")))
    }
}

fn losses(run: &RunResult) -> Option<LossSplit> {
    run.late.as_ref().and_then(|late| late.losses)
}

/// Returns a clause such as `6.3 % of the requests were delayed by somebody else's lost packet, 4.1 s all
/// together`.
fn waited(losses: &LossSplit) -> String {
    match losses.by_others_loss {
        0.0 => "no request was delayed by somebody else's lost packet".to_owned(),
        share => format!(
            "{} of the requests were delayed by somebody else's lost packet, {} all together",
            tenths(share),
            time(losses.others_loss_ms)
        ),
    }
}

/// Returns the short form `0.6 %, 0.5 s`, or `none`.
fn shortly(losses: &LossSplit) -> String {
    match losses.by_others_loss {
        0.0 => "none".to_owned(),
        share => format!("{}, {}", tenths(share), time(losses.others_loss_ms)),
    }
}

/// Returns the ordered association with the fewest streams beside the one with the most.
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
    let deviations = || result.runs.iter().filter_map(|run| Some((run, run.deviation()?)));
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

/// Returns what to keep in mind.
fn reservation(result: &CompareResult) -> Option<String> {
    let is_short = |run: &RunResult| run.response_ms.p99.is_none() && run.counts.responses > 0;
    let dash = "A dash stands for a number that so few requests do not support; run longer for it.";
    result.runs.iter().any(is_short).then(|| dash.to_owned())
}

fn in_words(run: &RunResult) -> String {
    run.id.parse::<TransportSpec>().map_or_else(|_| run.id.clone(), TransportSpec::in_words)
}

/// Returns the name of a run's transport at the beginning of a sentence.
fn subject(run: &RunResult) -> String {
    let words = in_words(run);
    let mut letters = words.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

const NEAR_PERCENT: f64 = 5.0;
/// The share below which nothing is told: a request in two thousand.
const WORTH_TELLING: f64 = 0.0005;

//! The pages of a comparison: the whole result, and each request over time.

use super::circumstances;
use crate::compare::Skipped;
use crate::conditions::Origin;
use crate::numbers::{beside_unanswered, percent, plain_ms, plain_or_dash, short, tenths, time};
use crate::page::{Axis, Figure, Mark, Page, Series, Table};
use crate::summary::{
    CompareResult, Comparison, HandoverResult, LateResult, LossSplit, PathResult, ResponseResult, RunCurves,
    RunResult, WorkloadResult, closing_words,
};
use crate::transport::TransportSpec;

/// Returns two pages: the result, and the response times over time with the circumstances.
#[must_use]
pub fn comparison(comparison: &Comparison) -> [Page; 2] {
    let result = &comparison.result;
    let reading = closing_words(result);
    let handover = result.path.handover.as_ref().map(|handover| format!("handover {handover}"));
    let path = format!("{} · {}", path_in_words(&result.path), workload_in_words(&result.workload));
    let backend = format!("backend {} · all times in ms", backend_in_words(&result.path));
    let conditions = core::iter::once(path).chain(handover).chain([backend]).collect();
    let (figure, curves) = distributions(comparison);
    let whole = Page {
        id: "result".to_owned(),
        conditions,
        details: result.reading.get(reading.len()..).unwrap_or_default().to_vec(),
        reading,
        figures: vec![figure],
        series: curves,
        tables: [Some(numbers(result)), frames(result), handovers(result)].into_iter().flatten().collect(),
        notes: notes(result),
        ..Page::default()
    };
    let (figures, series) = over_time(comparison);
    let (id, title) = ("time".to_owned(), "Response time over time".to_owned());
    let conditions = vec![OVER_TIME.to_owned()];
    [whole, Page { id, title, conditions, figures, series, facts: facts(comparison), ..Page::default() }]
}

fn numbers(result: &CompareResult) -> Table {
    Table {
        hint: NUMBERS.to_owned(),
        spare: LEAST_FIRST.to_vec(),
        ..Table::new("Numbers", &HEADINGS, result.runs.iter().map(|run| cells(run).to_vec()).collect())
    }
}

/// Returns the table of frames; `None` where none were sent.
fn frames(result: &CompareResult) -> Option<Table> {
    let row = |run: &RunResult| {
        let frames = run.counts.frames?;
        let missed = tenths(frames.missed_share);
        let times = &run.response_ms;
        let delays = [times.p50, times.p90, times.p99].map(plain_or_dash);
        let counts = [frames.late.to_string(), frames.lost.to_string(), missed];
        Some([run.id.clone()].into_iter().chain(counts).chain(delays).collect::<Vec<_>>())
    };
    let rows: Vec<_> = result.runs.iter().filter_map(row).collect();
    let heads = ["transport", "late", "lost", "missed", "delay p50", "p90", "p99"];
    (!rows.is_empty()).then(|| Table { hint: FRAMES.to_owned(), ..Table::new("Frames", &heads, rows) })
}

/// Returns the table of what the handover cost; `None` where the client stayed.
fn handovers(result: &CompareResult) -> Option<Table> {
    let row = |run: &RunResult| {
        let handover = run.counts.frames?.handover?;
        Some(core::iter::once(run.id.clone()).chain(handover_cells(&handover)).collect::<Vec<_>>())
    };
    let rows: Vec<_> = result.runs.iter().filter_map(row).collect();
    let heads: Vec<_> = core::iter::once("transport").chain(HANDOVER_HEADINGS).collect();
    (!rows.is_empty()).then(|| Table { hint: HANDOVER.to_owned(), ..Table::new("Handover", &heads, rows) })
}

/// Returns what handovers cost, in the order of [`HANDOVER_HEADINGS`].
pub(super) fn handover_cells(handover: &HandoverResult) -> [String; 4] {
    let HandoverResult { handovers, late, gap_ms, recovery_ms, not_recovered, penalty_ms } = *handover;
    let recovery = match not_recovered {
        0 => plain_or_dash(recovery_ms),
        never => format!("{}, never in {never} of {handovers}", plain_or_dash(recovery_ms)),
    };
    [short(late), plain_or_dash(gap_ms), recovery, plain_or_dash(penalty_ms)]
}

/// Returns the complementary distributions, measured and predicted, of which nothing lies beyond the axes.
fn distributions(comparison: &Comparison) -> (Figure, Vec<Series>) {
    let curves = &comparison.curves;
    let shares = curves.iter().flat_map(|curves| &curves.measured).map(|point| point.1 * 100.0);
    let least = shares.filter(|share| *share > 0.0).fold(10.0, f64::min);
    let (shortest, longest) = range(curves);
    let x = Axis::log("ms since the intended send time").between(shortest * 0.8, longest * 1.15);
    let y = Axis::log("requests not yet answered, in %").between((least * 0.6).max(1e-4), 100.0);
    let title = "How many requests are still waiting";
    let figure = Figure { hint: WAITING.to_owned(), ..Figure::new("waiting", title, x, y) };
    let in_percent =
        |points: &[(f64, f64)]| points.iter().map(|(ms, share)| (*ms, share * 100.0)).collect::<Vec<_>>();
    let of_run = |(curves, colour): (&RunCurves, usize)| {
        let id = curves.transport.to_string();
        let predicted = in_percent(&curves.predicted);
        let model = Series::new("waiting", format!("model, {id}"), Mark::Steps, predicted);
        let measured = Series::new("waiting", id, Mark::Steps, in_percent(&curves.measured));
        [measured, model].map(|series| Series { colour: Some(colour), ..series })
    };
    let series = curves.iter().zip(colours_of(curves)).flat_map(of_run);
    (figure, series.filter(|series| !series.points.is_empty()).collect())
}

/// Returns a figure for each transport, all with the same axes.
fn over_time(comparison: &Comparison) -> (Vec<Figure>, Vec<Series>) {
    let curves = &comparison.curves;
    let (shortest, longest) = range(curves);
    let x = Axis::linear("s").between(0.0, comparison.result.workload.duration_s);
    let y = Axis::log("ms").between(shortest * 0.8, longest * 1.3);
    let (mut figures, mut all) = (Vec::new(), Vec::new());
    for ((curves, run), colour) in curves.iter().zip(&comparison.result.runs).zip(colours_of(curves)) {
        let id = format!("time-{}", run.id);
        let p99 = run.response_ms.p99.map(|p99| format!(" · 99 % within {}", time(p99)));
        let title = format!("{}{}", run.id, p99.unwrap_or_default());
        figures.push(Figure::new(&id, &title, x.clone(), y.clone()));
        let answered = Series::new(&id, &run.id, Mark::Dots, curves.over_time.iter().copied());
        let unanswered = curves.unanswered_s.iter().map(|at| (*at, longest));
        let unanswered = Series::new(&id, "unanswered", Mark::Missing, unanswered);
        all.extend([answered, unanswered].map(|series| Series { colour: Some(colour), ..series }));
    }
    (figures, all)
}

/// Returns the shortest and the longest response time of all transports, in ms.
fn range(curves: &[RunCurves]) -> (f64, f64) {
    let longest =
        curves.iter().filter_map(|curves| curves.measured.last()).map(|last| last.0).fold(1.0, f64::max);
    let shortest = curves.iter().filter_map(|curves| curves.measured.get(1)).map(|first| first.0);
    (shortest.fold(longest, f64::min), longest)
}

/// Returns which colour of the style sheet each transport has: those of its protocol in turn.
pub(super) fn colours(transports: &[TransportSpec]) -> Vec<usize> {
    let colour = |(at, of): (usize, &TransportSpec)| {
        let is_kin = |other: &&TransportSpec| other.protocol() == of.protocol();
        let colours = of.colours();
        colours.start + transports[..at].iter().filter(is_kin).count() % colours.len()
    };
    transports.iter().enumerate().map(colour).collect()
}

fn colours_of(curves: &[RunCurves]) -> Vec<usize> {
    colours(&curves.iter().map(|curves| curves.transport).collect::<Vec<_>>())
}

fn facts(comparison: &Comparison) -> Vec<(String, String)> {
    let CompareResult { path, workload, host, headway, commit, command, started, .. } = &comparison.result;
    let delay = path.delay_ms.map_or_else(
        || "not measured; exact in virtual time".to_owned(),
        |delay| format!("median {} ms, 99 % within {} ms", short(delay.p50), short(delay.p99)),
    );
    let named = |(name, value): (&str, String)| (name.to_owned(), value);
    let path = [
        ("Backend", backend_in_words(path)),
        ("Path, request direction", path.impairments.request.clone()),
        ("Path, response direction", path.impairments.response.clone()),
        ("Handover", path.handover.clone().unwrap_or_else(|| "none".to_owned())),
        ("Delay that the emulator really gave, one way", delay),
        ("Workload", workload_in_words(workload)),
        ("Requests sent more than 1 ms late", workload.late_sends.to_string()),
    ];
    let origin = Origin { commit: commit.clone(), command: command.clone(), started: started.clone() };
    let mut facts: Vec<_> = path.map(named).into_iter().chain(comparison.options.iter().cloned()).collect();
    facts.extend(circumstances(headway, &origin, host));
    facts
}

const HEADINGS: [&str; COLUMNS] = [
    "transport",
    "answered",
    "late: own",
    "others' loss",
    "mean ±95\u{a0}%",
    "p50",
    "p90",
    "p99",
    "p99.9",
    "max",
    "blocked",
    "model",
    "Δ %",
    "study",
];

const COLUMNS: usize = 14;
/// The place of `study` among the headings.
const STUDY: usize = 13;
/// Columns in the order in which they are given up; transport, others' loss, mean and p90 stay.
const LEAST_FIRST: [usize; 10] = [STUDY, 12, 5, 11, 8, 9, 10, 7, 2, 1];

fn cells(run: &RunResult) -> [String; COLUMNS] {
    let response = &run.response_ms;
    let predicted = run.predicted.as_ref();
    let study = predicted.and_then(|predicted| {
        let equations = predicted.study.as_deref().unwrap_or_default();
        Some(format!("{equations} {}", plain_ms(predicted.study_ms?)).trim_start().to_owned())
    });
    [
        run.id.clone(),
        format!("{}/{}", run.counts.responses, run.counts.requests),
        late(run, |losses| losses.by_own_loss),
        late(run, |losses| losses.by_others_loss),
        mean(response),
        percentile(run, response.p50, 0.5),
        percentile(run, response.p90, 0.9),
        percentile(run, response.p99, 0.99),
        percentile(run, response.p999, 0.999),
        plain_or_dash(response.max),
        run.blocking.map_or_else(dash, |b| match b.messages_blocked {
            0 => "0".to_owned(),
            messages => format!("{messages} × {}", plain_ms(b.mean_blocked_ms)),
        }),
        plain_or_dash(predicted.map(|predicted| predicted.model_ms)),
        run.deviation().map_or_else(dash, |percent| format!("{percent:+.1}")),
        study.unwrap_or_else(dash),
    ]
}

/// Returns the late sends, if they are more than one in a thousand requests: enough to move the 99.9th percentile.
pub(super) fn late_sends_that_matter(result: &CompareResult) -> Option<u64> {
    let requests: u64 = result.runs.iter().map(|run| run.counts.requests).sum();
    let late = result.workload.late_sends;
    (late.saturating_mul(1000) > requests).then_some(late)
}

/// Returns `RTT 20 ms, loss 1 %`, or that nobody set them.
fn path_in_words(path: &PathResult) -> String {
    match (path.rtt_ms, path.loss) {
        (Some(rtt_ms), Some(loss)) => format!("RTT {} ms, loss {}", short(rtt_ms), percent(loss)),
        _ => "over the network as it is".to_owned(),
    }
}

/// Returns `echo, poisson every 10 ms, 64 octets, 20 s, seed 1`.
fn workload_in_words(workload: &WorkloadResult) -> String {
    let mean = if workload.deadline_ms.is_some() { " in the mean" } else { "" };
    let octets = workload.message_bytes.map(|octets| format!(", {octets} octets{mean}")).unwrap_or_default();
    let deadline = workload.deadline_ms.map(|ms| format!(", deadline {} ms", short(ms))).unwrap_or_default();
    format!(
        "{}, {} arrivals every {} ms{octets}{deadline}, {} s, seed {}",
        workload.kind,
        workload.arrivals,
        short(workload.interval_ms),
        short(workload.duration_s),
        workload.seed
    )
}

/// Returns `simulator, because namespaces were refused: …`.
fn backend_in_words(path: &PathResult) -> String {
    let devices = path.device.map(|kind| format!(" ({kind} devices)")).unwrap_or_default();
    match &path.fallback {
        None => format!("{}{devices}", path.backend),
        Some(fallback) => {
            format!("{}, because {} did not run: {}", path.backend, fallback.wanted, fallback.because)
        }
    }
}

fn notes(result: &CompareResult) -> Vec<String> {
    let skipped =
        result.skipped.iter().map(|skipped| format!("{} was not run: {}", skipped.id, skipped.because));
    let unpredicted = grouped(&result.unpredicted).into_iter();
    let unpredicted = unpredicted.map(|(because, ids)| format!("no model for {}: {because}", ids.join(", ")));
    let late = late_sends_that_matter(result)
        .map(|late| format!("{late} requests left more than 1 ms late because this machine was busy; their delay is in the response times"));
    let receipts = result.workload.deadline_ms.map(|_| RECEIPTS.to_owned());
    receipts.into_iter().chain(skipped).chain(unpredicted).chain(late).collect()
}

/// Returns transports by what is told of them, in the order of their first.
fn grouped(told: &[Skipped]) -> Vec<(&str, Vec<&str>)> {
    let mut groups: Vec<(&str, Vec<&str>)> = Vec::new();
    for Skipped { id, because } in told {
        match groups.iter_mut().find(|(known, _)| known == because) {
            Some((_, ids)) => ids.push(id),
            None => groups.push((because, vec![id])),
        }
    }
    groups
}

/// Writes a share of late requests; where it is not known whose loss it was, their whole share as a bound.
fn late(run: &RunResult, share: impl Fn(&LossSplit) -> f64) -> String {
    match &run.late {
        None => dash(),
        Some(LateResult { losses: Some(losses), .. }) => tenths(share(losses)),
        Some(LateResult { share, losses: None, .. }) => format!("≤ {}", tenths(*share)),
    }
}

/// Writes a percentile; one that falls among requests without response is infinite.
fn percentile(run: &RunResult, value: Option<f64>, share: f64) -> String {
    let answered = run.counts.responses as f64;
    let due = answered + run.response_ms.unanswered as f64;
    let is_infinite = value.is_none() && due * share > answered && due * (1.0 - share) >= 5.0;
    if is_infinite { "∞".to_owned() } else { plain_or_dash(value) }
}

/// Returns the mean with its interval, and how many requests are not in it.
fn mean(response: &ResponseResult) -> String {
    let mean = match (response.mean, response.ci95) {
        (Some(mean), Some([low, high])) => {
            let (mean, half) = (plain_ms(mean), (high - low) / 2.0);
            let decimals = mean.split_once('.').map_or(0, |(_, decimals)| decimals.len());
            format!("{mean} ±{half:.decimals$}")
        }
        (mean, _) => plain_or_dash(mean),
    };
    beside_unanswered(mean, response.unanswered)
}

fn dash() -> String {
    "–".to_owned()
}

const WAITING: &str = "The share of requests not yet answered, by the time since their intended send time (the complementary CDF). Lower and further left \
                       is better. A click on a transport hides it.";
const NUMBERS: &str = "Times in milliseconds. Late: more than 1 ms above what the path alone takes, because of a lost packet of the request's own, or of \
                       somebody else's (≤: nobody can tell whose, and all late ones together are so many). Mean of the answered requests; ±: half of its 95 % confidence \
                       interval by batch means. Percentiles are nearest ranks of all requests, ∞ among those without answer, and a dash with fewer than \
                       five requests beyond. Blocked: messages that waited for an earlier one × mean wait. Δ: measured mean against the model's.";
/// The columns of a table of handovers.
pub(super) const HANDOVER_HEADINGS: [&str; 4] = ["late frames", "gap", "recovery", "penalty"];
pub(super) const HANDOVER: &str = "In the mean of the handovers, times in ms. Late: frames around it that came after the deadline, or never. Gap: the longest time without a frame. \
                        Recovery: until all frames of a second are in time. Penalty: the most that a frame waited beyond the new network's delay since the client \
                        was there (study S5's Θmax).";
const FRAMES: &str = "Late: delivered, but after the deadline. Lost: without a receipt when the run ended. Missed: both, as a share of all frames.";
const RECEIPTS: &str = "a request is a frame here, and its response the receipt: times are from when a frame was due to when its receiver had it";
const OVER_TIME: &str = "One point per request, at its intended send time; the same scales in all figures. A mark at the upper edge is a request \
                         that was never answered.";

//! Fig 3: video of variable bit rate, and what a constant rate with the same mean predicts.

use models::startup::WindowRule;

use super::{FRAMES, seed_of, transfers};
use crate::effort::Effort;
use crate::error::StudyError;
use crate::video::VideoTrace;
use lab::mean;
use lab::plan::{Plan, spread};
use lab::report::{Axis, Criterion, Estimate, Figure, Mark, Page, Series, Table};
use lab::simulation::SimulationError;

/// Makes figure 3 of S5: two videos, and the reader's own if there is one.
pub(crate) fn fig3(effort: &Effort) -> Result<Page, StudyError> {
    let mut page = Page { conditions: vec![CONDITIONS.to_owned()], ..Page::default() };
    let mut rows = Vec::new();
    for (id, name, mean_bytes) in VIDEOS {
        let seeds = usize::try_from(effort.seeds).unwrap_or(1);
        let traces = (0..seeds).map(|index| VideoTrace::generate(mean_bytes, FRAMES, seed_of(index)));
        let shown = compare(effort, &mut page, id, name, &traces.collect::<Vec<_>>())?;
        rows.extend(shown);
    }
    if let Some(trace) = &effort.trace {
        let frames = trace.frames.iter().copied().take(FRAMES).collect();
        rows.extend(compare(effort, &mut page, "trace", "the given trace", &[VideoTrace { frames }])?);
    }
    let head =
        ["video", "mean frame", "mean of VBR in ms", "of CBR in ms", "largest of VBR in ms", "of CBR in ms"];
    page.tables.push(Table::new("Transfer times of the first frames, mean over traces", &head, rows));
    page.notes.push(NOT_AT_HAND.to_owned());
    Ok(page)
}

/// Adds one video: its curves, its statements, and its row.
fn compare(
    effort: &Effort,
    page: &mut Page,
    id: &str,
    name: &str,
    traces: &[VideoTrace],
) -> Result<Option<Vec<String>>, StudyError> {
    let runs = spread(&effort.options, traces.len(), |index| simulated(&traces[index], effort))?;
    if effort.options.stop.is_raised() {
        return Err(StudyError::Interrupted);
    }
    let Some((first, trace)) = runs.first().zip(traces.first()) else { return Ok(None) };
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a frame")]
    let size = trace.mean_bytes().round() as u32;
    // The model stops where nothing waits any more; from there on it is half a round trip.
    let mut constant = transfers(size, INTERVAL_MS, RTT_MS, WindowRule::WithinWindow)?;
    constant.resize(first.len().max(constant.len()), RTT_MS as f64 / 2.0);
    constant.truncate(first.len());
    let axis = Axis::linear("number of the frame");
    let title = format!("S5 Fig 3: transfer times of {name}, RTT 200 ms (one trace)");
    page.figures.push(Figure::new(id, &title, axis, Axis::linear("transfer time in ms")));
    let numbered =
        |values: &[f64]| values.iter().zip(1_u32..).map(|(ms, n)| (f64::from(n), *ms)).collect::<Vec<_>>();
    page.series.push(Series::new(id, "VBR, simulated", Mark::Points, numbered(first)));
    page.series.push(Series::new(id, "CBR with the mean frame, model", Mark::Model, numbered(&constant)));
    let over =
        |of: fn(&[f64]) -> f64| mean(&runs.iter().map(|run| of(run)).collect::<Vec<_>>()).unwrap_or_default();
    let (vbr, cbr) =
        ((over(average), over(super::greatest)), (average(&constant), super::greatest(&constant)));
    let of_runs =
        |of: fn(&[f64]) -> f64| Estimate::of_runs(&runs.iter().map(|run| of(run)).collect::<Vec<_>>());
    let text = format!("{name}: a CBR flow with the mean frame size predicts the VBR delays well");
    let off = of_runs(average).map(|measured| Estimate::exact(cbr.0).beyond(measured).scaled(100.0, 0.0));
    page.statements.push(WELL.judge(text, off).noting(&format!("{:.0} ms against {:.0}", vbr.0, cbr.0)));
    let text = format!("{name}: a little less in the peaks");
    let off =
        of_runs(super::greatest).map(|measured| Estimate::exact(cbr.1).beyond(measured).scaled(100.0, 0.0));
    page.statements.push(LESS.judge(text, off).noting(&format!("{:.0} ms against {:.0}", vbr.1, cbr.1)));
    let figures = [trace.mean_bytes(), vbr.0, cbr.0, vbr.1, cbr.1].map(|value| format!("{value:.0}"));
    Ok(Some([name.to_owned()].into_iter().chain(figures).collect()))
}

/// Returns the transfer times in ms of the frames of a trace, in their order.
fn simulated(trace: &VideoTrace, effort: &Effort) -> Result<Vec<f64>, SimulationError> {
    let frames: Vec<String> =
        trace.frames.iter().map(|octets| octets.max(&LEAST_BYTES).to_string()).collect();
    let text = PLAN
        .replace("sizes = [1452]", &format!("sizes = [{}]", frames.join(", ")))
        .replace("messages = 150", &format!("messages = {}", frames.len()));
    let plan = Plan::parse(&text).map_err(|error| SimulationError::new("sizes", error.to_string()))?;
    let Some(cell) = plan.cells.first() else { return Ok(Vec::new()) };
    let run = effort.simulate(&cell.scenario, 1)?;
    let one_way = run.flows.into_iter().next().and_then(|flow| flow.one_way);
    let mut trips = one_way.map(|one_way| one_way.trips).unwrap_or_default();
    trips.sort_by_key(|trip| trip.number);
    Ok(trips.iter().map(|trip| trip.delivered.since(trip.due).as_secs_f64() * 1e3).collect())
}

fn average(values: &[f64]) -> f64 {
    mean(values).unwrap_or_default()
}

/// Criteria of the statements, fixed before any run.
const WELL: Criterion = Criterion::equivalent([-15.0, 15.0], "%");
const LESS: Criterion = Criterion::less_than(0.0, "%");
const VIDEOS: [(&str, &str, u32); 2] = [
    ("news", "news, frames of 32,297 octets", 32_297),
    ("talk-show", "talk show, frames of 6395 octets", 6395),
];
const INTERVAL_MS: u64 = 33;
const RTT_MS: u64 = 200;
/// A message says its number and time.
const LEAST_BYTES: u32 = 20;
const CONDITIONS: &str = "30 frames a second from the first moment of an association, RTT 200 ms, initial window 4380 octets, every packet acknowledged at once, nothing \
                          lost, 1 Gbit/s; frames in groups of twelve pictures (IBBPBBPBBPBB), sizes 5 : 2.5 : 1, each varying by a third, a trace per seed";
const NOT_AT_HAND: &str = "The study's traces are not at hand: these have their means and a usual pattern of pictures. A trace of the public libraries that is given \
                           to this page stands beside them.";
const PLAN: &str = include_str!("../../../../plans/studies/s5-vbr.toml");

//! The start-up after a handover: an association that is there makes its second network the primary one, and begins anew with its window.

use core::time::Duration;

use lab::milliseconds;
use lab::plan::Plan;
use lab::report::{Axis, Criterion, Estimate, Evidence, Figure, Mark, Page, Series, Table};
use models::startup::WindowRule;
use virtual_time::Instant;

use super::{CBR, CELLS, greatest, relative_error, transfers};
use crate::effort::Effort;
use crate::error::StudyError;

/// Makes the page of start-ups after a handover.
pub(crate) fn moved(effort: &Effort) -> Result<Page, StudyError> {
    let [plan, new] = [PLAN, CBR].map(Plan::parse);
    let of_page = |error| StudyError::Plan { page: "S5-moved", error };
    let (plan, new) = (plan.map_err(of_page)?, new.map_err(of_page)?);
    let mut page = Page { conditions: vec![CONDITIONS.to_owned()], ..Page::default() };
    let axis = Axis::linear("number of the message, from the handover on").between(0.0, 150.0);
    page.figures.push(Figure::new(
        "moved",
        "Transfer time of the n-th message",
        axis,
        Axis::linear("transfer time in ms"),
    ));
    let (mut rows, mut from_model, mut from_new) = (Vec::new(), Vec::new(), Vec::new());
    for ((moving, beginning), (name, rtt, interval, _)) in plan.cells.iter().zip(&new.cells).zip(CELLS) {
        let after = times(effort, &moving.scenario, Instant::EPOCH + MOVED_AFTER)?;
        let afresh = times(effort, &beginning.scenario, Instant::EPOCH)?;
        let model = transfers(1452, interval, rtt, WindowRule::WithinWindow)?;
        let errors = [&model, &afresh].map(|other| relative_error(&after, other) * 100.0);
        from_model.push((format!("{name} ms"), Estimate::exact(errors[0])));
        from_new.push((format!("{name} ms"), Estimate::exact(errors[1])));
        let longest = [&after, &afresh, &model].map(|times| format!("{:.1}", greatest(times)));
        let errors = errors.map(|error| format!("{error:.2}"));
        rows.push([name.to_owned()].into_iter().chain(longest).chain(errors).collect());
        let numbered =
            |values: &[f64]| (1_u32..=150).map(f64::from).zip(values.iter().copied()).collect::<Vec<_>>();
        page.series.push(Series::new("moved", format!("moved, {name}"), Mark::Points, numbered(&after)));
        page.series.push(Series::new("moved", format!("model, {name}"), Mark::Model, numbered(&model)));
    }
    let text = "an association that moves starts up as the model of a new path says";
    page.statements.push(AS_TOLD.judge(text, Evidence::Several(from_model)));
    let text = "it starts up as a new association does: what its first path had learned helps the second one nothing";
    page.statements.push(AS_TOLD.judge(text, Evidence::Several(from_new)));
    let head = [
        "RTT / interval in ms",
        "longest after the handover in ms",
        "of a new association",
        "by the model",
        "from the model in %",
        "from a new association in %",
    ];
    page.tables.push(Table::new("Messages of 1452 octets from the handover on", &head, rows));
    Ok(page)
}

/// Returns the transfer times in ms of the messages that fall due from a time on, in their order.
fn times(
    effort: &Effort,
    scenario: &lab::simulation::Scenario,
    from: Instant,
) -> Result<Vec<f64>, StudyError> {
    let run = effort.simulate(scenario, 1)?;
    let one_way = run.flows.into_iter().next().and_then(|flow| flow.one_way);
    let mut trips = one_way.map(|one_way| one_way.trips).unwrap_or_default();
    trips.sort_by_key(|trip| trip.number);
    let after = trips.iter().filter(|trip| trip.due >= from);
    Ok(after.map(|trip| milliseconds(trip.delivered.since(trip.due))).collect())
}

/// The criterion of the statements, fixed before any run.
const AS_TOLD: Criterion = Criterion::each([f64::NEG_INFINITY, 5.0], "%");
/// The time at which the plan has the client move.
const MOVED_AFTER: Duration = Duration::from_secs(3);
const CONDITIONS: &str = "Messages of 1452 octets at a constant interval over the first of two networks; after 3 s, when its window has long grown, the second one becomes the primary path: both go on working, \
                          and the second has carried HEARTBEATs alone. Initial window 4380 octets, every packet acknowledged at once, nothing lost, 1 Gbit/s; without loss every run is the same, so there is one";
const PLAN: &str = include_str!("../../../../plans/studies/s5-moved.toml");

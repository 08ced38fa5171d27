//! Figs 1 and 2: head-of-line blocking drawn as arrows, message by message.

use core::time::Duration;

use crate::effort::Effort;
use crate::error::StudyError;
use lab::milliseconds;
use lab::plan::Plan;
use lab::report::{Axis, Criterion, Estimate, Evidence, Figure, Mark, Page, Series};
use lab::simulation::Trip;

/// Makes figure 1 of S1: behind a loss everything waits on one stream or connection.
pub(crate) fn fig1(effort: &Effort) -> Result<Page, StudyError> {
    let trips = trips(effort, "one")?;
    let mut page = drawn("fig1", "S1 Fig 1: one stream, one lost packet", &trips);
    let statement = "one stream: what arrives between a loss and its repair waits, and is delivered with it";
    page.statements.push(HOLDS.judge(statement, waits_for_all(&trips, 1)));
    let over_tcp = self::trips(effort, "tcp")?;
    let statement = "one TCP connection: what is sent between a loss and its repair is delivered with it";
    page.statements.push(HOLDS.judge(statement, delivered_together(&over_tcp)));
    let statement = "a lost packet is sent again D = RTT + 3d after it was sent, model (1)";
    let judged = DETECTED.judge(statement, detection(&trips));
    let cause = "three missing reports instead of the four of Linux 2.6.15";
    let three = detection(&self::trips(effort, "one-three-reports")?);
    page.statements.push(DETECTED.explain(judged, cause, "S1-fig1/one-three-reports", three));
    Ok(page)
}

/// Makes figure 2 of S1: of several streams only that of the lost packet waits.
pub(crate) fn fig2(effort: &Effort) -> Result<Page, StudyError> {
    let trips = trips(effort, "three")?;
    let mut page = drawn("fig2", "S1 Fig 2: three streams, one lost packet", &trips);
    let statement = "three streams: only messages of the stream with the loss wait, every third";
    page.statements.push(HOLDS.judge(statement, waits_for_all(&trips, 3)));
    Ok(page)
}

/// Returns the messages of a case of the plan, in the order of their numbers.
fn trips(effort: &Effort, case: &str) -> Result<Vec<Trip>, StudyError> {
    let plan = Plan::parse(PLAN).map_err(|error| StudyError::Plan { page: "S1-fig1", error })?;
    let is_case = |(_, level): &(String, serde_json::Value)| level.as_str() == Some(case);
    let cell = plan.cells.iter().find(|cell| cell.factors.iter().any(is_case));
    let missing = || StudyError::Cell { page: "S1-fig1", key: case.to_owned(), count: 0 };
    let run = effort.simulate(&cell.ok_or_else(missing)?.scenario, 1)?;
    let one_way = run.flows.into_iter().next().and_then(|flow| flow.one_way);
    let mut trips = one_way.map(|one_way| one_way.trips).unwrap_or_default();
    trips.sort_by_key(|trip| trip.number);
    Ok(trips)
}

/// Returns the message whose packet was lost: it arrives long after the others do.
fn lost(trips: &[Trip]) -> Option<&Trip> {
    let latest = trips.iter().max_by_key(|trip| trip.arrived.since(trip.due));
    latest.filter(|trip| trip.arrived.since(trip.due) > ONE_WAY + MARGIN)
}

/// Returns how long after its first transmission the lost message was sent again.
fn detection(trips: &[Trip]) -> Option<Estimate> {
    let lost = lost(trips)?;
    Some(Estimate::exact(milliseconds(lost.arrived.since(lost.due).saturating_sub(ONE_WAY))))
}

/// Returns whether of the messages that arrive between the loss and its repair those of its own stream, and no others, are
/// delivered with it.
fn waits_for_all(trips: &[Trip], streams: u64) -> Evidence {
    let Some(lost) = lost(trips) else { return Evidence::Missing("nothing was lost".to_owned()) };
    let behind = || trips.iter().filter(|trip| trip.number > lost.number && trip.arrived < lost.arrived);
    let is_of_stream = |trip: &&Trip| trip.number % streams == lost.number % streams;
    let (of_stream, others) = (behind().filter(is_of_stream), behind().filter(|trip| !is_of_stream(trip)));
    let held = of_stream.clone().filter(|trip| trip.delivered == lost.delivered).count();
    let (all, free) =
        (of_stream.count(), others.clone().filter(|trip| trip.delivered == trip.arrived).count());
    let others = others.count();
    let tells = format!(
        "{held} of {all} messages behind it on its stream are delivered with message {}, and {free} of {others} others when they arrive",
        lost.number
    );
    Evidence::Fact(all > 0 && held == all && free == others, tells)
}

/// Returns whether the messages that could have arrived before the loss was repaired are delivered with it, where only delivery
/// can be seen.
fn delivered_together(trips: &[Trip]) -> Evidence {
    let latest = trips.iter().max_by_key(|trip| trip.delivered.since(trip.due));
    let Some(lost) = latest.filter(|trip| trip.delivered.since(trip.due) > ONE_WAY + MARGIN) else {
        return Evidence::Missing("nothing was lost".to_owned());
    };
    let behind =
        || trips.iter().filter(|trip| trip.number > lost.number && trip.due + ONE_WAY < lost.delivered);
    let (held, all) = (behind().filter(|trip| trip.delivered == lost.delivered).count(), behind().count());
    Evidence::Fact(all > 0 && held == all, format!("{held} of {all} messages behind message {}", lost.number))
}

/// Creates the page with the arrows of the messages around the loss.
fn drawn(figure: &str, title: &str, trips: &[Trip]) -> Page {
    let mut page = Page { conditions: vec![CONDITIONS.to_owned()], ..Page::default() };
    let Some(lost) = lost(trips) else { return page };
    let names = ["user", "receiver", "network", "sender"].map(str::to_owned).to_vec();
    let x = Axis::linear("time since the lost packet was sent, in ms");
    page.figures.push(Figure::new(figure, title, x, Axis::of_names("", names)));
    let at = |time: virtual_time::Instant| {
        milliseconds(time.since(virtual_time::Instant::EPOCH))
            - milliseconds(lost.due.since(virtual_time::Instant::EPOCH))
    };
    let is_near =
        |trip: &&Trip| at(trip.delivered) > -15.0 && trip.due < lost.arrived + Duration::from_millis(15);
    let mut arrows: [Vec<(f64, f64)>; 5] = Default::default();
    for trip in trips.iter().filter(is_near) {
        let (due, arrived, delivered) = (at(trip.due), at(trip.arrived), at(trip.delivered));
        if trip.number == lost.number {
            arrows[1].extend([(due, SENDER), (due + milliseconds(ONE_WAY) / 2.0, NETWORK)]);
            arrows[2].extend([(arrived - milliseconds(ONE_WAY), SENDER), (arrived, RECEIVER)]);
        } else {
            arrows[0].extend([(due, SENDER), (arrived, RECEIVER)]);
        }
        let held = usize::from(delivered > arrived + 1e-6);
        arrows[3 + held].extend([(arrived, RECEIVER), (delivered, USER)]);
    }
    let names = ["on its way", "lost on its way", "sent again", "delivered as it arrives", "held back"];
    let series = names.into_iter().zip(arrows).filter(|(_, arrows)| !arrows.is_empty());
    page.series = series.map(|(name, arrows)| Series::new(figure, name, Mark::Arrows, arrows)).collect();
    page
}

/// Criteria of the statements, fixed before any run.
const HOLDS: Criterion = Criterion::holds();
const DETECTED: Criterion = Criterion::within(50.0, 0.03, "ms");
/// The places on the ordinate.
const SENDER: f64 = 3.0;
const NETWORK: f64 = 2.0;
const RECEIVER: f64 = 1.0;
const USER: f64 = 0.0;
const ONE_WAY: Duration = Duration::from_millis(10);
/// Sending takes some microseconds.
const MARGIN: Duration = Duration::from_micros(100);
const CONDITIONS: &str = "A message of 64 octets every 10 ms, 10 ms each way, 100 Mbit/s; SCTP by the rule of Linux 2.6.15, TCP as in Linux 2.6; one packet is dropped, nothing is random. A \
                          retransmission is drawn from where it must have left, one way before it arrived";
const PLAN: &str = include_str!("../../../../plans/studies/s1-trace.toml");

#[cfg(test)]
mod tests;

//! What the blocked-time counter of an operator's own association says about its path: how much order costs, and how many streams would do.

use core::num::NonZeroU32;
use core::time::Duration;

use models::resequencing::{MOST_STREAMS, Profile, Scenario, Transport, one_way_waiting, sufficient_streams};
use models::{Probability, Rate};

use crate::cells::{Cells, Ran, number, text};
use crate::effort::Effort;
use crate::error::StudyError;
use lab::report::{Axis, Criterion, Estimate, Evidence, Figure, Mark, Page, Series, Table};

/// Makes the page on the blocked-time counter.
pub(crate) fn blocked(effort: &Effort) -> Result<Page, StudyError> {
    let cells = effort.run("now-blocked", PLAN)?;
    let mut page = Page { conditions: vec![PATH.to_owned()], ..Page::default() };
    let x = Axis::linear("streams").between(0.0, 9.0);
    page.figures.push(Figure::new(
        "blocked",
        "Mean response time over streams, 100 a second",
        x,
        Axis::linear("response time in ms"),
    ));
    for loss in LOSSES {
        page.series.extend(over_streams(&cells, loss)?);
    }
    let (mut saved, mut scaled, mut rows) = (Vec::new(), Vec::new(), Vec::new());
    for rate in RATES {
        for loss in LOSSES {
            let [one, four, free] = [
                at(&cells, rate, loss, "sctp:1")?,
                at(&cells, rate, loss, "sctp:4")?,
                at(&cells, rate, loss, "sctp:unordered")?,
            ];
            let name = format!("{rate} a second, {loss} loss");
            let (Some(counter), Some(response)) = (counter(one), one.mean()) else { continue };
            let told = response.value() - 2.0 * counter.value();
            saved.extend(
                free.mean().map(|free| (name.clone(), Estimate::exact(told).beyond(free).scaled(100.0, 0.0))),
            );
            let found = found_loss(one).unwrap_or_default();
            let with_four = response.value()
                - 2.0 * (counter.value() - waiting(rate, found, 4)? + waiting(rate, found, u32::MAX)?);
            scaled.extend(
                four.mean().map(|four| (name, Estimate::exact(with_four).beyond(four).scaled(100.0, 0.0))),
            );
            rows.push(row(rate, loss, (counter, response, found), [told, with_four], [free, four])?);
        }
    }
    let text = "the response time less the blocked time of both ways is what unordered delivery takes";
    page.statements.push(AS_TOLD.judge(text, Evidence::Several(saved)));
    let text = "blocked time and retransmissions of one stream tell, by the model, what four streams take";
    page.statements.push(AS_TOLD.judge(text, Evidence::Several(scaled)));
    enough(&mut page, &cells)?;
    page.tables.push(Table::new("From the counters of an association with one stream", &HEAD, rows));
    page.reading = reading(&cells)?;
    Ok(page)
}

/// Adds the statement that the number of streams that counters and model name is enough.
fn enough(page: &mut Page, cells: &Cells) -> Result<(), StudyError> {
    let mut offsets = Vec::new();
    for rate in RATES {
        for loss in LOSSES {
            let streams = would_do(rate, found_loss(at(cells, rate, loss, "sctp:1")?).unwrap_or_default())?;
            let Some(simulated) = [1, 2, 4, 8].into_iter().find(|simulated| *simulated >= streams) else {
                continue;
            };
            let cell = at(cells, rate, loss, &format!("sctp:{simulated}"))?;
            let both = cell.mean().zip(at(cells, rate, loss, "sctp:unordered")?.mean());
            offsets.extend(both.map(|(cell, free)| {
                (format!("{rate} a second, {loss} loss: {streams}"), cell.beyond(free).scaled(100.0, 0.0))
            }));
        }
    }
    let text = "with as many streams as the counters say a request takes as long as without order";
    page.statements.push(ENOUGH.judge(text, Evidence::Several(offsets)));
    Ok(())
}

fn row(
    rate: u32,
    loss: &str,
    (counter, response, found): (Estimate, Estimate, f64),
    [told, with_four]: [f64; 2],
    [free, four]: [&Ran; 2],
) -> Result<Vec<String>, StudyError> {
    Ok(vec![
        rate.to_string(),
        loss.to_owned(),
        format!("{:.2} %", found * 100.0),
        response.to_string(),
        counter.to_string(),
        format!("{told:.2}"),
        free.mean_text(),
        format!("{with_four:.2}"),
        four.mean_text(),
        would_do(rate, found)?.to_string(),
    ])
}

/// Returns the curve over streams at a hundred requests a second, and unordered delivery as one that has no waiting.
fn over_streams(cells: &Cells, loss: &str) -> Result<Vec<Series>, StudyError> {
    let mut series = Series::new("blocked", format!("p = {loss}"), Mark::Points, []);
    for streams in [1, 2, 4, 8] {
        if let Some(mean) = at(cells, 100, loss, &format!("sctp:{streams}"))?.mean() {
            series.points.push(vec![f64::from(streams), mean.value()]);
            series.ci95.push(mean.interval());
        }
    }
    let one = at(cells, 100, loss, "sctp:1")?;
    let told = one.mean().zip(counter(one)).map(|(mean, counter)| mean.value() - 2.0 * counter.value());
    let level = told.map(|told| {
        Series::new("blocked", format!("model, p = {loss}"), Mark::Model, [(0.0, told), (9.0, told)])
    });
    Ok([Some(series), level].into_iter().flatten().collect())
}

fn at<'a>(cells: &'a Cells, rate: u32, loss: &str, transport: &str) -> Result<&'a Ran, StudyError> {
    cells.get(&[number("rate", f64::from(rate)), text("loss", loss), text("transport", transport)])
}

/// Returns the blocked time of a message in ms, one way: both ends' counters, over the messages of both ways.
fn counter(cell: &Ran) -> Option<Estimate> {
    let flow = cell.tally.flows.first()?;
    let runs = flow.by_seed(|seed| {
        let (_, time) = seed.transport.blocked?;
        Some(lab::milliseconds(time) / (2.0 * seed.completed.max(1) as f64))
    });
    lab::mean(&runs).map(|mean| Estimate::of_runs(&runs).unwrap_or_else(|| Estimate::exact(mean)))
}

/// Returns the share of its messages that the client sent again: the loss of packets, as the sender sees it.
fn found_loss(cell: &Ran) -> Option<f64> {
    let flow = cell.tally.flows.first()?;
    let runs =
        flow.by_seed(|seed| Some(seed.transport.retransmissions? as f64 / seed.completed.max(1) as f64));
    // Of the messages sent again some are lost again: p/(1 − p) of them are sent for each that arrives.
    lab::mean(&runs).map(|again| again / (1.0 + again))
}

fn scenario(rate: u32, loss: f64) -> Result<Scenario, StudyError> {
    Ok(Scenario {
        rtt: Duration::from_millis(20),
        loss: Probability::new(loss)?,
        rate: Rate::per_second(f64::from(rate))?,
        processing: Duration::from_micros(500),
        profile: Profile::Signalling,
        rto_min: None,
    })
}

/// Returns how long a message waits in the mean in ms, one way, by the resequencing model.
fn waiting(rate: u32, loss: f64, streams: u32) -> Result<f64, StudyError> {
    let transport = match streams {
        u32::MAX => Transport::SctpUnordered,
        streams => Transport::Sctp { streams: NonZeroU32::new(streams).unwrap_or(NonZeroU32::MIN) },
    };
    Ok(one_way_waiting(&scenario(rate, loss)?, &transport).map_or(0.0, |waiting| waiting.mean_s() * 1e3))
}

/// Returns the fewest streams with which a request takes at most 1 % longer than without order.
fn would_do(rate: u32, loss: f64) -> Result<u32, StudyError> {
    Ok(sufficient_streams(&scenario(rate, loss)?).unwrap_or(MOST_STREAMS).get())
}

fn reading(cells: &Cells) -> Result<Vec<String>, StudyError> {
    let one = at(cells, 100, "1%", "sctp:1")?;
    let said = |value: Option<Estimate>| {
        value.map_or_else(|| "–".to_owned(), |value| format!("{:.2} ms", value.value()))
    };
    let found = found_loss(one).unwrap_or_default();
    Ok(vec![
        format!(
            "An association with one stream, a hundred requests a second and 1 % loss answers after {1} and counts {0} of blocked time a message. Request and response wait, so that order costs twice as much; {2} \
             streams would do.",
            said(counter(one)),
            said(one.mean()),
            would_do(100, found)?
        ),
        "What to do: read receiver.blocked at both ends and divide by the messages received. If that is less than a hundredth of the round trip, leave the streams as they are; otherwise take as many as \
         headway predict response-time names for the loss that the retransmissions show. Blocked time falls about as one over the streams; what is left then is the loss itself, and more streams do not \
         help against it."
            .to_owned(),
    ])
}

/// Criteria of the statements, fixed before any run.
const AS_TOLD: Criterion = Criterion::each([-3.0, 3.0], "%");
const ENOUGH: Criterion = Criterion::each([f64::NEG_INFINITY, 3.0], "%");
const RATES: [u32; 3] = [50, 100, 300];
const LOSSES: [&str; 3] = ["0.5%", "1%", "3%"];
const HEAD: [&str; 10] = [
    "per second",
    "loss",
    "loss as the sender sees it",
    "one stream, ms",
    "blocked a message, ms",
    "without order, told",
    "simulated",
    "four streams, told",
    "simulated",
    "streams that would do",
];
const PATH: &str = "64-octet requests, echoed; 10 ms each way, loss both ways, 100 Mbit/s, 0.5 ms of processing; our default profile. Blocked time is what a complete message waits for an earlier one of its stream";
const PLAN: &str = include_str!("../../../../plans/studies/now-blocked.toml");

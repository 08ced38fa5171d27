//! Figs 5 and 6: what one dropped packet does.

use core::time::Duration;

use super::net::Setting;
use super::settings::nearest;
use super::{CELLS, NETWORK, judged, many};
use crate::effort::Effort;
use crate::error::StudyError;
use lab::plan::{Plan, spread};
use lab::report::{Axis, Criterion, Estimate, Evidence, Figure, Mark, Page, Series, Table};
use lab::simulation::SimulationError;
use lab::simulation::Trip;
use lab::simulation::{Halving, StudyRules};

/// Makes figure 5 of S2: one packet dropped, over UDP and SCTP.
pub(crate) fn fig5(effort: &Effort) -> Result<Page, StudyError> {
    let mut page = Page { conditions: vec![NETWORK.to_owned(), ONE_DROP.to_owned()], ..Page::default() };
    let nearest = nearest()?;
    let guarded = StudyRules { headers: nearest.headers, ..StudyRules::default() };
    let setting = Setting {
        rules: StudyRules { cap: 1000.0, ..guarded },
        buffer: 1000,
        load: 0.5,
        drop: Some(DROPPED),
        messages: DROPPED + 400,
        discard: DROPPED - 200,
        keeps_trips: true,
        ..nearest.of(&CELLS[0])
    };
    let sctp = many(effort, &setting, |outcome| outcome.one_way.trips)?;
    let udp = udp_trips(effort, "rfc3261")?;
    for (name, runs, published) in [("SCTP", &sctp, 176.0), ("UDP", &udp, 551.0)] {
        let Some(trips) = runs.first() else { continue };
        let mut points: Vec<(f64, f64)> = trips.iter().map(|trip| (seconds(trip), delay_ms(trip))).collect();
        points.sort_by(|a, b| a.0.total_cmp(&b.0));
        page.series.push(Series::new("fig5", name, Mark::Points, points));
        let dropped = trips.iter().find(|trip| trip.number + 1 == DROPPED);
        page.series.push(Series::published("fig5", name, dropped.map(|trip| (seconds(trip), published))));
    }
    let axes = (
        Axis::linear("time the message was handed over, in s"),
        Axis::linear("delay in ms").between(0.0, 600.0),
    );
    page.figures.push(Figure::new("fig5", "S2 Fig 5: one dropped packet (one seed)", axes.0, axes.1));
    fig5_statements(&mut page, &sctp, &udp);
    behind_the_loss(&mut page, effort, &setting, &sctp)?;
    Ok(page)
}

/// Adds how the wait of others behind the loss hangs on the window that is left: by the rule, and by the window
/// before.
fn behind_the_loss(
    page: &mut Page,
    effort: &Effort,
    setting: &Setting,
    by_flight: &[Vec<Trip>],
) -> Result<(), StudyError> {
    let behind = |runs: &[Vec<Trip>]| -> Vec<f64> {
        let longest = |trips: &Vec<Trip>| {
            trips.iter().filter(|trip| trip.number + 1 != DROPPED).map(delay_ms).fold(0.0, f64::max)
        };
        runs.iter().map(longest).collect()
    };
    let flight = behind(by_flight);
    let shown = |values: &[f64]| Estimate::of_runs(values).map(|mean| mean.to_string()).unwrap_or_default();
    let mut rows = vec![vec!["half of what is in flight".to_owned(), "–".to_owned(), shown(&flight)]];
    // The window before the loss is not published: one half of the runs chooses it, the other one judges it.
    let mut chosen: Option<(f64, f64, Vec<f64>)> = None;
    for cap in [24.0, 26.0, 28.0, 30.0, 32.0, 40.0, 64.0] {
        let rules = StudyRules { cap, halving: Halving::WindowOnce, ..setting.rules };
        let runs = many(effort, &Setting { rules, ..setting.clone() }, |outcome| outcome.one_way.trips)?;
        let longest = behind(&runs);
        rows.push(vec!["half of the window".to_owned(), format!("{cap}"), shown(&longest)]);
        let (choosing, judging) = longest.split_at(longest.len() / 2);
        let Some(off) = lab::mean(choosing).map(|mean| (mean - 125.0).abs()) else { continue };
        if chosen.as_ref().is_none_or(|(_, nearest, _)| off < *nearest) {
            chosen = Some((cap, off, judging.to_vec()));
        }
    }
    let head = ["left by the loss", "window before in packets", "longest delay of another message in ms"];
    page.tables.push(Table::new("Behind the loss, mean over seeds", &head, rows));
    let text = "SCTP delays those after the loss by up to about 125 ms, because it halves its window";
    let mut judged = BEHIND.judge(text, Estimate::of_runs(&flight));
    if let Some((cap, _, judging)) = chosen {
        let cause = format!(
            "half of a window of {cap} packets, chosen by one half of the runs and judged by the other,"
        );
        let place = format!("S2-fig5/half of the window, {cap}");
        judged = BEHIND.explain(judged, &cause, &place, Estimate::of_runs(&judging));
    }
    page.statements
        .push(judged.noting(
            "19 packets are in flight at this load, and the window before the loss is not published",
        ));
    Ok(())
}

fn fig5_statements(page: &mut Page, sctp: &[Vec<Trip>], udp: &[Vec<Trip>]) {
    let of_runs = |runs: &[Vec<Trip>], of: fn(f64, f64) -> f64, start: f64| -> Evidence {
        let values = runs.iter().map(|trips| trips.iter().map(delay_ms).fold(start, of));
        Estimate::of_runs(&values.collect::<Vec<_>>()).into()
    };
    let text = "UDP: the dropped message arrives after 551 ms";
    let judged = UDP_DROPPED.judge(text, of_runs(udp, f64::max, 0.0));
    page.statements.push(judged.noting("T1 = 500 ms and one way"));
    let dropped =
        sctp.iter().filter_map(|trips| trips.iter().find(|trip| trip.number + 1 == DROPPED).map(delay_ms));
    let dropped = Estimate::of_runs(&dropped.collect::<Vec<_>>());
    page.statements.push(SCTP_DROPPED.judge("SCTP: it arrives after 176 ms", dropped).noting(ONE_DRAW));
    let text = "all others take about 49 ms (their minimum)";
    page.statements.push(OTHERS.judge(text, of_runs(sctp, f64::min, f64::INFINITY)).noting(HOPS));
}

/// Makes figure 6 of S2: what order does to the messages behind a loss.
pub(crate) fn fig6(effort: &Effort) -> Result<Page, StudyError> {
    let mut page = Page { conditions: vec![NETWORK.to_owned(), nearest()?.sentence()], ..Page::default() };
    let setting = Setting {
        buffer: 1000,
        load: 0.78,
        drop: Some(DROPPED),
        messages: DROPPED + 300,
        discard: DROPPED - 100,
        keeps_trips: true,
        ..nearest()?.of(&CELLS[0])
    };
    let runs = many(effort, &setting, |outcome| outcome.one_way.trips)?;
    let mut lengths = Vec::new();
    let mut steps = Vec::new();
    for (index, trips) in runs.iter().enumerate() {
        let mut trips = trips.clone();
        trips.sort_by_key(|trip| trip.number);
        let mut latest = trips.first().map_or(virtual_time::Instant::EPOCH, |trip| trip.arrived);
        let mut ordered = Vec::new();
        for trip in &trips {
            latest = latest.max(trip.arrived);
            ordered.push((seconds(trip), latest.as_secs_f64()));
        }
        let late = trips.iter().map(|trip| trip.arrived.since(trip.due)).max().unwrap_or(Duration::ZERO);
        lengths.push(late.as_secs_f64() * 1e3);
        let held = ordered.windows(2).filter(|pair| pair[0].1 >= pair[1].1).count();
        steps.push(f64::from(u32::try_from(held).unwrap_or(0)));
        if index == 0 {
            page.series.push(Series::new("fig6", "TCP: in order", Mark::Points, ordered));
            let unordered = trips.iter().map(|trip| (seconds(trip), trip.arrived.as_secs_f64()));
            page.series.push(Series::new("fig6", "SCTP: as they arrive", Mark::Points, unordered));
            let dropped = trips.iter().find(|trip| trip.number + 1 == DROPPED);
            let arrival = dropped.map(|trip| (seconds(trip), seconds(trip) + 0.311));
            page.series.push(Series::published("fig6", "SCTP: as they arrive", arrival));
        }
    }
    let (x, y) = (Axis::linear("time handed over, in s"), Axis::linear("time delivered, in s"));
    let title = "S2 Fig 6: delivery with and without order (one seed)";
    page.figures.push(Figure::new("fig6", title, x, y));
    let text = "the lost packet's retransmission arrives 311 ms after it was sent";
    let judged = RESENT.judge(text, Estimate::of_runs(&lengths));
    page.statements
        .push(judged.noting("the load of this run is not published, 78 % here, and with it the queue"));
    let text = "TCP holds everything that arrived in between and delivers it at once (messages delivered at one instant)";
    page.statements.push(HELD.judge(text, Estimate::of_runs(&steps)));
    Ok(page)
}

/// Returns how long after it was sent the dropped request was repeated over UDP, in ms by run, with this profile of its timer.
pub(super) fn delays_of_dropped(effort: &Effort, profile: &str) -> Result<Vec<f64>, StudyError> {
    let repeated = |trips: &Vec<Trip>| {
        let least = trips.iter().map(delay_ms).fold(f64::INFINITY, f64::min);
        trips.iter().find(|trip| trip.number + 1 == DROPPED).map(|trip| delay_ms(trip) - least)
    };
    Ok(udp_trips(effort, profile)?.iter().filter_map(repeated).collect())
}

/// Runs the drop of the same packet over UDP, by the plan.
fn udp_trips(effort: &Effort, profile: &str) -> Result<Vec<Vec<Trip>>, StudyError> {
    let text = UDP.replace("profile = \"rfc3261\"", &format!("profile = \"{profile}\""));
    let plan = Plan::parse(&text).map_err(|error| StudyError::Plan { page: "S2-fig5", error })?;
    let Some(cell) = plan.cells.first() else { return Ok(Vec::new()) };
    let seeds = usize::try_from(effort.seeds).unwrap_or(1);
    let runs = spread(&effort.options, seeds, |index| {
        let run = effort.simulate(&cell.scenario, judged(index))?;
        let one_way = run.flows.into_iter().next().and_then(|flow| flow.one_way);
        Ok::<_, SimulationError>(one_way.map(|one_way| one_way.trips).unwrap_or_default())
    })?;
    if effort.options.stop.is_raised() { Err(StudyError::Interrupted) } else { Ok(runs) }
}

fn seconds(trip: &Trip) -> f64 {
    trip.due.as_secs_f64()
}

fn delay_ms(trip: &Trip) -> f64 {
    trip.arrived.since(trip.due).as_secs_f64() * 1e3
}

/// Criteria of the statements, fixed before any run.
const UDP_DROPPED: Criterion = Criterion::equivalent([545.0, 560.0], "ms").beside(551.0);
const SCTP_DROPPED: Criterion = Criterion::equivalent([150.0, 190.0], "ms").beside(176.0);
const OTHERS: Criterion = Criterion::equivalent([47.5, 49.5], "ms").beside(49.0);
const BEHIND: Criterion = Criterion::equivalent([55.0, 140.0], "ms").beside(125.0);
const RESENT: Criterion = Criterion::within(311.0, 0.35, "ms");
const HELD: Criterion = Criterion::more_than(9.5, "messages");
const ONE_DRAW: &str = "round trip, four later packets, one way: 94.5 + 4 × 5.2 + 48.2 ms is 164; the published 176 ms is one draw of four Poisson intervals, 2 ms \
                        each longer than their mean";
const HOPS: &str = "three hops of 15 ms and the serialisation of 552 octets";
/// The packet sent at about 12.2 s at 192 messages a second.
const DROPPED: u64 = 2340;
const ONE_DROP: &str = "Load 50 % (the study says heavy load), a buffer that never fills, packet 2340 of the SIP flow is dropped, near 12.2 s";
const UDP: &str = include_str!("../../../../plans/studies/s2-udp.toml");

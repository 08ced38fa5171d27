//! S4: transport protocols for firewall control. What is simulated is SIMCO: agent and middlebox as they ship.

use core::num::NonZeroU32;

use models::studies::s4::{self, PublishedCell, PublishedTransport};

use crate::effort::{Effort, Ran};
use crate::error::StudyError;
use crate::response::{
    agrees, curve, curves, flow, legend, model_ms, model_over_loss, model_over_rate, worst,
};
use crate::s1::{self, STUDIES, TCP_2006, loss_axis, response_axis};
use lab::report::{Axis, Figure, Mark, Page, Series, Statement, Table, Verdict};

/// Makes table 1 of S4: four transports at 1 and 100 transactions a second.
pub(super) fn table1(effort: &Effort) -> Result<Page, StudyError> {
    let mut ran = effort.run("S4-table1", TABLE1)?;
    ran.extend(effort.run("S4-table1", TABLE1_UDP)?);
    let mut page = Page {
        conditions: [SIMCO, STUDIES, TCP_STUDIES, UDP, SLOW, CONSTANT].map(str::to_owned).to_vec(),
        ..Page::default()
    };
    let mut rows = Vec::new();
    for cell in s4::published_table() {
        let (transport, name) = match cell.transport {
            PublishedTransport::Sctp(streams) => {
                (format!("sctp:{streams}"), format!("SCTP, {streams} streams"))
            }
            PublishedTransport::Tcp => ("tcp".to_owned(), "TCP".to_owned()),
            PublishedTransport::Udp => ("udp".to_owned(), "UDP".to_owned()),
        };
        let at = |case: &str| ran.iter().find(|ran| ran.level(0) == transport && ran.level(1) == case);
        let is_slow = cell.rate_per_second < 10.0;
        let Some(ours) = at(if is_slow { "constant-1" } else { "poisson-100" }) else { continue };
        let text = format!("{name} at {} transactions a second", cell.rate_per_second);
        let statement = Statement::within(&text, cell.response_ms, ours.response_ms(), 0.03, "ms");
        page.statements.push(statement.decided_within(ours.response_ci95(), 0.03));
        let backed_off = at("constant-1-back-off").filter(|_| is_slow);
        if let Some(backed_off) = backed_off {
            let terms = repeated_ms(transport != "sctp:1024");
            page.statements.push(with_back_off(&text, cell.response_ms, terms, backed_off));
        }
        let beside = ["constant-1-back-off", "poisson-1", "poisson-1-back-off"].map(|case| {
            let cell = at(case).filter(|_| is_slow);
            cell.map(|ran| format!("{:.2}", ran.response_ms())).unwrap_or_default()
        });
        let model = s4::recompute(&cell)?.as_secs_f64() * 1e3;
        let columns = [cell.response_ms, model, ours.response_ms()].map(|value| format!("{value:.3}"));
        rows.push(
            [name, cell.rate_per_second.to_string()].into_iter().chain(columns).chain(beside).collect(),
        );
    }
    page.statements.extend(crowded(&ran));
    page.tables.push(Table::new("S4 Table 1: response time of PER, in ms", &HEAD, rows));
    page.notes.push(TERMS.to_owned());
    Ok(page)
}

/// Creates the statement on one stream and Poisson arrivals, for which the model has none.
fn crowded(ran: &[Ran]) -> Option<Statement> {
    let poisson = ran.iter().find(|ran| ran.level(0) == "sctp:1" && ran.level(1) == "poisson-1")?;
    let text = "one stream, 1 a second, Poisson arrivals";
    let mut statement = Statement::within(text, 40.5, poisson.response_ms(), 0.03, "ms");
    statement.verdict = Verdict::Differs;
    statement.because =
        "the model takes arrivals as equally spaced; Poisson arrivals crowd behind a lost message and wait for the same timer: by the first order in p it is \
         48.5 ms; constant arrivals give the published value"
            .to_owned();
    Some(statement.with_ci95(poisson.response_ci95()))
}

/// Creates the statement for timeouts that double, beside the published value and what that adds.
fn with_back_off(text: &str, published: f64, terms: f64, ran: &Ran) -> Statement {
    let (whole, ours) = (published + terms, ran.response_ms());
    let off = (ours / whole - 1.0) * 100.0;
    let text = format!("{text}, timeouts that double");
    let mut statement = Statement::within(text, published, ours, 0.03, "ms").with_ci95(ran.response_ci95());
    if statement.verdict != Verdict::Reproduced {
        statement = statement.because(&format!(
            "the model's timeout is constant; what doubling adds in p² makes it {whole:.2} ms, from which ours is {off:+.1} %"
        ));
    }
    statement
}

/// Returns what the terms in p² add to the mean response time at one transaction a second where timeouts
/// double, in ms.
///
/// A message lost twice in one direction is 3 RTO late instead of one. After a loss the timer stays doubled until the next round trip is
/// measured, and what is lost then is 2 RTO late: a request after a lost request; a request and a response after a lost response, whose
/// SACK is lost with it; a response after a lost SACK of a response. With order, whatever is that late holds up the one or two messages
/// behind it.
fn repeated_ms(is_ordered: bool) -> f64 {
    let (p, rto, interval) = (0.01_f64, 1000.0, 1050.0);
    let late = 2.0 * p * p * 2.0 * rto + 4.0 * p * p * rto;
    let held_up = 2.0 * p * p * (6.0 * rto - 3.0 * interval) + 4.0 * p * p * (2.0 * rto - interval);
    if is_ordered { late + held_up } else { late }
}

/// Makes figure 16 of S4: response time over loss, SCTP and TCP.
pub(super) fn fig16(effort: &Effort) -> Result<Page, StudyError> {
    let sctp = effort.run("S4-fig16", LOSS)?;
    let tcp = effort.run("S4-fig16", TCP_LOSS)?;
    let mut page = Page {
        conditions: vec![SIMCO.to_owned(), STUDIES.to_owned(), TCP_2006.to_owned()],
        ..Page::default()
    };
    let ordinate = response_axis().between(0.0, 250.0);
    page.figures.push(Figure::new(
        "fig16",
        "S4 Fig 16: mean response time of PER over loss",
        loss_axis(),
        ordinate,
    ));
    page.series = curves(&sctp, 0, 1, "fig16", 100.0, legend);
    for (profile, name) in [
        ("linux-2006", "TCP, Linux 2.6, byte counting"),
        ("linux-2006-no-abc", "TCP, Linux 2.6, no byte counting"),
    ] {
        page.series.push(curve(tcp.iter().filter(|cell| cell.level(1) == profile), 0, "fig16", 100.0, name));
    }
    page.series.push(model_over_loss("fig16", "sctp:1", 0.1)?);
    let percent = |cell: &PublishedCell| (cell.rate_per_second > 10.0).then_some(1.0);
    page.series.push(printed("fig16", &legend("sctp:1"), ONE_STREAM, percent));
    page.series.push(printed("fig16", "TCP, Linux 2.6, byte counting", PublishedTransport::Tcp, percent));
    let at = |profile: &str, loss: f64| {
        let cell = tcp.iter().find(|cell| cell.level(1) == profile && (cell.number(0) - loss).abs() < 1e-9);
        cell.map_or(f64::NAN, Ran::response_ms)
    };
    let with = at("linux-2006", 0.03);
    let stream = sctp
        .iter()
        .find(|cell| cell.level(1) == "sctp:1" && cell.number(0) > 0.029)
        .map_or(f64::NAN, Ran::response_ms);
    let because = format!("at 3 % loss TCP takes {with:.1} ms, SCTP with one stream {stream:.1} ms");
    page.statements.push(Statement::holds("SCTP with one stream is faster than TCP", stream < with, because));
    let without = at("linux-2006-no-abc", 0.03);
    let because = format!("at 3 % loss {with:.1} ms with it, {without:.1} ms without");
    page.statements.push(Statement::holds(
        "TCP is faster for small messages without byte counting",
        without < with,
        because,
    ));
    Ok(page)
}

/// Makes figure 17 of S4: response time over the number of streams.
pub(super) fn fig17(effort: &Effort) -> Result<Page, StudyError> {
    let ran = effort.run("S4-fig17", STREAMS)?;
    let mut page = Page { conditions: vec![SIMCO.to_owned(), STUDIES.to_owned()], ..Page::default() };
    let abscissa = Axis::linear("number of streams").between(0.0, 12.0);
    page.figures.push(Figure::new(
        "fig17",
        "S4 Fig 17: mean response time of PER over the number of streams",
        abscissa,
        response_axis(),
    ));
    let streams = |cell: &Ran| cell.level(1).trim_start_matches("sctp:").parse::<f64>().unwrap_or(f64::NAN);
    for loss in ["0.5%", "1%", "2%", "5%"] {
        let cells: Vec<&Ran> = ran.iter().filter(|cell| cell.level(0) == loss).collect();
        let points = cells.iter().map(|cell| (streams(cell), cell.response_ms()));
        let mut series = Series::new("fig17", format!("p = {loss}"), Mark::Points, points);
        series.ci95 = cells.iter().map(|cell| cell.response_ci95()).collect();
        page.series.push(series);
        let models = cells
            .iter()
            .map(|cell| Ok((streams(cell), model_ms(cell.number(0), 100.0, flow(cell.level(1)))?)));
        let models = models.collect::<Result<Vec<_>, StudyError>>()?;
        page.series.push(Series::new("fig17", format!("model, p = {loss}"), Mark::Model, models));
    }
    let streams = |cell: &PublishedCell| (cell.rate_per_second > 10.0).then_some(1.0);
    page.series.push(printed("fig17", "p = 1%", ONE_STREAM, streams));
    let low = ran.iter().filter(|cell| cell.number(0) <= 0.0101);
    let off = worst(low, |cell| model_ms(cell.number(0), 100.0, flow(cell.level(1))))?;
    page.statements.push(agrees(
        "simulation and model agree up to 1 % loss, for every number of streams".to_owned(),
        off,
        0.03,
    ));
    let at = |count: &str| {
        ran.iter()
            .find(|cell| cell.level(0) == "1%" && cell.level(1) == count)
            .map_or(f64::NAN, Ran::response_ms)
    };
    let (five, six, twelve) = (at("sctp:5"), at("sctp:6"), at("sctp:12"));
    let because = format!("at 1 % loss {five:.2}, {six:.2} and {twelve:.2} ms for 5, 6 and 12 streams");
    let gain = (six / twelve - 1.0) * 100.0;
    let half = ran
        .iter()
        .filter(|cell| cell.level(0) == "1%" && ["sctp:6", "sctp:12"].contains(&cell.level(1)))
        .filter_map(|cell| {
            cell.response_ci95().map(|[low, high]| (high - low) / 2.0 / cell.response_ms() * 100.0)
        })
        .sum::<f64>();
    let statement = Statement::holds("more than M = 6 streams gain nothing", gain.abs() < 1.0, because);
    page.statements.push(statement.decided_by(Some([gain - half, gain + half]), [-1.0, 1.0]));
    Ok(page)
}

/// Makes figure 18 of S4: the distribution at 1 % loss.
pub(super) fn fig18(effort: &Effort) -> Result<Page, StudyError> {
    let ran = effort.run("S4-fig18", DISTRIBUTION)?;
    let mut page = s1::distribution(
        &ran,
        "fig18",
        "S4 Fig 18: share of openings (PER) that take longer, p = 1 %, d = 10 ms",
    );
    about_simco(&mut page);
    let longer = |case: &str, ms: f64| {
        let flow = ran.iter().find(|cell| cell.level(0) == case).and_then(|cell| cell.tally.flows.first());
        let steps = flow.map(|flow| flow.responses.ccdf()).unwrap_or_default();
        steps.iter().rev().find(|(value, _)| *value <= ms).map_or(1.0, |(_, share)| *share)
    };
    let (sctp, tcp) = (longer("sctp-6", 100.0), longer("tcp-linux-2006", 100.0));
    let because = format!(
        "longer than 100 ms: {:.3} % over SCTP with six streams, {:.2} % over TCP",
        sctp * 100.0,
        tcp * 100.0
    );
    page.statements.push(Statement::holds("TCP has the longer tail", tcp > 3.0 * sctp, because));
    Ok(page)
}

/// Makes figure 19 of S4: response time over the rate of transactions.
pub(super) fn fig19(effort: &Effort) -> Result<Page, StudyError> {
    let ran = effort.run("S4-fig19", RATE)?;
    let mut page =
        s1::rate_page(&ran, "fig19", "S4 Fig 19: mean response time of PER over the rate, p = 1 %", STUDIES);
    about_simco(&mut page);
    for transport in ["sctp:1", "sctp:6"] {
        page.series.push(model_over_rate("fig19", transport, 10_000.0)?);
    }
    page.series.push(printed("fig19", &legend("sctp:1"), ONE_STREAM, |cell| Some(cell.rate_per_second)));
    s1::regions(&mut page, &ran, "sctp:1")?;
    Ok(page)
}

/// Returns the values of table 1 for a transport, at the abscissas they have in a figure.
fn printed(
    figure: &str,
    name: &str,
    transport: PublishedTransport,
    x: impl Fn(&PublishedCell) -> Option<f64>,
) -> Series {
    let cells = s4::published_table().into_iter().filter(|cell| cell.transport == transport);
    Series::published(figure, name, cells.filter_map(|cell| Some((x(&cell)?, cell.response_ms))))
}

/// A page that S1 draws, too, says what went over the path here.
fn about_simco(page: &mut Page) {
    page.conditions.splice(..1, [SIMCO.to_owned()]);
}

const ONE_STREAM: PublishedTransport = PublishedTransport::Sctp(NonZeroU32::MIN);
const SIMCO: &str = "SIMCO (RFC 4540) by the agent and the middlebox that ship, the packet filter in memory; transactions of calls with a mean of 180 s, refreshed every 120 s; \
                     response times are those of PER; 10 ms each way, independent loss both ways, 100 Mbit/s, 0.5 ms of processing";
const TCP_STUDIES: &str = "TCP as the study's model takes it, SCTP with one stream (profile studies of TCP: 1 s of timeout at least, a window that does not limit)";
const UDP: &str = "UDP, over which SIMCO does not run: 64-octet requests, echoed, T1 = 500 ms";
const SLOW: &str = "1 a second: a transaction every 1050 ms, because at 1 s the timer of a lost request and the next request fall on one instant";
const CONSTANT: &str = "1 a second: a timeout that stays at 1 s (RTO.Max), as the model has it; beside that timeouts that double, as RFC 9260 and RFC 6298 want it";
const TERMS: &str = "Timeouts that double add terms in p² to RTT + 2p·RTO + δ: 4p²·RTO for messages lost twice (3 RTO late), 4p²·RTO for those lost while the timer \
                     is doubled still (until the next round trip is measured: after a lost request, response or SACK), and with order \
                     2p²·(6 RTO − 3d) + 4p²·(2 RTO − d) for those behind them, d being 1050 ms: 0.8 ms without order, 1.75 ms with it.";
const HEAD: [&str; 8] = [
    "transport",
    "per second",
    "published",
    "model",
    "simulated",
    "timeouts that double",
    "Poisson arrivals",
    "Poisson, timeouts that double",
];
const TABLE1: &str = include_str!("../../../plans/studies/s4-table1.toml");
const TABLE1_UDP: &str = include_str!("../../../plans/studies/s4-table1-udp.toml");
const DISTRIBUTION: &str = include_str!("../../../plans/studies/s4-distribution.toml");
const RATE: &str = include_str!("../../../plans/studies/s4-rate.toml");
const LOSS: &str = include_str!("../../../plans/studies/s4-loss.toml");
const TCP_LOSS: &str = include_str!("../../../plans/studies/s4-tcp-loss.toml");
const STREAMS: &str = include_str!("../../../plans/studies/s4-streams.toml");

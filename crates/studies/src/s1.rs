//! S1: head-of-line blocking in TCP and SCTP.

use core::time::Duration;

use models::studies::{Conditions, Flow};

use crate::effort::{Effort, Ran};
use crate::error::StudyError;
use crate::response::{
    agrees, conditions, curve, curves, flow, legend, model_ms, model_over_loss, model_over_rate, worst,
};
use lab::report::{Axis, Figure, Mark, Page, Series, Statement, Table, Verdict};

/// Makes figure 4 of S1: response time of SCTP over loss, for several numbers of streams.
pub(super) fn fig4(effort: &Effort) -> Result<Page, StudyError> {
    let ran = effort.run("S1-fig4", LOSS)?;
    let others = effort.run("S1-fig4", PROFILES)?;
    let mut page = Page { conditions: vec![PATH.to_owned(), STUDIES.to_owned()], ..Page::default() };
    page.figures.push(Figure::new(
        "fig4",
        "S1 Fig 4: mean response time over loss",
        loss_axis(),
        response_axis(),
    ));
    page.series = curves(&ran, 0, 1, "fig4", 100.0, legend);
    for transport in TRANSPORTS {
        page.series.push(model_over_loss("fig4", transport, 0.1)?);
    }
    let title = "The same with the rules of today: once-only fast retransmission (RFC 9260), and ours";
    page.figures.push(Figure::new("profiles", title, loss_axis(), response_axis()));
    for (profile, name) in [("rfc9260", "RFC 9260"), ("signalling", "ours")] {
        for transport in ["sctp:1", "sctp:6"] {
            let cells = others.iter().filter(|cell| cell.level(1) == profile && cell.level(2) == transport);
            page.series.push(curve(cells, 0, "profiles", 100.0, format!("{name}, {}", legend(transport))));
        }
    }
    page.series.push(model_over_loss("profiles", "sctp:1", 0.08)?);
    page.series.push(Series::published("profiles", "RFC 9260, SCTP, N = 1", [(1.0, 23.5)]));
    fig4_statements(&mut page, &ran, &others)?;
    page.tables.push(over_loss(&ran)?);
    Ok(page)
}

fn fig4_statements(page: &mut Page, ran: &[Ran], others: &[Ran]) -> Result<(), StudyError> {
    let model = |cell: &Ran| model_ms(cell.number(0), 100.0, flow(cell.level(1)));
    for transport in TRANSPORTS {
        let low = ran.iter().filter(|cell| cell.level(1) == transport && cell.number(0) <= 0.0101);
        let text = format!("{}: simulation and model agree up to 1 % loss", legend(transport));
        page.statements.push(agrees(text, worst(low, model)?, 0.03));
    }
    let mut is_above = true;
    for cell in ran.iter().filter(|cell| cell.level(1) == "sctp:1" && cell.number(0) >= 0.02) {
        is_above &= cell.response_ms() > model(cell)?;
    }
    let text = "the measured values lie above the model for p > 1 %";
    page.statements.push(Statement::holds(
        text,
        is_above,
        "one stream, every loss from 2 % on: lost retransmissions",
    ));
    let at = |transport: &str, loss: f64| find(ran, loss, |cell| cell.level(1) == transport);
    let gain = at("sctp:1", 0.02) / at("sctp:6", 0.02);
    let because = format!("at 2 % one stream takes {gain:.2} times as long as six");
    page.statements.push(Statement::holds("the gain of N > 1 is visible from p = 2 %", gain > 1.05, because));
    let once = find(others, 0.01, |cell| cell.level(1) == "rfc9260" && cell.level(2) == "sctp:1");
    let because = "the study's stacks sent a chunk again as often as three reports asked for it; with the once-only rule of RFC 9260 \
                   a chunk lost twice holds up the stream for a second";
    let text = "one stream answers in 23.5 ms at 1 % loss with today's rule of fast retransmission";
    let does = once < 25.0;
    let statement = Statement::holds(text, does, because).differs_if(!does);
    page.statements.push(statement.beside(23.5, once, "ms"));
    Ok(())
}

/// Makes figure 5 of S1: one TCP connection over loss.
pub(super) fn fig5(effort: &Effort) -> Result<Page, StudyError> {
    let ran = effort.run("S1-fig5", TCP_LOSS)?;
    let mut page = Page { conditions: vec![PATH.to_owned(), TCP_2006.to_owned()], ..Page::default() };
    let ordinate = response_axis().between(0.0, 400.0);
    page.figures.push(Figure::new(
        "fig5",
        "S1 Fig 5: mean response time of TCP over loss",
        loss_axis(),
        ordinate,
    ));
    for (shape, name) in [("joined", "TCP, Linux 2.6"), ("apart", "the same, every message a segment")] {
        page.series.push(curve(ran.iter().filter(|cell| cell.level(1) == shape), 0, "fig5", 100.0, name));
    }
    page.series.push(model_over_loss("fig5", "tcp", 0.1)?);
    let at = |shape: &str, loss| find(&ran, loss, |cell| cell.level(1) == shape);
    let excess =
        |loss: f64| Ok::<_, StudyError>(at("joined", loss) / model_ms(loss, 100.0, Flow::ONE_CONNECTION)?);
    let (one, four) = (excess(0.01)?, excess(0.04)?);
    let because = format!("{one:.2} times the model at 1 %, {four:.2} times at 4 %");
    page.statements.push(Statement::holds(
        "the measured response time is above the model, more so for p > 1 %",
        one > 1.0 && four > one,
        because,
    ));
    page.statements.push(overload(&ran));
    page.notes.push(CARRIED.to_owned());
    page.tables.push(over_loss(&ran)?);
    Ok(page)
}

/// Creates the statement that 100 messages a second are too much above 7 % loss: then the answered ones grow
/// with the time.
fn overload(ran: &[Ran]) -> Statement {
    let from = |shape: &str| {
        let too_slow = ran.iter().filter(|cell| cell.level(1) == shape && cell.response_ms() > 1000.0);
        too_slow.map(|cell| cell.number(0)).fold(f64::INFINITY, f64::min) * 100.0
    };
    let (apart, joined) = (from("apart"), find(ran, 0.10, |cell| cell.level(1) == "joined"));
    let because = format!(
        "with a segment for each message requests take more than a second, and longer the longer the run lasts, from {apart:.0} % on; where waiting messages share \
         segments, as Linux does, it is {joined:.0} ms at 10 %, and stays"
    );
    let text = "100 messages a second cannot be carried above 7 % loss";
    let does = (6.0..=8.0).contains(&apart);
    let statement = Statement::holds(text, does, because).differs_if(!does && apart.is_finite());
    statement.beside(7.0, apart, "%")
}

/// Makes figure 6 of S1: the complementary distribution at 1 % loss.
pub(super) fn fig6(effort: &Effort) -> Result<Page, StudyError> {
    let ran = effort.run("S1-fig6", DISTRIBUTION)?;
    let mut page = distribution(&ran, "fig6", "S1 Fig 6: share of requests that take longer, at 1 % loss");
    let quantile = |case: &str, share| quantile(&ran, case, share);
    let (six, unordered) = (quantile("sctp-6", 0.99), quantile("sctp-unordered", 0.99));
    page.statements.push(Statement::within(
        "six streams coincide with unordered delivery (99 % quantile)",
        unordered,
        six,
        0.05,
        "ms",
    ));
    let p98 = ["sctp-1", "sctp-2", "sctp-3", "sctp-6"].map(|case| quantile(case, 0.98));
    let because = format!(
        "98 % quantiles {:.1}, {:.1}, {:.1}, {:.1} ms for N = 1, 2, 3, 6",
        p98[0], p98[1], p98[2], p98[3]
    );
    page.statements.push(Statement::holds(
        "the curves approach unordered delivery as N grows",
        p98.is_sorted_by(|a, b| a >= b),
        because,
    ));
    let linux = quantile("tcp-linux-2006", 0.99);
    page.series.push(Series::published("fig6", "tcp-linux-2006", [(200.0, 0.01)]));
    let text = "TCP on Linux: the 99 % quantile is about 200 ms";
    let mut statement = Statement::within(text, 200.0, linux, 0.5, "ms");
    if statement.verdict != Verdict::Reproduced {
        let late = longer_than(&ran, "tcp-linux-2006", 200.0) * 100.0;
        statement = statement.because(&format!(
            "{late:.2} % take longer than 200 ms. A timeout of 220 ms makes some nine messages that late, so that for 1 % every twentieth loss would wait for \
             the timer; here later reports find most of what is lost twice. Which losses that kernel left to its timer is not published"
        ));
    }
    let messages = ran.first().map_or(0, Ran::answers);
    page.statements.push(statement.given(messages, ENOUGH));
    let tail = longer_than(&ran, "tcp-solaris-10", 500.0);
    let because = format!("{:.2} % of the requests take longer than 500 ms", tail * 100.0);
    page.statements.push(
        Statement::holds(
            "TCP on Solaris: a clear tail at its minimum timeout of about 500 ms",
            tail > 0.001,
            because,
        )
        .given(messages, ENOUGH),
    );
    page.statements.push(step_at_30(&ran));
    Ok(page)
}

/// Returns the step of the published curves.
fn step_at_30(ran: &[Ran]) -> Statement {
    let step = |case: &str| (longer_than(ran, case, 28.0) - longer_than(ran, case, 32.0)) * 100.0;
    let (poisson, constant) = (step("sctp-1"), step("sctp-1-constant"));
    let nobody = step("sctp-unordered-constant");
    let because = format!(
        "between 28 and 32 ms: {poisson:.2} % of the requests over one stream with Poisson arrivals, {constant:.2} % with constant ones, and {nobody:.2} % of \
         unordered ones. Whatever waits for its predecessor's neighbour waits a multiple of 10 ms if arrivals are equally spaced, so that there is a step at \
         each multiple; Poisson arrivals smear it"
    );
    let text = "a step at 30 ms, from bundling two messages into one packet";
    let there_is_one = constant > 0.2;
    Statement::holds(text, there_is_one, because).differs_if(there_is_one).with_ours(constant, "%")
}

/// Makes figure 7 of S1: SCTP over the rate.
pub(super) fn fig7(effort: &Effort) -> Result<Page, StudyError> {
    let ran = effort.run("S1-fig7", RATE)?;
    let mut page =
        rate_page(&ran, "fig7", "S1 Fig 7: mean response time of SCTP over the rate, 1 % loss", STUDIES);
    for transport in ["sctp:1", "sctp:64"] {
        page.series.push(model_over_rate("fig7", transport, 10_000.0)?);
    }
    regions(&mut page, &ran, "sctp:1")?;
    let fast = find_rate(&ran, "sctp:unordered", 2000.0);
    let text =
        "with enough streams the response time stays near the round-trip time up to 2000 messages a second";
    page.statements.push(Statement::holds(
        text,
        fast < 25.0,
        format!("{fast:.1} ms at 2000 a second, unordered"),
    ));
    Ok(page)
}

/// Makes figure 8 of S1: parallel TCP connections over the rate.
pub(super) fn fig8(effort: &Effort) -> Result<Page, StudyError> {
    let ran = effort.run("S1-fig8", TCP_RATE)?;
    let mut page = rate_page(
        &ran,
        "fig8",
        "S1 Fig 8: mean response time of N TCP connections over the rate, 1 % loss",
        TCP_2006,
    );
    for transport in ["tcp", "tcp:16"] {
        page.series.push(model_over_rate("fig8", transport, 5000.0)?);
    }
    let (one, sixteen) = (find_rate(&ran, "tcp", 1000.0), find_rate(&ran, "tcp:16", 1000.0));
    let because = format!("at 1000 a second one connection takes {one:.1} ms, sixteen take {sixteen:.1} ms");
    page.statements.push(Statement::holds(
        "at high rates several connections are faster than one",
        sixteen < one,
        because,
    ));
    let (one, sixteen) = (find_rate(&ran, "tcp", 50.0), find_rate(&ran, "tcp:16", 50.0));
    let by_model = ["tcp", "tcp:16"].map(|transport| {
        let conditions = Conditions { rto: LINUX_TIMEOUT, ..conditions(0.01, 50.0)? };
        Ok::<_, StudyError>(
            models::studies::s1::response_time(&conditions, flow(transport))?.response_time.as_secs_f64()
                * 1e3,
        )
    });
    let [model_one, model_sixteen] = by_model;
    let because = format!(
        "at 50 a second one connection takes {one:.1} ms, sixteen take {sixteen:.1} ms: each recovers by its timer. By the model, with a timeout of 220 ms, it is {:.1} and {:.1} ms: \
         one has little to gain, and a window of a few segments, which the model does not know, costs it more",
        model_one?, model_sixteen?
    );
    let are_not = sixteen > 0.95 * one;
    let statement = Statement::holds("at low rates they are not", are_not, because).differs_if(!are_not);
    page.statements.push(statement.given(ran.first().map_or(0, Ran::answers), ENOUGH));
    Ok(page)
}

/// Makes figure 9 of S1: parallel TCP connections over the rate of each connection.
pub(super) fn fig9(effort: &Effort) -> Result<Page, StudyError> {
    let ran = effort.run("S1-fig9", TCP_RATE)?;
    let mut page = Page { conditions: vec![PATH.to_owned(), TCP_2006.to_owned()], ..Page::default() };
    let abscissa = Axis::log("messages per second and connection, λ/N").between(0.5, 5000.0);
    let title = "S1 Fig 9: mean response time over the rate of each connection, 1 % loss";
    page.figures.push(Figure::new("fig9", title, abscissa, response_axis().between(0.0, 150.0)));
    for mut series in curves(&ran, 0, 1, "fig9", 1.0, legend) {
        let connections = series.name.rsplit("= ").next().and_then(|count| count.parse().ok()).unwrap_or(1.0);
        series.points.iter_mut().filter_map(|point| point.first_mut()).for_each(|x| *x /= connections);
        page.series.push(series);
    }
    let each = |transport: &str, rate: f64| find_rate(&ran, transport, rate);
    // 50 a second on each connection: 50 over one, 100 over two, 200 over four.
    let values = [each("tcp", 50.0), each("tcp:2", 100.0), each("tcp:4", 200.0)];
    let spread = values.iter().fold(0.0_f64, |most, value| most.max((value / values[0] - 1.0).abs()));
    let because = format!(
        "{:.1}, {:.1} and {:.1} ms for 1, 2 and 4 connections at 50 a second each; the bar is 10 %",
        values[0], values[1], values[2]
    );
    let text = "plotted over λ/N, N connections fall on the curve of one";
    let messages = ran.first().map_or(0, Ran::answers);
    page.statements.push(Statement::holds(text, spread < 0.1, because).given(messages, ENOUGH));
    Ok(page)
}

/// Returns the three regions of a curve over the rate.
pub(super) fn regions(page: &mut Page, ran: &[Ran], transport: &str) -> Result<(), StudyError> {
    let at = |rate: f64| find_rate(ran, transport, rate);
    let slow = at(1.0) / model_ms(0.01, 1.0, flow(transport))? - 1.0;
    let text = "below 3/RTO the timer dominates: about RTT + 2p·(RTO + …)";
    let because = format!(
        "at 1 a second the simulation is {:+.1} % from the model, whose arrivals are equally spaced",
        slow * 100.0
    );
    page.statements.push(Statement::holds(text, at(1.0) > 1.4 * at(20.0), because));
    let (three, ten, hundred) = (at(3.0), at(10.0), at(100.0));
    let because =
        format!("{three:.1} ms at 3, {ten:.1} ms at 10, {hundred:.1} ms at 100 a second; RTO is 1 s");
    let text = "the knee is at 3/RTO: beyond it fast retransmission repairs losses, sooner and sooner";
    page.statements.push(Statement::holds(text, three > ten && ten > hundred, because));
    Ok(())
}

/// Creates a page with one curve per transport over the rate.
pub(super) fn rate_page(ran: &[Ran], figure: &str, title: &str, rules: &str) -> Page {
    let mut page = Page { conditions: vec![PATH.to_owned(), rules.to_owned()], ..Page::default() };
    let abscissa = Axis::log("messages per second").between(1.0, 10_000.0);
    page.figures.push(Figure::new(figure, title, abscissa, response_axis().between(0.0, 120.0)));
    page.series = curves(ran, 0, 1, figure, 1.0, legend);
    page
}

/// Creates a page with one complementary distribution per case.
pub(super) fn distribution(ran: &[Ran], figure: &str, title: &str) -> Page {
    let mut page = Page {
        conditions: vec![PATH.to_owned(), STUDIES.to_owned(), TCP_2006.to_owned()],
        ..Page::default()
    };
    let abscissa = Axis::linear("response time in ms").between(0.0, 600.0);
    let ordinate = Axis::log("share of requests that take longer").between(1e-4, 1.0);
    page.figures.push(Figure::new(figure, title, abscissa, ordinate.clone()));
    let near = Axis::linear("response time in ms").between(15.0, 75.0);
    page.figures.push(Figure::new("near", "The same near the round-trip time", near, ordinate));
    for cell in ran {
        let Some(flow) = cell.tally.flows.first() else { continue };
        let steps = thinned(&flow.responses.ccdf());
        for figure in [figure, "near"] {
            page.series.push(Series::new(figure, cell.level(0), Mark::Steps, steps.clone()));
        }
    }
    page
}

/// Steps that can be told apart on paper.
fn thinned(steps: &[(f64, f64)]) -> Vec<(f64, f64)> {
    let mut kept: Vec<(f64, f64)> = Vec::new();
    for step in steps {
        let is_near = |last: &(f64, f64)| step.0 - last.0 < 0.25 && last.1 - step.1 < 0.005 && step.1 > 0.0;
        if !kept.last().is_some_and(is_near) {
            kept.push(*step);
        }
    }
    kept
}

fn quantile(ran: &[Ran], case: &str, share: f64) -> f64 {
    let cell = ran.iter().find(|cell| cell.level(0) == case);
    let flow = cell.and_then(|cell| cell.tally.flows.first());
    flow.and_then(|flow| flow.responses.quantile(share)).unwrap_or(f64::NAN)
}

fn longer_than(ran: &[Ran], case: &str, ms: f64) -> f64 {
    let cell = ran.iter().find(|cell| cell.level(0) == case);
    let Some(flow) = cell.and_then(|cell| cell.tally.flows.first()) else { return f64::NAN };
    let steps = flow.responses.ccdf();
    steps.iter().rev().find(|(value, _)| *value <= ms).map_or(1.0, |(_, share)| *share)
}

fn find(ran: &[Ran], loss: f64, is_wanted: impl Fn(&Ran) -> bool) -> f64 {
    let cell = ran.iter().find(|cell| (cell.number(0) - loss).abs() < 1e-9 && is_wanted(cell));
    cell.map_or(f64::NAN, Ran::response_ms)
}

/// Returns the mean response time at a rate.
pub(super) fn find_rate(ran: &[Ran], transport: &str, rate: f64) -> f64 {
    find(ran, rate, |cell| cell.level(1) == transport)
}

fn over_loss(ran: &[Ran]) -> Result<Table, StudyError> {
    let row = |cell: &Ran| {
        let is_tcp = !cell.level(1).starts_with("sctp");
        let transport = if is_tcp { "tcp" } else { cell.level(1) };
        let model = model_ms(cell.number(0), 100.0, flow(transport))?;
        let half =
            cell.response_ci95().map(|[low, high]| format!("{:.2}", (high - low) / 2.0)).unwrap_or_default();
        Ok(vec![
            if is_tcp { format!("TCP, {}", cell.level(1)) } else { legend(transport) },
            cell.level(0).to_owned(),
            format!("{:.2}", cell.response_ms()),
            half,
            format!("{model:.2}"),
            format!("{:+.1}", (cell.response_ms() / model - 1.0) * 100.0),
        ])
    };
    Ok(Table::new(
        "Mean response times in ms",
        &["transport", "loss", "simulated", "±", "model S1 (1)–(5)", "difference in %"],
        ran.iter().map(row).collect::<Result<_, StudyError>>()?,
    ))
}

pub(super) fn loss_axis() -> Axis {
    Axis::linear("packet loss in %")
}

pub(super) fn response_axis() -> Axis {
    Axis::linear("mean response time in ms")
}

const PATH: &str =
    "64-octet requests, echoed; 10 ms each way, independent loss both ways, 100 Mbit/s, 0.5 ms of processing";
pub(super) const STUDIES: &str = "SCTP by the rules of the studies' stacks (profile studies): three missing reports, and again after three more, \
                                  RTO.Min 1 s, delayed acknowledgments";
pub(super) const TCP_2006: &str = "TCP as in Linux 2.6 (profile linux-2006): SACK, NewReno, initial window of 3 segments, timeout 200 ms above the \
                                   round trip; solaris-10: 500 ms above it";
/// The least one of Linux at a round trip of 20 ms.
const LINUX_TIMEOUT: Duration = Duration::from_millis(220);
/// Messages from which on quantiles and small differences say something.
const ENOUGH: u64 = 100_000;
const CARRIED: &str = "What a connection carries at 10 % loss is some 60 segments a second (PFTK with a timeout of 220 ms). That is less than 100 messages if each is a \
                       segment, and more if those that waited for the window share one. Whether they did in the study's kernel it does not say; its figure says \
                       that they did not.";
const TRANSPORTS: [&str; 5] = ["sctp:1", "sctp:2", "sctp:3", "sctp:6", "sctp:unordered"];
const LOSS: &str = include_str!("../../../plans/studies/s1-loss.toml");
const PROFILES: &str = include_str!("../../../plans/studies/s1-loss-profiles.toml");
const TCP_LOSS: &str = include_str!("../../../plans/studies/s1-tcp-loss.toml");
const DISTRIBUTION: &str = include_str!("../../../plans/studies/s1-distribution.toml");
const RATE: &str = include_str!("../../../plans/studies/s1-rate.toml");
const TCP_RATE: &str = include_str!("../../../plans/studies/s1-tcp-rate.toml");

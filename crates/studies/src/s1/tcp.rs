//! Figs 5, 8 and 9: TCP of Linux and of Solaris, over loss and over the rate of each connection.

use core::time::Duration;

use models::Probability;
use models::studies::Flow;
use models::throughput::{BulkFlow, pftk};

use super::{RATE, TCP_2006, loss_axis, response_axis};
use crate::cells::{Cells, Ran, number, text};
use crate::effort::Effort;
use crate::error::StudyError;
use crate::response::{
    answered, curve, flow, legend, model_ms, model_over_loss, offsets, percent_more, several,
};
use lab::report::{Axis, Criterion, Estimate, Evidence, Figure, Mark, Page, Series, Statement, Table};

/// Makes figure 5 of S1: one TCP connection over loss, Linux and Solaris.
pub(crate) fn fig5(effort: &Effort) -> Result<Page, StudyError> {
    let cells = effort.run("S1-fig5", LOSS)?;
    let mut page = Page { conditions: vec![super::PATH.to_owned(), TCP_2006.to_owned()], ..Page::default() };
    let ordinate = response_axis().between(0.0, 400.0);
    let title = "S1 Fig 5: mean response time of TCP over loss";
    page.figures.push(Figure::new("fig5", title, loss_axis(), ordinate));
    for (case, name) in CASES {
        page.series.extend(curve(&cells.all(&[text("case", case)])?, "loss", "fig5", 100.0, name)?);
    }
    page.series.push(model_over_loss("fig5", "tcp", 0.1)?);
    let at = |case, loss| cells.get(&[text("case", case), number("loss", loss)]);
    for (case, name) in [("linux", "Linux"), ("solaris", "Solaris")] {
        let excess = |loss| {
            let model = model_ms(loss, 100.0, Flow::ONE_CONNECTION)?;
            Ok::<_, StudyError>(at(case, loss)?.mean().map(|mean| mean.scaled(1.0 / model, 0.0)))
        };
        let (one, four) = (excess(0.01)?, excess(0.04)?);
        let more = one.map(|one| one.scaled(100.0, -100.0));
        let statement = format!("{name}: the measured response time is above the model at 1 % loss");
        page.statements.push(ABOVE.judge(statement, more));
        let grows = one.zip(four).map_or_else(
            || Evidence::Missing("the cell at 4 % loss is overloaded".to_owned()),
            |(one, four)| Evidence::Several(vec![("1 %".to_owned(), one), ("4 %".to_owned(), four)]),
        );
        page.statements
            .push(MORE.judge(format!("{name}: more so for p > 1 %, as a multiple of the model"), grows));
    }
    let beside = percent_more(at("linux", 0.01)?, at("solaris", 0.01)?);
    page.statements.push(ABOVE.judge("Linux is farther above it than Solaris at 1 % loss", beside));
    for (case, name) in [("linux", "Linux"), ("solaris", "Solaris")] {
        let apart = [at("linux-no-abc-apart", 0.08)?, at("solaris-apart", 0.08)?];
        let (apart, place) = if case == "linux" {
            (apart[0], "S1-fig5/linux-no-abc-apart")
        } else {
            (apart[1], "S1-fig5/solaris-apart")
        };
        page.statements.push(overload(name, at(case, 0.08)?, apart, place));
    }
    page.notes.push(carried()?);
    page.tables.push(answered(&cells, &["case", "loss"])?);
    Ok(page)
}

/// Creates the statement that 100 messages a second are too much above 7 % loss, judged at 8 %.
fn overload(name: &str, joined: &Ran, apart: &Ran, place: &str) -> Statement {
    let text = format!("{name} cannot carry 100 messages a second above 7 % loss (here 8 %)");
    let judged = CARRIES_NOT.judge(text, too_much(joined));
    let cause = "a segment for each message, where waiting messages otherwise share one";
    CARRIES_NOT.explain(judged, cause, place, too_much(apart))
}

/// Returns whether a cell has no steady state, or one in which requests take longer than a second.
fn too_much(cell: &Ran) -> Evidence {
    let (answered, all) = cell.answered();
    let mean = cell.mean_of_answered().map_or(f64::INFINITY, lab::report::Estimate::value);
    let grows = if cell.is_overloaded() { ", and longer the longer the run lasts" } else { "" };
    let tells = format!("{mean:.0} ms in the mean{grows}, {answered} of {all} answered");
    Evidence::Fact(cell.is_overloaded() || mean > 1000.0, tells)
}

/// Returns what PFTK says a connection with a segment for each message carries.
fn carried() -> Result<String, StudyError> {
    let rate = |percent: u32| {
        let loss = Probability::new(f64::from(percent) / 1000.0)?;
        let flow = BulkFlow {
            loss,
            rtt: Duration::from_millis(20),
            rto: Duration::from_millis(220),
            ..BulkFlow::default()
        };
        Ok::<_, StudyError>((percent, pftk::rate(&flow)?.packets_per_s))
    };
    let rates = (40..=100_u32).map(rate).collect::<Result<Vec<_>, _>>()?;
    let limit = rates.iter().find(|(_, rate)| *rate < 100.0);
    let from = limit
        .map_or_else(|| "nowhere up to 10".to_owned(), |(loss, _)| format!("{:.1}", f64::from(*loss) / 10.0));
    Ok(format!(
        "PFTK with a timeout of 220 ms falls below 100 segments a second at {from} % loss: a connection that sends each message as a segment carries no more \
         than the study says. Whether messages that waited for the window shared a segment in the study's kernels is not published"
    ))
}

/// Makes figure 8 of S1: parallel connections of Linux TCP over the rate of each.
pub(crate) fn fig8(effort: &Effort) -> Result<Page, StudyError> {
    let cells = effort.run("S1-fig8", TCP_RATE)?;
    let title = "S1 Fig 8: Linux TCP, mean response time over the rate of each connection, 1 % loss";
    let mut page = over_each(&cells, "fig8", title, "linux-2006")?;
    falls_together(&mut page, &cells, "linux-2006")?;
    let one =
        |rate| cells.get(&[text("profile", "linux-2006"), text("transport", "tcp"), number("case", rate)]);
    let model = model_ms(0.01, 100.0, Flow::ONE_CONNECTION)?;
    let statement = "second region: about 10 ms above the model at 100 a second";
    page.statements.push(TEN_ABOVE.judge(statement, one(100.0)?.mean().map(|mean| mean.scaled(1.0, -model))));
    let before = several(&[("20 a second", one(20.0)?), ("50", one(50.0)?), ("200", one(200.0)?)]);
    page.statements.push(
        FALLS.judge("delays are least near λ/N = μ = 2√3/RTT, 173 a second: they fall until there", before),
    );
    let after = several(&[("200 a second", one(200.0)?), ("1000", one(1000.0)?), ("2000", one(2000.0)?)]);
    page.statements.push(RISES.judge("and rise from there on", after));
    near_the_optimum(&mut page, effort, "linux-2006")?;
    let fast = one(2000.0)?;
    let carried = fast.mean().map_or_else(
        || Evidence::Fact(false, "no steady state at 2000 a second".to_owned()),
        |mean| Evidence::Fact(true, format!("{mean} ms at 2000 a second")),
    );
    page.statements
        .push(CARRIES.judge("third region: one Linux connection carries 2000 messages a second", carried));
    optimum(&mut page, &cells)?;
    beside_streams(&mut page, &cells, &effort.run("S1-fig8", RATE)?)?;
    Ok(page)
}

/// Makes figure 9 of S1: the same for Solaris.
pub(crate) fn fig9(effort: &Effort) -> Result<Page, StudyError> {
    let cells = effort.run("S1-fig9", TCP_RATE)?;
    let title = "S1 Fig 9: Solaris TCP, mean response time over the rate of each connection, 1 % loss";
    let mut page = over_each(&cells, "fig9", title, "solaris-10")?;
    falls_together(&mut page, &cells, "solaris-10")?;
    let one =
        |rate| cells.get(&[text("profile", "solaris-10"), text("transport", "tcp"), number("case", rate)]);
    let model = |cell: &Ran| model_ms(0.01, cell.number("case")?, Flow::ONE_CONNECTION);
    let second = [one(20.0)?, one(50.0)?, one(100.0)?];
    let statement = "second region: close to the model up to about 100 a second";
    page.statements.push(CLOSE.judge(statement, offsets(&second, "case", model)?));
    near_the_optimum(&mut page, effort, "solaris-10")?;
    let rise = percent_more(one(1000.0)?, one(500.0)?);
    page.statements.push(RISE.judge("third region: it rises from 500 a second on (1000 beside 500)", rise));
    Ok(page)
}

/// Creates the page of one stack, every curve over the rate of each connection.
fn over_each(cells: &Cells, figure: &str, title: &str, profile: &str) -> Result<Page, StudyError> {
    let mut page = Page { conditions: vec![super::PATH.to_owned(), TCP_2006.to_owned()], ..Page::default() };
    let abscissa = Axis::log("messages per second and connection, λ/N").between(0.5, 5000.0);
    page.figures.push(Figure::new(figure, title, abscissa, response_axis().between(0.0, 150.0)));
    for transport in TRANSPORTS {
        let chosen = cells.all(&[text("profile", profile), text("transport", transport)])?;
        let each = 1.0 / f64::from(connections(transport));
        page.series.extend(curve(&chosen, "case", figure, each, &legend(transport))?);
    }
    let rates = (0..=60_u32).map(|step| 5000.0_f64.powf(f64::from(step) / 60.0));
    let model = rates.map(|rate| Ok((rate, model_ms(0.01, rate, Flow::ONE_CONNECTION)?)));
    let model = model.collect::<Result<Vec<_>, StudyError>>()?;
    page.series.push(Series::new(figure, "model, TCP", Mark::Model, model));
    page.tables.push(answered(cells, &["profile", "case", "transport"])?);
    Ok(page)
}

/// Adds the statement that N connections fall on the curve of one: at 50 a second on each.
fn falls_together(page: &mut Page, cells: &Cells, profile: &str) -> Result<(), StudyError> {
    let at = |transport, rate| {
        cells.get(&[text("profile", profile), text("transport", transport), number("case", rate)])
    };
    let one = at("tcp", 50.0)?;
    let apart = [("2 connections", at("tcp:2", 100.0)?), ("4 connections", at("tcp:4", 200.0)?)].map(
        |(name, cell)| {
            let both = cell.mean().zip(one.mean());
            both.map(|(cell, one)| (name.to_owned(), cell.beyond(one).scaled(100.0, 0.0)))
        },
    );
    let apart = apart.into_iter().collect::<Option<Vec<_>>>();
    let evidence =
        apart.map_or_else(|| Evidence::Missing("a cell is overloaded".to_owned()), Evidence::Several);
    page.statements.push(
        TOGETHER
            .judge("drawn over λ/N, N connections fall on the curve of one (at 50 a second each)", evidence),
    );
    Ok(())
}

/// Adds the statements on the rate at which one connection is fastest, μ = 2√3/RTT: by the model, and simulated beside its neighbours.
fn near_the_optimum(page: &mut Page, effort: &Effort, profile: &str) -> Result<(), StudyError> {
    let rates = (50..500_u32).map(f64::from);
    let model = rates.map(|rate| Ok((rate, model_ms(0.01, rate, Flow::ONE_CONNECTION)?)));
    let model = model.collect::<Result<Vec<_>, StudyError>>()?;
    let least =
        model.iter().min_by(|one, other| one.1.total_cmp(&other.1)).map(|(rate, _)| Estimate::exact(*rate));
    let statement = "the model: the response time is least at λ/N = μ = 2√3/RTT, 173 a second";
    page.statements.push(MU.judge(statement, least));
    let cells = effort.run("S1-fig8", OPTIMUM)?;
    let at = |rate| cells.get(&[text("profile", profile), number("rate", rate)]);
    let best = at(173.0)?;
    let beside = [("beside 100 a second", at(100.0)?), ("beside 300", at(300.0)?)].map(|(name, cell)| {
        let both = best.mean().zip(cell.mean());
        both.map(|(best, other)| (name.to_owned(), best.beyond(other).scaled(100.0, 0.0)))
    });
    let beside = beside.into_iter().collect::<Option<Vec<_>>>();
    let evidence =
        beside.map_or_else(|| Evidence::Missing("a cell is overloaded".to_owned()), Evidence::Several);
    let statement = "one connection is fastest near μ: at 173 a second faster than at 100 and at 300";
    page.statements.push(FASTEST.judge(statement, evidence));
    page.tables
        .push(Table { title: "Near the optimum".to_owned(), ..answered(&cells, &["profile", "rate"])? });
    Ok(())
}

/// Adds the statements on the best number of connections at 1000 a second: `λ·RTT/(2√3)` is 5.8.
fn optimum(page: &mut Page, cells: &Cells) -> Result<(), StudyError> {
    let at = |transport| {
        cells.get(&[text("profile", "linux-2006"), text("transport", transport), number("case", 1000.0)])
    };
    let fewer = several(&[("one connection", at("tcp")?), ("two", at("tcp:2")?), ("six", at("tcp:6")?)]);
    page.statements
        .push(FALLS.judge("N_opt = λ·RTT/(2√3), 6 at 1000 a second: fewer connections are slower", fewer));
    let more = several(&[("six connections", at("tcp:6")?), ("sixteen", at("tcp:16")?)]);
    page.statements.push(RISES.judge("and more connections are slower, too", more));
    Ok(())
}

/// Adds the conclusion of the study: connections are worse than streams in most cases.
fn beside_streams(page: &mut Page, tcp: &Cells, sctp: &Cells) -> Result<(), StudyError> {
    let (mut worse, mut all) = (0_u32, 0_u32);
    for rate in [10.0, 20.0, 50.0, 100.0, 200.0, 500.0, 1000.0, 2000.0] {
        let streams = sctp.get(&[text("transport", "sctp:6"), number("case", rate)])?.mean();
        for transport in ["tcp", "tcp:2", "tcp:4", "tcp:6", "tcp:16"] {
            let key = [text("profile", "linux-2006"), text("transport", transport), number("case", rate)];
            let connections = tcp.get(&key)?.mean();
            let Some(streams) = streams else { continue };
            all += 1;
            worse += u32::from(connections.is_none_or(|connections| connections.value() > streams.value()));
        }
    }
    let tells = format!(
        "in {worse} of {all} cells from 10 to 2000 a second TCP takes longer than six streams of SCTP"
    );
    let statement = "one or several TCP connections are worse than SCTP with several streams in most cases";
    page.statements.push(CARRIES.judge(statement, Evidence::Fact(2 * worse > all, tells)));
    Ok(())
}

fn connections(transport: &str) -> u32 {
    match flow(transport) {
        Flow::Connections(count) => count.get(),
        Flow::Streams(_) | Flow::Unordered => 1,
    }
}

/// Criteria of the statements on TCP, fixed before any run.
const ABOVE: Criterion = Criterion::more_than(0.0, "%");
const MORE: Criterion = Criterion::rising(0.0, "times the model");
const CARRIES_NOT: Criterion = Criterion::holds();
const CARRIES: Criterion = Criterion::holds();
const TEN_ABOVE: Criterion = Criterion::within(10.0, 0.5, "ms");
const FALLS: Criterion = Criterion::falling(0.0, "ms");
const RISES: Criterion = Criterion::rising(0.0, "ms");
const CLOSE: Criterion = Criterion::each([-10.0, 10.0], "%");
const TOGETHER: Criterion = Criterion::each([-10.0, 10.0], "%");
const RISE: Criterion = Criterion::more_than(10.0, "%");
const MU: Criterion = Criterion::within(173.2, 0.15, "a second");
const FASTEST: Criterion = Criterion::each([f64::NEG_INFINITY, 0.0], "%");

const CASES: [(&str, &str); 5] = [
    ("linux", "TCP, Linux 2.6"),
    ("linux-apart", "TCP, Linux 2.6, a segment for each message"),
    ("linux-no-abc-apart", "the same without byte counting"),
    ("solaris", "TCP, Solaris 10"),
    ("solaris-apart", "TCP, Solaris 10, a segment for each message"),
];
const TRANSPORTS: [&str; 5] = ["tcp", "tcp:2", "tcp:4", "tcp:6", "tcp:16"];
const LOSS: &str = include_str!("../../../../plans/studies/s1-tcp-loss.toml");
const OPTIMUM: &str = include_str!("../../../../plans/studies/s1-optimum.toml");
const TCP_RATE: &str = include_str!("../../../../plans/studies/s1-tcp-rate.toml");

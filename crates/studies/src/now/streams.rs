//! Streams of SCTP, streams of QUIC, parallel TCP: over loss, over how losses come, over the rate.

use super::{said, shown};
use crate::cells::{Cells, Ran, text};
use crate::effort::Effort;
use crate::error::StudyError;
use crate::response::{answered, model_over_loss, percent_more};
use lab::report::{Axis, Criterion, Figure, Mark, Page, Series, Table};

/// Makes the page on streams and connections.
pub(crate) fn streams(effort: &Effort) -> Result<Page, StudyError> {
    let cells = effort.run("now-streams", PLAN)?;
    let mut page = Page { conditions: vec![PATH.to_owned()], ..Page::default() };
    let ordinate = || Axis::linear("mean response time in ms");
    let loss = Axis::linear("packet loss in %");
    page.figures.push(Figure::new("loss", "Over loss, each packet by itself", loss, ordinate()));
    curves(&mut page, &cells, "loss", &LOSSES)?;
    page.series.push(model_over_loss("loss", "sctp:6", 0.05)?);
    let bursts = Axis::log("length of a burst in ms").between(20.0, 400.0);
    page.figures.push(Figure::new(
        "bursts",
        "Over the length of bursts, 1 % of the time",
        bursts,
        ordinate(),
    ));
    curves(&mut page, &cells, "bursts", &BURSTS)?;
    let rates = Axis::log("requests per second").between(5.0, 2000.0);
    page.figures.push(Figure::new("rate", "Over the rate, 1 % loss", rates, ordinate()));
    curves(&mut page, &cells, "rate", &RATES)?;
    judge(&mut page, &cells)?;
    page.reading = reading(&cells)?;
    page.tables.push(tails(&cells)?);
    page.tables.push(answered(&cells, &["transport", "case"])?);
    Ok(page)
}

fn at<'a>(cells: &'a Cells, transport: &str, case: &str) -> Result<&'a Ran, StudyError> {
    cells.get(&[text("transport", transport), text("case", case)])
}

fn curves(page: &mut Page, cells: &Cells, figure: &str, cases: &[(&str, f64)]) -> Result<(), StudyError> {
    for transport in TRANSPORTS {
        let mut series = Series::new(figure, transport, Mark::Points, []);
        for (case, x) in cases {
            if let Some(mean) = at(cells, transport, case)?.mean() {
                series.points.push(vec![*x, mean.value()]);
                series.ci95.push(mean.interval());
            }
        }
        page.series.push(series);
    }
    Ok(())
}

fn judge(page: &mut Page, cells: &Cells) -> Result<(), StudyError> {
    let more =
        |one, other, case| Ok::<_, StudyError>(percent_more(at(cells, one, case)?, at(cells, other, case)?));
    let mut add = |criterion: Criterion, text: &str, one, other, case| {
        page.statements.push(criterion.judge(text, more(one, other, case)?));
        Ok::<_, StudyError>(())
    };
    add(MORE, "one stream of SCTP waits longer than six at 1 % loss", "sctp:1", "sctp:6", "loss-1")?;
    add(MORE, "one stream of QUIC waits longer than six at 1 % loss", "quic:1", "quic:6", "loss-1")?;
    add(
        ALIKE,
        "six streams of QUIC and six of SCTP take equally long at 1 % loss",
        "quic:6",
        "sctp:6",
        "loss-1",
    )?;
    add(
        MORE,
        "four TCP connections take longer than six streams of SCTP at 1 % loss",
        "tcp:4",
        "sctp:6",
        "loss-1",
    )?;
    add(
        MORE,
        "one TCP connection takes longer than six streams at 10 requests a second",
        "tcp",
        "sctp:6",
        "rate-10",
    )?;
    add(
        LITTLE,
        "in bursts of 300 ms streams gain little: one of SCTP beside six",
        "sctp:1",
        "sctp:6",
        "burst-300",
    )
}

fn reading(cells: &Cells) -> Result<Vec<String>, StudyError> {
    let of = |transport, case| Ok::<_, StudyError>(said(at(cells, transport, case)?));
    Ok(vec![
        format!(
            "At 1 % loss and 100 requests a second, six streams answer after {} over SCTP and {} over QUIC, one stream of SCTP after {}, one TCP connection after {}, four after {}.",
            of("sctp:6", "loss-1")?,
            of("quic:6", "loss-1")?,
            of("sctp:1", "loss-1")?,
            of("tcp", "loss-1")?,
            of("tcp:4", "loss-1")?
        ),
        format!(
            "Where losses come in bursts of 300 ms, as at the edge of a cell, it is {} with six streams and {} with one: everything that is sent meanwhile is lost, and what counts is how \
             soon the transport tries again, not how many streams there are.",
            of("sctp:6", "burst-300")?,
            of("sctp:1", "burst-300")?
        ),
        "What to do: give independent transactions streams of their own, six at this rate, whether the transport is SCTP or QUIC; more TCP connections help less, because each finds its losses \
         by fewer packets. Against bursts look at the timers first (now-timer)."
            .to_owned(),
    ])
}

fn tails(cells: &Cells) -> Result<Table, StudyError> {
    let cases = ["loss-1", "burst-30", "burst-100", "burst-300"];
    let row = |transport: &&str| {
        let mut row = vec![(*transport).to_owned()];
        for case in cases {
            row.push(shown(at(cells, transport, case)?.quantile(0.99)));
        }
        Ok(row)
    };
    let rows = TRANSPORTS.iter().map(row).collect::<Result<_, StudyError>>()?;
    let head = ["transport", "1 % at random", "bursts of 30 ms", "of 100 ms", "of 300 ms"];
    Ok(Table::new("99 % of the requests are answered within, in ms", &head, rows))
}

/// Criteria of the statements, fixed before any run.
const MORE: Criterion = Criterion::more_than(0.0, "%");
const ALIKE: Criterion = Criterion::equivalent([-5.0, 5.0], "%");
const LITTLE: Criterion = Criterion::less_than(5.0, "%");
const TRANSPORTS: [&str; 6] = ["tcp", "tcp:4", "sctp:1", "sctp:6", "quic:1", "quic:6"];
const LOSSES: [(&str, f64); 5] =
    [("loss-0-1", 0.1), ("loss-0-5", 0.5), ("loss-1", 1.0), ("loss-2", 2.0), ("loss-5", 5.0)];
const BURSTS: [(&str, f64); 3] = [("burst-30", 30.0), ("burst-100", 100.0), ("burst-300", 300.0)];
/// The cases of the figure over the rate.
pub(super) const RATES: [(&str, f64); 3] = [("rate-10", 10.0), ("loss-1", 100.0), ("rate-1000", 1000.0)];
const PATH: &str = "64-octet requests, echoed; 100 a second unless said otherwise, 10 ms each way, 100 Mbit/s, 0.5 ms of processing; SCTP with our default profile, QUIC by quinn, \
                    TCP as in today's Linux; messages are dealt round robin";
/// The plan, of which now-timer shows TCP, too.
pub(super) const PLAN: &str = include_str!("../../../../plans/studies/now-streams.toml");

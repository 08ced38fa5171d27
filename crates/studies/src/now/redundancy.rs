//! Messages that travel twice: what that takes off a loss, and what remains.

use core::time::Duration;

use lab::report::{Axis, Criterion, Figure, Mark, Page, Series};
use models::{Probability, Rate, redundancy as model};

use super::said;
use crate::cells::{Cells, Ran, number, text};
use crate::effort::Effort;
use crate::error::StudyError;
use crate::response::{answered, percent_more};

/// Makes the page on redundant messages.
pub(crate) fn redundancy(effort: &Effort) -> Result<Page, StudyError> {
    let cells = effort.run("now-redundancy", PLAN)?;
    let mut page = Page { conditions: vec![PATH.to_owned()], ..Page::default() };
    for (loss, share) in LOSSES {
        let x = Axis::log("requests per second").between(0.5, 200.0);
        let title = format!("{loss} loss");
        page.figures.push(Figure::new(loss, &title, x, Axis::linear("mean response time in ms")));
        for (case, name) in CASES {
            let mut series = Series::new(loss, name, Mark::Points, []);
            for rate in RATES {
                if let Some(mean) = at(&cells, loss, case, rate)?.mean() {
                    series.points.push(vec![rate, mean.value()]);
                    series.ci95.push(mean.interval());
                }
            }
            page.series.push(series);
        }
        page.series.push(Series::new(loss, "twice, by the model", Mark::Model, modelled(share)?));
    }
    for (loss, rate) in [("1%", 100.0), ("1%", 1.0), ("5%", 100.0)] {
        let gain = percent_more(at(&cells, loss, "once", rate)?, at(&cells, loss, "twice", rate)?);
        let statement =
            format!("{loss} loss, {rate} requests a second: what travels twice is answered sooner");
        page.statements.push(MORE.judge(statement, gain));
    }
    page.reading = reading(&cells)?;
    page.tables.push(answered(&cells, &["loss", "rate", "case"])?);
    Ok(page)
}

fn at<'a>(cells: &'a Cells, loss: &str, case: &str, rate: f64) -> Result<&'a Ran, StudyError> {
    cells.get(&[text("loss", loss), text("case", case), number("rate", rate)])
}

/// Returns what the model says of each rate.
fn modelled(loss: f64) -> Result<Vec<(f64, f64)>, StudyError> {
    let rtt = Duration::from_millis(20);
    let at = |rate: f64| {
        let excess = model::excess(rtt, Probability::new(loss)?, Rate::per_second(rate)?);
        Ok((rate, (rtt + excess).as_secs_f64() * 1e3))
    };
    RATES.into_iter().map(at).collect()
}

fn reading(cells: &Cells) -> Result<Vec<String>, StudyError> {
    let busy = |case| Ok::<_, StudyError>(said(at(cells, "1%", case, 100.0)?));
    Ok(vec![
        format!(
            "At 1 % loss and a hundred requests a second a request takes {} over TCP, {} with detection by time, and {} where each packet carries the last messages once more.",
            busy("tcp")?,
            busy("once")?,
            busy("twice")?
        ),
        "What to do: where messages are short and a round trip is too long to wait, use the profile signalling-redundant and pay with about twice the octets, but hardly a packet more where messages come \
         faster than the path is long. Where packets are full it does nothing, and costs nothing."
            .to_owned(),
    ])
}

/// The criterion of the statements, fixed before any run.
const MORE: Criterion = Criterion::more_than(0.0, "%");
const LOSSES: [(&str, f64); 2] = [("1%", 0.01), ("5%", 0.05)];
const RATES: [f64; 3] = [1.0, 10.0, 100.0];
const CASES: [(&str, &str); 3] = [
    ("tcp", "TCP as Linux has it"),
    ("once", "SCTP, detection by time"),
    ("twice", "SCTP, each message twice"),
];
const PATH: &str = "64-octet requests, echoed at once, unordered over SCTP; 10 ms each way, losses both ways, 100 Mbit/s; profiles signalling, signalling-redundant and TCP's linux, in the simulator";
const PLAN: &str = include_str!("../../../../plans/studies/now-redundancy.toml");

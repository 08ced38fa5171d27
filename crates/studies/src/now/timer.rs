//! The rule or the timer: what finds a loss, and how much the least timeout matters.

use super::said;
use crate::cells::{Cells, Ran, number, text};
use crate::effort::Effort;
use crate::error::StudyError;
use crate::response::{answered, percent_more, several};
use lab::report::{Axis, Criterion, Figure, Mark, Page, Series};

/// Makes the page on rules of loss detection and timers.
pub(crate) fn timer(effort: &Effort) -> Result<Page, StudyError> {
    let cells = effort.run("now-timer", PLAN)?;
    let mut page = Page { conditions: vec![PATH.to_owned()], ..Page::default() };
    for (transport, title) in [("sctp:1", "One stream, 1 % loss"), ("sctp:6", "Six streams, 1 % loss")] {
        let x = Axis::log("requests per second").between(5.0, 2000.0);
        page.figures.push(Figure::new(transport, title, x, Axis::linear("mean response time in ms")));
        for (case, name) in CASES {
            let mut series = Series::new(transport, name, Mark::Points, []);
            for rate in [10.0, 100.0, 1000.0] {
                if let Some(mean) = at(&cells, transport, case, rate)?.mean() {
                    series.points.push(vec![rate, mean.value()]);
                    series.ci95.push(mean.interval());
                }
            }
            page.series.push(series);
        }
    }
    let one = |case| at(&cells, "sctp:1", case, 100.0);
    let falling = several(&[
        ("RTO.Min 1 s", one("reports-1s")?),
        ("200 ms", one("reports-200ms")?),
        ("100 ms", one("reports-100ms")?),
    ]);
    let statement =
        "three reports, once per chunk: the lower RTO.Min, the shorter the response time of one stream";
    page.statements.push(FALLS.judge(statement, falling));
    let gain = percent_more(one("reports-100ms")?, one("time-200ms")?);
    let statement = "detection by time with probes beats every RTO.Min with the rule of three reports";
    page.statements.push(MORE.judge(statement, gain));
    let same = percent_more(one("time-1s")?, one("time-200ms")?);
    page.statements
        .push(LITTLE.judge("with detection by time RTO.Min hardly matters: 1 s beside 200 ms", same));
    let rare =
        percent_more(at(&cells, "sctp:1", "reports-1s", 10.0)?, at(&cells, "sctp:1", "time-200ms", 10.0)?);
    page.statements
        .push(MORE.judge("at 10 requests a second, where reports are rare, the gain is there, too", rare));
    page.reading = reading(&cells)?;
    page.tables.push(answered(&cells, &["transport", "rate", "case"])?);
    Ok(page)
}

fn at<'a>(cells: &'a Cells, transport: &str, case: &str, rate: f64) -> Result<&'a Ran, StudyError> {
    cells.get(&[text("transport", transport), text("case", case), number("rate", rate)])
}

fn reading(cells: &Cells) -> Result<Vec<String>, StudyError> {
    let one = |case| Ok::<_, StudyError>(said(at(cells, "sctp:1", case, 100.0)?));
    Ok(vec![
        format!(
            "With one stream and the rule of RFC 9260 a request takes {} with RTO.Min of 1 s, {} with 200 ms and {} with 100 ms; with detection by time and probes it takes {}.",
            one("reports-1s")?,
            one("reports-200ms")?,
            one("reports-100ms")?,
            one("time-200ms")?
        ),
        "What to do: where the stack has detection by time (RFC 8985), switch it on and leave RTO.Min alone; where it has not, lower RTO.Min to a few times the round trip, and be sure that \
         the peer's SACK.Delay is below it. With many streams only the lost message itself waits, so that the rule matters a tenth as much."
            .to_owned(),
    ])
}

/// Criteria of the statements, fixed before any run.
const FALLS: Criterion = Criterion::falling(0.0, "ms");
const MORE: Criterion = Criterion::more_than(0.0, "%");
const LITTLE: Criterion = Criterion::equivalent([-3.0, 3.0], "%");
const CASES: [(&str, &str); 5] = [
    ("reports-1s", "three reports, RTO.Min 1 s"),
    ("reports-200ms", "three reports, RTO.Min 200 ms"),
    ("reports-100ms", "three reports, RTO.Min 100 ms"),
    ("time-1s", "by time, RTO.Min 1 s"),
    ("time-200ms", "by time, RTO.Min 200 ms"),
];
const PATH: &str = "64-octet requests, echoed; 10 ms each way, 1 % loss both ways, 100 Mbit/s, 0.5 ms of processing; profiles rfc9260 and signalling, in the simulator";
const PLAN: &str = include_str!("../../../../plans/studies/now-timer.toml");

//! The rule or the timer: what finds a loss, and how much the least timeout matters.

use core::num::NonZeroU32;
use core::time::Duration;

use models::resequencing::{Profile, Scenario, Transport, response_time};
use models::{Probability, Rate};

use super::kernel::Recorded;
use super::{said, streams};
use crate::cells::{Cells, Ran, number, text};
use crate::effort::Effort;
use crate::error::StudyError;
use crate::response::{answered, percent_more, several};
use lab::report::{Axis, Criterion, Evidence, Figure, Mark, Page, Series};

/// Makes the page on rules of loss detection and timers.
pub(crate) fn timer(effort: &Effort) -> Result<Page, StudyError> {
    let cells = effort.run("now-timer", PLAN)?;
    let mut page = Page { conditions: vec![PATH.to_owned()], ..Page::default() };
    let mean = "mean response time in ms";
    for (transport, title, y) in [
        ("sctp:1", "One stream, 1 % loss", Axis::log(mean)),
        ("sctp:6", "Six streams, 1 % loss", Axis::linear(mean)),
    ] {
        let x = Axis::log("requests per second").between(5.0, 2000.0);
        page.figures.push(Figure::new(transport, title, x, y));
        for (case, name, _) in CASES {
            let mut series = Series::new(transport, name, Mark::Points, []);
            for rate in [10.0, 100.0, 1000.0] {
                if let Some(mean) = at(&cells, transport, case, rate)?.mean() {
                    series.points.push(vec![rate, mean.value()]);
                    series.ci95.push(mean.interval());
                }
            }
            page.series.push(series);
        }
        for name in ["reports-1s", "time-200ms"] {
            page.series.extend(modelled(transport, name)?);
        }
    }
    page.series.push(linux(effort)?);
    let kernel = Recorded::of_linux()?;
    page.series.extend(kernel.series("sctp:1"));
    judge(&mut page, &cells)?;
    let statement = "the SCTP of a Linux kernel takes what the rule of three reports takes in the simulator, by every RTO.Min, at 10 and 100 a second";
    page.statements.push(AS_KERNEL.judge(statement, kernel.beside(&cells)?));
    page.reading = reading(&cells)?;
    if effort.measurement.is_none() {
        page.notes.push(NOT_MEASURED.to_owned());
    }
    page.tables.push(answered(&cells, &["transport", "rate", "case"])?);
    page.tables.push(kernel.table());
    Ok(page)
}

fn judge(page: &mut Page, cells: &Cells) -> Result<(), StudyError> {
    let one = |case| at(cells, "sctp:1", case, 100.0);
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
        percent_more(at(cells, "sctp:1", "reports-1s", 10.0)?, at(cells, "sctp:1", "time-200ms", 10.0)?);
    page.statements
        .push(MORE.judge("at 10 requests a second, where reports are rare, the gain is there, too", rare));
    page.statements.push(AS_MODELLED.judge(
        "the resequencing model predicts one stream by every rule, at every rate",
        beside_model(cells)?,
    ));
    Ok(())
}

/// Returns the simulated TCP of today's Linux, of the page that compares transports; what is measured on a kernel stands beside it.
fn linux(effort: &Effort) -> Result<Series, StudyError> {
    let cells = effort.run("now-streams", streams::PLAN)?;
    let mut series = Series::new("sctp:1", TCP, Mark::Points, []);
    for (case, rate) in streams::RATES {
        let cell = cells.get(&[text("transport", "tcp"), text("case", case)])?;
        if let Some(mean) = cell.mean() {
            series.points.push(vec![rate, mean.value()]);
            series.ci95.push(mean.interval());
        }
    }
    Ok(series)
}

/// Returns what the resequencing model says of a case, in ms.
fn model_ms(transport: &str, rules: Rules, rate: f64) -> Result<f64, StudyError> {
    let scenario = Scenario {
        rtt: Duration::from_millis(20),
        loss: Probability::new(0.01)?,
        rate: Rate::per_second(rate)?,
        processing: Duration::from_micros(500),
        profile: rules.0,
        rto_min: Some(Duration::from_millis(rules.1)),
    };
    let streams = transport.strip_prefix("sctp:").and_then(|streams| streams.parse().ok());
    let transport = Transport::Sctp { streams: streams.unwrap_or(NonZeroU32::MIN) };
    Ok(response_time(&scenario, &transport)?.mean.as_secs_f64() * 1e3)
}

fn modelled(transport: &str, wanted: &str) -> Result<Option<Series>, StudyError> {
    let Some((_, name, rules)) = CASES.iter().find(|(case, ..)| *case == wanted) else { return Ok(None) };
    let rates = (0..=6_i32).map(|step| 10_f64.powf(1.0 + f64::from(step) / 3.0));
    let points = rates.map(|rate| Ok((rate, model_ms(transport, *rules, rate)?)));
    let points = points.collect::<Result<Vec<_>, StudyError>>()?;
    Ok(Some(Series::new(transport, format!("model, {name}"), Mark::Model, points)))
}

/// Returns how many per cent the simulated means of one stream are above the model's.
fn beside_model(cells: &Cells) -> Result<Evidence, StudyError> {
    let mut offsets = Vec::new();
    for (case, name, rules) in CASES {
        for rate in [10.0, 100.0, 1000.0] {
            let cell = at(cells, "sctp:1", case, rate)?;
            let Some(mean) = cell.mean() else { return Ok(cell.evidence()) };
            let offset = mean.scaled(100.0 / model_ms("sctp:1", rules, rate)?, -100.0);
            offsets.push((format!("{name}, {rate} a second"), offset));
        }
    }
    Ok(Evidence::Several(offsets))
}

pub(super) fn at<'a>(
    cells: &'a Cells,
    transport: &str,
    case: &str,
    rate: f64,
) -> Result<&'a Ran, StudyError> {
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
const AS_MODELLED: Criterion = Criterion::each([-10.0, 10.0], "%");
const AS_KERNEL: Criterion = Criterion::each([-10.0, 10.0], "%");
/// The time that a request takes in the plan if nothing is lost, in ms.
pub(super) const LOSSLESS_MS: f64 = 20.5;
/// How losses are found, and RTO.Min in ms, as the model wants it.
type Rules = (Profile, u64);
const CASES: [(&str, &str, Rules); 5] = [
    ("reports-1s", "three reports, RTO.Min 1 s", (Profile::Rfc9260, 1000)),
    ("reports-200ms", "three reports, RTO.Min 200 ms", (Profile::Rfc9260, 200)),
    ("reports-100ms", "three reports, RTO.Min 100 ms", (Profile::Rfc9260, 100)),
    ("time-1s", "by time, RTO.Min 1 s", (Profile::Signalling, 1000)),
    ("time-200ms", "by time, RTO.Min 200 ms", (Profile::Signalling, 200)),
];
/// The name of the curve of TCP, beside which a kernel's stands.
pub(crate) const TCP: &str = "TCP, Linux of today, simulated";
const NOT_MEASURED: &str = "Left out: the TCP of a running kernel, with real packets between two network namespaces. That takes the rights to make namespaces, and is measured on request alone.";
const PATH: &str = "64-octet requests, echoed; 10 ms each way, 1 % loss both ways, 100 Mbit/s, 0.5 ms of processing; profiles rfc9260 and signalling, in the simulator";
const PLAN: &str = include_str!("../../../../plans/studies/now-timer.toml");

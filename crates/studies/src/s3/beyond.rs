//! What S3 leaves out: messages longer than a packet, IPv6, and what the delay does to TCP.

use super::{DELAYS, HOLDS, delays, rate, run, start};
use crate::cells::{Cells, number, text};
use crate::effort::Effort;
use crate::error::StudyError;
use lab::report::{Axis, Criterion, Estimate, Evidence, Figure, Mark, Page, Series, Table};

/// Makes the page of what the study leaves out.
pub(crate) fn beyond(effort: &Effort) -> Result<Page, StudyError> {
    let cells = Effort { seeds: 1, share: 1.0, ..effort.clone() }.run("S3-beyond", PLAN)?;
    let mut page =
        start("size", "Throughput over the message size, 50 ms, beyond the MTU", "message size in octets");
    page.conditions.push(CONDITIONS.to_owned());
    for (case, name) in CASES {
        let points = SIZES.iter().map(|size| Ok((f64::from(*size), of(&cells, case, *size)?)));
        let points = points.collect::<Result<Vec<_>, StudyError>>()?;
        page.series.push(Series::new("size", name, Mark::Points, points));
    }
    page.tables.push(by_size(&cells)?);
    statements(&mut page, &cells)?;
    tcp_over_delay(&mut page, effort)?;
    Ok(page)
}

fn statements(page: &mut Page, cells: &Cells) -> Result<(), StudyError> {
    let [one, two] = [of(cells, "sctp", 1400)?, of(cells, "sctp", 2000)?];
    let text = "a message that takes two packets costs next to nothing: 2000 octets beside 1400";
    page.statements.push(NO_STEP.judge(text, Estimate::exact((two / one - 1.0) * 100.0)));
    let mut more = Vec::new();
    for size in [2000, 3000, 4000, 8000] {
        let apart = (of(cells, "sctp", size)? / of(cells, "tcp", size)? - 1.0) * 100.0;
        more.push((format!("{size} octets"), Estimate::exact(apart)));
    }
    let text = "beyond the MTU SCTP and TCP are equal, as at 1000 octets";
    page.statements.push(EQUAL.judge(text, Evidence::Several(more)));
    for (four, six, name) in [("sctp", "sctp-ipv6", "SCTP"), ("tcp", "tcp-ipv6", "TCP")] {
        let mut costs = Vec::new();
        for size in [2000, 4000, 8000] {
            let apart = (of(cells, six, size)? / of(cells, four, size)? - 1.0) * 100.0;
            costs.push((format!("{size} octets"), Estimate::exact(apart)));
        }
        let text = format!("{name}: IPv6 costs what its header is longer, 20 octets of 1500");
        page.statements.push(HEADER.judge(text, Evidence::Several(costs)));
    }
    Ok(())
}

/// Adds that the delay of the link costs TCP throughput, too, of which the study shows SCTP alone.
fn tcp_over_delay(page: &mut Page, effort: &Effort) -> Result<(), StudyError> {
    let ran = run(effort, "S3-beyond")?;
    let y = Axis::linear("user data received in kbit/s").between(0.0, 100.0);
    page.figures.push(Figure::new(
        "delay",
        "TCP and SCTP over the delay",
        Axis::linear("link delay in ms"),
        y,
    ));
    for size in [100, 1000] {
        for (case, name) in [("tcp", "TCP"), ("sctp-unbundled", "SCTP, one message a packet")] {
            let points = delays(&ran, case, size)?;
            page.series.push(Series::new("delay", format!("{name}, {size} octets"), Mark::Points, points));
        }
        let rates = delays(&ran, "tcp", size)?;
        let falls = rates.windows(2).all(|pair| pair[1].1 <= pair[0].1 * 1.001);
        let [first, last] = [0, DELAYS.len() - 1].map(|index| rates[index].1);
        let tells = format!("{first:.1} kbit/s without delay, {last:.1} at 1 s");
        let text = format!("the throughput of TCP falls with the delay, too, {size} octets");
        page.statements.push(HOLDS.judge(text, Evidence::Fact(falls && last < first, tells)));
    }
    Ok(())
}

fn by_size(cells: &Cells) -> Result<Table, StudyError> {
    let row = |size: &u32| {
        let rates = CASES.iter().map(|(case, _)| Ok(format!("{:.1}", of(cells, case, *size)?)));
        let rates = rates.collect::<Result<Vec<_>, StudyError>>()?;
        Ok([size.to_string()].into_iter().chain(rates).collect())
    };
    let head: Vec<&str> = ["octets"].into_iter().chain(CASES.map(|(_, name)| name)).collect();
    let rows = SIZES.iter().map(row).collect::<Result<_, StudyError>>()?;
    Ok(Table::new("Throughput in kbit/s", &head, rows))
}

fn of(cells: &Cells, case: &str, size: u32) -> Result<f64, StudyError> {
    rate(cells.get(&[text("case", case), number("message", f64::from(size))])?)
}

/// Criteria of the statements, fixed before any run. Nothing is random here, so that values are exact.
const NO_STEP: Criterion = Criterion::equivalent([-3.0, 3.0], "%");
const EQUAL: Criterion = Criterion::each([-3.0, 3.0], "%");
const HEADER: Criterion = Criterion::each([-1.9, -0.8], "%");
const SIZES: [u32; 6] = [1000, 1400, 2000, 3000, 4000, 8000];
const CASES: [(&str, &str); 4] =
    [("sctp", "SCTP"), ("sctp-ipv6", "SCTP, IPv6"), ("tcp", "TCP"), ("tcp-ipv6", "TCP, IPv6")];
const CONDITIONS: &str = "Not in the study: messages of up to 8000 octets with 50 ms each way, an MTU of 1500 octets, and the same over IPv6; SCTP bundles";
const PLAN: &str = include_str!("../../../../plans/studies/s3-beyond.toml");

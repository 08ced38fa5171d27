//! S3: throughput over a link of 100 kbit/s. The study names no causes; ours is how much of each packet is user data.

mod beyond;

pub(super) use beyond::beyond;

use crate::cells::{Cells, Ran, number, text};
use crate::effort::Effort;
use crate::error::StudyError;
use lab::report::{Axis, Criterion, Estimate, Evidence, Figure, Mark, Page, Series, Statement, Table};

/// Makes figure 2 of S3: throughput over the message size.
pub(super) fn fig2(effort: &Effort) -> Result<Page, StudyError> {
    let ran = run(effort, "S3-fig2")?;
    let mut page = start(
        "fig2",
        "S3 Fig 2: throughput of SCTP over message size, no delay",
        "user message size in octets",
    );
    for case in ["sctp-unbundled", "sctp-bundled"] {
        page.series.push(over_size(&ran, case, "0ms", "fig2")?);
    }
    let rates = SIZES.iter().map(|size| {
        let rate = at(&ran, "sctp-bundled", "0ms", *size)?;
        Ok((format!("{size} octets"), Estimate::exact(rate)))
    });
    let rates = Evidence::Several(rates.collect::<Result<_, StudyError>>()?);
    let apart = SIZES.iter().map(|size| {
        let rate = at(&ran, "sctp-unbundled", "0ms", *size)?;
        Ok((format!("{size} octets"), Estimate::exact(rate)))
    });
    let apart = Evidence::Several(apart.collect::<Result<_, StudyError>>()?);
    let judged = RISES.judge("SCTP throughput rises with the message size", rates);
    page.statements.push(RISES.explain(judged, UNBUNDLED, "S3-fig2/sctp-unbundled", apart));
    page.tables.push(arithmetic(&ran)?);
    Ok(page)
}

/// Makes figure 3 of S3: throughput over the delay, small messages.
pub(super) fn fig3(effort: &Effort) -> Result<Page, StudyError> {
    over_delay(effort, "S3-fig3", "fig3", "S3 Fig 3: throughput over delay, 100-octet messages", 100)
}

/// Makes figure 4 of S3: throughput over the delay, large messages.
pub(super) fn fig4(effort: &Effort) -> Result<Page, StudyError> {
    let mut page =
        over_delay(effort, "S3-fig4", "fig4", "S3 Fig 4: throughput over delay, 1000-octet messages", 1000)?;
    let ran = run(effort, "S3-fig4")?;
    let fall = |case, size| {
        let share = at(&ran, case, "1000ms", size)? / at(&ran, case, "0ms", size)?;
        Ok::<_, StudyError>(100.0 - share * 100.0)
    };
    let falls = |case| {
        let (small, large) = (fall(case, 100)?, fall(case, 1000)?);
        let tells = format!(
            "from no delay to 1 s it falls by {small:.1} % with 100 octets, by {large:.1} % with 1000"
        );
        Ok::<_, StudyError>(Evidence::Fact(small > large, tells))
    };
    let judged =
        HOLDS.judge("it falls more for 100-octet than for 1000-octet messages", falls("sctp-bundled")?);
    let apart = falls("sctp-unbundled")?;
    page.statements.push(HOLDS.explain(judged, UNBUNDLED, "S3-fig4/sctp-unbundled", apart));
    Ok(page)
}

/// Makes figure 5 of S3: Nagle on and off, for senders that keep much and little.
pub(super) fn fig5(effort: &Effort) -> Result<Page, StudyError> {
    let ran = Effort { seeds: 1, share: 1.0, ..effort.clone() }.run("S3-fig5", NAGLE)?;
    let mut page = start(
        "fig5",
        "S3 Fig 5: throughput with the Nagle algorithm on and off, 50 ms delay",
        "user message size in octets",
    );
    let mut rows = Vec::new();
    for buffer in BUFFERS {
        for (nagle, name) in [("false", "off"), ("true", "on")] {
            let points =
                SIZES.iter().map(|size| Ok((f64::from(*size), with_nagle(&ran, *size, buffer, nagle)?)));
            let points = points.collect::<Result<Vec<_>, StudyError>>()?;
            let name = format!("Nagle {name}, {buffer} octets kept");
            page.series.push(Series::new("fig5", name, Mark::Points, points));
        }
        for size in SIZES {
            rows.push(nagle_row(&ran, size, buffer)?);
        }
    }
    let head = ["octets kept", "message", "Nagle off", "Nagle on", "cost in %"];
    page.tables.push(Table::new("Throughput in kbit/s over what the sender keeps", &head, rows));
    page.statements.push(nagle_statement(&ran)?);
    page.notes.push(COUNTED.to_owned());
    Ok(page)
}

/// Creates the statement on the sizes at which Nagle costs something: for a sender that keeps much, as senders do, and for one that
/// keeps little.
fn nagle_statement(ran: &Cells) -> Result<Statement, StudyError> {
    let costs = |buffer: &str| {
        let mut lower = 0;
        for size in SIZES {
            let (on, off) = (with_nagle(ran, size, buffer, "true")?, with_nagle(ran, size, buffer, "false")?);
            lower += usize::from(on < off * 0.999);
        }
        let tells =
            format!("lower at {lower} of {} sizes where the sender keeps {buffer} octets", SIZES.len());
        Ok::<_, StudyError>(Evidence::Fact(lower == SIZES.len(), tells))
    };
    let [small, middle, large] = BUFFERS;
    let judged = HOLDS.judge("Nagle on lowers the throughput, at every size", costs(large)?);
    let cause = "a sender that keeps little, so that what waits for company is not under way,";
    let place = "S3-fig5/2000 octets kept";
    Ok(HOLDS.explain(judged, cause, place, costs(small)?).noting(&match costs(middle)? {
        Evidence::Fact(_, tells) => tells,
        Evidence::Estimate(_) | Evidence::Runs(_) | Evidence::Several(_) | Evidence::Missing(_) => {
            String::new()
        }
    }))
}

fn with_nagle(ran: &Cells, size: u32, buffer: &str, nagle: &str) -> Result<f64, StudyError> {
    let key = [number("message", f64::from(size)), text("send_payload", buffer), text("nagle", nagle)];
    rate(ran.get(&key)?)
}

fn nagle_row(ran: &Cells, size: u32, buffer: &str) -> Result<Vec<String>, StudyError> {
    let [off, on] = [with_nagle(ran, size, buffer, "false")?, with_nagle(ran, size, buffer, "true")?];
    let cells = [format!("{off:.1}"), format!("{on:.1}"), format!("{:+.1}", (on / off - 1.0) * 100.0)];
    Ok([buffer.to_owned(), size.to_string()].into_iter().chain(cells).collect())
}

/// Makes figure 6 of S3: TCP and SCTP with large messages.
pub(super) fn fig6(effort: &Effort) -> Result<Page, StudyError> {
    beside_tcp(effort, "S3-fig6", "fig6", "S3 Fig 6: TCP and SCTP, 1000-octet messages", 1000, EQUAL)
}

/// Makes figure 7 of S3: TCP and SCTP with small messages.
pub(super) fn fig7(effort: &Effort) -> Result<Page, StudyError> {
    beside_tcp(effort, "S3-fig7", "fig7", "S3 Fig 7: TCP and SCTP, 100-octet messages", 100, LESS)
}

fn over_delay(
    effort: &Effort,
    id: &'static str,
    figure: &str,
    title: &str,
    size: u32,
) -> Result<Page, StudyError> {
    let ran = run(effort, id)?;
    let mut page = start(figure, title, "link delay in ms");
    for case in ["sctp-unbundled", "sctp-bundled"] {
        page.series.push(Series::new(figure, legend(case), Mark::Points, delays(&ran, case, size)?));
    }
    let falls = |case| {
        let rates = delays(&ran, case, size)?;
        let falls = rates.windows(2).all(|pair| pair[1].1 <= pair[0].1 * 1.001) && rates[4].1 < rates[0].1;
        let tells = format!("{:.1} kbit/s without delay, {:.1} at 1 s", rates[0].1, rates[4].1);
        Ok::<_, StudyError>(Evidence::Fact(falls, tells))
    };
    let judged = HOLDS.judge("throughput falls with the delay", falls("sctp-bundled")?);
    let place = format!("{id}/sctp-unbundled");
    page.statements.push(HOLDS.explain(judged, UNBUNDLED, &place, falls("sctp-unbundled")?));
    Ok(page)
}

fn beside_tcp(
    effort: &Effort,
    id: &'static str,
    figure: &str,
    title: &str,
    size: u32,
    criterion: Criterion,
) -> Result<Page, StudyError> {
    let ran = run(effort, id)?;
    let mut page = start(figure, title, "link delay in ms");
    for case in ["tcp", "sctp-unbundled", "sctp-bundled", "sctp-ours"] {
        page.series.push(Series::new(figure, legend(case), Mark::Points, delays(&ran, case, size)?));
    }
    let less = |case: &str| {
        let mut sum = 0.0;
        for delay in DELAYS {
            sum += at(&ran, case, delay, size)? / at(&ran, "tcp", delay, size)? - 1.0;
        }
        Ok::<_, StudyError>(Estimate::exact(sum / 5.0 * 100.0))
    };
    let payload = f64::from(size);
    let arithmetic = payload / (payload + 48.0) / (1448.0 / 1500.0) - 1.0;
    let words = if size == 100 { "SCTP carries 30 % less than TCP" } else { "SCTP and TCP are equal" };
    let judged = criterion.judge(format!("at {size} octets {words}"), less("sctp-bundled")?);
    let explained =
        criterion.explain(judged, UNBUNDLED, &format!("{id}/sctp-unbundled"), less("sctp-unbundled")?);
    page.statements.push(explained.noting(&format!(
        "by header arithmetic one message a packet is {:+.1} %: 48 octets of IP, SCTP and chunk headers a message, TCP 52 a full segment",
        arithmetic * 100.0
    )));
    page.notes.push(format!("With our default profile it is {:+.1} %.", less("sctp-ours")?.value()));
    page.tables.push(arithmetic_table(&ran, size)?);
    Ok(page)
}

/// Runs a plan once per cell: nothing here is random.
fn run(effort: &Effort, id: &'static str) -> Result<Cells, StudyError> {
    Effort { seeds: 1, share: 1.0, ..effort.clone() }.run(id, PLAN)
}

fn start(figure: &str, title: &str, abscissa: &str) -> Page {
    let ordinate = Axis::linear("user data received in kbit/s").between(0.0, 100.0);
    Page {
        conditions: vec![CONDITIONS.to_owned()],
        figures: vec![Figure::new(figure, title, Axis::linear(abscissa), ordinate)],
        ..Page::default()
    }
}

fn over_size(ran: &Cells, case: &str, delay: &str, figure: &str) -> Result<Series, StudyError> {
    let points = SIZES.iter().map(|size| Ok((f64::from(*size), at(ran, case, delay, *size)?)));
    Ok(Series::new(figure, legend(case), Mark::Points, points.collect::<Result<Vec<_>, StudyError>>()?))
}

fn delays(ran: &Cells, case: &str, size: u32) -> Result<Vec<(f64, f64)>, StudyError> {
    let point =
        |delay: &&str| Ok((cell(ran, case, delay, size)?.number("delay")?, at(ran, case, delay, size)?));
    DELAYS.iter().map(point).collect()
}

fn cell<'a>(ran: &'a Cells, case: &str, delay: &str, size: u32) -> Result<&'a Ran, StudyError> {
    ran.get(&[text("case", case), text("delay", delay), number("message", f64::from(size))])
}

/// Returns the user data in kbit/s of the cell with this case, delay and size.
fn at(ran: &Cells, case: &str, delay: &str, size: u32) -> Result<f64, StudyError> {
    rate(cell(ran, case, delay, size)?)
}

/// Returns the user data of a cell in kbit/s.
fn rate(cell: &Ran) -> Result<f64, StudyError> {
    let flow = cell.tally.flows.first();
    let rates = flow.map(|flow| flow.by_seed(|seed| seed.goodput_bits_per_s)).unwrap_or_default();
    lab::mean(&rates).map(|bits| bits / 1e3).ok_or_else(|| cell.missing("goodput"))
}

/// Makes the table of what the headers leave of 100 kbit/s, beside what was measured.
fn arithmetic(ran: &Cells) -> Result<Table, StudyError> {
    let row = |size: &u32| {
        let payload = f64::from(*size);
        let padded = f64::from(size.next_multiple_of(4));
        let chunks = (1468.0 / (padded + 16.0)).floor();
        let shares = [payload / (padded + 48.0), chunks * payload / (chunks * (padded + 16.0) + 32.0)];
        let measured = [at(ran, "sctp-unbundled", "0ms", *size)?, at(ran, "sctp-bundled", "0ms", *size)?];
        let cells = [shares[0] * 100.0, measured[0], shares[1] * 100.0, measured[1]];
        Ok([size.to_string()].into_iter().chain(cells.map(|value| format!("{value:.1}"))).collect())
    };
    let head =
        ["octets", "one message a packet: headers leave", "measured", "bundled: headers leave", "measured"];
    let rows = SIZES.iter().map(row).collect::<Result<_, StudyError>>()?;
    Ok(Table::new("Of 100 kbit/s, in kbit/s", &head, rows))
}

fn arithmetic_table(ran: &Cells, size: u32) -> Result<Table, StudyError> {
    let row = |delay: &&str| {
        let cases = ["tcp", "sctp-unbundled", "sctp-bundled", "sctp-ours"];
        let rates = cases.iter().map(|case| at(ran, case, delay, size)).collect::<Result<Vec<_>, _>>()?;
        let share = format!("{:+.1}", (rates[1] / rates[0] - 1.0) * 100.0);
        let rates = rates.iter().map(|rate| format!("{rate:.1}"));
        Ok([(*delay).to_owned()].into_iter().chain(rates).chain([share]).collect())
    };
    let head = ["delay", "TCP", "SCTP unbundled", "SCTP bundled", "ours", "unbundled beside TCP in %"];
    let rows = DELAYS.iter().map(row).collect::<Result<_, StudyError>>()?;
    Ok(Table::new(&format!("Throughput in kbit/s, {size} octets"), &head, rows))
}

fn legend(case: &str) -> String {
    match case {
        "tcp" => "TCP",
        "sctp-unbundled" => "SCTP, one message a packet",
        "sctp-bundled" => "SCTP, bundled",
        "sctp-ours" => "SCTP, ours",
        other => other,
    }
    .to_owned()
}

/// Criteria of the statements, fixed before any run. Nothing is random here, so that values are exact.
const RISES: Criterion = Criterion::rising(0.0, "kbit/s");
const HOLDS: Criterion = Criterion::holds();
const EQUAL: Criterion = Criterion::equivalent([-3.0, 3.0], "%").beside(0.0);
const LESS: Criterion = Criterion::equivalent([-35.0, -25.0], "%").beside(-30.0);
const UNBUNDLED: &str = "one message a packet instead of bundles, as the specification has them,";
const SIZES: [u32; 6] = [100, 200, 400, 600, 800, 1000];
const DELAYS: [&str; 5] = ["0ms", "50ms", "100ms", "500ms", "1000ms"];
const CONDITIONS: &str = "One stream, messages of one size back to back for 120 s over 100 kbit/s, delay each way, a queue that never fills and \
                          receive windows of 65,535 octets (neither is published: larger windows than that fill queues, and TCP then carries 5 to 40 % less), \
                          IPv4; throughput is user data received over the whole run; nothing is random, so there is one run per cell";
const COUNTED: &str = "What the sender keeps is counted in octets of user data, as many messages as they come to. A sender that counts what holds them, too, keeps fewer \
                       short ones, and its throughput hangs on that: the SCTP that ships takes some 170 octets a message beside them, and a buffer of 2000 in all \
                       then carries 28 kbit/s of 100-octet messages without Nagle. What the study's stack counted is not published.";
/// The octets that the sender keeps.
const BUFFERS: [&str; 3] = ["2000", "4000", "65536"];
const NAGLE: &str = include_str!("../../../plans/studies/s3-nagle.toml");
const PLAN: &str = include_str!("../../../plans/studies/s3-throughput.toml");

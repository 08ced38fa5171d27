//! S3: throughput over a link of 100 kbit/s. The study names no causes; ours is how much of each packet is user data.

use crate::effort::{Effort, Ran};
use crate::error::StudyError;
use lab::report::{Axis, Figure, Mark, Page, Series, Statement, Table};

/// Makes figure 2 of S3: throughput over the message size.
pub(super) fn fig2(effort: &Effort) -> Result<Page, StudyError> {
    let ran = run(effort, "S3-fig2")?;
    let mut page = start(
        "fig2",
        "S3 Fig 2: throughput of SCTP over message size, no delay",
        "user message size in octets",
    );
    for case in ["sctp-unbundled", "sctp-bundled"] {
        page.series.push(over_size(&ran, case, "0ms", "fig2"));
    }
    let rates: Vec<f64> = SIZES.iter().map(|size| at(&ran, "sctp-unbundled", "0ms", *size)).collect();
    let because = format!("{:.1} kbit/s at 100 octets, {:.1} at 1000", rates[0], rates[5]);
    page.statements.push(Statement::holds(
        "SCTP throughput rises with the message size",
        rates.is_sorted(),
        because,
    ));
    page.tables.push(arithmetic(&ran));
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
    let fall =
        |size| 1.0 - at(&ran, "sctp-unbundled", "1000ms", size) / at(&ran, "sctp-unbundled", "0ms", size);
    let (small, large) = (fall(100) * 100.0, fall(1000) * 100.0);
    let because =
        format!("from no delay to 1 s it falls by {small:.1} % with 100 octets, by {large:.1} % with 1000");
    page.statements.push(Statement::holds(
        "it falls more for 100-octet than for 1000-octet messages",
        small > large,
        because,
    ));
    Ok(page)
}

/// Makes figure 5 of S3: Nagle on and off, for senders that keep much and little.
pub(super) fn fig5(effort: &Effort) -> Result<Page, StudyError> {
    let ran = Effort { seeds: 1, ..effort.clone() }.run("S3-fig5", NAGLE)?;
    let mut page = start(
        "fig5",
        "S3 Fig 5: throughput with the Nagle algorithm on and off, 50 ms delay",
        "user message size in octets",
    );
    let mut rows = Vec::new();
    for buffer in BUFFERS {
        for (nagle, name) in [("false", "off"), ("true", "on")] {
            let points = SIZES.iter().map(|size| (f64::from(*size), with_nagle(&ran, *size, buffer, nagle)));
            let name = format!("Nagle {name}, {buffer} octets kept");
            page.series.push(Series::new("fig5", name, Mark::Points, points));
        }
        rows.extend(SIZES.iter().map(|size| nagle_row(&ran, *size, buffer)));
    }
    let head = ["octets kept", "message", "Nagle off", "Nagle on", "cost in %"];
    page.tables.push(Table::new("Throughput in kbit/s over what the sender keeps", &head, rows));
    page.statements.push(nagle_statement(&ran));
    page.notes.push(COUNTED.to_owned());
    Ok(page)
}

/// Creates the statement on the share of sizes at which Nagle costs something, by how much the sender keeps.
fn nagle_statement(ran: &[Ran]) -> Statement {
    let costs = |buffer: &str| {
        let is_lower = |size: &&u32| {
            with_nagle(ran, **size, buffer, "true") < with_nagle(ran, **size, buffer, "false") * 0.999
        };
        SIZES.iter().filter(is_lower).count()
    };
    let [small, middle, large] = BUFFERS.map(costs);
    let because = format!(
        "lower at {large} of {all} sizes where the sender keeps 65,536 octets, at {middle} where it keeps 4000, at {small} where it keeps 2000. A sender \
         that always has a full packet's worth waiting is never held back, and its throughput is the link's; it costs where the buffer bounds what is under \
         way, because what waits for company is not. How much the study's sender kept is not published",
        all = SIZES.len()
    );
    let at_all = large == SIZES.len();
    Statement::holds("Nagle on lowers the throughput, at every size", at_all, because)
        .differs_if(!at_all && small > 0)
}

fn with_nagle(ran: &[Ran], size: u32, buffer: &str, nagle: &str) -> f64 {
    let size = size.to_string();
    let levels = |cell: &&Ran| [cell.level(0), cell.level(1), cell.level(2)] == [&size, buffer, nagle];
    rate(ran.iter().find(levels))
}

fn nagle_row(ran: &[Ran], size: u32, buffer: &str) -> Vec<String> {
    let [off, on] = ["false", "true"].map(|nagle| with_nagle(ran, size, buffer, nagle));
    let cells = [format!("{off:.1}"), format!("{on:.1}"), format!("{:+.1}", (on / off - 1.0) * 100.0)];
    [buffer.to_owned(), size.to_string()].into_iter().chain(cells).collect()
}

/// Makes figure 6 of S3: TCP and SCTP with large messages.
pub(super) fn fig6(effort: &Effort) -> Result<Page, StudyError> {
    beside_tcp(effort, "S3-fig6", "fig6", "S3 Fig 6: TCP and SCTP, 1000-octet messages", 1000, (-0.03, 0.03))
}

/// Makes figure 7 of S3: TCP and SCTP with small messages.
pub(super) fn fig7(effort: &Effort) -> Result<Page, StudyError> {
    beside_tcp(effort, "S3-fig7", "fig7", "S3 Fig 7: TCP and SCTP, 100-octet messages", 100, (-0.35, -0.25))
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
        page.series.push(Series::new(figure, legend(case), Mark::Points, delays(&ran, case, size)));
    }
    let rates: Vec<f64> = DELAYS.iter().map(|delay| at(&ran, "sctp-unbundled", delay, size)).collect();
    let falls = rates.windows(2).all(|pair| pair[1] <= pair[0] * 1.001) && rates[4] < rates[0];
    let because = format!("{:.1} kbit/s without delay, {:.1} at 1 s", rates[0], rates[4]);
    page.statements.push(Statement::holds("throughput falls with the delay", falls, because));
    Ok(page)
}

fn beside_tcp(
    effort: &Effort,
    id: &'static str,
    figure: &str,
    title: &str,
    size: u32,
    (low, high): (f64, f64),
) -> Result<Page, StudyError> {
    let ran = run(effort, id)?;
    let mut page = start(figure, title, "link delay in ms");
    for case in ["tcp", "sctp-unbundled", "sctp-bundled", "sctp-ours"] {
        page.series.push(Series::new(figure, legend(case), Mark::Points, delays(&ran, case, size)));
    }
    let less = |case: &str| {
        let all = DELAYS.iter().map(|delay| at(&ran, case, delay, size) / at(&ran, "tcp", delay, size) - 1.0);
        all.sum::<f64>() / 5.0
    };
    let published = if size == 100 { -0.30 } else { 0.0 };
    let ours = less("sctp-unbundled");
    let payload = f64::from(size);
    let arithmetic = payload / (payload + 48.0) / (1448.0 / 1500.0) - 1.0;
    let text = format!("at {size} octets unbundled SCTP carries {:.0} % beside TCP", published * 100.0);
    let because = format!(
        "by header arithmetic {:+.1} %: 48 octets of IP, SCTP and chunk headers a message, TCP 52 a full segment",
        arithmetic * 100.0
    );
    let statement = Statement::holds(text, (low..=high).contains(&ours), because);
    page.statements.push(statement.beside(published * 100.0, ours * 100.0, "%"));
    let (bundled, default) = (less("sctp-bundled") * 100.0, less("sctp-ours") * 100.0);
    page.notes.push(format!(
        "Bundled, as SCTP does by default, it is {bundled:+.1} %; with our default profile {default:+.1} %."
    ));
    page.tables.push(arithmetic_table(&ran, size));
    Ok(page)
}

/// Runs a plan once per cell: nothing here is random.
fn run(effort: &Effort, id: &'static str) -> Result<Vec<Ran>, StudyError> {
    Effort { seeds: 1, ..effort.clone() }.run(id, PLAN)
}

fn start(figure: &str, title: &str, abscissa: &str) -> Page {
    let ordinate = Axis::linear("user data received in kbit/s").between(0.0, 100.0);
    Page {
        conditions: vec![CONDITIONS.to_owned()],
        figures: vec![Figure::new(figure, title, Axis::linear(abscissa), ordinate)],
        ..Page::default()
    }
}

fn over_size(ran: &[Ran], case: &str, delay: &str, figure: &str) -> Series {
    let points = SIZES.iter().map(|size| (f64::from(*size), at(ran, case, delay, *size)));
    Series::new(figure, legend(case), Mark::Points, points)
}

fn delays(ran: &[Ran], case: &str, size: u32) -> Vec<(f64, f64)> {
    DELAYS
        .iter()
        .map(|delay| (delay.trim_end_matches("ms").parse().unwrap_or(f64::NAN), at(ran, case, delay, size)))
        .collect()
}

/// Returns the user data in kbit/s of the cell with this case, delay and size.
fn at(ran: &[Ran], case: &str, delay: &str, size: u32) -> f64 {
    let size = size.to_string();
    let cell =
        ran.iter().find(|cell| cell.level(0) == delay && cell.level(1) == size && cell.level(2) == case);
    rate(cell)
}

/// Returns the user data of a cell in kbit/s.
fn rate(cell: Option<&Ran>) -> f64 {
    let flow = cell.and_then(|cell| cell.tally.flows.first());
    let rates = flow.map(|flow| flow.by_seed(|seed| seed.goodput_bits_per_s)).unwrap_or_default();
    lab::mean(&rates).map_or(f64::NAN, |bits| bits / 1e3)
}

/// Makes the table of what the headers leave of 100 kbit/s, beside what was measured.
fn arithmetic(ran: &[Ran]) -> Table {
    let row = |size: &u32| {
        let payload = f64::from(*size);
        let padded = f64::from(size.next_multiple_of(4));
        let chunks = (1468.0 / (padded + 16.0)).floor();
        let shares = [payload / (padded + 48.0), chunks * payload / (chunks * (padded + 16.0) + 32.0)];
        let measured = ["sctp-unbundled", "sctp-bundled"].map(|case| at(ran, case, "0ms", *size));
        let cells = [shares[0] * 100.0, measured[0], shares[1] * 100.0, measured[1]];
        [size.to_string()].into_iter().chain(cells.map(|value| format!("{value:.1}"))).collect()
    };
    let head =
        ["octets", "one message a packet: headers leave", "measured", "bundled: headers leave", "measured"];
    Table::new("Of 100 kbit/s, in kbit/s", &head, SIZES.iter().map(row).collect())
}

fn arithmetic_table(ran: &[Ran], size: u32) -> Table {
    let row = |delay: &&str| {
        let rates =
            ["tcp", "sctp-unbundled", "sctp-bundled", "sctp-ours"].map(|case| at(ran, case, delay, size));
        let share = format!("{:+.1}", (rates[1] / rates[0] - 1.0) * 100.0);
        [(*delay).to_owned()]
            .into_iter()
            .chain(rates.map(|rate| format!("{rate:.1}")))
            .chain([share])
            .collect()
    };
    let head = ["delay", "TCP", "SCTP unbundled", "SCTP bundled", "ours", "unbundled beside TCP in %"];
    Table::new(&format!("Throughput in kbit/s, {size} octets"), &head, DELAYS.iter().map(row).collect())
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

//! S4: transport protocols for firewall control. What is simulated is SIMCO: agent and middlebox as they ship.

mod answer;
mod calls;
mod ticks;

use core::num::NonZeroU32;

pub(super) use self::answer::answer;
pub(super) use self::calls::calls;
use models::studies::s4::{self, PublishedCell, PublishedTransport};

use crate::cells::{Cells, Ran, number, text};
use crate::effort::Effort;
use crate::error::StudyError;
use crate::response::{
    answered, conditions, curve, curves, flow, legend, model_ms, model_over_loss, model_over_rate, offsets,
    percent_more,
};
use crate::s1::{self, AS_THE_MODEL, TCP_2006, loss_axis, response_axis};
use lab::report::{Axis, Criterion, Estimate, Evidence, Figure, Mark, Page, Series, Table};

/// Makes table 1 of S4: four transports at 1 and 100 transactions a second.
pub(super) fn table1(effort: &Effort) -> Result<Page, StudyError> {
    let simco = effort.run("S4-table1", TABLE1)?;
    let echoed = effort.run("S4-table1", TABLE1_UDP)?;
    let mut page = Page {
        conditions: [SIMCO, STUDIES, TCP_STUDIES, UDP, SLOW, CONSTANT].map(str::to_owned).to_vec(),
        ..Page::default()
    };
    let mut rows = Vec::new();
    for cell in s4::published_table() {
        let row = Row::new(&cell);
        let cells = if row.transport == "udp" { &echoed } else { &simco };
        row.judge(cells, &mut page)?;
        rows.push(row.shown(cells)?);
    }
    printed_and_recomputed(&mut page)?;
    page.tables.push(Table::new("S4 Table 1: response time of PER, in ms", &HEAD, rows));
    page.notes.push(TERMS.to_owned());
    Ok(page)
}

/// A row of the table.
struct Row {
    published: PublishedCell,
    transport: String,
    name: String,
}

impl Row {
    fn new(published: &PublishedCell) -> Self {
        let (transport, name) = match published.transport {
            PublishedTransport::Sctp(streams) => {
                (format!("sctp:{streams}"), format!("SCTP, {streams} streams"))
            }
            PublishedTransport::Tcp => ("tcp".to_owned(), "TCP".to_owned()),
            PublishedTransport::Udp => ("udp".to_owned(), "UDP".to_owned()),
        };
        Self { published: *published, transport, name }
    }

    fn is_slow(&self) -> bool {
        self.published.rate_per_second < 10.0
    }

    fn at<'a>(&self, cells: &'a Cells, case: &str) -> Result<&'a Ran, StudyError> {
        cells.get(&[text("transport", &self.transport), text("case", case)])
    }

    /// Judges the cell with the study's own arrivals, Poisson, and timeouts that double; where that is not what was published, with the
    /// model's assumptions simulated.
    fn judge(&self, cells: &Cells, page: &mut Page) -> Result<(), StudyError> {
        let criterion = Criterion::within(self.published.response_ms, 0.03, "ms");
        let statement = format!("{} at {} transactions a second", self.name, self.published.rate_per_second);
        let case = match (self.is_slow(), self.transport.as_str()) {
            (false, _) => "poisson-100",
            (true, "udp") => "poisson-1",
            (true, _) => "poisson-1-back-off",
        };
        let mut judged = criterion.judge(statement, self.at(cells, case)?.evidence());
        if self.is_slow() {
            let place = format!("S4-table1/{}/constant-1", self.transport);
            judged = criterion.explain(judged, ASSUMED, &place, self.at(cells, "constant-1")?.evidence());
        }
        page.statements.push(judged);
        Ok(())
    }

    fn shown(&self, cells: &Cells) -> Result<Vec<String>, StudyError> {
        let model = s4::recompute(&self.published)?.as_secs_f64() * 1e3;
        let mut row = vec![self.name.clone(), self.published.rate_per_second.to_string()];
        row.extend([self.published.response_ms, model].map(|value| format!("{value:.3}")));
        let cases = match (self.is_slow(), self.transport.as_str()) {
            (false, _) => ["poisson-100", "", "", ""],
            (true, "udp") => ["poisson-1", "", "constant-1", ""],
            (true, _) => ["poisson-1-back-off", "poisson-1", "constant-1", "constant-1-back-off"],
        };
        for case in cases {
            let mean = if case.is_empty() { None } else { self.at(cells, case)?.mean() };
            row.push(mean.map(|mean| mean.to_string()).unwrap_or_default());
        }
        let main = self.at(cells, cases[0])?.answered();
        row.push(format!("{} of {}", main.0, main.1));
        Ok(row)
    }
}

/// Adds the statements that the printed values are those of the study's own formulas, to the digit that is printed.
fn printed_and_recomputed(page: &mut Page) -> Result<(), StudyError> {
    for cell in s4::published_table().iter().filter(|cell| cell.rate_per_second > 10.0) {
        let row = Row::new(cell);
        let digit = 0.05 / cell.response_ms;
        let criterion = Criterion::within(cell.response_ms, digit, "ms");
        let text =
            format!("{} at 100 a second: the study's (4) and (7), or (10), give the printed value", row.name);
        let judged = criterion.judge(text, Estimate::exact(s4::recompute(cell)?.as_secs_f64() * 1e3));
        let by_s1 = match cell.transport {
            PublishedTransport::Udp => None,
            PublishedTransport::Sctp(_) | PublishedTransport::Tcp => Some(flow(&row.transport)),
        };
        page.statements.push(match by_s1 {
            Some(flow) => {
                let s1 = models::studies::s1::response_time(&conditions(0.01, 100.0)?, flow)?.response_time;
                let cause = "the D of S1, without 1/(1 − p)²,";
                criterion.explain(judged, cause, "S1 (1)–(5)", Estimate::exact(s1.as_secs_f64() * 1e3))
            }
            None => judged,
        });
    }
    Ok(())
}

/// Makes figure 16 of S4: response time over loss, SCTP and TCP.
pub(super) fn fig16(effort: &Effort) -> Result<Page, StudyError> {
    let sctp = effort.run("S4-fig16", LOSS)?;
    let tcp = effort.run("S4-fig16", TCP_LOSS)?;
    let mut page = Page {
        conditions: vec![SIMCO.to_owned(), LINUX_2616.to_owned(), TCP_2006.to_owned()],
        ..Page::default()
    };
    let ordinate = response_axis().between(0.0, 250.0);
    let title = "S4 Fig 16: mean response time of PER over loss";
    page.figures.push(Figure::new("fig16", title, loss_axis(), ordinate));
    page.series = curves(&sctp, ["loss", "transport"], "fig16", 100.0, legend)?;
    for (profile, name) in TCP {
        page.series.extend(curve(&tcp.all(&[text("profile", profile)])?, "loss", "fig16", 100.0, name)?);
    }
    page.series.push(model_over_loss("fig16", "sctp:1", 0.1)?);
    let percent = |cell: &PublishedCell| (cell.rate_per_second > 10.0).then_some(1.0);
    page.series.push(printed("fig16", &legend("sctp:1"), ONE_STREAM, percent));
    page.series.push(printed("fig16", TCP[0].1, PublishedTransport::Tcp, percent));
    let at = |profile, loss| tcp.get(&[text("profile", profile), number("loss", loss)]);
    let stream = sctp.get(&[text("transport", "sctp:1"), number("loss", 0.03)])?;
    let slower = percent_more(at("linux-2006", 0.03)?, stream);
    page.statements.push(MORE.judge("SCTP with one stream is faster than TCP (Linux, 3 % loss)", slower));
    let counted = percent_more(at("linux-2006", 0.03)?, at("linux-2006-no-abc", 0.03)?);
    page.statements
        .push(MORE.judge("TCP is faster for small messages without byte counting (3 % loss)", counted));
    let alike = percent_more(at("linux-2006-no-abc", 0.03)?, at("solaris-10", 0.03)?);
    page.statements.push(ALIKE.judge("without byte counting Linux is like Solaris (3 % loss)", alike));
    for (profile, name) in [("linux-2006", "Linux"), ("solaris-10", "Solaris")] {
        let cell = at(profile, 0.08)?;
        let (answered, all) = cell.answered();
        let mean = cell.mean_of_answered().map_or_else(|| "–".to_owned(), |mean| mean.to_string());
        let tells = format!("{mean} ms at 8 %, {answered} of {all} answered");
        let text = format!("{name} TCP cannot carry 100 transactions a second above 7 % loss (here 8 %)");
        page.statements.push(HOLDS.judge(text, Evidence::Fact(cell.is_overloaded(), tells)));
    }
    page.tables.push(answered(&sctp, &["transport", "loss"])?);
    page.tables.push(answered(&tcp, &["profile", "loss"])?);
    Ok(page)
}

/// Makes figure 17 of S4: response time over the number of streams.
pub(super) fn fig17(effort: &Effort) -> Result<Page, StudyError> {
    let cells = effort.run("S4-fig17", STREAMS)?;
    let mut page = Page { conditions: vec![SIMCO.to_owned(), LINUX_2616.to_owned()], ..Page::default() };
    let abscissa = Axis::linear("number of streams").between(0.0, 12.0);
    let title = "S4 Fig 17: mean response time of PER over the number of streams";
    page.figures.push(Figure::new("fig17", title, abscissa, response_axis()));
    for loss in ["0.5%", "1%", "2%", "5%"] {
        let mut series = Series::new("fig17", format!("p = {loss}"), Mark::Points, []);
        let mut models = Vec::new();
        for cell in cells.all(&[text("loss", loss), text("profile", "linux-2.6.16")])? {
            let streams = streams(cell)?;
            models.push((streams, model_ms(cell.number("loss")?, 100.0, flow(cell.level("transport")?))?));
            if let Some(mean) = cell.mean() {
                series.points.push(vec![streams, mean.value()]);
                series.ci95.push(mean.interval());
            }
        }
        page.series.push(series);
        page.series.push(Series::new("fig17", format!("model, p = {loss}"), Mark::Model, models));
    }
    let at_one = |cell: &PublishedCell| (cell.rate_per_second > 10.0).then_some(1.0);
    page.series.push(printed("fig17", "p = 1%", ONE_STREAM, at_one));
    let model = |cell: &Ran| model_ms(cell.number("loss")?, 100.0, flow(cell.level("transport")?));
    let agreement = |profile| {
        let mut low = cells.all(&[text("profile", profile), text("loss", "0.5%")])?;
        low.extend(cells.all(&[text("profile", profile), text("loss", "1%")])?);
        offsets(&low, "transport", model)
    };
    let statement = "measurement and model agree up to 1 % loss, for every number of streams";
    page.statements.push(AS_THE_MODEL.judge(statement, agreement("linux-2.6.16")?).noting(UNEXPLAINED));
    let statement = "by the model's own rule (three reports, repeated) they agree up to 1 % loss";
    page.statements.push(AS_THE_MODEL.judge(statement, agreement("studies")?));
    for profile in ["linux-2.6.16", "studies"] {
        let at = |transport| {
            cells.get(&[text("profile", profile), number("loss", 0.01), text("transport", transport)])
        };
        let gain = percent_more(at("sctp:6")?, at("sctp:12")?);
        let text = format!("more than M = 6 streams gain nothing (6 beside 12 at 1 % loss, {profile})");
        page.statements.push(NOTHING.judge(text, gain));
    }
    page.tables.push(answered(&cells, &["profile", "loss", "transport"])?);
    Ok(page)
}

/// Makes figure 18 of S4: the distribution at 1 % loss.
pub(super) fn fig18(effort: &Effort) -> Result<Page, StudyError> {
    let cells = effort.run("S4-fig18", DISTRIBUTION)?;
    let title = "S4 Fig 18: share of openings (PER) that take longer, p = 1 %, d = 10 ms";
    let mut page = s1::distribution(&cells, "fig18", title)?;
    page.conditions = [SIMCO, LINUX_2616, TCP_2006].map(str::to_owned).to_vec();
    let of = |case| cells.get(&[text("case", case)]);
    let (sctp, tcp) = (of("sctp-6")?.percent_longer(100.0), of("tcp-linux-2006")?.percent_longer(100.0));
    let tails = sctp.zip(tcp).map_or_else(
        || Evidence::Missing("nothing was answered".to_owned()),
        |(sctp, tcp)| {
            Evidence::Several(vec![
                ("thrice SCTP with six streams".to_owned(), sctp.scaled(3.0, 0.0)),
                ("TCP".to_owned(), tcp),
            ])
        },
    );
    page.statements
        .push(LONGER.judge("TCP has the longer tail: thrice as many openings take more than 100 ms", tails));
    let quantile = of("tcp-linux-2006")?.quantile(0.99);
    page.statements.push(LINUX_TAIL.judge("TCP on Linux: the 99 % quantile is about 200 ms", quantile));
    let tail = of("tcp-solaris-10")?.percent_longer(500.0);
    page.statements.push(SOLARIS_TAIL.judge("TCP on Solaris: a tail at about 500 ms", tail));
    ticks::add(&mut page, effort)?;
    Ok(page)
}

/// Makes figure 19 of S4: response time over the rate of transactions.
pub(super) fn fig19(effort: &Effort) -> Result<Page, StudyError> {
    let cells = effort.run("S4-fig19", RATE)?;
    let tcp = effort.run("S4-fig19", TCP_RATE)?;
    let title = "S4 Fig 19: mean response time of PER over the rate, p = 1 %";
    let mut page = s1::rate_page(&cells, "fig19", title, LINUX_2616)?;
    page.conditions = [SIMCO, LINUX_2616, TCP_2006].map(str::to_owned).to_vec();
    for (profile, name) in [TCP[0], TCP[2]] {
        page.series.extend(curve(&tcp.all(&[text("profile", profile)])?, "case", "fig19", 1.0, name)?);
    }
    for transport in ["sctp:1", "sctp:6"] {
        page.series.push(model_over_rate("fig19", transport, 10_000.0)?);
    }
    page.series.push(printed("fig19", &legend("sctp:1"), ONE_STREAM, |cell| Some(cell.rate_per_second)));
    s1::regions(&mut page, &cells)?;
    let linux = |rate| tcp.get(&[text("profile", "linux-2006"), number("case", rate)]);
    let solaris = |rate| tcp.get(&[text("profile", "solaris-10"), number("case", rate)]);
    let model = model_ms(0.01, 100.0, flow("tcp"))?;
    let above = linux(100.0)?.mean().map(|mean| mean.scaled(1.0, -model));
    page.statements.push(
        TEN_TO_20
            .judge("Linux TCP is 10 to 20 ms above the model in the second region (100 a second)", above),
    );
    let fast = linux(2000.0)?;
    let tells = fast.mean().map_or_else(|| "no steady state".to_owned(), |mean| format!("{mean} ms"));
    let statement = "Linux TCP carries at least 2000 transactions a second";
    page.statements.push(HOLDS.judge(statement, Evidence::Fact(fast.mean().is_some(), tells)));
    let rise = percent_more(solaris(1000.0)?, solaris(500.0)?);
    page.statements.push(RISE.judge("Solaris TCP rises above 500 a second (1000 beside 500)", rise));
    page.tables.push(answered(&cells, &["case", "transport"])?);
    page.tables.push(answered(&tcp, &["case", "profile"])?);
    Ok(page)
}

fn streams(cell: &Ran) -> Result<f64, StudyError> {
    let transport = cell.level("transport")?;
    let digits = transport.trim_start_matches("sctp:").parse();
    digits.map_err(|_| cell.missing("a number of streams"))
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

/// Criteria of the statements, fixed before any run.
const MORE: Criterion = Criterion::more_than(0.0, "%");
const ALIKE: Criterion = Criterion::equivalent([-10.0, 10.0], "%");
const HOLDS: Criterion = Criterion::holds();
const NOTHING: Criterion = Criterion::equivalent([-1.0, 1.0], "%");
const LONGER: Criterion = Criterion::rising(0.0, "%");
const LINUX_TAIL: Criterion = Criterion::within(200.0, 0.25, "ms");
const SOLARIS_TAIL: Criterion = Criterion::more_than(0.1, "%");
const TEN_TO_20: Criterion = Criterion::equivalent([10.0, 20.0], "ms");
const RISE: Criterion = Criterion::more_than(10.0, "%");

const LINUX_2616: &str = "SCTP as the study's host, Linux 2.6.16, recovered (profile linux-2.6.16): three missing reports, once per chunk, RTO.Min 1 s, delayed \
                          acknowledgments";
const STUDIES: &str = "SCTP by the rule of the study's model (profile studies), from which the table is computed: three missing reports, and again after three more, RTO.Min 1 s, \
                       delayed acknowledgments";
const UNEXPLAINED: &str = "the study says that its measurement agreed; by the rule of its kernel it cannot have, and why it did is not known";
const ASSUMED: &str = "what the model assumes, arrivals at equal distances and a timeout that never doubles,";
const TCP: [(&str, &str); 3] = [
    ("linux-2006", "TCP, Linux 2.6, byte counting"),
    ("linux-2006-no-abc", "TCP, Linux 2.6, no byte counting"),
    ("solaris-10", "TCP, Solaris 10"),
];
const ONE_STREAM: PublishedTransport = PublishedTransport::Sctp(NonZeroU32::MIN);
const SIMCO: &str = "SIMCO (RFC 4540) by the agent and the middlebox that ship, the packet filter in memory; transactions of calls with a mean of 180 s, refreshed every 120 s; \
                     response times are those of PER; 10 ms each way, independent loss both ways, 100 Mbit/s, 0.5 ms of processing";
const TCP_STUDIES: &str = "TCP as the study's model takes it, SCTP with one stream (profile studies of TCP: 1 s of timeout at least, a window that does not limit)";
const UDP: &str = "UDP, over which SIMCO does not run: 64-octet requests, echoed, T1 = 500 ms";
const SLOW: &str = "1 a second: a transaction every 1050 ms, because at 1 s the timer of a lost request and the next request fall on one instant";
const CONSTANT: &str = "1 a second: Poisson arrivals, as the study's were, and timeouts that double, as RFC 9260 and RFC 6298 want it; beside that what the model has: \
                        arrivals at equal distances, and a timeout that stays at 1 s (RTO.Max)";
const TERMS: &str = "Timeouts that double add terms in p² to RTT + 2p·RTO + δ: 4p²·RTO for messages lost twice (3 RTO late), 4p²·RTO for those lost while the timer \
                     is doubled still (until the next round trip is measured: after a lost request, response or SACK), and with order \
                     2p²·(6 RTO − 3d) + 4p²·(2 RTO − d) for those behind them, d being 1050 ms: 0.8 ms without order, 1.75 ms with it.";
const HEAD: [&str; 9] = [
    "transport",
    "per second",
    "published",
    "model (4)–(7), (10)",
    "simulated",
    "timeout that stays",
    "constant arrivals, timeout that stays",
    "constant arrivals",
    "answered",
];
const TABLE1: &str = include_str!("../../../plans/studies/s4-table1.toml");
const TABLE1_UDP: &str = include_str!("../../../plans/studies/s4-table1-udp.toml");
const DISTRIBUTION: &str = include_str!("../../../plans/studies/s4-distribution.toml");
const TCP_RATE: &str = include_str!("../../../plans/studies/s4-tcp-rate.toml");
const RATE: &str = include_str!("../../../plans/studies/s4-rate.toml");
const LOSS: &str = include_str!("../../../plans/studies/s4-loss.toml");
const TCP_LOSS: &str = include_str!("../../../plans/studies/s4-tcp-loss.toml");
const STREAMS: &str = include_str!("../../../plans/studies/s4-streams.toml");

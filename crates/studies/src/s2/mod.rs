//! S2: transport protocols for SIP.
//!
//! Ordered and unordered delivery are two rules for the same packets, so that each run gives a pair; the study's own formula, which
//! takes them as two independent samples, stands beside it.

mod beside;
mod figures;
mod net;
mod search;
mod settings;

pub(super) use figures::{fig5, fig6};
pub(super) use search::search;

use self::net::{Outcome, Setting, run};
use self::settings::{Choice, choices};
use crate::effort::Effort;
use crate::error::StudyError;
use lab::plan::spread;
use lab::report::{Axis, Figure, Mark, Page, Series, Statement, Table, Verdict};
use lab::{half_width, mean};

/// Makes table 1 of S2: losses of the buffer alone.
pub(super) fn table1(effort: &Effort) -> Result<Page, StudyError> {
    table(effort, &CELLS[..1], "S2-table1")
}

/// Makes table 2 of S2: light induced loss.
pub(super) fn table2(effort: &Effort) -> Result<Page, StudyError> {
    table(effort, &CELLS[1..3], "S2-table2")
}

/// Makes table 3 of S2: competing TCP.
pub(super) fn table3(effort: &Effort) -> Result<Page, StudyError> {
    table(effort, &CELLS[3..], "S2-table3")
}

/// A cell of the study, with what it published.
#[derive(Clone, Copy, Debug)]
struct Published {
    name: &'static str,
    /// The name of the case in `s2-transports.toml`.
    case: &'static str,
    load: f64,
    loss: f64,
    flows: usize,
    sctp_ms: f64,
    tcp_ms: f64,
    variances: [f64; 2],
}

/// One row of figures per run.
#[derive(Clone, Copy, Debug, Default)]
struct RunFigures {
    unordered: f64,
    ordered: f64,
    variances: [f64; 2],
    difference: f64,
    blocked: f64,
    /// The median, the 95 % and the 99 % quantile.
    quantiles: [f64; 3],
    dropped: f64,
}

fn table(effort: &Effort, cells: &[Published], id: &str) -> Result<Page, StudyError> {
    let choices = choices()?;
    let mut page = Page { conditions: vec![NETWORK.to_owned()], ..Page::default() };
    page.conditions.extend(choices.iter().map(Choice::sentence));
    let (mut rows, mut unordered) = (Vec::new(), Vec::new());
    for cell in cells {
        for (rank, choice) in choices.iter().enumerate() {
            let runs = cell.runs(effort, choice)?;
            rows.push(cell.row(choice, &runs));
            if rank == 0 {
                cell.statements(&runs, &mut page);
                page.series.extend(cell.spread(&runs));
                unordered.push(runs.iter().map(|run| run.unordered).collect::<Vec<_>>());
            }
        }
    }
    let title = "Mean delays of the runs, and the one published";
    page.figures.push(Figure::new(
        "spread",
        title,
        Axis::linear("mean delay of one run in ms"),
        Axis::linear("share of runs below"),
    ));
    page.tables.push(Table::new(&format!("{id}: delays in ms, mean over seeds"), &HEAD, rows));
    let buffer = choices.first().map_or(0, |choice| choice.buffer);
    page.tables.push(beside::table(effort, cells, &unordered, buffer)?);
    page.notes.push(IDENTIFIED.to_owned());
    page.notes.push(BESIDE.to_owned());
    Ok(page)
}

impl Published {
    fn runs(&self, effort: &Effort, choice: &Choice) -> Result<Vec<RunFigures>, StudyError> {
        let setting = scaled(choice.of(self), effort);
        many(effort, &setting, |outcome| {
            let figures =
                |delays: &lab::simulation::Delays| (delays.moments().mean(), delays.moments().variance());
            let one_way = &outcome.one_way;
            let (unordered, ordered) = (figures(&one_way.unordered), figures(&one_way.ordered));
            let or_nan = |value: Option<f64>| value.unwrap_or(f64::NAN);
            RunFigures {
                unordered: or_nan(unordered.0),
                ordered: or_nan(ordered.0),
                variances: [or_nan(unordered.1), or_nan(ordered.1)],
                difference: or_nan(one_way.difference.mean()),
                blocked: one_way.blocked as f64 / one_way.messages as f64,
                quantiles: [0.5, 0.95, 0.99]
                    .map(|share| or_nan(one_way.unordered.spread().quantile_ms(share))),
                dropped: outcome.dropped as f64 / outcome.packets as f64,
            }
        })
    }

    /// Returns the distribution of the means of the runs, and the published one.
    fn spread(&self, runs: &[RunFigures]) -> [Series; 2] {
        let means = sorted(runs.iter().map(|run| run.unordered));
        let count = means.len() as f64;
        let ranks = (0_u32..).map(|rank| (f64::from(rank) + 0.5) / count);
        let points = means.iter().copied().zip(ranks);
        let published = [(self.sctp_ms, 0.0), (self.sctp_ms, 1.0)];
        [
            Series::new("spread", format!("seeds, {}", self.name), Mark::Points, points),
            Series::new("spread", format!("published, {}", self.name), Mark::Model, published),
        ]
    }

    fn statements(&self, runs: &[RunFigures], page: &mut Page) {
        let differences: Vec<f64> = runs.iter().map(|run| run.difference).collect();
        let ours = mean(&differences).unwrap_or(f64::NAN);
        let ci95 = half_width(&differences).map(|half| [ours - half, ours + half]);
        let published = self.tcp_ms - self.sctp_ms;
        let means = sorted(runs.iter().map(|run| run.unordered));
        let middle = mean(&means).unwrap_or(f64::NAN);
        if self.flows == 0 {
            let statement = Statement::holds(
                format!("{}: what order costs", self.name),
                (ours - published).abs() <= 1.0,
                format!(
                    "paired on the same packets, mean over seeds; {:.2} % of the mean; the bar is ± 1 ms",
                    ours / middle * 100.0
                ),
            );
            let statement = statement.beside(published, ours, "ms");
            page.statements.push(statement.decided_by(ci95, [published - 1.0, published + 1.0]));
            let range = [means.first(), means.last()].map(|end| end.copied().unwrap_or(f64::NAN));
            let rank = means.iter().filter(|mean| **mean < self.sctp_ms).count();
            let mut statement = Statement::holds(
                format!("{}: the published mean is one of the means that seeds give", self.name),
                (range[0]..=range[1]).contains(&self.sctp_ms),
                format!(
                    "runs have {:.0} to {:.0} ms; {rank} of {} are below the published mean",
                    range[0],
                    range[1],
                    means.len()
                ),
            )
            .beside(self.sctp_ms, middle, "ms");
            if runs.len() < ENOUGH_RUNS && statement.verdict != Verdict::Reproduced {
                statement.verdict = Verdict::Undecided;
            }
            page.statements.push(statement);
        } else {
            let share = ours / middle * 100.0;
            let published = published / self.sctp_ms * 100.0;
            let statement = Statement::holds(
                format!("{}: order costs at most about 3 %", self.name),
                share < 3.1,
                format!(
                    "{ours:.1} ms of {middle:.0}; absolute delays hang on the competing flows, which are not published"
                ),
            );
            page.statements.push(statement.beside(published, share, "%"));
        }
        self.significance(runs, ours, ci95, page);
    }

    /// The test of the study, and the paired one.
    fn significance(&self, runs: &[RunFigures], ours: f64, ci95: Option<[f64; 2]>, page: &mut Page) {
        let count = 44_000.0_f64;
        let half = 1.96 * ((self.variances[0] + self.variances[1]) / count).sqrt();
        let spans = |run: &&RunFigures| {
            run.difference < 1.96 * ((run.variances[0] + run.variances[1]) / count).sqrt()
        };
        let spanning = runs.iter().filter(spans).count();
        let is_clear = ci95.map_or(runs.iter().all(|run| run.difference > 0.0), |[low, _]| low > 0.0);
        let was_significant = self.tcp_ms - self.sctp_ms > half;
        let text = if was_significant {
            "the difference is significant"
        } else {
            "the difference is not significant"
        };
        let mut statement = Statement::holds(
            format!("{}: {text}", self.name),
            is_clear && was_significant,
            format!(
                "the study's unpaired interval has a half-width of {half:.2} ms, and spans zero in {spanning} of our {} runs; paired, order costs \
                 {ours:.2} ms and the interval is {}",
                runs.len(),
                if is_clear { "clear of zero" } else { "not clear of zero" }
            ),
        );
        if is_clear && !was_significant {
            statement.verdict = Verdict::Differs;
            statement.because.push_str(": not significant was the lack of power of the unpaired test, while the size of the effect holds");
        }
        page.statements.push(statement.with_ci95(ci95));
    }

    fn row(&self, choice: &Choice, runs: &[RunFigures]) -> Vec<String> {
        let of = |figure: fn(&RunFigures) -> f64| {
            mean(&runs.iter().map(figure).collect::<Vec<_>>()).unwrap_or(f64::NAN)
        };
        let differences: Vec<f64> = runs.iter().map(|run| run.difference).collect();
        let means = sorted(runs.iter().map(|run| run.unordered));
        let mut moments = lab::simulation::Moments::default();
        means.iter().for_each(|mean| moments.add(*mean));
        let deviation = moments.variance().map_or(f64::NAN, f64::sqrt);
        vec![
            format!("{} ({})", self.name, choice.name),
            format!("{:.1}", self.sctp_ms),
            format!("{:.1}", of(|run| run.unordered)),
            format!("{:.0} %", deviation / of(|run| run.unordered) * 100.0),
            format!("{:.1}", self.tcp_ms),
            format!("{:.1}", of(|run| run.ordered)),
            format!("{:.1}", self.tcp_ms - self.sctp_ms),
            format!("{:.2}", of(|run| run.difference)) + &plus_minus(&differences),
            format!("{:.0}", of(|run| run.quantiles[0])),
            format!("{:.0}", of(|run| run.quantiles[1])),
            format!("{:.0}", of(|run| run.quantiles[2])),
            format!("{:.1} %", of(|run| run.blocked) * 100.0),
            format!("{:.2} %", of(|run| run.dropped) * 100.0),
        ]
    }
}

/// Runs the setting once per seed, over the cores.
fn many<T: Send>(
    effort: &Effort,
    setting: &Setting,
    keep: impl Fn(Outcome) -> T + Sync,
) -> Result<Vec<T>, StudyError> {
    let seeds = usize::try_from(effort.seeds).unwrap_or(1);
    effort.options.progress.expect(seeds);
    let one = |index| run(setting, seed(index), &effort.options.stop).map(&keep);
    let runs = spread(&effort.options, seeds, one)?;
    if effort.options.stop.is_raised() { Err(StudyError::Interrupted) } else { Ok(runs) }
}

fn scaled(setting: Setting, effort: &Effort) -> Setting {
    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "45,000 at most"
    )]
    let messages = (setting.messages as f64 * effort.share).round() as u64;
    Setting { messages: messages.max(setting.discard + 1000), ..setting }
}

fn seed(index: usize) -> u64 {
    u64::try_from(index).unwrap_or(u64::MAX).saturating_add(1)
}

fn mean_of(values: &[f64]) -> f64 {
    mean(values).unwrap_or(f64::NAN)
}

/// Returns half of the interval, where there are runs enough for one.
fn plus_minus(values: &[f64]) -> String {
    half_width(values).map(|half| format!(" ± {half:.2}")).unwrap_or_default()
}

fn sorted(values: impl Iterator<Item = f64>) -> Vec<f64> {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values
}

fn median(values: impl Iterator<Item = f64>) -> f64 {
    let values = sorted(values);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

/// Runs from which on their range says something.
const ENOUGH_RUNS: usize = 10;
const CELLS: [Published; 5] = [
    Published {
        name: "load 78 %",
        case: "load-78",
        load: 0.78,
        loss: 0.0,
        flows: 0,
        sctp_ms: 397.4,
        tcp_ms: 400.8,
        variances: [72_735.5, 72_416.9],
    },
    Published {
        name: "load 50 %, 0.2 % loss",
        case: "load-50-loss-02",
        load: 0.5,
        loss: 0.002,
        flows: 0,
        sctp_ms: 455.9,
        tcp_ms: 459.3,
        variances: [382_063.0, 382_171.0],
    },
    Published {
        name: "load 50 %, 0.3 % loss",
        case: "load-50-loss-03",
        load: 0.5,
        loss: 0.003,
        flows: 0,
        sctp_ms: 840.8,
        tcp_ms: 844.8,
        variances: [862_894.0, 862_563.0],
    },
    Published {
        name: "load 39 %, one TCP flow",
        case: "load-39-tcp-1",
        load: 0.39,
        loss: 0.0,
        flows: 1,
        sctp_ms: 757.2,
        tcp_ms: 771.2,
        variances: [361_544.0, 361_980.0],
    },
    Published {
        name: "load 28 %, two TCP flows",
        case: "load-28-tcp-2",
        load: 0.28,
        loss: 0.0,
        flows: 2,
        sctp_ms: 589.1,
        tcp_ms: 606.9,
        variances: [582_583.0, 598_105.0],
    },
];
const HEAD: [&str; 13] = [
    "cell (setting)",
    "SCTP published",
    "unordered, ours",
    "deviation of one run",
    "TCP published",
    "ordered, ours",
    "difference published",
    "paired difference",
    "median",
    "95 % quantile",
    "99 % quantile",
    "sessions touched by blocking",
    "packets dropped",
];
const NETWORK: &str = "Client, two routers, server: 15 ms each, 1.7 Mbit/s in the middle and 10 Mbit/s outside; SIP requests of 500 octets, Poisson; \
                       window counted in packets, one message a packet, every packet acknowledged at once; 45,000 messages, the first 1000 do not count";
const IDENTIFIED: &str = "Buffer, caps and header sizes are not published and are not identified by these figures: no setting fits all five cells, \
                          and one run's mean deviates from the next one's by a seventh and more, so that each published mean is one draw.";
const BESIDE: &str = "The study's own comparison is one trace under two delivery rules. The table of other transports is of runs of their own: TCP recovers by itself, \
                      and the SCTP that ships counts octets, bundles what waits, and finds losses by time; what separates them from the study's rules is mostly \
                      that, and not the order.";

//! Blocking at the sender: a large message in front of small ones on other streams.

use super::{of_all_seeds, paired, shown};
use crate::cells::{Cells, Ran, text};
use crate::effort::Effort;
use crate::error::StudyError;
use lab::plan::FlowTally;
use lab::report::{Axis, Criterion, Estimate, Evidence, Figure, Mark, Page, Series, Table};

/// Makes the page on large messages before small ones.
pub(crate) fn large(effort: &Effort) -> Result<Page, StudyError> {
    let (together, apart) = (effort.run("now-large", PLAN)?, effort.run("now-large", APART)?);
    let mut page = Page { conditions: vec![PATH.to_owned()], ..Page::default() };
    let x = Axis::linear("delay of a message in ms").between(0.0, 250.0);
    let y = Axis::log("share of messages that take longer").between(1e-3, 1.0);
    page.figures.push(Figure::new("large", "Delays of all messages, one in fifty of 100,000 octets", x, y));
    let of = |case: &str| at(if case.ends_with("-apart") { &apart } else { &together }, case);
    let mut rows = Vec::new();
    for (case, name) in CASES {
        let cell = of(case)?;
        let steps = steps(cell);
        let quantile =
            |share| quantile(&steps, share).map_or_else(|| "–".to_owned(), |ms| format!("{ms:.1}"));
        let (delivered, missing) = delivered(cell);
        rows.push(vec![
            name.to_owned(),
            shown(mean(cell)),
            quantile(0.5),
            quantile(0.9),
            quantile(0.95),
            format!("{delivered} of {}", delivered + missing),
        ]);
        if !NOT_DRAWN.contains(&case) {
            page.series.push(Series::new("large", name, Mark::Steps, steps));
        }
    }
    let head = ["transport", "mean in ms", "median", "90 %", "95 %", "delivered"];
    page.tables.push(Table::new("Delays in ms; small messages are 98 of a hundred", &head, rows));
    judge(&mut page, of)?;
    page.reading = reading(of)?;
    Ok(page)
}

fn judge<'a>(page: &mut Page, of: impl Fn(&str) -> Result<&'a Ran, StudyError>) -> Result<(), StudyError> {
    let mut by_scheduler = Vec::new();
    for (case, scheduler) in DATA {
        let Some(longer) = longer(of(case)?, of(TURNS)?) else { continue };
        by_scheduler.push((scheduler.to_owned(), longer));
    }
    let text = "without interleaving (DATA) messages wait for a large one under every scheduler: they take longer than with I-DATA and streams in turns";
    page.statements.push(EACH_MORE.judge(text, Evidence::Several(by_scheduler)));
    for (criterion, text, one, other) in STATEMENTS {
        let missing = || Evidence::Missing("nothing was delivered".to_owned());
        let evidence = longer(of(one)?, of(other)?).map_or_else(missing, Evidence::from);
        page.statements.push(criterion.judge(text, evidence));
    }
    Ok(())
}

/// Returns by how many per cent messages take longer in one cell than in another. Where both have the same flows, seeds give both the same
/// arrivals, and the runs are compared seed by seed; otherwise the cells are independent.
fn longer(one: &Ran, other: &Ran) -> Option<Estimate> {
    let (own, others) = (run_means(one), run_means(other));
    let have_same_arrivals = one.tally.flows.len() == other.tally.flows.len();
    if let Some(paired) = paired(&own, &others).filter(|_| have_same_arrivals) {
        return Some(paired);
    }
    mean(one).zip(mean(other)).map(|(one, other)| one.beyond(other).scaled(100.0, 0.0))
}

fn at<'a>(cells: &'a Cells, case: &str) -> Result<&'a Ran, StudyError> {
    cells.get(&[text("case", case)])
}

/// Returns the flows of a cell with the share of all messages that each has.
fn flows(cell: &Ran) -> impl Iterator<Item = (&FlowTally, f64)> {
    let (delivered, missing) = delivered(cell);
    let all = (delivered + missing) as f64;
    cell.tally.flows.iter().map(move |flow| {
        let own = (flow.delivered.count() + flow.delivered.unanswered()) as f64;
        (flow, own / all)
    })
}

/// Returns how many messages of all flows were delivered, and how many were not.
fn delivered(cell: &Ran) -> (u64, u64) {
    let flows = cell.tally.flows.iter().map(|flow| &flow.delivered);
    flows.fold((0, 0), |(delivered, missing), flow| (delivered + flow.count(), missing + flow.unanswered()))
}

/// Returns the mean over the messages of all flows; `None` where one of them delivered nothing.
fn mean(cell: &Ran) -> Option<Estimate> {
    if let [only] = &cell.tally.flows[..] {
        return only.delivered.mean().map(|mean| Estimate::new(mean, only.delivered.ci95()));
    }
    Estimate::of_runs(&run_means(cell))
}

/// Returns the mean of each run over the messages of all flows, in the order of the seeds; none where a run of a flow delivered nothing.
fn run_means(cell: &Ran) -> Vec<f64> {
    let flows: Vec<_> = flows(cell).map(|(flow, share)| (of_all_seeds(flow), share)).collect();
    let runs = flows.iter().map(|(means, _)| means.len()).min().unwrap_or(0);
    let run = |run: usize| flows.iter().map(|(means, share)| means[run] * share).sum();
    (0..runs).map(run).collect()
}

/// Returns the share of the messages of all flows that take longer than each delay that occurs.
fn steps(cell: &Ran) -> Vec<(f64, f64)> {
    let mut changes: Vec<(f64, f64)> = Vec::new();
    for (flow, share) in flows(cell) {
        let mut before = 1.0;
        for (ms, longer) in flow.delivered.ccdf() {
            changes.push((ms, (before - longer) * share));
            before = longer;
        }
    }
    changes.sort_by(|one, other| one.0.total_cmp(&other.0));
    let mut longer = 1.0;
    let step = |(ms, less): (f64, f64)| {
        longer -= less;
        (ms, longer.max(0.0))
    };
    changes.into_iter().map(step).collect()
}

/// Returns the delay in ms that the share of messages does not exceed; `None` where it falls among those that were not delivered.
fn quantile(steps: &[(f64, f64)], share: f64) -> Option<f64> {
    steps.iter().find(|(_, longer)| *longer <= 1.0 - share + ROUNDING).map(|(ms, _)| *ms)
}

fn reading<'a>(of: impl Fn(&str) -> Result<&'a Ran, StudyError>) -> Result<Vec<String>, StudyError> {
    let of = |case| Ok::<_, StudyError>(shown(mean(of(case)?)));
    Ok(vec![
        format!(
            "A message takes {} ms in the mean with DATA, {} ms with I-DATA and streams in turns, {} ms with DATA and a second association for the large ones, {} ms over QUIC's streams, {} ms over one \
             TCP connection, {} ms over ten and {} ms with a second one for the large ones.",
            of("data")?,
            of(TURNS)?,
            of("data-apart")?,
            of("quic")?,
            of("tcp")?,
            of("tcp-10")?,
            of("tcp-apart")?
        ),
        format!(
            "What to do: where large and small messages share an association, have I-DATA at both ends and at the sender a scheduler that takes turns. I-DATA alone, first come, takes {} ms, and turns alone, \
             with DATA, {} ms. If the other end has no I-DATA, give the large ones an association of their own.",
            of("i-data-first-come")?,
            of("data-round-robin")?
        ),
    ])
}

/// Criteria of the statements, fixed before any run.
const EACH_MORE: Criterion = Criterion::each([0.0, f64::INFINITY], "%");
const MORE: Criterion = Criterion::more_than(0.0, "%");
const ALIKE: Criterion = Criterion::equivalent([-5.0, 5.0], "%");
const NO_MORE: Criterion = Criterion::less_than(5.0, "%");
/// I-DATA, and streams that take turns.
const TURNS: &str = "i-data-round-robin";
/// The cases without interleaving, and their schedulers.
const DATA: [(&str, &str); 5] = [
    ("data", "first come, first served"),
    ("data-round-robin", "in turns"),
    ("data-packet", "in turns by packets"),
    ("data-priority", "small ones first"),
    ("data-fair", "equal octets"),
];
/// The statements compare the mean of one case with that of another.
const STATEMENTS: [(Criterion, &str, &str, &str); 7] = [
    (ALIKE, "I-DATA without a scheduler that takes turns gains nothing", "i-data-first-come", "data"),
    (ALIKE, "streams in turns and streams with equal octets are equally good", "i-data-fair", TURNS),
    (
        ALIKE,
        "it makes no difference whether streams take turns by chunks or by packets",
        "i-data-packet",
        TURNS,
    ),
    (NO_MORE, "small messages that go first are at least as good as turns", "i-data-priority", TURNS),
    (MORE, "one TCP connection makes messages wait longer than I-DATA in turns", "tcp", TURNS),
    (NO_MORE, "a second association for the large ones is as good as I-DATA in turns", "data-apart", TURNS),
    (NO_MORE, "QUIC's streams are as good as a second connection for the large ones", "quic", "quic-apart"),
];
const CASES: [(&str, &str); 16] = [
    ("data", "SCTP, DATA"),
    ("data-round-robin", "SCTP, DATA, streams in turns"),
    ("data-packet", "SCTP, DATA, in turns by packets"),
    ("data-priority", "SCTP, DATA, small ones first"),
    ("data-fair", "SCTP, DATA, equal octets"),
    ("i-data-first-come", "SCTP, I-DATA, first come"),
    ("i-data-round-robin", "SCTP, I-DATA, streams in turns"),
    ("i-data-packet", "SCTP, I-DATA, in turns by packets"),
    ("i-data-priority", "SCTP, I-DATA, small ones first"),
    ("i-data-fair", "SCTP, I-DATA, equal octets"),
    ("data-apart", "SCTP, DATA, two associations"),
    ("quic", "QUIC, ten streams"),
    ("quic-apart", "QUIC, two connections"),
    ("tcp", "TCP"),
    ("tcp-10", "TCP, ten connections"),
    ("tcp-apart", "TCP, two connections"),
];
/// Cases in the table alone, whose curves lie on those of others.
const NOT_DRAWN: [&str; 8] = [
    "data-round-robin",
    "data-packet",
    "data-priority",
    "data-fair",
    "i-data-first-come",
    "i-data-packet",
    "i-data-fair",
    "quic-apart",
];
/// A share of a number of messages may be a whole number that arithmetic does not hit.
const ROUNDING: f64 = 1e-9;
const PATH: &str = "Messages of 64 octets, every fiftieth of 100,000, a hundred a second, Poisson, dealt round robin to ten streams or connections, so that the large ones are all on the first; with two associations the large ones have the second; 10 ms each way, 10 Mbit/s, nothing lost. Means are over all messages, and cells with the same flows are compared seed by seed";
const PLAN: &str = include_str!("../../../../plans/studies/now-large.toml");
const APART: &str = include_str!("../../../../plans/studies/now-large-apart.toml");

//! A burst of requests into a short queue: what a sender does that has been idle.

use super::{of_all_seeds, paired, shown};
use crate::cells::{Cells, Ran, text};
use crate::effort::Effort;
use crate::error::StudyError;
use lab::plan::FlowTally;
use lab::report::{Axis, Criterion, Estimate, Evidence, Figure, Mark, Page, Series, Table};

/// Makes the page on bursts.
pub(crate) fn burst(effort: &Effort) -> Result<Page, StudyError> {
    let cells = effort.run("now-burst", PLAN)?;
    let mut page = Page { conditions: vec![PATH.to_owned()], ..Page::default() };
    let x = Axis::linear("delay of a message in ms").between(0.0, 600.0);
    let y = Axis::log("share of messages that take longer").between(1e-3, 1.0);
    page.figures.push(Figure::new("burst", "Delays of the messages of a burst", x, y));
    let mut rows = Vec::new();
    for (case, name) in CASES {
        let cell = at(&cells, case)?;
        let flow = flow(cell)?;
        page.series.push(Series::new("burst", name, Mark::Steps, flow.delivered.ccdf()));
        let quantile =
            |share| flow.delivered.quantile(share).map_or_else(|| "–".to_owned(), |ms| format!("{ms:.1}"));
        let (dropped, offered) = dropped(cell);
        rows.push(vec![
            name.to_owned(),
            shown(mean(cell)?),
            quantile(0.5),
            quantile(0.99),
            format!("{:.2}", dropped / offered * 100.0),
            format!("{} of {}", flow.delivered.count(), flow.delivered.count() + flow.delivered.unanswered()),
        ]);
    }
    let head = ["transport", "mean in ms", "median", "99 %", "packets dropped in %", "delivered"];
    page.tables.push(Table::new("A hundred messages within 20 ms into a queue of 20 packets", &head, rows));
    for (criterion, text, one, other) in STATEMENTS {
        let missing = || Evidence::Missing("nothing was delivered".to_owned());
        let later = later(at(&cells, one)?, at(&cells, other)?)?;
        page.statements.push(criterion.judge(text, later.map_or_else(missing, Evidence::from)));
    }
    page.reading = reading(&cells)?;
    Ok(page)
}

/// Returns by how many per cent messages arrive later in one cell than in another: seeds give both the same bursts, so that runs are compared
/// seed by seed, where they are enough for an interval.
fn later(one: &Ran, other: &Ran) -> Result<Option<Estimate>, StudyError> {
    if let Some(paired) = paired(&of_all_seeds(flow(one)?), &of_all_seeds(flow(other)?)) {
        return Ok(Some(paired));
    }
    Ok(mean(one)?.zip(mean(other)?).map(|(one, other)| one.beyond(other).scaled(100.0, 0.0)))
}

fn at<'a>(cells: &'a Cells, case: &str) -> Result<&'a Ran, StudyError> {
    cells.get(&[text("case", case)])
}

fn flow(cell: &Ran) -> Result<&FlowTally, StudyError> {
    cell.tally.flows.first().ok_or_else(|| cell.missing("a flow"))
}

fn mean(cell: &Ran) -> Result<Option<Estimate>, StudyError> {
    let delivered = &flow(cell)?.delivered;
    Ok(delivered.mean().map(|mean| Estimate::new(mean, delivered.ci95())))
}

/// Returns how many packets the queue dropped on the way there, of how many.
fn dropped(cell: &Ran) -> (f64, f64) {
    let (offered, dropped) = cell.tally.links.first().map_or((0, 0), |link| link.ways[0]);
    (dropped as f64, offered as f64)
}

fn reading(cells: &Cells) -> Result<Vec<String>, StudyError> {
    let of = |case| {
        let cell = at(cells, case)?;
        let (dropped, offered) = dropped(cell);
        Ok::<_, StudyError>(format!("{} ms ({:.1} %)", shown(mean(cell)?), dropped / offered * 100.0))
    };
    let between = |one, other| later(at(cells, one)?, at(cells, other)?);
    Ok(vec![
        format!(
            "In the mean a message of a burst arrives after {} with our rules, {} without pacing, {} with a window that is halved in silence, and {} with both changed; in brackets the share of packets that the queue drops. \
             One stream in order takes {}, TCP {}.",
            of(PACED)?,
            of("sctp-unpaced")?,
            of("sctp-halved")?,
            of("sctp-halved-unpaced")?,
            of("sctp-1")?,
            of("tcp")?
        ),
        format!(
            "What to do where bursts meet a short queue: {}; {}; {}.",
            advice(between("sctp-unpaced", PACED)?, PACING),
            advice(between("sctp-halved-unpaced", "sctp-unpaced")?, KEEPING),
            advice(between("sctp-1", PACED)?, NO_ORDER)
        ),
    ])
}

/// Returns what follows from how much later messages arrive without a rule: the first text if they do, the second if they arrive sooner, and
/// the third where the interval holds both.
fn advice(without: Option<Estimate>, [with, leave, either]: [&'static str; 3]) -> &'static str {
    match without.and_then(Estimate::interval) {
        Some([low, _]) if low > 0.0 => with,
        Some([_, high]) if high < 0.0 => leave,
        Some(_) | None => either,
    }
}

/// Criteria of the statements, fixed before any run.
const MORE: Criterion = Criterion::more_than(0.0, "%");
const NO_SOONER: Criterion = Criterion::more_than(-3.0, "%");
const ALIKE: Criterion = Criterion::equivalent([-5.0, 5.0], "%");
/// The statements compare the mean of one case with that of another, from which it differs by the one rule that is spoken of.
const STATEMENTS: [(Criterion, &str, &str, &str); 5] = [
    (
        MORE,
        "a sender that bursts what its window allows delivers later than one that spreads it over the round trip",
        "sctp-unpaced",
        PACED,
    ),
    (
        NO_SOONER,
        "without pacing a window that is kept over silence (RFC 7661) delivers the burst no sooner than one that is halved (RFC 9260)",
        "sctp-unpaced",
        "sctp-halved-unpaced",
    ),
    (ALIKE, "with pacing it makes no difference whether the window is kept or halved", "sctp-halved", PACED),
    (MORE, "order costs messages of a burst time: one stream beside unordered delivery", "sctp-1", PACED),
    (MORE, "TCP delivers the burst later than unordered SCTP", "tcp", PACED),
];
const PACING: [&str; 3] = [
    "spread what the window allows over the round trip",
    "do not spread what the window allows over the round trip, the burst arrives sooner at once",
    "whether packets are spread over the round trip hardly matters",
];
const KEEPING: [&str; 3] = [
    "let a sender without pacing keep its window over silence (RFC 7661)",
    "let the window of a sender without pacing shrink in silence (RFC 9260)",
    "whether a sender without pacing keeps its window over silence hardly matters",
];
const NO_ORDER: [&str; 3] = [
    "deliver without order, or give every dialogue a stream, so that the loss of one INVITE keeps none of the others",
    "order costs nothing here",
    "whether there is order hardly matters",
];
/// The case with our rules.
const PACED: &str = "sctp-paced";
const CASES: [(&str, &str); 8] = [
    (PACED, "SCTP unordered, ours: window kept in silence, paced"),
    ("sctp-unpaced", "the same, not paced"),
    ("sctp-halved", "the same, halved in silence and paced"),
    ("sctp-halved-unpaced", "the same, halved in silence and not paced"),
    ("sctp-1", "SCTP, one stream, ours"),
    ("sctp-rfc9260", "SCTP unordered, all rules of RFC 9260"),
    ("tcp", "TCP"),
    ("quic-6", "QUIC, six streams"),
];
const PATH: &str = "A hundred messages of 500 octets within 20 ms, then silence for 5 s; 20 ms each way, 10 Mbit/s, a queue of 20 packets, nothing lost but there. Cells are compared seed by seed";
const PLAN: &str = include_str!("../../../../plans/studies/now-burst.toml");

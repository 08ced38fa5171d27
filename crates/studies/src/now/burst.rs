//! A burst of requests into a short queue: what a sender does that has been idle.

use super::shown;
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
    let beside = |one, other| {
        let both = mean(at(&cells, one)?)?.zip(mean(at(&cells, other)?)?);
        let missing = || Evidence::Missing("nothing was delivered".to_owned());
        Ok::<_, StudyError>(
            both.map_or_else(missing, |(one, other)| one.beyond(other).scaled(100.0, 0.0).into()),
        )
    };
    let statement = "a sender that bursts what its window allows delivers later than one that spreads it over the round trip";
    page.statements.push(MORE.judge(statement, beside("sctp-rfc9260", "sctp-paced")?));
    let statement = "order costs messages of a burst time: one stream beside unordered delivery";
    page.statements.push(MORE.judge(statement, beside("sctp-1", "sctp-paced")?));
    let statement = "TCP delivers the burst later than unordered SCTP";
    page.statements.push(MORE.judge(statement, beside("tcp", "sctp-paced")?));
    page.reading = reading(&cells)?;
    Ok(page)
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
        Ok::<_, StudyError>((shown(mean(cell)?), format!("{:.1} %", dropped / offered * 100.0)))
    };
    let (paced, old) = (of("sctp-paced")?, of("sctp-rfc9260")?);
    Ok(vec![
        format!(
            "A hundred INVITEs at once arrive after {} ms in the mean where the sender spreads them over the round trip and {} of its packets are dropped, after {} ms by the rules of \
             RFC 9260, with {} dropped.",
            paced.0, paced.1, old.0, old.1
        ),
        "What to do: before a sender is allowed to keep a window over silence (RFC 7661) it should pace what it then sends; where the stack does not pace, let the window shrink while \
         idle, or give the router a queue for a whole burst. Unordered delivery or a stream per dialogue keeps the loss of one INVITE from the rest."
            .to_owned(),
    ])
}

/// Criteria of the statements, fixed before any run.
const MORE: Criterion = Criterion::more_than(0.0, "%");
const CASES: [(&str, &str); 5] = [
    ("sctp-paced", "SCTP unordered, ours: paced"),
    ("sctp-rfc9260", "SCTP unordered, RFC 9260"),
    ("sctp-1", "SCTP, one stream, ours"),
    ("tcp", "TCP"),
    ("quic-6", "QUIC, six streams"),
];
const PATH: &str = "A hundred messages of 500 octets within 20 ms, then silence for 5 s; 20 ms each way, 10 Mbit/s, a queue of 20 packets, nothing lost but there";
const PLAN: &str = include_str!("../../../../plans/studies/now-burst.toml");

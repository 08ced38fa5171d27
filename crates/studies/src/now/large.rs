//! Blocking at the sender: a large message in front of small ones on other streams.

use super::shown;
use crate::cells::{Cells, Ran, text};
use crate::effort::Effort;
use crate::error::StudyError;
use lab::plan::FlowTally;
use lab::report::{Axis, Criterion, Estimate, Evidence, Figure, Mark, Page, Series, Table};

/// Makes the page on large messages before small ones.
pub(crate) fn large(effort: &Effort) -> Result<Page, StudyError> {
    let cells = effort.run("now-large", PLAN)?;
    let mut page = Page { conditions: vec![PATH.to_owned()], ..Page::default() };
    let x = Axis::linear("delay of a message in ms").between(0.0, 250.0);
    let y = Axis::log("share of messages that take longer").between(1e-3, 1.0);
    page.figures.push(Figure::new("large", "Delays of all messages, one in fifty of 100,000 octets", x, y));
    let mut rows = Vec::new();
    for (case, name) in CASES {
        let flow = flow(at(&cells, case)?)?;
        page.series.push(Series::new("large", name, Mark::Steps, flow.delivered.ccdf()));
        let quantile =
            |share| flow.delivered.quantile(share).map_or_else(|| "–".to_owned(), |ms| format!("{ms:.1}"));
        let (delivered, missing) = (flow.delivered.count(), flow.delivered.unanswered());
        rows.push(vec![
            name.to_owned(),
            shown(mean(flow)),
            quantile(0.5),
            quantile(0.9),
            quantile(0.95),
            format!("{delivered} of {}", delivered + missing),
        ]);
    }
    let head = ["transport", "mean in ms", "median", "90 %", "95 %", "delivered"];
    page.tables.push(Table::new("Delays in ms; small messages are 98 of a hundred", &head, rows));
    let beside = |one, other| {
        let both = mean(flow(at(&cells, one)?)?).zip(mean(flow(at(&cells, other)?)?));
        let missing = || Evidence::Missing("nothing was delivered".to_owned());
        Ok::<_, StudyError>(
            both.map_or_else(missing, |(one, other)| one.beyond(other).scaled(100.0, 0.0).into()),
        )
    };
    let mut add = |criterion: Criterion, text: &str, one, other| {
        page.statements.push(criterion.judge(text, beside(one, other)?));
        Ok::<_, StudyError>(())
    };
    add(
        MORE,
        "DATA makes small messages wait for a large one, whatever its scheduler; I-DATA in turns does not",
        "data-round-robin",
        "i-data-round-robin",
    )?;
    add(ALIKE, "I-DATA without a scheduler that takes turns gains nothing", "i-data-first-come", "data")?;
    add(
        ALIKE,
        "streams in turns and streams with equal octets are equally good",
        "i-data-fair",
        "i-data-round-robin",
    )?;
    add(MORE, "one TCP connection makes them wait longer than I-DATA in turns", "tcp", "i-data-round-robin")?;
    page.reading = reading(&cells)?;
    Ok(page)
}

fn at<'a>(cells: &'a Cells, case: &str) -> Result<&'a Ran, StudyError> {
    cells.get(&[text("case", case)])
}

fn flow(cell: &Ran) -> Result<&FlowTally, StudyError> {
    cell.tally.flows.first().ok_or_else(|| cell.missing("a flow"))
}

fn mean(flow: &FlowTally) -> Option<Estimate> {
    flow.delivered.mean().map(|mean| Estimate::new(mean, flow.delivered.ci95()))
}

fn reading(cells: &Cells) -> Result<Vec<String>, StudyError> {
    let of = |case| Ok::<_, StudyError>(shown(mean(flow(at(cells, case)?)?)));
    Ok(vec![
        format!(
            "A message takes {} ms in the mean with DATA, {} ms with I-DATA and streams in turns, {} ms over QUIC's streams, {} ms over one TCP connection and {} ms over ten.",
            of("data")?,
            of("i-data-round-robin")?,
            of("quic")?,
            of("tcp")?,
            of("tcp-10")?
        ),
        "What to do: where large and small messages share an association, both ends need I-DATA and the sender a scheduler that takes turns; either alone does nothing. If the other end has no \
         I-DATA, give the large ones an association of their own."
            .to_owned(),
    ])
}

/// Criteria of the statements, fixed before any run.
const MORE: Criterion = Criterion::more_than(0.0, "%");
const ALIKE: Criterion = Criterion::equivalent([-5.0, 5.0], "%");
const CASES: [(&str, &str); 8] = [
    ("data", "SCTP, DATA"),
    ("data-round-robin", "SCTP, DATA, streams in turns"),
    ("i-data-first-come", "SCTP, I-DATA, first come"),
    ("i-data-round-robin", "SCTP, I-DATA, streams in turns"),
    ("i-data-fair", "SCTP, I-DATA, equal octets"),
    ("quic", "QUIC, ten streams"),
    ("tcp", "TCP"),
    ("tcp-10", "TCP, ten connections"),
];
const PATH: &str = "Messages of 64 octets, every fiftieth of 100,000, a hundred a second, Poisson, dealt round robin to ten streams or connections; 10 ms each way, 10 Mbit/s, nothing lost";
const PLAN: &str = include_str!("../../../../plans/studies/now-large.toml");

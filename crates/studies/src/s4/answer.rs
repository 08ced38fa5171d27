//! Calls whose agent asks a firewall: how long the answer is held back, beside the model's R.

use crate::cells::text;
use crate::effort::Effort;
use crate::error::StudyError;
use crate::response::{answered, flow, model_ms, percent_more};
use lab::report::{Axis, Criterion, Estimate, Figure, Mark, Page, Series, Table};

/// Makes the page on the answers of calls.
pub(crate) fn answer(effort: &Effort) -> Result<Page, StudyError> {
    let cells = effort.run("S4-answer", PLAN)?;
    let at = |transport| cells.get(&[text("transport", transport)]);
    let mut page = Page { conditions: vec![CALLS.to_owned(), PROFILES.to_owned()], ..Page::default() };
    let x = Axis::log("time for which the answer is held back in ms").between(20.0, 2_000.0);
    let y = Axis::log("share of calls whose answer is held back longer").between(1e-4, 1.0);
    page.figures.push(Figure::new("answer", "What the firewall adds to the answer of a call", x, y));
    let mut rows = Vec::new();
    for (transport, name) in TRANSPORTS {
        let cell = at(transport)?;
        let steps = cell.times().map(lab::Distribution::ccdf).unwrap_or_default();
        page.series.push(Series::new("answer", name, Mark::Steps, steps));
        let model = model_ms(LOSS, PACKETS, flow(transport))?;
        let late = cell
            .percent_longer(LATE_MS)
            .map_or_else(|| "–".to_owned(), |late| format!("{:.3}", Estimate::value(late)));
        rows.push(vec![
            name.to_owned(),
            cell.mean_text(),
            format!("{model:.2}"),
            cell.quantile_text(0.99, 1),
            late,
        ]);
        let statement = format!("{name}: the answer of a call is held back for the model's R");
        page.statements.push(Criterion::within(model, SHARE, "ms").judge(statement, cell.evidence()));
    }
    let longer = percent_more(at("tcp")?, at("sctp:6")?);
    page.statements.push(MORE.judge("TCP holds answers back longer than SCTP with six streams", longer));
    page.tables.push(Table::new("Answers of calls at 1 % loss, a call every 30 ms", &HEAD, rows));
    page.tables.push(answered(&cells, &["transport"])?);
    page.notes.push(NOTE.to_owned());
    Ok(page)
}

/// The transports of the plan, and their names.
const TRANSPORTS: [(&str, &str); 3] =
    [("tcp", "TCP"), ("sctp:1", "SCTP, one stream"), ("sctp:6", "SCTP, six streams")];

/// The criteria of the statements, fixed before any run: the bar is that of table 1.
const SHARE: f64 = 0.03;
const MORE: Criterion = Criterion::more_than(0.0, "%");
const LATE_MS: f64 = 100.0;
const LOSS: f64 = 0.01;
/// PER, PER, and two PLC together of a call every 30 ms, a second.
const PACKETS: f64 = 100.0;

const HEAD: [&str; 5] = ["transport", "mean in ms", "model R", "99 % quantile", "longer than 100 ms in %"];
const CALLS: &str = "Calls by SIP (RFC 3261), a Poisson process of one every 30 ms, through the back-to-back agent that ships, which asks a middlebox by SIMCO (RFC 4540), both the cores that ship, the packet filter in memory; \
                     telephones and agent in one place, the callee answers at once, a call is up for 10 s; what is timed is the delay of the answer signal, from when the callee answers until the caller knows; \
                     to the middlebox 10 ms each way, independent loss both ways, 100 Mbit/s, 0.5 ms of processing";
const PROFILES: &str = "SCTP and TCP by the rules of the study's model (profiles studies)";
const NOTE: &str = "A call takes four transactions: PER towards the caller before the callee is called, PER towards the callee before the answer is passed on, and two PLC with lifetime 0 when the caller hangs up. Only the second \
                    one delays the answer; the first one delays the ringing. R is a request and its response at a packet every 10 ms.";
const PLAN: &str = include_str!("../../../../plans/studies/s4-answer.toml");

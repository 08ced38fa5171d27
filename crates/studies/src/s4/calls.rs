//! Calls over the path of S4: what the network adds to a set-up beside the model's R, and whom a loss touches.

use crate::cells::{Cells, Ran, text};
use crate::effort::Effort;
use crate::error::StudyError;
use crate::response::{answered, flow, model_ms};
use lab::report::{Axis, Criterion, Estimate, Evidence, Figure, Mark, Page, Series, Table};

/// Makes the page on calls.
pub(crate) fn calls(effort: &Effort) -> Result<Page, StudyError> {
    let cells = effort.run("S4-calls", PLAN)?;
    let mut page = Page { conditions: vec![SIP.to_owned(), PROFILES.to_owned()], ..Page::default() };
    let x = Axis::log("time from INVITE to answer in ms").between(20.0, 5_000.0);
    let y = Axis::log("share of calls that take longer").between(1e-4, 1.0);
    page.figures.push(Figure::new("calls", "What the network adds to the set-up of a call", x, y));
    let mut rows = Vec::new();
    for (case, transport, name) in CASES {
        let cell = at(&cells, case)?;
        let steps = cell.times().map(lab::Distribution::ccdf).unwrap_or_default();
        page.series.push(Series::new("calls", name, Mark::Steps, steps));
        let model = transport.map(|transport| model_ms(LOSS, MESSAGES, flow(transport))).transpose()?;
        rows.push(row(cell, name, model));
        if let Some(model) = model {
            let statement = format!("{name}: a call takes the model's R at the rate of its messages");
            page.statements.push(Criterion::within(model, SHARE, "ms").judge(statement, cell.evidence()));
        }
    }
    page.tables.push(Table::new("Calls at 1 % loss, one every 30 ms", &HEAD, rows));
    judge_lateness(&cells, &mut page)?;
    judge_order(&cells, &mut page)?;
    page.tables.push(answered(&cells, &["case"])?);
    page.notes.push(NOTE.to_owned());
    Ok(page)
}

fn at<'a>(cells: &'a Cells, case: &str) -> Result<&'a Ran, StudyError> {
    cells.get(&[text("case", case)])
}

fn row(cell: &Ran, name: &str, model: Option<f64>) -> Vec<String> {
    let shown = |value: Option<Estimate>, digits: usize| {
        value.map_or_else(|| "–".to_owned(), |value| format!("{:.digits$}", value.value()))
    };
    vec![
        name.to_owned(),
        cell.mean_text(),
        model.map_or_else(|| "–".to_owned(), |model| format!("{model:.2}")),
        cell.quantile_text(0.99, 1),
        shown(cell.percent_longer(SOON_MS), 3),
        shown(touched(cell), 2),
    ]
}

/// Judges how many calls are late.
fn judge_lateness(cells: &Cells, page: &mut Page) -> Result<(), StudyError> {
    let late = |case| Ok::<_, StudyError>(at(cells, case)?.percent_longer(SOON_MS));
    let missing = || Evidence::Missing("nothing was answered".to_owned());
    for (case, _, name) in CASES {
        let statement = format!("{name}: at most one call in a thousand takes longer than 2 s");
        page.statements.push(RARE.judge(statement, late(case)?.map_or_else(missing, Evidence::from)));
    }
    Ok(())
}

/// Judges whom the losses of others touch.
fn judge_order(cells: &Cells, page: &mut Page) -> Result<(), StudyError> {
    let silent = || Evidence::Missing("the transport does not tell who waited".to_owned());
    let both = touched(at(cells, "sctp-6")?).zip(touched(at(cells, "sctp-1")?));
    let named =
        |(six, one)| Evidence::Several(vec![("six streams".to_owned(), six), ("one".to_owned(), one)]);
    let fewer = "a loss touches fewer calls over six streams than over one".to_owned();
    page.statements.push(RISING.judge(fewer, both.map_or_else(silent, named)));
    let unordered = touched(at(cells, "sctp-unordered")?);
    let none = "without order a loss touches no other call".to_owned();
    page.statements.push(Criterion::holds().judge(none, unordered.map_or_else(silent, whether_none)));
    Ok(())
}

/// Returns whether no call was touched, and how many were.
fn whether_none(share: Estimate) -> Evidence {
    Evidence::Fact(share.value() <= 0.0, format!("{:.4} % of the calls", share.value()))
}

/// Returns the share of calls, in per cent, of which a message to the caller waited for another one; `None` where the transport does not
/// tell, or nobody called.
fn touched(cell: &Ran) -> Option<Estimate> {
    let flow = cell.tally.flows.first()?;
    let share = |seed: &lab::plan::SeedTally| {
        let touched = seed.calls?.touched?;
        (seed.messages > 0).then(|| touched as f64 / seed.messages as f64 * 100.0)
    };
    Estimate::of_runs(&flow.by_seed(share))
}

/// The cases of the plan: the transport as the model knows it, if it does, and the name.
const CASES: [(&str, Option<&str>, &str); 5] = [
    ("tcp", Some("tcp"), "TCP"),
    ("sctp-1", Some("sctp:1"), "SCTP, one stream"),
    ("sctp-6", Some("sctp:6"), "SCTP, six streams"),
    ("sctp-unordered", Some("sctp:unordered"), "SCTP unordered"),
    ("udp", None, "UDP"),
];

/// The criteria of the statements, fixed before any run but that of the last one (see [`NOTE`]).
const SHARE: f64 = 0.1;
const RARE: Criterion = Criterion::less_than(0.1, "%");
const RISING: Criterion = Criterion::rising(0.0, "%");
const SOON_MS: f64 = 2_000.0;
const LOSS: f64 = 0.01;
/// INVITE, ACK and BYE of a call every 30 ms, a second.
const MESSAGES: f64 = 100.0;

const HEAD: [&str; 6] =
    ["transport", "mean in ms", "model R", "99 % quantile", "longer than 2 s in %", "touched by order in %"];
const SIP: &str = "Calls by SIP (RFC 3261), a Poisson process of one every 30 ms, caller and callee by the code that ships, up for 10 s each; the callee answers at once, so that the time from \
                   INVITE to answer is what the network adds; all messages of a call on one stream; 10 ms each way, independent loss both ways, 100 Mbit/s, 0.5 ms of processing";
const PROFILES: &str = "SCTP and TCP by the rules of the study's model (profiles studies); UDP with the timers of RFC 3261, T1 = 500 ms";
const NOTE: &str = "R is a request and its response at a message every 10 ms. A call has ringing and answer together, and an ACK right behind the answer: its messages come in twos, not at equal distances. \
                    Touched is a call of which a message to the caller was held back behind a lost one, whatever the call that was lost; TCP does not tell. The last statement was judged \
                    as a relative rise at first, which has no meaning from nothing and stayed undecided; its criterion was changed after a look, to whether there is any.";
const PLAN: &str = include_str!("../../../../plans/studies/s4-calls.toml");

#[cfg(test)]
mod tests;

//! What S2 says about windows that nobody uses: a burst after silence is sent at once, and lost.

use super::sweep::middle;
use crate::cells::{Cells, Ran, text};
use crate::effort::Effort;
use crate::error::StudyError;
use crate::response::percent_more;
use lab::report::{Axis, Criterion, Estimate, Figure, Mark, Page, Series, Table};

/// Makes the page of bursts after silence, with and without window validation.
pub(crate) fn idle(effort: &Effort) -> Result<Page, StudyError> {
    let cells = effort.run("S2-idle", PLAN)?;
    let mut page = Page { conditions: vec![CONDITIONS.to_owned()], ..Page::default() };
    let x = Axis::linear("delay of a request in ms").between(0.0, 1500.0);
    let y = Axis::log("share of requests that take longer").between(1e-3, 1.0);
    page.figures.push(Figure::new("idle", "Delays of the requests of a burst", x, y));
    let mut rows = Vec::new();
    for (case, name) in CASES {
        let cell = at(&cells, case)?;
        let steps = cell.times().map(lab::Distribution::ccdf).unwrap_or_default();
        page.series.push(Series::new("idle", name, Mark::Steps, steps));
        let (answered, all) = cell.answered();
        rows.push(vec![
            name.to_owned(),
            dropped(cell).map(|share| share.to_string()).unwrap_or_default(),
            cell.mean_text(),
            cell.quantile_text(0.95, 0),
            cell.quantile_text(0.99, 0),
            format!("{answered} of {all}"),
        ]);
    }
    let head = ["rules of the window", "packets dropped in %", "mean in ms", "95 %", "99 %", "delivered"];
    page.tables.push(Table::new("Fifty requests within 100 ms after ten seconds of silence", &head, rows));
    let text = "a window that grew without need sends the burst at once, and a part of it is lost (the study's rules)";
    page.statements.push(LOST.judge(text, dropped(at(&cells, "study")?)));
    let text = "window validation is the remedy: with RFC 7661 next to nothing of the burst is lost";
    let judged = REMEDY.judge(text, dropped(at(&cells, "kept")?));
    let cause = "RFC 7661 with packets spread over the round trip";
    page.statements.push(REMEDY.explain(
        judged,
        cause,
        "S2-idle/kept-paced",
        dropped(at(&cells, "kept-paced")?),
    ));
    let text = "a window that is halved for each timeout of silence (RFC 9260) loses next to nothing, too";
    page.statements.push(REMEDY.judge(text, dropped(at(&cells, "halved")?)));
    let text =
        "requests of a burst take longer by the study's rules than with a window that is kept and paced";
    page.statements.push(SLOWER.judge(text, percent_more(at(&cells, "study")?, at(&cells, "kept-paced")?)));
    page.notes.push(NOTE.to_owned());
    Ok(page)
}

fn at<'a>(cells: &'a Cells, case: &str) -> Result<&'a Ran, StudyError> {
    cells.get(&[text("case", case)])
}

/// Returns the share of packets that the queue in the middle dropped on the way there, in per cent; losses of one burst count as one.
fn dropped(cell: &Ran) -> Option<Estimate> {
    let (offered, dropped) = middle(cell);
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a count of packets")]
    let count = offered as u64;
    Estimate::of_share(dropped / offered, count, BURST).map(|share| share.scaled(100.0, 0.0))
}

/// Criteria of the statements, fixed before any run.
const LOST: Criterion = Criterion::more_than(1.0, "%");
const REMEDY: Criterion = Criterion::less_than(1.0, "%");
const SLOWER: Criterion = Criterion::more_than(0.0, "%");
/// Requests of a burst.
const BURST: f64 = 50.0;
const CASES: [(&str, &str); 5] = [
    ("study", "the study's: grows without need"),
    ("halved", "RFC 9260: halved in silence"),
    ("halved-paced", "the same, paced"),
    ("kept", "RFC 7661: kept in silence"),
    ("kept-paced", "the same, paced (ours)"),
];
const CONDITIONS: &str = "Client, two routers, server: 15 ms each, 1.7 Mbit/s in the middle with a queue of 20 packets, 10 Mbit/s outside; fifty requests of 500 octets within 100 ms, Poisson, once \
                          in 10.1 s";
const NOTE: &str = "Few requests never fill a window; rules that let it grow all the same let the next burst leave at once. RFC 7661 keeps what was in use for five \
                    minutes: a burst as large as the last one leaves at once again, and it is pacing that keeps it from the queue.";
const PLAN: &str = include_str!("../../../../plans/studies/s2-idle.toml");

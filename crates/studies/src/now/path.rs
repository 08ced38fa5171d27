//! A path dies: who notices, how soon, and what it costs.

use crate::cells::{Cells, Ran, text};
use crate::effort::Effort;
use crate::error::StudyError;
use lab::report::{Axis, Criterion, Evidence, Figure, Mark, Page, Series, Table};

/// Makes the page on a path that dies.
pub(crate) fn path(effort: &Effort) -> Result<Page, StudyError> {
    // The path dies at a time, which a share of the run would not reach.
    let whole = Effort { share: 1.0, ..effort.clone() };
    let cells = whole.run("now-path", PLAN)?;
    let mut page = Page { conditions: vec![PATH.to_owned()], ..Page::default() };
    let x = Axis::log("response time in ms").between(20.0, 40_000.0);
    let y = Axis::log("share of requests that take longer").between(1e-4, 1.0);
    page.figures.push(Figure::new("path", "Response times, the path dies after 10 of 30 s", x, y));
    let mut rows = Vec::new();
    for (case, name) in CASES {
        let cell = at(&cells, case)?;
        if DRAWN.contains(&case) {
            let steps = cell.times().map(lab::Distribution::ccdf).unwrap_or_default();
            page.series.push(Series::new("path", name, Mark::Steps, steps));
        }
        rows.push(vec![
            name.to_owned(),
            longest(cell).map_or_else(|| "–".to_owned(), |ms| format!("{ms:.0}")),
            unanswered(cell).to_string(),
            cell.quantile_text(0.5, 1),
            cell.quantile_text(0.99, 1),
            late(cell).map_or_else(|| "–".to_owned(), |share| format!("{share:.2} %")),
        ]);
    }
    let head = ["transport", "longest in ms", "never answered", "median", "99 %", "later than 100 ms"];
    page.tables.push(Table::new("Requests of all runs", &head, rows));
    judge(&mut page, &cells)?;
    page.reading = reading(&cells)?;
    page.notes.push(AFTERWARDS.to_owned());
    Ok(page)
}

fn judge(page: &mut Page, cells: &Cells) -> Result<(), StudyError> {
    let within = |case, ms: f64| {
        let cell = at(cells, case)?;
        let (longest, left) = (longest(cell).unwrap_or(f64::INFINITY), unanswered(cell));
        let tells = format!("the longest takes {longest:.0} ms, {left} are never answered");
        Ok::<_, StudyError>(Evidence::Fact(longest < ms && left == 0, tells))
    };
    let mut add = |text: &str, evidence| page.statements.push(HOLDS.judge(text, evidence));
    add(
        "multihomed SCTP answers every request, the longest within 500 ms (RFC 7829, a failed path is left at once)",
        within("sctp", 500.0)?,
    );
    let old = longest(at(cells, "sctp-rfc9260")?).unwrap_or(f64::INFINITY);
    add(
        "by RFC 9260 alone, which knows no potentially failed path, requests wait for more than 10 s",
        Evidence::Fact(old > 10_000.0, format!("the longest takes {old:.0} ms")),
    );
    let left = unanswered(at(cells, "tcp")?);
    add(
        "TCP that stays where it is leaves requests unanswered",
        Evidence::Fact(left > 0, format!("{left} are never answered")),
    );
    add(
        "TCP that connects again after 1 s answers every request, the longest within 2 s",
        within("tcp-again-1s", 2000.0)?,
    );
    add(
        "QUIC that migrates after 1 s answers every request, the longest within 2 s",
        within("quic-moves-1s", 2000.0)?,
    );
    let [sctp, tcp, quic] =
        ["sctp", "tcp-again-1s", "quic-moves-1s"].map(|case| at(cells, case).map(longest));
    let [sctp, tcp, quic] = [sctp?, tcp?, quic?].map(|ms| ms.unwrap_or(f64::INFINITY));
    let tells = format!("longest: SCTP {sctp:.0} ms, TCP {tcp:.0} ms, QUIC {quic:.0} ms");
    add(
        "the second address costs SCTP less than patience costs the others",
        Evidence::Fact(sctp < tcp && sctp < quic, tells),
    );
    Ok(())
}

fn reading(cells: &Cells) -> Result<Vec<String>, StudyError> {
    let of = |case| {
        let cell = at(cells, case)?;
        let ms = longest(cell).map_or_else(|| "–".to_owned(), |ms| format!("{ms:.0} ms"));
        Ok::<_, StudyError>((ms, unanswered(cell)))
    };
    let [sctp, old, slow] = [of("sctp")?, of("sctp-rfc9260")?, of("sctp-rto-1s")?];
    let [tcp, again, quic] = [of("tcp")?, of("tcp-again-1s")?, of("quic-moves-1s")?];
    Ok(vec![
        format!(
            "When its network dies, multihomed SCTP answers every request, the longest after {}; TCP that connects again after a second of silence takes {}, QUIC that migrates {}, and TCP that \
             stays leaves {} requests unanswered.",
            sctp.0, again.0, quic.0, tcp.1
        ),
        format!(
            "How soon SCTP goes elsewhere is RTO times the errors it forgives: {} with an RTO.Min of 1 s instead of 200 ms, {} by the rules of RFC 9260, which know no potentially failed path.",
            slow.0, old.0
        ),
        "What to do: give both ends an address in each network, leave PotentiallyFailed.Max.Retrans at 0 and lower RTO.Min to a few round trips; heartbeats find out about paths that are idle, and change \
         nothing for one that is used. Over TCP and QUIC the application has to have the patience, and the shorter it is the more often it leaves a path that was only slow."
            .to_owned(),
    ])
}

fn at<'a>(cells: &'a Cells, case: &str) -> Result<&'a Ran, StudyError> {
    cells.get(&[text("case", case)])
}

fn longest(cell: &Ran) -> Option<f64> {
    cell.times()?.max()
}

fn unanswered(cell: &Ran) -> u64 {
    let (answered, all) = cell.answered();
    all - answered
}

/// Returns the share of requests, in per cent, that are not answered within 100 ms.
fn late(cell: &Ran) -> Option<f64> {
    let steps = cell.times()?.ccdf();
    let share = steps.iter().rev().find(|(ms, _)| *ms <= 100.0).map_or(1.0, |(_, share)| *share);
    Some(share * 100.0)
}

/// The criterion of the statements, fixed before any run but for what [`AFTERWARDS`] says.
const HOLDS: Criterion = Criterion::holds();
const CASES: [(&str, &str); 11] = [
    ("sctp", "SCTP, two addresses (ours)"),
    ("sctp-pf-2", "the same, PFMR = 2"),
    ("sctp-rto-1s", "the same, RTO.Min 1 s"),
    ("sctp-heartbeat-1s", "the same, HB.interval 1 s"),
    ("sctp-rfc9260", "SCTP by RFC 9260"),
    ("tcp", "TCP, stays"),
    ("tcp-again-1s", "TCP, again after 1 s"),
    ("tcp-again-3s", "TCP, again after 3 s"),
    ("quic", "QUIC, stays"),
    ("quic-moves-1s", "QUIC, migrates after 1 s"),
    ("quic-moves-3s", "QUIC, migrates after 3 s"),
];
/// The cases of the figure.
const DRAWN: [&str; 5] = ["sctp", "sctp-rfc9260", "tcp", "tcp-again-1s", "quic-moves-1s"];
const PATH: &str = "3000 requests of 64 octets, echoed, a hundred a second, Poisson; two networks with 10 ms each way, which a router joins; the client's link into the first one dies after 10 s and does not \
                    come back. TCP and QUIC go on from the client's other address when nothing was answered for so long, TCP with what was not answered";
const AFTERWARDS: &str = "The bar of 10 s for the rules of RFC 9260 was set after a first look at a few runs: less than that had been expected. That statement says what was seen, not what was foretold.";
const PLAN: &str = include_str!("../../../../plans/studies/now-path.toml");

//! What S2 says about UDP: its timer, and requests in fragments; and about chunks on a path that becomes narrower.

use super::figures::delays_of_dropped;
use crate::cells::{Cells, Ran, number, text};
use crate::effort::Effort;
use crate::error::StudyError;
use crate::response::{answered, curves, percent_more};
use lab::report::{Axis, Criterion, Estimate, Evidence, Figure, Mark, Page, Series, Table};

/// Makes the page of UDP's timer: SIP's, and one that follows the round trip.
pub(crate) fn timer(effort: &Effort) -> Result<Page, StudyError> {
    let cells = effort.run("S2-timer", TIMER)?;
    let mut page = Page { conditions: vec![TIMERS.to_owned()], ..Page::default() };
    let x = Axis::linear("loss in %, both ways");
    page.figures.push(Figure::new(
        "timer",
        "Mean response time over loss",
        x,
        Axis::linear("response time in ms"),
    ));
    let name =
        |profile: &str| if profile == "estimated" { "from the round trip" } else { "500 ms" }.to_owned();
    page.series = curves(&cells, ["loss", "profile"], "timer", 100.0, name)?;
    let single = delays_of_dropped(effort, "estimated")?;
    let text = "a lost request is repeated after about 300 ms where the timer follows the round trip";
    page.statements.push(AFTER_300.judge(text, Estimate::of_runs(&single)));
    let at = |profile, loss| cells.get(&[text_of(profile), number("loss", loss)]);
    for (loss, words) in [(0.01, "1 %"), (0.05, "5 %")] {
        let more = percent_more(at("rfc3261", loss)?, at("estimated", loss)?);
        page.statements.push(MORE.judge(
            format!("at {words} loss T1 of 500 ms takes longer than a timer that follows the round trip"),
            more,
        ));
    }
    page.tables.push(answered(&cells, &["profile", "loss"])?);
    Ok(page)
}

fn text_of(profile: &str) -> crate::cells::Key<'_> {
    text("profile", profile)
}

/// Makes the page of requests in fragments, and of a path MTU that falls.
pub(crate) fn fragments(effort: &Effort) -> Result<Page, StudyError> {
    let cells = effort.run("S2-fragments", FRAGMENTS)?;
    // The MTU falls at a time, which a share of the run would not reach.
    let whole = Effort { share: 1.0, ..effort.clone() };
    let falling = whole.run("S2-fragments", MTU)?;
    let mut page = Page { conditions: vec![IN_FRAGMENTS.to_owned(), FALLS.to_owned()], ..Page::default() };
    let x = Axis::linear("fragments of a request").between(0.5, 4.5);
    page.figures.push(Figure::new(
        "fragments",
        "Repetitions over UDP, 1 % loss both ways",
        x,
        Axis::linear("repetitions a request"),
    ));
    let (mut points, mut offsets, mut rows) = (Vec::new(), Vec::new(), Vec::new());
    let mut series = Series::new("fragments", "repetitions", Mark::Points, []);
    for (message, count) in SIZES {
        let cell = cells.get(&[number("message", message)])?;
        let Some(again) = repeated(cell) else { continue };
        let expected = amplified(count);
        series.points.push(vec![f64::from(count), again.value()]);
        series.ci95.push(again.interval());
        points.push((f64::from(count), expected));
        offsets.push((format!("{count} fragments"), again.scaled(100.0 / expected, -100.0)));
        rows.push(vec![
            format!("{message:.0}"),
            count.to_string(),
            in_hundreds(Some(again)),
            format!("{:.2}", expected * 100.0),
            cell.mean_text(),
        ]);
    }
    page.series.push(series);
    page.series.push(Series::new("fragments", "model, (1 − p)⁻²ⁿ − 1", Mark::Model, points));
    let head =
        ["octets", "fragments", "repetitions of a hundred requests", "100·((1 − p)⁻²ⁿ − 1)", "mean in ms"];
    page.tables.push(Table::new("Requests in fragments, 1 % loss", &head, rows));
    let text = "a request in n fragments is lost unless all arrive: it is repeated (1 − p)⁻²ⁿ − 1 times";
    page.statements.push(AMPLIFIED.judge(text, Evidence::Several(offsets)));
    falls(&mut page, &falling)?;
    page.notes.push(AFTERWARDS.to_owned());
    Ok(page)
}

/// Adds what the fall of the path MTU does, before and after RFC 8899.
fn falls(page: &mut Page, cells: &Cells) -> Result<(), StudyError> {
    let at = |case| cells.get(&[text("case", case)]);
    let [before, known, after] = [at("before")?, at("known")?, at("after")?];
    let row = |name: &str, cell: &Ran| {
        vec![
            name.to_owned(),
            cell.mean_text(),
            cell.quantile_text(0.5, 0),
            cell.quantile_text(0.99, 0),
            in_hundreds(repeated(cell)),
        ]
    };
    let rows = vec![
        row("chunks of 1500 octets, which IP cuts", before),
        row("chunks of the size that the path has after its fall", known),
        row("chunks of the size that probes find (RFC 8899)", after),
    ];
    let head = ["SCTP", "mean in ms", "median", "99 %", "chunks sent again of a hundred messages"];
    page.tables.push(Table::new(
        "Messages of 4000 octets after the path MTU has fallen to 1300, 1 % loss",
        &head,
        rows,
    ));
    // Of a message are 3 chunks where packets have 1500 octets, and 4 where they have 1300.
    let of_chunk = repeated(before)
        .map(|again| again.scaled(1.0 / 3.0, 0.0))
        .zip(repeated(known).map(|again| again.scaled(0.25, 0.0)));
    let text =
        "a chunk that was sent before is cut in two by IP, and so is lost twice as often as one that fits";
    page.statements
        .push(TWICE.judge(text, of_chunk.map(|(cut, whole)| cut.beyond(whole).scaled(100.0, 0.0))));
    let text = "where probes find the new size (RFC 8899) messages take as long as with chunks that fit from the beginning";
    page.statements.push(ALIKE.judge(text, percent_more(after, known)));
    Ok(())
}

/// Returns how often a hundred messages were sent again, for a table.
fn in_hundreds(again: Option<Estimate>) -> String {
    again.map(|again| again.scaled(100.0, 0.0).to_string()).unwrap_or_default()
}

/// Returns how often a message was sent again, over runs.
fn repeated(cell: &Ran) -> Option<Estimate> {
    let flow = cell.tally.flows.first()?;
    let runs =
        flow.by_seed(|seed| Some(seed.transport.retransmissions? as f64 / seed.messages.max(1) as f64));
    Estimate::of_runs(&runs)
}

/// Returns how often a request is repeated until one comes whole and its answer, too.
fn amplified(fragments: i32) -> f64 {
    0.99_f64.powi(-2 * fragments) - 1.0
}

/// Criteria of the statements, fixed before any run but for what [`AFTERWARDS`] says.
const AFTER_300: Criterion = Criterion::equivalent([270.0, 330.0], "ms");
const MORE: Criterion = Criterion::more_than(0.0, "%");
const ALIKE: Criterion = Criterion::equivalent([-10.0, 10.0], "%");
const TWICE: Criterion = Criterion::equivalent([60.0, 140.0], "%");
const AMPLIFIED: Criterion = Criterion::each([-15.0, 15.0], "%");
const SIZES: [(f64, i32); 4] = [(1400.0, 1), (2900.0, 2), (4300.0, 3), (5800.0, 4)];
const TIMERS: &str = "The study's network with random loss in the middle, both ways; requests of 500 octets, echoed, a hundred a second. The first timeout is SIP's T1 of 500 ms, or the smoothed \
                      round-trip time and four times its deviation, 200 ms at least, as in Linux' TCP; each further one is twice as long";
const IN_FRAGMENTS: &str = "UDP: 8 requests a second, echoed, over 45 ms each way and an MTU of 1500 octets; what is longer is cut into fragments, and the answer, too; 1 % loss of packets both ways";
const FALLS: &str = "SCTP: 5 messages of 4000 octets a second, one way, 45 ms, 10 Mbit/s, 1 % loss; the MTU falls from 1500 to 1300 octets after 20 s, and what was sent before does not count";
const AFTERWARDS: &str = "That a chunk which IP cuts is lost twice as often takes the place of a statement on delays that did not hold: those chunks arrived 5 % sooner, not later. The \
                          bar was set after that had been seen.";
const TIMER: &str = include_str!("../../../../plans/studies/s2-timer.toml");
const FRAGMENTS: &str = include_str!("../../../../plans/studies/s2-fragments.toml");
const MTU: &str = include_str!("../../../../plans/studies/s2-mtu.toml");

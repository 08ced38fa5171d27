//! What S2 says without a table: delays over the load, and what order costs over loss.

use super::NETWORK;
use crate::cells::{Cells, Ran, number, text};
use crate::effort::Effort;
use crate::error::StudyError;
use crate::response::curve;
use lab::report::{Axis, Criterion, Estimate, Evidence, Figure, Mark, Page, Series, Table};

/// Makes the page of delays over the load, up to where they have no end.
pub(crate) fn load(effort: &Effort) -> Result<Page, StudyError> {
    let cells = effort.run("S2-load", LOAD)?;
    let mut page = Page { conditions: vec![NETWORK.to_owned(), COUNTED.to_owned()], ..Page::default() };
    let x = Axis::linear("load in % of the link, on the wire");
    page.figures.push(Figure::new(
        "load",
        "Mean delay of a request over the load",
        x,
        Axis::linear("delay in ms"),
    ));
    for (queue, name) in QUEUES {
        page.series.extend(curve(&cells.all(&[text("queue", queue)])?, "case", "load", 1.0, name)?);
    }
    let at = |queue, load| cells.get(&[text("queue", queue), number("case", load)]);
    for (load, words) in [(78.0, "78 % on the wire"), (87.0, "330 requests a second, 78 % in user data")] {
        let statement = format!("{words}: the load is carried, delays do not grow with the run");
        page.statements.push(HOLDS.judge(statement, steady(at("5p", load)?)));
        let statement = format!("{words}: 95 % of the requests take less than 2 s");
        let cell = at("5p", load)?;
        let evidence = cell.quantile(0.95).map_or_else(|| cell.evidence(), Evidence::from);
        page.statements.push(UNDER_2S.judge(statement, evidence));
    }
    let longer = several_of(&cells, 78.0)?;
    page.statements.push(
        LONGER.judge("a longer buffer loses nothing at 78 % and so delays less, 5 beside 20 packets", longer),
    );
    page.notes.push(edges(&cells)?);
    page.tables.push(by_load(&cells)?);
    Ok(page)
}

/// Returns the mean delays with the long buffer and with the short one.
fn several_of(cells: &Cells, load: f64) -> Result<Evidence, StudyError> {
    let at = |queue| cells.get(&[text("queue", queue), number("case", load)]);
    Ok(crate::response::several(&[("20 packets", at("20p")?), ("5 packets", at("5p")?)]))
}

fn steady(cell: &Ran) -> Evidence {
    let mean = cell.mean_of_answered().map_or_else(|| "–".to_owned(), |mean| mean.to_string());
    let grows = if cell.is_overloaded() { "growing with the run" } else { "steady" };
    Evidence::Fact(!cell.is_overloaded(), format!("{mean} ms in the mean, {grows}"))
}

/// Says from which load on there is no steady state.
fn edges(cells: &Cells) -> Result<String, StudyError> {
    let mut words = Vec::new();
    for (queue, name) in QUEUES {
        let edge = cells.all(&[text("queue", queue)])?.into_iter().find(|cell| cell.is_overloaded());
        words.push(match edge {
            Some(cell) => {
                format!("{name}: from {} % on delays grow as long as the run lasts", cell.level("case")?)
            }
            None => format!("{name}: up to 95 % there is a steady state"),
        });
    }
    Ok(format!("The edge of stability: {}.", words.join("; ")))
}

fn by_load(cells: &Cells) -> Result<Table, StudyError> {
    let row = |cell: &Ran| {
        let (offered, dropped) = middle(cell);
        let load = cell.number("case")?;
        Ok(vec![
            cell.level("case")?.to_owned(),
            format!("{:.0}", load * 500.0 / 560.0),
            cell.level("queue")?.to_owned(),
            if cell.is_overloaded() { "overloaded".to_owned() } else { cell.mean_text() },
            cell.quantile_text(0.5, 0),
            cell.quantile_text(0.95, 0),
            cell.quantile_text(0.99, 0),
            format!("{:.3} %", dropped / offered * 100.0),
        ])
    };
    let head = [
        "load on the wire in %",
        "in user data",
        "buffer",
        "mean in ms",
        "median",
        "95 %",
        "99 %",
        "packets dropped",
    ];
    Ok(Table::new("Delays over the load", &head, cells.iter().map(row).collect::<Result<_, StudyError>>()?))
}

/// Returns the packets offered to the link in the middle on the way there, and how many of them it dropped.
pub(super) fn middle(cell: &Ran) -> (f64, f64) {
    let link = cell.tally.links.iter().find(|link| link.name == "middle");
    let (offered, dropped) = link.map_or((0, 0), |link| link.ways[0]);
    (offered.max(1) as f64, dropped as f64)
}

/// Makes the page of what order costs over loss, beside a formula in which nothing is fitted.
pub(crate) fn order(effort: &Effort) -> Result<Page, StudyError> {
    let cells = effort.run("S2-order", ORDER)?;
    let mut page = Page { conditions: vec![NETWORK.to_owned(), HALF.to_owned()], ..Page::default() };
    let x = Axis::log("induced loss in %").between(0.04, 1.2);
    page.figures.push(Figure::new("order", "Ordered less unordered delay", x, Axis::linear("ms a message")));
    let (mut simulated, mut formula) =
        (Series::new("order", "paired difference", Mark::Points, []), Vec::new());
    let mut rows = Vec::new();
    for cell in cells.iter() {
        let loss = cell.number("loss")?;
        let Some(cost) = cost(cell) else { continue };
        simulated.points.push(vec![loss * 100.0, cost.value()]);
        simulated.ci95.push(cost.interval());
        formula.push((loss * 100.0, by_formula(loss)));
        rows.push(vec![
            cell.level("loss")?.to_owned(),
            cost.to_string(),
            format!("{:.2}", by_formula(loss)),
            format!("{:.1} %", touched(cell) * 100.0),
        ]);
    }
    page.series.push(simulated);
    page.series.push(Series::new("order", "model, p·λ·R²/2", Mark::Model, formula));
    let head = ["loss", "order costs in ms", "p·λ·R²/2", "sessions touched by blocking"];
    page.tables.push(Table::new("What order costs", &head, rows));
    order_statements(&mut page, &cells)?;
    page.notes.push(FORMULA.to_owned());
    Ok(page)
}

fn order_statements(page: &mut Page, cells: &Cells) -> Result<(), StudyError> {
    let of = |loss| Ok::<_, StudyError>(cost(cells.get(&[number("loss", loss)])?));
    let mut offsets = Vec::new();
    for loss in [0.0005, 0.001, 0.002, 0.003] {
        let name = format!("{} %", loss * 100.0);
        offsets.extend(of(loss)?.map(|cost| (name, cost.scaled(100.0 / by_formula(loss), -100.0))));
    }
    let text = "order costs p·λ·R²/2 a message, nothing fitted, up to 0.3 % loss";
    page.statements.push(NO_FIT.judge(text, Evidence::Several(offsets)));
    let mut rising = Vec::new();
    for loss in [0.001, 0.003, 0.01] {
        rising.extend(of(loss)?.map(|cost| (format!("{} %", loss * 100.0), cost)));
    }
    page.statements.push(RISES.judge("the more is lost the more order costs", Evidence::Several(rising)));
    for (loss, published) in [(0.002, 3.4), (0.003, 4.0)] {
        let text = format!("at {} % loss the formula gives what the study's tables differ by", loss * 100.0);
        let criterion = Criterion::equivalent([published - 1.0, published + 1.0], "ms").beside(published);
        page.statements.push(criterion.judge(text, Estimate::exact(by_formula(loss))));
    }
    Ok(())
}

fn cost(cell: &Ran) -> Option<Estimate> {
    Estimate::of_runs(&cell.tally.flows.first()?.by_seed(|seed| seed.difference.mean()))
}

fn touched(cell: &Ran) -> f64 {
    let flow = cell.tally.flows.first();
    let shares =
        flow.map(|flow| flow.by_seed(|seed| Some(seed.blocked as f64 / seed.messages.max(1) as f64)));
    shares.and_then(|shares| lab::mean(&shares)).unwrap_or_default()
}

/// Returns p·λ·R²/2 in ms: a loss delays the λ·R messages behind it by R/2 in the mean, and R is a round trip and four later packets.
fn by_formula(loss: f64) -> f64 {
    let per_second = 0.5 * 1.7e6 / (8.0 * 560.0);
    let recovery = ROUND_TRIP_S + 4.0 / per_second;
    loss * per_second * recovery * recovery / 2.0 * 1e3
}

/// Criteria of the statements, fixed before any run.
const HOLDS: Criterion = Criterion::holds();
const UNDER_2S: Criterion = Criterion::less_than(2000.0, "ms");
const LONGER: Criterion = Criterion::rising(0.0, "ms");
const NO_FIT: Criterion = Criterion::each([-20.0, 20.0], "%");
const RISES: Criterion = Criterion::rising(0.0, "ms");
/// Twice 45 ms, and the serialisation of a packet of 560 octets there and of one of 40 back.
const ROUND_TRIP_S: f64 = 0.0938;
const QUEUES: [(&str, &str); 2] = [("5p", "a buffer of 5 packets (setting G)"), ("20p", "20 packets")];
const COUNTED: &str = "The load counts 560 octets a request, as on the wire; the study's \u{201c}about 80 %\u{201d} for 330 a second counts its 500 octets of user data. 10,000 requests a run, the first 1000 do not count";
const HALF: &str = "50 % load, a buffer that never fills, random loss on the link in the middle on the way there; 20,000 requests a run, the first 1000 do not count";
const FORMULA: &str = "R is the round trip of 93.8 ms and the time of four later packets. Whoever is lost twice waits for the timer of a second, which the formula leaves out: 0.01 % of 1 % loss.";
const LOAD: &str = include_str!("../../../../plans/studies/s2-load.toml");
const ORDER: &str = include_str!("../../../../plans/studies/s2-order.toml");

#[cfg(test)]
mod tests;

//! The parts that pages about response times share: curves from cells, curves from the model, statements about
//! both.

use core::num::NonZeroU32;
use core::time::Duration;

use models::studies::{Conditions, Flow, s1};
use models::{Probability, Rate};

use crate::cells::{Cells, Ran, text};
use crate::error::StudyError;
use lab::report::{Estimate, Evidence, Mark, Series, Table};

/// Returns the curves for each level of the factor `by`, over the levels of `x`.
pub(super) fn curves(
    cells: &Cells,
    [x, by]: [&str; 2],
    figure: &str,
    scale: f64,
    name: impl Fn(&str) -> String,
) -> Result<Vec<Series>, StudyError> {
    let mut levels: Vec<&str> = Vec::new();
    for cell in cells.iter() {
        let level = cell.level(by)?;
        if !levels.contains(&level) {
            levels.push(level);
        }
    }
    let mut all = Vec::new();
    for level in levels {
        all.extend(curve(&cells.all(&[text(by, level)])?, x, figure, scale, &name(level))?);
    }
    Ok(all)
}

/// Returns the curve of mean response times, and where there is no steady state instead.
pub(super) fn curve(
    cells: &[&Ran],
    x: &str,
    figure: &str,
    scale: f64,
    name: &str,
) -> Result<Vec<Series>, StudyError> {
    let mut series = Series::new(figure, name, Mark::Points, []);
    let mut overloaded = Vec::new();
    for cell in cells {
        let x = cell.number(x)? * scale;
        match cell.mean() {
            Some(mean) => {
                series.points.push(vec![x, mean.value()]);
                series.ci95.push(mean.interval());
            }
            None if cell.is_overloaded() => {
                overloaded.push((x, cell.mean_of_answered().map_or(0.0, Estimate::value)));
            }
            None => {}
        }
    }
    let missing = Series::new(figure, format!("overloaded, {name}"), Mark::Missing, overloaded);
    Ok([series, missing].into_iter().filter(|series| !series.points.is_empty()).collect())
}

/// Makes the table of all cells: what was answered stands beside each mean, and a cell without a steady state has none.
pub(super) fn answered(cells: &Cells, factors: &[&str]) -> Result<Table, StudyError> {
    let row = |cell: &Ran| {
        let mut row = factors
            .iter()
            .map(|factor| cell.level(factor).map(str::to_owned))
            .collect::<Result<Vec<_>, _>>()?;
        let (answered, all) = cell.answered();
        let mean = cell.mean();
        row.push(match mean {
            Some(mean) => format!("{:.2}", mean.value()),
            None if cell.is_overloaded() => "overloaded".to_owned(),
            None => "–".to_owned(),
        });
        row.push(mean.and_then(Estimate::half_width).map(|half| format!("{half:.2}")).unwrap_or_default());
        row.push(
            cell.quantile(0.99).map_or_else(|| "–".to_owned(), |quantile| format!("{:.1}", quantile.value())),
        );
        row.push(format!("{answered} of {all}"));
        Ok(row)
    };
    let head: Vec<&str> =
        factors.iter().copied().chain(["mean in ms", "±", "99 % quantile", "answered"]).collect();
    let rows = cells.iter().map(row).collect::<Result<_, StudyError>>()?;
    Ok(Table::new("All cells", &head, rows))
}

/// Returns the conditions of S1 and S4 with another loss and rate.
pub(super) fn conditions(loss: f64, rate: f64) -> Result<Conditions, StudyError> {
    Ok(Conditions {
        rtt: Duration::from_millis(20),
        loss: Probability::new(loss)?,
        rate: Rate::per_second(rate)?,
        rto: Duration::from_secs(1),
        processing: Duration::from_micros(500),
    })
}

/// Returns what S1's model gives, in ms.
pub(super) fn model_ms(loss: f64, rate: f64, flow: Flow) -> Result<f64, StudyError> {
    Ok(s1::response_time(&conditions(loss, rate)?, flow)?.response_time.as_secs_f64() * 1e3)
}

/// Returns the model's flow for a transport as plans name it.
pub(super) fn flow(transport: &str) -> Flow {
    let number = |text: &str| text.parse().ok().and_then(NonZeroU32::new).unwrap_or(NonZeroU32::MIN);
    match transport.split_once(':') {
        Some(("sctp", "unordered")) => Flow::Unordered,
        Some(("sctp", streams)) => Flow::Streams(number(streams)),
        Some((_, connections)) => Flow::Connections(number(connections)),
        None => Flow::ONE_CONNECTION,
    }
}

/// Returns the name of a transport in a legend.
pub(super) fn legend(transport: &str) -> String {
    match transport.split_once(':') {
        Some(("sctp", "unordered")) => "SCTP unordered".to_owned(),
        Some(("sctp", streams)) => format!("SCTP, N = {streams}"),
        Some((_, connections)) => format!("TCP, N = {connections}"),
        None => "TCP".to_owned(),
    }
}

/// Returns the model's curve over loss.
pub(super) fn model_over_loss(figure: &str, transport: &str, to: f64) -> Result<Series, StudyError> {
    let points = (0..=40_u32).map(|step| f64::from(step) / 40.0 * to);
    let points = points.map(|loss| Ok((loss * 100.0, model_ms(loss, 100.0, flow(transport))?)));
    let points = points.collect::<Result<Vec<_>, StudyError>>()?;
    Ok(Series::new(figure, format!("model, {}", legend(transport)), Mark::Model, points))
}

/// Returns the model's curve over the rate.
pub(super) fn model_over_rate(figure: &str, transport: &str, most: f64) -> Result<Series, StudyError> {
    let points = (0..=60_u32).map(|step| most.powf(f64::from(step) / 60.0));
    let points = points.map(|rate| Ok((rate, model_ms(0.01, rate, flow(transport))?)));
    let points = points.collect::<Result<Vec<_>, StudyError>>()?;
    Ok(Series::new(figure, format!("model, {}", legend(transport)), Mark::Model, points))
}

/// Returns how many per cent the mean of each cell is above a model.
pub(super) fn offsets(
    cells: &[&Ran],
    factor: &str,
    model: impl Fn(&Ran) -> Result<f64, StudyError>,
) -> Result<Evidence, StudyError> {
    let mut offsets = Vec::new();
    for cell in cells {
        let Some(mean) = cell.mean() else { return Ok(cell.evidence()) };
        let name = format!("{factor} = {}", cell.level(factor)?);
        offsets.push((name, mean.scaled(100.0 / model(cell)?, -100.0)));
    }
    Ok(Evidence::Several(offsets))
}

/// Returns the means of some cells by name, for a statement about their order.
pub(super) fn several(cells: &[(&str, &Ran)]) -> Evidence {
    let of = |(name, cell): &(&str, &Ran)| cell.mean().map(|mean| ((*name).to_owned(), mean));
    match cells.iter().map(of).collect::<Option<Vec<_>>>() {
        Some(means) => Evidence::Several(means),
        None => Evidence::Missing("one of the cells is overloaded".to_owned()),
    }
}

/// Returns by how many per cent the mean of one cell is more than that of another.
pub(super) fn percent_more(cell: &Ran, than: &Ran) -> Evidence {
    match cell.mean().zip(than.mean()) {
        Some((cell, than)) => cell.beyond(than).scaled(100.0, 0.0).into(),
        None => Evidence::Missing("one of the two cells is overloaded".to_owned()),
    }
}

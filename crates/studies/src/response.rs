//! The parts that pages about response times share: curves from cells, curves from the model, statements about
//! both.

use core::num::NonZeroU32;
use core::time::Duration;
use std::collections::BTreeSet;

use models::studies::{Conditions, Flow, s1};
use models::{Probability, Rate};

use crate::effort::Ran;
use crate::error::StudyError;
use lab::report::{Mark, Series, Statement};

/// Returns a curve for each level of one factor, over the levels of another.
pub(super) fn curves(
    ran: &[Ran],
    x: usize,
    by: usize,
    figure: &str,
    scale: f64,
    name: impl Fn(&str) -> String,
) -> Vec<Series> {
    let mut seen = BTreeSet::new();
    let levels = ran.iter().map(|cell| cell.level(by)).filter(|level| seen.insert((*level).to_owned()));
    levels
        .map(|level| curve(ran.iter().filter(|cell| cell.level(by) == level), x, figure, scale, name(level)))
        .collect()
}

/// Returns one curve of mean response times.
pub(super) fn curve<'a>(
    cells: impl Iterator<Item = &'a Ran>,
    x: usize,
    figure: &str,
    scale: f64,
    name: impl Into<String>,
) -> Series {
    let cells: Vec<&Ran> = cells.filter(|cell| cell.response_ms().is_finite()).collect();
    let points = cells.iter().map(|cell| (cell.number(x) * scale, cell.response_ms()));
    let mut series = Series::new(figure, name, Mark::Points, points);
    series.ci95 = cells.iter().map(|cell| cell.response_ci95()).collect();
    series
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

/// The cell where the simulation is farthest from the model: how far, as a share with its sign, and half of the
/// interval there.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Worst {
    off: f64,
    half: f64,
}

/// Returns the worst of some cells.
pub(super) fn worst<'a>(
    cells: impl Iterator<Item = &'a Ran>,
    model: impl Fn(&Ran) -> Result<f64, StudyError>,
) -> Result<Worst, StudyError> {
    let mut worst = Worst::default();
    for cell in cells {
        let model = model(cell)?;
        let off = cell.response_ms() / model - 1.0;
        if off.abs() > worst.off.abs() || off.is_nan() {
            let half = cell.response_ci95().map_or(f64::INFINITY, |[low, high]| (high - low) / 2.0);
            worst = Worst { off, half: half / model };
        }
    }
    Ok(worst)
}

/// Creates the statement that the simulation stays within a share of the model.
pub(super) fn agrees(text: String, worst: Worst, bar: f64) -> Statement {
    let Worst { off, half } = worst;
    let because =
        format!("the largest distance from the model is {:+.2} %; the bar is {} %", off * 100.0, bar * 100.0);
    let statement = Statement::holds(text, off.abs() <= bar, because).with_ours(off * 100.0, "%");
    let ci95 = [off - half, off + half].map(|share| share * 100.0);
    statement.decided_by(Some(ci95).filter(|_| half.is_finite()), [-100.0 * bar, 100.0 * bar])
}

//! Measured values beside simulated ones: a reduced set of the cells of S1 and S4, with real packets between network namespaces.
//!
//! Where the backend is refused, the page says what was left out and why.

use core::time::Duration;
use std::collections::BTreeMap;

use crate::effort::Effort;
use crate::error::StudyError;
use crate::measurement::{CELLS, Left, Measured, MeasuredAt, MeasuredCells, Measurement, Over};
use crate::response::{flow, legend, model_ms};
use lab::TransportSpec;
use lab::report::{Criterion, Estimate, Evidence, Mark, Page, Series, Statement, Table};

/// Returns what is said of a page's effort where it has measured cells.
pub(super) fn described(id: &str, effort: &Effort) -> String {
    let has_cells = CELLS.iter().any(|cells| cells.page == id);
    effort.measurement.as_ref().filter(|_| has_cells).map(Measurement::describe).unwrap_or_default()
}

/// Puts what was measured beside what the page already shows.
pub(super) fn add(page: &mut Page, effort: &Effort) -> Result<(), StudyError> {
    let Some(measurement) = &effort.measurement else { return Ok(()) };
    let id = page.id.clone();
    if id == OF_GUEST {
        page.left_out.push(GUEST.to_owned());
    }
    for cells in CELLS.iter().filter(|cells| cells.page == id) {
        let mut rows = Vec::new();
        for conditions in cells.conditions() {
            effort.options.progress.expect(1);
            let measured = measurement.measured(conditions, &effort.options.stop);
            effort.options.progress.advance(1);
            match measured {
                Ok(measured) => rows.extend(cells.rows(page, conditions, &measured)?),
                Err(Left::Study(error)) => return Err(error),
                Err(Left::Out(error)) => {
                    page.left_out.push(format!("{}: {error}", cells.in_words(conditions)));
                }
            }
        }
        if !rows.is_empty() {
            show(page, cells, &rows, measurement.duration);
        }
    }
    Ok(())
}

/// One measured cell beside the simulated one.
struct MeasuredRow {
    transport: TransportSpec,
    conditions: MeasuredAt,
    x: f64,
    measured: Measured,
    /// The simulated mean, where the page draws one: a cell without a steady state has none.
    simulated: Option<Estimate>,
    model_ms: f64,
}

impl MeasuredCells {
    fn rows(
        &self,
        page: &Page,
        conditions: MeasuredAt,
        measured: &[Measured],
    ) -> Result<Vec<MeasuredRow>, StudyError> {
        let wanted = measured.iter().filter(|cell| self.transports.contains(&&*cell.transport.to_string()));
        let row = |cell: &Measured| {
            let name = cell.transport.to_string();
            let x = self.x(conditions, cell.transport);
            Ok(MeasuredRow {
                transport: cell.transport,
                conditions,
                x,
                measured: cell.clone(),
                simulated: simulated(page, self.figure, &self.simulated_name(conditions, &name), x),
                model_ms: model_ms(conditions.loss(), f64::from(conditions.rate), flow(&name))?,
            })
        };
        wanted.map(row).collect()
    }

    fn simulated_name(&self, conditions: MeasuredAt, transport: &str) -> String {
        match self.over {
            Over::Streams => format!("p = {}%", conditions.loss() * 100.0),
            Over::Loss | Over::Rate | Over::RateEach if transport == "tcp" => self.tcp.to_owned(),
            Over::Loss | Over::Rate | Over::RateEach => legend(transport),
        }
    }
}

/// Returns the simulated value at `x` with its interval, if it has one.
fn simulated(page: &Page, figure: &str, name: &str, x: f64) -> Option<Estimate> {
    let series = page.series.iter().find(|series| series.figure == figure && series.name == name)?;
    let near = |point: &Vec<f64>| point.first().is_some_and(|at| (at - x).abs() < 1e-6);
    let index = series.points.iter().position(near)?;
    Some(Estimate::new(*series.points[index].get(1)?, series.ci95.get(index).copied().flatten()))
}

fn show(page: &mut Page, cells: &MeasuredCells, rows: &[MeasuredRow], duration: Duration) {
    let mut series: BTreeMap<String, Series> = BTreeMap::new();
    for row in rows {
        let name = match cells.over {
            Over::Streams => cells.simulated_name(row.conditions, ""),
            Over::Loss | Over::Rate | Over::RateEach if row.transport.protocol() == "tcp" => {
                format!("{} of this kernel", legend(&row.transport.to_string()))
            }
            Over::Loss | Over::Rate | Over::RateEach => legend(&row.transport.to_string()),
        };
        let name = format!("measured, {name}");
        let curve =
            series.entry(name.clone()).or_insert_with(|| Series::new(cells.figure, name, Mark::Measured, []));
        curve.points.push(vec![row.x, row.measured.mean_ms]);
        curve.ci95.push(row.measured.ci95);
    }
    page.series.extend(series.into_values());
    page.tables.push(table(rows));
    page.conditions.push(format!(
        "Measured: {} of real packets between two network namespaces for {} s a cell, our SCTP with the rule of the study's host, TCP of this kernel (Reno); \
         the machine's own delays are in the values",
        cells.workload.in_words(),
        duration.as_secs()
    ));
    page.statements.extend(agreement(rows));
}

fn table(rows: &[MeasuredRow]) -> Table {
    let head = [
        "transport",
        "loss",
        "per second",
        "answers",
        "measured",
        "±",
        "simulated",
        "model S1 (1)–(5)",
        "measured less simulated in %",
    ];
    let dash = || "–".to_owned();
    let row = |row: &MeasuredRow| {
        let half = row.measured.ci95.map(|[low, high]| format!("{:.2}", (high - low) / 2.0));
        let simulated = row.simulated.map(Estimate::value);
        vec![
            legend(&row.transport.to_string()),
            format!("{} %", row.conditions.loss() * 100.0),
            row.conditions.rate.to_string(),
            row.measured.answers.to_string(),
            format!("{:.2}", row.measured.mean_ms),
            half.unwrap_or_else(dash),
            simulated.map_or_else(dash, |mean| format!("{mean:.2}")),
            format!("{:.2}", row.model_ms),
            simulated
                .map_or_else(dash, |mean| format!("{:+.1}", (row.measured.mean_ms / mean - 1.0) * 100.0)),
        ]
    };
    Table::new(
        "Measured, simulated and predicted mean response times in ms",
        &head,
        rows.iter().map(row).collect(),
    )
}

/// Returns whether the simulated SCTP and the one that sends real packets take equally long. Nothing is said of
/// TCP: the kernel's is not the one that is simulated.
fn agreement(rows: &[MeasuredRow]) -> Option<Statement> {
    let distance = |row: &MeasuredRow| {
        let simulated = row.simulated.filter(|_| row.transport.protocol() == "sctp")?;
        let measured = Estimate::new(row.measured.mean_ms, row.measured.ci95);
        let name =
            format!("{} at {} % loss", legend(&row.transport.to_string()), row.conditions.loss() * 100.0);
        Some((name, measured.beyond(simulated).scaled(100.0, 0.0)))
    };
    let distances: Vec<_> = rows.iter().filter_map(distance).collect();
    let text = "real packets take as long as simulated ones, SCTP";
    (!distances.is_empty()).then(|| AS_SIMULATED.judge(text, Evidence::Several(distances)))
}

/// The page whose cells are measured against another kernel.
const OF_GUEST: &str = "S5-table1";
const GUEST: &str = "the cells against the SCTP of the Linux kernel: it runs as a guest, and interop/startup measures it (docs/startup.md)";
/// How far the measured mean may be from the simulated one.
const AS_SIMULATED: Criterion = Criterion::each([-5.0, 5.0], "%");

#[cfg(test)]
mod tests;

//! PFTK, RFC 5348's equation and CUBIC's window against the simulator's TCP.

mod tables;
mod world;

#[cfg(test)]
mod tests;

use core::time::Duration;

use models::throughput::cubic::{CubicParameters, mean_window};
use models::throughput::{BulkFlow, pftk, rfc5348, square_root};
use models::{ModelError, Probability};
use serde::{Deserialize, Serialize};
use tcp_core::CongestionAlgorithm;

use crate::error::CompareError;

pub(crate) use tables::{table_of_cubic, table_of_reno};

/// A path and its losses.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Cell {
    /// Probability that a packet is lost, each by itself.
    pub loss: f64,
    /// Round-trip time in milliseconds.
    pub rtt_ms: u64,
    /// The least retransmission timeout in milliseconds, above the RTT: the timeout, since the RTT does not vary.
    pub rto_ms: u64,
}

/// One line: what was simulated, and the models' rates for the loss events that the simulation counted.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// The cell.
    pub cell: Cell,
    /// Segments sent per second, mean over the seeds.
    pub segments_per_s: f64,
    /// The half width of its 95 % confidence interval, relative.
    pub uncertainty: f64,
    /// Loss events per segment in the simulation.
    pub event_rate: f64,
    /// The models, as named in the head of the table: by loss events, and by the packets lost.
    pub models: Vec<Estimate>,
}

/// A model's rate in packets per second.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Estimate {
    /// Given the loss events per packet.
    pub by_events: f64,
    /// Given the probability that a packet is lost.
    pub by_packets: f64,
}

impl Cell {
    pub(crate) fn rtt(&self) -> Duration {
        Duration::from_millis(self.rtt_ms)
    }

    pub(crate) fn rto(&self) -> Duration {
        Duration::from_millis(self.rto_ms)
    }

    fn flow(&self, p: f64) -> Result<BulkFlow, ModelError> {
        let loss = Probability::new(p)?;
        Ok(BulkFlow { loss, rtt: self.rtt(), rto: self.rto(), ..BulkFlow::default() })
    }
}

/// The models of a Reno flow, in the order of the columns.
pub(crate) const RENO_MODELS: [Model; 4] = [
    ("square root", |flow| Ok(square_root(flow)?.packets_per_s)),
    ("PFTK", |flow| Ok(pftk::rate(flow)?.packets_per_s)),
    ("PFTK, approximation", |flow| Ok(pftk::approximate_rate(flow)?.packets_per_s)),
    ("RFC 5348", |flow| Ok(rfc5348::rate(flow)?.packets_per_s)),
];

/// CUBIC's.
const CUBIC_MODELS: [Model; 1] =
    [("RFC 9438", |flow| Ok(mean_window(flow, &CubicParameters::default())?.0.packets_per_s))];

/// Reno over its grid.
///
/// # Errors
/// If a world could not be built or a model has no answer.
pub fn reno_table() -> Result<Vec<Row>, CompareError> {
    let cell = |rtt_ms| LOSSES.map(|loss| Cell { loss, rtt_ms, rto_ms: 1000 });
    [20, 100].into_iter().flat_map(cell).map(|cell| reno_row(&cell, SEEDS)).collect()
}

/// CUBIC over its grid.
///
/// # Errors
/// As [`reno_table`].
pub fn cubic_table() -> Result<Vec<Row>, CompareError> {
    let cell = |rtt_ms| CUBIC_LOSSES.map(|loss| Cell { loss, rtt_ms, rto_ms: 200 });
    [20, 100].into_iter().flat_map(cell).map(|cell| cubic_row(&cell, SEEDS)).collect()
}

/// One cell of Reno.
///
/// # Errors
/// As [`reno_table`].
pub fn reno_row(cell: &Cell, seeds: u64) -> Result<Row, CompareError> {
    row(cell, CongestionAlgorithm::NewReno, seeds, &RENO_MODELS)
}

/// One cell of CUBIC.
///
/// # Errors
/// As [`reno_table`].
pub fn cubic_row(cell: &Cell, seeds: u64) -> Result<Row, CompareError> {
    row(cell, CongestionAlgorithm::Cubic, seeds, &CUBIC_MODELS)
}

/// A name, and the rate in packets per second.
type Model = (&'static str, fn(&BulkFlow) -> Result<f64, ModelError>);

fn row(
    cell: &Cell,
    algorithm: CongestionAlgorithm,
    seeds: u64,
    models: &[Model],
) -> Result<Row, CompareError> {
    let runs = (1..=seeds).map(|seed| world::run(cell, algorithm, seed));
    let runs = runs.collect::<Result<Vec<world::Counted>, CompareError>>()?;
    let rates: Vec<f64> = runs.iter().map(|run| run.segments_per_s).collect();
    let events: Vec<f64> = runs.iter().map(|run| run.events_per_segment).collect();
    let (segments_per_s, event_rate) = (crate::mean(&rates), crate::mean(&events));
    let estimate = |(_, model): &Model| {
        Ok(Estimate {
            by_events: model(&cell.flow(event_rate)?)?,
            by_packets: model(&cell.flow(cell.loss)?)?,
        })
    };
    Ok(Row {
        cell: *cell,
        segments_per_s,
        uncertainty: crate::half_width(&rates) / segments_per_s,
        event_rate,
        models: models.iter().map(estimate).collect::<Result<Vec<Estimate>, ModelError>>()?,
    })
}

const LOSSES: [f64; 5] = [0.001, 0.003, 0.01, 0.03, 0.1];
const CUBIC_LOSSES: [f64; 3] = [0.001, 0.003, 0.01];
const SEEDS: u64 = 4;

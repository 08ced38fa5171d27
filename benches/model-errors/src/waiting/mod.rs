//! The resequencing models, with independent losses and with losses in bursts, against the SCTP that ships.

mod tables;
mod world;

#[cfg(test)]
mod tests;

use core::num::NonZeroU32;
use core::time::Duration;

use models::resequencing::{self, Dealing, Profile, Scenario, Transport, Waiting, bursts};
use models::{ModelError, Probability, Rate};
use netem::Loss;
use serde::{Deserialize, Serialize};

use crate::error::CompareError;

pub(crate) use tables::{table_of_losses, table_of_waiting};

/// A stack, a load and a path.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Cell {
    /// How losses are found.
    pub profile: Stack,
    /// Messages per second.
    pub rate: f64,
    /// Streams, dealt round robin; none: unordered.
    pub streams: Option<u16>,
    /// Share of packets lost, in both directions.
    pub loss: f64,
    /// Mean length of a burst of losses in packets; none: each packet by itself.
    pub burst_packets: Option<f64>,
    /// Round-trip time in milliseconds.
    pub rtt_ms: f64,
}

/// The profiles that there are models for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Stack {
    /// Three missing reports, RTO.Min 1 s.
    Rfc9260,
    /// RACK and probes.
    Signalling,
}

/// One line of the table; times are extra delays of a message in one direction.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// The cell.
    pub cell: Cell,
    /// Simulated mean, in milliseconds.
    pub simulated_ms: f64,
    /// The half width of its 95 % confidence interval, in milliseconds.
    pub uncertainty_ms: f64,
    /// Simulated share of messages later than 1 ms.
    pub simulated_share: f64,
    /// The model for this channel.
    pub model: Estimate,
    /// The model of independent losses with the same loss.
    pub independent: Estimate,
}

/// What a model says.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Estimate {
    /// Mean extra delay in milliseconds.
    pub mean_ms: f64,
    /// Share of messages later than 1 ms.
    pub share: f64,
}

impl Cell {
    fn scenario(&self) -> Result<Scenario, ModelError> {
        Ok(Scenario {
            rtt: Duration::from_secs_f64(self.rtt_ms / 1e3),
            loss: Probability::new(self.loss)?,
            rate: Rate::per_second(self.rate)?,
            processing: Duration::ZERO,
            profile: match self.profile {
                Stack::Rfc9260 => Profile::Rfc9260,
                Stack::Signalling => Profile::Signalling,
            },
            rto_min: None,
        })
    }

    fn streams(&self) -> Option<NonZeroU32> {
        self.streams.map(|streams| NonZeroU32::new(u32::from(streams)).unwrap_or(NonZeroU32::MIN))
    }

    /// Gilbert's channel for the simulated link.
    fn loss_towards_receiver(&self) -> Result<Loss, CompareError> {
        Ok(match self.burst_packets {
            None => Loss::Bernoulli(netem::Probability::new(self.loss)?),
            Some(burst) => {
                let recovers = burst.recip();
                let worsens = recovers * self.loss / (1.0 - self.loss);
                Loss::GilbertElliott(netem::GilbertElliott::new(worsens, recovers, 0.0, 1.0)?)
            }
        })
    }

    fn independent(&self) -> Result<Estimate, CompareError> {
        let scenario = self.scenario()?;
        let transport = match self.streams() {
            Some(streams) => Transport::Sctp { streams },
            None => Transport::SctpUnordered,
        };
        let waiting = resequencing::one_way_waiting(&scenario, &transport);
        waiting.map(|waiting| Estimate::of(&waiting)).ok_or(CompareError::NoWaiting)
    }

    fn in_bursts(&self, burst_packets: f64) -> Result<Estimate, CompareError> {
        let scenario = self.scenario()?;
        let channel = bursts::GilbertElliott::simple(scenario.loss, burst_packets)?;
        let dealing = self.streams().map_or(Dealing::Unordered, Dealing::RoundRobin);
        Ok(Estimate::of(&bursts::one_way_waiting(&scenario, &channel, dealing)?))
    }
}

impl Estimate {
    fn of(waiting: &Waiting) -> Self {
        Self { mean_ms: waiting.mean_s() * 1e3, share: waiting.tail_at(LATE_S) }
    }
}

/// Every cell of the grid.
///
/// # Errors
/// If a world could not be built or a model has no answer.
pub fn table() -> Result<Vec<Row>, CompareError> {
    let mut rows = Vec::new();
    for (profile, rate) in [(Stack::Rfc9260, 100.0), (Stack::Signalling, 100.0), (Stack::Signalling, 400.0)] {
        for streams in [Some(1), Some(6), None] {
            for burst_packets in [None, Some(2.0), Some(5.0)] {
                let cell = Cell { profile, rate, streams, loss: 0.01, burst_packets, rtt_ms: 20.0 };
                rows.push(row(&cell, MESSAGES, SEEDS)?);
            }
        }
    }
    Ok(rows)
}

/// The cells of the map over loss, from 2 to 5 %, at rates and numbers of streams for which the tables say little.
///
/// # Errors
/// As [`table`].
pub fn map() -> Result<Vec<Row>, CompareError> {
    let mut rows = Vec::new();
    for profile in [Stack::Rfc9260, Stack::Signalling] {
        for loss in [0.02, 0.03, 0.05] {
            for rate in [50.0, 100.0] {
                for streams in [Some(1), Some(4), None] {
                    let cell = Cell { profile, rate, streams, loss, burst_packets: None, rtt_ms: 20.0 };
                    rows.push(row(&cell, MESSAGES, SEEDS)?);
                }
            }
        }
    }
    Ok(rows)
}

/// One cell.
///
/// # Errors
/// As [`table`].
pub fn row(cell: &Cell, messages: u32, seeds: u64) -> Result<Row, CompareError> {
    let (mut means, mut shares) = (Vec::new(), Vec::new());
    for seed in 1..=seeds {
        let extra_s = world::run(cell, messages, seed)?;
        means.push(crate::mean(&extra_s) * 1e3);
        let late: Vec<f64> = extra_s.iter().map(|extra| if *extra > LATE_S { 1.0 } else { 0.0 }).collect();
        shares.push(crate::mean(&late));
    }
    let independent = cell.independent()?;
    Ok(Row {
        cell: *cell,
        simulated_ms: crate::mean(&means),
        uncertainty_ms: crate::half_width(&means),
        simulated_share: crate::mean(&shares),
        model: cell.burst_packets.map_or(Ok(independent), |burst| cell.in_bursts(burst))?,
        independent,
    })
}

/// Later than this is late.
const LATE_S: f64 = 0.001;
const MESSAGES: u32 = 100_000;
const SEEDS: u64 = 5;

//! The study's stated points under every reading of its rules that we can think of.

use models::startup::{Startup, WindowRule, predict};
use serde::{Deserialize, Serialize};

use super::grid::Cell;
use super::world::{Stack, transfer_times};
use crate::error::CompareError;

/// A reading of the rules, and what the two stated points are by it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Reading {
    /// In words.
    pub rules: String,
    /// `Θmax` of 10 kB every 33 ms over an RTT of 115 ms, in milliseconds; the study: almost 500.
    pub small_ms: f64,
    /// `Θmax` of 30 kB every 33 ms over an RTT of 200 ms; the study: near 1000.
    pub large_ms: f64,
}

/// All readings.
///
/// # Errors
/// As [`transfer_times`].
pub fn readings() -> Result<Vec<Reading>, CompareError> {
    let mut readings = Vec::new();
    for (rules, window_rule, window) in MODELLED {
        readings.push(reading(rules, |cell| {
            let startup = Startup { initial_window_bytes: window, ..cell.startup(window_rule) };
            Ok(predict(&startup)?.penalty.as_secs_f64() * 1e3)
        })?);
    }
    for (rules, stack) in SIMULATED {
        readings.push(reading(rules, |cell| simulated_ms(cell, stack))?);
    }
    Ok(readings)
}

fn reading(
    rules: &str,
    penalty_ms: impl Fn(&Cell) -> Result<f64, CompareError>,
) -> Result<Reading, CompareError> {
    let [small, large] = [(10_000, 115.0), (30_000, 200.0)].map(|(bytes, rtt)| Cell::new(bytes, 33.0, rtt));
    Ok(Reading { rules: rules.to_owned(), small_ms: penalty_ms(&small)?, large_ms: penalty_ms(&large)? })
}

fn simulated_ms(cell: &Cell, stack: Stack) -> Result<f64, CompareError> {
    let startup = cell.startup(WindowRule::Overbooking);
    let transfers = transfer_times(&startup, stack, MESSAGES)?;
    let worst = transfers.into_iter().max().unwrap_or_default();
    Ok(worst.saturating_sub(startup.rtt / 2).as_secs_f64() * 1e3)
}

const STUDY: core::num::NonZeroU32 = Startup::DEFAULT_INITIAL_WINDOW_BYTES;
const fn octets(bytes: u32) -> core::num::NonZeroU32 {
    core::num::NonZeroU32::MIN.saturating_add(bytes - 1)
}
const MODELLED: [(&str, WindowRule, core::num::NonZeroU32); 7] = [
    (
        "the study's assumptions: initial window 4380, never more in flight than the window",
        WindowRule::WithinWindow,
        STUDY,
    ),
    ("overbooking, chunks counted with their headers", WindowRule::Overbooking, STUDY),
    ("the same, initial window 4404", WindowRule::Overbooking, octets(4404)),
    ("initial window of ten packets", WindowRule::WithinWindow, octets(14_600)),
    ("initial window of two packets (the old rule)", WindowRule::WithinWindow, octets(3000)),
    ("initial window of one packet", WindowRule::WithinWindow, octets(1500)),
    ("initial window of one packet, overbooking", WindowRule::Overbooking, octets(1500)),
];
const SIMULATED: [(&str, Stack); 4] = [
    ("our stack under the study's assumptions", Stack::Assumptions),
    ("our stack with Max.Burst 4 and initial window 4404", Stack::Rfc9260),
    ("our stack, a SACK for every second packet", Stack::DelayedSack),
    ("our stack, one SACK for all packets that arrive at the same instant", Stack::SharedSack),
];
/// The worst message is far before this one.
const MESSAGES: usize = 300;

//! The cells: the study's validation grid, and the points it states of its figures.

use core::num::NonZeroU32;
use core::time::Duration;

use models::startup::{Startup, WindowRule};
use serde::{Deserialize, Serialize};

/// A periodic source on a new path.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Cell {
    /// `s` in octets.
    pub message_bytes: NonZeroU32,
    /// Time between two messages in milliseconds.
    pub interval_ms: f64,
    /// Round-trip time in milliseconds.
    pub rtt_ms: f64,
    /// The study's own relative error against its measurement, where it gives one.
    pub published_error: Option<f64>,
}

impl Cell {
    pub(super) fn new(message_bytes: u32, interval_ms: f64, rtt_ms: f64) -> Self {
        let message_bytes = NonZeroU32::MIN.saturating_add(message_bytes.saturating_sub(1));
        let published = PUBLISHED.iter().find(|(rtt, interval, _)| {
            message_bytes == FULL_PACKET && same(*rtt, rtt_ms) && same(*interval, interval_ms)
        });
        Self { message_bytes, interval_ms, rtt_ms, published_error: published.map(|(_, _, error)| *error) }
    }

    /// The cell for the model, with the study's initial window.
    #[must_use]
    pub fn startup(&self, window_rule: WindowRule) -> Startup {
        Startup {
            message_bytes: self.message_bytes,
            interval: Duration::from_secs_f64(self.interval_ms / 1e3),
            rtt: Duration::from_secs_f64(self.rtt_ms / 1e3),
            initial_window_bytes: Startup::DEFAULT_INITIAL_WINDOW_BYTES,
            mtu_bytes: Startup::DEFAULT_MTU_BYTES,
            window_rule,
        }
    }
}

/// The study's grid, then the stated points.
#[must_use]
pub fn grid() -> Vec<Cell> {
    let mut cells = Vec::new();
    for message_bytes in [250, FULL_PACKET.get(), 4000] {
        for rtt_ms in [10.0, 50.0, 200.0] {
            for interval_ms in [2.0, 10.0, 50.0] {
                cells.push(Cell::new(message_bytes, interval_ms, rtt_ms));
            }
        }
    }
    cells.extend(
        STATED.map(|(message_bytes, interval_ms, rtt_ms)| Cell::new(message_bytes, interval_ms, rtt_ms)),
    );
    cells
}

fn same(one: f64, other: f64) -> bool {
    (one - other).abs() < 1e-9
}

/// User data that fills one Ethernet frame.
const FULL_PACKET: NonZeroU32 = NonZeroU32::MIN.saturating_add(1451);
/// S5's validation: RTT and interval in milliseconds, mean relative error for messages of 1452 octets.
const PUBLISHED: [(f64, f64, f64); 5] =
    [(10.0, 2.0, 0.095), (50.0, 2.0, 0.041), (50.0, 10.0, 0.054), (200.0, 2.0, 0.029), (200.0, 10.0, 0.080)];
/// Of S5's figure 4, and a small message on a short path: octets, interval and RTT in milliseconds.
const STATED: [(u32, f64, f64); 4] =
    [(30_000, 33.0, 200.0), (10_000, 33.0, 115.0), (30_000, 33.0, 115.0), (2000, 33.0, 90.0)];

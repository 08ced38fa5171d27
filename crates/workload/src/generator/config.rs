//! What a load generator is told.

use core::time::Duration;

use thiserror::Error;

use crate::arrivals::{Arrivals, ArrivalsError};
use crate::message::MessageSize;

/// One run of the load generator. The defaults are those of `headway compare`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoadConfig {
    /// Law of the send times. Default Poisson: many independent users.
    pub arrivals: Arrivals,
    /// Mean time between two requests. Default 10 ms, the main runs of the studies S1 and S4.
    pub interval: Duration,
    /// Octets of a request and of its response. Default 64, the request of S1.
    pub message_bytes: MessageSize,
    /// How long requests are sent. Default 20 s.
    pub duration: Duration,
    /// Streams or connections that requests are dealt to, 1 … 65,535. Default 1.
    pub lanes: u16,
    /// How long to wait after the duration until all is answered. Default 10 s; 32 s over UDP, whose last
    /// request may be given up so late.
    pub drain: Duration,
    /// Seed of the send times. Default 1.
    pub seed: u64,
}

impl LoadConfig {
    pub(super) fn validate(&self) -> Result<(), ConfigError> {
        if self.lanes == 0 {
            return Err(ConfigError::NoLane);
        }
        if self.duration.is_zero() {
            return Err(ConfigError::NoDuration);
        }
        Ok(())
    }
}

impl Default for LoadConfig {
    fn default() -> Self {
        Self {
            arrivals: Arrivals::Poisson,
            interval: Duration::from_millis(10),
            message_bytes: MessageSize::default(),
            duration: Duration::from_secs(20),
            lanes: 1,
            drain: Duration::from_secs(10),
            seed: 1,
        }
    }
}

/// Why a configuration describes no run.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ConfigError {
    /// Requests need a stream or a connection.
    #[error("there must be at least one stream or connection")]
    NoLane,
    /// A run of no length sends nothing.
    #[error("the duration must be above zero")]
    NoDuration,
    /// The arrival process.
    #[error(transparent)]
    Arrivals(#[from] ArrivalsError),
}

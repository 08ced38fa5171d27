//! How often messages are sent: as a rate or as an interval.

use std::time::Duration;

use clap::Args;
use models::{ModelError, Rate};

use super::{parse_positive_duration, parse_rate};

/// `--rate` or `--interval`.
#[derive(Debug, Clone, Args)]
pub(crate) struct LoadArguments {
    /// Messages per second, over all streams and connections
    #[arg(long, value_name = "RATE", value_parser = parse_rate, conflicts_with = "interval", allow_negative_numbers = true)]
    rate: Option<Rate>,
    /// Mean time between two messages, instead of --rate
    #[arg(long, value_name = "DURATION", value_parser = parse_positive_duration)]
    interval: Option<Duration>,
}

impl LoadArguments {
    /// The rate, if either was given.
    pub(crate) fn rate(&self) -> Result<Option<Rate>, ModelError> {
        match (self.rate, self.interval) {
            (Some(rate), _) => Ok(Some(rate)),
            (None, Some(interval)) => Rate::from_interval(interval).map(Some),
            (None, None) => Ok(None),
        }
    }
}

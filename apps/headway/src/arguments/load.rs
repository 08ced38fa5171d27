//! How often messages are sent: as a rate or as an interval.

use std::time::Duration;

use clap::Args;
use models::{ModelError, Rate};

use super::{format_duration, parse_positive_duration, parse_rate};

/// `--rate` or `--interval`.
#[derive(Debug, Clone, Args)]
pub(crate) struct RateArguments {
    /// Messages per second, over all streams and connections
    #[arg(long, value_name = "RATE", value_parser = parse_rate, conflicts_with = "interval", allow_negative_numbers = true)]
    rate: Option<Rate>,
    /// Mean time between two messages, instead of --rate
    #[arg(long, value_name = "DURATION", value_parser = parse_positive_duration)]
    interval: Option<Duration>,
}

impl RateArguments {
    /// Returns the mean interval, if either was given.
    pub(crate) fn interval(&self) -> Result<Option<Duration>, ModelError> {
        let of_rate = |rate: Rate| {
            Duration::try_from_secs_f64(rate.interval_s())
                .map_err(|_| ModelError::TooLarge { quantity: "the interval of --rate" })
        };
        match self.interval {
            Some(interval) => Ok(Some(interval)),
            None => self.rate.map(of_rate).transpose(),
        }
    }

    /// Returns the option and its value as they were written, or could have been.
    pub(crate) fn written(&self) -> (&'static str, String) {
        match (self.rate, self.interval) {
            (Some(rate), _) => ("--rate", rate.value().to_string()),
            (None, Some(interval)) => ("--interval", format_duration(interval)),
            (None, None) => ("--rate", "100".to_owned()),
        }
    }

    /// Returns the rate, if either was given.
    pub(crate) fn rate(&self) -> Result<Option<Rate>, ModelError> {
        match (self.rate, self.interval) {
            (Some(rate), _) => Ok(Some(rate)),
            (None, Some(interval)) => Rate::from_interval(interval).map(Some),
            (None, None) => Ok(None),
        }
    }
}

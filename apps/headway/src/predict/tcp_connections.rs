//! `headway predict tcp-connections`: how many parallel TCP connections answer soonest.

use std::num::NonZeroU32;
use std::time::Duration;

use clap::Args;
use models::studies::s1::optimal_connections;
use serde::Serialize;

use super::PredictError;
use crate::arguments::{RateArguments, format_duration, parse_duration};
use crate::failure::Failure;
use crate::output::OutputArguments;

/// How many parallel TCP connections answer soonest
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  headway predict tcp-connections --rate 1000 --rtt 20ms")]
pub(super) struct Arguments {
    #[command(flatten)]
    load: RateArguments,
    /// Round-trip time without loss
    #[arg(long, value_name = "DURATION", default_value = "20ms", value_parser = parse_duration)]
    rtt: Duration,
    #[command(flatten)]
    output: OutputArguments,
}

/// The result, named as in the JSON contract, and the whole number to open.
#[derive(Debug, Serialize)]
struct Answer {
    /// The number that the formula gives, not rounded.
    optimal_connections: f64,
    /// The nearest number that can be opened.
    connections: NonZeroU32,
}

pub(super) fn run(arguments: &Arguments) -> Result<(), Failure> {
    let output = arguments.output.open()?;
    let rate = arguments.load.rate()?.ok_or(PredictError::NoLoad)?;
    let optimal = optimal_connections(rate, arguments.rtt)?;
    let answer = Answer { optimal_connections: optimal.optimum, connections: optimal.connections };
    let text = format!(
        "{:.3} connections are optimal by S1, N = λ·RTT/(2√3): open {}\n  {:<22}{} per second\n  {:<22}{}\n",
        answer.optimal_connections,
        answer.connections,
        "messages",
        rate.value(),
        "round-trip time",
        format_duration(arguments.rtt),
    );
    Ok(output.write(&text, &answer)?)
}

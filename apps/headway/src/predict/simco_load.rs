//! `headway predict simco-load`: the transactions that a firewall control session carries.

use std::num::NonZeroU32;
use std::time::Duration;

use clap::Args;
use models::Rate;
use models::studies::s4::{SimcoWorkload, simco_load, simco_sufficient_streams};
use serde::Serialize;

use crate::arguments::{format_duration, parse_duration, parse_positive_duration, parse_rate};
use crate::failure::Failure;
use crate::output::OutputArguments;

/// The load of a SIMCO session: pinholes opened, refreshed and closed
#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  headway predict simco-load --opening-rate 33.333333 --call-duration 180s \\\n      --refresh 120s --rtt 20ms"
)]
pub(super) struct Arguments {
    /// Pinholes opened per second; a call opens two
    #[arg(long, value_name = "RATE", value_parser = parse_rate)]
    opening_rate: Rate,
    /// Mean call duration, exponentially distributed
    #[arg(long, value_name = "DURATION", value_parser = parse_positive_duration)]
    call_duration: Duration,
    /// Refresh interval, the lifetime asked for
    #[arg(long, value_name = "DURATION", value_parser = parse_positive_duration)]
    refresh: Duration,
    /// Round-trip time without loss
    #[arg(long, value_name = "DURATION", default_value = "20ms", value_parser = parse_duration)]
    rtt: Duration,
    #[command(flatten)]
    output: OutputArguments,
}

/// The result, named as in the JSON contract.
#[derive(Debug, Serialize)]
struct Answer {
    interval_ms: f64,
    interval_exact_ms: f64,
    transactions_per_s: f64,
    calls: f64,
    sufficient_streams: NonZeroU32,
}

pub(super) fn run(arguments: &Arguments) -> Result<(), Failure> {
    let output = arguments.output.open()?;
    let workload = SimcoWorkload {
        opening_rate: arguments.opening_rate,
        call_duration: arguments.call_duration,
        refresh: arguments.refresh,
    };
    let load = simco_load(&workload)?;
    let answer = Answer {
        interval_ms: load.interval_s * 1e3,
        interval_exact_ms: load.interval_exact_s * 1e3,
        transactions_per_s: load.transactions_per_second,
        calls: load.calls,
        sufficient_streams: simco_sufficient_streams(&workload, arguments.rtt)?,
    };
    let text = format!(
        "A transaction every {:.3} ms by S4 (3), {:.3} ms exactly\n  \
         {:<22}{:.3} per second\n  {:<22}{:.1} in progress on average\n  {:<22}{} by S4 (8), RTT {}\n",
        answer.interval_ms,
        answer.interval_exact_ms,
        "transactions",
        answer.transactions_per_s,
        "calls",
        answer.calls,
        "sufficient streams",
        answer.sufficient_streams,
        format_duration(arguments.rtt),
    );
    Ok(output.write(&text, &answer)?)
}

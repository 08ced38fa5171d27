//! `headway predict startup`: the delay of messages in slow start on a new path.

use std::fmt::Write;
use std::num::NonZeroU32;
use std::time::Duration;

use clap::Args;
use models::startup::{MessageTransfer, Startup, StartupPrediction, WindowRule, predict};
use serde::Serialize;

use super::{PredictError, ms};
use crate::arguments::{format_duration, parse_duration, parse_positive_duration, parse_size};
use crate::failure::Failure;
use crate::output::OutputArguments;

/// The delay of messages in slow start on a new path
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  headway predict startup --message 30000 --interval 33ms --rtt 200ms\n  headway predict startup --message 1452 \
                        --interval 10ms --rtt 50ms \\\n      --overbooking --initial-window 4404"
)]
pub(super) struct Arguments {
    /// User data per message, in octets
    #[arg(long, value_name = "BYTES", value_parser = parse_size)]
    message: u32,
    /// Time between two messages
    #[arg(long, value_name = "DURATION", value_parser = parse_positive_duration)]
    interval: Duration,
    /// Round-trip time of the new path
    #[arg(long, value_name = "DURATION", default_value = "20ms", value_parser = parse_duration)]
    rtt: Duration,
    /// Initial congestion window in octets
    #[arg(long, value_name = "BYTES", default_value = "4380", value_parser = parse_size)]
    initial_window: u32,
    /// Path MTU in octets
    #[arg(long, value_name = "BYTES", default_value = "1500", value_parser = parse_size)]
    mtu: u32,
    /// The rules of RFC 9260: the flight may exceed the window by up to a packet less one octet, chunks count with
    /// their headers, waiting messages share packets; the study has none of this
    #[arg(long)]
    overbooking: bool,
    #[command(flatten)]
    output: OutputArguments,
}

/// The result, named as in the JSON contract.
#[derive(Debug, Serialize)]
struct Answer {
    penalty_ms: f64,
    messages: Vec<Transfer>,
}

#[derive(Debug, Serialize)]
struct Transfer {
    n: u32,
    transfer_ms: f64,
}

pub(super) fn run(arguments: &Arguments) -> Result<(), Failure> {
    let output = arguments.output.open()?;
    let startup = Startup {
        message_bytes: NonZeroU32::new(arguments.message).ok_or(PredictError::EmptyMessage)?,
        interval: arguments.interval,
        rtt: arguments.rtt,
        initial_window_bytes: NonZeroU32::new(arguments.initial_window).ok_or(PredictError::NoWindow)?,
        mtu_bytes: arguments.mtu,
        window_rule: if arguments.overbooking { WindowRule::Overbooking } else { WindowRule::WithinWindow },
    };
    let prediction = predict(&startup)?;
    let transfer =
        |message: &MessageTransfer| Transfer { n: message.number, transfer_ms: ms(message.transfer) };
    let answer = Answer {
        penalty_ms: ms(prediction.penalty),
        messages: prediction.messages.iter().map(transfer).collect(),
    };
    Ok(output.write(&text(arguments, &prediction), &answer)?)
}

fn text(arguments: &Arguments, prediction: &StartupPrediction) -> String {
    let mut text = format!(
        "Start-up penalty {:.3} ms by S5: {} octets every {}, RTT {}\n\n{:>8} {:>12} {:>12} {:>8} {:>12}\n",
        ms(prediction.penalty),
        arguments.message,
        format_duration(arguments.interval),
        format_duration(arguments.rtt),
        "message",
        "arrival ms",
        "transfer ms",
        "rounds",
        "offset ms",
    );
    for message in prediction.messages.iter().take(MOST_LINES) {
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "{:>8} {:>12.3} {:>12.3} {:>8} {:>12.3}",
            message.number,
            ms(message.arrival),
            ms(message.transfer),
            message.rounds,
            ms(message.offset),
        );
    }
    let left = prediction.messages.len().saturating_sub(MOST_LINES);
    if left > 0 {
        let _ = writeln!(text, "  … and {left} more: --json FILE has them all");
    }
    if !prediction.is_complete {
        let _ =
            writeln!(text, "  The start-up is not over after so many messages; the penalty so far is given.");
    }
    text
}

/// Messages in the text form.
const MOST_LINES: usize = 40;

//! `headway predict throughput`: how fast a sender without pause is over a path that loses packets.

use std::fmt::Write;
use std::num::NonZeroU32;
use std::time::Duration;

use clap::{Args, ValueEnum};
use models::Probability;
use models::throughput::cubic::{CubicParameters, Region, mean_window};
use models::throughput::{BulkFlow, SendingRate, pftk, rfc5348, square_root};
use serde::Serialize;

use super::PredictError;
use crate::arguments::{
    format_duration, parse_duration, parse_positive_duration, parse_probability, parse_size,
};
use crate::failure::Failure;
use crate::output::OutputArguments;

/// The rate of a sender without pause on a path that loses packets
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  headway predict throughput --rtt 100ms --loss 1%\n  headway predict throughput --model pftk --rtt 100ms \
                        --loss 0.1% \\\n      --rto 200ms --window 64\n  headway predict throughput --model rfc5348 --rtt 50ms --loss 2% \\\n      --rto 200ms \
                        --segment 1200 --json -"
)]
pub(super) struct Arguments {
    /// The model whose formula is used
    #[arg(long, value_enum, default_value = "pftk")]
    model: Model,
    /// Loss events per packet: the first losses of a window, later ones in the same window not counted
    #[arg(long, value_name = "PROBABILITY", default_value = "1%", value_parser = parse_probability, allow_negative_numbers = true)]
    loss: Probability,
    /// The round-trip time
    #[arg(long, value_name = "DURATION", default_value = "20ms", value_parser = parse_duration)]
    rtt: Duration,
    /// Retransmission timeout; without meaning for square-root and cubic [default: 1s; for rfc5348 four round-trip
    /// times]
    #[arg(long, value_name = "DURATION", value_parser = parse_positive_duration)]
    rto: Option<Duration>,
    /// User data of a packet in octets
    #[arg(long, value_name = "BYTES", default_value = "1460", value_parser = parse_size)]
    segment: u32,
    /// Largest window in packets [default: none]
    #[arg(long, value_name = "PACKETS", value_parser = clap::value_parser!(u32).range(1..))]
    window: Option<u32>,
    /// Packets per acknowledgment, for senders whose window grows by acknowledgments; without meaning for cubic
    #[arg(long, value_name = "N", default_value = "1", value_parser = clap::value_parser!(u32).range(1..=1000))]
    packets_per_ack: u32,
    #[command(flatten)]
    output: OutputArguments,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Model {
    /// Reno without timeouts: √(3/(2bp))/RTT
    SquareRoot,
    /// Padhye, Firoiu, Towsley and Kurose: Reno with timeouts, all cases
    Pftk,
    /// The approximation of the same authors
    PftkApproximate,
    /// The equation of RFC 5348, for congestion control by equation
    Rfc5348,
    /// CUBIC's mean window, RFC 9438
    Cubic,
}

/// The result, named as in the JSON contract.
#[derive(Debug, Serialize)]
struct Answer {
    packets_per_s: f64,
    bytes_per_s: f64,
    mbit_per_s: f64,
    window_packets: f64,
    equation: &'static str,
}

pub(super) fn run(arguments: &Arguments) -> Result<(), Failure> {
    let output = arguments.output.open()?;
    let segment = NonZeroU32::new(arguments.segment).ok_or(PredictError::EmptySegment)?;
    let (rate, equation) = arguments.rate()?;
    let bytes_per_s = rate.bytes_per_s(segment);
    let answer = Answer {
        packets_per_s: rate.packets_per_s,
        bytes_per_s,
        mbit_per_s: bytes_per_s * 8.0 / 1e6,
        window_packets: rate.window_packets,
        equation,
    };
    Ok(output.write(&arguments.text(&answer), &answer)?)
}

impl Arguments {
    fn flow(&self) -> BulkFlow {
        let rto = match self.model {
            Model::Rfc5348 => rfc5348::recommended_rto(self.rtt),
            Model::SquareRoot | Model::Pftk | Model::PftkApproximate | Model::Cubic => {
                BulkFlow::default().rto
            }
        };
        BulkFlow {
            loss: self.loss,
            rtt: self.rtt,
            rto: self.rto.unwrap_or(rto),
            packets_per_ack: NonZeroU32::new(self.packets_per_ack).unwrap_or(NonZeroU32::MIN),
            window_packets: self.window.and_then(NonZeroU32::new),
        }
    }

    fn rate(&self) -> Result<(SendingRate, &'static str), PredictError> {
        let flow = self.flow();
        if self.loss == Probability::ZERO && flow.window_packets.is_none() {
            return Err(PredictError::UnlimitedRate);
        }
        Ok(match self.model {
            Model::SquareRoot => (square_root(&flow)?, "square root"),
            Model::Pftk => (pftk::rate(&flow)?, "PFTK (31),(32)"),
            Model::PftkApproximate => (pftk::approximate_rate(&flow)?, "PFTK (33)"),
            Model::Rfc5348 => (rfc5348::rate(&flow)?, "RFC 5348 §3.1"),
            Model::Cubic => match mean_window(&flow, &CubicParameters::default())? {
                (rate, Region::Cubic) => (rate, "RFC 9438 §5"),
                (rate, Region::RenoFriendly) => (rate, "RFC 9438 §4.3, Reno-friendly"),
            },
        })
    }

    fn text(&self, answer: &Answer) -> String {
        let mut text = format!(
            "{:.3} Mbit/s by {}: {:.1} packets per second, {:.1} per round trip\n",
            answer.mbit_per_s, answer.equation, answer.packets_per_s, answer.window_packets
        );
        let mut line = |name: &str, value: String| {
            // Writing to a string cannot fail.
            let _ = writeln!(text, "  {name:<24}{value}");
        };
        line("round-trip time", format_duration(self.rtt));
        line("loss events", format!("{} of the packets", self.loss));
        line("packets", format!("{} octets of user data", self.segment));
        if matches!(self.model, Model::Pftk | Model::PftkApproximate | Model::Rfc5348) {
            line("retransmission timeout", format_duration(self.flow().rto));
        }
        text
    }
}

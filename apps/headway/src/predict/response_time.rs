//! `headway predict response-time`: the mean response time of a transaction, by a study's formulas or our
//! model.

use std::fmt::Write;
use std::num::NonZeroU32;
use std::time::Duration;

use clap::{Args, ValueEnum};
use models::Rate;
use models::resequencing::{self, CcdfPoint, Scenario, bursts};
use models::studies::{Conditions, Derivation, Flow, s1, s4};
use serde::Serialize;

use super::loss::{Loss, parse_loss};
use super::{PredictError, Study, ms};
use crate::arguments::{RateArguments, format_duration, parse_duration, parse_positive_duration};
use crate::failure::Failure;
use crate::output::OutputArguments;

/// The response time of a transaction on a path that loses packets
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  headway predict response-time --transport sctp --streams 6 --rtt 20ms \\\n      \
                        --loss 1% --rate 100 --study model --ccdf\n  headway predict response-time --transport sctp --rate 100 --study model \\\n      --loss bursts:4950ms,50ms"
)]
pub(super) struct Arguments {
    /// The protocol that carries the messages
    #[arg(long, value_enum)]
    transport: Transport,
    /// SCTP streams, dealt round robin [default: 1]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=65535))]
    streams: Option<u32>,
    /// Parallel TCP connections, dealt round robin [default: 1]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=65535))]
    connections: Option<u32>,
    /// Round-trip time without loss
    #[arg(long, value_name = "DURATION", default_value = "20ms", value_parser = parse_duration)]
    rtt: Duration,
    /// Loss probability of a packet, the same in both directions; or, with --study model and SCTP, in bursts:
    /// bursts:GOOD,BAD,h,k (mean time between bursts and mean length of one; h of the packets survive the bad state and k the
    /// good one), ge:p,r,h,k (per message from a good to a bad state with p, back with r)
    #[arg(long, value_name = "PROBABILITY|bursts:GOOD,BAD", default_value = "1%", value_parser = parse_loss, allow_negative_numbers = true)]
    loss: Loss,
    #[command(flatten)]
    load: RateArguments,
    /// Smallest retransmission timeout; without meaning for udp [default: 1s; with --study model 200ms for
    /// tcp and for the signalling profile]
    #[arg(long, value_name = "DURATION", value_parser = parse_positive_duration)]
    rto: Option<Duration>,
    /// UDP: wait before the first retransmission of the request; doubles each time [default: 500ms]
    #[arg(long, value_name = "DURATION", value_parser = parse_positive_duration)]
    first_timeout: Option<Duration>,
    /// Processing time of both ends together
    #[arg(long, value_name = "DURATION", default_value = "0.5ms", value_parser = parse_duration)]
    processing: Duration,
    /// The study whose formulas are used
    #[arg(long, value_enum, default_value = "S4", ignore_case = true)]
    study: Study,
    /// How SCTP finds losses, with --study model [default: signalling]
    #[arg(long, value_enum)]
    profile: Option<Profile>,
    /// Print the complementary distribution function, too, with --study model
    #[arg(long)]
    ccdf: bool,
    #[command(flatten)]
    output: OutputArguments,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Transport {
    /// SCTP, ordered within each stream
    Sctp,
    /// SCTP, unordered delivery
    SctpUnordered,
    /// TCP
    Tcp,
    /// UDP with retransmission by the client, as SIP does it
    Udp,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Profile {
    /// RACK, tail loss probes, immediate SACKs, RTO.Min 200 ms
    Signalling,
    /// To the letter of RFC 9260: three missing reports, RTO.Min 1 s
    Rfc9260,
}

/// The result, named as in the JSON contract.
#[derive(Debug, Serialize)]
struct Answer {
    response_ms: f64,
    one_way_extra_ms: f64,
    detection_ms: f64,
    sufficient_streams: Option<NonZeroU32>,
    equation: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    ccdf: Option<Vec<(f64, f64)>>,
}

pub(super) fn run(arguments: &Arguments) -> Result<(), Failure> {
    let output = arguments.output.open()?;
    arguments.check()?;
    let answer = match arguments.study {
        Study::S1 | Study::S4 => by_study(arguments)?,
        Study::Model => by_model(arguments)?,
    };
    let text = arguments.text(&answer)?;
    Ok(output.write(&text, &answer)?)
}

/// Returns the formulas of S1 and S4.
fn by_study(arguments: &Arguments) -> Result<Answer, PredictError> {
    let flow = match arguments.transport {
        Transport::Sctp => Flow::Streams(count(arguments.streams)),
        Transport::SctpUnordered => Flow::Unordered,
        Transport::Tcp => Flow::Connections(count(arguments.connections)),
        Transport::Udp => return udp_by_study(arguments),
    };
    let conditions = Conditions {
        rtt: arguments.rtt,
        loss: arguments.loss.mean(),
        rate: arguments.rate()?,
        rto: arguments.rto.unwrap_or(STUDY_RTO),
        processing: arguments.processing,
    };
    let derivation = match arguments.study {
        Study::S1 => s1::response_time(&conditions, flow)?,
        Study::S4 | Study::Model => s4::response_time(&conditions, flow)?,
    };
    Ok(Answer::from_derivation(&derivation, equation(arguments.study, flow)))
}

fn udp_by_study(arguments: &Arguments) -> Result<Answer, PredictError> {
    let first_timeout = arguments.first_timeout();
    let response =
        s4::udp_response_time(arguments.rtt, arguments.loss.mean(), first_timeout, arguments.processing)?;
    let fixed = arguments.rtt.saturating_add(arguments.processing);
    Ok(Answer {
        response_ms: ms(response),
        one_way_extra_ms: ms(response.saturating_sub(fixed)) / 2.0,
        detection_ms: ms(first_timeout),
        sufficient_streams: None,
        equation: "S4 (10)",
        ccdf: None,
    })
}

/// Predicts by our own model.
fn by_model(arguments: &Arguments) -> Result<Answer, PredictError> {
    let transport = match arguments.transport {
        Transport::Sctp => resequencing::Transport::Sctp { streams: count(arguments.streams) },
        Transport::SctpUnordered => resequencing::Transport::SctpUnordered,
        Transport::Tcp => resequencing::Transport::Tcp { connections: count(arguments.connections) },
        Transport::Udp => resequencing::Transport::Udp { first_timeout: arguments.first_timeout() },
    };
    let scenario = Scenario {
        rtt: arguments.rtt,
        loss: arguments.loss.mean(),
        rate: arguments.rate()?,
        processing: arguments.processing,
        profile: match arguments.profile {
            None | Some(Profile::Signalling) => resequencing::Profile::Signalling,
            Some(Profile::Rfc9260) => resequencing::Profile::Rfc9260,
        },
        rto_min: arguments.rto,
    };
    let prediction = match arguments.loss.channel(scenario.rate)? {
        None => resequencing::response_time(&scenario, &transport)?,
        Some(channel) => bursts::response_time(&scenario, &channel, &transport)?,
    };
    let (sufficient_streams, equation) = match (arguments.loss, arguments.transport) {
        (Loss::Bursts(_) | Loss::Steps(_), _) => (None, BURSTS_EQUATION),
        (Loss::Independent(_), Transport::Sctp | Transport::SctpUnordered) => {
            (resequencing::sufficient_streams(&scenario), MODEL_EQUATION)
        }
        (Loss::Independent(_), Transport::Tcp) => (None, MODEL_EQUATION),
        (Loss::Independent(_), Transport::Udp) => (None, "S4 (10), with its distribution"),
    };
    let pair = |point: &CcdfPoint| (point.response_ms, point.probability);
    Ok(Answer {
        response_ms: ms(prediction.mean),
        one_way_extra_ms: ms(prediction.one_way_extra),
        detection_ms: ms(prediction.detection),
        sufficient_streams,
        equation,
        ccdf: arguments.ccdf.then(|| prediction.ccdf.iter().map(pair).collect()),
    })
}

impl Arguments {
    /// Refuses combinations that have no meaning.
    fn check(&self) -> Result<(), PredictError> {
        let transport = || format!("--transport {}", self.transport.name());
        let study = || format!("--study {}", if self.study == Study::S1 { "S1" } else { "S4" });
        let mismatch = |option, other, remedy| Err(PredictError::Mismatch { option, other, remedy });
        if let Some(streams) = self.streams.filter(|_| self.transport != Transport::Sctp) {
            let option = format!("--streams {streams}");
            return mismatch(option, transport(), "leave it out, or write --transport sctp");
        }
        if let Some(connections) = self.connections.filter(|_| self.transport != Transport::Tcp) {
            let option = format!("--connections {connections}");
            return mismatch(option, transport(), "leave it out, or write --transport tcp");
        }
        if let Some(timeout) = self.first_timeout.filter(|_| self.transport != Transport::Udp) {
            let option = format!("--first-timeout {}", format_duration(timeout));
            return mismatch(option, transport(), "leave it out, or write --rto");
        }
        if self.study == Study::S1 && self.transport == Transport::Udp {
            return mismatch(transport(), study(), "write --study S4 or --study model");
        }
        if let Some(profile) = self.profile.filter(|_| self.study != Study::Model) {
            let option = format!("--profile {}", profile.name());
            return mismatch(option, study(), "leave it out, or write --study model");
        }
        if !matches!(self.loss, Loss::Independent(_)) {
            if self.study != Study::Model {
                let remedy = "it takes losses as independent, write --study model";
                return mismatch("--loss in bursts".to_owned(), study(), remedy);
            }
            if matches!(self.transport, Transport::Tcp | Transport::Udp) {
                let remedy = "bursts are modelled for sctp and sctp-unordered";
                return mismatch("--loss in bursts".to_owned(), transport(), remedy);
            }
        }
        if self.ccdf && self.study != Study::Model {
            return mismatch("--ccdf".to_owned(), study(), "it gives means only, write --study model");
        }
        Ok(())
    }

    /// Returns the message rate; a plain default for UDP, whose losses no other message reveals.
    fn rate(&self) -> Result<Rate, PredictError> {
        match self.load.rate()? {
            Some(rate) => Ok(rate),
            None if self.transport == Transport::Udp => Ok(Rate::per_second(1.0)?),
            None => Err(PredictError::NoLoad),
        }
    }

    fn first_timeout(&self) -> Duration {
        self.first_timeout.unwrap_or(UDP_FIRST_TIMEOUT)
    }

    fn text(&self, answer: &Answer) -> Result<String, PredictError> {
        let mut text = format!(
            "{}: mean response time {:.3} ms by {}\n",
            self.title(),
            answer.response_ms,
            answer.equation
        );
        let mut line = |name: &str, value: String| {
            // Writing to a string cannot fail.
            let _ = writeln!(text, "  {name:<24}{value}");
        };
        line("round-trip time", format_duration(self.rtt));
        let bursts = if !matches!(self.loss, Loss::Independent(_)) { ", in bursts" } else { "" };
        line("loss", format!("{} of the packets in each direction{bursts}", self.loss.mean()));
        if let Some(rate) = self.load.rate()? {
            line("messages", format!("{} per second", rate.value()));
        }
        line("processing", format_duration(self.processing));
        line(
            "detection",
            format!("{:.3} ms from sending a lost packet to sending it again", answer.detection_ms),
        );
        line("one-way extra delay", format!("{:.3} ms on average", answer.one_way_extra_ms));
        if let Some(streams) = answer.sufficient_streams {
            line("sufficient streams", streams.to_string());
        }
        for (share, limit) in QUANTILES {
            let beyond = |ccdf: &Vec<(f64, f64)>| ccdf.iter().find(|(_, above)| *above <= limit).copied();
            if let Some((response_ms, _)) = answer.ccdf.as_ref().and_then(beyond) {
                line(&format!("{share} take longer than"), format!("{response_ms:.1} ms"));
            }
        }
        Ok(text)
    }

    fn title(&self) -> String {
        let plural = |number: u32, one: &str| {
            if number == 1 { format!("1 {one}") } else { format!("{number} {one}s") }
        };
        match self.transport {
            Transport::Sctp => format!("SCTP, {}", plural(count(self.streams).get(), "stream")),
            Transport::SctpUnordered => "SCTP, unordered".to_owned(),
            Transport::Tcp => format!("TCP, {}", plural(count(self.connections).get(), "connection")),
            Transport::Udp => format!("UDP, first timeout {}", format_duration(self.first_timeout())),
        }
    }
}

impl Answer {
    fn from_derivation(derivation: &Derivation, equation: &'static str) -> Self {
        Self {
            response_ms: ms(derivation.response_time),
            one_way_extra_ms: ms(derivation.one_way_extra),
            detection_ms: ms(derivation.detection),
            sufficient_streams: derivation.sufficient_streams,
            equation,
            ccdf: None,
        }
    }
}

impl Transport {
    fn name(self) -> &'static str {
        match self {
            Self::Sctp => "sctp",
            Self::SctpUnordered => "sctp-unordered",
            Self::Tcp => "tcp",
            Self::Udp => "udp",
        }
    }
}

impl Profile {
    fn name(self) -> &'static str {
        match self {
            Self::Signalling => "signalling",
            Self::Rfc9260 => "rfc9260",
        }
    }
}

fn count(number: Option<u32>) -> NonZeroU32 {
    number.and_then(NonZeroU32::new).unwrap_or(NonZeroU32::MIN)
}

/// Returns the equations used, numbered as in `docs/models.md`.
fn equation(study: Study, flow: Flow) -> &'static str {
    match (study, flow) {
        (Study::S1, Flow::Streams(_) | Flow::ONE_CONNECTION) => "S1 (1),(2),(5)",
        (Study::S1, Flow::Unordered) => "S1 (1),(3),(5)",
        (Study::S1, Flow::Connections(_)) => "S1 (2),(4),(5)",
        (Study::S4, flow) => s4_equation(flow),
        (Study::Model, _) => MODEL_EQUATION,
    }
}

/// Returns the equations of S4 for the mean response time, numbered as in `docs/models.md`.
pub(crate) fn s4_equation(flow: Flow) -> &'static str {
    match flow {
        Flow::Streams(_) | Flow::Unordered | Flow::ONE_CONNECTION => "S4 (1),(4)-(7)",
        Flow::Connections(_) => "S4 (1),(4)-(7) with S1 (4)",
    }
}

const BURSTS_EQUATION: &str = "the resequencing model with losses in bursts";
const MODEL_EQUATION: &str = "the resequencing model, P(W <= t) = (1 - p R(t)) Phi(t)";
/// The retransmission timeout of the studies.
pub(crate) const STUDY_RTO: Duration = Duration::from_secs(1);
/// T1 of SIP, RFC 3261 §17.1.1.1.
const UDP_FIRST_TIMEOUT: Duration = Duration::from_millis(500);
/// Printed of a distribution: this share of the responses, as a probability.
const QUANTILES: [(&str, f64); 4] = [("10%", 0.1), ("1%", 0.01), ("0.1%", 1e-3), ("0.01%", 1e-4)];

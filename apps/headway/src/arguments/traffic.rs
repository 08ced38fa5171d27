//! The options for the traffic: how often, how much, over which transports.

use std::num::NonZeroU32;
use std::time::Duration;

use clap::Args;
use lab::{Arrivals, CompareConfig, TransportError, TransportList, WORKLOADS, Workload};
use sctp_core::Profile;
use workload::{ArrivalSpec, MessageSize};

use super::{
    RateArguments, UsageError, format_duration, parse_congestion, parse_duration, parse_message,
    parse_positive_duration, parse_seed,
};

/// The workload options that `compare` and `load` share.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Workload")]
pub(crate) struct TrafficArguments {
    #[command(flatten)]
    load: RateArguments,
    /// Law of the send times: poisson, constant, onoff:ON,OFF (bursts) or trace:FILE (recorded intervals) [default: poisson; video: constant]
    #[arg(long, value_name = "LAW")]
    arrivals: Option<ArrivalSpec>,
    /// Size of a request and of its response, in octets, for video in the mean; workloads like simco have messages of their own lengths [default: 64; video: 6395]
    #[arg(long, value_name = "SIZE", value_parser = parse_message)]
    message: Option<MessageSize>,
    /// How long requests are sent
    #[arg(long, value_name = "DURATION", default_value = "20s", value_parser = parse_positive_duration)]
    duration: Duration,
    /// How often everything is run, each time with other send times and losses
    #[arg(long, value_name = "N", default_value = "1", value_parser = clap::value_parser!(u32).range(1..=1000))]
    repeat: u32,
    /// Run one transport after the other; from 5000 requests per second in total on, that is always so
    #[arg(long)]
    sequential: bool,
    #[arg(long, value_name = "LIST", default_value = TransportList::DEFAULT, value_parser = parse_transports, help = transports())]
    transport: TransportList,
    /// SCTP profile: signalling (RACK, tail loss probes, RTO.Min 200 ms), signalling-redundant (and short messages travel twice), rfc9260 (to the letter) or studies (as their stacks did)
    #[arg(long, value_name = "NAME", default_value = "signalling")]
    profile: Profile,
    /// Congestion control of the kernel's TCP
    #[arg(long, value_name = "NAME", default_value = "cubic", value_parser = parse_congestion)]
    tcp_congestion: String,
    #[arg(long, value_name = "NAME", default_value = "echo", value_parser = parse_workload, help = workloads())]
    workload: Workload,
    /// Seed of everything random: the same seed gives the same send times and the same losses
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = parse_seed)]
    seed: u64,
}

impl TrafficArguments {
    /// Returns a comparison with this traffic; the path and all else as by default.
    pub(crate) fn config(&self) -> Result<CompareConfig, UsageError> {
        let defaults = CompareConfig::default();
        let usual = lab::Traffic::usual(self.workload);
        let interval = self.load.interval()?.unwrap_or(usual.interval);
        self.check_amount(interval)?;
        Ok(CompareConfig {
            traffic: lab::Traffic {
                interval,
                arrivals: self.arrivals.clone().map(Arrivals::load).transpose()?.unwrap_or(usual.arrivals),
                message_bytes: self.message.unwrap_or(usual.message_bytes),
                duration: self.duration,
                deadline: None,
            },
            repeat: NonZeroU32::new(self.repeat).unwrap_or(NonZeroU32::MIN),
            schedule: if self.sequential { lab::Schedule::Sequential } else { lab::Schedule::Automatic },
            transports: self.transport.clone(),
            profile: self.profile.to_string(),
            tcp_congestion: self.tcp_congestion.clone(),
            workload: self.workload,
            seed: self.seed,
            ..defaults
        })
    }

    /// Checks the number of requests, each of which is remembered until the end.
    fn check_amount(&self, interval: Duration) -> Result<(), UsageError> {
        if self.duration > LONGEST_RUN {
            let value = format_duration(self.duration);
            return Err(UsageError::value("--duration", value, "that is too long", "write at most 24h"));
        }
        let (option, value) = self.load.written();
        if interval < SHORTEST_INTERVAL {
            let because = "that is more than one request per microsecond";
            return Err(UsageError::value(option, value, because, "write at most --rate 1000000"));
        }
        let requests = self.duration.as_secs_f64() / interval.as_secs_f64();
        if requests <= MOST_REQUESTS {
            return Ok(());
        }
        Err(UsageError::Value {
            option,
            value,
            because: format!(
                "in --duration {} that is {requests:.0} requests",
                format_duration(self.duration)
            ),
            remedy: format!("choose at most {MOST_REQUESTS:.0} for one run, and --repeat for more"),
        })
    }
}

/// Returns the description of `--workload`.
fn workloads() -> String {
    let answered = WORKLOADS.iter().filter(|workload| workload.is_answered());
    let described = answered.map(|workload| format!("{workload} ({})", workload.meaning()));
    format!("The kind of messages: {}", described.collect::<Vec<_>>().join(", "))
}

/// Reads the name of a workload that can be compared.
fn parse_workload(text: &str) -> Result<Workload, String> {
    let known = text.parse::<Workload>();
    known.map_err(|_| format!("`{text}` is no workload with response times: use {}", Workload::answered()))
}

/// Returns the description of `--transport`.
fn transports() -> String {
    format!("Transports: {}", lab::described_transports())
}

/// Reads the list of transports.
fn parse_transports(text: &str) -> Result<TransportList, String> {
    text.parse().map_err(|error: TransportError| match error {
        TransportError::Twice(_) => format!("{error}; --repeat runs everything several times"),
        TransportError::Unknown { .. } | TransportError::Argument { .. } | TransportError::Count { .. } => {
            error.to_string()
        }
    })
}

/// How long the server holds each reply: `compare` and `echo`.
#[derive(Debug, Clone, Args)]
pub(crate) struct ProcessingArguments {
    /// How long the server holds each reply
    #[arg(long, value_name = "DURATION", default_value = "0s", value_parser = parse_duration, help_heading = "Workload")]
    processing: Duration,
}

impl ProcessingArguments {
    /// Returns the processing time, checked.
    pub(crate) fn processing(&self) -> Result<Duration, UsageError> {
        if self.processing <= LONGEST_PROCESSING {
            return Ok(self.processing);
        }
        let value = format_duration(self.processing);
        Err(UsageError::value("--processing", value, "requests are given up before", "write at most 10s"))
    }
}

const LONGEST_RUN: Duration = Duration::from_secs(24 * 3600);
const SHORTEST_INTERVAL: Duration = Duration::from_micros(1);
/// The most requests: each takes about 100 octets of memory, times the number of transports.
const MOST_REQUESTS: f64 = 10_000_000.0;
/// The drain time of a run.
const LONGEST_PROCESSING: Duration = Duration::from_secs(10);

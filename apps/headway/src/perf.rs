//! `headway perf`: how much an association or a connection carries, and what that costs both ends.

mod client;
mod connection;
mod control;
mod cpu;
mod dial;
mod host;
mod payload;
mod pump;
mod result;
mod server;
mod tally;
mod threads;

pub(crate) use control::per_second;

use std::net::SocketAddr;

use clap::{Args, Subcommand, ValueEnum};

use crate::failure::{CommandError, Failure};

/// Throughput and round trips over SCTP and TCP, and the processor time they cost
#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  headway perf server --listen 127.0.0.1:5201\n  headway perf client --to 127.0.0.1:5201 --message 1200"
)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    end: End,
}

#[derive(Debug, Subcommand)]
enum End {
    Server(server::Arguments),
    Client(client::Arguments),
}

/// The protocol that carries the messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum MessageProtocol {
    /// Our SCTP, in UDP or after `ip:` over IP
    Sctp,
    /// The kernel's TCP
    Tcp,
}

/// The rules of SCTP's congestion window.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum SctpCongestion {
    /// RFC 9260 §7.2: one packet more a round trip, half after a loss
    Rfc9260,
    /// CUBIC (RFC 9438), as the kernel's TCP
    Cubic,
    /// Westwood+: a loss leaves what the path was seen to carry; for lossy paths of your own
    Westwood,
    /// BBRv3: the rate that the path was seen to deliver, whatever is lost below 2 %; for long lossy paths
    Bbr,
}

impl SctpCongestion {
    const fn algorithm(self) -> sctp::CongestionAlgorithm {
        match self {
            Self::Rfc9260 => sctp::CongestionAlgorithm::Rfc9260,
            Self::Cubic => sctp::CongestionAlgorithm::Cubic,
            Self::Westwood => sctp::CongestionAlgorithm::Westwood,
            Self::Bbr => sctp::CongestionAlgorithm::Bbr,
        }
    }
}

impl MessageProtocol {
    const fn name(self) -> &'static str {
        match self {
            Self::Sctp => "sctp",
            Self::Tcp => "tcp",
        }
    }
}

/// The reason why nothing was measured, or not all of it.
#[derive(Debug, thiserror::Error)]
pub(crate) enum PerfError {
    #[error("--listen '{address}' over {protocol}: {because}; {remedy}")]
    Listen { address: SocketAddr, protocol: &'static str, because: String, remedy: &'static str },
    #[error(
        "--to '{to}' over {protocol}: {because}; start `headway perf server --transport {protocol}` there, or correct the address"
    )]
    Unreachable { to: String, protocol: &'static str, because: String },
    #[error(
        "the server is measuring for somebody else; wait for that to end, or start another one at another port"
    )]
    Busy,
    #[error("the run broke off: {0}")]
    BrokeOff(String),
    #[error(
        "{0} messages arrived with another length than --message says: they were cut or joined on the way"
    )]
    WrongLength(u64),
    #[error(
        "--fresh: the server counted what arrived without reading it, as older versions do; start one of this version there, or leave --fresh out"
    )]
    NotRead,
    #[error(transparent)]
    Tcp(#[from] lab::RealError),
    #[error("the system refuses what a measurement needs: {0}")]
    System(#[from] std::io::Error),
}

impl CommandError for PerfError {}

/// Returns the error for something between the two ends that went wrong.
fn broke_off(error: impl std::fmt::Display) -> PerfError {
    PerfError::BrokeOff(error.to_string())
}

pub(crate) fn run(arguments: &Arguments) -> Result<(), Failure> {
    match &arguments.end {
        End::Server(arguments) => server::run(arguments),
        End::Client(arguments) => client::run(arguments),
    }
}

//! The options of SIMCO's transactions.

use std::time::Duration;

use clap::{Args, ValueEnum};
use simco::{
    DisableRequest, EnableParameters, EnableParity, EnableRequest, GroupId, IpVersion, Lifetime, Location,
    NatMode, PolicyRequest, PolicyRuleId, ReserveParameters, ReserveParity, ReserveRequest,
    TransportProtocol,
};

use super::tuple::{Side, parse_protocol};
use crate::output::OutputArguments;

/// A pinhole's endpoints and lifetime.
#[derive(Debug, Args)]
pub(super) struct PinholeArguments {
    /// The host and ports in the protected network, such as 10.1.8.3:12345/udp or 10.1.8.3:5004+2/udp
    #[arg(long, value_name = "TUPLE")]
    internal: Side,
    /// The host and ports outside, such as 203.0.113.9:*/udp or 198.51.100.0/24:*/udp
    #[arg(long, value_name = "TUPLE")]
    external: Side,
    /// The direction in which packets, of TCP first segments, may go
    #[arg(long, value_enum, default_value = "inbound")]
    direction: Direction,
    /// Whether a translator keeps the parity of ports
    #[arg(long, value_enum, default_value = "any")]
    parity: Parity,
    /// How long, in whole seconds
    #[arg(long, value_name = "D", default_value = "300s", value_parser = parse_lifetime)]
    lifetime: Lifetime,
}

/// Open a pinhole (PER)
#[derive(Debug, Args)]
pub(super) struct EnableArguments {
    #[command(flatten)]
    pinhole: PinholeArguments,
    /// The group to join [default: one of its own]
    #[arg(long, value_name = "GID")]
    group: Option<u32>,
    #[command(flatten)]
    pub(super) output: OutputArguments,
}

/// Open a pinhole with what was reserved (PEA)
#[derive(Debug, Args)]
pub(super) struct EnableReservedArguments {
    /// The number of the reservation
    #[arg(long, value_name = "PID")]
    rule: u32,
    #[command(flatten)]
    pinhole: PinholeArguments,
    #[command(flatten)]
    pub(super) output: OutputArguments,
}

/// Reserve addresses and ports (PRR)
#[derive(Debug, Args)]
pub(super) struct ReserveArguments {
    /// Protocol: udp, tcp, sctp, any or a number
    #[arg(long, value_name = "NAME", default_value = "udp", value_parser = parse_protocol)]
    protocol: TransportProtocol,
    /// How many consecutive ports; 65535 for all
    #[arg(long, value_name = "N", default_value = "1", value_parser = clap::value_parser!(u16).range(1..))]
    ports: u16,
    /// Parity of the first port
    #[arg(long, value_enum, default_value = "any")]
    parity: FirstPort,
    /// The kind of translation
    #[arg(long, value_enum, default_value = "twice")]
    nat: Nat,
    /// IP version inside [default: any]
    #[arg(long, value_enum)]
    inside_version: Option<Version>,
    /// IP version outside [default: any]
    #[arg(long, value_enum)]
    outside_version: Option<Version>,
    /// How long, in whole seconds
    #[arg(long, value_name = "D", default_value = "300s", value_parser = parse_lifetime)]
    lifetime: Lifetime,
    /// The group to join [default: one of its own]
    #[arg(long, value_name = "GID")]
    group: Option<u32>,
    #[command(flatten)]
    pub(super) output: OutputArguments,
}

/// Block packets, whatever pinholes there are (PDR)
#[derive(Debug, Args)]
pub(super) struct DisableArguments {
    /// The hosts and ports in the protected network, such as *v4/udp
    #[arg(long, value_name = "TUPLE")]
    internal: Side,
    /// The hosts and ports outside
    #[arg(long, value_name = "TUPLE")]
    external: Side,
    /// How long, in whole seconds
    #[arg(long, value_name = "D", default_value = "300s", value_parser = parse_lifetime)]
    lifetime: Lifetime,
    #[command(flatten)]
    pub(super) output: OutputArguments,
}

/// Change a rule's lifetime; 0s deletes it (PLC)
#[derive(Debug, Args)]
pub(super) struct LifetimeArguments {
    /// The number of the rule
    #[arg(long, value_name = "PID")]
    rule: u32,
    /// The lifetime from now on, in whole seconds
    #[arg(long, value_name = "D", value_parser = parse_lifetime)]
    lifetime: Lifetime,
    #[command(flatten)]
    pub(super) output: OutputArguments,
}

/// Tell what a rule is (PRS)
#[derive(Debug, Args)]
pub(super) struct StatusArguments {
    /// The number of the rule
    #[arg(long, value_name = "PID")]
    rule: u32,
    #[command(flatten)]
    pub(super) output: OutputArguments,
}

/// List rules (PRL), and what each of them is (PRS)
#[derive(Debug, Args)]
pub(super) struct ListArguments {
    /// Print their numbers alone, with one request instead of one for each rule
    #[arg(long)]
    pub(super) numbers: bool,
    #[command(flatten)]
    pub(super) output: OutputArguments,
}

impl PinholeArguments {
    fn request(&self, group: Option<u32>) -> EnableRequest {
        EnableRequest {
            parameters: EnableParameters { parity: self.parity.into(), direction: self.direction.into() },
            internal: self.internal.at(Location::INTERNAL),
            external: self.external.at(Location::EXTERNAL),
            lifetime: self.lifetime,
            group: group.map(GroupId::new),
        }
    }
}

impl EnableArguments {
    pub(super) fn request(&self) -> PolicyRequest {
        PolicyRequest::Enable(self.pinhole.request(self.group))
    }
}

impl EnableReservedArguments {
    pub(super) fn request(&self) -> PolicyRequest {
        let rule = PolicyRuleId::new(self.rule);
        PolicyRequest::EnableReserved { rule, pinhole: self.pinhole.request(None) }
    }
}

impl ReserveArguments {
    pub(super) fn request(&self) -> PolicyRequest {
        let parameters = ReserveParameters {
            nat_mode: Some(match self.nat {
                Nat::Traditional => NatMode::Traditional,
                Nat::Twice => NatMode::Twice,
            }),
            parity: match self.parity {
                FirstPort::Any => ReserveParity::Any,
                FirstPort::Odd => ReserveParity::Odd,
                FirstPort::Even => ReserveParity::Even,
            },
            inside_version: self.inside_version.map(Into::into),
            outside_version: self.outside_version.map(Into::into),
            protocol: self.protocol,
            port_range: self.ports,
        };
        let group = self.group.map(GroupId::new);
        PolicyRequest::Reserve(ReserveRequest { parameters, lifetime: self.lifetime, group })
    }
}

impl DisableArguments {
    pub(super) fn request(&self) -> PolicyRequest {
        PolicyRequest::Disable(DisableRequest {
            internal: self.internal.at(Location::INTERNAL),
            external: self.external.at(Location::EXTERNAL),
            lifetime: self.lifetime,
        })
    }
}

impl LifetimeArguments {
    pub(super) fn request(&self) -> PolicyRequest {
        PolicyRequest::LifetimeChange { rule: PolicyRuleId::new(self.rule), lifetime: self.lifetime }
    }
}

impl StatusArguments {
    pub(super) fn request(&self) -> PolicyRequest {
        PolicyRequest::Status { rule: PolicyRuleId::new(self.rule) }
    }
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Direction {
    Inbound,
    Outbound,
    BiDirectional,
}

impl From<Direction> for simco::Direction {
    fn from(direction: Direction) -> Self {
        match direction {
            Direction::Inbound => Self::Inbound,
            Direction::Outbound => Self::Outbound,
            Direction::BiDirectional => Self::BiDirectional,
        }
    }
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Parity {
    Any,
    Same,
}

impl From<Parity> for EnableParity {
    fn from(parity: Parity) -> Self {
        match parity {
            Parity::Any => Self::Any,
            Parity::Same => Self::Same,
        }
    }
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum FirstPort {
    Any,
    Odd,
    Even,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Nat {
    Traditional,
    Twice,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Version {
    V4,
    V6,
}

impl From<Version> for IpVersion {
    fn from(version: Version) -> Self {
        match version {
            Version::V4 => Self::V4,
            Version::V6 => Self::V6,
        }
    }
}

/// The mistake in a lifetime.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum LifetimeError {
    #[error(transparent)]
    Duration(#[from] workload::DurationError),
    #[error("a lifetime has whole seconds, up to 4294967295: write for example 300s")]
    NotWhole,
}

/// Returns a lifetime with its unit, such as `300s` or `1h`.
pub(super) fn parse_lifetime(text: &str) -> Result<Lifetime, LifetimeError> {
    let span: Duration = workload::parse_duration(text)?;
    let seconds = u32::try_from(span.as_secs()).ok().filter(|_| span.subsec_nanos() == 0);
    seconds.map(Lifetime::from_secs).ok_or(LifetimeError::NotWhole)
}

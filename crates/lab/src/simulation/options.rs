//! What a plan changes of a transport's profile.

use sctp_core::AssociationConfig;
use serde::Deserialize;
use tcp_core::TcpConfig;

use super::text::Span;

/// SCTP parameters a plan may change.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SctpOptions {
    /// RTO.Min.
    pub rto_min: Option<Span>,
    /// RTO.Initial.
    pub rto_initial: Option<Span>,
    /// RTO.Max. Where it is RTO.Min the timeout stays what it is, however often it expires.
    pub rto_max: Option<Span>,
    /// SACK.Delay; `0ms` acknowledges every packet at once.
    pub sack_delay: Option<Span>,
    /// Several messages in one packet. Default they are.
    pub bundling: Option<bool>,
    /// Packets are filled by cutting messages in two: always, or never. Default as the profile has it.
    pub filled: Option<bool>,
    /// The rules of the congestion window.
    pub congestion: Option<CongestionName>,
    /// Hold small packets while data is in flight.
    pub nagle: Option<bool>,
    /// Octets of an IP packet at most.
    pub path_mtu: Option<usize>,
    /// The congestion window at first.
    pub initial_window: Option<InitialWindowName>,
    /// Octets the receiver offers.
    pub receive_window: Option<usize>,
    /// Octets the sender keeps, in flight or not.
    pub send_buffer: Option<usize>,
    /// What carries the packets. Default IP itself.
    pub carrier: Option<CarrierName>,
}

/// What carries the packets of SCTP.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CarrierName {
    /// IP, protocol 132.
    Ip,
    /// UDP (RFC 6951), as between the namespaces of `headway compare`.
    Udp,
}

/// The congestion window of SCTP before anything was acknowledged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum InitialWindowName {
    /// RFC 9260 §7.2.1.
    Rfc9260,
    /// The older rule: 4380 octets over Ethernet.
    Rfc4960,
}

/// The congestion control of SCTP.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CongestionName {
    /// RFC 9260 §7.2.
    Rfc9260,
    /// RFC 9438.
    Cubic,
    /// Westwood+.
    Westwood,
}

/// TCP parameters a plan may change.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TcpOptions {
    /// The least retransmission timeout.
    pub rto_min: Option<Span>,
    /// The largest one.
    pub rto_max: Option<Span>,
    /// How long an acknowledgment may wait.
    pub ack_delay: Option<Span>,
    /// Hold small segments while data is in flight.
    pub nagle: Option<bool>,
    /// The largest payload of a segment.
    pub mss: Option<u16>,
    /// Octets the receiver offers.
    pub receive_window: Option<usize>,
    /// Octets the sender keeps.
    pub send_buffer: Option<usize>,
    /// Each message is a segment of its own, whatever waits. Default as the profile.
    pub segment_per_message: Option<bool>,
    /// The congestion control by its name in Linux: `reno`, `cubic`. Default as the profile.
    pub congestion: Option<String>,
}

impl SctpOptions {
    pub(super) fn apply(&self, config: &mut AssociationConfig) {
        if let Some(min) = self.rto_min {
            config.rto.min = min.0;
            config.rto.initial = config.rto.initial.max(min.0);
        }
        if let Some(initial) = self.rto_initial {
            config.rto.initial = initial.0;
        }
        if let Some(max) = self.rto_max {
            config.rto.max = max.0;
            config.rto.initial = config.rto.initial.min(max.0);
        }
        if let Some(delay) = self.sack_delay {
            config.sack.delay = delay.0;
            if delay.0.is_zero() {
                config.sack.every_packets = 1;
            }
        }
        config.transmission.bundling = match (self.bundling, self.filled) {
            (Some(false), _) => sctp_core::MessageBundling::Off,
            (_, Some(true)) => sctp_core::MessageBundling::Filled,
            (_, Some(false)) => sctp_core::MessageBundling::On,
            (Some(true) | None, None) => config.transmission.bundling,
        };
        config.congestion.algorithm = match self.congestion {
            Some(CongestionName::Rfc9260) => sctp_core::CongestionAlgorithm::Rfc9260,
            Some(CongestionName::Cubic) => sctp_core::CongestionAlgorithm::Cubic,
            Some(CongestionName::Westwood) => sctp_core::CongestionAlgorithm::Westwood,
            None => config.congestion.algorithm,
        };
        if let Some(is_on) = self.nagle {
            config.transmission.nagle = if is_on { sctp_core::Nagle::On } else { sctp_core::Nagle::Off };
        }
        match self.initial_window {
            Some(InitialWindowName::Rfc9260) => {
                config.congestion.initial_window = sctp_core::InitialWindow::Rfc9260;
            }
            Some(InitialWindowName::Rfc4960) => {
                config.congestion.initial_window = sctp_core::InitialWindow::Rfc4960;
            }
            None => {}
        }
        config.buffers.receive_bytes = self.receive_window.unwrap_or(config.buffers.receive_bytes);
        config.buffers.send_bytes = self.send_buffer.unwrap_or(config.buffers.send_bytes);
    }
}

impl TcpOptions {
    /// Whether nothing but the congestion control is chosen.
    pub(crate) fn is_only_congestion(&self) -> bool {
        *self == Self { congestion: self.congestion.clone(), ..Self::default() }
    }

    /// Changes what a profile says; why not, if the simulator cannot.
    pub(super) fn apply(&self, config: &mut TcpConfig) -> Result<(), String> {
        config.congestion = match self.congestion.as_deref() {
            None => config.congestion,
            Some("reno") => tcp_core::CongestionAlgorithm::NewReno,
            Some("cubic") => tcp_core::CongestionAlgorithm::LinuxCubic,
            Some(other) => {
                return Err(format!(
                    "the simulator's TCP has no `{other}`: use reno or cubic, or the namespaces backend"
                ));
            }
        };
        if let Some(min) = self.rto_min {
            config.rto_min = min.0;
        }
        if let Some(max) = self.rto_max {
            config.rto_max = max.0;
            config.rto_initial = config.rto_initial.min(max.0);
        }
        if let Some(delay) = self.ack_delay {
            config.ack_delay = delay.0;
        }
        if let Some(is_on) = self.nagle {
            config.nagle = if is_on { tcp_core::Nagle::On } else { tcp_core::Nagle::Off };
        }
        if let Some(is_own) = self.segment_per_message {
            config.segments.boundaries =
                if is_own { tcp_core::Boundaries::Writes } else { tcp_core::Boundaries::Stream };
        }
        config.mss = self.mss.unwrap_or(config.mss);
        config.receive_bytes = self.receive_window.unwrap_or(config.receive_bytes);
        config.send_bytes = self.send_buffer.unwrap_or(config.send_bytes);
        Ok(())
    }
}

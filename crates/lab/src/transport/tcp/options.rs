//! The options by which a plan changes a profile of TCP, and the parameters of a connection that follow.

use serde::Deserialize;
use tcp_core::{TcpConfig, UnknownProfile};

use crate::text::Span;

/// TCP parameters a plan may change.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TcpOptions {
    /// The least retransmission timeout.
    pub rto_min: Option<Span>,
    /// The largest retransmission timeout.
    pub rto_max: Option<Span>,
    /// How long an acknowledgment may wait.
    pub ack_delay: Option<Span>,
    /// Hold small segments while data is in flight.
    pub nagle: Option<bool>,
    /// The largest payload of a segment.
    pub mss: Option<u16>,
    /// Octets the receiver offers.
    pub receive_window: Option<usize>,
    /// The number of octets that the sender keeps.
    pub send_buffer: Option<usize>,
    /// Each message is a segment of its own, whatever waits. Default as the profile.
    pub segment_per_message: Option<bool>,
    /// The congestion control by its name in Linux: `reno`, `cubic`; in the simulator BBRv3, too, as `bbr3`, for the kernel's `bbr` is the first version.
    /// Default as the profile.
    pub congestion: Option<String>,
}

impl TcpOptions {
    /// Returns whether nothing but the congestion control is chosen.
    pub(super) fn is_only_congestion(&self) -> bool {
        *self == Self { congestion: self.congestion.clone(), ..Self::default() }
    }

    /// Changes what a profile says; why not, if the simulator cannot.
    fn apply(&self, config: &mut TcpConfig) -> Result<(), String> {
        config.congestion = match self.congestion.as_deref() {
            None => config.congestion,
            Some("reno") => tcp_core::CongestionAlgorithm::NewReno,
            Some("cubic") => tcp_core::CongestionAlgorithm::LinuxCubic,
            Some("bbr3") => tcp_core::CongestionAlgorithm::Bbr,
            Some(other) => {
                return Err(format!(
                    "the simulator's TCP has no `{other}`: use reno, cubic or bbr3, or the namespaces backend"
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

    /// Returns the parameters of both ends of a simulated connection.
    pub(super) fn config(&self, profile: Option<&str>) -> Result<TcpConfig, String> {
        let profile = profile.unwrap_or("linux").parse();
        let mut config = TcpConfig::profile(profile.map_err(|error: UnknownProfile| error.to_string())?);
        self.apply(&mut config)?;
        Ok(config)
    }

    /// Returns the congestion control of the kernel's TCP.
    pub(super) fn congestion(&self) -> &str {
        self.congestion.as_deref().unwrap_or("cubic")
    }
}

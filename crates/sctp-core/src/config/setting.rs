//! Parameters that the user of a running association changes.

use core::time::Duration;

use super::{
    AssociationConfig, Attempts, EventMask, HeartbeatConfig, PathMtuConfig, PathsConfig, RtoConfig,
    SackConfig,
};
use crate::error::ConfigError;
use crate::transmit::Dscp;

/// A parameter of a running association, changed by [`Endpoint::set`](crate::Endpoint::set). The bounds are those of
/// [`AssociationConfig`]; the effect begins with the next packet and the next timer that is started: those that run already
/// run out as they were set. What is not here both sides have agreed on or planned with, and stays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
#[non_exhaustive]
pub enum Setting {
    /// The bounds of the retransmission timeout, on all paths (SCTP_RTOINFO, RFC 6458 §8.1.1). What was measured is kept.
    Rto(RtoConfig),
    /// The delay of acknowledgments and how many packets may go without (SCTP_DELAYED_SACK, RFC 6458 §8.1.19).
    Sack(SackConfig),
    /// The HEARTBEATs on all paths without a [setting of their own](PathSetting::Heartbeats) (SCTP_PEER_ADDR_PARAMS, RFC 6458
    /// §8.1.12).
    Heartbeat(HeartbeatConfig),
    /// The number of errors until paths and peer are given up (SCTP_ASSOCINFO, RFC 6458 §8.1.2).
    Attempts(Attempts),
    /// The rules for paths that fail (SCTP_PEER_ADDR_THLDS, RFC 7829 §7.2).
    Paths(PathsConfig),
    /// The size of packets, fixed or searched for, on all paths; a search begins anew (SPP_PMTUD of SCTP_PEER_ADDR_PARAMS).
    PathMtu(PathMtuConfig),
    /// The code point in the IP headers of packets on all paths without a [setting of their own](PathSetting::Dscp) (`spp_dscp` of
    /// SCTP_PEER_ADDR_PARAMS).
    Dscp(Dscp),
    /// The most packets on one occasion (SCTP_MAX_BURST, RFC 6458 §8.1.24).
    MaxBurst(u32),
    /// How long the association may be idle before it ends, counted from now (SCTP_AUTOCLOSE, RFC 6458 §8.1.8).
    Autoclose(Option<Duration>),
    /// The kinds of events that are told from now on (SCTP_EVENT, RFC 6458 §6.2.2). Who asks for
    /// [`EventGroup::SenderDry`](crate::EventGroup::SenderDry) while nothing is buffered is told at once (§6.1.9).
    Events(EventMask),
}

/// A parameter of one path of a running association, changed by [`Endpoint::set_path`](crate::Endpoint::set_path). It holds
/// for as long as the path is there and the peer does not begin anew.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
#[non_exhaustive]
pub enum PathSetting {
    /// The HEARTBEATs on this path (SPP_HB_ENABLE, SPP_HB_DISABLE, `spp_hbinterval`).
    Heartbeats(Heartbeats),
    /// Path.Max.Retrans of this path (`spp_pathmaxrxt`); `None` is that of the association.
    Attempts(Option<u32>),
    /// The size of packets on this path, fixed or searched for; a search begins anew (`spp_pathmtu`, SPP_PMTUD).
    PathMtu(PathMtuConfig),
    /// The code point in the IP headers of packets on this path (`spp_dscp`); `None` is that of the association.
    Dscp(Option<Dscp>),
}

/// The settings that one path has of its own, as [`PathSetting`] made them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct PathSettings {
    /// The HEARTBEATs on the path.
    pub heartbeats: Heartbeats,
    /// Path.Max.Retrans of the path; `None` is that of the association.
    pub attempts: Option<u32>,
    /// The size of packets on the path, fixed or searched for; `None` is that of the association.
    pub path_mtu: Option<PathMtuConfig>,
    /// The code point in the IP headers of packets on the path; `None` is that of the association.
    pub dscp: Option<Dscp>,
}

/// The HEARTBEATs on one path.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
pub enum Heartbeats {
    /// The path has those of its association: [`HeartbeatConfig`].
    #[default]
    AsAssociation,
    /// A path that is confirmed has none, not for NATs either.
    Off,
    /// The path, while it is idle, has one every RTO and this interval, and those for NATs besides.
    Every(Duration),
}

impl AssociationConfig {
    /// Returns the configuration with this setting.
    ///
    /// # Errors
    /// The setting cannot work, or not with the others.
    pub(crate) fn with(&self, setting: Setting) -> Result<Self, ConfigError> {
        let mut config = self.clone();
        match setting {
            Setting::Rto(rto) => config.rto = rto,
            Setting::Sack(sack) => config.sack = sack,
            Setting::Heartbeat(heartbeat) => config.heartbeat = heartbeat,
            Setting::Attempts(attempts) => config.attempts = attempts,
            Setting::Paths(paths) => config.paths = paths,
            Setting::PathMtu(path_mtu) => config.path_mtu = path_mtu,
            Setting::Dscp(dscp) => config.transmission.dscp = dscp,
            Setting::MaxBurst(packets) => config.transmission.max_burst_packets = packets,
            Setting::Autoclose(idle) => config.autoclose = idle,
            Setting::Events(mask) => config.buffers.events.mask = mask,
        }
        config.validate()?;
        Ok(config)
    }
}

impl PathSetting {
    /// Checks the bounds.
    ///
    /// # Errors
    /// The setting cannot work.
    pub(crate) fn validate(&self) -> Result<(), ConfigError> {
        match self {
            Self::Heartbeats(Heartbeats::Every(interval)) => {
                super::duration("heartbeats", *interval, Duration::ZERO, super::YEAR)
            }
            Self::Heartbeats(Heartbeats::AsAssociation | Heartbeats::Off)
            | Self::Attempts(_)
            | Self::Dscp(_) => Ok(()),
            Self::PathMtu(path_mtu) => path_mtu.validate(),
        }
    }
}

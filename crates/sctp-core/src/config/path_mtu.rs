//! How large packets may be.

use core::time::Duration;

use crate::error::ConfigError;

/// How large packets may be, and the search for the largest a path carries (DPLPMTUD, RFC 8899 §6.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(default, deny_unknown_fields))]
#[non_exhaustive]
pub struct PathMtuConfig {
    /// Path MTU in octets, IP header included, while it is not searched for; over a channel of the caller's
    /// ([`Encapsulation::Datagrams`](crate::Encapsulation::Datagrams)) the longest datagram it carries. Default 1400, which
    /// leaves room for tunnels; the largest the path carries gives the fewest packets. At least 576.
    pub bytes: usize,
    /// Whether the path MTU is searched for. Default off in every profile, for reasons (docs/decisions/0012): packets are then
    /// limited by `bytes` alone. Turn it on for bulk over paths of unknown or changing MTU, with a driver that heeds [`Transmit::fragmentation`](crate::Transmit::fragmentation).
    pub discovery: Discovery,
    /// MIN_PLPMTU in octets, IP header included: what every path is taken to carry. Default 576; over IPv6 at least
    /// 1280 counts.
    pub min_bytes: usize,
    /// BASE_PLPMTU: what packets begin with, and fall back to when large ones vanish. Default 1200.
    pub base_bytes: usize,
    /// MAX_PLPMTU: where the search ends; the MTU of the interface. Default 1500. Raise it where jumbo frames are used.
    pub max_bytes: usize,
    /// PMTU_RAISE_TIMER: how long after a search the next one begins, in case the path carries more by now. Default
    /// 600 s.
    pub raise_after: Duration,
    /// MAX_PROBES: how often a size is tried before the path counts as too narrow for it. Default 3.
    pub attempts: u32,
}

/// Whether the path MTU is searched for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
pub enum Discovery {
    /// Packets are as large as configured; IP may fragment them.
    #[default]
    Off,
    /// Packets begin with the base size and become as large as probes find possible; IP may not fragment them.
    On,
}

impl Default for PathMtuConfig {
    fn default() -> Self {
        Self {
            bytes: 1400,
            discovery: Discovery::Off,
            min_bytes: 576,
            base_bytes: 1200,
            max_bytes: 1500,
            raise_after: Duration::from_secs(600),
            attempts: 3,
        }
    }
}

impl PathMtuConfig {
    pub(crate) fn validate(&self) -> Result<(), ConfigError> {
        super::at_least("path_mtu.bytes", self.bytes, 576)?;
        super::at_most("path_mtu.bytes", self.bytes, 65_535)?;
        super::at_least("path_mtu.min_bytes", self.min_bytes, 576)?;
        super::at_least("path_mtu.base_bytes", self.base_bytes, self.min_bytes)?;
        super::at_least("path_mtu.max_bytes", self.max_bytes, self.base_bytes)?;
        super::at_most("path_mtu.max_bytes", self.max_bytes, 65_535)?;
        super::at_least("path_mtu.attempts", self.attempts as usize, 1)?;
        let (min, max) = (Duration::from_secs(1), Duration::from_secs(86_400));
        super::duration("path_mtu.raise_after", self.raise_after, min, max)
    }
}

//! Small chunks that are sent once more before anybody misses them.

use super::{at_least, at_most};
use crate::error::ConfigError;

/// How much of a packet of new data carries unacknowledged chunks once more: a loss is then mended by the next message, with no
/// detection, no timer and no round trip, as redundant data bundling does for thin TCP streams. Any peer understands it: what
/// arrives twice is dropped (RFC 9260 §6.2), and reported, which tells a copy that mended a loss from one that was needless. One
/// that did cuts the congestion window as any loss does.
///
/// For messages that are short and far apart, whose packets have room: they cost up to twice the octets. Where packets are full
/// there are no copies. The early copy needs [`LossDetection::Rack`](super::LossDetection::Rack).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(default, deny_unknown_fields))]
#[non_exhaustive]
pub struct RedundancyConfig {
    /// Packets of new data that carry a chunk once more, at most. Default 2; between 1 and 8.
    pub copies: u8,
    /// Octets of copies in a packet, chunk headers included. Default 400; at least 20. Messages that are longer are not copied.
    pub bytes: u16,
    /// Whether a message that no other one follows is copied, too. Default [`EarlyCopy::Thin`].
    pub early: EarlyCopy,
}

/// Whether a copy may go in a packet of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
#[non_exhaustive]
pub enum EarlyCopy {
    /// Copies travel with new data only.
    Off,
    /// What follows a pause of four round trips goes again after a quarter of one, if nothing new has left until then: one
    /// packet more for four round trips at most, and its answer; hardly any for a flow that sends as often as that.
    Thin,
}

impl Default for RedundancyConfig {
    fn default() -> Self {
        Self { copies: 2, bytes: 400, early: EarlyCopy::Thin }
    }
}

impl RedundancyConfig {
    pub(super) fn validate(&self) -> Result<(), ConfigError> {
        at_least("recovery.redundancy.copies", self.copies.into(), 1)?;
        at_most("recovery.redundancy.copies", self.copies.into(), 8)?;
        at_least("recovery.redundancy.bytes", self.bytes.into(), 20)
    }
}

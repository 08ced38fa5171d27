//! S5: the delay of messages during slow start on a new path.
//!
//! After a handover the new path starts with the initial window. A source that sends more than that per
//! round-trip time has to queue until slow start has opened the window far enough; the extra delay of the
//! worst message is the start-up penalty `Θmax`. Study: J. Eklund, K.-J. Grinnemo, A. Brunstrom and others,
//! "Delay Penalty during SCTP Handover", 2011.
//!
//! [`predict`] follows each packet through slow start, which is exact under the study's assumptions: packets take no
//! time to transmit, the path is symmetric and loses nothing, every packet is acknowledged at once, the source is
//! periodic, nothing is queued at the start, ssthresh and the receiver window are out of reach. [`closed_form`] is
//! the study's formula with the `p_n` and `Δ_n` that its report leaves out. `docs/startup.md` derives both and
//! sets them beside the simulation.

use core::num::NonZeroU32;
use core::time::Duration;

use crate::error::ModelError;

mod rounds;
mod slow_start;

pub use rounds::{closed_form, closed_form_penalty};
use slow_start::SlowStart;

/// A periodic source on a path that has just become the primary one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Startup {
    /// `s`: user data per message, in octets.
    pub message_bytes: NonZeroU32,
    /// Time between two messages.
    pub interval: Duration,
    /// Round-trip time of the new path.
    pub rtt: Duration,
    /// Initial congestion window in octets. The study's is [`Self::DEFAULT_INITIAL_WINDOW_BYTES`]; RFC 9260
    /// §7.2.1 has 4404 (IPv4) and 4344 (IPv6) today for paths with an MTU near 1500.
    pub initial_window_bytes: NonZeroU32,
    /// Path MTU in octets, [`Self::DEFAULT_MTU_BYTES`] on Ethernet; larger messages are fragmented.
    pub mtu_bytes: u32,
    /// How closely the window is kept.
    pub window_rule: WindowRule,
}

impl Startup {
    /// The study's initial window: three Ethernet frames.
    pub const DEFAULT_INITIAL_WINDOW_BYTES: NonZeroU32 = NonZeroU32::MIN.saturating_add(4379);
    /// The MTU of Ethernet in octets.
    pub const DEFAULT_MTU_BYTES: u32 = 1500;

    /// Returns the octets of user data that fit into one packet.
    fn fragment_bytes(&self) -> Result<u32, ModelError> {
        match self.mtu_bytes.checked_sub(HEADER_BYTES) {
            None | Some(0) => {
                Err(ModelError::MtuTooSmall { mtu_bytes: self.mtu_bytes, least_bytes: HEADER_BYTES + 1 })
            }
            Some(fragment_bytes) => Ok(fragment_bytes),
        }
    }
}

/// Whether the flight may exceed the congestion window.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum WindowRule {
    /// A packet is sent only if it fits into the window, which counts user data; messages are sent one by one. The
    /// study's assumption.
    #[default]
    WithinWindow,
    /// The rule of RFC 9260 and of our stack: a packet is sent while the flight is below the window, and may
    /// exceed it by up to a packet less one octet (§6.1 B); the window counts chunks with their headers;
    /// messages that wait share packets (§6.10).
    Overbooking,
}

/// The transfer of one message during slow start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MessageTransfer {
    /// The number of the message, `n`, from one.
    pub number: u32,
    /// `α_n`: when the application handed it over, counted from the first message.
    pub arrival: Duration,
    /// `p_n`: round trips in the chain of acknowledgments that released its last packet.
    pub rounds: u32,
    /// `Δ_n`: when the message at the root of that chain arrived.
    pub offset: Duration,
    /// `D_n = p_n·RTT + Δ_n − α_n`: how long it waited for the window.
    pub waiting: Duration,
    /// `MTT_n = RTT/2 + D_n`: from the application to the other end.
    pub transfer: Duration,
}

/// The start-up on the new path until nothing waits any more.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StartupPrediction {
    /// `Θmax = max(MTT_n − RTT/2)`.
    pub penalty: Duration,
    /// Every message from the first to the end of the start-up: at least one round-trip time's worth, and
    /// until a whole round-trip time passed without waiting.
    pub messages: Vec<MessageTransfer>,
    /// Whether the list ends because the start-up was over; otherwise because it had [`MOST_MESSAGES`]
    /// entries.
    pub is_complete: bool,
}

/// Predicts the transfer time of each message during slow start.
///
/// # Errors
/// [`ModelError::ZeroDuration`] if the interval is zero, [`ModelError::MtuTooSmall`] if no user data fits.
pub fn predict(startup: &Startup) -> Result<StartupPrediction, ModelError> {
    if startup.interval.is_zero() {
        return Err(ModelError::ZeroDuration { quantity: "the message interval" });
    }
    let mut slow_start = SlowStart::new(startup, startup.fragment_bytes()?);
    let mut messages = Vec::new();
    let mut last_waiting_sent = Duration::ZERO;
    let mut penalty = Duration::ZERO;
    while messages.len() < MOST_MESSAGES {
        let message = slow_start.next_message();
        penalty = penalty.max(message.waiting);
        if !message.waiting.is_zero() {
            last_waiting_sent = message.arrival + message.waiting;
        }
        let settled = message.arrival > last_waiting_sent + startup.rtt;
        messages.push(message);
        if settled {
            return Ok(StartupPrediction { penalty, messages, is_complete: true });
        }
    }
    Ok(StartupPrediction { penalty, messages, is_complete: false })
}

/// DATA chunk header.
const CHUNK_HEADER_BYTES: u32 = 16;
/// IPv4 header, SCTP common header, DATA chunk header.
const HEADER_BYTES: u32 = 20 + 12 + CHUNK_HEADER_BYTES;

/// The number of messages after which [`predict`] gives up on the end of the start-up.
pub const MOST_MESSAGES: usize = 100_000;

#[cfg(test)]
mod tests;

//! The outcome of one request.

use core::fmt;
use core::time::Duration;

use virtual_time::Instant;

use crate::message::MessageNumber;

/// A sequence that a transport keeps in order: a stream of an association, or one of several connections. From
/// 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Lane(pub u16);

impl fmt::Display for Lane {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The outcome of one request, with its times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sample {
    /// The number of the request.
    pub number: MessageNumber,
    /// The stream or connection that it was dealt to.
    pub lane: Lane,
    /// The time at which the arrival process wanted it sent.
    pub intended: Instant,
    /// The time at which the transport took it; `None` if it never did.
    pub sent: Option<Instant>,
    /// The time from the intended send time to the whole response; `None` if there was none before the end of
    /// the drain time.
    pub response: Option<Duration>,
    /// How long the response waited at the receiver behind missing predecessors; `None` where it is not known.
    pub blocked: Option<Duration>,
}

/// A send that is later than this after its intended time counts as late: 1 ms, a twentieth of the default
/// round-trip time. Late sends say that the machine could not keep up; their response times are still right,
/// because they run from the intended time.
pub const LATE_SEND_BOUND: Duration = Duration::from_millis(1);

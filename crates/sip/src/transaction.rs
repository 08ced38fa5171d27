//! The four transaction machines of RFC 3261 §17, corrected by RFC 6026: states that carry their deadlines, nothing else.
//!
//! A machine is told what happened and returns a [`Step`]: what is to be done now. Messages, keys and the network are the
//! endpoint's.
//!
//! | machine | states |
//! |---|---|
//! | [`InviteClient`] | calling → proceeding → completed or accepted |
//! | [`Client`] | trying → proceeding → completed |
//! | [`InviteServer`] | proceeding → completed → confirmed, or accepted |
//! | [`Server`] | trying → proceeding → completed |

mod client;
mod invite_client;
mod invite_server;
mod server;
#[cfg(test)]
mod tests;
mod timers;

use virtual_time::Instant;

pub(crate) use self::client::Client;
pub(crate) use self::invite_client::InviteClient;
pub(crate) use self::invite_server::InviteServer;
pub(crate) use self::server::Server;
pub use self::timers::Timers;

/// The step that a machine wants done now.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Step {
    /// Nothing at all.
    Nothing,
    /// Send the last message of this side again, or for the first time.
    Send,
    /// Hand what came to the user.
    Pass,
    /// Hand what came to the user, and acknowledge it (failure of an INVITE).
    PassAndAcknowledge,
    /// Acknowledge once more.
    Acknowledge,
    /// The transaction has done its duty and is forgotten.
    End,
    /// The transaction is over for no answer, or no ACK, came in time.
    TimedOut,
}

/// A message that is sent again and again until something stops it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Repeat {
    pub(crate) at: Instant,
    interval: core::time::Duration,
}

impl Repeat {
    pub(crate) fn after(now: Instant, interval: core::time::Duration) -> Self {
        Self { at: now + interval, interval }
    }

    /// Doubles the interval, up to a limit.
    pub(crate) fn doubled(self, now: Instant, most: Option<core::time::Duration>) -> Self {
        let interval = self.interval.saturating_mul(2);
        Self::after(now, most.map_or(interval, |most| interval.min(most)))
    }
}

/// Returns the earlier of a repetition and a deadline.
fn earlier(repeat: Option<Repeat>, deadline: Instant) -> Instant {
    repeat.map_or(deadline, |repeat| repeat.at.min(deadline))
}

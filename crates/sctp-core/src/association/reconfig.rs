//! Re-configuring streams (RFC 6525): resetting and adding them, and starting the whole association anew.
//!
//! | module | owns |
//! |---|---|
//! | `requester` | what we ask, one request at a time |
//! | `responder` | what the peer asks, and what it is answered: pure decisions |
//! | `asking`, `answering` | what that does to streams, timer and events |
//! | `routes` | the way of calls, chunks and the timer through the association |
//!
//! An outgoing stream is reset only when nothing of it is under way: its messages are held, what was begun is finished
//! and acknowledged, then the peer is asked. Nothing is ever sent with a number from before the reset.

mod answering;
mod asking;
mod requester;
mod responder;
mod routes;
#[cfg(test)]
mod tests;

use sctp_wire::Tsn;

use self::requester::Requester;
use self::responder::ReconfigResponder;
use crate::seldom::Seldom;
use crate::stats::ReconfigStatistics;
use crate::stream_set::AwaitedReset;

/// The direction of the streams that a reset is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResetDirection {
    /// The streams on which this side sends.
    Outgoing,
    /// The streams on which the peer sends: it is asked to reset them.
    Incoming,
    /// The streams of both directions, with one request.
    Both,
}

impl ResetDirection {
    const fn is_outgoing(self) -> bool {
        matches!(self, Self::Outgoing | Self::Both)
    }

    const fn is_incoming(self) -> bool {
        matches!(self, Self::Incoming | Self::Both)
    }
}

/// Both roles in the re-configuration of an association.
#[derive(Debug)]
pub(super) struct Reconfig {
    requester: Requester,
    responder: ReconfigResponder,
    /// The number of the packet that the peer's last chunk with requests came in.
    asked_in_packet: u64,
    /// Whether that chunk had a new request, whose answer may still wait to be sent.
    has_answered: bool,
    statistics: Seldom<ReconfigStatistics>,
}

impl Reconfig {
    /// Creates the state of re-configuration; requests are numbered from the initial TSNs (RFC 6525 §4.1).
    pub(super) fn new(local_initial: Tsn, peer_initial: Tsn) -> Self {
        Self {
            requester: Requester::new(local_initial),
            responder: ReconfigResponder::new(peer_initial),
            asked_in_packet: 0,
            has_answered: false,
            statistics: Seldom::default(),
        }
    }

    /// Returns whether acknowledgments may be by numbers that we do not know yet, those of an association reset
    /// whose answer they have overtaken. Nothing is outstanding meanwhile (RFC 6525 §5.1.4 (C2)): nothing is
    /// missed.
    pub(super) fn is_renumbering(&self) -> bool {
        self.requester.is_resetting_association()
    }

    /// Returns the reset of streams of the peer that waits for data before it. A peer that keeps to RFC 6525 §5.1.2 (A1)
    /// sends none that belongs behind; it is not taken, so that it comes again when the reset is done.
    #[inline]
    pub(super) fn awaited_reset(&self) -> Option<&AwaitedReset> {
        self.responder.awaited_reset()
    }

    /// Counts chunks that belong behind a reset that is awaited.
    #[cold]
    pub(super) fn count_withheld(&mut self, chunks: u64) {
        self.statistics.note().data_behind_reset += chunks;
    }

    pub(super) fn statistics(&self) -> ReconfigStatistics {
        self.statistics.get()
    }
}

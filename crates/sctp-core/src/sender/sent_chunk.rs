//! A chunk that was sent: what is known of it until it is cumulatively acknowledged.

use virtual_time::Instant;

use super::queue::Fragment;
use crate::transmit::PathIndex;

/// A chunk that was sent at least once.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SentChunk {
    pub(crate) fragment: Fragment,
    pub(crate) state: ChunkState,
    /// The path it was last sent on.
    pub(crate) path: PathIndex,
    /// The time at which the chunk was last sent.
    pub(crate) sent_at: Instant,
    pub(crate) transmissions: u16,
    /// Missing reports since it was last sent (RFC 9260 §7.2.4).
    pub(crate) missing_reports: u8,
    pub(crate) sending: Sending,
    /// Packets of new data that carried it once more.
    pub(crate) copies: u8,
    pub(crate) fast_retransmitted: bool,
    /// Sent on more than one path, or from more than one address: an acknowledgment of it says nothing about either (RFC 7829
    /// §3.2, point 9).
    pub(crate) is_moved: bool,
    /// Whether the terms of its message forbid to send it again, even as a probe.
    pub(crate) is_last_try: bool,
}

/// The state of a chunk that was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ChunkState {
    /// Sent, fate unknown.
    InFlight,
    /// Declared lost by what was acknowledged: waits for retransmission.
    Lost,
    /// Declared lost because its path did not answer in time: waits for retransmission, on another path if there is one
    /// (RFC 9260 §6.4).
    TimedOut,
    /// Acknowledged by a gap ack block; kept until the cumulative ack, for the peer may renege.
    Acknowledged,
    /// Given up: counts as acknowledged, and is passed over by a FORWARD TSN (RFC 3758 §3.5 (A2)).
    Abandoned,
}

impl ChunkState {
    /// Returns whether the chunk waits for retransmission.
    #[inline]
    pub(crate) const fn is_lost(self) -> bool {
        matches!(self, Self::Lost | Self::TimedOut)
    }
}

/// The last time that a chunk was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sending {
    /// The chunk was sent once, and `sent_at` says when: chunks of higher TSN left no earlier, unless they were sent again.
    Original,
    /// The chunk was sent once, and packets of new data carried it once more, so that a copy may be what arrives.
    Copied,
    /// The chunk was sent again, or counts as sent at a later time than it was.
    Again,
    /// The chunk was sent as a tail-loss probe, while the one before may still be on its way: which of the two an
    /// acknowledgment answers cannot be told.
    Probe,
}

impl SentChunk {
    /// Returns whether it was sent once, but for copies, and nothing has happened to it since.
    pub(crate) fn is_original(&self) -> bool {
        matches!(self.sending, Sending::Original | Sending::Copied)
    }

    /// Returns whether it has gone into one packet only, and nothing has happened to it since.
    pub(crate) fn is_untouched(&self) -> bool {
        self.sending == Sending::Original
    }

    /// A packet of new data carries it once more.
    pub(super) fn on_copied(&mut self) {
        self.copies = self.copies.saturating_add(1);
        if self.sending == Sending::Original {
            self.sending = Sending::Copied;
        }
    }

    /// Takes the chunk back into flight, as if it had been sent now.
    pub(super) fn take_back(&mut self, now: Instant) {
        self.state = ChunkState::InFlight;
        self.sent_at = now;
        // Which sending of a probed chunk is answered stays open.
        if self.is_original() {
            self.sending = Sending::Again;
        }
    }

    /// Returns the number of octets of the chunk in a packet (RFC 9260 §3.3.1).
    pub(crate) fn wire_bytes(&self) -> usize {
        self.fragment.wire_bytes()
    }

    pub(crate) fn payload_bytes(&self) -> usize {
        self.fragment.payload_bytes()
    }

    /// Returns whether its fate is still open.
    pub(crate) fn is_unsettled(&self) -> bool {
        matches!(self.state, ChunkState::InFlight | ChunkState::Lost | ChunkState::TimedOut)
    }
}

//! Why an association of two honest ends may end: because somebody said so, or because the network was down.

use core::time::Duration;

use sctp_core::{AssociationError, RemoteError};
use virtual_time::Instant;

use super::ledger::Broken;
use super::run::{index, other};
use crate::net::End;

/// What has happened so far that may end associations.
#[derive(Debug, Default)]
pub(super) struct Endings {
    /// An end aborted, rebooted, gave up or connected again: from then on one may have an association without the other.
    is_upset: bool,
    /// The left, the right end has lost its association, which is not judged yet: a reason for the other one, not for itself.
    has_lost: [bool; 2],
    /// Since when the network delivers everything.
    healed_at: Option<Instant>,
}

impl Endings {
    pub(super) fn upset(&mut self) {
        self.is_upset = true;
    }

    pub(super) fn healed(&mut self, now: Instant) {
        self.healed_at = Some(now);
    }

    /// Notes an end that the other one will hear of.
    pub(super) fn foresee(&mut self, end: End, error: &AssociationError) {
        self.has_lost[index(end)] |= match error {
            AssociationError::HandshakeTimedOut { .. }
            | AssociationError::PeerUnreachable { .. }
            | AssociationError::AbortedLocally
            | AssociationError::ShutdownTimedOut
            | AssociationError::ReceiveBufferExhausted { .. }
            | AssociationError::NothingAcknowledged { .. }
            | AssociationError::GaveWay
            | AssociationError::PeerRestarted => true,
            AssociationError::Refused(_)
            | AssociationError::AbortedByPeer(_)
            | AssociationError::ProtocolViolation(_)
            | AssociationError::StreamNotNegotiated => false,
            other => panic!("who hears of {other:?}?"),
        };
    }

    /// Judges the end of an association.
    pub(super) fn lost(&mut self, end: End, now: Instant, error: &AssociationError) -> Result<(), Broken> {
        let is_upset = self.is_upset || self.has_lost[index(other(end))];
        let was_well = self.healed_at.is_some_and(|at| now.since(at) > LAST_EXPIRY);
        let is_allowed = match error {
            AssociationError::AbortedLocally
            | AssociationError::ReceiveBufferExhausted { .. }
            | AssociationError::GaveWay => true,
            AssociationError::ProtocolViolation(_) | AssociationError::StreamNotNegotiated => false,
            AssociationError::Refused(why) | AssociationError::AbortedByPeer(why) => may_abort(why, is_upset),
            AssociationError::HandshakeTimedOut { .. }
            | AssociationError::PeerUnreachable { .. }
            | AssociationError::PeerRestarted
            | AssociationError::NothingAcknowledged { .. }
            | AssociationError::ShutdownTimedOut => is_upset || !was_well,
            other => panic!("when may {other:?} be?"),
        };
        self.is_upset = true;
        if is_allowed { Ok(()) } else { Err(format!("{end:?} lost its association: {error}")) }
    }
}

/// Whether an honest peer may say this.
fn may_abort(why: &RemoteError, is_upset: bool) -> bool {
    match why.cause {
        // Without a cause: out of the blue (RFC 9260 §8.4), to who has an association alone.
        None | Some(RESTART_WITH_NEW_ADDRESSES | USER_INITIATED) => is_upset,
        Some(_) => false,
    }
}

/// RFC 9260 §3.3.10.
const RESTART_WITH_NEW_ADDRESSES: u16 = 11;
const USER_INITIATED: u16 = 12;
/// What was lost before may expire once more: RTO.Max of the cases, and the delay of the acknowledgment.
const LAST_EXPIRY: Duration = Duration::from_secs(10);

//! Who talks with whom, and how far it has got: identity and what proves it, state, what belongs to the beginning and the end, and
//! what the user is told of all that.

mod closing;
mod keys;
mod opening;
mod telling;

use core::time::Duration;
use std::sync::Arc;

use sctp_wire::{Chunk, ChunkType, DecodeError, Packet, VerificationTag};
use virtual_time::Instant;

use super::{AssociationState, Authentication, Commons, Peer, State};
use crate::capabilities::{Capabilities, Capability};
use crate::event::EventQueue;
use crate::rng::Nonces;
use crate::stats::AssociationTally;
use crate::transmit::PathIndex;

/// The identity of an association, its state, and what its user is told.
#[derive(Debug)]
pub(crate) struct Session {
    pub(super) config: Arc<Commons>,
    pub(super) state: State,
    pub(super) peer: Peer,
    pub(crate) authentication: Authentication,
    pub(super) nonces: Nonces,
    /// The events that the user has not been told of.
    pub(super) events: EventQueue,
    pub(super) counters: AssociationTally,
    /// The time at which INIT or COOKIE ECHO was sent, while it was sent only once: its answer gives a first
    /// round trip.
    pub(super) handshake_sent_at: Option<Instant>,
    /// The path of the chunk that T1 or T2 waits for an answer to.
    pub(super) control_path: PathIndex,
    /// T2 began again since SHUTDOWN was last sent, because the peer sent something.
    pub(super) has_waited_longer: bool,
    /// The user asked for shutdown, perhaps before the association was up.
    pub(super) shutdown_wanted: bool,
}

impl Session {
    /// Returns whether the handshake is not over.
    pub(crate) fn is_setting_up(&self) -> bool {
        self.state.name().is_setting_up()
    }

    pub(super) fn new(
        config: Arc<Commons>,
        state: State,
        peer: Peer,
        authentication: Authentication,
        nonces: Nonces,
    ) -> Self {
        Self {
            events: EventQueue::new(&config.buffers),
            counters: AssociationTally::default(),
            config,
            state,
            peer,
            authentication,
            nonces,
            handshake_sent_at: None,
            control_path: PathIndex::FIRST,
            has_waited_longer: false,
            shutdown_wanted: false,
        }
    }

    /// Returns what it has in common with others, its configuration first of all.
    pub(crate) fn commons(&self) -> &Commons {
        &self.config
    }

    /// Returns the peer's tag, as packets to it carry it.
    pub(super) fn tag_of_peer(&self) -> VerificationTag {
        self.peer.tag()
    }

    /// Returns whether an extension is agreed on.
    pub(super) fn has(&self, capability: Capability) -> bool {
        self.peer.agreed.capabilities.has(capability)
    }

    /// Returns whether the user may hand in messages.
    #[inline]
    pub(super) fn takes_messages(&self) -> bool {
        match self.state.name() {
            AssociationState::CookieWait | AssociationState::CookieEchoed | AssociationState::Established => {
                !self.shutdown_wanted
            }
            AssociationState::ShutdownPending
            | AssociationState::ShutdownSent
            | AssociationState::ShutdownReceived
            | AssociationState::ShutdownAckSent
            | AssociationState::Closed => false,
        }
    }

    /// Returns the period of the T5-shutdown-guard timer (RFC 9260 §9.2).
    pub(super) fn guard_period(&self) -> Duration {
        self.config.rto.max * 5
    }

    /// Returns a malformed chunk of an extension as an unknown one, if the extension is not spoken (RFC 9260
    /// §3.2).
    pub(super) fn unspoken<'a>(&self, packet: &Packet<'a>, error: &DecodeError) -> Option<Chunk<'a>> {
        let chunk = packet.undecoded(error)?;
        let is_known = if chunk.kind == ChunkType::I_DATA {
            self.offers(Capability::Interleaving)
        } else {
            matches!(chunk.kind, ChunkType::FORWARD_TSN | ChunkType::I_FORWARD_TSN)
                && self.has(Capability::PartialReliability)
        };
        (chunk.kind.is_extension() && !is_known).then_some(Chunk::Unknown(chunk))
    }

    /// Returns whether chunks of an extension are known here; whether they may be used is for their owner to
    /// judge.
    pub(super) fn offers(&self, capability: Capability) -> bool {
        Capabilities::offered_by(&self.config.extensions).has(capability)
    }

    /// Returns whether a chunk is answered with a SACK.
    #[inline]
    pub(super) fn counts_as_data(&self, chunk: &Chunk<'_>) -> bool {
        matches!(chunk, Chunk::Data(_))
            || (matches!(chunk, Chunk::IData(_)) && self.offers(Capability::Interleaving))
            || (matches!(chunk, Chunk::ForwardTsn(_) | Chunk::IForwardTsn(_))
                && self.has(Capability::PartialReliability))
    }
}

//! What an association owes the world: control chunks to the peer, events to the user, wake-ups to the driver, counts to
//! whoever asks.

use sctp_wire::{ChunkBuf, Full, VerificationTag};

use super::PeerNotes;
use super::control::{Bundling, ControlChunk, ControlQueue};
use super::timers::Timers;
use crate::config::AssociationConfig;
use crate::error::AssociationError;
use crate::event::{AddressChange, AddressOutcome, Event, EventQueue};
use crate::message::Message;
use crate::receiver::Aborted;
use crate::sender::abandon::Failed;
use crate::stats::AssociationTally;
use crate::trace;
use crate::transmit::PathIndex;

/// The queues that every part of an association writes to.
#[derive(Debug)]
pub(super) struct Outbox {
    pub(super) timers: Timers,
    pub(super) control: ControlQueue,
    pub(super) events: EventQueue,
    pub(super) counters: AssociationTally,
}

impl Outbox {
    pub(super) fn new(config: &AssociationConfig) -> Self {
        Self {
            timers: Timers::default(),
            control: ControlQueue::default(),
            events: EventQueue::new(&config.buffers),
            counters: AssociationTally::default(),
        }
    }

    /// Queues a control chunk that may be bundled, for a packet with this tag; one that could not be encoded is counted and
    /// dropped.
    pub(super) fn push(&mut self, path: PathIndex, tag: VerificationTag, chunk: Result<ChunkBuf, Full>) {
        self.push_bundled(path, tag, chunk, Bundling::Bundled);
    }

    /// Queues a control chunk that travels like this.
    pub(super) fn push_bundled(
        &mut self,
        path: PathIndex,
        tag: VerificationTag,
        chunk: Result<ChunkBuf, Full>,
        bundling: Bundling,
    ) {
        let queued = chunk.is_ok_and(|chunk| self.control.push(ControlChunk { path, tag, chunk, bundling }));
        if !queued {
            self.counters.note().control_dropped += 1;
        }
    }

    pub(super) fn tell(&mut self, event: Event) {
        self.events.push(event);
    }

    #[inline]
    pub(super) fn tell_message_ready(&mut self) {
        self.events.push_message_ready();
    }

    pub(super) fn tell_buffer_available(&mut self) {
        self.events.push(Event::SendBufferAvailable);
    }

    pub(super) fn tell_dry(&mut self) {
        self.events.push(Event::SenderDry);
    }

    /// Tells which messages will not be delivered.
    pub(super) fn tell_failed(&mut self, failed: Vec<Failed>) {
        self.events.extend(failed.into_iter().map(|Failed { message, was_sent, reason }| {
            trace::message_abandoned(message.stream, &reason, was_sent);
            Event::SendFailed { message, was_sent, reason }
        }));
    }

    /// Tells that nothing of these messages was sent, and nothing will be.
    pub(super) fn tell_unsent(&mut self, unsent: Vec<Message>, error: &AssociationError) {
        let failed = |message| Failed { message, was_sent: false, reason: error.clone().into() };
        self.tell_failed(unsent.into_iter().map(failed).collect());
    }

    /// Tells that the peer gave up what was delivered in part.
    pub(super) fn tell_aborted(&mut self, aborted: Vec<Aborted>) {
        let events = aborted.into_iter();
        self.events.extend(
            events.map(|Aborted { stream, message }| Event::PartialDeliveryAborted { stream, message }),
        );
    }

    /// Tells what has become of a request to change addresses.
    pub(super) fn tell_address_outcome(&mut self, change: AddressChange, outcome: AddressOutcome) {
        let (AddressChange::Add(address)
        | AddressChange::Delete(address)
        | AddressChange::SetPrimary(address)) = change;
        trace::address_change_answered(change, &address, outcome);
        self.tell(Event::AddressChangeAnswered { change, outcome });
    }

    /// Counts addresses of the peer that are not used.
    pub(super) fn count_ignored_addresses(&mut self, notes: PeerNotes) {
        if notes.addresses_ignored > 0 {
            self.counters.note().addresses_ignored += u64::from(notes.addresses_ignored);
        }
    }

    /// Takes over the events and counters of a predecessor, when the peer has restarted; returns how often it has.
    pub(super) fn adopt(&mut self, predecessor: &mut Self) -> u64 {
        core::mem::swap(&mut self.events, &mut predecessor.events);
        let ignored = self.counters.get().addresses_ignored;
        self.counters = core::mem::take(&mut predecessor.counters);
        let counters = self.counters.note();
        counters.restarts += 1;
        counters.addresses_ignored += ignored;
        counters.restarts
    }
}

//! What the user is told, and what is counted.

use super::Session;
use crate::association::PeerNotes;
use crate::error::AssociationError;
use crate::event::{AddressChange, AddressOutcome, Event};
use crate::message::Message;
use crate::receiver::Aborted;
use crate::sender::abandon::Failed;
use crate::trace;

impl Session {
    pub(in crate::association) fn tell(&mut self, event: Event) {
        self.events.push(event);
    }

    #[inline]
    pub(in crate::association) fn tell_message_ready(&mut self) {
        self.events.push_message_ready();
    }

    pub(in crate::association) fn tell_buffer_available(&mut self) {
        self.events.push(Event::SendBufferAvailable);
    }

    pub(in crate::association) fn tell_dry(&mut self) {
        self.events.push(Event::SenderDry);
    }

    /// Tells which messages will not be delivered.
    pub(in crate::association) fn tell_failed(&mut self, failed: Vec<Failed>) {
        self.events.extend(failed.into_iter().map(|Failed { message, was_sent, reason }| {
            trace::message_abandoned(message.stream, &reason, was_sent);
            Event::SendFailed { message, was_sent, reason }
        }));
    }

    /// Tells that nothing of these messages was sent, and nothing will be.
    pub(in crate::association) fn tell_unsent(&mut self, unsent: Vec<Message>, error: &AssociationError) {
        let failed = |message| Failed { message, was_sent: false, reason: error.clone().into() };
        self.tell_failed(unsent.into_iter().map(failed).collect());
    }

    /// Tells that the peer gave up what was delivered in part.
    pub(in crate::association) fn tell_aborted(&mut self, aborted: Vec<Aborted>) {
        let events = aborted.into_iter();
        self.events.extend(
            events.map(|Aborted { stream, message }| Event::PartialDeliveryAborted { stream, message }),
        );
    }

    /// Tells what has become of a request to change addresses.
    pub(in crate::association) fn tell_address_outcome(
        &mut self,
        change: AddressChange,
        outcome: AddressOutcome,
    ) {
        let (AddressChange::Add(address)
        | AddressChange::Delete(address)
        | AddressChange::SetPrimary(address)) = change;
        trace::address_change_answered(change, &address, outcome);
        self.tell(Event::AddressChangeAnswered { change, outcome });
    }

    /// Counts addresses of the peer that are not used.
    pub(in crate::association) fn count_ignored_addresses(&mut self, notes: PeerNotes) {
        if notes.addresses_ignored > 0 {
            self.counters.note().addresses_ignored += u64::from(notes.addresses_ignored);
        }
    }

    /// Goes on where a predecessor stops, whose peer has restarted: to the user it is the same association. Returns how often
    /// its peer has.
    pub(in crate::association) fn succeed(&mut self, predecessor: &mut Self) -> u64 {
        self.peer.origin = predecessor.peer.origin;
        self.authentication.statistics = core::mem::take(&mut predecessor.authentication.statistics);
        core::mem::swap(&mut self.events, &mut predecessor.events);
        let ignored = self.counters.get().addresses_ignored;
        self.counters = core::mem::take(&mut predecessor.counters);
        let counters = self.counters.note();
        counters.restarts += 1;
        counters.addresses_ignored += ignored;
        counters.restarts
    }
}

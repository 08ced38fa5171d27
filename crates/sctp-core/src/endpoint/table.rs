//! The table of associations: who is in it, and what the queues and tables of the endpoint know of each.

use smallvec::SmallVec;
use virtual_time::Instant;

use super::AssociationId;
use super::deadlines::{Deadlines, SlotKey};
use super::demux::{Demux, Removal};
use super::init_limiter::Network;
use super::memory::ReceiveMemory;
use super::peer_hash::PeerHash;
use super::slots::Slots;
use super::turns::{Turns, is_in, waits_in};
use crate::association::{Association, Watched};
use crate::error::UnknownAssociation;
use crate::event::Event;
use crate::transmit::Transmit;

/// The associations of an endpoint, and what is known of them: who is found by a packet, who has something to do, who is to
/// be woken up when, and what all of them hold in memory.
///
/// What is changed about an association is changed in a call by [`with`](Self::with), or told of by [`refresh`](Self::refresh)
/// afterwards: so what is known of it stays true.
pub(super) struct AssociationTable {
    pub(super) associations: Slots<Entry>,
    pub(super) memory: ReceiveMemory,
    pub(super) demux: Demux,
    pub(super) deadlines: Deadlines,
    pub(super) turns: Turns,
    generation: u32,
}

pub(super) struct Entry {
    /// The association, in a place of its own, so that the table can grow without moving it.
    pub(super) association: Box<Association>,
    pub(super) generation: u32,
    /// The earliest deadline in the heap.
    pub(super) armed_at: Option<Instant>,
    /// The octets of received data that it holds, as `memory` knows them.
    pub(super) received_bytes: usize,
    pub(super) is_sendable: bool,
    pub(super) is_eventful: bool,
    is_finished: bool,
    /// The time at which a cookie with its tag was made last, if one was; until it is over.
    pub(super) cookie_made_at: Option<Instant>,
    /// The network it counts for, if a peer has opened it; until it is over.
    pub(super) network: Option<Network>,
    /// The revision of the paths, as the tables know them.
    pub(super) revision: u32,
}

impl Entry {
    /// Returns the deadline of the association, if it has moved closer than the one in the heap, which it takes
    /// the place of.
    #[inline]
    pub(super) fn closer_deadline(&mut self) -> Option<Instant> {
        let closest = self.association.take_closest_timeout();
        if self.armed_at.is_some_and(|armed| closest.is_none_or(|at| at >= armed)) {
            return None;
        }
        let due =
            self.association.poll_timeout().filter(|due| self.armed_at.is_none_or(|armed| *due < armed))?;
        self.armed_at = Some(due);
        Some(due)
    }

    /// Returns whether nothing is left of the association, which is said once.
    #[inline]
    pub(super) fn finishes(&mut self) -> bool {
        self.association.is_finished() && !core::mem::replace(&mut self.is_finished, true)
    }
}

/// Whether an association goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub(super) enum EntryStanding {
    Open,
    /// The association is over: its cookies and its place among its neighbours are to be given up.
    Over,
}

impl AssociationTable {
    pub(super) fn new(memory: ReceiveMemory, hash: PeerHash) -> Self {
        Self {
            associations: Slots::default(),
            memory,
            demux: Demux::new(hash),
            deadlines: Deadlines::default(),
            turns: Turns::default(),
            generation: 0,
        }
    }

    /// Returns the number of associations.
    pub(super) fn len(&self) -> usize {
        self.associations.len()
    }

    /// Returns the association in a slot that is known to be in use.
    #[inline]
    pub(super) fn get(&self, slot: usize) -> &Association {
        &self.associations[slot].association
    }

    /// Calls an association, and puts it into the queues where it belongs afterwards.
    #[inline]
    pub(super) fn with<R>(
        &mut self,
        now: Instant,
        slot: usize,
        call: impl FnOnce(&mut Association) -> R,
    ) -> (R, EntryStanding) {
        let result = call(&mut self.at(now, slot));
        (result, self.refresh(slot))
    }

    /// Returns an association, to be called: what it does meanwhile is told of as its doing.
    #[inline]
    pub(super) fn at(&mut self, now: Instant, slot: usize) -> Watched<'_> {
        let Entry { association, generation, .. } = &mut self.associations[slot];
        Watched::new(now, *generation, association)
    }

    #[inline]
    pub(super) fn slot(&self, id: AssociationId) -> Result<usize, UnknownAssociation> {
        let slot = id.slot as usize;
        let entry = self.associations.get(slot).ok_or(UnknownAssociation)?;
        if entry.generation == id.generation { Ok(slot) } else { Err(UnknownAssociation) }
    }

    /// Returns the name of the association in this slot.
    pub(super) fn id(&self, slot: usize) -> AssociationId {
        id(slot, self.associations[slot].generation)
    }

    /// Returns the association with this name, if it is still there.
    pub(super) fn association(&self, id: AssociationId) -> Option<&Association> {
        self.slot(id).ok().map(|slot| self.get(slot))
    }

    /// Enters an association that was made.
    pub(super) fn insert(&mut self, now: Instant, association: Box<Association>) -> usize {
        self.generation = self.generation.wrapping_add(1);
        let entry = Entry {
            association,
            generation: self.generation,
            armed_at: None,
            received_bytes: 0,
            is_sendable: false,
            is_eventful: false,
            is_finished: false,
            cookie_made_at: None,
            network: None,
            revision: 0,
        };
        let slot = self.associations.insert(entry);
        self.at(now, slot).session().tell_of_beginning();
        self.enter(slot);
        slot
    }

    /// Tells the tables where this association is found.
    pub(super) fn enter(&mut self, slot: usize) {
        let entry = &mut self.associations[slot];
        entry.revision = entry.association.paths().revision();
        self.demux.insert(slot, &entry.association);
    }

    /// Returns whether the association in this slot is found as it was found before, by whatever packet comes next.
    #[inline]
    pub(super) fn is_found_as_before(&self, slot: usize) -> bool {
        let entry = &self.associations[slot];
        !entry.association.is_closed() && entry.revision == entry.association.paths().revision()
    }

    /// Puts an association into the queues where it belongs now, after a call into it.
    #[inline]
    pub(super) fn refresh(&mut self, slot: usize) -> EntryStanding {
        let Some(entry) = self.associations.get_mut(slot) else { return EntryStanding::Open };
        let held = entry.association.receive_memory_bytes();
        if held != entry.received_bytes {
            self.memory.update(core::mem::replace(&mut entry.received_bytes, held), held);
        }
        if !core::mem::replace(&mut entry.is_sendable, true) {
            self.turns.sendable.push(SlotKey { slot, generation: entry.generation });
        }
        if entry.association.has_event() && !core::mem::replace(&mut entry.is_eventful, true) {
            self.turns.eventful.push(SlotKey { slot, generation: entry.generation });
        }
        let closer = entry.closer_deadline();
        let mut standing = EntryStanding::Open;
        if entry.association.is_closed() {
            self.on_closed(slot);
            standing = EntryStanding::Over;
        } else if entry.revision != entry.association.paths().revision() {
            self.enter(slot);
        }
        if let Some(due) = closer {
            self.arm(slot, due);
        }
        standing
    }

    /// An association is over: no packet belongs to it any more, and what it has to say goes first.
    #[cold]
    fn on_closed(&mut self, slot: usize) {
        if self.demux.remove(slot) == Removal::Now {
            let place = SlotKey { slot, generation: self.associations[slot].generation };
            self.turns.farewells.push(place);
        }
        self.note_if_finished(slot);
    }

    /// A message was read and nothing came of it: what the association holds is all that has changed.
    pub(super) fn note_read(&mut self, slot: usize) {
        let Some(entry) = self.associations.get_mut(slot) else { return };
        let held = entry.association.receive_memory_bytes();
        self.memory.update(core::mem::replace(&mut entry.received_bytes, held), held);
    }

    /// Tells an association what it may hold in memory, before a packet reaches it.
    pub(super) fn grant_memory(&mut self, slot: usize) {
        if let Some(entry) = self.associations.get_mut(slot)
            && let Some(receiver) = entry.association.receiver_mut()
        {
            receiver.grant_memory(self.memory.allowance(entry.received_bytes));
        }
    }

    /// Takes the associations whose time has come, each once: whatever their timers start again, there is an end to them.
    pub(super) fn take_due(&mut self, now: Instant) -> SmallVec<[usize; 8]> {
        let mut due = SmallVec::new();
        while let Some(taken) = self.deadlines.take_due(now) {
            due.extend(self.disarm(taken));
        }
        due
    }

    /// Takes the times up to `until` from the heap at which nothing is to be done, as far as the first at which something is.
    pub(super) fn skip_stopped(&mut self, until: Instant) {
        while let Some(place) = self.deadlines.first_until(until)
            && !self.acts_until(place, until)
            && let Some(taken) = self.deadlines.take_due(until)
        {
            if let Some(slot) = self.disarm(taken) {
                self.rearm(slot);
            }
        }
    }

    fn acts_until(&self, place: SlotKey, until: Instant) -> bool {
        let entry = self.associations.get(place.slot).filter(|entry| entry.generation == place.generation);
        entry.and_then(|entry| entry.association.poll_timeout()).is_some_and(|due| due <= until)
    }

    /// Takes note that a time has left the heap; returns whose it was, if that association is still there.
    fn disarm(&mut self, (at, place): (Instant, SlotKey)) -> Option<usize> {
        let entry = self.associations.get_mut(place.slot)?;
        if entry.generation != place.generation {
            return None;
        }
        entry.armed_at = entry.armed_at.filter(|armed| *armed != at);
        Some(place.slot)
    }

    /// Returns the next deadline. That of the association whose time is next in the heap may have moved since, or be off.
    pub(super) fn next_deadline(&self) -> Option<Instant> {
        let (place, after_it) = self.deadlines.first_two()?;
        let first = self.associations.get(place.slot).filter(|entry| entry.generation == place.generation);
        match (first.and_then(|entry| entry.association.poll_timeout()), after_it) {
            (Some(its), Some(after_it)) => Some(its.min(after_it)),
            (its, after_it) => its.or(after_it),
        }
    }

    pub(super) fn rearm(&mut self, slot: usize) {
        if let Some(due) = self.associations.get_mut(slot).and_then(Entry::closer_deadline) {
            self.arm(slot, due);
        }
    }

    /// The heap gets an entry only when a deadline moved closer; later ones are found when the old one comes up.
    fn arm(&mut self, slot: usize, due: Instant) {
        let place = SlotKey { slot, generation: self.associations[slot].generation };
        self.deadlines.push(due, place, self.associations.len(), waits_in(&self.associations));
    }

    fn note_if_finished(&mut self, slot: usize) {
        if self.associations.get_mut(slot).is_some_and(Entry::finishes) {
            self.turns.finished.push(slot);
        }
    }
}

/// What associations have to do.
impl AssociationTable {
    /// Returns whether an association may have packets to send.
    #[inline]
    pub(super) fn may_send(&self) -> bool {
        !self.turns.sendable.is_empty()
    }

    /// Writes what associations that are over still have to say.
    #[inline]
    pub(super) fn write_farewells(
        &mut self,
        now: Instant,
        left: &mut usize,
        buffer: &mut Vec<u8>,
        each: &mut dyn FnMut(Transmit),
    ) {
        if !self.turns.farewells.is_empty() {
            self.write_last_words(now, left, buffer, each);
        }
    }

    #[cold]
    fn write_last_words(
        &mut self,
        now: Instant,
        left: &mut usize,
        buffer: &mut Vec<u8>,
        each: &mut dyn FnMut(Transmit),
    ) {
        while *left > 0
            && let Some(SlotKey { slot, .. }) = self.turns.farewells.front(is_in(&self.associations))
        {
            if self.write_from(now, slot, left, buffer, each) {
                self.turns.farewells.pop();
            }
        }
    }

    /// Writes packets of the associations that have some, in turn.
    #[inline]
    pub(super) fn write_packets(
        &mut self,
        now: Instant,
        left: &mut usize,
        buffer: &mut Vec<u8>,
        each: &mut dyn FnMut(Transmit),
    ) {
        while *left > 0
            && let Some(SlotKey { slot, .. }) = self.turns.sendable.front(is_in(&self.associations))
        {
            if self.write_from(now, slot, left, buffer, each) {
                self.turns.sendable.pop();
            }
        }
    }

    /// Takes packets from an association, at most as many as are left. Whether that was all it has to send.
    #[inline(always)]
    fn write_from(
        &mut self,
        now: Instant,
        slot: usize,
        left: &mut usize,
        buffer: &mut Vec<u8>,
        each: &mut dyn FnMut(Transmit),
    ) -> bool {
        let Some(entry) = self.associations.get_mut(slot) else { return true };
        let mut association = Watched::new(now, entry.generation, &mut entry.association);
        let transmitted = association.transmit(now, *left, buffer, each);
        drop(association);
        *left -= transmitted.packets;
        if transmitted.is_all {
            entry.is_sendable = false;
            if entry.finishes() {
                self.turns.finished.push(slot);
            }
        }
        // Data that waits for the pacer has set its timer.
        if let Some(due) = entry.closer_deadline() {
            self.arm(slot, due);
        }
        transmitted.is_all
    }

    /// Returns the next event of an association, in turn.
    #[inline]
    pub(super) fn poll_event(&mut self) -> Option<(AssociationId, Event)> {
        if self.turns.eventful.is_empty() { None } else { self.next_event() }
    }

    fn next_event(&mut self) -> Option<(AssociationId, Event)> {
        while let Some(SlotKey { slot, .. }) = self.turns.eventful.front(is_in(&self.associations)) {
            let entry = &mut self.associations[slot];
            let event = entry.association.poll_event();
            let id = id(slot, entry.generation);
            if !entry.association.has_event() {
                entry.is_eventful = false;
                self.turns.eventful.pop();
                self.note_if_finished(slot);
            }
            if let Some(event) = event {
                return Some((id, event));
            }
        }
        None
    }

    /// Forgets associations that ended; not in the call that handed out their last event, so that it can still be
    /// looked at.
    #[inline]
    pub(super) fn reap(&mut self) {
        if !self.turns.finished.is_empty() {
            self.forget_finished();
        }
    }

    #[cold]
    fn forget_finished(&mut self) {
        for slot in core::mem::take(&mut self.turns.finished) {
            let _since_it_closed = self.demux.remove(slot);
            let Some(entry) = self.associations.remove(slot) else { continue };
            self.memory.update(entry.received_bytes, 0);
            if entry.is_sendable {
                self.turns.sendable.forget(is_in(&self.associations));
            }
            if entry.is_eventful {
                self.turns.eventful.forget(is_in(&self.associations));
            }
            self.turns.farewells.forget(is_in(&self.associations));
            self.deadlines.prune(self.associations.len(), waits_in(&self.associations));
        }
    }
}

#[expect(clippy::cast_possible_truncation, reason = "slots are bounded by the association limit")]
fn id(slot: usize, generation: u32) -> AssociationId {
    AssociationId { slot: slot as u32, generation }
}

//! The table of associations: who is in it, and what the queues and tables of the endpoint know of each.

use virtual_time::Instant;

use super::deadlines::SlotKey;
use super::demux::Removal;
use super::init_limiter::Network;
use super::turns::{is_in, waits_in};
use super::{AssociationId, Endpoint};
use crate::association::Association;
use crate::association::Watched;
use crate::error::UnknownAssociation;

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

impl Endpoint {
    pub(super) fn each_association(&mut self, now: Instant, mut change: impl FnMut(&mut Association)) {
        let slots: Vec<usize> = self.associations.iter().map(|(slot, _)| slot).collect();
        for slot in slots {
            self.with(now, slot, &mut change);
        }
    }

    /// Calls an association, and puts it into the queues where it belongs afterwards: what the endpoint knows of it stays
    /// true.
    #[inline]
    pub(super) fn with<R>(
        &mut self,
        now: Instant,
        slot: usize,
        call: impl FnOnce(&mut Association) -> R,
    ) -> R {
        let result = call(&mut self.at(now, slot));
        self.refresh(slot);
        result
    }

    /// Returns an association, to be called: what it does meanwhile is told of as its doing.
    pub(super) fn at(&mut self, now: Instant, slot: usize) -> Watched<'_> {
        let Entry { association, generation, .. } = &mut self.associations[slot];
        Watched::new(now, *generation, association)
    }

    pub(super) fn slot(&self, id: AssociationId) -> Result<usize, UnknownAssociation> {
        let slot = id.slot as usize;
        let entry = self.associations.get(slot).ok_or(UnknownAssociation)?;
        if entry.generation == id.generation { Ok(slot) } else { Err(UnknownAssociation) }
    }

    pub(super) fn insert(&mut self, now: Instant, association: Box<Association>) -> usize {
        self.generation = self.generation.wrapping_add(1);
        let generation = self.generation;
        let entry = Entry {
            association,
            generation,
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
        self.refresh(slot);
        slot
    }

    /// Tells the tables where this association is found.
    pub(super) fn enter(&mut self, slot: usize) {
        let entry = &mut self.associations[slot];
        entry.revision = entry.association.paths().revision();
        self.demux.insert(slot, &entry.association);
    }

    /// Puts an association into the queues where it belongs now, after a call into it.
    pub(super) fn refresh(&mut self, slot: usize) {
        let Some(entry) = self.associations.get_mut(slot) else { return };
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
        if entry.association.is_closed() {
            let (tag, place) =
                (entry.association.peer().local_tag, SlotKey { slot, generation: entry.generation });
            self.spend_cookies(slot, tag);
            self.leave_crowd(slot);
            if self.demux.remove(slot) == Removal::Now {
                self.turns.farewells.push(place);
            }
            self.note_if_finished(slot);
        } else if entry.revision != entry.association.paths().revision() {
            self.enter(slot);
        }
        self.rearm(slot);
    }

    /// A message was read and nothing came of it: what the association holds is all that has changed.
    pub(super) fn note_read(&mut self, slot: usize) {
        let Some(entry) = self.associations.get_mut(slot) else { return };
        let held = entry.association.receive_memory_bytes();
        self.memory.update(core::mem::replace(&mut entry.received_bytes, held), held);
    }

    pub(super) fn rearm(&mut self, slot: usize) {
        if let Some(due) = self.associations.get_mut(slot).and_then(Entry::closer_deadline) {
            self.arm(slot, due);
        }
    }

    /// The heap gets an entry only when a deadline moved closer; later ones are found when the old one comes up.
    pub(super) fn arm(&mut self, slot: usize, due: Instant) {
        let place = SlotKey { slot, generation: self.associations[slot].generation };
        self.deadlines.push(due, place, self.associations.len(), waits_in(&self.associations));
    }

    pub(super) fn note_if_finished(&mut self, slot: usize) {
        if self.associations.get_mut(slot).is_some_and(Entry::finishes) {
            self.turns.finished.push(slot);
        }
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
    pub(super) fn forget_finished(&mut self) {
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
pub(super) fn id(slot: usize, generation: u32) -> AssociationId {
    AssociationId { slot: slot as u32, generation }
}

//! The table from numbers to associations: one look, however many there are.
//!
//! Open addressing: an entry stands in the place its number names, or in the next free one behind it. Nobody else has a say in where
//! entries stand, for the numbers are [tags](super::tags), which we draw, or [hashes with a key](super::peer_hash). Nothing is ever
//! walked in the table's order, but for moving all of it.

/// Slots of associations, by numbers of which several may be equal: whoever asks knows which slot is meant.
#[derive(Debug, Default)]
pub(super) struct SlotTable {
    /// The places of the table: none, or a power of two; at least a quarter of them is free.
    places: Vec<Place>,
    used: usize,
}

#[derive(Clone, Copy, Debug)]
struct Place {
    number: u32,
    /// [`NO_SLOT`] in a place that is free.
    slot: u32,
}

impl SlotTable {
    /// Returns the slot that was entered under this number and is meant.
    #[inline]
    pub(super) fn find(&self, number: u32, is_meant: impl Fn(usize) -> bool) -> Option<usize> {
        self.position(number, is_meant).map(|at| self.places[at].slot as usize)
    }

    /// Enters a slot, beside those with the same number.
    pub(super) fn insert(&mut self, number: u32, slot: usize) {
        let Some(slot) = u32::try_from(slot).ok().filter(|slot| *slot != NO_SLOT) else {
            return;
        };
        if (self.used + 1) * 4 > self.places.len() * 3 {
            self.grow();
        }
        self.used += 1;
        self.put(Place { number, slot });
    }

    /// Takes out the slot under this number that is meant, if it is there.
    pub(super) fn remove(&mut self, number: u32, is_meant: impl Fn(usize) -> bool) {
        let Some(mut hole) = self.position(number, is_meant) else {
            return;
        };
        // Those behind it that would not be found any more move up.
        let mut at = hole;
        loop {
            at = self.behind(at);
            let moved = self.places[at];
            if moved.slot == NO_SLOT {
                break;
            }
            if self.distance(self.home(moved.number), at) >= self.distance(hole, at) {
                self.places[hole] = moved;
                hole = at;
            }
        }
        self.places[hole] = FREE;
        self.used -= 1;
    }

    #[inline]
    fn position(&self, number: u32, is_meant: impl Fn(usize) -> bool) -> Option<usize> {
        if self.used == 0 {
            return None;
        }
        let mut at = self.home(number);
        loop {
            let place = self.places[at];
            if place.slot == NO_SLOT {
                return None;
            }
            if place.number == number && is_meant(place.slot as usize) {
                return Some(at);
            }
            at = self.behind(at);
        }
    }

    /// Puts an entry into the first free place from where it belongs on.
    fn put(&mut self, entry: Place) {
        let mut at = self.home(entry.number);
        while self.places[at].slot != NO_SLOT {
            at = self.behind(at);
        }
        self.places[at] = entry;
    }

    #[cold]
    fn grow(&mut self) {
        let length = (2 * self.places.len()).max(PLACES_MIN);
        let known = core::mem::replace(&mut self.places, vec![FREE; length]);
        known.into_iter().filter(|place| place.slot != NO_SLOT).for_each(|place| self.put(place));
    }

    /// Returns where a number belongs. Where endpoints share a port some bits of their tags are alike
    /// ([`TagShare`](crate::TagShare)): all bits count.
    fn home(&self, number: u32) -> usize {
        let mixed = u64::from(number.wrapping_mul(GOLDEN));
        usize::try_from((mixed * self.places.len() as u64) >> 32).unwrap_or_default()
    }

    fn behind(&self, at: usize) -> usize {
        (at + 1) & (self.places.len() - 1)
    }

    /// Steps from one place to another.
    fn distance(&self, from: usize, to: usize) -> usize {
        to.wrapping_sub(from) & (self.places.len() - 1)
    }
}

/// The number of no slot: there are not so many.
const NO_SLOT: u32 = u32::MAX;
const FREE: Place = Place { number: 0, slot: NO_SLOT };
/// 2³² divided by the golden ratio: neighbours are spread over the whole table.
const GOLDEN: u32 = 0x9e37_79b9;
const PLACES_MIN: usize = 8;

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Numbers of a few values only, under each of which several slots stand, so that places are taken and given up again and again.
        #[test]
        fn table_knows_what_an_ordered_set_knows(
            steps in prop::collection::vec((any::<bool>(), 1_u32..40, 0_usize..5), 0..300),
            stride in prop::sample::select(vec![1, 2, 64, 0x1000_0001]),
        ) {
            let (mut table, mut set) = (SlotTable::default(), BTreeSet::new());
            for (enters, number, slot) in steps {
                let number = number.wrapping_mul(stride);
                if !enters {
                    table.remove(number, |other| other == slot);
                    set.remove(&(number, slot));
                } else if set.insert((number, slot)) {
                    table.insert(number, slot);
                }
                prop_assert_eq!(table.used, set.len());
            }
            for number in (0..41_u32).map(|number| number.wrapping_mul(stride)) {
                for slot in 0..5 {
                    let found = table.find(number, |other| other == slot);
                    prop_assert_eq!(found, set.get(&(number, slot)).map(|(_, slot)| *slot));
                }
            }
        }
    }

    /// Tags as an endpoint with a share of them draws: found within a few steps, or many packets would pay for it.
    #[test]
    fn numbers_that_are_alike_in_their_low_or_high_bits_stand_close_to_where_they_belong() {
        for step in [1_u32, 16, 1 << 16] {
            let mut table = SlotTable::default();
            let numbers: Vec<_> = (1..10_000_u32).map(|number| number.wrapping_mul(step) | 1).collect();
            numbers.iter().zip(0..).for_each(|(number, slot)| table.insert(*number, slot));
            let steps = |at: usize| table.distance(table.home(table.places[at].number), at);
            let walked: usize =
                (0..table.places.len()).filter(|at| table.places[*at].slot != NO_SLOT).map(steps).sum();
            assert!(walked < 2 * table.used, "{walked} steps for {} numbers {step} apart", table.used);
        }
    }
}

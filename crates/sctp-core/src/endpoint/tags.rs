//! The table from verification tags to associations: one look, however many there are.
//!
//! Open addressing: an entry stands in the place its tag names, or in the next free one behind it. The tags are random
//! numbers of ours, so that nobody else has a say in where entries stand, and the hash needs no key. Nothing is ever walked
//! in the table's order, but for moving all of it.

use sctp_wire::VerificationTag;

/// Slots of associations, by the tags that peers put into their packets.
#[derive(Debug, Default)]
pub(super) struct TagTable {
    /// The places of the table: none, or a power of two; at least a quarter of them is free.
    places: Vec<TagEntry>,
    used: usize,
}

#[derive(Clone, Copy, Debug)]
struct TagEntry {
    /// Zero is no tag of an association (RFC 9260 §5.3.1): the place is free.
    tag: VerificationTag,
    slot: u32,
}

const FREE: TagEntry = TagEntry { tag: VerificationTag::ZERO, slot: 0 };

impl TagTable {
    #[inline]
    pub(super) fn get(&self, tag: VerificationTag) -> Option<usize> {
        let place = self.places.get(self.position(tag)?)?;
        usize::try_from(place.slot).ok()
    }

    /// Enters a tag, or changes whose it is.
    pub(super) fn insert(&mut self, tag: VerificationTag, slot: usize) {
        let Ok(slot) = u32::try_from(slot) else { return };
        if tag == VerificationTag::ZERO {
            return;
        }
        if (self.used + 1) * 4 > self.places.len() * 3 {
            self.grow();
        }
        let at = self.place_of(tag);
        self.used += usize::from(self.places[at].tag != tag);
        self.places[at] = TagEntry { tag, slot };
    }

    pub(super) fn remove(&mut self, tag: VerificationTag) {
        let Some(mut hole) = self.position(tag) else { return };
        // Those behind it that would not be found any more move up.
        let mut at = hole;
        loop {
            at = self.behind(at);
            let moved = self.places[at];
            if moved.tag == VerificationTag::ZERO {
                break;
            }
            if self.distance(self.home(moved.tag), at) >= self.distance(hole, at) {
                self.places[hole] = moved;
                hole = at;
            }
        }
        self.places[hole] = FREE;
        self.used -= 1;
    }

    #[inline]
    fn position(&self, tag: VerificationTag) -> Option<usize> {
        if self.used == 0 || tag == VerificationTag::ZERO {
            return None;
        }
        let at = self.place_of(tag);
        (self.places[at].tag == tag).then_some(at)
    }

    /// Returns where a tag stands or, if it is not there, the free place that it would get.
    #[inline]
    fn place_of(&self, tag: VerificationTag) -> usize {
        let mut at = self.home(tag);
        while self.places[at].tag != tag && self.places[at].tag != VerificationTag::ZERO {
            at = self.behind(at);
        }
        at
    }

    #[cold]
    fn grow(&mut self) {
        let length = (2 * self.places.len()).max(PLACES_MIN);
        let known = core::mem::replace(&mut self.places, vec![FREE; length]);
        for place in known.into_iter().filter(|place| place.tag != VerificationTag::ZERO) {
            let at = self.place_of(place.tag);
            self.places[at] = place;
        }
    }

    /// Returns where a tag belongs. Where endpoints share a port some bits of their tags are alike
    /// ([`TagShare`](crate::TagShare)): all bits count.
    fn home(&self, tag: VerificationTag) -> usize {
        let mixed = u64::from(tag.get().wrapping_mul(GOLDEN));
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

/// 2³² divided by the golden ratio: neighbours are spread over the whole table.
const GOLDEN: u32 = 0x9e37_79b9;
const PLACES_MIN: usize = 8;

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    fn tag(number: u32) -> VerificationTag {
        VerificationTag::new(number)
    }

    proptest! {
        /// Tags of a few values only, so that places are taken and given up again and again.
        #[test]
        fn table_knows_what_an_ordered_map_knows(
            steps in prop::collection::vec((any::<bool>(), 1_u32..40, 0_usize..1000), 0..300),
            stride in prop::sample::select(vec![1, 2, 64, 0x1000_0001]),
        ) {
            let (mut table, mut map) = (TagTable::default(), BTreeMap::new());
            for (enters, number, slot) in steps {
                let number = number.wrapping_mul(stride);
                if enters {
                    table.insert(tag(number), slot);
                    map.insert(number, slot);
                } else {
                    table.remove(tag(number));
                    map.remove(&number);
                }
                prop_assert_eq!(table.used, map.len());
            }
            for number in (0..41_u32).map(|number| number.wrapping_mul(stride)) {
                prop_assert_eq!(table.get(tag(number)), map.get(&number).copied());
            }
        }
    }

    #[test]
    fn tag_zero_is_never_there() {
        let mut table = TagTable::default();
        assert_eq!(table.get(VerificationTag::ZERO), None);
        table.insert(VerificationTag::ZERO, 7);
        table.insert(tag(1), 7);
        table.remove(VerificationTag::ZERO);
        assert_eq!((table.get(VerificationTag::ZERO), table.get(tag(1)), table.used), (None, Some(7), 1));
    }

    /// Tags as an endpoint with a share of them draws: found within a few steps, or many packets would pay for it.
    #[test]
    fn tags_that_are_alike_in_their_low_or_high_bits_stand_close_to_where_they_belong() {
        for step in [1_u32, 16, 1 << 16] {
            let mut table = TagTable::default();
            let tags: Vec<_> = (1..10_000_u32).map(|number| tag(number.wrapping_mul(step) | 1)).collect();
            tags.iter().zip(0..).for_each(|(tag, slot)| table.insert(*tag, slot));
            let steps = |at: usize| table.distance(table.home(table.places[at].tag), at);
            let walked: usize = (0..table.places.len())
                .filter(|at| table.places[*at].tag != VerificationTag::ZERO)
                .map(steps)
                .sum();
            assert!(walked < 2 * table.used, "{walked} steps for {} tags {step} apart", table.used);
        }
    }
}

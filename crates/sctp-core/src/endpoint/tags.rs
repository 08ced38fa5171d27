//! The table from verification tags to associations. The tags are random numbers of ours, so that the hash needs no key.

use sctp_wire::VerificationTag;

use super::slot_table::SlotTable;

/// Slots of associations, by the tags that peers put into their packets: one for each tag.
#[derive(Debug, Default)]
pub(super) struct TagTable(SlotTable);

impl TagTable {
    #[inline]
    pub(super) fn get(&self, tag: VerificationTag) -> Option<usize> {
        self.0.find(tag.get(), |_any| true)
    }

    /// Enters a tag, or changes whose it is. Zero is no tag of an association (RFC 9260 §5.3.1).
    pub(super) fn insert(&mut self, tag: VerificationTag, slot: usize) {
        if tag == VerificationTag::ZERO {
            return;
        }
        if self.get(tag).is_some() {
            self.remove(tag);
        }
        self.0.insert(tag.get(), slot);
    }

    pub(super) fn remove(&mut self, tag: VerificationTag) {
        self.0.remove(tag.get(), |_any| true);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tag_has_one_slot_and_tag_zero_none() {
        let (mut table, tag) = (TagTable::default(), VerificationTag::new(1));
        table.insert(VerificationTag::ZERO, 7);
        table.insert(tag, 6);
        table.insert(tag, 7);
        table.remove(VerificationTag::ZERO);
        assert_eq!((table.get(VerificationTag::ZERO), table.get(tag)), (None, Some(7)));
        table.remove(tag);
        assert_eq!(table.get(tag), None);
    }
}

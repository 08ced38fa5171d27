//! A set of streams: those that a re-configuration is about.

use sctp_wire::{StreamId, Tsn};

/// All streams of one direction, or those listed.
///
/// What a peer lists comes in any order and more than once; here every stream stands once, in ascending order, so that
/// finding one takes the logarithm of the list's length and going through them no more than there are streams.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct StreamSet {
    /// The streams listed; an empty list means all.
    listed: Vec<StreamId>,
}

impl StreamSet {
    /// Every stream there is.
    pub(crate) const ALL: Self = Self { listed: Vec::new() };

    /// Creates the streams listed in a request; none listed means all (RFC 6525 §4.1).
    pub(crate) fn of_list(listed: impl IntoIterator<Item = StreamId>) -> Self {
        let mut listed: Vec<StreamId> = listed.into_iter().collect();
        listed.sort_unstable();
        listed.dedup();
        Self { listed }
    }

    pub(crate) fn is_all(&self) -> bool {
        self.listed.is_empty()
    }

    /// Returns the streams listed, ascending; none means all.
    pub(crate) fn listed(&self) -> &[StreamId] {
        &self.listed
    }

    pub(crate) fn contains(&self, stream: StreamId) -> bool {
        self.is_all() || self.listed.binary_search(&stream).is_ok()
    }

    /// Returns whether every stream of the other set is in this one.
    pub(crate) fn covers(&self, other: &Self) -> bool {
        self.is_all() || (!other.is_all() && other.listed.iter().all(|stream| self.contains(*stream)))
    }

    /// Returns the list of a request or an event; empty means all.
    pub(crate) fn into_list(self) -> Vec<StreamId> {
        self.listed
    }
}

/// A reset of streams that has been agreed on and waits for the data before it (RFC 6525 §5.2.2 (E2)).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct AwaitedReset {
    /// The last TSN before the reset.
    pub(crate) last_tsn: Tsn,
    pub(crate) streams: StreamSet,
}

impl AwaitedReset {
    /// Returns whether a chunk with this TSN, on this stream, belongs behind the reset.
    pub(crate) fn precedes(&self, tsn: Tsn, stream: StreamId) -> bool {
        self.last_tsn.precedes(tsn) && self.streams.contains(stream)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(streams: &[u16]) -> StreamSet {
        StreamSet::of_list(streams.iter().copied().map(StreamId::new))
    }

    #[test]
    fn a_list_is_ascending_and_names_every_stream_once() {
        let listed = set(&[7, 1, 7, 7, 3, 1]);
        assert_eq!(listed.listed(), [1, 3, 7].map(StreamId::new));
        assert!(listed.contains(StreamId::new(3)) && !listed.contains(StreamId::new(2)));
        assert!(StreamSet::ALL.contains(StreamId::new(2)) && set(&[]) == StreamSet::ALL);
    }

    /// RFC 6525 §5.2.2 (E2).
    #[test]
    fn data_behind_an_awaited_reset_is_told_from_data_before_it() {
        let mut reset = AwaitedReset { last_tsn: Tsn::new(u32::MAX), streams: set(&[1]) };
        assert!(reset.precedes(Tsn::new(0), StreamId::new(1)));
        assert!(!reset.precedes(Tsn::new(u32::MAX), StreamId::new(1)));
        assert!(!reset.precedes(Tsn::new(0), StreamId::new(2)));
        reset.streams = StreamSet::ALL;
        assert!(reset.precedes(Tsn::new(0), StreamId::new(2)));
    }

    #[test]
    fn all_cover_everything_and_are_covered_by_all_only() {
        let rows = [(&[2, 1, 5][..], &[1, 2][..], true), (&[], &[1], true), (&[], &[], true)];
        let others = [(&[1][..], &[][..], false), (&[1], &[1, 2], false)];
        for (ours, theirs, expected) in rows.into_iter().chain(others) {
            assert_eq!(set(ours).covers(&set(theirs)), expected, "{ours:?} {theirs:?}");
        }
    }
}

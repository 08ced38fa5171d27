//! Sets of stream offsets, as ranges.

/// Half-open ranges, ascending, neither overlapping nor touching.
#[derive(Clone, Debug, Default)]
pub(crate) struct RangeSet {
    ranges: Vec<(u64, u64)>,
}

impl RangeSet {
    /// Adds a range; gives the number of offsets that are new.
    pub(crate) fn insert(&mut self, from: u64, to: u64) -> u64 {
        if from >= to {
            return 0;
        }
        let first = self.ranges.partition_point(|&(_, end)| end < from);
        let behind = self.ranges.partition_point(|&(start, _)| start <= to);
        let known: u64 = self.ranges[first..behind].iter().map(|(start, end)| end - start).sum();
        let merged = self.ranges[first..behind]
            .iter()
            .fold((from, to), |(from, to), &(start, end)| (from.min(start), to.max(end)));
        self.ranges.splice(first..behind, [merged]);
        merged.1 - merged.0 - known
    }

    /// Forgets everything below an offset.
    pub(crate) fn remove_below(&mut self, offset: u64) {
        self.ranges.retain_mut(|range| {
            range.0 = range.0.max(offset);
            range.0 < range.1
        });
    }

    pub(crate) fn iter(&self) -> impl DoubleEndedIterator<Item = (u64, u64)> {
        self.ranges.iter().copied()
    }

    /// Returns the range this offset lies in.
    pub(crate) fn containing(&self, offset: u64) -> Option<(u64, u64)> {
        self.iter().find(|&(start, end)| start <= offset && offset < end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_that_touch_become_one_and_only_what_is_new_counts() {
        let mut set = RangeSet::default();
        assert_eq!(set.insert(10, 20), 10);
        assert_eq!(set.insert(30, 40), 10);
        assert_eq!(set.insert(12, 18), 0);
        assert_eq!(set.insert(5, 5), 0);
        assert_eq!(set.insert(20, 31), 10);
        assert_eq!(set.iter().collect::<Vec<_>>(), [(10, 40)]);
        set.insert(50, 60);
        set.remove_below(35);
        assert_eq!(set.iter().collect::<Vec<_>>(), [(35, 40), (50, 60)]);
        assert_eq!(set.containing(55), Some((50, 60)));
        assert_eq!(set.containing(45), None);
    }
}

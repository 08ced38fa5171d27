//! The outstanding chunks that gap ack blocks cover (RFC 9260 §3.3.4), as ranges.
//!
//! A peer repeats its blocks in every SACK until the gap is filled. What a SACK says that is new is the difference
//! between its ranges and those known: finding it costs what the blocks cost, and never what they cover.

use core::ops::Range;

use smallvec::SmallVec;

use super::steps::step;

/// Ranges of chunk numbers: ascending and disjoint.
pub(crate) type Ranges = SmallVec<[Range<u64>; 4]>;

/// The chunks that are covered, by number.
#[derive(Debug, Default)]
pub(crate) struct Coverage {
    /// Elsewhere as soon as there are any: most of the time nothing is missing.
    ranges: Vec<Range<u64>>,
}

impl Coverage {
    pub(crate) fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    pub(crate) fn len(&self) -> usize {
        self.ranges.len()
    }

    pub(crate) fn clear(&mut self) {
        self.ranges.clear();
    }

    /// Chunks below `first` are not outstanding any more.
    pub(crate) fn trim(&mut self, first: u64) {
        let gone = self.ranges.iter().take_while(|range| range.end <= first).count();
        self.ranges.drain(..gone);
        if let Some(range) = self.ranges.first_mut() {
            range.start = range.start.max(first);
        }
    }

    /// Returns what `blocks` cover that was not covered.
    pub(crate) fn additions(&self, blocks: &Ranges) -> Ranges {
        let Some(first) = blocks.first() else { return Ranges::new() };
        let from = self.ranges.partition_point(|range| range.end <= first.start);
        difference(blocks, &self.ranges[from..])
    }

    /// Returns whether anything below `reach` is covered that `blocks` do not cover.
    pub(crate) fn loses(&self, blocks: &Ranges, reach: u64) -> bool {
        let below = &self.ranges[..self.beginning_below(reach)];
        below != blocks.as_slice() && !difference(&clipped(below, 0..reach), blocks).is_empty()
    }

    /// Covers exactly `blocks` below `reach` from now on, and above it what was; returns what is not covered
    /// any more.
    pub(crate) fn replace(&mut self, blocks: Ranges, reach: u64) -> Ranges {
        let end = self.beginning_below(reach);
        if self.ranges[..end] == blocks[..] {
            return Ranges::new();
        }
        let uncovered = difference(&clipped(&self.ranges[..end], 0..reach), &blocks);
        let beyond =
            self.ranges[..end].last().filter(|range| range.end > reach).map(|range| reach..range.end);
        self.ranges.splice(..end, blocks.into_iter().chain(beyond));
        uncovered
    }

    /// Returns how many ranges begin below a number.
    fn beginning_below(&self, reach: u64) -> usize {
        self.ranges.partition_point(|range| range.start < reach)
    }

    /// Covers what these ranges cover, too.
    pub(crate) fn extend(&mut self, additions: Ranges) {
        self.ranges.extend(additions);
        self.ranges.sort_unstable_by_key(|range| range.start);
        self.ranges.dedup_by(|next, range| {
            let joins = next.start <= range.end;
            if joins {
                range.end = range.end.max(next.end);
            }
            joins
        });
    }

    /// Returns the chunks that are covered, the last one first.
    pub(crate) fn descending(&self) -> impl Iterator<Item = u64> {
        self.ranges.iter().rev().flat_map(|range| range.clone().rev())
    }
}

fn clipped(ranges: &[Range<u64>], bounds: Range<u64>) -> Ranges {
    let clip = |range: &Range<u64>| range.start.max(bounds.start)..range.end.min(bounds.end);
    ranges.iter().inspect(|_| step()).map(clip).filter(|range| !range.is_empty()).collect()
}

/// Returns what is in `ranges` and not in `others`.
fn difference(ranges: &[Range<u64>], others: &[Range<u64>]) -> Ranges {
    let mut result = Ranges::new();
    let mut next = 0;
    for range in ranges {
        step();
        let mut start = range.start;
        while others.get(next).is_some_and(|other| other.end <= start) {
            step();
            next += 1;
        }
        for other in others[next..].iter().take_while(|other| other.start < range.end) {
            step();
            if start < other.start {
                result.push(start..other.start);
            }
            start = start.max(other.end);
        }
        if start < range.end {
            result.push(start..range.end);
        }
    }
    result
}

/// Ranges known at most, and gap ack blocks taken in with them: more are not looked at. A receiver of ours keeps 1,024, and a
/// SACK in an Ethernet frame reports 360.
pub(crate) const RANGES_MAX: usize = 4_096;

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    fn ranges(list: &[(u64, u64)]) -> Ranges {
        list.iter().map(|&(start, end)| start..end).collect()
    }

    #[test]
    fn repeated_blocks_are_no_news_and_a_longer_one_is_by_its_new_end() {
        let mut coverage = Coverage::default();
        let blocks = ranges(&[(5, 8), (10, 12)]);
        assert_eq!(coverage.additions(&blocks), blocks);
        assert_eq!(coverage.replace(blocks.clone(), 12), Ranges::new());
        assert_eq!(coverage.additions(&blocks), Ranges::new());
        assert_eq!(coverage.additions(&ranges(&[(5, 15)])), ranges(&[(8, 10), (12, 15)]));
        assert_eq!(coverage.descending().collect::<Vec<_>>(), [11, 10, 7, 6, 5]);
        coverage.trim(6);
        assert_eq!(coverage.descending().last(), Some(6));
    }

    fn disjoint() -> impl Strategy<Value = Ranges> {
        prop::collection::vec((0_u64..4, 1_u64..5), 0..8).prop_map(|steps| {
            let mut at = 0;
            let mut next = |(gap, length): (u64, u64)| {
                let start = at + gap;
                at = start + length;
                start..at
            };
            steps.into_iter().map(&mut next).collect()
        })
    }

    fn set(ranges: &[Range<u64>]) -> BTreeSet<u64> {
        ranges.iter().cloned().flatten().collect()
    }

    proptest! {
        #[test]
        fn ranges_do_what_sets_do(known in disjoint(), blocks in disjoint(), reach in 0_u64..40) {
            let mut coverage = Coverage { ranges: known.to_vec() };
            let reach = reach.max(blocks.last().map_or(0, |block| block.end));
            prop_assert_eq!(set(&coverage.additions(&blocks)), &set(&blocks) - &set(&known));
            let lost = !set(&known).iter().all(|number| *number >= reach || set(&blocks).contains(number));
            prop_assert_eq!(coverage.loses(&blocks, reach), lost);
            let (below, above): (BTreeSet<u64>, _) = set(&known).into_iter().partition(|number| *number < reach);
            prop_assert_eq!(set(&coverage.replace(blocks.clone(), reach)), &below - &set(&blocks));
            let now = &set(&blocks) | &above;
            prop_assert_eq!(&set(&coverage.ranges), &now);
            prop_assert!(coverage.descending().eq(now.iter().rev().copied()));
            coverage.extend(ranges(&[(3, 5), (7, 30)]));
            let more = &now | &(3..5).chain(7..30).collect();
            prop_assert_eq!(&set(&coverage.ranges), &more);
            prop_assert!(coverage.ranges.windows(2).all(|pair| pair[0].end < pair[1].start));
        }
    }
}

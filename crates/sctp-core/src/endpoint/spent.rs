//! Cookies that have made an association which is over: they make no other.
//!
//! A COOKIE ECHO may come again for as long as the cookie lives: repeated because the COOKIE ACK was lost, duplicated by the
//! network, or played back. While its association exists the tags tell (RFC 9260 §5.2.4). Afterwards it would build the
//! association once more, from the first TSN on: what the user has read would come a second time, and a peer that had
//! heard acknowledgements before would wait for ever for an end that asks for data it no longer has.
//!
//! The memory for this has an end. What is forgotten before its cookies have expired bounds what is taken from then on: no
//! cookie that is as old as one of those. Whoever opens and ends associations to have one forgotten makes all cookies of its time
//! stale, and no cookie count twice.

use core::time::Duration;
use std::collections::VecDeque;

use sctp_wire::VerificationTag;
use virtual_time::Instant;

use crate::endpoint::tags::TagTable;

/// The tags of associations that are over, as long as their cookies live; at most [`PLACES`], of 32 octets each.
pub(super) struct SpentTags {
    /// The tags in the order in which their associations ended.
    ended: VecDeque<Ended>,
    known: TagTable,
    /// Cookies that are not younger than this are not taken: one of their age was forgotten.
    forgotten: Option<Instant>,
    /// The longest that a cookie may live.
    life: Duration,
}

struct Ended {
    tag: VerificationTag,
    /// The time when the last cookie with it was made.
    issued_at: Instant,
}

/// The answer to a cookie that does not count any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Answering {
    /// As out of the blue: ABORT.
    Abort,
    Nothing,
}

impl SpentTags {
    pub(super) fn new(life: Duration) -> Self {
        Self { ended: VecDeque::new(), known: TagTable::default(), forgotten: None, life }
    }

    /// The association with this tag of ours is over. The last cookie with it was made at `issued_at`.
    pub(super) fn note(
        &mut self,
        now: Instant,
        tag: VerificationTag,
        issued_at: Instant,
        answering: Answering,
    ) {
        while self.ended.front().is_some_and(|first| self.is_expired(now, first.issued_at)) {
            self.forget_first();
        }
        if self.is_expired(now, issued_at) || self.contains(tag) {
            return;
        }
        if self.ended.len() >= PLACES
            && let Some(first) = self.forget_first()
        {
            self.forgotten = self.forgotten.max(Some(first.issued_at));
        }
        self.ended.push_back(Ended { tag, issued_at });
        self.known.insert(tag, usize::from(answering == Answering::Nothing));
    }

    pub(super) fn contains(&self, tag: VerificationTag) -> bool {
        self.known.get(tag).is_some()
    }

    /// Returns how a cookie with this tag is answered, if it does not count any more.
    pub(super) fn get(&self, tag: VerificationTag) -> Option<Answering> {
        self.known.get(tag).map(|mark| if mark == 0 { Answering::Abort } else { Answering::Nothing })
    }

    /// Returns whether a cookie made then may be one that was forgotten.
    pub(super) fn may_be_forgotten(&self, issued_at: Instant) -> bool {
        self.forgotten.is_some_and(|forgotten| issued_at <= forgotten)
    }

    fn forget_first(&mut self) -> Option<Ended> {
        let first = self.ended.pop_front()?;
        self.known.remove(first.tag);
        Some(first)
    }

    fn is_expired(&self, now: Instant, issued_at: Instant) -> bool {
        now.since(issued_at) > self.life
    }
}

/// The number of places: as many associations as end in a few seconds of a flood at the rate at which one host
/// may send INITs.
const PLACES: usize = 16_384;

#[cfg(test)]
mod tests {
    use super::*;

    fn tag(number: u32) -> VerificationTag {
        VerificationTag::new(number)
    }

    fn at(ms: u64) -> Instant {
        Instant::from_millis(ms)
    }

    fn places() -> u32 {
        u32::try_from(PLACES).unwrap()
    }

    #[test]
    fn robustness_32_what_was_forgotten_bounds_what_is_taken() {
        // Tags of one of 16 shards, and of all.
        for step in [16, 1] {
            let mut spent = SpentTags::new(Duration::from_secs(60));
            spent.note(at(1000), tag(step), at(900), Answering::Abort);
            (2..=places())
                .for_each(|number| spent.note(at(2000), tag(step * number), at(2000), Answering::Abort));
            assert!(
                spent.contains(tag(step)) && !spent.may_be_forgotten(at(0)),
                "{step}: all places are used"
            );
            spent.note(at(2000), tag(step * (places() + 1)), at(2000), Answering::Abort);
            assert!(!spent.contains(tag(step)));
            assert!(spent.may_be_forgotten(at(900)) && spent.may_be_forgotten(at(899)));
            assert!(!spent.may_be_forgotten(at(901)));
        }
    }

    #[test]
    fn expired_cookies_need_no_place_and_bound_nothing() {
        let mut spent = SpentTags::new(Duration::from_secs(60));
        (1..=places()).for_each(|number| spent.note(at(2000), tag(number), at(1000), Answering::Abort));
        spent.note(at(61_001), tag(u32::MAX), at(61_000), Answering::Abort);
        assert_eq!((spent.ended.len(), spent.known.get(tag(1))), (1, None));
        assert!(!spent.may_be_forgotten(at(1000)));
        spent.note(at(200_000), tag(7), at(1000), Answering::Nothing);
        assert!(!spent.contains(tag(7)), "its cookies are stale anyway");
    }

    #[test]
    fn an_end_that_is_told_twice_takes_one_place() {
        let mut spent = SpentTags::new(Duration::from_secs(60));
        (0..3).for_each(|_| spent.note(at(1), tag(7), at(1), Answering::Nothing));
        assert_eq!(spent.ended.len(), 1);
    }
}

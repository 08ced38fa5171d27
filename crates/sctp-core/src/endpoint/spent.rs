//! Cookies that have made an association which is over: they make no other.
//!
//! A COOKIE ECHO may come again for as long as the cookie lives: repeated because the COOKIE ACK was lost, duplicated by the
//! network, or played back. While its association exists the tags tell (RFC 9260 §5.2.4). Afterwards it would build the
//! association once more, from the first TSN on: what the user has read would come a second time, and a peer that had
//! heard acknowledgements before would wait for ever for an end that asks for data it no longer has.

use sctp_wire::VerificationTag;

/// The tags of associations that are over. As many as there are places, each in the place its tag names; a later one takes
/// the place over. 16 KB, from the first end of an association on.
#[derive(Default)]
pub(super) struct SpentTags {
    places: Vec<VerificationTag>,
}

impl SpentTags {
    pub(super) fn note(&mut self, tag: VerificationTag) {
        if self.places.is_empty() {
            self.places = vec![VerificationTag::ZERO; PLACES];
        }
        if let Some(place) = self.places.get_mut(place_of(tag)) {
            *place = tag;
        }
    }

    pub(super) fn contains(&self, tag: VerificationTag) -> bool {
        self.places.get(place_of(tag)) == Some(&tag)
    }
}

/// Tags are random numbers, so that any of their bits name a place.
fn place_of(tag: VerificationTag) -> usize {
    usize::try_from(tag.get()).unwrap_or_default() % PLACES
}

/// An association that ended is forgotten after this many others, on average.
const PLACES: usize = 4096;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tag_is_known_until_another_takes_its_place() {
        let mut spent = SpentTags::default();
        let [first, second] = [7, 7 + PLACES].map(|tag| VerificationTag::new(u32::try_from(tag).unwrap()));
        assert!(!spent.contains(first));
        spent.note(first);
        assert!(spent.contains(first) && !spent.contains(second));
        spent.note(second);
        assert!(!spent.contains(first) && spent.contains(second));
    }
}

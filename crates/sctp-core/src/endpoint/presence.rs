//! The times at which this host had an address: an INIT ACK lists those that are there when it is sent, and the association of its
//! cookie begins later. The time when the cookie was made, which it carries, says what was listed.

use std::collections::VecDeque;
use std::net::IpAddr;

use virtual_time::Instant;

use crate::association::LocalAddresses;

/// The addresses of this host, with those it had before, and when.
#[derive(Debug)]
pub(super) struct Presence {
    /// Those that have not ended are the addresses there are.
    stays: VecDeque<Stay>,
}

/// A time at which an address was there.
#[derive(Clone, Copy, Debug)]
struct Stay {
    address: IpAddr,
    /// `None` for an address that was there when the endpoint was made.
    since: Option<Instant>,
    until: Option<Instant>,
}

impl Presence {
    pub(super) fn new(addresses: &[IpAddr]) -> Self {
        let from_the_beginning = |&address: &IpAddr| Stay { address, since: None, until: None };
        Self { stays: addresses.iter().map(from_the_beginning).collect() }
    }

    pub(super) fn begin(&mut self, now: Instant, address: IpAddr) {
        self.stays.push_back(Stay { address, since: Some(now), until: None });
    }

    pub(super) fn end(&mut self, now: Instant, address: IpAddr) {
        let is_open = |stay: &&mut Stay| stay.address == address && stay.until.is_none();
        self.stays.iter_mut().filter(is_open).for_each(|stay| stay.until = Some(now));
        let has_ended = |stay: &Stay| stay.until.is_some();
        if self.stays.iter().filter(|stay| has_ended(stay)).count() > ENDED_STAYS
            && let Some(oldest) = self.stays.iter().position(has_ended)
        {
            self.stays.remove(oldest);
        }
    }

    /// Returns the addresses that an INIT ACK of that time may have listed, and how they have changed since.
    pub(super) fn since(&self, at: Instant) -> LocalAddresses {
        let listed = self.stays.iter().filter(|stay| stay.covers(at)).map(|stay| stay.address);
        let there = self.stays.iter().filter(|stay| stay.until.is_none()).map(|stay| stay.address);
        LocalAddresses::changed(listed.collect(), there)
    }
}

impl Stay {
    fn covers(&self, at: Instant) -> bool {
        self.since.is_none_or(|since| since < at) && self.until.is_none_or(|until| at < until)
    }
}

/// The stays that have ended and are remembered: as many as hosts have that change networks several times while a cookie lives. What was
/// forgotten counts as absence, so that nothing is sent from an address that the peer may not know.
const ENDED_STAYS: usize = 32;

#[cfg(test)]
mod tests {
    use super::*;

    const HERE: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(10, 0, 0, 1));
    const THERE: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(10, 0, 1, 1));

    fn at(millis: u64) -> Instant {
        Instant::from_millis(millis)
    }

    fn was_there(presence: &Presence, address: IpAddr, at: Instant) -> bool {
        presence.since(at).told.contains(&address)
    }

    #[test]
    fn address_was_there_between_its_coming_and_its_going() {
        let mut presence = Presence::new(&[HERE]);
        assert!(was_there(&presence, HERE, Instant::EPOCH), "from the beginning");
        presence.end(at(10), HERE);
        presence.begin(at(20), HERE);
        for (millis, was_there) in [(1, true), (10, false), (15, false), (20, false), (21, true)] {
            assert_eq!(self::was_there(&presence, HERE, at(millis)), was_there, "{millis} ms");
        }
        assert!(!was_there(&presence, THERE, at(1)));
    }

    /// What was listed stays listed when it goes, and one that has come again has neither gone nor come.
    #[test]
    fn changes_since_a_time_are_those_that_have_not_been_undone() {
        let again: IpAddr = [10, 0, 2, 1].into();
        let mut presence = Presence::new(&[HERE, again]);
        for address in [HERE, again] {
            presence.end(at(20), address);
        }
        for address in [THERE, again] {
            presence.begin(at(30), address);
        }
        let since = |millis| {
            let LocalAddresses { told, lost, gained } = presence.since(at(millis));
            (told.to_vec(), lost.to_vec(), gained.to_vec())
        };
        assert_eq!(since(10), (vec![HERE, again], vec![HERE], vec![THERE]));
        assert_eq!(since(25), (vec![], vec![], vec![THERE, again]));
        assert_eq!(since(40), (vec![THERE, again], vec![], vec![]));
    }

    /// One address is there from the beginning, another comes once, and a third one comes and goes all the time.
    #[test]
    fn what_is_forgotten_of_one_address_counts_as_its_absence_and_changes_no_other() {
        let often: IpAddr = [10, 0, 2, 1].into();
        let mut presence = Presence::new(&[HERE]);
        presence.begin(at(100), THERE);
        for number in 0..200 {
            presence.begin(at(200 + 2 * number), often);
            presence.end(at(201 + 2 * number), often);
        }
        let stays = [(HERE, 50), (HERE, 500), (THERE, 50), (THERE, 101), (THERE, 500)];
        let were_there = stays.map(|(address, millis)| was_there(&presence, address, at(millis)));
        assert_eq!(were_there, [true, true, false, true, true]);
        let halfway = |millis: u64| at(millis) + core::time::Duration::from_micros(500);
        assert_eq!([200, 598].map(|millis| was_there(&presence, often, halfway(millis))), [false, true]);
        assert_eq!(presence.stays.len(), ENDED_STAYS + 2);
    }
}

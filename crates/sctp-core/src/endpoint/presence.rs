//! The times at which this host had an address: an INIT ACK lists those that are there when it is sent, and the association of its
//! cookie begins later.

use std::collections::VecDeque;
use std::net::IpAddr;

use virtual_time::Instant;

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

    /// Returns whether an address was there at a time.
    pub(super) fn was_there(&self, address: IpAddr, at: Instant) -> bool {
        self.stays.iter().any(|stay| {
            stay.address == address
                && stay.since.is_none_or(|since| since < at)
                && stay.until.is_none_or(|until| at < until)
        })
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

    #[test]
    fn address_was_there_between_its_coming_and_its_going() {
        let mut presence = Presence::new(&[HERE]);
        assert!(presence.was_there(HERE, Instant::EPOCH), "from the beginning");
        presence.end(at(10), HERE);
        presence.begin(at(20), HERE);
        for (millis, was_there) in [(1, true), (10, false), (15, false), (20, false), (21, true)] {
            assert_eq!(presence.was_there(HERE, at(millis)), was_there, "{millis} ms");
        }
        assert!(!presence.was_there(THERE, at(1)));
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
        let were_there = stays.map(|(address, millis)| presence.was_there(address, at(millis)));
        assert_eq!(were_there, [true, true, false, true, true]);
        let halfway = |millis: u64| at(millis) + core::time::Duration::from_micros(500);
        assert_eq!([200, 598].map(|millis| presence.was_there(often, halfway(millis))), [false, true]);
        assert_eq!(presence.stays.len(), ENDED_STAYS + 2);
    }
}

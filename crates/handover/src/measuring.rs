//! A change of the primary address that waits until the peer has measured the way to the new one: which addresses that concerns, and
//! how long.
//!
//! The peer sends a packet train to an address as soon as it has confirmed it, a round trip after it has agreed to it, and one a second at
//! most ([`StartUp::Probe`](sctp::StartUp::Probe)). So what has not come a second after the peer agreed is not waited for.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::time::Duration;

use virtual_time::Instant;

/// The addresses whose measurement may be under way, and the change that waits for one.
#[derive(Debug, Default)]
pub(crate) struct Measuring {
    /// The addresses that the peer was told of, and no train has come to; with the time when it agreed, if it has.
    told: BTreeMap<IpAddr, Option<Instant>>,
    /// The address that is to become the primary one.
    waiting: Option<IpAddr>,
}

/// The circumstances that a waiting change depends on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Circumstances {
    pub(crate) now: Instant,
    /// Whether packets can be sent from the primary address that is to be left.
    pub(crate) can_stay: bool,
    /// Whether packets can be sent from the new one.
    pub(crate) can_move: bool,
}

impl Measuring {
    /// The peer is told of an address.
    pub(crate) fn on_told(&mut self, address: IpAddr) {
        self.told.insert(address, None);
    }

    /// The peer has agreed to an address, and confirms it now.
    pub(crate) fn on_agreed(&mut self, now: Instant, address: IpAddr) {
        if let Some(agreed) = self.told.get_mut(&address) {
            *agreed = Some(now);
        }
    }

    /// Nothing is to come to an address, or nothing more: a train has, or the peer does not know the address.
    pub(crate) fn on_settled(&mut self, address: IpAddr) {
        self.told.remove(&address);
    }

    /// Returns whether a move of data to an address waits from now on; a change that waited before is forgotten.
    pub(crate) fn begin(&mut self, now: Instant, to: IpAddr) -> bool {
        self.waiting = self.is_awaited(now, to).then_some(to);
        self.waiting.is_some()
    }

    /// Returns the address that waits.
    pub(crate) fn waiting(&self) -> Option<IpAddr> {
        self.waiting
    }

    /// Takes the change that waits.
    pub(crate) fn take(&mut self) -> Option<IpAddr> {
        self.waiting.take()
    }

    /// Takes the change if it waits no longer: the train has come, its time is over, or the address in use is gone.
    pub(crate) fn take_due(&mut self, circumstances: Circumstances) -> Option<IpAddr> {
        let Circumstances { now, can_stay, can_move } = circumstances;
        let is_due = |to: IpAddr| can_move && !(can_stay && self.is_awaited(now, to));
        if self.waiting.is_some_and(is_due) { self.take() } else { None }
    }

    /// Returns when the wait is over at the latest; `None` while nothing waits, or the peer has not agreed yet.
    pub(crate) fn poll_timeout(&self, now: Instant) -> Option<Instant> {
        let agreed = self.told.get(&self.waiting?).copied()??;
        Some(agreed + LONGEST_WAIT).filter(|until| *until > now)
    }

    /// Returns whether a train may still come to an address.
    fn is_awaited(&self, now: Instant, to: IpAddr) -> bool {
        match self.told.get(&to) {
            None => false,
            Some(None) => true,
            Some(Some(agreed)) => now < *agreed + LONGEST_WAIT,
        }
    }
}

/// The longest time from the peer's agreement to an address to its use. A path has one train a second at most.
const LONGEST_WAIT: Duration = Duration::from_secs(1);

#[cfg(test)]
mod tests {
    use super::*;

    const NEW: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(192, 0, 2, 7));
    const OTHER: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(192, 0, 2, 8));

    fn at(now: u64) -> Circumstances {
        Circumstances { now: Instant::from_millis(now), can_stay: true, can_move: true }
    }

    /// An address that the peer has agreed to at 100 ms, and that is to become the primary one at 200 ms.
    fn waiting() -> Measuring {
        let mut measuring = Measuring::default();
        measuring.on_told(NEW);
        measuring.on_agreed(Instant::from_millis(100), NEW);
        assert!(measuring.begin(Instant::from_millis(200), NEW));
        measuring
    }

    #[test]
    fn the_change_waits_for_the_train_and_no_longer() {
        let mut measuring = waiting();
        assert_eq!(measuring.take_due(at(300)), None);
        measuring.on_settled(OTHER);
        assert_eq!(measuring.take_due(at(301)), None);
        measuring.on_settled(NEW);
        assert_eq!((measuring.take_due(at(302)), measuring.take_due(at(303))), (Some(NEW), None));
    }

    #[test]
    fn a_train_that_does_not_come_is_waited_for_a_second_from_the_agreement_on() {
        let mut measuring = waiting();
        assert_eq!(measuring.poll_timeout(Instant::from_millis(200)), Some(Instant::from_millis(1100)));
        assert_eq!(measuring.take_due(at(1099)), None);
        assert_eq!(measuring.take_due(at(1100)), Some(NEW));
        // A peer that has known the address for longer, or has measured it, or was never told of it, is not waited for.
        assert!(!measuring.begin(Instant::from_millis(1200), NEW));
        assert!(!Measuring::default().begin(Instant::from_millis(1200), NEW));
    }

    #[test]
    fn a_peer_that_has_not_agreed_yet_is_waited_for_until_it_answers() {
        let mut measuring = Measuring::default();
        measuring.on_told(NEW);
        assert!(measuring.begin(Instant::from_millis(0), NEW));
        assert_eq!(measuring.poll_timeout(Instant::from_millis(0)), None);
        assert_eq!(measuring.take_due(at(5_000)), None);
        measuring.on_agreed(Instant::from_millis(5_000), NEW);
        assert_eq!(measuring.take_due(at(5_999)), None);
        assert_eq!(measuring.take_due(at(6_000)), Some(NEW));
    }

    #[test]
    fn whoever_cannot_stay_does_not_wait_and_whoever_cannot_move_does_not_go() {
        let mut measuring = waiting();
        assert_eq!(measuring.take_due(Circumstances { can_move: false, ..at(2_000) }), None);
        assert_eq!(measuring.poll_timeout(Instant::from_millis(2_000)), None, "nobody is woken for nothing");
        let gone = Circumstances { can_stay: false, ..at(201) };
        assert_eq!(measuring.take_due(gone), Some(NEW));
    }
}

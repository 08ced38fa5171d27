//! The rule by which an association goes on in another network, in every world: what the client tells its endpoint, and when.
//!
//! ```text
//!  the host ── lost, found ──► Roaming ──► Roamer: the endpoint with its association
//!                                 ▲                   │
//!                                 └── the new path ───┘
//! ```
//!
//! Not here: when the host loses and finds its networks, which virtual time or the kernel says.

use core::net::IpAddr;
use core::time::Duration;

use sctp_core::{PathId, PathState, PathStatistics, StartUp};
use virtual_time::Instant;

use crate::handover::{Coverage, Handover};

/// An endpoint whose association goes on in another network.
pub(super) trait Roamer {
    /// Tells the endpoint that its host cannot send from an address any more.
    fn lose(&mut self, local: IpAddr);

    /// Tells the endpoint that its host can send from an address, and the peer of it (RFC 5061 §4.2.1).
    fn find(&mut self, local: IpAddr);

    /// Returns the path to an address of the peer, if there is one.
    fn path_to(&self, peer: IpAddr) -> Option<NewPath>;

    /// Sends data on a path from now on; returns whether that may be done yet.
    fn go_to(&mut self, path: PathId) -> bool;

    /// Asks the peer to send to an address of this side (RFC 5061 §4.2.4).
    fn ask_for(&mut self, local: IpAddr);
}

/// The path into the new network.
#[derive(Clone, Copy, Debug)]
pub(super) struct NewPath {
    path: PathId,
    state: PathState,
    /// The smoothed round-trip time of the path, if that was measured.
    round_trip: Option<Duration>,
}

impl NewPath {
    /// Returns the one of an association's paths that leads to an address of the peer.
    pub(super) fn among(paths: Vec<PathStatistics>, peer: IpAddr) -> Option<Self> {
        let path = paths.into_iter().find(|path| path.address == peer)?;
        Some(Self { path: path.path, state: path.state, round_trip: path.srtt })
    }
}

/// The movement of a client's association: the addresses that its host loses and gains, and the path that it takes then.
#[derive(Clone, Copy, Debug)]
pub(super) struct Roaming {
    addresses: Addresses,
    /// Whether both networks are there long enough to measure the new path before data goes there.
    measures: bool,
    stage: Stage,
}

/// The addresses between which an association moves.
#[derive(Clone, Copy, Debug)]
pub(super) struct Addresses {
    /// The host's address in the network that it leaves.
    pub(super) old: IpAddr,
    /// The host's address in the network that it goes to.
    pub(super) new: IpAddr,
    /// The peer's address in the network that the host goes to.
    pub(super) peer: IpAddr,
}

/// How far the movement is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// The new network is not there.
    Before,
    /// The new network is there, and its path not confirmed, or not measured.
    Waiting,
    /// The path is confirmed, and measured at this time.
    Measuring(Instant),
    /// Data goes over the new network.
    Over,
}

impl Roaming {
    pub(super) const fn new(addresses: Addresses, handover: &Handover) -> Self {
        let measures =
            matches!((handover.start_up, handover.coverage), (StartUp::Probe { .. }, Coverage::Overlap(_)));
        Self { addresses, measures, stage: Stage::Before }
    }

    /// Returns the address of the network that is not there when the association is opened.
    pub(super) const fn not_there_yet(&self) -> IpAddr {
        self.addresses.new
    }

    /// The host has lost its old network.
    pub(super) fn leave(&self, world: &mut impl Roamer) {
        world.lose(self.addresses.old);
    }

    /// The host has found its new network.
    pub(super) fn arrive(&mut self, world: &mut impl Roamer) {
        world.find(self.addresses.new);
        self.stage = Stage::Waiting;
    }

    /// Returns when it wants to go on by itself.
    pub(super) const fn poll_timeout(&self) -> Option<Instant> {
        match self.stage {
            Stage::Measuring(until) => Some(until),
            Stage::Before | Stage::Waiting | Stage::Over => None,
        }
    }

    /// Goes to the new network as soon as the peer has answered there and, if that is wanted, the path is measured.
    pub(super) fn go_on(&mut self, now: Instant, world: &mut impl Roamer) {
        if matches!(self.stage, Stage::Before | Stage::Over) {
            return;
        }
        let Some(path) = world.path_to(self.addresses.peer) else { return };
        if self.measures && path.state == PathState::Active {
            // The answers of the train come within a round trip, as far as the path is no narrower than makes a difference.
            let round_trip = path.round_trip.unwrap_or_default();
            let until = self.poll_timeout().unwrap_or(now + round_trip + round_trip / 2);
            self.stage = Stage::Measuring(until);
            if now < until {
                return;
            }
        }
        // Until the path is confirmed it cannot be the primary one.
        if world.go_to(path.path) {
            self.stage = Stage::Over;
            // A peer that refuses keeps sending where it did, and finds out by itself.
            world.ask_for(self.addresses.new);
        }
    }
}

#[cfg(test)]
mod tests {
    use core::net::Ipv4Addr;

    use super::*;

    const OLD: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 0, 1, 1));
    const NEW: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 0, 2, 1));
    const PEER: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 0, 2, 2));

    /// What was asked of an endpoint, in its order. Its peer is in the new network.
    #[derive(Debug, Default)]
    struct Asked {
        said: Vec<(&'static str, IpAddr)>,
        is_confirmed: bool,
    }

    impl Roamer for Asked {
        fn lose(&mut self, local: IpAddr) {
            self.said.push(("lose", local));
        }

        fn find(&mut self, local: IpAddr) {
            self.said.push(("find", local));
        }

        fn path_to(&self, peer: IpAddr) -> Option<NewPath> {
            let state = if self.is_confirmed { PathState::Active } else { PathState::Unconfirmed };
            let round_trip = self.is_confirmed.then_some(Duration::from_millis(20));
            (peer == PEER).then_some(NewPath { path: PathId::new(1), state, round_trip })
        }

        fn go_to(&mut self, path: PathId) -> bool {
            assert_eq!(path, PathId::new(1));
            if self.is_confirmed {
                self.said.push(("go to", PEER));
            }
            self.is_confirmed
        }

        fn ask_for(&mut self, local: IpAddr) {
            self.said.push(("ask for", local));
        }
    }

    fn roaming(handover: &str) -> (Roaming, Asked) {
        let addresses = Addresses { old: OLD, new: NEW, peer: PEER };
        (Roaming::new(addresses, &handover.parse().unwrap()), Asked::default())
    }

    fn at(ms: u64) -> Instant {
        Instant::EPOCH + Duration::from_millis(ms)
    }

    #[test]
    fn data_goes_once_the_peer_has_answered_in_the_new_network_and_then_the_peer_is_asked() {
        let (mut roaming, mut world) = roaming("at=1s,gap=1s,rtt=20ms");
        roaming.go_on(at(999), &mut world);
        roaming.leave(&mut world);
        roaming.go_on(at(1000), &mut world);
        roaming.arrive(&mut world);
        roaming.go_on(at(2000), &mut world);
        assert_eq!(world.said, [("lose", OLD), ("find", NEW)]);
        world.is_confirmed = true;
        roaming.go_on(at(2020), &mut world);
        roaming.go_on(at(2021), &mut world);
        assert_eq!(world.said[2..], [("go to", PEER), ("ask for", NEW)], "once");
    }

    #[test]
    fn with_an_overlap_a_path_that_is_to_be_measured_is_waited_for() {
        let (mut roaming, mut world) = roaming("at=1s,overlap=1s,rtt=20ms,start_up=probe");
        roaming.arrive(&mut world);
        world.is_confirmed = true;
        roaming.go_on(at(1020), &mut world);
        roaming.go_on(at(1040), &mut world);
        assert_eq!((world.said.len(), roaming.poll_timeout()), (1, Some(at(1050))));
        roaming.go_on(at(1050), &mut world);
        roaming.leave(&mut world);
        assert_eq!(world.said[1..], [("go to", PEER), ("ask for", NEW), ("lose", OLD)]);
        assert_eq!(roaming.poll_timeout(), None);
    }
}

//! The paths to the peer: who is used, how each one fares.
//!
//! Owns per path: destination, state, RTO, congestion window, error counter, outstanding HEARTBEAT. What is in
//! flight on a path is the sender's knowledge (`sender::outstanding`).

pub(crate) mod congestion;
mod heartbeat;
pub(crate) mod rto;

use core::time::Duration;
use std::net::IpAddr;

use smallvec::SmallVec;
use virtual_time::Instant;

pub use self::congestion::CongestionCounters;
pub(crate) use self::congestion::{Acknowledged, Congestion, PathCapacity};
pub(crate) use self::heartbeat::Heartbeat;
use self::rto::RtoEstimator;
use crate::config::AssociationConfig;
use crate::event::PathState;
use crate::transmit::{Destination, PathId};

/// One path to the peer.
#[derive(Debug)]
pub(crate) struct Path {
    pub(crate) id: PathId,
    pub(crate) destination: Destination,
    /// The local address the peer reaches us at, learnt from what arrives.
    pub(crate) local: Option<IpAddr>,
    pub(crate) state: PathState,
    pub(crate) rto: RtoEstimator,
    pub(crate) congestion: Congestion,
    pub(crate) heartbeat: Heartbeat,
    /// Consecutive transmissions that went unanswered (RFC 9260 §8.2).
    pub(crate) errors: u32,
    /// When something that yields a round trip was last sent: an idle path gets HEARTBEATs.
    pub(crate) last_used: Instant,
    pub(crate) counters: PathCounters,
    mtu_bytes: usize,
}

/// What a path has seen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PathCounters {
    /// Packets sent.
    pub packets_sent: u64,
    /// Packets received.
    pub packets_received: u64,
    /// T3-rtx expirations.
    pub timeouts: u64,
    /// Losses found by acknowledgments (fast retransmit or time-based detection), counted per recovery.
    pub recoveries: u64,
    /// Tail-loss probes sent.
    pub probes: u64,
    /// Recoveries and timeouts that turned out to have been needless; their cut of the window was taken back.
    pub recoveries_undone: u64,
}

impl Path {
    fn new(id: PathId, destination: Destination, state: PathState, config: &AssociationConfig) -> Self {
        let pmdcs = packet_bytes(config.mtu_bytes, destination) - sctp_wire::COMMON_HEADER_BYTES;
        let (first_window, is_ipv4) = (config.congestion.initial_window, destination.address.is_ipv4());
        let capacity = PathCapacity::new(first_window, pmdcs, config.mtu_bytes, is_ipv4);
        let congestion = Congestion::new(config.congestion, capacity, config.max_burst_packets);
        Self {
            id,
            destination,
            local: None,
            state,
            rto: RtoEstimator::new(config.rto),
            congestion,
            heartbeat: Heartbeat::default(),
            errors: 0,
            last_used: Instant::EPOCH,
            counters: PathCounters::default(),
            mtu_bytes: config.mtu_bytes,
        }
    }

    /// The largest SCTP packet this path carries, common header included.
    pub(crate) fn packet_bytes(&self) -> usize {
        packet_bytes(self.mtu_bytes, self.destination)
    }

    /// An answer came: the counter is cleared (RFC 9260 §8.2). True if the path was not active before.
    pub(crate) fn on_answered(&mut self) -> bool {
        self.errors = 0;
        let came_back = self.state == PathState::Inactive;
        if came_back {
            self.state = PathState::Active;
        }
        came_back
    }

    /// A transmission went unanswered. True if that made the path inactive (RFC 9260 §8.2).
    pub(crate) fn on_unanswered(&mut self, path_limit: u32) -> bool {
        self.errors = self.errors.saturating_add(1);
        let fails = self.errors > path_limit && self.state == PathState::Active;
        if fails {
            self.state = PathState::Inactive;
        }
        fails
    }
}

fn packet_bytes(mtu_bytes: usize, destination: Destination) -> usize {
    // Chunks are padded to four octets: a limit that is no multiple of four could never be filled.
    (mtu_bytes - destination.header_bytes()) & !3
}

/// All paths of an association.
#[derive(Debug)]
pub(crate) struct PathSet {
    paths: SmallVec<[Path; 1]>,
    primary: PathId,
}

impl PathSet {
    /// The path of the handshake counts as confirmed: it carried tag and cookie both ways (RFC 9260 §5.4).
    pub(crate) fn new(first: Destination, local: Option<IpAddr>, config: &AssociationConfig) -> Self {
        let mut path = Path::new(PathId::FIRST, first, PathState::Active, config);
        path.local = local;
        Self { paths: SmallVec::from_iter([path]), primary: PathId::FIRST }
    }

    /// Panics never: ids are handed out by this set and paths are not removed.
    pub(crate) fn path(&self, id: PathId) -> &Path {
        &self.paths[id.index()]
    }

    pub(crate) fn path_mut(&mut self, id: PathId) -> &mut Path {
        &mut self.paths[id.index()]
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Path> {
        self.paths.iter()
    }

    /// The path a packet from this address belongs to.
    pub(crate) fn by_address(&self, address: IpAddr) -> Option<PathId> {
        self.paths.iter().find(|path| path.destination.address == address).map(|path| path.id)
    }

    /// A packet with a valid tag came in: learn where and how the peer is reached now (RFC 6951 §5.4).
    pub(crate) fn on_packet(&mut self, id: PathId, source: Destination, local: Option<IpAddr>) {
        let path = self.path_mut(id);
        path.counters.packets_received += 1;
        path.destination.encapsulation = source.encapsulation;
        if let Some(local) = local {
            // RFC 9260 §7.2.5.2: from another source address the way to the peer may be another.
            let was = path.local.replace(local);
            if was.is_some_and(|was| was != local) {
                path.congestion.reinitialise();
            }
        }
    }

    /// The path for new data (RFC 9260 §6.4).
    pub(crate) fn for_data(&self) -> PathId {
        self.primary
    }

    /// A further path to the same destination, for tests of the sender alone.
    #[cfg(test)]
    pub(crate) fn push_twin(&mut self, config: &AssociationConfig) -> PathId {
        let id = PathId::new(u8::try_from(self.paths.len()).unwrap());
        self.paths.push(Path::new(id, self.paths[0].destination, PathState::Active, config));
        id
    }

    pub(crate) fn on_measurement(&mut self, id: PathId, now: Instant, rtt: Duration) {
        self.path_mut(id).rto.on_measurement(now, rtt);
    }
}

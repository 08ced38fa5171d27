//! The paths to the peer: one per destination address, who is used, how each one fares.
//!
//! Owns per path: destination, source, state, RTO, congestion window, error counter, outstanding HEARTBEAT. What is
//! in flight on a path is the sender's knowledge (`sender::outstanding`). When paths fail and which one is used
//! instead is decided in `failure`, which addresses may be used at all in `address`.

pub(crate) mod address;
pub(crate) mod congestion;
pub(crate) mod failure;
mod heartbeat;
mod ids;
mod peer_train;
mod per_path;
pub(crate) mod pmtud;
mod rebinding;
pub(crate) mod rto;
mod set;
mod source;

use virtual_time::Instant;

use self::congestion::CongestionWindow;
pub(crate) use self::congestion::{Acknowledged, Congestion, PathCapacity};
use self::failure::FailureThresholds;
pub(crate) use self::heartbeat::Heartbeat;
pub(crate) use self::ids::PathIds;
pub(crate) use self::per_path::PerPath;
use self::pmtud::PathMtu;
pub(crate) use self::rebinding::{Question, Rebinding};
use self::rto::RtoEstimator;
pub(crate) use self::set::{Added, Loss, PathSet, VerificationSlot};
use self::source::Source;
pub(crate) use self::source::Way;
use crate::config::{AssociationConfig, PathMtuConfig, PathSettings};
use crate::event::PathState;
use crate::seldom::Seldom;
use crate::stats::{PathStatistics, PathTally};
use crate::trace;
use crate::transmit::{Destination, Dscp, Encapsulation, PathId, PathIndex};

/// One path to the peer.
#[derive(Debug)]
pub(crate) struct Path {
    pub(crate) index: PathIndex,
    /// How many addresses have had this index before.
    generation: u32,
    pub(crate) destination: Destination,
    /// The local address that packets are sent from.
    pub(crate) source: Source,
    pub(crate) state: PathState,
    pub(crate) rto: RtoEstimator,
    pub(crate) congestion: Congestion,
    pub(crate) heartbeat: Heartbeat,
    pub(crate) rebinding: Rebinding,
    /// Consecutive transmissions that went unanswered (RFC 9260 §8.2).
    pub(crate) errors: u32,
    /// The time at which something that yields a round trip was last sent: an idle path gets HEARTBEATs.
    pub(crate) last_used: Instant,
    /// A tail-loss probe for what is in flight here waits for a packet.
    pub(crate) probe_is_due: bool,
    pub(crate) counters: PathTally,
    pub(crate) mtu: PathMtu,
    /// The settings that only this path has.
    own: Seldom<PathSettings>,
}

/// The kind of answer that came on a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    /// A HEARTBEAT ACK with the right nonce, or the handshake itself: the peer is at this address.
    Verified,
    /// An acknowledgment of data that was sent on this path only, or an answer to a control chunk.
    Acknowledged,
    /// An acknowledgment of data that was sent on several paths: it may have come by another one.
    Ambiguous,
}

/// The kind of packet that went unanswered on a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unanswered {
    /// Data or a control chunk.
    Transmission,
    /// The packet was a HEARTBEAT.
    Heartbeat,
}

impl Path {
    fn new(
        (index, generation): (PathIndex, u32),
        destination: Destination,
        state: PathState,
        config: &AssociationConfig,
    ) -> Self {
        let mtu = PathMtu::new(config.path_mtu, destination);
        let pmdcs = mtu.packet_bytes() - sctp_wire::COMMON_HEADER_BYTES;
        let (first_window, is_ipv4) = (config.congestion.initial_window, destination.address.is_ipv4());
        let capacity = PathCapacity::new(first_window, pmdcs, config.path_mtu.bytes, is_ipv4);
        let rules = config.congestion.with_losses_found_by(config.recovery.loss_detection);
        let congestion = Congestion::new(rules, capacity, config.transmission.max_burst_packets);
        Self {
            index,
            generation,
            destination,
            source: Source::UNKNOWN,
            state,
            rto: RtoEstimator::new(config.rto),
            congestion,
            heartbeat: Heartbeat::default(),
            rebinding: Rebinding::default(),
            errors: 0,
            last_used: Instant::EPOCH,
            probe_is_due: false,
            counters: PathTally::default(),
            mtu,
            own: Seldom::default(),
        }
    }

    /// Returns the name of the path for the user, which no other address ever has.
    pub(crate) fn id(&self) -> PathId {
        PathId::of(self.index, self.generation)
    }

    /// Returns the largest SCTP packet this path carries, common header included.
    #[inline]
    pub(crate) fn packet_bytes(&self) -> usize {
        self.mtu.packet_bytes()
    }

    /// The packets of the path travel like this from now on.
    fn set_encapsulation(&mut self, encapsulation: Encapsulation) {
        self.destination.encapsulation = encapsulation;
        self.mtu.change_headers(self.destination);
    }

    /// Returns the state of the path, with its counters.
    pub(crate) fn statistics(&self, primary: PathIndex, flight_bytes: usize) -> PathStatistics {
        let window = self.congestion.window();
        PathStatistics {
            path: self.id(),
            address: self.destination.address,
            source: self.source.address(),
            state: self.state,
            is_primary: self.index == primary,
            srtt: self.rto.srtt(),
            rto: self.rto.rto(),
            cwnd_bytes: window.cwnd,
            ssthresh_bytes: (window.ssthresh != CongestionWindow::NO_THRESHOLD).then_some(window.ssthresh),
            mtu_bytes: self.mtu.current(),
            flight_bytes,
            errors: self.errors,
            counters: self.counters.get(),
            congestion: self.congestion.counters(),
        }
    }

    /// Returns the settings that only this path has.
    pub(crate) fn own(&self) -> PathSettings {
        self.own.get()
    }

    pub(crate) fn own_mut(&mut self) -> &mut PathSettings {
        self.own.note()
    }

    /// Returns the code point of packets on this path, where its association's is this one.
    #[inline]
    pub(crate) fn dscp(&self, of_association: Dscp) -> Dscp {
        self.own.as_ref().and_then(|own| own.dscp).unwrap_or(of_association)
    }

    /// The path has the packet size of its association again.
    pub(crate) fn forget_own_mtu(&mut self) {
        if self.own.exists() {
            self.own.note().path_mtu = None;
        }
    }

    /// The size of packets is another one, or looked for in another way; returns whether packets became smaller.
    pub(crate) fn set_mtu(&mut self, config: PathMtuConfig) -> bool {
        let (before, destination) = (self.packet_bytes(), self.destination);
        self.change_mtu(|mtu| *mtu = PathMtu::new(config, destination));
        self.packet_bytes() < before
    }

    /// Changes what is known of the path MTU, after which packets may have become larger or smaller.
    pub(crate) fn change_mtu<R>(&mut self, change: impl FnOnce(&mut PathMtu) -> R) -> R {
        let from = self.mtu.current();
        let result = change(&mut self.mtu);
        if self.mtu.current() != from {
            trace::path_mtu_changed(self.index, from, self.mtu.current());
        }
        let pmdcs = self.packet_bytes() - sctp_wire::COMMON_HEADER_BYTES;
        self.change_window("packet size", |congestion| congestion.on_packet_size(pmdcs));
        result
    }

    /// Changes the congestion window, or what it depends on.
    #[inline]
    pub(crate) fn change_window(&mut self, because: &'static str, change: impl FnOnce(&mut Congestion)) {
        let from = self.congestion.cwnd();
        change(&mut self.congestion);
        let to = self.congestion.cwnd();
        if from != to {
            trace::cwnd_changed(self.index, from, to, because);
        }
    }

    /// Nothing came back for the RTO: the next wait is longer (RFC 9260 §6.3.3 (E2)).
    pub(crate) fn back_off(&mut self) {
        self.rto.back_off();
        trace::rto_backed_off(self.index, self.rto.rto());
    }

    /// Returns whether the peer has shown that it is at this address (RFC 9260 §5.4).
    pub(crate) fn is_confirmed(&self) -> bool {
        !matches!(self.state, PathState::Unconfirmed | PathState::Removed)
    }

    /// Takes note of an answer, and returns the new state if that changed it (RFC 9260 §8.2).
    fn on_answer(&mut self, answer: Answer) -> Option<PathState> {
        let counts = match answer {
            Answer::Verified => true,
            Answer::Acknowledged => self.is_confirmed(),
            // RFC 7829 §3.2, point 9: it neither revives a path nor clears the errors of a failed one.
            Answer::Ambiguous => self.state == PathState::Active,
        };
        if !counts {
            return None;
        }
        self.errors = 0;
        self.enter(PathState::Active)
    }

    /// Takes note of a transmission that went unanswered, and returns the new state if that changed it (RFC
    /// 9260 §8.2).
    fn on_unanswered(&mut self, what: Unanswered, limits: &FailureThresholds) -> Option<PathState> {
        let limits = FailureThresholds { path: self.own().attempts.unwrap_or(limits.path), ..*limits };
        // RFC 9260 §8.3: HEARTBEATs to an inactive path no longer count. RFC 7829 §4.1, point 3, lets them, to tell
        // inactive paths apart, within bounds.
        let most = match (what, limits.potentially_failed) {
            (Unanswered::Transmission, _) => u32::MAX,
            (Unanswered::Heartbeat, None) => limits.path.saturating_add(1),
            (Unanswered::Heartbeat, Some(_)) => limits.path.saturating_add(1).saturating_mul(10),
        };
        if self.errors < most {
            self.errors += 1;
        }
        self.enter(limits.after_error(self.state, self.errors))
    }

    #[inline]
    fn enter(&mut self, state: PathState) -> Option<PathState> {
        if self.state == state { None } else { Some(self.change_state(state)) }
    }

    #[cold]
    fn change_state(&mut self, state: PathState) -> PathState {
        let from = core::mem::replace(&mut self.state, state);
        trace::path_state(self.index, from, state, self.errors);
        state
    }
}

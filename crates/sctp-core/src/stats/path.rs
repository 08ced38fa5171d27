//! The statistics of a path.

use core::time::Duration;
use std::net::IpAddr;

use crate::event::PathState;
use crate::seldom::Seldom;
use crate::transmit::PathId;

/// The state of one path, with its counters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct PathStatistics {
    /// The path, by its number in the association.
    pub path: PathId,
    /// The address of the peer on it.
    pub address: IpAddr,
    /// The local address packets are sent from; `None` leaves it to the routing table.
    pub source: Option<IpAddr>,
    /// The state that the path is in.
    pub state: PathState,
    /// Whether it is the primary path.
    pub is_primary: bool,
    /// Smoothed round-trip time; `None` before the first measurement.
    pub srtt: Option<Duration>,
    /// The retransmission timeout.
    pub rto: Duration,
    /// Congestion window in octets.
    pub cwnd_bytes: usize,
    /// Slow-start threshold in octets; `None` while it was never set.
    pub ssthresh_bytes: Option<usize>,
    /// The size that packets may have now, in octets, IP header included.
    pub mtu_bytes: usize,
    /// The number of octets in flight.
    pub flight_bytes: usize,
    /// Consecutive unanswered transmissions.
    pub errors: u32,
    /// The counters of packets, timeouts and HEARTBEATs.
    pub counters: PathCounters,
    /// The counters of congestion control.
    pub congestion: CongestionCounters,
}

/// Counters of packets, timeouts and HEARTBEATs of a path.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct PathCounters {
    /// The number of packets sent.
    pub packets_sent: u64,
    /// The number of packets received.
    pub packets_received: u64,
    /// The number of T3-rtx expirations.
    pub timeouts: u64,
    /// Losses found by acknowledgments (fast retransmit or time-based detection), counted per recovery.
    pub recoveries: u64,
    /// Probes of larger packets sent (RFC 8899).
    pub mtu_probes: u64,
    /// Times large packets vanished and smaller ones took their place.
    pub black_holes: u64,
    /// Tail-loss probes sent for what was in flight here, on this path or another.
    pub probes: u64,
    /// Recoveries and timeouts that turned out to have been needless; their cut of the window was taken back.
    pub recoveries_undone: u64,
    /// The number of HEARTBEATs sent.
    pub heartbeats: u64,
    /// HEARTBEATs that went unanswered for an RTO.
    pub heartbeats_unanswered: u64,
    /// HEARTBEATs that asked whether the peer is at the UDP port that a packet came from (RFC 6951 §5.4).
    pub rebindings_asked: u64,
    /// The number of times the UDP port changed: the peer answered at another one, or the association was ending.
    pub rebindings: u64,
    /// Packets from other UDP ports that nothing was asked after, for as many ports as may were in question.
    pub rebindings_over_limit: u64,
    /// Packets sent with a checksum of zero (RFC 9653).
    pub zero_checksums_sent: u64,
}

/// The counters of congestion control on a path.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct CongestionCounters {
    /// Times the window shrank because it was not used.
    pub unused_cuts: u64,
    /// Losses that met a window that was not validated (RFC 7661 §4.4.1).
    pub unvalidated_losses: u64,
    /// Times data began with what it had used on another path ([`StartUp::Resume`](crate::StartUp::Resume)).
    pub resumed: u64,
    /// Times that proved too much, and half of what had come back of it was left.
    pub retreats: u64,
    /// Times data had to wait for the pacer.
    pub paced: u64,
    /// Trains of packets sent to measure what the path carries ([`StartUp::Probe`](crate::StartUp::Probe)).
    pub trains: u64,
}

/// The counts of a path.
#[derive(Debug, Default)]
pub(crate) struct PathTally {
    pub(crate) packets_sent: u64,
    pub(crate) packets_received: u64,
    /// The counters of events that most paths never see.
    seldom: Seldom<PathCounters>,
}

impl PathTally {
    pub(crate) fn get(&self) -> PathCounters {
        let Self { packets_sent, packets_received, .. } = *self;
        PathCounters { packets_sent, packets_received, ..self.seldom.get() }
    }

    pub(crate) fn note(&mut self) -> &mut PathCounters {
        self.seldom.note()
    }
}

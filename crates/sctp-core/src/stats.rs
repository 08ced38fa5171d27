//! The counters of endpoints, associations and paths, which can be read at any time.

mod blocking;
mod named;
mod path;
mod receiver;
mod sender;
mod status;

pub use self::blocking::{BlockingHistogram, BlockingStatistics, StreamBlocking};
pub(crate) use self::path::PathTally;
pub use self::path::{CongestionCounters, PathCounters, PathStatistics};
pub use self::receiver::{GivenUp, ReceiverStatistics};
pub use self::sender::{AbandonedCount, AbandonedMessages, CopyCounters, SenderStatistics, StreamStatistics};
pub use self::status::{AssociationStatus, Buffered};
use crate::event::EventCounters;
use crate::seldom::Seldom;

/// Everything counted of one association.
#[derive(Clone, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct AssociationStatistics {
    /// Packets and chunks that belong to neither half alone.
    pub association: AssociationCounters,
    /// Re-configuration of streams.
    pub reconfiguration: ReconfigStatistics,
    /// The statistics of the sending half.
    pub sender: SenderStatistics,
    /// The receiving half, with what head-of-line blocking cost.
    pub receiver: ReceiverStatistics,
    /// Authentication of chunks.
    pub authentication: AuthenticationStatistics,
    /// The statistics of address changes.
    pub asconf: AsconfStatistics,
    /// Events dropped because the application did not ask for them in time.
    pub events: EventCounters,
    /// The statistics of every path.
    pub paths: Vec<PathStatistics>,
    /// Whether it is ending for want of use ([`AssociationConfig::autoclose`](crate::AssociationConfig::autoclose)).
    pub is_autoclosed: bool,
}

/// The counts of an association that belong to neither half alone.
#[derive(Debug, Default)]
pub(crate) struct AssociationTally {
    pub(crate) packets_received: u64,
    /// The counters of events that most associations never see.
    pub(crate) seldom: Seldom<AssociationCounters>,
}

impl AssociationTally {
    pub(crate) fn get(&self) -> AssociationCounters {
        AssociationCounters { packets_received: self.packets_received, ..self.seldom.get() }
    }

    pub(crate) fn note(&mut self) -> &mut AssociationCounters {
        self.seldom.note()
    }
}

/// Counters of an association that belong to neither half alone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct AssociationCounters {
    /// Packets received with a valid tag.
    pub packets_received: u64,
    /// INIT and COOKIE ECHO sent again.
    pub handshake_retransmissions: u64,
    /// The chunks that had no effect, by reason.
    pub discarded: DiscardedChunks,
    /// Handshakes begun again because the cookie was stale.
    pub stale_cookies: u64,
    /// Control chunks dropped because too many waited or they could not be encoded.
    pub control_dropped: u64,
    /// The number of times the peer restarted.
    pub restarts: u64,
    /// Addresses the peer listed that are not used: too many, or none it can be reached at (RFC 9260 §5.1.2).
    pub addresses_ignored: u64,
    /// How often new data changed its path.
    pub path_switches: u64,
}

/// Counts the received chunks that had no effect, by reason.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct DiscardedChunks {
    /// The number of chunks whose content did not decode, and of SACKs that contradict themselves.
    pub malformed: u64,
    /// The number of chunks of unknown type.
    pub unknown: u64,
    /// ABORT or SHUTDOWN COMPLETE with the wrong tag for its T bit (RFC 9260 §8.5.1).
    pub bad_tags: u64,
    /// The number of packets whose rest was discarded because it stood behind INIT ACK or SHUTDOWN COMPLETE, which travel alone
    /// (RFC 9260 §6.10).
    pub behind_lone_chunks: u64,
    /// DATA in a state in which none is accepted (RFC 9260 §6).
    pub data_in_wrong_state: u64,
    /// SACKs overtaken by newer ones.
    pub old_sacks: u64,
    /// INIT ACKs nobody waited for (RFC 9260 §5.2.3).
    pub unexpected_init_acks: u64,
    /// COOKIE ECHOs discarded by the table of RFC 9260 §5.2.4.
    pub late_cookies: u64,
    /// HEARTBEAT ACKs that answer no outstanding HEARTBEAT.
    pub unexpected_heartbeat_acks: u64,
}

/// The statistics of re-configuring streams (RFC 6525).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct ReconfigStatistics {
    /// RE-CONFIG chunks with requests of ours.
    pub requests_sent: u64,
    /// Requests sent again because no answer came.
    pub retransmissions: u64,
    /// Answers that nothing waited for.
    pub unexpected_responses: u64,
    /// Requests of the peer, each counted once.
    pub requests_received: u64,
    /// Requests answered again as before.
    pub requests_repeated: u64,
    /// Requests answered with a refusal.
    pub requests_refused: u64,
    /// RE-CONFIG chunks with requests that were passed over, as if lost: a second one in a packet, or one that came before
    /// the answer to the one before had left (RFC 6525 §5.1.1).
    pub requests_passed_over: u64,
    /// RE-CONFIG chunks in a state in which there is nothing to re-configure.
    pub in_wrong_state: u64,
    /// DATA chunks not taken because their stream is about to be reset; the peer sends them again.
    pub data_behind_reset: u64,
}

/// Packets an endpoint received and what it did with those no association wanted. Every discard has a name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct EndpointStatistics {
    /// The number of packets handed in.
    pub packets_received: u64,
    /// Shorter than a common header, port zero, and other packets that do not decode.
    pub malformed: u64,
    /// CRC32c did not match (RFC 9260 §6.8).
    pub bad_checksum: u64,
    /// Packets taken with a checksum of zero because their channel protects them (RFC 9653).
    pub zero_checksums_accepted: u64,
    /// The number of packets for another SCTP port than ours.
    pub wrong_port: u64,
    /// Wrong verification tag for a known peer (RFC 9260 §8.5).
    pub bad_tag: u64,
    /// Right tag, but from an address that is not the peer's.
    pub unknown_source: u64,
    /// The number of packets out of the blue that were not answered (RFC 9260 §8.4).
    pub out_of_the_blue_discarded: u64,
    /// The number of packets out of the blue that were answered with ABORT or SHUTDOWN COMPLETE.
    pub out_of_the_blue_answered: u64,
    /// The counters of INITs and cookies.
    pub handshake: HandshakeCounters,
    /// Reports that a packet was too big which quote one of an association (RFC 8899 §4.6).
    pub packet_too_big: u64,
    /// The number of reports of too large a packet that quote none, forged ones for example.
    pub foreign_packet_too_big: u64,
    /// Answers not queued because too many waited.
    pub answers_dropped: u64,
    /// Associations established by peers.
    pub accepted: u64,
    /// Associations opened here.
    pub initiated: u64,
}

/// The counters of INITs and cookies of an endpoint.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct HandshakeCounters {
    /// INITs answered with INIT ACK.
    pub init_acks_sent: u64,
    /// INIT ACKs from other addresses than the INIT went to (RFC 9260 §5.1.2).
    pub init_acks_from_elsewhere: u64,
    /// Associations whose COOKIE ECHO came from an address that the INIT did not name (RFC 9260 §5.1.5); it is verified like
    /// those that are listed.
    pub cookies_from_elsewhere: u64,
    /// INITs refused: invalid, not wanted, or too many associations.
    pub inits_refused: u64,
    /// INITs dropped because their host or its network sent too many ([`InitRate`](crate::InitRate)).
    pub inits_over_rate: u64,
    /// The number of COOKIE ECHOs discarded because this endpoint did not sign their cookie (RFC 9260 §5.1.5).
    pub bad_cookies: u64,
    /// Cookies whose association is over; answered with ABORT.
    pub spent_cookies: u64,
    /// COOKIE ECHOs not authenticated although they must be, or in vain (RFC 4895 §6.3).
    pub unauthenticated_cookies: u64,
    /// Cookies older than Valid.Cookie.Life, or as old as one that was forgotten to have been used.
    pub stale_cookies: u64,
    /// COOKIE ECHOs without effect because as many peers as may, or of their network, wait for the user's decision
    /// ([`AskLimits`](crate::AskLimits)).
    pub cookies_over_limit: u64,
    /// COOKIE ECHOs of peers that the user ignores.
    pub ignored_cookies: u64,
    /// Peers about which the user has not decided in time.
    pub undecided: u64,
    /// Associations that ended to make room for others ([`CrowdLimits`](crate::CrowdLimits)).
    pub gave_way: u64,
}

/// Changes of addresses, counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct AsconfStatistics {
    /// ASCONFs sent for the first time.
    pub sent: u64,
    /// ASCONFs sent again after T4-rto, or because the peer may be elsewhere.
    pub retransmissions: u64,
    /// ASCONFs received and processed.
    pub processed: u64,
    /// ASCONFs received again, and answered as before.
    pub repeated: u64,
    /// ASCONFs received out of turn or in a state in which none counts.
    pub discarded: u64,
    /// ASCONF-ACKs that answer nothing outstanding.
    pub stray_acks: u64,
    /// Addresses the peer added.
    pub added: u64,
    /// Addresses the peer deleted.
    pub deleted: u64,
    /// Requests of the peer that were refused.
    pub refused: u64,
}

/// Authentication of chunks, counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct AuthenticationStatistics {
    /// Packets sent with an AUTH chunk.
    pub packets_signed: u64,
    /// AUTH chunks received with the right HMAC.
    pub verified: u64,
    /// AUTH chunks with a wrong HMAC; what followed them was discarded.
    pub wrong_hmacs: u64,
    /// AUTH chunks that name a key that does not exist here; what followed them was discarded.
    pub unknown_keys: u64,
    /// AUTH chunks that name an HMAC that was not offered; what followed them was discarded.
    pub unsupported_hmacs: u64,
    /// The number of packets with a second AUTH chunk, from which on they were discarded (RFC 4895 §5.1).
    pub repeated: u64,
    /// Chunks discarded because they came unauthenticated and must not, or broke the protocol unauthenticated where
    /// ABORT must be authenticated (RFC 4895 §6.3).
    pub unauthenticated_chunks: u64,
}

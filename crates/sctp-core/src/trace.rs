//! Events for whoever watches an association: one per change of a state, one per decision about losses.
//!
//! Every event has the target [`TARGET`], the level DEBUG and a field `event` with its name; [`EVENTS`] lists them with
//! their fields. Events happen inside a span with the time of the protocol (`at_ns`, nanoseconds since the driver's
//! epoch, virtual in a simulator) and, where one is concerned, the association and its ports. While nobody listens an
//! event costs the look at a flag, and a span no more; without the feature `tracing` not even that. Payload is never told.
//!
//! The macro below makes the function that tells of an event and its row of the list from one line: they cannot differ.

mod discards;
#[cfg(feature = "tracing")]
mod told;

use core::fmt::Display;
use core::time::Duration;

#[cfg(feature = "tracing")]
use sctp_wire::SctpPort;
use sctp_wire::{StreamId, Tsn};
#[cfg(feature = "tracing")]
pub(crate) use tracing::span::EnteredSpan;
#[cfg(feature = "tracing")]
use virtual_time::Instant;

pub(crate) use self::discards::{ChunkCounters, chunks_discarded, packets_discarded};
use crate::event::{
    AddressChange, AddressOutcome, AssociationState, PathState, ReconfigOutcome, StreamDirection,
};
use crate::transmit::PathIndex;

/// The target of all spans and events of the protocol.
pub const TARGET: &str = "sctp";

/// A kind of event, with its documentation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EventKind {
    /// The name of the event: its field `event`.
    pub name: &'static str,
    /// The names of its other fields.
    pub fields: &'static [&'static str],
    /// The place in the RFCs of what it reports.
    pub source: &'static str,
    /// The occasion on which it happens.
    pub meaning: &'static str,
}

macro_rules! events {
    ($($name:ident($($field:ident: $type:ty),*) $source:literal, $meaning:literal;)*) => {
        $(
            #[doc = $meaning]
            pub(crate) fn $name($($field: $type),*) {
                #[cfg(feature = "tracing")]
                tracing::debug!(target: TARGET, event = stringify!($name), $($field = told::Traceable::told(&$field)),*);
                // Without listeners nothing is told.
                #[cfg(not(feature = "tracing"))]
                { $(let _ = &$field;)* }
            }
        )*

        /// Every kind of event there is.
        pub const EVENTS: &[EventKind] = &[
            $(EventKind {
                name: stringify!($name),
                fields: &[$(stringify!($field)),*],
                source: $source,
                meaning: $meaning,
            }),*
        ];
    };
}

events! {
    association_state(from: AssociationState, to: AssociationState, because: &dyn Display)
        "RFC 9260 §4", "The association changes its state.";
    cookie_collision(action: &'static str)
        "RFC 9260 §5.2.4", "A valid COOKIE ECHO arrives for an association that exists.";
    association_restarted(restarts: u64)
        "RFC 9260 §5.2.4.1", "The peer has begun anew, and so does this side.";
    t1_init_expired(path: PathIndex)
        "RFC 9260 §5.1", "INIT is unanswered.";
    t1_cookie_expired(path: PathIndex)
        "RFC 9260 §5.1", "COOKIE ECHO is unanswered.";
    t2_shutdown_expired(path: PathIndex)
        "RFC 9260 §9.2", "SHUTDOWN or SHUTDOWN ACK is unanswered.";
    t3_rtx_expired(path: PathIndex, rto_ns: Duration, flight_bytes: usize)
        "RFC 9260 §6.3.3", "Data is unacknowledged for the RTO.";
    t4_rto_expired()
        "RFC 5061 §5.1", "ASCONF is unanswered.";
    t5_shutdown_guard_expired()
        "RFC 9260 §9.2", "The whole shutdown takes too long.";
    reconfig_timer_expired()
        "RFC 6525 §5.1.1", "A RE-CONFIG request is unanswered.";
    autoclose_expired(idle_ns: Duration)
        "RFC 6458 §8.1.8", "Nobody has used the association for so long that it is shut down.";
    rto_backed_off(path: PathIndex, rto_ns: Duration)
        "RFC 9260 §6.3.3", "The RTO of a path is doubled.";
    chunk_lost(path: PathIndex, tsn: Tsn, by: LossEvidence, transmissions: u16)
        "RFC 9260 §7.2.4, RFC 8985 §6.2", "A chunk counts as lost.";
    tail_loss_probe_sent(path: PathIndex, on: PathIndex, highest_tsn: Tsn)
        "RFC 8985 §7.3", "The oldest chunks in flight on a path go again, on this path or another.";
    tail_loss_probe_repaired(path: PathIndex)
        "RFC 8985 §7.4", "The answer to a probe shows that it has repaired a loss.";
    recovery_begun(path: PathIndex)
        "RFC 9260 §7.2.4", "Losses are found through acknowledgments: the window of the path is cut once for all of them.";
    recovery_ended(path: PathIndex)
        "RFC 9260 §7.2.4", "All that was outstanding when a recovery began is acknowledged.";
    recovery_undone(path: PathIndex, cause: LossCause)
        "RFC 4015 §3.2, RFC 5682 §3", "A recovery or timeout turned out to have been needless.";
    cwnd_changed(path: PathIndex, from_bytes: usize, to_bytes: usize, because: &'static str)
        "RFC 9260 §7.2", "The congestion window of a path changes.";
    path_state(path: PathIndex, from: PathState, to: PathState, errors: u32)
        "RFC 9260 §8.2, RFC 7829 §3", "A path changes its state.";
    heartbeat_unanswered(path: PathIndex, errors: u32)
        "RFC 9260 §8.3", "A HEARTBEAT is unanswered for the RTO.";
    data_path_changed(from: PathIndex, to: PathIndex)
        "RFC 9260 §6.4", "New data takes another path.";
    primary_path_changed(from: PathIndex, to: PathIndex, because: &'static str)
        "RFC 9260 §6.4, RFC 7829 §5", "Another path is the primary one.";
    path_mtu_changed(path: PathIndex, from_bytes: usize, to_bytes: usize)
        "RFC 8899 §5", "Packets of a path become larger or smaller.";
    path_mtu_black_hole(path: PathIndex, mtu_bytes: usize)
        "RFC 8899 §4.3", "Large packets vanish on a path.";
    peer_address_added(path: PathIndex, address: &dyn Display)
        "RFC 5061 §4.2.1", "The peer has one more address.";
    peer_address_deleted(path: PathIndex, address: &dyn Display)
        "RFC 5061 §4.2.2", "The peer has deleted an address.";
    peer_port_changed(path: PathIndex, destination: &dyn Display)
        "RFC 6951 §5.4", "The packets of a path go to another UDP port.";
    local_address_changed(change: &'static str, address: &dyn Display)
        "RFC 5061 §5.3", "This host has an address more or less.";
    address_change_answered(change: AddressChange, address: &dyn Display, outcome: AddressOutcome)
        "RFC 5061 §5.1", "The peer has answered a request to change the addresses of this side.";
    streams_reset(direction: StreamDirection, streams: usize, outcome: ReconfigOutcome)
        "RFC 6525 §5.2.2, §5.2.3", "Streams begin anew, or shall not; 0 streams stand for all.";
    association_reset(outcome: ReconfigOutcome)
        "RFC 6525 §5.2.4", "TSNs and all streams begin anew, or shall not.";
    streams_added(outbound_streams: u16, inbound_streams: u16, outcome: ReconfigOutcome)
        "RFC 6525 §5.2.5, §5.2.6", "There are more streams, or shall not be.";
    message_abandoned(stream: StreamId, reason: &dyn Display, was_sent: bool)
        "RFC 3758 §3.5, RFC 7496 §3", "A message is given up.";
    violation_ignored(violation: &dyn Display)
        "RFC 4895 §6.3", "A chunk that is not authenticated breaks the protocol, which does not end an authenticated association.";
    packet_discarded(counter: &'static str)
        "RFC 9260 §8.4, §8.5", "The endpoint discards a packet; the counter of its statistics says why.";
    chunk_discarded(counter: &'static str)
        "RFC 9260 §3.2, §8.5.1, RFC 4895 §6.3, RFC 5061 §5.2, RFC 6525 §5.2", "The association discards a chunk; the counter of its statistics says why.";
}

/// The evidence that a chunk is lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LossEvidence {
    /// Three SACKs reported the chunk missing (RFC 9260 §7.2.4).
    MissingReports,
    /// A chunk sent later arrived, and the reordering window is over (RFC 8985 §6.2).
    Time,
    /// T3-rtx, T1, or an address that is gone.
    Timeout,
    /// Packets have become smaller than it.
    PacketSize,
    /// The peer had no room for it and has room now.
    WindowOpened,
}

/// The reason why a chunk was sent again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LossCause {
    /// Acknowledgments, or time after them, said it was lost.
    Acknowledgment,
    /// T3-rtx ran out.
    Timeout,
    /// A tail-loss probe: nobody said that it was lost.
    Probe,
}

/// Returns whether anybody listens.
#[cfg(feature = "tracing")]
#[inline]
pub(crate) fn is_enabled() -> bool {
    tracing::level_filters::LevelFilter::current() >= tracing::level_filters::LevelFilter::DEBUG
        && is_wanted()
}

/// Returns whether somebody who listens to anything as detailed wants to hear of the protocol.
#[cfg(feature = "tracing")]
#[cold]
fn is_wanted() -> bool {
    tracing::enabled!(target: TARGET, tracing::Level::DEBUG)
}

/// Enters the span for what concerns no association yet, or none any more.
#[cfg(feature = "tracing")]
pub(crate) fn endpoint(now: Instant, local_port: SctpPort) -> Option<EnteredSpan> {
    let local_port = local_port.get();
    let span = || tracing::debug_span!(target: TARGET, "endpoint", at_ns = now.as_nanos(), local_port);
    is_enabled().then(|| span().entered())
}

/// Enters the span of a call into an association; `number` is unique among those of the endpoint.
#[cfg(feature = "tracing")]
pub(crate) fn association(now: Instant, number: u32, ports: (SctpPort, SctpPort)) -> Option<EnteredSpan> {
    let (local_port, peer_port) = (ports.0.get(), ports.1.get());
    let span = tracing::debug_span!(
        target: TARGET, "association",
        at_ns = now.as_nanos(), association = number, local_port, peer_port
    );
    Some(span.entered())
}

#[cfg(not(feature = "tracing"))]
pub(crate) use self::silent::{EnteredSpan, association, endpoint, is_enabled};

/// The stand-ins where nobody can listen.
#[cfg(not(feature = "tracing"))]
mod silent {
    use sctp_wire::SctpPort;
    use virtual_time::Instant;

    /// A span that nobody enters.
    #[derive(Debug)]
    pub(crate) enum EnteredSpan {}

    #[inline]
    pub(crate) const fn is_enabled() -> bool {
        false
    }

    #[inline]
    pub(crate) const fn endpoint(_now: Instant, _local_port: SctpPort) -> Option<EnteredSpan> {
        None
    }

    #[inline]
    pub(crate) const fn association(
        _now: Instant,
        _number: u32,
        _ports: (SctpPort, SctpPort),
    ) -> Option<EnteredSpan> {
        None
    }
}

//! One association: routes chunks, timers and requests to the components, and what they return to timers, paths
//! and events. It decides nothing itself.
//!
//! | part | holds |
//! |---|---|
//! | `session`, with `auth` | who talks with whom and shows it (RFC 4895), how far it has got, and what the user is told |
//! | `outbound`, with `control`, `timers` | the sender and the paths: what goes to the peer, whether paths and peer are still there, and when to look again |
//! | `inbound` | the receiver, and where its SACKs go |
//! | `asconf` | addresses that come and go (RFC 5061) |
//! | `reconfig` | resetting and adding streams (RFC 6525) |
//!
//! What passes things between them:
//!
//! | module | what |
//! |---|---|
//! | `packet` | what is in a packet that arrived |
//! | `dispatch` | which chunk goes where, in which state |
//! | `handshake`, `collision` | setting up (RFC 9260 §5) |
//! | `reported` | what the peer says in ABORT and ERROR |
//! | `restart` | beginning anew with a peer that did (RFC 9260 §5.2.4.1) |
//! | `sending` | messages from the user |
//! | `shutdown` | ending (RFC 9260 §9) |
//! | `expiry` | timers that have run out |
//! | `addresses` | what the user and the host decide about paths |
//! | `settings` | parameters that the user changes |
//! | `packetizer` | what goes into the next packet |
//! | `peer`, `state` | identity, state machine |

mod addresses;
mod asconf;
mod auth;
pub(crate) mod collision;
mod commons;
mod control;
mod dispatch;
mod expiry;
mod handshake;
mod inbound;
mod outbound;
mod packet;
mod packetizer;
mod peer;
mod reconfig;
mod reported;
mod restart;
mod sending;
mod session;
mod settings;
mod shutdown;
mod state;
mod state_cookie;
mod timers;
mod watched;

use sctp_wire::StreamId;
use virtual_time::Instant;

pub(crate) use self::addresses::LocalAddresses;
use self::asconf::DynamicAddresses;
pub(crate) use self::auth::{
    AnnouncedLists, Announcement, AuthVerdict, Authentication, Authenticity, KeyMaterial,
};
pub(crate) use self::commons::Commons;
pub(crate) use self::handshake::{
    InitReply, PeerNotes, Reading, add_addresses, add_wishes, address_parameter,
};
use self::inbound::Inbound;
use self::outbound::Outbound;
pub(crate) use self::peer::Peer;
use self::reconfig::Reconfig;
pub use self::reconfig::ResetDirection;
use self::session::Session;
use self::state::State;
pub(crate) use self::state_cookie::StateCookie;
use self::timers::Timer;
pub(crate) use self::watched::Watched;
use crate::capabilities::{Capabilities, Capability, Negotiated, ParameterList};
use crate::config::{AssociationConfig, StreamShare};
use crate::error::{AssociationError, StreamError};
use crate::event::{AssociationState, Event};
use crate::path::PathSet;
use crate::receiver::Receiver;
use crate::stats::{
    AssociationCounters, AssociationStatistics, AssociationStatus, Buffered, StreamStatistics,
};
use crate::trace;
use crate::transmit::PathIndex;

/// One SCTP association. Reached through its [`Endpoint`](crate::Endpoint); by itself it can only be looked at.
#[derive(Debug)]
pub struct Association {
    session: Session,
    outbound: Outbound,
    inbound: Inbound,
    addresses: DynamicAddresses,
    reconfig: Reconfig,
}

impl Association {
    /// Returns the state of RFC 9260 §4 it is in.
    #[must_use]
    pub fn state(&self) -> AssociationState {
        self.session.state.name()
    }

    /// Returns the extensions both sides agreed on; none before the peer's offer is known.
    #[must_use]
    pub fn capabilities(&self) -> Capabilities {
        self.session.peer.agreed.capabilities
    }

    /// Returns what the peer says of the adaptation layer on its side (RFC 5061 §4.2.6,
    /// SCTP_ADAPTATION_INDICATION); `None` if it says nothing. What it means is for the applications to agree
    /// on.
    #[must_use]
    pub fn peer_adaptation_layer(&self) -> Option<u32> {
        self.session.peer.adaptation
    }

    /// Returns the counters of everything so far.
    #[must_use]
    pub fn statistics(&self) -> AssociationStatistics {
        AssociationStatistics {
            reconfiguration: self.reconfig.statistics(),
            association: AssociationCounters {
                path_switches: self.outbound.paths.switches(),
                ..self.session.counters.get()
            },
            sender: self.outbound.sender.statistics(),
            receiver: self.receiver().map(Receiver::statistics).unwrap_or_default(),
            authentication: self.session.authentication.statistics.get(),
            asconf: self.addresses.statistics.get(),
            events: self.session.events.dropped(),
            paths: self.outbound.path_statistics(self.session.config.paths.potentially_failed_state),
            is_autoclosed: self.outbound.supervision.usage.is_autoclosed,
        }
    }

    /// Returns who it joins, and how it stands.
    #[must_use]
    pub fn status(&self) -> AssociationStatus {
        let (peer, sender) = (&self.session.peer, &self.outbound.sender);
        AssociationStatus {
            state: self.state(),
            origin: peer.origin,
            local_port: peer.local_port,
            peer_port: peer.peer_port,
            local_addresses: self.outbound.paths.local_addresses().to_vec(),
            peer_addresses: self.outbound.paths.iter().map(|path| path.destination).collect(),
            outbound_streams: peer.agreed.outbound,
            inbound_streams: peer.agreed.inbound,
            buffered: sender.buffered(),
            peer_window_bytes: sender.peer_window(),
            path: self.outbound.data_path_statistics(self.session.config.paths.potentially_failed_state),
        }
    }

    /// Returns the octets of payload that were handed in and are not acknowledged.
    #[must_use]
    pub fn buffered(&self) -> Buffered {
        self.outbound.sender.buffered()
    }

    /// Tells by an event when no more payload is buffered.
    pub(crate) fn await_low_water(&mut self, payload_bytes: usize) {
        self.outbound.sender.await_low_water(payload_bytes);
    }

    /// Returns what an outgoing stream did so far.
    #[must_use]
    pub fn stream_statistics(&self, stream: StreamId) -> StreamStatistics {
        self.outbound.sender.stream_statistics(stream)
    }

    /// Returns the counters that show which chunks were discarded.
    pub(crate) fn chunk_counters(&self) -> trace::ChunkCounters {
        trace::ChunkCounters {
            association: self.session.counters.get(),
            authentication: self.session.authentication.statistics.get(),
            asconf: self.addresses.statistics.get(),
            reconfiguration: self.reconfig.statistics(),
        }
    }

    /// A router said that packets on this path are too big for it; the endpoint has made sure that it saw one of ours.
    pub(crate) fn on_packet_too_big(&mut self, path: PathIndex, mtu_bytes: usize) {
        self.outbound.on_packet_too_big(path, mtu_bytes);
    }

    /// Returns the octets of the send buffer that messages take which are queued or in flight, bookkeeping included.
    #[must_use]
    pub fn buffered_bytes(&self) -> usize {
        self.outbound.sender.buffered_bytes()
    }

    /// Returns the octets that the sending half holds in memory: what [messages take](Self::buffered_bytes), and places that
    /// others have left and the next ones will use.
    #[must_use]
    pub fn send_memory_bytes(&self) -> usize {
        self.outbound.sender.memory_bytes()
    }

    /// Returns the octets of memory in what is kept for each stream that was used, until the association ends: state and
    /// statistics, some 100 octets for an outgoing one, and 50 for an incoming one on which a message was blocked.
    #[must_use]
    pub fn stream_table_bytes(&self) -> usize {
        self.outbound.sender.table_bytes() + self.receiver().map_or(0, Receiver::table_bytes)
    }

    /// Returns the number of octets the receiving half holds in memory, bookkeeping included.
    #[must_use]
    pub fn receive_memory_bytes(&self) -> usize {
        self.receiver().map_or(0, Receiver::memory_bytes)
    }

    /// Returns what the user reads from; there is nothing to read before the peer is known.
    #[inline]
    pub(crate) fn receiver(&self) -> Option<&Receiver> {
        self.inbound.receiver.as_ref()
    }

    /// Returns what the user reads from, to take messages out.
    #[inline]
    pub(crate) fn receiver_mut(&mut self) -> Option<&mut Receiver> {
        self.inbound.receiver.as_mut()
    }

    /// The peer is to hear that there is room again.
    pub(crate) fn update_window(&mut self, now: Instant) {
        self.inbound.hurry_sack();
        self.outbound.timers.stop(Timer::SackDelay);
        self.after_input(now);
    }

    /// Returns the parameters it was set up with.
    #[must_use]
    pub fn config(&self) -> &AssociationConfig {
        &self.session.config
    }

    /// Returns who talks with whom, and how far it has got.
    pub(crate) fn session(&self) -> &Session {
        &self.session
    }

    pub(crate) fn peer(&self) -> &Peer {
        &self.session.peer
    }

    /// Returns the session, for what is authenticated and with which keys.
    pub(crate) fn session_mut(&mut self) -> &mut Session {
        &mut self.session
    }

    pub(crate) fn paths(&self) -> &PathSet {
        &self.outbound.paths
    }

    /// Returns whether the association is over, and nothing is left to read or to tell.
    pub(crate) fn is_finished(&self) -> bool {
        self.is_closed()
            && self.session.events.is_empty()
            && self.outbound.control.is_empty()
            && !self.receiver().is_some_and(Receiver::has_message)
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.session.state.name() == AssociationState::Closed
    }

    /// Something came in or time passed: see what may go out and what is now due.
    pub(crate) fn after_input(&mut self, now: Instant) {
        if self.is_closed() {
            return;
        }
        self.outbound.give_up(now, &mut self.session);
        self.inbound.report_aborted(&mut self.session);
        self.inbound.watch_sack_delay(now, self.session.config.sack.delay, &mut self.outbound.timers);
        self.outbound.begin_burst(now);
        self.progress_reconfig(now);
        self.progress_shutdown(now);
        self.outbound.watch(now, &self.session);
    }

    /// Changes what an outgoing stream gets beside others.
    pub(crate) fn set_stream_share(
        &mut self,
        stream: StreamId,
        change: impl FnOnce(&mut StreamShare),
    ) -> Result<(), StreamError> {
        self.outbound.sender.set_stream_share(stream, change)
    }

    pub(crate) fn poll_event(&mut self) -> Option<Event> {
        self.session.events.pop()
    }

    pub(crate) fn has_event(&self) -> bool {
        !self.session.events.is_empty()
    }

    pub(crate) fn poll_timeout(&self) -> Option<Instant> {
        self.outbound.timers.next()
    }

    /// Returns a bound if the time that [`poll_timeout`](Self::poll_timeout) gives may be earlier than at the
    /// last call: it is not before this.
    #[inline]
    pub(crate) fn take_closest_timeout(&mut self) -> Option<Instant> {
        self.outbound.timers.take_closest()
    }

    /// Ends the association: no timer runs any more, what was queued is reported as failed.
    fn close(&mut self, error: Option<AssociationError>) {
        if self.is_closed() {
            return;
        }
        let was = self.session.state.name();
        self.session.state.enter_closed(error.as_ref());
        self.outbound.timers.stop_all();
        self.inbound.abort_partial(&mut self.session);
        let Some(error) = error else {
            self.session.tell(Event::ShutdownComplete);
            return;
        };
        let failed = self.outbound.sender.fail_all(&error);
        self.session.tell_failed(failed);
        self.session.tell(farewell(was, error));
    }
}

/// Returns how the user is told of an association that ends in this state by an error.
fn farewell(was: AssociationState, error: AssociationError) -> Event {
    if was.is_setting_up() { Event::CannotStart(error) } else { Event::CommunicationLost(error) }
}

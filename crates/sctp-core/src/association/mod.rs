//! One association: routes chunks, timers and requests to the components, and what they return to timers, paths
//! and events. It decides nothing itself.
//!
//! | module | owns |
//! |---|---|
//! | `packet` | what is in a packet that arrived |
//! | `dispatch` | which chunk goes where, in which state |
//! | `handshake`, `collision` | setting up (RFC 9260 §5) |
//! | `reported` | what the peer says in ABORT and ERROR |
//! | `restart` | beginning anew with a peer that did (RFC 9260 §5.2.4.1) |
//! | `sending`, `reading` | messages from and to the user |
//! | `shutdown` | ending (RFC 9260 §9) |
//! | `asconf` | addresses that come and go (RFC 5061) |
//! | `auth` | which chunks are authenticated, with which keys (RFC 4895) |
//! | `reconfig` | resetting and adding streams (RFC 6525) |
//! | `autoclose` | ending for want of use (RFC 6458 §8.1.8) |
//! | `timers`, `expiry` | what runs, what happens when it runs out |
//! | `progress` | whether the peer takes what waits for it |
//! | `supervision` | whether paths and peer are still there (RFC 9260 §8) |
//! | `addresses` | what the user and the host decide about paths |
//! | `burst` | how many packets leave on one occasion |
//! | `packetizer` | what goes into the next packet |
//! | `peer`, `capabilities`, `state` | identity, extensions agreed on, state machine |

mod addresses;
mod asconf;
mod auth;
mod autoclose;
mod burst;
pub(crate) mod collision;
mod control;
mod dispatch;
mod expiry;
mod handshake;
mod packet;
mod packetizer;
mod path_mtu;
mod peer;
mod progress;
mod reading;
mod reconfig;
mod reported;
mod restart;
mod sending;
mod shutdown;
mod state;
mod supervision;
mod timers;

use std::sync::Arc;

use sctp_wire::{StreamId, Tsn};
use virtual_time::Instant;

use self::asconf::DynamicAddresses;
pub(crate) use self::auth::{Announcement, Authentication, Authenticity, KeyMaterial, Verdict};
use self::autoclose::Usage;
use self::control::{Bundling, ControlQueue};
pub(crate) use self::handshake::{
    InitReply, PeerNotes, Reading, add_addresses, add_wishes, address_parameter,
};
pub(crate) use self::peer::Peer;
use self::progress::Progress;
pub(crate) use self::reading::AfterReading;
use self::reconfig::Reconfig;
pub use self::reconfig::ResetDirection;
pub use self::state::AssociationState;
use self::state::State;
use self::timers::{Timer, Timers};
use crate::capabilities::{Capabilities, Capability, Negotiated, OfferedExtensions, ParameterList};
use crate::config::{AssociationConfig, StreamShare};
use crate::error::{AssociationError, StreamError};
use crate::event::{Event, EventQueue};
use crate::message::Message;
use crate::path::PathSet;
use crate::receiver::Receiver;
use crate::rng::Nonces;
use crate::sender::abandon::Failed;
use crate::sender::{Sender, StreamStatistics};
use crate::stats::{AssociationCounters, AssociationStatistics, AssociationTally, PathStatistics};
use crate::trace;
use crate::transmit::PathId;

/// One SCTP association. Reached through its [`Endpoint`](crate::Endpoint); by itself it can only be looked at.
#[derive(Debug)]
pub struct Association {
    config: Arc<AssociationConfig>,
    state: State,
    peer: Peer,
    sender: Sender,
    /// Exists once the peer's initial TSN is known.
    receiver: Option<Receiver>,
    paths: PathSet,
    timers: Timers,
    control: ControlQueue,
    authentication: Authentication,
    addresses: DynamicAddresses,
    events: EventQueue,
    nonces: Nonces,
    counters: AssociationTally,
    outgoing: Outgoing,
    reconfig: Reconfig,
}

/// The facts that the next packets have to consider.
#[derive(Clone, Copy, Debug)]
struct Outgoing {
    /// Packets with new data that may still go out on this occasion (Max.Burst, RFC 9260 §6.1 (D)).
    burst_left: u32,
    /// The time since which messages of the user have added nothing to it.
    paced_at: Instant,
    /// A message was handed in at this time that may add something.
    renew_at: Option<Instant>,
    /// Octets in flight before the SACKs of this occasion: what has left the network may be replaced beyond Max.Burst, or
    /// a peer that acknowledges many packets at once would throttle us to Max.Burst a round trip.
    refill_to_bytes: usize,
    /// The time at which INIT or COOKIE ECHO was sent, while it was sent only once: its answer gives a first
    /// round trip.
    handshake_sent_at: Option<Instant>,
    /// Consecutive transmissions to the peer that went unanswered (RFC 9260 §8.1).
    errors: u32,
    /// The path data last came in on: SACKs go back there (RFC 9260 §6.4).
    sack_path: PathId,
    /// The path the last SACK was sent on.
    sacked_on: PathId,
    /// Data came twice in the packet being read: SACKs may be lost on their way.
    had_duplicate: bool,
    /// The path of the chunk that T1 or T2 waits for an answer to.
    control_path: PathId,
    /// The next packet of retransmissions ignores cwnd (RFC 9260 §7.2.4 (3)).
    fast_retransmit: bool,
    /// The user asked for shutdown, perhaps before the association was up.
    shutdown_wanted: bool,
    /// The peer's SACKs arrived since the last window probe.
    peer_is_alive: bool,
    usage: Usage,
    progress: Progress,
}

impl Outgoing {
    fn new(config: &AssociationConfig) -> Self {
        Self {
            burst_left: config.transmission.max_burst_packets,
            paced_at: Instant::EPOCH,
            renew_at: None,
            refill_to_bytes: 0,
            handshake_sent_at: None,
            errors: 0,
            sack_path: PathId::FIRST,
            sacked_on: PathId::FIRST,
            had_duplicate: false,
            control_path: PathId::FIRST,
            fast_retransmit: false,
            shutdown_wanted: false,
            peer_is_alive: false,
            usage: Usage::NONE,
            progress: Progress::NONE,
        }
    }
}

impl Association {
    /// Returns the state of RFC 9260 §4 it is in.
    #[must_use]
    pub fn state(&self) -> AssociationState {
        self.state.name()
    }

    /// Returns the extensions both sides agreed on; none before the peer's offer is known.
    #[must_use]
    pub fn capabilities(&self) -> Capabilities {
        self.peer.agreed.capabilities
    }

    /// Returns what the peer says of the adaptation layer on its side (RFC 5061 §4.2.6,
    /// SCTP_ADAPTATION_INDICATION); `None` if it says nothing. What it means is for the applications to agree
    /// on.
    #[must_use]
    pub fn peer_adaptation_layer(&self) -> Option<u32> {
        self.peer.adaptation
    }

    /// Returns the counters of everything so far.
    #[must_use]
    pub fn statistics(&self) -> AssociationStatistics {
        let exposure = self.config.paths.potentially_failed_state;
        let of = |path| PathStatistics::of(path, self.paths.primary(), self.sender.flight(path.id));
        let shown = |of: PathStatistics| PathStatistics { state: of.state.shown(exposure), ..of };
        let paths = self.paths.iter().map(of).map(shown).collect();
        AssociationStatistics {
            reconfiguration: self.reconfig.statistics(),
            association: AssociationCounters { path_switches: self.paths.switches(), ..self.counters.get() },
            sender: self.sender.statistics(),
            receiver: self.receiver.as_ref().map(Receiver::statistics).unwrap_or_default(),
            authentication: self.authentication.statistics.get(),
            asconf: self.addresses.statistics.get(),
            events: self.events.dropped(),
            paths,
            is_autoclosed: self.outgoing.usage.is_autoclosed,
        }
    }

    /// Returns what an outgoing stream did so far.
    #[must_use]
    pub fn stream_statistics(&self, stream: StreamId) -> StreamStatistics {
        self.sender.stream_statistics(stream)
    }

    /// Returns the octets of the send buffer that messages take which are queued or in flight, bookkeeping included.
    #[must_use]
    pub fn buffered_bytes(&self) -> usize {
        self.sender.buffered_bytes()
    }

    /// Returns the octets that the sending half holds in memory: what [messages take](Self::buffered_bytes), and places that
    /// others have left and the next ones will use.
    #[must_use]
    pub fn send_memory_bytes(&self) -> usize {
        self.sender.memory_bytes()
    }

    /// Returns the octets of memory in what is kept for each stream that was used, until the association ends: state and
    /// statistics, some 100 octets for an outgoing one, and 50 for an incoming one on which a message was blocked.
    #[must_use]
    pub fn stream_table_bytes(&self) -> usize {
        self.sender.table_bytes() + self.receiver.as_ref().map_or(0, Receiver::table_bytes)
    }

    /// Returns the number of octets the receiving half holds in memory, bookkeeping included.
    #[must_use]
    pub fn receive_memory_bytes(&self) -> usize {
        self.receiver.as_ref().map_or(0, Receiver::memory_bytes)
    }

    /// The endpoint says how much the receiving half may hold.
    pub(crate) fn grant_receive_memory(&mut self, bytes: usize) {
        if let Some(receiver) = self.receiver.as_mut() {
            receiver.grant_memory(bytes);
        }
    }

    /// Returns the parameters it was set up with.
    #[must_use]
    pub fn config(&self) -> &AssociationConfig {
        &self.config
    }

    pub(crate) fn peer(&self) -> &Peer {
        &self.peer
    }

    pub(crate) fn paths(&self) -> &PathSet {
        &self.paths
    }

    /// Returns whether the association is over, and nothing is left to read or to tell.
    pub(crate) fn is_finished(&self) -> bool {
        self.is_closed() && self.events.is_empty() && self.control.is_empty() && !self.has_message()
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.state.name() == AssociationState::Closed
    }

    pub(crate) fn is_setting_up(&self) -> bool {
        matches!(self.state.name(), AssociationState::CookieWait | AssociationState::CookieEchoed)
    }

    /// Something came in or time passed: see what may go out and what is now due.
    pub(crate) fn after_input(&mut self, now: Instant) {
        if self.is_closed() {
            return;
        }
        self.give_up(now);
        self.report_aborted(Receiver::take_aborted);
        self.watch_sack_delay(now);
        self.begin_burst(now);
        self.progress_reconfig(now);
        self.progress_shutdown(now);
        self.watch_peer_window(now);
        self.watch_tail(now);
        self.watch_lifetimes();
        self.watch_progress(now);
    }

    /// Gives up messages that are not to be sent (again) by now (RFC 3758 §3.5, RFC 7496 §3).
    #[inline]
    fn give_up(&mut self, now: Instant) {
        if self.sender.gives_up() {
            self.give_up_due(now);
        }
    }

    fn give_up_due(&mut self, now: Instant) {
        let abandonment = self.sender.abandon_due(now);
        let any = !abandonment.failed.is_empty();
        self.report_failed(abandonment.failed);
        if abandonment.buffer_available {
            self.events.push(Event::SendBufferAvailable);
        }
        if any && self.sender.is_dry() {
            self.events.push(Event::SenderDry);
        }
    }

    fn report_failed(&mut self, failed: Vec<Failed>) {
        self.events.extend(failed.into_iter().map(|Failed { message, was_sent, reason }| {
            trace::message_abandoned(message.stream, &reason, was_sent);
            Event::SendFailed { message, was_sent, reason }
        }));
    }

    /// Nothing of these was sent, and nothing will be.
    fn report_unsent(&mut self, unsent: Vec<Message>, error: &AssociationError) {
        let failed = |message| Failed { message, was_sent: false, reason: error.clone().into() };
        self.report_failed(unsent.into_iter().map(failed).collect());
    }

    /// Keeps the timers of partial reliability in step with what waits and what is unconfirmed.
    #[inline]
    fn watch_lifetimes(&mut self) {
        if self.sender.gives_up() {
            self.apply_lifetimes();
        }
    }

    fn apply_lifetimes(&mut self) {
        let (expiry, again_at) = (self.sender.next_expiry(), self.sender.forward_again_at());
        self.timers.apply(Timer::Lifetime, expiry);
        self.timers.apply(Timer::ForwardTsn, again_at);
    }

    /// RFC 9260 §6.1 (A): a closed window with nothing in flight is probed after an RTO.
    fn watch_peer_window(&mut self, now: Instant) {
        let path = self.paths.path(self.paths.for_data());
        if self.may_send_data() && self.sender.needs_window_probe(path) {
            self.timers.start_if_stopped(Timer::WindowProbe, now + path.rto.rto());
        } else {
            self.timers.stop(Timer::WindowProbe);
        }
    }

    /// Keeps the tail-loss probe timers in step with what is in flight.
    fn watch_tail(&mut self, now: Instant) {
        if self.state.name() == AssociationState::CookieEchoed {
            return;
        }
        // One that is due already is not armed again: it waits for a packet, not for a time.
        for path in self.paths.iter().filter(|path| !path.probe_is_due) {
            let at = self.sender.probe_at(path.id, &self.paths).map(|at| at.max(now));
            let before_t3 = at.filter(|at| self.timers.at(Timer::T3Rtx(path.id)).is_none_or(|t3| *at < t3));
            self.timers.apply(Timer::TailLossProbe(path.id), before_t3);
        }
    }

    /// Changes what an outgoing stream gets beside others.
    pub(crate) fn set_stream_share(
        &mut self,
        stream: StreamId,
        change: impl FnOnce(&mut StreamShare),
    ) -> Result<(), StreamError> {
        self.sender.set_stream_share(stream, change)
    }

    pub(crate) fn poll_event(&mut self) -> Option<Event> {
        self.events.pop()
    }

    pub(crate) fn has_event(&self) -> bool {
        !self.events.is_empty()
    }

    pub(crate) fn poll_timeout(&self) -> Option<Instant> {
        self.timers.next()
    }

    /// Returns a bound if the time that [`poll_timeout`](Self::poll_timeout) gives may be earlier than at the
    /// last call: it is not before this.
    #[inline]
    pub(crate) fn take_closest_timeout(&mut self) -> Option<Instant> {
        self.timers.take_closest()
    }

    /// Ends the association: no timer runs any more, what was queued is reported as failed.
    fn close(&mut self, error: Option<AssociationError>) {
        if self.is_closed() {
            return;
        }
        let was = self.state.name();
        self.state.enter_closed(error.as_ref());
        self.timers.stop_all();
        self.report_aborted(Receiver::abort_partial);
        let Some(error) = error else {
            self.events.push(Event::ShutdownComplete);
            return;
        };
        let failed = self.sender.fail_all(&error);
        self.report_failed(failed);
        self.events.push(match was {
            AssociationState::CookieWait | AssociationState::CookieEchoed => Event::CannotStart(error),
            AssociationState::Established
            | AssociationState::ShutdownPending
            | AssociationState::ShutdownSent
            | AssociationState::ShutdownReceived
            | AssociationState::ShutdownAckSent
            | AssociationState::Closed => Event::CommunicationLost(error),
        });
    }

    /// Returns whether data may be sent in this state.
    fn may_send_data(&self) -> bool {
        match self.state.name() {
            AssociationState::CookieEchoed
            | AssociationState::Established
            | AssociationState::ShutdownPending
            | AssociationState::ShutdownReceived => true,
            AssociationState::CookieWait
            | AssociationState::ShutdownSent
            | AssociationState::ShutdownAckSent
            | AssociationState::Closed => false,
        }
    }

    fn cumulative_tsn(&self) -> Tsn {
        self.receiver.as_ref().map_or(Tsn::new(0), Receiver::cumulative_tsn)
    }
}

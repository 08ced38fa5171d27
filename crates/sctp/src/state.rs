//! The core and its surroundings, guarded by one lock: the driver's contract is kept here.
//!
//! Whoever changes the core — the driver task with packets and timeouts, an application thread with a
//! message — ends with [`State::settle`]: transmit what the change produced, hand out events, arm the timer. A
//! message is therefore on the wire before `send` returns, without a detour through another task.

mod streams;

use std::collections::{BTreeMap, VecDeque};
use std::net::IpAddr;
#[cfg(target_os = "linux")]
use std::sync::OnceLock;
use std::time::Duration;

use sctp_core::{
    Association, AssociationId, Event, IncomingPolicy, Origin, ReconfigOutcome, StreamDirection,
};
#[cfg(target_os = "linux")]
use sctp_io::AddressEvent;
use sctp_io::{PacketIo, ReceiveBatch, Timer};
#[cfg(feature = "tokio")]
use tokio::sync::futures::Notified;
use virtual_time::Instant;

use self::streams::StreamTable;
pub(crate) use self::streams::{ReaderId, Remains, StreamEnd};
use crate::capture::Capture;
use crate::error::CommunicationLost;
use crate::outbox::Outbox;
use crate::slot::{Ending, Holder, Last, Phase, Slot};
#[cfg(target_os = "linux")]
use crate::surroundings::Doorbell;
use crate::surroundings::Notify;

/// Everything behind the endpoint's lock.
pub(crate) struct State {
    pub(crate) core: sctp_core::Endpoint,
    pub(crate) slots: BTreeMap<AssociationId, Slot>,
    /// The messages by stream of those associations whose streams have handles.
    pub(crate) streams: BTreeMap<AssociationId, StreamTable>,
    /// Associations opened by peers that nobody has accepted yet, oldest first.
    pub(crate) backlog: VecDeque<AssociationId>,
    pub(crate) openness: Openness,
    pub(crate) outbox: Outbox,
    pub(crate) capture: Option<Capture>,
    /// The addresses peers are told of.
    #[cfg_attr(not(target_os = "linux"), expect(dead_code, reason = "no address is watched there"))]
    listed: Vec<IpAddr>,
    timer: Timer,
    /// Slots whose association has not ended.
    live: usize,
    /// The driver has handed news out and transmits once those told have had their turn: reading in between need
    /// not, so that answers travel with the SACK.
    pub(crate) driver_settles: bool,
    /// Octets of messages handed in since somebody received from the socket, [`PER_MESSAGE_BYTES`] more for each.
    pub(crate) queued_since_look: usize,
}

/// Whether an endpoint takes part in new associations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Openness {
    Open,
    /// `close` was called or the last endpoint handle dropped: existing associations go on, no new ones begin.
    Closed,
    /// The driver is gone.
    Stopped,
}

/// The signals by which [`State::settle`] wakes others than the users of an association.
#[derive(Debug, Default)]
pub(crate) struct EndpointSignals {
    /// The driver: the socket was full, or its work may be done.
    pub(crate) driver: DriverSignal,
    /// The signal for those who wait in `accept`.
    pub(crate) backlog: Notify,
    /// The signal for those who wait in `wait_idle`.
    pub(crate) idle: Notify,
}

/// The signal that tells the driver to look at the state anew.
#[derive(Debug, Default)]
pub(crate) struct DriverSignal {
    task: Notify,
    /// The bell of a driver that is a thread.
    #[cfg(target_os = "linux")]
    bell: OnceLock<Doorbell>,
}

impl DriverSignal {
    /// Rings `bell` from now on, because the driver is a thread.
    #[cfg(target_os = "linux")]
    pub(crate) fn set_bell(&self, bell: Doorbell) {
        // A second driver there is not.
        let _ = self.bell.set(bell);
    }

    pub(crate) fn notify(&self) {
        #[cfg(target_os = "linux")]
        if let Some(bell) = self.bell.get() {
            return bell.ring();
        }
        self.task.notify_one();
    }

    /// Returns the future that a driver waits for which is a task.
    #[cfg(feature = "tokio")]
    pub(crate) fn notified(&self) -> Notified<'_> {
        self.task.notified()
    }
}

impl State {
    pub(crate) fn new(
        core: sctp_core::Endpoint,
        listed: Vec<IpAddr>,
        timer: Timer,
        capture: Option<Capture>,
    ) -> Self {
        Self {
            core,
            slots: BTreeMap::new(),
            streams: BTreeMap::new(),
            backlog: VecDeque::new(),
            openness: Openness::Open,
            outbox: Outbox::default(),
            capture,
            listed,
            timer,
            live: 0,
            driver_settles: false,
            queued_since_look: 0,
        }
    }

    /// Returns whether no association is alive.
    pub(crate) fn is_idle(&self) -> bool {
        self.live == 0
    }

    pub(crate) fn insert(&mut self, id: AssociationId, slot: Slot) {
        self.live += 1;
        self.slots.insert(id, slot);
    }

    /// Returns the last that was known of an association that is over.
    pub(crate) fn last(&self, id: AssociationId) -> Option<&Last> {
        self.slots.get(&id)?.last.as_deref()
    }

    /// Packets came in.
    pub(crate) fn take_in(&mut self, now: Instant, io: &dyn PacketIo, batch: &ReceiveBatch) {
        self.queued_since_look = 0;
        if let Some(capture) = &mut self.capture {
            batch.datagrams().for_each(|datagram| capture.received(now, io.local_address(), &datagram));
        }
        self.core.handle_packets(now, batch.datagrams());
        self.handle_timeout(now);
    }

    /// A message was handed in.
    pub(crate) fn note_queued(&mut self, octets: usize) {
        self.queued_since_look = self.queued_since_look.saturating_add(octets + PER_MESSAGE_BYTES);
    }

    /// An address of this host came or went.
    #[cfg(target_os = "linux")]
    pub(crate) fn on_address(&mut self, now: Instant, event: AddressEvent) {
        match event {
            // Of those this endpoint has nothing to do with nothing is said.
            AddressEvent::Up(address) | AddressEvent::Down(address) if !self.listed.contains(&address) => {}
            AddressEvent::Up(address) => self.core.local_address_up(now, address),
            AddressEvent::Down(address) => self.core.local_address_down(now, address),
        }
    }

    /// An address of this host came or went, which nobody watches on this system.
    #[cfg(not(target_os = "linux"))]
    pub(crate) fn on_address(&mut self, _now: Instant, never: std::convert::Infallible) {
        match never {}
    }

    /// The timer's descriptor became readable, or may have.
    pub(crate) fn acknowledge_timer(&mut self) {
        // Fails only if the descriptor were not a timer.
        let _ = self.timer.acknowledge();
    }

    /// Returns when the driver is to look at the endpoint anew.
    #[cfg(not(target_os = "linux"))]
    pub(crate) fn timer_fires_at(&self) -> Option<Instant> {
        self.timer.fires_at()
    }

    /// Deals with what is due.
    pub(crate) fn handle_timeout(&mut self, now: Instant) {
        if self.core.poll_timeout().is_some_and(|deadline| deadline <= now) {
            self.core.handle_timeout(now);
        }
    }

    /// Completes every change of the core: transmit, events, timer.
    pub(crate) fn settle(&mut self, now: Instant, io: &dyn PacketIo, signals: &EndpointSignals) {
        loop {
            let was_blocked = self.outbox.is_blocked();
            self.outbox.transmit(now, &mut self.core, io, self.capture.as_mut());
            if self.outbox.is_blocked() && !was_blocked {
                signals.driver.notify();
            }
            if self.hand_out_events(now, signals) == CoreChanged::No {
                break;
            }
        }
        if let Some(deadline) = self.core.poll_timeout() {
            if deadline <= now + SOON {
                self.look_ahead(now + SOON, signals);
            } else {
                self.arm(deadline, signals);
            }
        }
    }

    /// The timer fires soon: puts it off if nothing is to be done then. To let it fire would take an interrupt and a turn of
    /// the driver.
    #[cold]
    fn look_ahead(&mut self, soon: Instant, signals: &EndpointSignals) {
        self.core.skip_stopped_timers(soon);
        match self.core.poll_timeout() {
            Some(deadline) if deadline > soon => self.put_off(deadline),
            Some(deadline) => self.arm(deadline, signals),
            None => {}
        }
    }

    #[cfg(target_os = "linux")]
    fn put_off(&mut self, deadline: Instant) {
        // Fails only if the descriptor were not a timer.
        let _ = self.timer.set(deadline);
    }

    #[cfg(not(target_os = "linux"))]
    fn put_off(&mut self, deadline: Instant) {
        self.timer.set(deadline);
    }

    #[cfg(target_os = "linux")]
    fn arm(&mut self, deadline: Instant, _signals: &EndpointSignals) {
        // Fails only if the descriptor were not a timer.
        let _ = self.timer.arm(deadline);
    }

    #[cfg(not(target_os = "linux"))]
    fn arm(&mut self, deadline: Instant, signals: &EndpointSignals) {
        if self.timer.arm(deadline) {
            signals.driver.notify();
        }
    }

    /// The last handle of an association is gone.
    pub(crate) fn release(&mut self, now: Instant, id: AssociationId) {
        let Some(slot) = self.slots.get_mut(&id) else { return };
        slot.holder = Holder::Nobody;
        // An error only says that the association is over already.
        match slot.phase {
            Phase::Connecting => drop(self.core.abort(now, id, b"connect was cancelled")),
            Phase::Established => drop(self.core.shutdown(now, id)),
            Phase::Ended(_) => drop(self.slots.remove(&id)),
        }
        self.forget_streams(now, id);
        self.discard_received(now, id);
    }

    /// Asks all associations to end, and accepts no more.
    pub(crate) fn close(&mut self, now: Instant, signals: &EndpointSignals) {
        self.refuse_newcomers(now);
        for (id, slot) in &self.slots {
            match slot.phase {
                Phase::Connecting => drop(self.core.abort(now, *id, b"the endpoint was closed")),
                Phase::Established => drop(self.core.shutdown(now, *id)),
                Phase::Ended(_) => {}
            }
        }
        signals.backlog.notify_waiters();
        signals.driver.notify();
    }

    /// Nobody will call `accept` any more.
    pub(crate) fn refuse_newcomers(&mut self, now: Instant) {
        if self.openness == Openness::Open {
            self.openness = Openness::Closed;
        }
        // Fails for limits alone, and here are none.
        let _ = self.core.set_incoming(IncomingPolicy::Refuse);
        while let Some(id) = self.backlog.pop_front() {
            self.release(now, id);
        }
    }

    /// The driver is gone: nothing will ever happen again.
    pub(crate) fn stop(&mut self, cause: &CommunicationLost, signals: &EndpointSignals) {
        self.openness = Openness::Stopped;
        for slot in self.slots.values_mut() {
            if slot.ending().is_none() {
                slot.phase = Phase::Ended(Err(cause.clone()));
                slot.signals.wake_all();
            }
        }
        let with_streams: Vec<AssociationId> = self.streams.keys().copied().collect();
        with_streams.into_iter().for_each(|id| self.wake_streams(id));
        self.live = 0;
        signals.backlog.notify_waiters();
        signals.idle.notify_waiters();
    }

    /// Tells everybody what the core has to say. True if that was messages, and nothing that needs an answer of the
    /// protocol's own: then answers of the users may follow at once.
    pub(crate) fn tell(&mut self, now: Instant, signals: &EndpointSignals) -> bool {
        let (mut messages, mut others) = (false, false);
        while let Some((id, event)) = self.core.poll_event() {
            let is_message = matches!(event, Event::MessageReady);
            messages |= is_message;
            others |= !is_message && !matches!(event, Event::SenderDry | Event::SendBufferAvailable);
            // What it changes in the core is completed by the next `settle`.
            let _changed = self.hand_out(now, id, event, signals);
        }
        self.tell_of_newcomers(signals);
        messages && !others
    }

    fn hand_out_events(&mut self, now: Instant, signals: &EndpointSignals) -> CoreChanged {
        let mut changed = CoreChanged::No;
        while let Some((id, event)) = self.core.poll_event() {
            changed = changed.or(self.hand_out(now, id, event, signals));
        }
        self.tell_of_newcomers(signals);
        changed
    }

    /// Wakes those up who may want to decide about peers that ask for an association.
    #[inline]
    fn tell_of_newcomers(&self, signals: &EndpointSignals) {
        if self.core.has_newcomer() {
            signals.backlog.notify_waiters();
        }
    }

    fn hand_out(
        &mut self,
        now: Instant,
        id: AssociationId,
        event: Event,
        signals: &EndpointSignals,
    ) -> CoreChanged {
        match event {
            Event::CommunicationUp { origin: Origin::Accepted, .. } if !self.slots.contains_key(&id) => {
                return self.on_incoming(now, id, event, signals);
            }
            Event::CommunicationUp { .. } => self.on_established(id, event),
            Event::MessageReady => return self.on_message_ready(now, id),
            Event::SendBufferAvailable => {
                if let Some(slot) = self.slots.get(&id) {
                    slot.signals.writable.notify_waiters();
                }
                self.wake_writers(id);
            }
            Event::ShutdownComplete => self.on_end(now, id, event, Ok(()), signals),
            Event::CommunicationLost(ref error) | Event::CannotStart(ref error) => {
                let ending = Err(error.clone().into());
                self.on_end(now, id, event, ending, signals);
            }
            Event::Restart { .. } => {
                self.end_streams(now, id, &[], StreamEnd::Restarted);
                self.queue_event(id, event);
            }
            Event::StreamsReset { direction, ref streams, result } => {
                if direction == StreamDirection::Incoming && result == ReconfigOutcome::Performed {
                    self.end_streams(now, id, streams, StreamEnd::Reset);
                }
                self.queue_event(id, event);
            }
            Event::AssociationReset { result } => {
                if result == ReconfigOutcome::Performed {
                    self.end_streams(now, id, &[], StreamEnd::Reset);
                }
                self.queue_event(id, event);
            }
            Event::StreamsAdded { .. }
            | Event::ShutdownReceived
            | Event::PeerAddressChange { .. }
            | Event::RemoteError(_)
            | Event::SendFailed { .. }
            | Event::NewPeerKey(_)
            | Event::PartialDeliveryAborted { .. }
            | Event::AddressChangeAnswered { .. }
            | Event::PeerPrimary(_)
            | Event::TrainReceived { .. }
            | Event::SenderDry
            | _ => self.queue_event(id, event),
        }
        CoreChanged::No
    }

    /// Takes note of an association that a peer opened.
    fn on_incoming(
        &mut self,
        now: Instant,
        id: AssociationId,
        event: Event,
        signals: &EndpointSignals,
    ) -> CoreChanged {
        let Some(association) = self.core.association(id) else { return CoreChanged::No };
        let buffers = association.config().buffers;
        let is_wanted = self.openness == Openness::Open && self.backlog.len() < BACKLOG;
        let holder = if is_wanted { Holder::Backlog } else { Holder::Nobody };
        self.insert(id, Slot::new(Phase::Established, holder, &buffers));
        self.queue_event(id, event);
        if is_wanted {
            self.backlog.push_back(id);
            signals.backlog.notify_waiters();
            return CoreChanged::No;
        }
        // An error only says that the association is over already.
        let _ = self.core.abort(now, id, b"nobody accepts associations here");
        CoreChanged::Yes
    }

    fn on_established(&mut self, id: AssociationId, event: Event) {
        if let Some(slot) = self.slots.get_mut(&id) {
            if matches!(slot.phase, Phase::Connecting) {
                slot.phase = Phase::Established;
            }
            slot.signals.phase.notify_waiters();
        }
        self.queue_event(id, event);
    }

    fn on_message_ready(&mut self, now: Instant, id: AssociationId) -> CoreChanged {
        let Some(slot) = self.slots.get(&id) else { return CoreChanged::No };
        slot.signals.readable.notify_waiters();
        if slot.holder == Holder::Nobody { self.discard_received(now, id) } else { self.sort(now, id) }
    }

    fn on_end(
        &mut self,
        now: Instant,
        id: AssociationId,
        event: Event,
        ending: Ending,
        signals: &EndpointSignals,
    ) {
        let Some(slot) = self.slots.get_mut(&id) else { return };
        if slot.ending().is_none() {
            self.live -= 1;
        }
        let last = |association: &Association| Last {
            status: association.status(),
            statistics: association.statistics(),
        };
        slot.last = self.core.association(id).map(last).map(Box::new);
        slot.phase = Phase::Ended(ending);
        slot.events.push(event);
        slot.signals.wake_all();
        let is_held = slot.holder != Holder::Nobody;
        self.wake_streams(id);
        if !is_held {
            self.slots.remove(&id);
            self.discard_received(now, id);
        }
        if self.is_idle() {
            signals.idle.notify_waiters();
            signals.driver.notify();
        }
    }

    fn queue_event(&mut self, id: AssociationId, event: Event) {
        if let Some(slot) = self.slots.get_mut(&id)
            && slot.holder != Holder::Nobody
            && slot.events.push(event)
        {
            slot.signals.event.notify_waiters();
        }
    }

    /// Discards what arrives once nobody reads any more: it must not fill the window, or the peer could not
    /// finish.
    fn discard_received(&mut self, now: Instant, id: AssociationId) -> CoreChanged {
        let mut changed = CoreChanged::No;
        while self.core.receive(now, id).is_some() {
            changed = CoreChanged::Yes;
        }
        changed
    }
}

impl std::fmt::Debug for State {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("State")
            .field("slots", &self.slots)
            .field("backlog", &self.backlog)
            .field("openness", &self.openness)
            .finish_non_exhaustive()
    }
}

/// Whether handing out an event changed the core, so that there may be more to transmit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CoreChanged {
    Yes,
    No,
}

impl CoreChanged {
    fn or(self, other: Self) -> Self {
        if self == Self::Yes { Self::Yes } else { other }
    }
}

/// Associations that may wait for `accept`; further ones are aborted. As `net.core.somaxconn` of Linux.
const BACKLOG: usize = 4096;

/// How long before it would fire a timer is put off, if nothing is to be done then: most exchanges over near paths take less.
const SOON: Duration = Duration::from_millis(2);

/// The cost of handing a message in beside its octets, counted in octets.
pub(crate) const PER_MESSAGE_BYTES: usize = 64;

//! The endpoint: one SCTP port, its associations, and everything that concerns none of them.
//!
//! | module | owns |
//! |---|---|
//! | `arrival` | packets, from their octets to the association |
//! | `demux`, `tags` | which association a packet belongs to |
//! | `incoming` | INIT and COOKIE ECHO, before and beside associations |
//! | `init_limiter` | how many INITs a source may send |
//! | `crowds` | how many associations a source network has |
//! | `cookie` | signing and checking state cookies |
//! | `streams` | resetting and adding streams |
//! | `keys` | keys to authenticate with |
//! | `deadlines` | when which association is to be woken up |
//! | `turns` | which association has something to do |
//! | `shared` | configurations that associations have in common |
//! | `memory` | what associations may hold of received data, together |
//! | `ootb` | packets out of the blue |

mod arrival;
pub(crate) mod cookie;
mod crowds;
mod deadlines;
mod demux;
mod incoming;
mod init_limiter;
mod keys;
mod memory;
mod ootb;
mod shared;
mod slots;
mod spent;
mod streams;
mod tags;
#[cfg(test)]
mod tests;
mod turns;

#[cfg(fuzzing)]
pub use self::incoming::fuzz_cookie;
use core::num::NonZeroU16;
use std::collections::VecDeque;
use std::net::IpAddr;

use sctp_wire::{KnownHeader, SctpPort, StreamId, Tsn, VerificationTag};
use smallvec::SmallVec;
use virtual_time::Instant;

use self::cookie::CookieKeys;
use self::crowds::{Crowds, Sources};
use self::deadlines::{Deadlines, Place};
use self::demux::{Demux, Removed};
use self::incoming::Answer;
use self::init_limiter::{InitLimiter, Network};
use self::memory::ReceiveMemory;
use self::shared::SharedConfigs;
use self::slots::Slots;
use self::turns::{Turns, is_in, waits_in};
use crate::association::{AddressChange, AfterReading, Association};
use crate::config::{AssociationConfig, EndpointConfig, Incoming, StreamShare};
use crate::error::{
    AddressChangeError, ConfigError, ConnectError, SendError, SetPrimaryError, StreamError,
    UnknownAssociation,
};
use crate::event::Event;
use crate::message::{Message, Received};
use crate::path::MAX_PATHS;
use crate::rng::Rng;
use crate::stats::EndpointStatistics;
use crate::trace::Watched;
use crate::transmit::{Destination, PathId, Transmit};

/// Names an association of an endpoint. Never reused while the endpoint lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AssociationId {
    slot: u32,
    generation: u32,
}

/// Whose keys are changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyOwner {
    /// Those of one association.
    Association(AssociationId),
    /// Those of associations that peers will open.
    Accepted,
}

/// An SCTP endpoint (RFC 9260 §1.3) as a state machine without clock and IO.
///
/// # Contract
/// Whoever drives it does, after every call that changes something: drain [`poll_transmit`](Self::poll_transmit),
/// drain [`poll_event`](Self::poll_event), read [`poll_timeout`](Self::poll_timeout), wait for a packet or that
/// time. Time never goes back; extra calls are harmless; draining may stop in the middle and go on later.
pub struct Endpoint {
    config: EndpointConfig,
    shared: SharedConfigs,
    /// The local addresses that are there.
    locals: Vec<IpAddr>,
    rng: Rng,
    cookies: CookieKeys,
    sources: Sources,
    associations: Slots<Entry>,
    memory: ReceiveMemory,
    demux: Demux,
    deadlines: Deadlines,
    turns: Turns,
    /// Of the packet that came last.
    last_header: KnownHeader,
    answers: VecDeque<Answer>,
    generation: u32,
    statistics: EndpointStatistics,
}

/// Port, associations and counters; never keys.
impl core::fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Endpoint")
            .field("port", &self.config.port)
            .field("associations", &self.associations.len())
            .field("statistics", &self.statistics)
            .finish_non_exhaustive()
    }
}

struct Entry {
    /// In a place of its own, so that the table can grow without moving it.
    association: Box<Association>,
    generation: u32,
    /// The earliest deadline in the heap.
    armed_at: Option<Instant>,
    /// What it holds of received data, as `memory` knows it.
    received_bytes: usize,
    is_sendable: bool,
    is_eventful: bool,
    is_finished: bool,
    /// When a cookie with its tag was made last, if one was; until it is over.
    cookie_made_at: Option<Instant>,
    /// The network it counts for, if a peer has opened it; until it is over.
    network: Option<Network>,
    /// Of the paths, as the tables know them.
    revision: u32,
}

impl Entry {
    /// The deadline of the association, if it has moved closer than the one in the heap, which it takes the place of.
    #[inline]
    fn closer_deadline(&mut self) -> Option<Instant> {
        let closest = self.association.take_closest_timeout();
        if self.armed_at.is_some_and(|armed| closest.is_none_or(|at| at >= armed)) {
            return None;
        }
        let due =
            self.association.poll_timeout().filter(|due| self.armed_at.is_none_or(|armed| *due < armed))?;
        self.armed_at = Some(due);
        Some(due)
    }

    /// Whether nothing is left of the association, which is said once.
    #[inline]
    fn finishes(&mut self) -> bool {
        self.association.is_finished() && !core::mem::replace(&mut self.is_finished, true)
    }
}

impl Endpoint {
    /// An endpoint without associations.
    ///
    /// `entropy` seeds tags, TSNs, nonces and cookie keys: take it from the operating system, or, in a simulation,
    /// derive it from the run's seed.
    ///
    /// # Errors
    /// The configuration cannot work.
    pub fn new(config: EndpointConfig, entropy: [u8; 32]) -> Result<Self, ConfigError> {
        config.validate()?;
        let memory = ReceiveMemory::new(config.receive_memory_bytes, config.association_limit);
        let mut rng = Rng::new(&entropy);
        let cookies = CookieKeys::new(rng.split(), config.cookie_life, config.cookie_extension);
        let inits = InitLimiter::new(&rng.octets(), config.host_init_rate, config.init_rate);
        let sources = Sources { inits, crowds: Crowds::default() };
        Ok(Self {
            locals: config.local_addresses.clone(),
            shared: SharedConfigs::new(&config.association),
            config,
            rng,
            cookies,
            sources,
            associations: Slots::default(),
            memory,
            demux: Demux::default(),
            deadlines: Deadlines::default(),
            turns: Turns::default(),
            last_header: KnownHeader::default(),
            answers: VecDeque::new(),
            generation: 0,
            statistics: EndpointStatistics::default(),
        })
    }

    /// The SCTP port of this endpoint.
    #[must_use]
    pub fn port(&self) -> SctpPort {
        self.config.port
    }

    /// Changes whether peers may open associations from now on.
    pub fn set_incoming(&mut self, incoming: Incoming) {
        self.config.incoming = incoming;
    }

    /// Makes every association from now on begin at this TSN, and its ASCONF and RE-CONFIG serial numbers with it: for tests
    /// of what happens where they wrap around. Not for production: who can foretell a TSN can forge acknowledgments.
    #[doc(hidden)]
    pub fn start_at_tsn(&mut self, tsn: Tsn) {
        self.rng.set_initial_tsn(tsn);
    }

    /// Counters of packets and discards.
    #[must_use]
    pub fn statistics(&self) -> &EndpointStatistics {
        &self.statistics
    }

    /// Opens an association with the endpoint `port` at `destinations`: all addresses of it that are known, the preferred
    /// one first. They are tried in turn, and all of them may carry data; those the peer names beyond them must be
    /// verified before (RFC 9260 §5.4).
    ///
    /// Messages may be sent at once: they travel with the handshake as early as the RFC allows. The outcome is
    /// [`Event::CommunicationUp`] or [`Event::CannotStart`].
    ///
    /// # Errors
    /// No destination or more than 8, an association with this peer exists, too many of them, or a configuration that
    /// cannot work.
    pub fn connect(
        &mut self,
        now: Instant,
        destinations: &[Destination],
        port: SctpPort,
        config: AssociationConfig,
    ) -> Result<AssociationId, ConnectError> {
        let config = self.shared.initiated(config)?;
        let (&first, others) = destinations.split_first().ok_or(ConnectError::NoDestination)?;
        if destinations.len() > MAX_PATHS {
            return Err(ConnectError::TooManyDestinations { given: destinations.len(), limit: MAX_PATHS });
        }
        if destinations.iter().any(|&destination| self.demux.by_peer(destination, port).is_some()) {
            return Err(ConnectError::Exists);
        }
        let limit = self.config.association_limit;
        if self.associations.len() >= limit {
            return Err(ConnectError::TooMany { limit });
        }
        let tag = self.unused_tag();
        let ports = (self.config.port, port);
        let destinations = (first, others);
        let (locals, rng) = (&self.locals, &mut self.rng);
        let association = Association::initiate(now, destinations, locals, ports, config, tag, rng);
        self.statistics.initiated += 1;
        let slot = self.insert(now, association);
        Ok(id(slot, self.generation))
    }

    /// A router reported that a packet to `destination` was larger than the `mtu_bytes` it can pass on, IP header
    /// included (ICMP type 3 code 4, or ICMPv6 type 2). `quoted` is what it quotes of the SCTP packet.
    ///
    /// A hint only: it counts if it quotes ports and verification tag of an association (RFC 9260 §10), and then makes a
    /// search for the path MTU probe; only the answers to probes change what is sent (RFC 8899 §4.6). True if it was
    /// about an association.
    pub fn handle_packet_too_big(
        &mut self,
        destination: Destination,
        quoted: &[u8],
        mtu_bytes: usize,
    ) -> bool {
        let found = self.quoted_association(destination, quoted);
        let Some((slot, path)) = found else {
            self.statistics.foreign_packet_too_big += 1;
            return false;
        };
        self.statistics.packet_too_big += 1;
        self.associations[slot].association.on_packet_too_big(path, mtu_bytes);
        self.refresh(slot);
        true
    }

    /// Whose packet begins like this: source port, destination port, verification tag.
    fn quoted_association(&self, destination: Destination, quoted: &[u8]) -> Option<(usize, PathId)> {
        let (ports, rest) = quoted.split_first_chunk::<4>()?;
        let tag = VerificationTag::new(u32::from_be_bytes(*rest.first_chunk()?));
        let [source, peer] = [[ports[0], ports[1]], [ports[2], ports[3]]].map(u16::from_be_bytes);
        if source != self.config.port.get() {
            return None;
        }
        let slot = self.demux.by_peer(destination, SctpPort::new(peer)?)?;
        let association = &self.associations[slot].association;
        let path = association.paths().by_address(destination.address)?;
        (association.peer().peer_tag == Some(tag)).then_some((slot, path))
    }

    /// Time passed.
    pub fn handle_timeout(&mut self, now: Instant) {
        self.reap();
        let mut due = SmallVec::<[usize; 8]>::new();
        while let Some((at, place)) = self.deadlines.take_due(now) {
            let entry = self.associations.get_mut(place.slot);
            if let Some(entry) = entry.filter(|entry| entry.generation == place.generation) {
                entry.armed_at = entry.armed_at.filter(|armed| *armed != at);
                due.push(place.slot);
            }
        }
        // Each association once: whatever its timers start again, this call comes to an end.
        for slot in due {
            let mut association = self.at(now, slot);
            if association.poll_timeout().is_some_and(|due| due <= now) {
                association.handle_timeout(now);
                drop(association);
                self.refresh(slot);
            } else {
                // Its timers were stopped or moved meanwhile: nothing has happened to it.
                drop(association);
                self.rearm(slot);
            }
        }
    }

    /// Appends the next packet to `buffer` and says where it goes; `None` when there is nothing to send.
    #[inline]
    pub fn poll_transmit(&mut self, now: Instant, buffer: &mut Vec<u8>) -> Option<Transmit> {
        if self.answers.is_empty() && self.turns.sendable.is_empty() {
            return None;
        }
        let mut only = None;
        self.write_packets(now, 1, buffer, &mut |transmit| only = Some(transmit));
        only
    }

    /// The same for up to `limit` packets at once, which is less work for each: they stand in `buffer` one after the
    /// other, and `transmits` gets a description of each. Fewer than `limit`: there is nothing more to send.
    pub fn transmit_many(
        &mut self,
        now: Instant,
        limit: usize,
        buffer: &mut Vec<u8>,
        transmits: &mut Vec<Transmit>,
    ) {
        self.write_packets(now, limit, buffer, &mut |transmit| transmits.push(transmit));
    }

    fn write_packets(
        &mut self,
        now: Instant,
        limit: usize,
        buffer: &mut Vec<u8>,
        each: &mut dyn FnMut(Transmit),
    ) {
        let mut left = limit;
        if !self.turns.farewells.is_empty() {
            self.write_farewells(now, &mut left, buffer, each);
        }
        while left > 0
            && let Some(answer) = self.answers.pop_front()
        {
            buffer.extend_from_slice(&answer.packet);
            each(answer.transmit(&self.config.association));
            left -= 1;
        }
        while left > 0
            && let Some(Place { slot, .. }) = self.turns.sendable.front(is_in(&self.associations))
        {
            if self.write_from(now, slot, &mut left, buffer, each) {
                self.turns.sendable.pop();
            }
        }
    }

    #[cold]
    fn write_farewells(
        &mut self,
        now: Instant,
        left: &mut usize,
        buffer: &mut Vec<u8>,
        each: &mut dyn FnMut(Transmit),
    ) {
        while *left > 0
            && let Some(Place { slot, .. }) = self.turns.farewells.front(is_in(&self.associations))
        {
            if self.write_from(now, slot, left, buffer, each) {
                self.turns.farewells.pop();
            }
        }
    }

    /// Takes packets from an association, at most as many as are left. Whether that was all it has to send.
    #[inline(always)]
    fn write_from(
        &mut self,
        now: Instant,
        slot: usize,
        left: &mut usize,
        buffer: &mut Vec<u8>,
        each: &mut dyn FnMut(Transmit),
    ) -> bool {
        let Some(entry) = self.associations.get_mut(slot) else { return true };
        let mut association = Watched::new(now, entry.generation, &mut entry.association);
        let transmitted = association.transmit(now, *left, buffer, each);
        drop(association);
        *left -= transmitted.packets;
        if transmitted.is_all {
            entry.is_sendable = false;
            if entry.finishes() {
                self.turns.finished.push(slot);
            }
        }
        // Data that waits for the pacer has set its timer.
        if let Some(due) = entry.closer_deadline() {
            self.arm(slot, due);
        }
        transmitted.is_all
    }

    /// Whether [`poll_transmit`](Self::poll_transmit) may have a packet.
    #[inline]
    #[must_use]
    pub fn may_transmit(&self) -> bool {
        !self.answers.is_empty() || !self.turns.sendable.is_empty()
    }

    /// When [`handle_timeout`](Self::handle_timeout) is to be called next.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Instant> {
        self.deadlines.next()
    }

    /// The next thing a user should know.
    #[inline]
    pub fn poll_event(&mut self) -> Option<(AssociationId, Event)> {
        self.reap();
        if self.turns.eventful.is_empty() { None } else { self.next_event() }
    }

    fn next_event(&mut self) -> Option<(AssociationId, Event)> {
        while let Some(Place { slot, .. }) = self.turns.eventful.front(is_in(&self.associations)) {
            let entry = &mut self.associations[slot];
            let event = entry.association.poll_event();
            let id = id(slot, entry.generation);
            if !entry.association.has_event() {
                entry.is_eventful = false;
                self.turns.eventful.pop();
                self.note_if_finished(slot);
            }
            if let Some(event) = event {
                return Some((id, event));
            }
        }
        None
    }

    /// Queues a message.
    ///
    /// # Errors
    /// See [`SendError`]; with [`SendError::BufferFull`] the message comes back.
    pub fn send(&mut self, now: Instant, id: AssociationId, message: Message) -> Result<(), SendError> {
        let (_taken, refused) = self.send_many(now, id, [message])?;
        refused.map_or(Ok(()), Err)
    }

    /// Queues messages until one is refused, which is less work for each than one by one: how many were taken, and why
    /// the next was not; with [`SendError::BufferFull`] it comes back. Those behind it are not asked for.
    ///
    /// # Errors
    /// There is no such association.
    #[inline]
    pub fn send_many(
        &mut self,
        now: Instant,
        id: AssociationId,
        messages: impl IntoIterator<Item = Message>,
    ) -> Result<(usize, Option<SendError>), UnknownAssociation> {
        let slot = self.slot(id)?;
        let result = self.at(now, slot).send(now, messages);
        self.refresh(slot);
        Ok(result)
    }

    /// Sets the priority of an outgoing stream for [`StreamScheduler::Priority`](crate::StreamScheduler::Priority):
    /// lower goes first; 256 if never set.
    ///
    /// # Errors
    /// There is no such association or stream.
    pub fn set_stream_priority(
        &mut self,
        id: AssociationId,
        stream: StreamId,
        priority: u16,
    ) -> Result<(), StreamError> {
        self.set_stream_share(id, stream, |share| share.priority = priority)
    }

    /// Sets the weight of an outgoing stream for
    /// [`StreamScheduler::WeightedFair`](crate::StreamScheduler::WeightedFair); 256 if never set.
    ///
    /// # Errors
    /// There is no such association or stream.
    pub fn set_stream_weight(
        &mut self,
        id: AssociationId,
        stream: StreamId,
        weight: NonZeroU16,
    ) -> Result<(), StreamError> {
        self.set_stream_share(id, stream, |share| share.weight = weight)
    }

    fn set_stream_share(
        &mut self,
        id: AssociationId,
        stream: StreamId,
        change: impl FnOnce(&mut StreamShare),
    ) -> Result<(), StreamError> {
        let slot = self.slot(id)?;
        self.associations[slot].association.set_stream_share(stream, change)
    }

    /// Whether [`receive`](Self::receive) would give a message.
    #[must_use]
    pub fn has_message(&self, id: AssociationId) -> bool {
        self.association(id).is_some_and(Association::has_message)
    }

    /// The next message from the peer, if one is ready. A closed association can be read until it is empty.
    pub fn receive(&mut self, now: Instant, id: AssociationId) -> Option<Received> {
        let slot = self.slot(id).ok()?;
        let received = self.associations[slot].association.receive()?;
        self.after_reading(now, slot);
        Some(received)
    }

    /// Appends the messages from the peer that are ready, at most `limit`; gives how many there were.
    pub fn receive_many(
        &mut self,
        now: Instant,
        id: AssociationId,
        limit: usize,
        received: &mut Vec<Received>,
    ) -> usize {
        let Ok(slot) = self.slot(id) else { return 0 };
        let count = self.associations[slot].association.receive_many(limit, received);
        if count > 0 {
            self.after_reading(now, slot);
        }
        count
    }

    fn after_reading(&mut self, now: Instant, slot: usize) {
        match self.associations[slot].association.after_reading() {
            AfterReading::Nothing => self.note_read(slot),
            AfterReading::WindowUpdate => {
                self.at(now, slot).update_window(now);
                self.refresh(slot);
            }
            AfterReading::Farewell => self.refresh(slot),
        }
    }

    /// Ends an association gracefully: everything queued is delivered first (RFC 9260 §9.2).
    ///
    /// # Errors
    /// There is no such association.
    pub fn shutdown(&mut self, now: Instant, id: AssociationId) -> Result<(), UnknownAssociation> {
        let slot = self.slot(id)?;
        self.at(now, slot).shutdown(now);
        self.refresh(slot);
        Ok(())
    }

    /// Ends an association at once; the peer is told, with up to 400 octets of `reason` (RFC 9260 §9.1).
    ///
    /// # Errors
    /// There is no such association.
    pub fn abort(
        &mut self,
        now: Instant,
        id: AssociationId,
        reason: &[u8],
    ) -> Result<(), UnknownAssociation> {
        let slot = self.slot(id)?;
        self.at(now, slot).abort(reason);
        self.refresh(slot);
        Ok(())
    }

    /// Makes a path the primary one: data goes there while it is active (RFC 9260 §6.4, §11.1.5). Paths and their
    /// addresses are in [`Association::statistics`].
    ///
    /// # Errors
    /// There is no such association or path, or the path's address is not confirmed.
    pub fn set_primary(
        &mut self,
        now: Instant,
        id: AssociationId,
        path: PathId,
    ) -> Result<(), SetPrimaryError> {
        let slot = self.slot(id)?;
        let result = self.at(now, slot).set_primary(now, path);
        self.refresh(slot);
        result
    }

    /// Tells the peer that this side can be reached at `address` too (RFC 5061 §4.2.1). It is sent from as soon as the peer
    /// has agreed, which [`Event::AddressChangeAnswered`] tells. The unspecified address stands for the one the request
    /// will seem to come from: for hosts behind a NAT.
    ///
    /// # Errors
    /// See [`AddressChangeError`].
    pub fn add_local_address(
        &mut self,
        now: Instant,
        id: AssociationId,
        address: IpAddr,
    ) -> Result<(), AddressChangeError> {
        self.change_address(now, id, AddressChange::Add(address))
    }

    /// Tells the peer that this side cannot be reached at `address` any more (RFC 5061 §4.2.2). Nothing is sent from it
    /// any more; what still comes to it counts until the peer has agreed. The unspecified address stands for all but the
    /// one the request will seem to come from.
    ///
    /// # Errors
    /// See [`AddressChangeError`].
    pub fn delete_local_address(
        &mut self,
        now: Instant,
        id: AssociationId,
        address: IpAddr,
    ) -> Result<(), AddressChangeError> {
        self.change_address(now, id, AddressChange::Delete(address))
    }

    /// Asks the peer to send to `address` of this side (RFC 5061 §4.2.4, SCTP_SET_PEER_PRIMARY_ADDR).
    ///
    /// # Errors
    /// See [`AddressChangeError`].
    pub fn request_peer_primary(
        &mut self,
        now: Instant,
        id: AssociationId,
        address: IpAddr,
    ) -> Result<(), AddressChangeError> {
        self.change_address(now, id, AddressChange::SetPrimary(address))
    }

    fn change_address(
        &mut self,
        now: Instant,
        id: AssociationId,
        change: AddressChange,
    ) -> Result<(), AddressChangeError> {
        let slot = self.slot(id)?;
        let result = self.at(now, slot).request_address_change(now, change);
        self.refresh(slot);
        result
    }

    /// This host has lost an address. What was sent from it goes again at once, from another of
    /// [`EndpointConfig::local_addresses`] or on another path. Peers keep the address in their lists.
    pub fn local_address_down(&mut self, now: Instant, address: IpAddr) {
        self.locals.retain(|local| *local != address);
        self.each_association(now, |association| association.local_address_down(now, address));
    }

    /// This host has an address, again or new. Paths that do not work are tried from there, where addresses change by ASCONF
    /// only if the peer knows this one ([`add_local_address`](Self::add_local_address)); new associations list it after those
    /// known before.
    pub fn local_address_up(&mut self, now: Instant, address: IpAddr) {
        if !self.locals.contains(&address) && self.locals.len() < MAX_PATHS {
            self.locals.push(address);
        }
        self.each_association(now, |association| association.local_address_up(now, address));
    }

    /// An association, to look at. It stays until its last event has been polled and all messages are read.
    #[must_use]
    pub fn association(&self, id: AssociationId) -> Option<&Association> {
        self.slot(id).ok().map(|slot| &*self.associations[slot].association)
    }

    /// Octets all associations hold of what was received and not read, bookkeeping included; at most
    /// [`EndpointConfig::receive_memory_bytes`].
    #[must_use]
    pub fn receive_memory_bytes(&self) -> usize {
        self.memory.held_bytes()
    }

    /// How many associations there are.
    #[must_use]
    pub fn association_count(&self) -> usize {
        self.associations.len()
    }

    fn each_association(&mut self, now: Instant, mut change: impl FnMut(&mut Association)) {
        let slots: Vec<usize> = self.associations.iter().map(|(slot, _)| slot).collect();
        for slot in slots {
            change(&mut self.at(now, slot));
            self.refresh(slot);
        }
    }

    /// An association, to be called: what it does meanwhile is told of as its doing.
    fn at(&mut self, now: Instant, slot: usize) -> Watched<'_> {
        let Entry { association, generation, .. } = &mut self.associations[slot];
        Watched::new(now, *generation, association)
    }

    fn slot(&self, id: AssociationId) -> Result<usize, UnknownAssociation> {
        let slot = id.slot as usize;
        let entry = self.associations.get(slot).ok_or(UnknownAssociation)?;
        if entry.generation == id.generation { Ok(slot) } else { Err(UnknownAssociation) }
    }

    fn insert(&mut self, now: Instant, association: Box<Association>) -> usize {
        self.generation = self.generation.wrapping_add(1);
        let generation = self.generation;
        let entry = Entry {
            association,
            generation,
            armed_at: None,
            received_bytes: 0,
            is_sendable: false,
            is_eventful: false,
            is_finished: false,
            cookie_made_at: None,
            network: None,
            revision: 0,
        };
        let slot = self.associations.insert(entry);
        self.at(now, slot).tell_of_beginning();
        self.enter(slot);
        self.refresh(slot);
        slot
    }

    /// Tells the tables where this association is found.
    fn enter(&mut self, slot: usize) {
        let entry = &mut self.associations[slot];
        entry.revision = entry.association.paths().revision();
        self.demux.insert(slot, &entry.association);
    }

    /// After a call into an association: put it into the queues where it belongs now.
    fn refresh(&mut self, slot: usize) {
        let Some(entry) = self.associations.get_mut(slot) else { return };
        let held = entry.association.receive_memory_bytes();
        if held != entry.received_bytes {
            self.memory.update(core::mem::replace(&mut entry.received_bytes, held), held);
        }
        if !core::mem::replace(&mut entry.is_sendable, true) {
            self.turns.sendable.push(Place { slot, generation: entry.generation });
        }
        if entry.association.has_event() && !core::mem::replace(&mut entry.is_eventful, true) {
            self.turns.eventful.push(Place { slot, generation: entry.generation });
        }
        if entry.association.is_closed() {
            let (tag, place) =
                (entry.association.peer().local_tag, Place { slot, generation: entry.generation });
            self.spend_cookies(slot, tag);
            self.leave_crowd(slot);
            if self.demux.remove(slot) == Removed::Now {
                self.turns.farewells.push(place);
            }
            self.note_if_finished(slot);
        } else if entry.revision != entry.association.paths().revision() {
            self.enter(slot);
        }
        self.rearm(slot);
    }

    /// A message was read and nothing came of it: what the association holds is all that has changed.
    fn note_read(&mut self, slot: usize) {
        let Some(entry) = self.associations.get_mut(slot) else { return };
        let held = entry.association.receive_memory_bytes();
        self.memory.update(core::mem::replace(&mut entry.received_bytes, held), held);
    }

    fn rearm(&mut self, slot: usize) {
        if let Some(due) = self.associations.get_mut(slot).and_then(Entry::closer_deadline) {
            self.arm(slot, due);
        }
    }

    /// The heap gets an entry only when a deadline moved closer; later ones are found when the old one comes up.
    fn arm(&mut self, slot: usize, due: Instant) {
        let place = Place { slot, generation: self.associations[slot].generation };
        self.deadlines.push(due, place, self.associations.len(), waits_in(&self.associations));
    }

    fn note_if_finished(&mut self, slot: usize) {
        if self.associations.get_mut(slot).is_some_and(Entry::finishes) {
            self.turns.finished.push(slot);
        }
    }

    /// Forgets associations that ended; not in the call that handed out their last event, so that it can still be
    /// looked at.
    #[inline]
    fn reap(&mut self) {
        if !self.turns.finished.is_empty() {
            self.forget_finished();
        }
    }

    #[cold]
    fn forget_finished(&mut self) {
        for slot in core::mem::take(&mut self.turns.finished) {
            let _since_it_closed = self.demux.remove(slot);
            let Some(entry) = self.associations.remove(slot) else { continue };
            self.memory.update(entry.received_bytes, 0);
            if entry.is_sendable {
                self.turns.sendable.forget(is_in(&self.associations));
            }
            if entry.is_eventful {
                self.turns.eventful.forget(is_in(&self.associations));
            }
            self.turns.farewells.forget(is_in(&self.associations));
            self.deadlines.prune(self.associations.len(), waits_in(&self.associations));
        }
    }
}

#[expect(clippy::cast_possible_truncation, reason = "slots are bounded by the association limit")]
fn id(slot: usize, generation: u32) -> AssociationId {
    AssociationId { slot: slot as u32, generation }
}

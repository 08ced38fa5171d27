//! The endpoint: one SCTP port, its associations, and everything that concerns none of them.
//!
//! | module | owns |
//! |---|---|
//! | `arrival` | packets, from their octets to the association |
//! | `calls` | what users ask of associations |
//! | `table` | the associations, and what is known of each |
//! | `demux`, `tags` | which association a packet belongs to |
//! | `incoming` | INIT and COOKIE ECHO, before and beside associations |
//! | `newcomers` | peers about whom the user has not decided yet |
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
mod calls;
pub(crate) mod cookie;
mod crowds;
mod deadlines;
mod demux;
mod incoming;
mod init_limiter;
mod keys;
mod memory;
mod newcomers;
mod ootb;
mod shared;
mod slots;
mod spent;
mod streams;
mod table;
mod tags;
#[cfg(test)]
mod tests;
mod turns;

#[cfg(fuzzing)]
pub use self::incoming::fuzz_cookie;
pub use self::newcomers::{Newcomer, NewcomerId, RefusalCause};
use std::collections::VecDeque;
use std::net::IpAddr;

use sctp_wire::{KnownHeader, SctpPort, Tsn};
use smallvec::SmallVec;
use virtual_time::Instant;

use self::cookie::CookieKeys;
use self::crowds::{Crowds, Sources};
use self::deadlines::{Deadlines, SlotKey};
use self::demux::Demux;
use self::incoming::StatelessReply;
use self::init_limiter::InitLimiter;
use self::memory::ReceiveMemory;
use self::newcomers::Newcomers;
use self::shared::SharedConfigs;
use self::slots::Slots;
use self::table::{Entry, id};
use self::turns::{Turns, is_in};
use crate::association::Watched;
use crate::config::{EndpointConfig, IncomingPolicy};
use crate::error::ConfigError;
use crate::event::Event;
use crate::rng::Rng;
use crate::stats::EndpointStatistics;
use crate::transmit::Transmit;

/// Names an association of an endpoint. Never reused while the endpoint lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AssociationId {
    slot: u32,
    generation: u32,
}

/// The number that events ([`trace`](crate::trace)) tell associations apart by.
impl core::fmt::Display for AssociationId {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        self.generation.fmt(f)
    }
}

/// The owner of keys that are changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyOwner {
    /// The association with this identifier.
    Association(AssociationId),
    /// The associations that peers will open.
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
    /// The header of the packet that came last.
    last_header: KnownHeader,
    answers: VecDeque<StatelessReply>,
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

impl Endpoint {
    /// Creates an endpoint without associations.
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
        let sources = Sources { inits, crowds: Crowds::default(), newcomers: Newcomers::default() };
        Ok(Self {
            // RFC 9260 §3.3.2.1.2: an IPv4 address is told as one, also if the user has it from an IPv6 socket.
            locals: config.local_addresses.iter().map(IpAddr::to_canonical).collect(),
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

    /// Returns the SCTP port of this endpoint.
    #[must_use]
    pub fn port(&self) -> SctpPort {
        self.config.port
    }

    /// Returns whether peers may open associations.
    #[must_use]
    pub fn incoming(&self) -> IncomingPolicy {
        self.config.incoming
    }

    /// Changes whether peers may open associations from now on. With [`IncomingPolicy::Refuse`] those that wait for a decision are
    /// refused, otherwise they go on waiting.
    ///
    /// # Errors
    /// The limits cannot work; then nothing is changed.
    pub fn set_incoming(&mut self, incoming: IncomingPolicy) -> Result<(), ConfigError> {
        incoming.validate()?;
        self.config.incoming = incoming;
        if incoming == IncomingPolicy::Refuse {
            self.refuse_newcomers();
        }
        Ok(())
    }

    /// Makes every association from now on begin at this TSN, and its ASCONF and RE-CONFIG serial numbers with it: for tests
    /// of what happens where they wrap around. Not for production: who can foretell a TSN can forge acknowledgments.
    #[doc(hidden)]
    pub fn start_at_tsn(&mut self, tsn: Tsn) {
        self.rng.set_initial_tsn(tsn);
    }

    /// Returns the counters of packets and discards.
    #[must_use]
    pub fn statistics(&self) -> &EndpointStatistics {
        &self.statistics
    }

    /// Takes note of the time that has passed.
    pub fn handle_timeout(&mut self, now: Instant) {
        self.reap();
        self.expire_newcomers(now);
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
            if self.associations[slot].association.poll_timeout().is_some_and(|due| due <= now) {
                self.with(now, slot, |association| association.handle_timeout(now));
            } else {
                // Its timers were stopped or moved meanwhile: nothing has happened to it.
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

    /// Writes up to `limit` packets at once, as [`poll_transmit`](Self::poll_transmit) writes one, which is
    /// less work for each: they stand in `buffer` one after the other, and `transmits` gets a description of
    /// each. Fewer than `limit`: there is nothing more to send.
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
            && let Some(SlotKey { slot, .. }) = self.turns.sendable.front(is_in(&self.associations))
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
            && let Some(SlotKey { slot, .. }) = self.turns.farewells.front(is_in(&self.associations))
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

    /// Returns whether [`poll_transmit`](Self::poll_transmit) may have a packet.
    #[inline]
    #[must_use]
    pub fn may_transmit(&self) -> bool {
        !self.answers.is_empty() || !self.turns.sendable.is_empty()
    }

    /// Returns when [`handle_timeout`](Self::handle_timeout) is to be called next.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Instant> {
        let newcomers = self.sources.newcomers.next_deadline();
        if newcomers.is_none() {
            self.deadlines.next()
        } else {
            newcomers.into_iter().chain(self.deadlines.next()).min()
        }
    }

    /// Returns the next thing a user should know.
    #[inline]
    pub fn poll_event(&mut self) -> Option<(AssociationId, Event)> {
        self.reap();
        if self.turns.eventful.is_empty() { None } else { self.next_event() }
    }

    fn next_event(&mut self) -> Option<(AssociationId, Event)> {
        while let Some(SlotKey { slot, .. }) = self.turns.eventful.front(is_in(&self.associations)) {
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
}

//! The endpoint: one SCTP port, its associations, and everything that concerns none of them.
//!
//! | module | owns |
//! |---|---|
//! | `arrival` | packets, from their octets to the association |
//! | `calls` | what users ask of associations |
//! | `table` | the associations, and what is known of each: who has something to do, and when |
//! | `demux`, `tags`, `peer_hash`, `slot_table` | which association a packet belongs to |
//! | `incoming` | INIT and COOKIE ECHO, before and beside associations |
//! | `newcomers` | peers about whom the user has not decided yet |
//! | `init_limiter` | how many INITs a source may send |
//! | `crowds` | how many associations a source network has |
//! | `presence` | when this host had which address |
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
mod peer_hash;
mod presence;
mod shared;
mod slot_table;
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

use sctp_wire::{KnownHeader, SctpPort, Tsn, VerificationTag};
use virtual_time::Instant;

use self::cookie::CookieKeys;
use self::crowds::{Crowds, Sources};
use self::incoming::StatelessReply;
use self::init_limiter::InitLimiter;
use self::memory::ReceiveMemory;
use self::newcomers::Newcomers;
use self::peer_hash::PeerHash;
use self::presence::Presence;
use self::shared::SharedConfigs;
use self::table::{AssociationTable, EntryStanding};
use crate::association::Association;
use crate::config::{EndpointConfig, IncomingPolicy};
use crate::error::ConfigError;
use crate::event::Event;
use crate::receiver::SpareBlocks;
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
    presence: Presence,
    rng: Rng,
    cookies: CookieKeys,
    sources: Sources,
    table: AssociationTable,
    /// The header of the packet that came last.
    last_header: KnownHeader,
    answers: VecDeque<StatelessReply>,
    statistics: EndpointStatistics,
}

/// Port, associations and counters; never keys.
impl core::fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Endpoint")
            .field("port", &self.config.port)
            .field("associations", &self.table.len())
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
        let spare_blocks = SpareBlocks::within(config.receive_memory_bytes);
        let memory = ReceiveMemory::new(config.receive_memory_bytes, config.association_limit);
        let mut rng = Rng::new(&entropy);
        let cookies = CookieKeys::new(rng.split(), config.cookie_life, config.cookie_extension);
        let inits = InitLimiter::new(&rng.octets(), config.host_init_rate, config.init_rate);
        let sources = Sources { inits, crowds: Crowds::default(), newcomers: Newcomers::default() };
        // RFC 9260 §3.3.2.1.2: an IPv4 address is told as one, also if the user has it from an IPv6 socket.
        let locals: Vec<IpAddr> = config.local_addresses.iter().map(IpAddr::to_canonical).collect();
        Ok(Self {
            presence: Presence::new(&locals),
            locals,
            shared: SharedConfigs::new(&config.association, spare_blocks),
            config,
            table: AssociationTable::new(memory, PeerHash::new(&mut rng.beside())),
            rng,
            cookies,
            sources,
            last_header: KnownHeader::default(),
            answers: VecDeque::new(),
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
        self.table.reap();
        self.expire_newcomers(now);
        for slot in self.table.take_due(now) {
            if self.table.get(slot).poll_timeout().is_some_and(|due| due <= now) {
                self.with(now, slot, |association| association.handle_timeout(now));
            } else {
                // Its timers were stopped or moved meanwhile: nothing has happened to it.
                self.table.rearm(slot);
            }
        }
    }

    /// Appends the next packet to `buffer` and says where it goes; `None` when there is nothing to send.
    #[inline]
    pub fn poll_transmit(&mut self, now: Instant, buffer: &mut Vec<u8>) -> Option<Transmit> {
        if !self.may_transmit() {
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
        self.table.write_farewells(now, &mut left, buffer, each);
        while left > 0
            && let Some(answer) = self.answers.pop_front()
        {
            buffer.extend_from_slice(&answer.packet);
            each(answer.transmit(&self.config.association));
            left -= 1;
        }
        self.table.write_packets(now, &mut left, buffer, each);
    }

    /// Returns whether [`poll_transmit`](Self::poll_transmit) may have a packet.
    #[inline]
    #[must_use]
    pub fn may_transmit(&self) -> bool {
        !self.answers.is_empty() || self.table.may_send()
    }

    /// Returns when [`handle_timeout`](Self::handle_timeout) is to be called next.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Instant> {
        let newcomers = self.sources.newcomers.next_deadline();
        if newcomers.is_none() {
            self.table.deadlines.next()
        } else {
            newcomers.into_iter().chain(self.table.deadlines.next()).min()
        }
    }

    /// Returns when [`handle_timeout`](Self::handle_timeout) has something to do at the earliest. It is never before
    /// [`poll_timeout`](Self::poll_timeout), which keeps the time of a timer that was stopped until that has come, so that a
    /// driver need not set its own timer anew with every packet. For drivers to whom a call for nothing costs more than that. Only
    /// the association whose time comes first is asked: of another one the time that is kept may still be that of a stopped timer.
    #[must_use]
    pub fn next_timeout(&self) -> Option<Instant> {
        match self.sources.newcomers.next_deadline() {
            None => self.table.next_deadline(),
            Some(newcomer) => Some(self.table.next_deadline().map_or(newcomer, |due| due.min(newcomer))),
        }
    }

    /// Passes over the times up to `until` that [`poll_timeout`](Self::poll_timeout) keeps of timers that were stopped or moved
    /// since, until one comes at which something is to be done. For drivers whose own timer is about to fire, and that would rather
    /// set it anew.
    pub fn skip_stopped_timers(&mut self, until: Instant) {
        self.table.skip_stopped(until);
    }

    /// Returns the next thing a user should know.
    #[inline]
    pub fn poll_event(&mut self) -> Option<(AssociationId, Event)> {
        self.table.reap();
        self.table.poll_event()
    }
}

/// Calls of associations.
impl Endpoint {
    /// Calls an association; what the endpoint knows of it stays true.
    #[inline]
    fn with<R>(&mut self, now: Instant, slot: usize, call: impl FnOnce(&mut Association) -> R) -> R {
        let (result, standing) = self.table.with(now, slot, call);
        self.note_standing(slot, standing);
        result
    }

    /// Looks at an association that was called otherwise.
    fn refresh(&mut self, slot: usize) {
        let standing = self.table.refresh(slot);
        self.note_standing(slot, standing);
    }

    #[inline]
    fn note_standing(&mut self, slot: usize, standing: EntryStanding) {
        if standing == EntryStanding::Over {
            self.on_end(slot);
        }
    }

    /// An association is over: its cookies make no other, and it counts for its network no more.
    #[cold]
    fn on_end(&mut self, slot: usize) {
        self.spend_cookies(slot, self.table.get(slot).peer().local_tag);
        self.leave_crowd(slot);
    }

    fn insert(&mut self, now: Instant, association: Box<Association>) -> usize {
        let slot = self.table.insert(now, association);
        self.refresh(slot);
        slot
    }

    fn each_association(&mut self, now: Instant, mut change: impl FnMut(&mut Association)) {
        let slots: Vec<usize> = self.table.associations.iter().map(|(slot, _)| slot).collect();
        for slot in slots {
            self.with(now, slot, &mut change);
        }
    }

    /// Returns a tag that no association of this endpoint uses, nor has used while its cookies may still come.
    fn unused_tag(&mut self) -> VerificationTag {
        loop {
            let tag = self.rng.verification_tag();
            let ours = self.config.tag_share.map_or(Some(tag), |share| share.adopt(tag));
            if let Some(tag) = ours
                && self.table.demux.by_tag(tag).is_none()
                && !self.cookies.is_spent(tag)
            {
                return tag;
            }
        }
    }
}

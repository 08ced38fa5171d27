//! Peers that ask for an association and wait for the user's decision ([`IncomingPolicy::Ask`](crate::IncomingPolicy::Ask)).
//!
//! A peer comes in here with a valid COOKIE ECHO and no sooner: it has shown that it receives where it sends from, and an
//! INIT still leaves nothing behind. What is kept is bounded in number, in octets and in time, and no network has more
//! than its share of the places ([`CrowdLimits`](crate::CrowdLimits)). Who finds none is not answered and comes again with
//! its T1-cookie timer, as if its packet had been lost.
//!
//! docs/decisions/0026-accepting-and-dialling.md

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::sync::Arc;

use sctp_wire::{Cause, Checksum, Chunk, ChunkBuf, Packet, SctpPort, TagOrigin};
use virtual_time::Instant;

use super::crowds::network_of;
use super::init_limiter::Network;
use super::{AssociationId, Endpoint};
use crate::association::{Authenticity, Commons, StateCookie};
use crate::capabilities::Capabilities;
use crate::config::{AskLimits, AssociationConfig, Streams};
use crate::error::{AcceptError, UnknownNewcomer};
use crate::transmit::{Datagram, Destination, Ecn};

/// Names a peer that waits for a decision. Never reused while the endpoint lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NewcomerId(u64);

/// A peer that asks for an association: where it is, and what its INIT said.
///
/// It is told once a valid COOKIE ECHO has come, so the source is where the peer really receives.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Newcomer {
    /// The name by which it is decided about.
    pub id: NewcomerId,
    /// The address that its COOKIE ECHO came from.
    pub source: Destination,
    /// The SCTP port of the peer.
    pub port: SctpPort,
    /// The addresses that its INIT named, the one it came from among them; none over a channel of the caller's. Only where
    /// it came from is known to be its own.
    pub addresses: Vec<IpAddr>,
    /// The streams that the association will have: the smaller of what the INIT asks for and what this endpoint allows.
    pub streams: Streams,
    /// The octets that it takes before it has read anything (a_rwnd).
    pub window_bytes: u32,
    /// The extensions that both sides offer.
    pub capabilities: Capabilities,
    /// The number that its upper layer gives to how it uses SCTP (RFC 5061 §4.2.6), if it does.
    pub adaptation: Option<u32>,
    /// The time until which it can be decided about. It moves on when the peer asks again.
    pub until: Instant,
}

/// The cause that a peer is told when it is turned away.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum RefusalCause<'a> {
    /// The peer gets ABORT without a cause.
    #[default]
    Unexplained,
    /// The peer is told "User-Initiated Abort", with up to 400 octets for the peer's user (RFC 9260 §3.3.10.12).
    Reason(&'a [u8]),
    /// The peer is told "Out of Resource": another time, or at another server, it might do (RFC 9260 §3.3.10.4).
    OutOfResource,
}

impl<'a> From<&'a [u8]> for RefusalCause<'a> {
    fn from(reason: &'a [u8]) -> Self {
        Self::Reason(reason)
    }
}

impl<'a> From<&'a str> for RefusalCause<'a> {
    fn from(reason: &'a str) -> Self {
        Self::Reason(reason.as_bytes())
    }
}

/// The peers that wait, and the tables by which they are found.
#[derive(Default)]
pub(super) struct Newcomers {
    waiting: BTreeMap<NewcomerId, Undecided>,
    /// A peer waits once: who begins anew has given up what it asked for before.
    by_peer: BTreeMap<(Destination, SctpPort), NewcomerId>,
    by_network: BTreeMap<Network, usize>,
    deadlines: BTreeSet<(Instant, NewcomerId)>,
    /// The peers that the user has not been told of.
    untold: BTreeSet<NewcomerId>,
    last: u64,
}

/// One of them, with everything that an association is made of.
struct Undecided {
    cookie: Box<StateCookie>,
    authenticity: Authenticity,
    source: Destination,
    local: Option<IpAddr>,
    /// The packet with the COOKIE ECHO, which may bring messages.
    packet: Vec<u8>,
    arrived_at: Instant,
    until: Instant,
}

impl Undecided {
    fn peer(&self) -> (Destination, SctpPort) {
        (self.cookie.source, self.cookie.peer_port)
    }

    /// Calls with the packet as it came.
    fn replay<R>(&self, call: impl FnOnce(&Datagram<'_>, &Packet<'_>) -> R) -> Option<R> {
        let payload = &self.packet[..];
        let datagram = Datagram { source: self.source, local: self.local, ecn: Ecn::NotEct, payload };
        // It was verified when it came, and may have been cut since.
        Packet::decode(payload, Checksum::Ignore).ok().map(|packet| call(&datagram, &packet))
    }
}

impl Newcomers {
    /// Returns when the next one has waited too long.
    #[inline]
    pub(super) fn next_deadline(&self) -> Option<Instant> {
        if self.waiting.is_empty() { None } else { self.deadlines.first().map(|(at, _)| *at) }
    }

    /// Returns whether there is one that the user has not been told of.
    #[inline]
    pub(super) fn has_untold(&self) -> bool {
        !self.untold.is_empty()
    }

    /// Returns whether there is a place for one more from this network.
    fn has_room(&self, network: Option<Network>, limit: usize, network_limit: usize) -> bool {
        let of_network = network.and_then(|network| self.by_network.get(&network)).copied();
        self.waiting.len() < limit && of_network.unwrap_or_default() < network_limit
    }

    fn insert(&mut self, undecided: Undecided) {
        self.last += 1;
        let id = NewcomerId(self.last);
        if let Some(network) = network_of(undecided.cookie.source) {
            *self.by_network.entry(network).or_default() += 1;
        }
        self.by_peer.insert(undecided.peer(), id);
        self.deadlines.insert((undecided.until, id));
        self.waiting.insert(id, undecided);
        self.untold.insert(id);
    }

    fn remove(&mut self, id: NewcomerId) -> Option<Undecided> {
        let undecided = self.waiting.remove(&id)?;
        self.by_peer.remove(&undecided.peer());
        self.deadlines.remove(&(undecided.until, id));
        self.untold.remove(&id);
        if let Some(network) = network_of(undecided.cookie.source)
            && let Some(count) = self.by_network.get_mut(&network)
        {
            *count -= 1;
            if *count == 0 {
                self.by_network.remove(&network);
            }
        }
        Some(undecided)
    }

    /// The peer has asked again with the cookie it had: its newest packet counts, and its time begins anew.
    fn renew(&mut self, id: NewcomerId, newer: Undecided) {
        if let Some(known) = self.waiting.get_mut(&id) {
            self.deadlines.remove(&(known.until, id));
            self.deadlines.insert((newer.until, id));
            *known = newer;
        }
    }

    /// Forgets those who have waited too long; returns how many.
    fn expire(&mut self, now: Instant) -> u64 {
        let mut expired = 0;
        while let Some(&(until, id)) = self.deadlines.first()
            && until <= now
        {
            self.remove(id);
            expired += 1;
        }
        expired
    }
}

impl Endpoint {
    /// Returns the next peer that asks for an association and waits for a decision, where
    /// [`IncomingPolicy::Ask`](crate::IncomingPolicy::Ask) is configured: [`accept_newcomer`](Self::accept_newcomer),
    /// [`refuse_newcomer`](Self::refuse_newcomer) or [`ignore_newcomer`](Self::ignore_newcomer). Each is told once.
    ///
    /// About whom nothing is decided in time is forgotten, as if the COOKIE ECHO had been lost: when it comes again the peer
    /// is told of anew. To be called where [`poll_event`](Self::poll_event) is.
    pub fn poll_newcomer(&mut self) -> Option<Newcomer> {
        let newcomers = &mut self.sources.newcomers;
        let id = newcomers.untold.pop_first()?;
        newcomers.waiting.get(&id).map(|undecided| {
            let StateCookie { agreed, notes, addresses, peer_port, peer_window, .. } = &*undecided.cookie;
            Newcomer {
                id,
                source: undecided.source,
                port: *peer_port,
                addresses: addresses.to_vec(),
                streams: Streams { outbound: agreed.outbound, inbound: agreed.inbound },
                window_bytes: *peer_window,
                capabilities: agreed.capabilities,
                adaptation: notes.adaptation,
                until: undecided.until,
            }
        })
    }

    /// Returns whether [`poll_newcomer`](Self::poll_newcomer) has somebody to tell of.
    #[inline]
    #[must_use]
    pub fn has_newcomer(&self) -> bool {
        self.sources.newcomers.has_untold()
    }

    /// Opens the association that a peer asks for, with these parameters or, for `None`, those of all that peers open
    /// ([`accepted`](Self::accepted)). What INIT ACK told the peer holds in any case: streams, extensions and addresses are
    /// agreed on already, and a receive buffer smaller than the endpoint's drops what the peer was allowed to send.
    ///
    /// The association is up when this returns, and [`Event::CommunicationUp`](crate::Event::CommunicationUp) tells so; messages
    /// that came with the COOKIE ECHO are ready.
    ///
    /// # Errors
    /// See [`AcceptError`]. After all but [`AcceptError::Config`] the peer is not waiting any more.
    pub fn accept_newcomer(
        &mut self,
        now: Instant,
        id: NewcomerId,
        config: Option<AssociationConfig>,
    ) -> Result<AssociationId, AcceptError> {
        let config = match config {
            Some(config) => self.shared.initiated(config)?,
            None => Arc::clone(self.shared.accepted()),
        };
        let undecided = self.take_newcomer(now, id)?;
        // Meanwhile there may be one, opened from here: then the next COOKIE ECHO is about that (RFC 9260 §5.2.4).
        if self.table.about_cookie(undecided.source, &undecided.cookie).is_some() {
            return Err(AcceptError::Gone);
        }
        let slot = undecided
            .replay(|datagram, packet| self.admit_after_a_while(now, datagram, packet, &undecided, config));
        let slot = slot.flatten().ok_or(AcceptError::TooMany { limit: self.config.association_limit })?;
        Ok(self.table.id(slot))
    }

    fn admit_after_a_while(
        &mut self,
        now: Instant,
        datagram: &Datagram<'_>,
        packet: &Packet<'_>,
        undecided: &Undecided,
        config: Arc<Commons>,
    ) -> Option<usize> {
        let mut cookie = (*undecided.cookie).clone();
        let locals = self.presence.since(cookie.issued_at);
        // The time of the decision is no part of the round trip that the age of the cookie tells.
        cookie.issued_at += now.since(undecided.arrived_at);
        let slot =
            self.admit(now, datagram, packet, (&mut cookie, undecided.authenticity), &locals, config)?;
        self.table.associations[slot].cookie_made_at = Some(undecided.cookie.issued_at);
        self.settle(now);
        Some(slot)
    }

    /// Turns a peer away: ABORT (RFC 9260 §5.1, §9.1). Its COOKIE ECHO makes no association any more.
    ///
    /// # Errors
    /// The peer does not wait any more.
    pub fn refuse_newcomer(
        &mut self,
        now: Instant,
        id: NewcomerId,
        refusal: RefusalCause<'_>,
    ) -> Result<(), UnknownNewcomer> {
        let undecided = self.take_newcomer(now, id)?;
        self.refuse(&undecided, refusal);
        Ok(())
    }

    /// Says nothing to a peer, now or when its COOKIE ECHO comes again: to it this side is as if it had gone. A new attempt
    /// of it, with an INIT, is told of as any.
    ///
    /// # Errors
    /// The peer does not wait any more.
    pub fn ignore_newcomer(&mut self, now: Instant, id: NewcomerId) -> Result<(), UnknownNewcomer> {
        let undecided = self.take_newcomer(now, id)?;
        self.cookies.ignore(undecided.cookie.local_tag, undecided.cookie.issued_at);
        Ok(())
    }

    /// Refuses all who wait: nobody will be accepted any more.
    pub(super) fn refuse_newcomers(&mut self) {
        while let Some(id) = self.sources.newcomers.waiting.keys().next().copied()
            && let Some(undecided) = self.sources.newcomers.remove(id)
        {
            self.refuse(&undecided, RefusalCause::Unexplained);
        }
    }

    fn refuse(&mut self, undecided: &Undecided, refusal: RefusalCause<'_>) {
        self.statistics.handshake.inits_refused += 1;
        let StateCookie { local_tag, peer_tag, issued_at, .. } = *undecided.cookie;
        self.cookies.spend(local_tag, issued_at);
        let chunk = match refusal {
            RefusalCause::Unexplained => ChunkBuf::abort(TagOrigin::Receiver, &[]),
            RefusalCause::OutOfResource => ChunkBuf::abort(TagOrigin::Receiver, &[Cause::OutOfResource]),
            RefusalCause::Reason(reason) => {
                let reason = &reason[..reason.len().min(MAX_REASON_BYTES)];
                ChunkBuf::abort(TagOrigin::Receiver, &[Cause::UserInitiatedAbort(reason)])
            }
        };
        if let Ok(chunk) = chunk {
            undecided.replay(|datagram, packet| self.answer(datagram, packet, peer_tag, &chunk));
        }
    }

    fn take_newcomer(&mut self, now: Instant, id: NewcomerId) -> Result<Undecided, UnknownNewcomer> {
        self.expire_newcomers(now);
        self.sources.newcomers.remove(id).ok_or(UnknownNewcomer)
    }

    pub(super) fn expire_newcomers(&mut self, now: Instant) {
        self.statistics.handshake.undecided += self.sources.newcomers.expire(now);
    }

    /// Keeps a peer whose cookie is right until the user has decided about it.
    pub(super) fn ask(
        &mut self,
        now: Instant,
        limits: AskLimits,
        datagram: &Datagram<'_>,
        packet: &Packet<'_>,
        (cookie, authenticity): (StateCookie, Authenticity),
    ) {
        self.expire_newcomers(now);
        let undecided = Undecided {
            cookie: Box::new(cookie),
            authenticity,
            source: datagram.source,
            local: datagram.local,
            packet: kept(datagram, packet).to_vec(),
            arrived_at: now,
            until: now + limits.patience,
        };
        let newcomers = &mut self.sources.newcomers;
        if let Some(&known) = newcomers.by_peer.get(&undecided.peer()) {
            let tag = newcomers.waiting.get(&known).map(|known| known.cookie.local_tag);
            if tag == Some(undecided.cookie.local_tag) {
                return newcomers.renew(known, undecided);
            }
            newcomers.remove(known);
        }
        let network_limit = self.config.crowds.of_network(limits.waiting);
        if !newcomers.has_room(network_of(undecided.cookie.source), limits.waiting, network_limit) {
            self.statistics.handshake.cookies_over_limit += 1;
            return;
        }
        newcomers.insert(undecided);
    }

    /// Looks whether a packet that belongs to no association is the ABORT of a peer that waits for a decision.
    pub(super) fn note_giving_up(&mut self, datagram: &Datagram<'_>, packet: &Packet<'_>) {
        let newcomers = &mut self.sources.newcomers;
        let Some(&id) = newcomers.by_peer.get(&(datagram.source, packet.source_port)) else { return };
        let tag = newcomers.waiting.get(&id).map(|undecided| undecided.cookie.local_tag);
        let is_abort = || packet.chunks().flatten().any(|chunk| matches!(chunk, Chunk::Abort(_)));
        if tag == Some(packet.verification_tag) && is_abort() {
            newcomers.remove(id);
        }
    }
}

/// Returns what is kept of a packet: all of it, or its first chunks up to the COOKIE ECHO where there is more than fits. What
/// is cut off was not acknowledged, and the peer sends it again.
fn kept<'a>(datagram: &Datagram<'a>, packet: &Packet<'_>) -> &'a [u8] {
    let octets = datagram.payload;
    if octets.len() <= MAX_PACKET_BYTES {
        return octets;
    }
    let mut chunks = packet.chunks();
    while let Some(Ok(chunk)) = chunks.next() {
        if matches!(chunk, Chunk::CookieEcho(_)) {
            break;
        }
    }
    &octets[..octets.len() - chunks.rest().len()]
}

/// Octets of a packet that are kept in any case: those of a path MTU of Ethernet.
const MAX_PACKET_BYTES: usize = 1500;
/// Octets of a reason that go into an ABORT, as for an association.
const MAX_REASON_BYTES: usize = 400;

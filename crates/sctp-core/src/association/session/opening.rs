//! The beginning: chunks of the handshake, and what they tell of the peer (RFC 9260 §5).

use core::time::Duration;
use std::net::IpAddr;

use sctp_wire::{Chunk, ChunkType, Full, InitHeader, Packet, PacketWriter, Parameter, ParameterTypes};
use virtual_time::Instant;

use super::Session;
use crate::association::collision::{CollisionAction, Provenance, Tags, TieTags, decide};
use crate::association::control::HandshakeChunk;
use crate::association::handshake::{CROSSING, InitReply, PeerNotes, add_addresses, add_wishes};
use crate::association::outbound::Outbound;
use crate::association::timers::Timer;
use crate::association::{AssociationState as S, StateCookie};
use crate::capabilities::{Capability, OfferedExtensions, ParameterList};
use crate::event::PathState;
use crate::path::address::{self, listed};
use crate::path::{Added, PathSet};
use crate::transmit::{Destination, Encapsulation, PathIndex};

/// What comes in.
impl Session {
    /// Tells whoever watches that the association is there.
    pub(crate) fn tell_of_beginning(&self) {
        self.state.begin();
    }

    /// Returns what an INIT means for this association.
    pub(crate) fn on_init(&self) -> InitReply {
        let (tag, initial_tsn) = (self.peer.local_tag, self.peer.local_initial_tsn);
        match self.state.name() {
            S::CookieWait => InitReply::Crossing { tag, initial_tsn, tie_tag: 0 },
            S::CookieEchoed => InitReply::Crossing { tag, initial_tsn, tie_tag: self.nonces.tie_tag() },
            S::ShutdownAckSent => InitReply::ShutdownAck,
            S::Established | S::ShutdownPending | S::ShutdownSent | S::ShutdownReceived | S::Closed => {
                InitReply::Restarting { tie_tag: self.nonces.tie_tag() }
            }
        }
    }

    /// Returns what a valid COOKIE ECHO leads to: the table of RFC 9260 §5.2.4 decides.
    pub(in crate::association) fn judge_cookie(
        &self,
        now: Instant,
        source: Destination,
        cookie: &StateCookie,
        paths: &PathSet,
    ) -> CollisionAction {
        let ties = match cookie.tie_tag {
            0 => TieTags::None,
            tie if tie == self.nonces.tie_tag() => TieTags::Match,
            _ => TieTags::Differ,
        };
        decide(Tags {
            ours: (self.peer.local_tag, self.peer.peer_tag),
            cookie: (cookie.local_tag, cookie.peer_tag),
            ties,
            provenance: self.provenance(now, source, cookie, paths),
        })
    }

    /// Returns whether a COOKIE ECHO and its cookie come from the peer.
    fn provenance(
        &self,
        now: Instant,
        source: Destination,
        cookie: &StateCookie,
        paths: &PathSet,
    ) -> Provenance {
        let is_peers = |end: Destination| paths.by_address(end.address).is_some();
        if !is_peers(source) || !is_peers(cookie.source) {
            return Provenance::Stranger;
        }
        let is_recent = now.since(cookie.issued_at) <= CROSSING;
        if self.is_setting_up() || is_recent { Provenance::Peer } else { Provenance::PeerLate }
    }

    /// Returns whether a packet from an address that is not the peer's may be its answer to our INIT. Channels
    /// have none (RFC 8261 §6.1).
    pub(crate) fn may_answer_init(&self, source: Destination, packet: &Packet<'_>, paths: &PathSet) -> bool {
        let asked = paths.path(self.control_path).destination;
        let is_channel = [source, asked].iter().any(|end| end.encapsulation == Encapsulation::Datagrams);
        let is_init_ack = || matches!(packet.chunks().next(), Some(Ok(Chunk::InitAck(_))));
        self.state.name() == S::CookieWait && !is_channel && is_init_ack()
    }

    /// Returns whether a packet from an address that is not the peer's answers our COOKIE ECHO, where addresses change by ASCONF
    /// and nothing has to show that it is authentic.
    pub(crate) fn may_answer_cookie(&self, packet: &Packet<'_>) -> bool {
        let is_cookie_ack = || matches!(packet.chunks().next(), Some(Ok(Chunk::CookieAck)));
        self.state.name() == S::CookieEchoed
            && self.has(Capability::DynamicAddresses)
            && is_cookie_ack()
            && !self.authentication.demands(ChunkType::COOKIE_ACK)
    }

    /// Returns whether a packet from an address that is not the peer's may be about becoming one.
    pub(crate) fn may_introduce_address(&self, packet: &Packet<'_>) -> bool {
        let has_asconf = || packet.chunks().flatten().any(|chunk| chunk.kind() == ChunkType::ASCONF);
        self.has(Capability::DynamicAddresses) && has_asconf()
    }

    /// Takes note of the peer's list of addresses, which it sent from `source`.
    pub(in crate::association) fn note_addresses(
        &mut self,
        source: Destination,
        listed: &[IpAddr],
        paths: &mut PathSet,
    ) {
        // RFC 8261 §6.1: over a channel no address means anything.
        if source.encapsulation == Encapsulation::Datagrams {
            return;
        }
        for &address in listed {
            if !self.peer.addresses.contains(&address) {
                self.peer.addresses.push(address);
            }
        }
        self.add_listed(source, listed, paths);
    }

    /// Takes note that an address is not the peer's any more; what was asked on its path is asked on another one from now on.
    pub(in crate::association) fn forget_address(
        &mut self,
        address: IpAddr,
        path: PathIndex,
        other: PathIndex,
    ) {
        self.peer.addresses.retain(|known| *known != address);
        if self.control_path == path {
            self.control_path = other;
        }
    }

    /// The addresses the peer listed (RFC 9260 §5.1.2 (C)): paths to verify, reached as the first one is.
    pub(in crate::association) fn add_listed(
        &mut self,
        source: Destination,
        listed: &[IpAddr],
        paths: &mut PathSet,
    ) {
        for &listed in listed {
            let destination = Destination { address: listed, ..source };
            let is_usable = address::is_usable(listed, source.address);
            let added = is_usable.then(|| paths.add(destination, PathState::Unconfirmed, &self.config));
            match added {
                Some(Added::New | Added::Known) => {}
                Some(Added::TooMany) | None => self.counters.note().addresses_ignored += 1,
            }
        }
    }

    /// A COOKIE ECHO from an address that the INIT did not name has shown that its sender got the INIT ACK (RFC 9260 §5.1.5): it
    /// is one more address to verify.
    pub(in crate::association) fn add_stray(&mut self, source: Destination, paths: &mut PathSet) {
        if paths.by_address(source.address).is_none() {
            self.peer.addresses.push(source.address);
            let _added = paths.add(source, PathState::Unconfirmed, &self.config);
        }
    }

    /// RFC 5061 §4.2.4, §4.2.6: the address the peer would like to be sent to becomes the primary path once it is confirmed.
    pub(in crate::association) fn note_wishes(
        &mut self,
        source: Destination,
        notes: PeerNotes,
        paths: &mut PathSet,
    ) {
        self.peer.adaptation = notes.adaptation;
        if !self.has(Capability::DynamicAddresses) {
            return;
        }
        let wish = notes.primary.map(|wish| if wish.is_unspecified() { source.address } else { wish });
        if let Some(path) = wish.and_then(|wish| paths.by_address(wish)) {
            paths.prefer(path);
        }
    }

    /// INIT ACK or COOKIE ACK: a round trip, unless the question was sent twice (RFC 9260 §6.3.1 (C5)).
    pub(in crate::association) fn measure_handshake(&mut self, now: Instant, paths: &mut PathSet) {
        if let Some(sent_at) = self.handshake_sent_at.take() {
            paths.on_measurement(self.control_path, now, now.since(sent_at));
        }
    }

    /// The age of a cookie is the round trip of INIT ACK and COOKIE ECHO, unless the COOKIE ECHO was repeated; that cannot
    /// be seen, but no peer repeats sooner than RTO.Min: an age beyond it does not count (RFC 9260 §6.3.1 (C5)).
    pub(in crate::association) fn measure_cookie(
        &self,
        now: Instant,
        cookie: &StateCookie,
        source: Destination,
        paths: &mut PathSet,
    ) {
        let age = now.since(cookie.issued_at);
        if source == cookie.source && age < self.config.rto.min {
            paths.on_measurement(PathIndex::FIRST, now, age);
        }
    }
}

/// What goes out.
impl Session {
    /// Sends INIT or COOKIE ECHO (again) and waits for the answer.
    pub(in crate::association) fn send_handshake_chunk(
        &mut self,
        now: Instant,
        timer: Timer,
        outbound: &mut Outbound,
    ) {
        let chunk = if timer == Timer::T1Init { HandshakeChunk::Init } else { HandshakeChunk::CookieEcho };
        let path = self.control_path;
        self.push_handshake(outbound.permitted(path), chunk, outbound);
        let rto = outbound.paths.path(path).rto.rto();
        outbound.timers.set(timer, now + rto);
        self.handshake_sent_at = Some(now);
    }

    /// Queues a chunk of the handshake, which takes the place of the last one.
    pub(in crate::association) fn push_handshake(
        &self,
        path: PathIndex,
        chunk: HandshakeChunk,
        outbound: &mut Outbound,
    ) {
        outbound.control.push_handshake(chunk, path, self.tag_of_peer());
    }

    /// Sends COOKIE ACK to where the COOKIE ECHO came from, to an unconfirmed address with a HEARTBEAT beside it (RFC 9260
    /// §5.4).
    pub(in crate::association) fn send_cookie_ack(
        &mut self,
        now: Instant,
        source: Destination,
        outbound: &mut Outbound,
    ) {
        let path = outbound.path_of(source);
        self.push_handshake(path, HandshakeChunk::CookieAck, outbound);
        outbound.verify_beside(now, path, self);
    }

    /// Returns the round trip that COOKIE ECHO and ERROR took, and as much again, but no more than a second
    /// (RFC 9260 §5.2.6 (3)).
    pub(in crate::association) fn cookie_increment_ms(&self, now: Instant, paths: &PathSet) -> u32 {
        let rto = paths.path(self.control_path).rto.rto();
        let round_trip = self.handshake_sent_at.map_or(rto, |sent_at| now.since(sent_at));
        let increment = round_trip + round_trip.min(Duration::from_secs(1));
        u32::try_from(increment.as_millis()).unwrap_or(u32::MAX)
    }

    /// Writes a chunk of the handshake, as long as the state is the one it belongs to.
    pub(in crate::association) fn write_handshake(
        &self,
        chunk: HandshakeChunk,
        paths: &PathSet,
        writer: &mut PacketWriter<'_>,
    ) -> Result<(), Full> {
        match chunk {
            HandshakeChunk::Init if self.state.name() == S::CookieWait => self.write_init(paths, writer),
            HandshakeChunk::Init => Err(Full),
            HandshakeChunk::CookieEcho => writer.cookie_echo(self.state.cookie().ok_or(Full)?),
            HandshakeChunk::CookieAck => writer.cookie_ack(),
        }
    }

    fn write_init(&self, paths: &PathSet, writer: &mut PacketWriter<'_>) -> Result<(), Full> {
        let config = &self.config;
        let header = InitHeader {
            initiate_tag: self.peer.local_tag,
            a_rwnd: u32::try_from(config.buffers.receive_bytes).unwrap_or(u32::MAX),
            outbound_streams: config.streams.outbound,
            inbound_streams: config.streams.inbound,
            initial_tsn: self.peer.local_initial_tsn,
        };
        let offered = OfferedExtensions::of(&config.extensions);
        let chunk_types = offered.chunk_types();
        let mut parameters = ParameterList::new();
        offered.add_to(&mut parameters, &chunk_types);
        if let Some(announcement) = self.announcement() {
            announcement.add_to(&mut parameters);
        }
        match paths.path(PathIndex::FIRST).destination.encapsulation {
            Encapsulation::Ip | Encapsulation::Udp { .. } => {
                parameters.push(Parameter::SupportedAddressTypes(ParameterTypes::IPV4_AND_IPV6));
                let peers = paths.iter().map(|path| path.destination.address);
                let listed = listed(paths.local_addresses(), None, peers);
                add_wishes(&mut parameters, config, offered.capabilities, &listed);
                add_addresses(&mut parameters, &listed);
            }
            // RFC 8261 §6.1: there are no addresses.
            Encapsulation::Datagrams => add_wishes(&mut parameters, config, offered.capabilities, &[]),
        }
        if let Some(increment_ms) = self.state.preservative_ms() {
            parameters.push(Parameter::CookiePreservative { increment_ms });
        }
        writer.init(&header, &parameters)
    }
}

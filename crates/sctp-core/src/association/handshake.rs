//! Setting up an association (RFC 9260 §5).
//!
//! The side that is asked keeps nothing: `endpoint::incoming` answers INIT with a signed cookie and builds the
//! association here when the cookie comes back.

mod reading;

use core::time::Duration;
use std::net::IpAddr;
use std::sync::Arc;

use sctp_wire::{
    AddressRequest, Cause, Chunk, ChunkBuf, CorrelationId, Full, Init, InitHeader, Packet, PacketWriter,
    Parameter, ParameterTypes, SctpPort, TagOrigin, Tsn, VerificationTag,
};
use virtual_time::Instant;

pub(crate) use self::reading::{PeerNotes, Reading};
use super::collision::{CollisionAction, Provenance, Tags, TieTags, decide};
use super::control::{Bundling, HandshakeChunk};
use super::{
    Announcement, Association, AssociationState as S, Authentication, Capabilities, Capability, ControlQueue,
    DynamicAddresses, Negotiated, OfferedExtensions, Outgoing, ParameterList, Peer, Reconfig, State, Timer,
    Timers,
};
use crate::config::{AnnouncedPrimary, AssociationConfig};
use crate::endpoint::cookie::StateCookie;
use crate::error::{AssociationError, ProtocolViolation, RemoteError};
use crate::event::{Event, EventQueue, Origin, PathState};
use crate::path::address::listed;
use crate::path::{Answer, PathSet};
use crate::receiver::{Receiver, ReceiverConfig};
use crate::rng::{Nonces, Rng};
use crate::sender::Sender;
use crate::stats::AssociationTally;
use crate::trace;
use crate::transmit::{Destination, Encapsulation, PathId};

/// How an existing association wants an INIT answered (RFC 9260 §5.2.1, §5.2.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum InitReply {
    /// INIT ACK with the tag and TSN of our own INIT: the two crossed.
    Crossing { tag: VerificationTag, initial_tsn: Tsn, tie_tag: u64 },
    /// INIT ACK with a new tag: the peer may have restarted. The cookie carries the tie-tag.
    Restarting { tie_tag: u64 },
    /// The peer missed our SHUTDOWN COMPLETE's cause: SHUTDOWN ACK again, no INIT ACK (RFC 9260 §9.2).
    ShutdownAck,
}

/// Returns a configuration as it holds for packets that travel like this.
fn over(mut config: Arc<AssociationConfig>, encapsulation: Encapsulation) -> Arc<AssociationConfig> {
    let extensions = config.extensions.over(encapsulation);
    if extensions != config.extensions {
        Arc::make_mut(&mut config).extensions = extensions;
    }
    config
}

impl Association {
    /// Opens an association: INIT goes out with the next packet (RFC 9260 §5.1 (A)).
    pub(crate) fn initiate(
        now: Instant,
        destinations: (Destination, &[Destination]),
        locals: &[IpAddr],
        ports: (SctpPort, SctpPort),
        config: Arc<AssociationConfig>,
        tag: VerificationTag,
        rng: &mut Rng,
    ) -> Box<Self> {
        let initial_tsn = rng.tsn();
        let (first, others) = destinations;
        let config = over(config, first.encapsulation);
        let mut paths = PathSet::new(first, locals, &config);
        for &destination in others {
            let _added = paths.add(destination, PathState::Active, &config);
        }
        let announcement = Announcement::ours(&config, rng.octets());
        let peer = Peer {
            origin: Origin::Initiated,
            local_port: ports.0,
            peer_port: ports.1,
            local_tag: tag,
            peer_tag: None,
            local_initial_tsn: initial_tsn,
            agreed: Negotiated::alone(config.streams),
            adaptation: None,
            addresses: paths.iter().map(|path| path.destination.address).collect(),
        };
        let sender = Sender::new(&config, initial_tsn);
        let state = State::cookie_wait();
        let authentication = Authentication::new(announcement);
        let halves = (sender, None);
        let mut association =
            Self::assemble(state, peer, halves, authentication, paths, config, rng.nonces());
        association.send_handshake_chunk(now, Timer::T1Init);
        association
    }

    /// Creates the association of a valid cookie that came back from `source` (RFC 9260 §5.1 (D)). Confirmed is
    /// the address the INIT ACK went to, and no other (RFC 9260 §5.4).
    pub(crate) fn accept(
        now: Instant,
        cookie: &StateCookie,
        source: Destination,
        locals: &[IpAddr],
        config: Arc<AssociationConfig>,
        nonces: Nonces,
    ) -> Box<Self> {
        let config = over(config, cookie.source.encapsulation);
        let peer = Peer {
            origin: Origin::Accepted,
            local_port: cookie.local_port,
            peer_port: cookie.peer_port,
            local_tag: cookie.local_tag,
            peer_tag: Some(cookie.peer_tag),
            local_initial_tsn: cookie.local_initial_tsn,
            agreed: cookie.agreed,
            adaptation: None,
            addresses: cookie.addresses.clone(),
        };
        let mut sender = Sender::new(&config, cookie.local_initial_tsn);
        sender.on_negotiated(cookie.agreed, cookie.peer_window);
        let receiver = Receiver::new(receiver_config(&config, cookie.agreed), cookie.peer_initial_tsn);
        let halves = (sender, Some(receiver));
        let authentication =
            Authentication::agreed(cookie.key_material.as_ref(), &config.authentication.keys);
        let paths = PathSet::new(cookie.source, locals, &config);
        let state = State::established();
        let mut association = Self::assemble(state, peer, halves, authentication, paths, config, nonces);
        association.note_ignored_addresses(cookie.notes);
        association.add_listed(cookie.source, &cookie.addresses);
        association.add_stray(source);
        association.reserve_for_authentication();
        association.agree_on_addresses(cookie.peer_initial_tsn);
        association.note_wishes(cookie.source, cookie.notes);
        association.measure_cookie(now, cookie, source);
        association.communication_up(now);
        association.send_cookie_ack(now, association.path_of(source));
        association
    }

    fn assemble(
        state: State,
        peer: Peer,
        (sender, receiver): (Sender, Option<Receiver>),
        authentication: Authentication,
        paths: PathSet,
        config: Arc<AssociationConfig>,
        nonces: Nonces,
    ) -> Box<Self> {
        // The initiator learns the peer's initial TSN later.
        let expected = receiver.as_ref().map_or(Tsn::new(0), |receiver| receiver.cumulative_tsn().next());
        Box::new(Self {
            reconfig: Reconfig::new(peer.local_initial_tsn, expected),
            state,
            peer,
            sender,
            receiver,
            paths,
            timers: Timers::default(),
            control: ControlQueue::default(),
            authentication,
            addresses: DynamicAddresses::default(),
            events: EventQueue::new(&config.buffers),
            nonces,
            counters: AssociationTally::default(),
            outgoing: Outgoing::new(&config),
            config,
        })
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

    /// Returns a valid COOKIE ECHO for this association: the table of RFC 9260 §5.2.4 decides.
    pub(crate) fn on_cookie_echo(
        &mut self,
        now: Instant,
        source: Destination,
        cookie: &StateCookie,
    ) -> CollisionAction {
        let ties = match cookie.tie_tag {
            0 => TieTags::None,
            tie if tie == self.nonces.tie_tag() => TieTags::Match,
            _ => TieTags::Differ,
        };
        let action = decide(Tags {
            ours: (self.peer.local_tag, self.peer.peer_tag),
            cookie: (cookie.local_tag, cookie.peer_tag),
            ties,
            provenance: self.provenance(now, source, cookie),
        });
        trace::cookie_collision(action);
        match action {
            CollisionAction::Restart => self.on_restart(now, source, cookie),
            CollisionAction::Initialise => self.on_crossing_cookie(now, source, cookie),
            CollisionAction::Duplicate => self.on_duplicate_cookie(now, source),
            CollisionAction::Late | CollisionAction::Discard => {
                self.counters.note().discarded.late_cookies += 1;
            }
        }
        action
    }

    /// Returns whether a COOKIE ECHO and its cookie come from the peer.
    fn provenance(&self, now: Instant, source: Destination, cookie: &StateCookie) -> Provenance {
        let is_peers = |end: Destination| self.paths.by_address(end.address).is_some();
        if !is_peers(source) || !is_peers(cookie.source) {
            return Provenance::Stranger;
        }
        let is_recent = now.since(cookie.issued_at) <= CROSSING;
        if self.is_setting_up() || is_recent { Provenance::Peer } else { Provenance::PeerLate }
    }

    pub(crate) fn tell_of_beginning(&self) {
        self.state.begin();
    }

    /// Action B: both sides sent INIT. The cookie holds what we could not know yet.
    fn on_crossing_cookie(&mut self, now: Instant, source: Destination, cookie: &StateCookie) {
        if !matches!(self.state.name(), S::CookieWait | S::CookieEchoed) {
            // Established by the same exchange already: only the peer's tag and what goes with it are newer.
            self.peer.peer_tag = Some(cookie.peer_tag);
            self.agree_on_keys(cookie.key_material.as_ref().map(|material| material.peer.clone()));
            return self.send_cookie_ack(now, self.path_of(source));
        }
        self.timers.stop(Timer::T1Init);
        self.timers.stop(Timer::T1Cookie);
        self.agree_on_keys(cookie.key_material.as_ref().map(|material| material.peer.clone()));
        self.negotiated(cookie.peer_tag, cookie.agreed, cookie.peer_window, cookie.peer_initial_tsn);
        self.state.enter_established();
        self.note_addresses(cookie.source, &cookie.addresses);
        self.note_wishes(cookie.source, cookie.notes);
        self.send_cookie_ack(now, self.path_of(source));
        self.communication_up(now);
    }

    /// Answers a COOKIE ECHO of an existing association (action D of RFC 9260 §5.2.4).
    fn on_duplicate_cookie(&mut self, now: Instant, source: Destination) {
        if self.state.name() == S::CookieEchoed {
            self.timers.stop(Timer::T1Cookie);
            self.state.enter_established();
            self.communication_up(now);
        }
        self.send_cookie_ack(now, self.path_of(source));
    }

    /// Returns the path to who wrote from there; the one for data if it is none of the peer's addresses.
    pub(super) fn path_of(&self, source: Destination) -> PathId {
        self.paths.by_address(source.address).unwrap_or_else(|| self.paths.for_data())
    }

    /// The peer's list, which it sent from `source`.
    fn note_addresses(&mut self, source: Destination, listed: &[IpAddr]) {
        // RFC 8261 §6.1: over a channel no address means anything.
        if source.encapsulation == Encapsulation::Datagrams {
            return;
        }
        for &address in listed {
            if !self.peer.addresses.contains(&address) {
                self.peer.addresses.push(address);
            }
        }
        self.add_listed(source, listed);
    }

    /// A COOKIE ECHO from an address that the INIT did not name has shown that its sender got the INIT ACK (RFC 9260 §5.1.5): it
    /// is one more address to verify.
    fn add_stray(&mut self, source: Destination) {
        if self.paths.by_address(source.address).is_none() {
            self.peer.addresses.push(source.address);
            let _added = self.paths.add(source, PathState::Unconfirmed, &self.config);
        }
    }

    fn note_ignored_addresses(&mut self, notes: PeerNotes) {
        if notes.addresses_ignored > 0 {
            self.counters.note().addresses_ignored += u64::from(notes.addresses_ignored);
        }
    }

    /// RFC 5061 §4.2.4, §4.2.6: the address the peer would like to be sent to becomes the primary path once it is confirmed.
    fn note_wishes(&mut self, source: Destination, notes: PeerNotes) {
        self.peer.adaptation = notes.adaptation;
        if !self.has(Capability::DynamicAddresses) {
            return;
        }
        let wish = notes.primary.map(|wish| if wish.is_unspecified() { source.address } else { wish });
        if let Some(path) = wish.and_then(|wish| self.paths.by_address(wish)) {
            self.paths.prefer(path);
        }
    }

    /// Returns whether a packet from an address that is not the peer's may be its answer to our INIT. Channels
    /// have none (RFC 8261 §6.1).
    pub(crate) fn may_answer_init(&self, source: Destination, packet: &Packet<'_>) -> bool {
        let asked = self.paths.path(self.outgoing.control_path).destination;
        let is_channel = [source, asked].iter().any(|end| end.encapsulation == Encapsulation::Datagrams);
        let is_init_ack = || matches!(packet.chunks().next(), Some(Ok(Chunk::InitAck(_))));
        self.state.name() == S::CookieWait && !is_channel && is_init_ack()
    }

    /// An INIT ACK with our tag from another address than the INIT went to: the tag is what counts (RFC 9260 §8.5.1). Its
    /// source is an address of the peer (§5.1.2 (A), (C)), to be verified; the COOKIE ECHO goes to where the user said that
    /// the peer is (§5.4).
    pub(crate) fn handle_init_ack_from(&mut self, now: Instant, source: Destination, packet: &Packet<'_>) {
        self.counters.packets_received += 1;
        match packet.chunks().next() {
            Some(Ok(Chunk::InitAck(init_ack))) => {
                self.take_init_ack(now, self.outgoing.control_path, source, &init_ack);
            }
            Some(Ok(_)) => {}
            Some(Err(_)) | None => self.counters.note().discarded.malformed += 1,
        }
        self.after_input(now);
    }

    pub(super) fn on_init_ack(&mut self, now: Instant, path: PathId, init_ack: &Init<'_>) {
        self.take_init_ack(now, path, self.paths.path(path).destination, init_ack);
    }

    /// RFC 9260 §5.1 (C), §5.2.3, §3.3.3.
    fn take_init_ack(&mut self, now: Instant, path: PathId, source: Destination, init_ack: &Init<'_>) {
        if self.state.name() != S::CookieWait {
            self.counters.note().discarded.unexpected_init_acks += 1;
            return;
        }
        let tag = init_ack.initiate_tag;
        // RFC 9260 §3.3.3: such a window is no window; the packet is refused and changes nothing, T1-init goes on.
        if init_ack.a_rwnd < MIN_WINDOW_BYTES && tag != VerificationTag::ZERO {
            self.counters.note().discarded.malformed += 1;
            let refusal = ChunkBuf::abort(TagOrigin::Receiver, &[Cause::InvalidMandatoryParameter]);
            return self.push_tagged(path, tag, refusal, Bundling::Alone);
        }
        if tag == VerificationTag::ZERO {
            // There is no tag to address the peer with: the packet's own is reflected.
            self.peer.peer_tag = Some(self.peer.local_tag);
            return self.abort_with(ProtocolViolation::ZeroInitiateTag, TagOrigin::Reflected);
        }
        self.peer.peer_tag = Some(tag);
        if init_ack.outbound_streams == 0 || init_ack.inbound_streams == 0 {
            return self.abort_for(ProtocolViolation::ZeroStreams);
        }
        let mut reading = Reading::of(init_ack, &self.config.extensions);
        if let Some(host_name) = &reading.host_name {
            return self
                .abort_with_cause(ProtocolViolation::HostNameAddress, Cause::UnresolvableAddress(host_name));
        }
        let announcement = match reading.announcement(&self.config) {
            Ok(announcement) => announcement,
            Err(violation) => return self.abort_for(violation),
        };
        let Some(cookie) = reading.cookie else { return self.abort_for(ProtocolViolation::MissingCookie) };
        // The way the INIT ACK came works: data begins there.
        let _is_confirmed = self.paths.set_primary(path);
        self.outgoing.control_path = self.paths.for_data();
        reading.add_source(source.address);
        self.note_ignored_addresses(reading.notes);
        self.note_addresses(source, &reading.addresses);
        let agreed = Negotiated::new(&self.config, init_ack, reading.offered);
        self.agree_on_keys(announcement);
        self.negotiated(tag, agreed, init_ack.a_rwnd, init_ack.initial_tsn);
        self.note_wishes(source, reading.notes);
        self.timers.stop(Timer::T1Init);
        self.measure_handshake(now);
        self.state.enter_cookie_echoed(cookie);
        self.send_handshake_chunk(now, Timer::T1Cookie);
        if !reading.reports.is_empty() {
            let reports = reading.all_reports();
            self.push_chunk(path, ChunkBuf::error(&[Cause::UnrecognizedParameters(&reports)]));
        }
    }

    pub(super) fn on_cookie_ack(&mut self, now: Instant, path: PathId) {
        if self.state.name() != S::CookieEchoed {
            return;
        }
        self.timers.stop(Timer::T1Cookie);
        self.measure_handshake(now);
        self.state.enter_established();
        self.answered(now, path, Answer::Acknowledged);
        self.communication_up(now);
    }

    /// RFC 9260 §5.2.6 (3): a new INIT that asks for a longer life, as often as an unanswered one may be sent again.
    pub(super) fn on_stale_cookie(&mut self, now: Instant, error: RemoteError) {
        let counters = self.counters.note();
        counters.stale_cookies += 1;
        self.timers.stop(Timer::T1Cookie);
        if counters.stale_cookies > u64::from(self.config.attempts.init) {
            return self.close(Some(AssociationError::Refused(error)));
        }
        // What went with the COOKIE ECHO was not taken; it goes with the next one.
        self.sender.on_timeout(now, self.outgoing.control_path);
        let increment_ms = self.cookie_increment_ms(now);
        self.state.enter_cookie_wait(increment_ms);
        self.peer.peer_tag = None;
        self.receiver = None;
        self.send_handshake_chunk(now, Timer::T1Init);
    }

    /// Returns the round trip that COOKIE ECHO and ERROR took, and as much again, but no more than a second
    /// (RFC 9260 §5.2.6 (3)).
    fn cookie_increment_ms(&self, now: Instant) -> u32 {
        let rto = self.paths.path(self.outgoing.control_path).rto.rto();
        let round_trip = self.outgoing.handshake_sent_at.map_or(rto, |sent_at| now.since(sent_at));
        let increment = round_trip + round_trip.min(Duration::from_secs(1));
        u32::try_from(increment.as_millis()).unwrap_or(u32::MAX)
    }

    /// Sends INIT or COOKIE ECHO (again) and waits for the answer.
    pub(super) fn send_handshake_chunk(&mut self, now: Instant, timer: Timer) {
        let chunk = if timer == Timer::T1Init { HandshakeChunk::Init } else { HandshakeChunk::CookieEcho };
        let path = self.outgoing.control_path;
        self.push_handshake(self.permitted(path), chunk);
        let rto = self.paths.path(path).rto.rto();
        self.timers.set(timer, now + rto);
        self.outgoing.handshake_sent_at = Some(now);
    }

    /// Writes a chunk of the handshake, as long as the state is the one it belongs to.
    pub(super) fn write_handshake(
        &self,
        chunk: HandshakeChunk,
        writer: &mut PacketWriter<'_>,
    ) -> Result<(), Full> {
        match chunk {
            HandshakeChunk::Init if self.state.name() == S::CookieWait => self.write_init(writer),
            HandshakeChunk::Init => Err(Full),
            HandshakeChunk::CookieEcho => writer.cookie_echo(self.state.cookie().ok_or(Full)?),
            HandshakeChunk::CookieAck => writer.cookie_ack(),
        }
    }

    fn write_init(&self, writer: &mut PacketWriter<'_>) -> Result<(), Full> {
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
        let mut parameters = offered.parameters(&chunk_types);
        if let Some(announcement) = self.authentication.ours() {
            announcement.add_to(&mut parameters);
        }
        match self.paths.path(PathId::FIRST).destination.encapsulation {
            Encapsulation::Ip | Encapsulation::Udp { .. } => {
                parameters.push(Parameter::SupportedAddressTypes(ParameterTypes::IPV4_AND_IPV6));
                let peers = self.paths.iter().map(|path| path.destination.address);
                let listed = listed(self.paths.local_addresses(), None, peers);
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

    /// INIT ACK or COOKIE ACK: a round trip, unless the question was sent twice (RFC 9260 §6.3.1 (C5)).
    fn measure_handshake(&mut self, now: Instant) {
        if let Some(sent_at) = self.outgoing.handshake_sent_at.take() {
            self.paths.on_measurement(self.outgoing.control_path, now, now.since(sent_at));
        }
    }

    /// The age of a cookie is the round trip of INIT ACK and COOKIE ECHO, unless the COOKIE ECHO was repeated; that cannot
    /// be seen, but no peer repeats sooner than RTO.Min: an age beyond it does not count (RFC 9260 §6.3.1 (C5)).
    fn measure_cookie(&mut self, now: Instant, cookie: &StateCookie, source: Destination) {
        let age = now.since(cookie.issued_at);
        if source == cookie.source && age < self.config.rto.min {
            self.paths.on_measurement(PathId::FIRST, now, age);
        }
    }

    fn negotiated(&mut self, tag: VerificationTag, agreed: Negotiated, window: u32, peer_initial_tsn: Tsn) {
        self.peer.peer_tag = Some(tag);
        self.peer.agreed = agreed;
        self.reconfig = Reconfig::new(self.peer.local_initial_tsn, peer_initial_tsn);
        self.receiver = Some(Receiver::new(receiver_config(&self.config, agreed), peer_initial_tsn));
        self.agree_on_addresses(peer_initial_tsn);
        let unknown = self.sender.on_negotiated(agreed, window);
        self.report_unsent(unknown, &AssociationError::StreamNotNegotiated);
    }

    fn agree_on_keys(&mut self, peer: Option<Announcement>) {
        self.authentication.agree(peer, &self.config.authentication.keys);
        self.reserve_for_authentication();
    }

    /// Fragments leave room for the AUTH chunk in front of them.
    fn reserve_for_authentication(&mut self) {
        let overhead_bytes = self.authentication.data_overhead_bytes(&self.config.authentication.keys);
        self.sender.reserve_in_packets(overhead_bytes);
    }

    fn communication_up(&mut self, now: Instant) {
        self.events.push(Event::CommunicationUp {
            outbound_streams: self.peer.agreed.outbound,
            inbound_streams: self.peer.agreed.inbound,
            origin: self.peer.origin,
        });
        self.begin_supervision(now);
        self.begin_autoclose(now);
        for path in self.paths.ids() {
            self.begin_mtu_search(now, path);
            if self.sender.has_outstanding(path) {
                let rto = self.paths.path(path).rto.rto();
                self.timers.start_if_stopped(Timer::T3Rtx(path), now + rto);
            }
        }
        if self.outgoing.shutdown_wanted {
            self.shutdown(now);
        }
    }
}

fn receiver_config(config: &AssociationConfig, agreed: Negotiated) -> ReceiverConfig {
    ReceiverConfig {
        buffer_bytes: config.buffers.receive_bytes,
        message_bytes: config.buffers.message_bytes,
        partial_delivery_point: config.buffers.partial_delivery_point_bytes,
        inbound_streams: agreed.inbound,
        sack_every_packets: config.sack.every_packets,
        capabilities: agreed.capabilities,
    }
}

/// Adds what the peer is told to know and to prefer (RFC 5061 §4.2.4, §4.2.6); `spoken` are the extensions that
/// it may know.
pub(crate) fn add_wishes(
    parameters: &mut ParameterList<'_>,
    config: &AssociationConfig,
    spoken: Capabilities,
    listed: &[IpAddr],
) {
    let is_wished = config.paths.announced_primary == AnnouncedPrimary::FirstAddress
        && spoken.has(Capability::DynamicAddresses);
    if let Some(&address) = listed.first().filter(|_| is_wished) {
        let correlation = CorrelationId::new(0);
        parameters.push(Parameter::SetPrimaryAddress(AddressRequest { correlation, address }));
    }
    if let Some(code) = config.extensions.adaptation_layer {
        parameters.push(Parameter::AdaptationLayerIndication(code));
    }
}

/// Adds the addresses of this side.
pub(crate) fn add_addresses(parameters: &mut ParameterList<'_>, listed: &[IpAddr]) {
    listed.iter().for_each(|address| parameters.push(address_parameter(*address)));
}

pub(crate) fn address_parameter<'a>(address: IpAddr) -> Parameter<'a> {
    match address {
        IpAddr::V4(v4) => Parameter::Ipv4Address(v4),
        IpAddr::V6(v6) => Parameter::Ipv6Address(v6),
    }
}

/// How long packets of two INITs that cross may be under way, the first retransmissions included (RFC 9260 §5.2.4, action
/// B): afterwards a cookie of an established association that tells another tag of the peer is not the peer's any more.
const CROSSING: Duration = Duration::from_secs(5);

/// The smallest a_rwnd of INIT and INIT ACK (RFC 9260 §3.3.2, §3.3.3).
pub(crate) const MIN_WINDOW_BYTES: u32 = 1500;

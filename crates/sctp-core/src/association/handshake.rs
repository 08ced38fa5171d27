//! Setting up an association (RFC 9260 §5).
//!
//! The side that is asked keeps nothing: `endpoint::incoming` answers INIT with a signed cookie and builds the
//! association here when the cookie comes back.

mod reading;

use core::time::Duration;
use std::net::IpAddr;
use std::sync::Arc;

use sctp_wire::{
    AddressRequest, Cause, Chunk, ChunkBuf, CorrelationId, Init, Packet, Parameter, SctpPort, TagOrigin, Tsn,
    VerificationTag,
};
use virtual_time::Instant;

pub(crate) use self::reading::{PeerNotes, Reading};
use super::collision::CollisionAction;
use super::commons::Commons;
use super::control::Bundling;
use super::{
    Announcement, Association, AssociationState as S, Authentication, Capabilities, Capability,
    DynamicAddresses, Inbound, LocalAddresses, Negotiated, Outbound, ParameterList, Peer, Reconfig, Session,
    State, StateCookie, Timer,
};
use crate::config::{AnnouncedPrimary, AssociationConfig};
use crate::error::{AssociationError, ProtocolViolation, RemoteError};
use crate::event::{Event, PathState};
use crate::path::{Answer, Path};
use crate::receiver::{Receiver, ReceiverConfig};
use crate::rng::{Nonces, Rng};
use crate::trace;
use crate::transmit::{Datagram, Destination, PathIndex};

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

impl Association {
    /// Opens an association: INIT goes out with the next packet (RFC 9260 §5.1 (A)).
    pub(crate) fn initiate(
        now: Instant,
        destinations: (Destination, &[Destination]),
        locals: &[IpAddr],
        ports: (SctpPort, SctpPort),
        config: Arc<Commons>,
        tag: VerificationTag,
        rng: &mut Rng,
    ) -> Box<Self> {
        let initial_tsn = rng.tsn();
        let (first, others) = destinations;
        let config = config.over(first.encapsulation);
        let authentication = Authentication::new(Announcement::ours(&config, rng.octets()));
        let peer = Peer::asked(ports, tag, initial_tsn, config.streams);
        let ends = (first, locals);
        let mut association =
            Self::assemble(State::cookie_wait(), peer, ends, None, authentication, config, rng.nonces());
        let (session, paths) = (&mut association.session, &mut association.outbound.paths);
        for &destination in others {
            let _added = paths.add(destination, PathState::Active, &session.config);
        }
        session.peer.addresses = paths.iter().map(|path| path.destination.address).collect();
        association.addresses.begin(LocalAddresses::list(locals));
        association.session.send_handshake_chunk(now, Timer::T1Init, &mut association.outbound);
        association
    }

    /// Creates the association of a valid cookie that came back from `source` (RFC 9260 §5.1 (D)). Confirmed is
    /// the address the INIT ACK went to, and no other (RFC 9260 §5.4). Of this host's addresses the peer knows those that the INIT
    /// ACK listed; those that are left of them are sent from.
    pub(crate) fn accept(
        now: Instant,
        cookie: &StateCookie,
        source: Destination,
        locals: &LocalAddresses,
        config: Arc<Commons>,
        nonces: Nonces,
    ) -> Box<Self> {
        let config = config.over(cookie.source.encapsulation);
        let peer = Peer::accepted(cookie);
        let receiver = Receiver::new(
            receiver_config(&config, cookie.agreed),
            cookie.peer_initial_tsn,
            &config.spare_blocks,
        );
        let authentication = Authentication::agreed(cookie.key_material.clone(), &config.authentication.keys);
        let (state, ends) = (State::established(), (cookie.source, &locals.told[..]));
        let mut association =
            Self::assemble(state, peer, ends, Some(receiver), authentication, config, nonces);
        association.outbound.sender.on_negotiated(cookie.agreed, cookie.peer_window);
        association.session.count_ignored_addresses(cookie.notes);
        let (session, paths) = (&mut association.session, &mut association.outbound.paths);
        session.add_listed(cookie.source, &cookie.addresses, paths);
        session.add_stray(source, paths);
        association.reserve_for_authentication();
        association.addresses.agree(
            cookie.peer_initial_tsn,
            &association.session,
            &mut association.outbound.paths,
        );
        let (session, paths) = (&mut association.session, &mut association.outbound.paths);
        for &lost in &locals.lost {
            let _unused_so_far = paths.on_local_deleted(lost);
        }
        session.note_wishes(cookie.source, cookie.notes, paths);
        session.measure_cookie(now, cookie, source, paths);
        association.communication_up(now);
        let (session, outbound) = (&mut association.session, &mut association.outbound);
        session.send_cookie_ack(now, source, outbound);
        association.addresses.catch_up(now, locals, session, outbound);
        association
    }

    /// Creates an association that sends to the first address of the peer from those of this host.
    fn assemble(
        state: State,
        peer: Peer,
        (first, locals): (Destination, &[IpAddr]),
        receiver: Option<Receiver>,
        authentication: Authentication,
        config: Arc<Commons>,
        nonces: Nonces,
    ) -> Box<Self> {
        // The initiator learns the peer's initial TSN later.
        let expected = receiver.as_ref().map_or(Tsn::new(0), |receiver| receiver.cumulative_tsn().next());
        Box::new(Self {
            reconfig: Reconfig::new(peer.local_initial_tsn, expected),
            outbound: Outbound::new(peer.local_initial_tsn, first, locals, &config),
            inbound: Inbound::new(receiver),
            addresses: DynamicAddresses::default(),
            session: Session::new(config, state, peer, authentication, nonces),
        })
    }

    /// Returns a valid COOKIE ECHO for this association: the table of RFC 9260 §5.2.4 decides.
    pub(crate) fn on_cookie_echo(
        &mut self,
        now: Instant,
        source: Destination,
        cookie: &StateCookie,
        locals: &LocalAddresses,
    ) -> CollisionAction {
        let action = self.session.judge_cookie(now, source, cookie, &self.outbound.paths);
        trace::cookie_collision(action.name());
        match action {
            CollisionAction::Restart => self.on_restart(now, source, cookie, locals),
            CollisionAction::Initialise => self.on_crossing_cookie(now, source, cookie, locals),
            CollisionAction::Duplicate => self.on_duplicate_cookie(now, source),
            CollisionAction::Late | CollisionAction::Discard => {
                self.session.counters.note().discarded.late_cookies += 1;
            }
        }
        action
    }

    /// Action B: both sides sent INIT. The cookie holds what we could not know yet, and the peer knows what our INIT ACK listed.
    fn on_crossing_cookie(
        &mut self,
        now: Instant,
        source: Destination,
        cookie: &StateCookie,
        locals: &LocalAddresses,
    ) {
        if !matches!(self.session.state.name(), S::CookieWait | S::CookieEchoed) {
            // Established by the same exchange already: only the peer's tag and what goes with it are newer.
            self.session.peer.peer_tag = Some(cookie.peer_tag);
            self.agree_on_keys(cookie.key_material.as_ref().map(|material| material.peer.clone()));
            return self.session.send_cookie_ack(now, source, &mut self.outbound);
        }
        self.outbound.timers.stop(Timer::T1Init);
        self.outbound.timers.stop(Timer::T1Cookie);
        if self.session.state.name() == S::CookieWait {
            self.keep_listed(now, self.outbound.path_of(cookie.source), &cookie.addresses, cookie.notes);
        }
        self.agree_on_keys(cookie.key_material.as_ref().map(|material| material.peer.clone()));
        self.addresses.begin(locals.clone());
        self.negotiated(cookie.peer_tag, cookie.agreed, cookie.peer_window, cookie.peer_initial_tsn);
        self.session.state.enter_established();
        self.session.note_addresses(cookie.source, &cookie.addresses, &mut self.outbound.paths);
        self.session.note_wishes(cookie.source, cookie.notes, &mut self.outbound.paths);
        self.session.send_cookie_ack(now, source, &mut self.outbound);
        self.communication_up(now);
    }

    /// Forgets what the user named of the peer's addresses and its list does not; one that was too long tells nothing.
    fn keep_listed(&mut self, now: Instant, used: PathIndex, listed: &[IpAddr], notes: PeerNotes) {
        if notes.addresses_ignored == 0 {
            let (session, inbound) = (&mut self.session, &mut self.inbound);
            self.outbound.keep_listed(now, used, listed, session, inbound);
        }
    }

    /// Answers a COOKIE ECHO of an existing association (action D of RFC 9260 §5.2.4).
    fn on_duplicate_cookie(&mut self, now: Instant, source: Destination) {
        if self.session.state.name() == S::CookieEchoed {
            self.outbound.timers.stop(Timer::T1Cookie);
            self.session.state.enter_established();
            self.communication_up(now);
        }
        self.session.send_cookie_ack(now, source, &mut self.outbound);
    }

    /// The answer to our INIT or COOKIE ECHO with our tag, from another address than the peer's: the tag is what counts (RFC 9260 §8.5.1).
    ///
    /// * The source of an INIT ACK is an address of the peer (§5.1.2 (A), (C)), to be verified; the COOKIE ECHO goes to where the user said
    ///   that the peer is (§5.4).
    /// * The sender of a COOKIE ACK may have lost the addresses that its INIT ACK listed, and tells of others by ASCONF, which counts when the
    ///   association is up. Nothing goes to where the COOKIE ACK came from.
    pub(crate) fn handle_answer_from(&mut self, now: Instant, datagram: &Datagram<'_>, packet: &Packet<'_>) {
        self.session.counters.packets_received += 1;
        match packet.chunks().next() {
            Some(Ok(Chunk::InitAck(init_ack))) => {
                let way = (datagram.source, datagram.local);
                self.take_init_ack(now, self.session.control_path, way, &init_ack);
            }
            Some(Ok(Chunk::CookieAck)) => self.on_cookie_ack(now, self.session.control_path),
            Some(Ok(_)) => {}
            Some(Err(_)) | None => self.session.counters.note().discarded.malformed += 1,
        }
        self.after_input(now);
    }

    pub(super) fn on_init_ack(&mut self, now: Instant, path: PathIndex, init_ack: &Init<'_>) {
        let Path { source, destination, .. } = self.outbound.paths.path(path);
        let local = source.way_of_answer().map_or(source.address(), |way| way.local);
        self.take_init_ack(now, path, (*destination, local), init_ack);
    }

    /// RFC 9260 §5.1 (C), §5.2.3, §3.3.3. It came from this address of the peer to that one of this host.
    fn take_init_ack(
        &mut self,
        now: Instant,
        path: PathIndex,
        (source, local): (Destination, Option<IpAddr>),
        init_ack: &Init<'_>,
    ) {
        if self.session.state.name() != S::CookieWait {
            self.session.counters.note().discarded.unexpected_init_acks += 1;
            return;
        }
        let tag = init_ack.initiate_tag;
        // RFC 9260 §3.3.3: such a window is no window; the packet is refused and changes nothing, T1-init goes on.
        if init_ack.a_rwnd < MIN_WINDOW_BYTES && tag != VerificationTag::ZERO {
            self.session.counters.note().discarded.malformed += 1;
            let refusal = ChunkBuf::abort(TagOrigin::Receiver, &[Cause::InvalidMandatoryParameter]);
            return self.outbound.queue((path, tag), Bundling::Alone, &mut self.session, refusal);
        }
        if tag == VerificationTag::ZERO {
            // There is no tag to address the peer with: the packet's own is reflected.
            self.session.peer.peer_tag = Some(self.session.peer.local_tag);
            return self.abort_with(ProtocolViolation::ZeroInitiateTag, TagOrigin::Reflected);
        }
        self.session.peer.peer_tag = Some(tag);
        if init_ack.outbound_streams == 0 || init_ack.inbound_streams == 0 {
            return self.abort_for(ProtocolViolation::ZeroStreams);
        }
        let mut reading = Reading::of(init_ack, &self.session.config.extensions);
        if let Some(host_name) = &reading.host_name {
            return self
                .abort_with_cause(ProtocolViolation::HostNameAddress, Cause::UnresolvableAddress(host_name));
        }
        let announcement = match reading.announcement(&self.session.config) {
            Ok(announcement) => announcement,
            Err(violation) => return self.abort_for(violation),
        };
        let Some(cookie) = reading.cookie else { return self.abort_for(ProtocolViolation::MissingCookie) };
        // The way the INIT ACK came works: data begins there.
        let _is_confirmed = self.outbound.paths.set_primary(path);
        self.session.control_path = self.outbound.paths.for_data();
        reading.add_source(source.address);
        self.keep_listed(now, path, &reading.addresses, reading.notes);
        self.session.count_ignored_addresses(reading.notes);
        self.session.note_addresses(source, &reading.addresses, &mut self.outbound.paths);
        let agreed = Negotiated::new(&self.session.config, init_ack, reading.offered);
        self.agree_on_keys(announcement);
        local.into_iter().for_each(|local| self.addresses.on_init_ack(local));
        self.negotiated(tag, agreed, init_ack.a_rwnd, init_ack.initial_tsn);
        self.session.note_wishes(source, reading.notes, &mut self.outbound.paths);
        self.outbound.timers.stop(Timer::T1Init);
        self.session.measure_handshake(now, &mut self.outbound.paths);
        self.session.state.enter_cookie_echoed(cookie);
        self.session.send_handshake_chunk(now, Timer::T1Cookie, &mut self.outbound);
        if !reading.reports.is_empty() {
            let reports = reading.all_reports();
            let error = ChunkBuf::error(&[Cause::UnrecognizedParameters(&reports)]);
            self.outbound.push(path, &mut self.session, error);
        }
    }

    pub(super) fn on_cookie_ack(&mut self, now: Instant, path: PathIndex) {
        if self.session.state.name() != S::CookieEchoed {
            return;
        }
        self.outbound.timers.stop(Timer::T1Cookie);
        self.session.measure_handshake(now, &mut self.outbound.paths);
        self.session.state.enter_established();
        self.outbound.answered(now, path, Answer::Acknowledged, &mut self.session);
        self.communication_up(now);
    }

    /// RFC 9260 §5.2.6 (3): a new INIT that asks for a longer life, as often as an unanswered one may be sent again.
    pub(super) fn on_stale_cookie(&mut self, now: Instant, error: RemoteError) {
        let counters = self.session.counters.note();
        counters.stale_cookies += 1;
        let times = counters.stale_cookies;
        self.outbound.timers.stop(Timer::T1Cookie);
        if times > u64::from(self.session.config.attempts.init) {
            return self.close(Some(AssociationError::Refused(error)));
        }
        // What went with the COOKIE ECHO was not taken; it goes with the next one.
        self.outbound.sender.lose_flight(now, self.session.control_path);
        let increment_ms = self.session.cookie_increment_ms(now, &self.outbound.paths);
        self.session.state.enter_cookie_wait(increment_ms);
        self.session.peer.peer_tag = None;
        self.inbound.receiver = None;
        self.addresses.begin_again();
        self.session.send_handshake_chunk(now, Timer::T1Init, &mut self.outbound);
    }

    /// RFC 9260 §5.1.6 with the limit of Max.Init.Retransmits. Each attempt goes to the next of the user's addresses.
    pub(super) fn on_t1(&mut self, now: Instant, timer: Timer) {
        match self.session.state.retry_handshake(self.session.config.attempts.init) {
            Ok(()) => {
                let path = self.session.control_path;
                self.outbound.paths.path_mut(path).back_off();
                self.session.counters.note().handshake_retransmissions += 1;
                self.outbound.sender.lose_flight(now, path);
                self.session.control_path = self.outbound.paths.next_confirmed(path);
                if timer == Timer::T1Init {
                    self.addresses.begin_again();
                }
                self.session.send_handshake_chunk(now, timer, &mut self.outbound);
                self.session.handshake_sent_at = None;
            }
            Err(attempts) => self.close(Some(AssociationError::HandshakeTimedOut { attempts })),
        }
    }

    fn negotiated(&mut self, tag: VerificationTag, agreed: Negotiated, window: u32, peer_initial_tsn: Tsn) {
        self.session.peer.peer_tag = Some(tag);
        self.session.peer.agreed = agreed;
        self.reconfig = Reconfig::new(self.session.peer.local_initial_tsn, peer_initial_tsn);
        let config = &self.session.config;
        self.inbound.receiver =
            Some(Receiver::new(receiver_config(config, agreed), peer_initial_tsn, &config.spare_blocks));
        self.addresses.agree(peer_initial_tsn, &self.session, &mut self.outbound.paths);
        let unknown = self.outbound.sender.on_negotiated(agreed, window);
        self.session.tell_unsent(unknown, &AssociationError::StreamNotNegotiated);
    }

    fn agree_on_keys(&mut self, peer: Option<Announcement>) {
        self.session.agree_on_keys(peer);
        self.reserve_for_authentication();
    }

    /// Fragments leave room for the AUTH chunk in front of them.
    fn reserve_for_authentication(&mut self) {
        self.outbound.sender.reserve_in_packets(self.session.signature_bytes());
    }

    fn communication_up(&mut self, now: Instant) {
        self.session.tell(Event::CommunicationUp {
            outbound_streams: self.session.peer.agreed.outbound,
            inbound_streams: self.session.peer.agreed.inbound,
            origin: self.session.peer.origin,
        });
        self.outbound.begin_supervision(now, &mut self.session);
        for path in self.outbound.paths.ids() {
            self.outbound.begin_mtu_search(now, path);
        }
        self.outbound.start_t3(now);
        self.addresses.catch_up_since_init(now, &mut self.session, &mut self.outbound);
        if self.session.shutdown_wanted {
            self.shutdown(now);
        }
    }
}

fn receiver_config(config: &AssociationConfig, agreed: Negotiated) -> ReceiverConfig {
    ReceiverConfig {
        buffer_bytes: config.buffers.receive_bytes,
        grown_bytes: config.buffers.may_grow_to(),
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
pub(super) const CROSSING: Duration = Duration::from_secs(5);

/// The smallest a_rwnd of INIT and INIT ACK (RFC 9260 §3.3.2, §3.3.3).
pub(crate) const MIN_WINDOW_BYTES: u32 = 1500;

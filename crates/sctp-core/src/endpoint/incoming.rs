//! INIT and COOKIE ECHO: what happens before an association exists, and beside one that does.

use std::net::IpAddr;
use std::sync::Arc;

use sctp_wire::{
    Auth, COMMON_HEADER_BYTES, Cause, ChunkBuf, ChunkType, Full, Init, InitHeader, Packet, PacketWriter,
    Parameter, Parameters, TagOrigin, Tsn, VerificationTag, encode_parameters,
};
use smallvec::SmallVec;
use virtual_time::Instant;

use super::Endpoint;
use super::cookie::CookieRefused;
use super::crowds::network_of;
use super::ootb::is_nobodys;
use crate::association::StateCookie;
use crate::association::collision::CollisionAction;
use crate::association::{
    Announcement, Association, AuthVerdict, Authentication, Authenticity, Commons, InitReply, KeyMaterial,
    LocalAddresses, Reading, add_addresses, add_wishes, address_parameter,
};
use crate::capabilities::{Negotiated, OfferedExtensions, ParameterList};
use crate::config::{AssociationConfig, IncomingPolicy};
use crate::path::address::listed;
use crate::transmit::{Datagram, Destination, Encapsulation, Fragmentation, PathId, Transmit};

/// A packet that belongs to no association.
#[derive(Debug)]
pub(super) struct StatelessReply {
    pub(super) destination: Destination,
    pub(super) source: Option<IpAddr>,
    pub(super) packet: Vec<u8>,
}

impl StatelessReply {
    /// Returns where it goes.
    pub(super) fn transmit(&self, config: &AssociationConfig) -> Transmit {
        Transmit {
            path: PathId::FIRST,
            source: self.source,
            destination: self.destination,
            len: self.packet.len(),
            fragmentation: Fragmentation::Allowed,
            dscp: config.transmission.dscp,
            segment_bytes: None,
        }
    }
}

/// Tags and numbers for an INIT ACK.
struct Identity {
    tag: VerificationTag,
    initial_tsn: Tsn,
    tie_tag: u64,
    /// The announcements of both for authentication, if both do it.
    key_material: Option<KeyMaterial>,
}

impl Endpoint {
    /// RFC 9260 §5.1 (B), §5.2.1, §5.2.2. Keeps nothing.
    pub(super) fn on_init(
        &mut self,
        now: Instant,
        datagram: &Datagram<'_>,
        packet: &Packet<'_>,
        init: &Init<'_>,
    ) {
        if !self.may_answer_init(now, datagram, packet, init) {
            return;
        }
        if init.a_rwnd < 1500 || init.outbound_streams == 0 || init.inbound_streams == 0 {
            return self.refuse_init(datagram, packet, init, &[Cause::InvalidMandatoryParameter]);
        }
        let (existing, mut reading) = self.read_init(datagram, packet, init);
        if existing.is_none() && self.config.incoming == IncomingPolicy::Refuse {
            return self.refuse_init(datagram, packet, init, &[]);
        }
        if let Some(host_name) = &reading.host_name {
            return self.refuse_init(datagram, packet, init, &[Cause::UnresolvableAddress(host_name)]);
        }
        let announced = match reading.announcement(self.config_for(existing)) {
            Ok(announced) => announced,
            Err(violation) => {
                let text = violation.to_string();
                return self.refuse_init(
                    datagram,
                    packet,
                    init,
                    &[Cause::ProtocolViolation(text.as_bytes())],
                );
            }
        };
        reading.add_source(datagram.source.address);
        let reply = existing.map(|slot| self.table.get(slot).session().on_init());
        let new_addresses = existing.map_or_else(Vec::new, |slot| self.new_addresses(slot, &reading));
        // Before INIT ACK the peer's addresses are not known yet: none can be new (§5.2.1). Nor does a peer restart with the
        // tag it has: such an INIT is an old one, from before the peer changed its addresses (RFC 5061 §4.2.2).
        let knows_addresses = match reply {
            None | Some(InitReply::ShutdownAck | InitReply::Crossing { tie_tag: 0, .. }) => false,
            Some(InitReply::Crossing { .. } | InitReply::Restarting { .. }) => {
                existing.is_some_and(|slot| !self.table.has_peer_tag(slot, init.initiate_tag))
            }
        };
        if knows_addresses && !new_addresses.is_empty() {
            let cause = Cause::RestartWithNewAddresses(Parameters::new(&new_addresses));
            return self.refuse_init(datagram, packet, init, &[cause]);
        }
        let identity = match reply {
            None => self.new_identity(existing, 0, announced),
            Some(InitReply::Crossing { tag, initial_tsn, tie_tag }) => {
                if let Some(entry) = existing.and_then(|slot| self.table.associations.get_mut(slot)) {
                    entry.cookie_made_at = Some(now);
                }
                let ours = existing.and_then(|slot| self.table.get(slot).session().announcement());
                let key_material = KeyMaterial::of(ours.cloned(), announced);
                Identity { tag, initial_tsn, tie_tag, key_material }
            }
            Some(InitReply::Restarting { tie_tag }) => self.new_identity(existing, tie_tag, announced),
            Some(InitReply::ShutdownAck) => return self.repeat_shutdown_ack(now, existing),
        };
        self.send_init_ack(now, datagram, packet, init, (existing, identity), &reading);
    }

    /// Returns whether an INIT is answered at all, be it with a refusal.
    pub(super) fn may_answer_init(
        &mut self,
        now: Instant,
        datagram: &Datagram<'_>,
        packet: &Packet<'_>,
        init: &Init<'_>,
    ) -> bool {
        // INIT travels alone and with tag zero (§6.10, §8.5.1 (A)); a zero initiate tag cannot even be refused.
        let mut behind = packet.chunks();
        behind.skip_next();
        let alone = behind.rest().is_empty();
        let has_tags =
            packet.verification_tag == VerificationTag::ZERO && init.initiate_tag != VerificationTag::ZERO;
        if !alone || !has_tags || is_nobodys(datagram.source) {
            self.statistics.handshake.inits_refused += 1;
            return false;
        }
        // Who can write into a channel has shown who it is to the layer below.
        let is_channel = datagram.source.encapsulation == Encapsulation::Datagrams;
        let is_admitted = is_channel || self.sources.inits.admits(now, datagram.source.address);
        self.statistics.handshake.inits_over_rate += u64::from(!is_admitted);
        is_admitted
    }

    /// Returns what an INIT says to the association that there is, if there is one, and which that is.
    fn read_init<'a>(
        &self,
        datagram: &Datagram<'_>,
        packet: &Packet<'_>,
        init: &Init<'a>,
    ) -> (Option<usize>, Reading<'a>) {
        let carrier = datagram.source.encapsulation;
        let read = |existing| {
            let extensions = self.config_for(existing).extensions.over(carrier);
            let mut reading = Reading::of(init, &extensions);
            // RFC 8261 §6.1: over a channel no address means anything.
            if carrier == Encapsulation::Datagrams {
                reading.addresses.clear();
            }
            reading
        };
        let reading = read(None);
        match self.table.about(datagram.source, &reading.addresses, packet.source_port) {
            Some(slot) => (Some(slot), read(Some(slot))),
            None => (None, reading),
        }
    }

    fn new_identity(
        &mut self,
        existing: Option<usize>,
        tie_tag: u64,
        announced: Option<Announcement>,
    ) -> Identity {
        let (tag, initial_tsn) = (self.unused_tag(), self.rng.tsn());
        let random = announced.as_ref().map(|_| self.rng.octets());
        let ours = random.and_then(|random| Announcement::ours(self.config_for(existing), random));
        Identity { tag, initial_tsn, tie_tag, key_material: KeyMaterial::of(ours, announced) }
    }

    /// Returns an association that exists answers with the configuration it was opened with.
    fn config_for(&self, existing: Option<usize>) -> &Commons {
        match existing {
            Some(slot) => self.table.get(slot).session().commons(),
            None => self.shared.accepted(),
        }
    }

    fn repeat_shutdown_ack(&mut self, now: Instant, slot: Option<usize>) {
        if let Some(slot) = slot {
            self.with(now, slot, |association| association.repeat_shutdown_ack(now));
        }
    }

    /// Returns the addresses of an INIT that the existing association does not have, encoded for cause 11.
    fn new_addresses(&self, slot: usize, reading: &Reading<'_>) -> Vec<u8> {
        let known = &self.table.get(slot).peer().addresses;
        let new = reading.addresses.iter().copied().filter(|address| !known.contains(address));
        let new: SmallVec<[Parameter<'_>; 4]> = new.map(address_parameter).collect();
        if new.is_empty() { Vec::new() } else { encode_parameters(&new).unwrap_or_default() }
    }

    fn send_init_ack(
        &mut self,
        now: Instant,
        datagram: &Datagram<'_>,
        packet: &Packet<'_>,
        init: &Init<'_>,
        (existing, identity): (Option<usize>, Identity),
        reading: &Reading<'_>,
    ) {
        let config = self.config_for(existing);
        let agreed = Negotiated::new(config, init, reading.offered);
        let offered = OfferedExtensions::of(&config.extensions.over(datagram.source.encapsulation));
        // What the peer does not do is not mentioned: it might take offence (RFC 5061 §6).
        let has_keys = identity.key_material.is_some();
        let offered = if has_keys { offered } else { offered.without_authentication() };
        let header = InitHeader {
            initiate_tag: identity.tag,
            a_rwnd: u32::try_from(config.buffers.receive_bytes).unwrap_or(u32::MAX),
            // RFC 9260 §3.3.3: not more than the INIT allows.
            outbound_streams: agreed.outbound,
            inbound_streams: config.streams.inbound,
            initial_tsn: identity.initial_tsn,
        };
        let cookie = StateCookie {
            expires_at: self.cookies.expiry(now, reading.cookie_increment),
            issued_at: now,
            local_port: self.config.port,
            peer_port: packet.source_port,
            local_tag: identity.tag,
            peer_tag: init.initiate_tag,
            tie_tag: identity.tie_tag,
            local_initial_tsn: identity.initial_tsn,
            peer_initial_tsn: init.initial_tsn,
            peer_window: init.a_rwnd,
            agreed,
            key_material: identity.key_material,
            source: datagram.source,
            addresses: reading.addresses.iter().copied().collect(),
            notes: reading.notes,
        };
        let listed = listed(&self.locals, datagram.local, core::iter::once(datagram.source.address));
        let signed = self.cookies.sign(now, &cookie);
        let chunk_types = offered.chunk_types();
        let mut parameters = ParameterList::new();
        parameters.push(Parameter::StateCookie(&signed));
        offered.add_to(&mut parameters, &chunk_types);
        if let Some(material) = &cookie.key_material {
            material.ours.add_to(&mut parameters);
        }
        add_addresses(&mut parameters, &listed);
        add_wishes(&mut parameters, self.config_for(existing), agreed.capabilities, &listed);
        // One report a parameter (RFC 9260 §3.3.3.1.2).
        parameters.extend(reading.reports.iter().map(|report| Parameter::UnrecognizedParameter(report)));
        self.statistics.handshake.init_acks_sent += 1;
        let capacity = INIT_ACK_BYTES + signed.len();
        self.answer_with(datagram, packet, init.initiate_tag, capacity, |writer| {
            writer.init_ack(&header, &parameters)
        });
    }

    /// ABORT with the INIT's own tag, T bit clear (RFC 9260 §8.4 (3)). Not where that is the tag of a peer who has an
    /// association here: an old INIT of it would end what it has led to.
    pub(super) fn refuse_init(
        &mut self,
        datagram: &Datagram<'_>,
        packet: &Packet<'_>,
        init: &Init<'_>,
        causes: &[Cause<'_>],
    ) {
        self.statistics.handshake.inits_refused += 1;
        let listed = Reading::of(init, &self.config.association.extensions).addresses;
        let from = (datagram.source, &listed[..]);
        if self.table.with_live_tag(from, packet.source_port, init.initiate_tag).is_some() {
            return;
        }
        if let Ok(chunk) = ChunkBuf::abort(TagOrigin::Receiver, causes) {
            self.answer(datagram, packet, init.initiate_tag, &chunk);
        }
    }

    /// Takes in a COOKIE ECHO (RFC 9260 §5.1.5, §5.2.4).
    pub(super) fn on_cookie_echo(
        &mut self,
        now: Instant,
        datagram: &Datagram<'_>,
        packet: &Packet<'_>,
        cookie: &[u8],
        auth: Option<&Auth<'_>>,
    ) {
        let ports = (packet.destination_port, packet.source_port);
        let cookie = match self.cookies.verify(now, cookie, self.shared.accepted().announced()) {
            Ok(cookie) => cookie,
            Err(CookieRefused::Spent) => {
                self.statistics.handshake.spent_cookies += 1;
                return self.on_out_of_the_blue(datagram, packet);
            }
            Err(CookieRefused::Ignored) => {
                self.statistics.handshake.ignored_cookies += 1;
                return;
            }
            Err(CookieRefused::Length | CookieRefused::Signature | CookieRefused::Malformed) => {
                self.statistics.handshake.bad_cookies += 1;
                return;
            }
        };
        let is_of_packet = (cookie.local_port, cookie.peer_port) == ports
            && cookie.local_tag == packet.verification_tag
            && may_come_from(&cookie, datagram.source);
        if !is_of_packet {
            self.statistics.handshake.bad_cookies += 1;
            return;
        }
        // A COOKIE ECHO may come again from another address than the first time: then the tag knows (§5.2.4 (D)).
        let existing = self.table.about_cookie(datagram.source, &cookie);
        if self.is_stale(&cookie, existing) {
            return self.report_stale_cookie(now, datagram, packet, &cookie);
        }
        let Some(authenticity) = self.authenticate_cookie(&cookie, existing, auth) else {
            self.statistics.handshake.unauthenticated_cookies += 1;
            return;
        };
        match existing {
            Some(slot) => self.on_cookie_for_existing(now, slot, datagram, packet, (&cookie, authenticity)),
            None => self.consider(now, datagram, packet, (cookie, authenticity)),
        }
    }

    /// Authenticates a COOKIE ECHO with what the cookie itself holds; with the keys of the association there is
    /// when it is to replace that one (RFC 4895 §6.3). `None` if it does not count.
    fn authenticate_cookie(
        &mut self,
        cookie: &StateCookie,
        existing: Option<usize>,
        auth: Option<&Auth<'_>>,
    ) -> Option<Authenticity> {
        let restarts = |slot: &usize| self.table.get(*slot).peer().local_tag != cookie.local_tag;
        let replaced = existing.filter(restarts);
        let Some(auth) = auth else {
            let old = replaced.map(|slot| self.table.get(slot).session());
            let is_demanded = match old {
                Some(old) => old.authentication.demands(ChunkType::COOKIE_ECHO),
                None => cookie.key_material.as_ref().is_some_and(|material| {
                    material.ours.accepted_authenticated_only().contains(ChunkType::COOKIE_ECHO)
                }),
            };
            return (!is_demanded).then_some(Authenticity::NotShown);
        };
        let keys = &self.config_for(existing).authentication.keys;
        let mut by_cookie = Authentication::agreed(cookie.key_material.clone(), keys);
        let old = replaced.map(|slot| self.table.associations[slot].association.session_mut());
        let verdict = match old.filter(|old| old.is_authenticated()) {
            Some(old) => old.verify(auth),
            None => by_cookie.verify(&self.config_for(existing).authentication.keys, auth),
        };
        match verdict {
            AuthVerdict::Authentic | AuthVerdict::AuthenticByNewKey(_) if replaced.is_some() => {
                Some(Authenticity::ShownBefore)
            }
            // The association will verify it again, as the first of its AUTH chunks.
            AuthVerdict::Authentic | AuthVerdict::AuthenticByNewKey(_) => Some(Authenticity::NotShown),
            AuthVerdict::UnsupportedHmac(_) | AuthVerdict::UnknownKey | AuthVerdict::WrongHmac => None,
        }
    }

    /// Returns whether a cookie is stale, which it never is while it matches the association both tags of which
    /// it names (RFC 9260 §5.2.4, point 3).
    fn is_stale(&self, cookie: &StateCookie, existing: Option<usize>) -> bool {
        let current = existing.is_some_and(|slot| {
            let peer = self.table.get(slot).peer();
            peer.local_tag == cookie.local_tag && peer.peer_tag == Some(cookie.peer_tag)
        });
        !current && self.cookies.is_stale(cookie)
    }

    fn report_stale_cookie(
        &mut self,
        now: Instant,
        datagram: &Datagram<'_>,
        packet: &Packet<'_>,
        cookie: &StateCookie,
    ) {
        self.statistics.handshake.stale_cookies += 1;
        let staleness_us = u32::try_from(now.since(cookie.expires_at).as_micros()).unwrap_or(u32::MAX);
        if let Ok(chunk) = ChunkBuf::error(&[Cause::StaleCookie { staleness_us }]) {
            self.answer(datagram, packet, cookie.peer_tag, &chunk);
        }
    }

    /// A valid cookie of a peer without association has come back.
    fn consider(
        &mut self,
        now: Instant,
        datagram: &Datagram<'_>,
        packet: &Packet<'_>,
        (mut cookie, authenticity): (StateCookie, Authenticity),
    ) {
        match self.config.incoming {
            IncomingPolicy::Accept => {
                let (locals, config) =
                    (self.presence.since(cookie.issued_at), Arc::clone(self.shared.accepted()));
                let _slot = self.admit(now, datagram, packet, (&mut cookie, authenticity), &locals, config);
            }
            IncomingPolicy::Ask(limits) => self.ask(now, limits, datagram, packet, (cookie, authenticity)),
            IncomingPolicy::Refuse => self.turn_away(datagram, packet, &cookie),
        }
    }

    fn turn_away(&mut self, datagram: &Datagram<'_>, packet: &Packet<'_>, cookie: &StateCookie) {
        self.statistics.handshake.inits_refused += 1;
        if let Ok(chunk) = ChunkBuf::abort(TagOrigin::Receiver, &[Cause::OutOfResource]) {
            self.answer(datagram, packet, cookie.peer_tag, &chunk);
        }
    }

    /// Makes the association of a cookie, if there is room for it; returns its slot. `locals` are the addresses of this host since the
    /// cookie was made.
    pub(super) fn admit(
        &mut self,
        now: Instant,
        datagram: &Datagram<'_>,
        packet: &Packet<'_>,
        (cookie, authenticity): (&mut StateCookie, Authenticity),
        locals: &LocalAddresses,
        config: Arc<Commons>,
    ) -> Option<usize> {
        let network = network_of(cookie.source);
        if !self.has_room(now, network) {
            self.turn_away(datagram, packet, cookie);
            return None;
        }
        self.statistics.accepted += 1;
        if !cookie.addresses.contains(&datagram.source.address) {
            self.statistics.handshake.cookies_from_elsewhere += 1;
        }
        // A NAT may have changed the UDP port since the INIT.
        if cookie.source.address == datagram.source.address {
            cookie.source = datagram.source;
        }
        let nonces = self.rng.nonces();
        let association = Association::accept(now, cookie, datagram.source, locals, config, nonces);
        let slot = self.insert(now, association);
        self.table.associations[slot].cookie_made_at = Some(cookie.issued_at);
        self.enter_crowd(slot, network);
        let found = self.table.path_to(slot, datagram.source);
        self.deliver(now, found, datagram, packet, authenticity);
        Some(slot)
    }

    /// The association is over, or this tag of it: its cookies make no other.
    pub(super) fn spend_cookies(&mut self, slot: usize, tag: VerificationTag) {
        let made_at = self.table.associations.get_mut(slot).and_then(|entry| entry.cookie_made_at.take());
        if let Some(made_at) = made_at {
            self.cookies.spend(tag, made_at);
        }
    }

    fn on_cookie_for_existing(
        &mut self,
        now: Instant,
        slot: usize,
        datagram: &Datagram<'_>,
        packet: &Packet<'_>,
        (cookie, authenticity): (&StateCookie, Authenticity),
    ) {
        let replaced = self.table.get(slot).peer().local_tag;
        let locals = self.presence.since(cookie.issued_at);
        let action = self.table.at(now, slot).on_cookie_echo(now, datagram.source, cookie, &locals);
        if self.table.get(slot).peer().local_tag != replaced {
            self.spend_cookies(slot, replaced);
            self.table.associations[slot].cookie_made_at = Some(cookie.issued_at);
        }
        self.table.enter(slot);
        self.refresh(slot);
        match action {
            CollisionAction::Restart | CollisionAction::Initialise | CollisionAction::Duplicate => {
                self.route(now, datagram, packet, authenticity);
            }
            CollisionAction::Late | CollisionAction::Discard => {}
        }
    }

    /// Queues a packet that belongs to no association. A flood does not make the queue grow.
    pub(super) fn answer(
        &mut self,
        datagram: &Datagram<'_>,
        packet: &Packet<'_>,
        tag: VerificationTag,
        chunk: &ChunkBuf,
    ) {
        let capacity = COMMON_HEADER_BYTES + chunk.len();
        self.answer_with(datagram, packet, tag, capacity, |writer| writer.raw(chunk));
    }

    fn answer_with(
        &mut self,
        datagram: &Datagram<'_>,
        packet: &Packet<'_>,
        tag: VerificationTag,
        capacity: usize,
        write: impl FnOnce(&mut PacketWriter<'_>) -> Result<(), Full>,
    ) {
        if self.answers.len() >= MAX_ANSWERS {
            self.statistics.answers_dropped += 1;
            return;
        }
        let mut octets = Vec::with_capacity(capacity);
        let limit = self.config.association.path_mtu.bytes - datagram.source.header_bytes();
        let ports = (packet.destination_port, packet.source_port);
        let mut writer = PacketWriter::begin(&mut octets, ports.0, ports.1, tag, limit);
        if write(&mut writer).is_err() {
            self.statistics.answers_dropped += 1;
            return;
        }
        let _len = writer.finish();
        self.answers.push_back(StatelessReply {
            destination: datagram.source,
            source: datagram.local,
            packet: octets,
        });
    }
}

/// Returns whether a cookie may come from `source`. RFC 9260 §5.1.5 asks for MAC, ports, tag and age: the
/// COOKIE ECHO may come from an address the INIT did not name. Over a channel, where no address means anything,
/// it comes from where the INIT came.
fn may_come_from(cookie: &StateCookie, source: Destination) -> bool {
    let is_channel = [cookie.source, source].iter().any(|end| end.encapsulation == Encapsulation::Datagrams);
    !is_channel || cookie.source == source
}

/// Octets of a packet with an INIT ACK, beside the cookie, as they usually are.
const INIT_ACK_BYTES: usize = 160;

/// Answers outside associations that may wait to be sent.
const MAX_ANSWERS: usize = 256;

/// An association from a cookie whose signature is taken for right: parsing keeps its bounds even so.
#[cfg(fuzzing)]
#[doc(hidden)]
pub fn fuzz_cookie(octets: &[u8]) {
    let Some(cookie) = StateCookie::decode(octets, None) else { return };
    assert_eq!(StateCookie::decode(&cookie.encode(), None).as_ref(), Some(&cookie));
    let (config, nonces) = (AssociationConfig::default(), crate::rng::Nonces::new(&[7; 32]));
    let (now, source) = (Instant::EPOCH, cookie.source);
    let commons = Commons::new(config, crate::receiver::SpareBlocks::within(0));
    let locals = LocalAddresses::default();
    let mut association =
        Association::accept(now, &cookie, source, &locals, std::sync::Arc::new(commons), nonces);
    let mut buffer = Vec::new();
    association.transmit(now, usize::MAX, &mut buffer, &mut |_| {});
    while association.poll_event().is_some() {}
}

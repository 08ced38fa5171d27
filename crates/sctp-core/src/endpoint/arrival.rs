//! Packets that arrive, one by one or many together: decoded, and handed to whom they belong to.

use sctp_wire::{Checksum, Chunk, ChunkType, DecodeError, KnownHeader, Packet, SctpPort, VerificationTag};
use virtual_time::Instant;

use super::Endpoint;
use super::demux::Lookup;
use super::table::AssociationTable;
use crate::association::Authenticity;
use crate::config::Offer;
use crate::trace;
use crate::transmit::{Datagram, Destination, Encapsulation, PathIndex};

impl Endpoint {
    /// Takes in a packet that arrived.
    pub fn handle_packet(&mut self, now: Instant, datagram: Datagram<'_>) {
        self.handle_packets(now, [datagram]);
    }

    /// Packets arrived together, in this order. The same as one after the other, with less work for each: what they lead
    /// to for timers, windows and queues is looked at once.
    pub fn handle_packets<'a>(&mut self, now: Instant, datagrams: impl IntoIterator<Item = Datagram<'a>>) {
        self.table.reap();
        let mut last = LastPacket { header: self.last_header, route: None };
        let is_watched = trace::is_enabled();
        for datagram in datagrams {
            self.statistics.packets_received += 1;
            if is_watched {
                self.take_in_watched(now, datagram, &mut last);
            } else {
                self.take_in(now, datagram, &mut last);
            }
        }
        self.last_header = last.header;
        self.settle(now);
    }

    /// Takes in a router's report that a packet to `destination` was larger than the `mtu_bytes` it can pass
    /// on, IP header included (ICMP type 3 code 4, or ICMPv6 type 2). `quoted` is what it quotes of the SCTP
    /// packet.
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
        let found = self.table.quoted_association(self.config.port, destination, quoted);
        let Some((slot, path)) = found else {
            self.statistics.foreign_packet_too_big += 1;
            return false;
        };
        self.statistics.packet_too_big += 1;
        self.table.associations[slot].association.on_packet_too_big(path, mtu_bytes);
        self.refresh(slot);
        true
    }

    /// Completes what follows from the packets that an association was handed last.
    #[inline]
    pub(super) fn settle(&mut self, now: Instant) {
        if let Some(slot) = self.table.turns.unsettled.take() {
            self.settle_one(now, slot);
        }
    }

    fn settle_one(&mut self, now: Instant, slot: usize) {
        self.with(now, slot, |association| association.after_input(now));
    }

    /// Takes in a packet, and tells who listens of what is discarded.
    #[cold]
    fn take_in_watched(&mut self, now: Instant, datagram: Datagram<'_>, last: &mut LastPacket) {
        let _span = trace::endpoint(now, self.config.port);
        let before = self.statistics;
        self.take_in(now, datagram, last);
        trace::packets_discarded(&before, &self.statistics);
    }

    fn take_in(&mut self, now: Instant, datagram: Datagram<'_>, last: &mut LastPacket) {
        let packet = match self.decode(&datagram, &mut last.header) {
            Ok(packet) => packet,
            Err(DecodeError::Checksum { .. }) => {
                self.statistics.bad_checksum += 1;
                return;
            }
            Err(_) => {
                self.statistics.malformed += 1;
                return;
            }
        };
        if packet.destination_port != self.config.port {
            self.statistics.wrong_port += 1;
            return self.on_foreign_port(now, &datagram, &packet);
        }
        // What belongs to an association is not decoded to find that out.
        let first = packet.chunks().rest().first().map(|kind| ChunkType::new(*kind));
        match first {
            Some(ChunkType::INIT | ChunkType::COOKIE_ECHO | ChunkType::AUTH) => {
                self.take_opening_in(now, &datagram, &packet);
            }
            Some(_) => {
                let found = self.table.find_after(last, &datagram, &packet);
                self.deliver(now, found, &datagram, &packet, Authenticity::NotShown);
            }
            None => self.statistics.malformed += 1,
        }
    }

    /// A packet that may set an association up.
    fn take_opening_in(&mut self, now: Instant, datagram: &Datagram<'_>, packet: &Packet<'_>) {
        self.settle(now);
        match packet.chunks().next() {
            Some(Ok(Chunk::Init(init))) => self.on_init(now, datagram, packet, &init),
            Some(Ok(Chunk::CookieEcho(cookie))) => {
                self.on_cookie_echo(now, datagram, packet, cookie.0, None);
            }
            Some(Ok(Chunk::Auth(auth))) => match packet.chunks().nth(1) {
                Some(Ok(Chunk::CookieEcho(cookie))) => {
                    self.on_cookie_echo(now, datagram, packet, cookie.0, Some(&auth));
                }
                _ => self.route(now, datagram, packet, Authenticity::NotShown),
            },
            Some(_) | None => self.route(now, datagram, packet, Authenticity::NotShown),
        }
    }

    /// Decodes a packet, whose checksum has to be right, unless it is zero and the packet one of those that
    /// need none.
    #[inline]
    fn decode<'a>(
        &mut self,
        datagram: &Datagram<'a>,
        last: &mut KnownHeader,
    ) -> Result<Packet<'a>, DecodeError> {
        if datagram.source.encapsulation == Encapsulation::Datagrams
            && let Ok(packet) = Packet::decode(datagram.payload, Checksum::Ignore)
            && packet.checksum == 0
            && self.table.needs_no_checksum(datagram, &packet)
        {
            self.statistics.zero_checksums_accepted += 1;
            return Ok(packet);
        }
        Packet::verify(datagram.payload, last)
    }

    /// Hands a packet to the association it belongs to (RFC 9260 §8.5), or treats it as out of the blue (§8.4).
    pub(super) fn route(
        &mut self,
        now: Instant,
        datagram: &Datagram<'_>,
        packet: &Packet<'_>,
        authenticity: Authenticity,
    ) {
        self.deliver(now, self.table.find(datagram, packet), datagram, packet, authenticity);
    }

    pub(super) fn deliver(
        &mut self,
        now: Instant,
        found: Lookup,
        datagram: &Datagram<'_>,
        packet: &Packet<'_>,
        authenticity: Authenticity,
    ) {
        match found {
            Lookup::Association(slot, path) => {
                self.take_turn(now, slot);
                self.table.at(now, slot).handle_packet(now, path, datagram, packet, authenticity);
                // Whoever is found differently from now on is so for the next packet already.
                if !self.table.is_found_as_before(slot) {
                    self.settle(now);
                }
            }
            Lookup::UnknownSource => {
                self.settle(now);
                self.on_unknown_source(now, datagram, packet);
            }
            Lookup::BadTag => self.statistics.bad_tag += 1,
            Lookup::OutOfTheBlue => self.on_out_of_the_blue(datagram, packet),
        }
    }

    /// An association is handed a packet, perhaps after others.
    #[inline]
    fn take_turn(&mut self, now: Instant, slot: usize) {
        if self.table.turns.unsettled != Some(slot) {
            self.settle(now);
            self.table.grant_memory(slot);
            self.table.turns.unsettled = Some(slot);
        }
    }

    /// The tag says which association it is for. The peer may answer our INIT from there (RFC 9260 §5.1.2), or our cookie if it has
    /// moved since, and an ASCONF may make the address the peer's (RFC 5061 §5.2).
    fn on_unknown_source(&mut self, now: Instant, datagram: &Datagram<'_>, packet: &Packet<'_>) {
        let Some(slot) = self.table.demux.by_tag(packet.verification_tag) else { return };
        let association = self.table.get(slot);
        if association.session().may_answer_init(datagram.source, packet, association.paths()) {
            self.statistics.handshake.init_acks_from_elsewhere += 1;
            self.with(now, slot, |association| {
                association.handle_answer_from(now, datagram, packet);
            });
        } else if association.session().may_answer_cookie(packet) {
            self.with(now, slot, |association| association.handle_answer_from(now, datagram, packet));
        } else if association.session().may_introduce_address(packet) {
            self.with(now, slot, |association| association.handle_stranger(now, datagram, packet));
        } else {
            self.statistics.unknown_source += 1;
        }
    }
}

/// Whose packets are.
impl AssociationTable {
    /// Returns the association and path of a packet that begins with this source port, destination port and
    /// verification tag.
    fn quoted_association(
        &self,
        port: SctpPort,
        destination: Destination,
        quoted: &[u8],
    ) -> Option<(usize, PathIndex)> {
        let (ports, rest) = quoted.split_first_chunk::<4>()?;
        let tag = VerificationTag::new(u32::from_be_bytes(*rest.first_chunk()?));
        let [source, peer] = [[ports[0], ports[1]], [ports[2], ports[3]]].map(u16::from_be_bytes);
        if source != port.get() {
            return None;
        }
        let slot = self.demux.by_peer(destination, SctpPort::new(peer)?)?;
        let association = self.get(slot);
        let path = association.paths().by_address(destination.address)?;
        (association.peer().peer_tag == Some(tag)).then_some((slot, path))
    }

    /// Returns whether a packet needs no checksum (RFC 9653): we have said that we take zero checksums in this
    /// association, the packet came through its channel, and no chunk is of the kind that must not come
    /// without.
    fn needs_no_checksum(&self, datagram: &Datagram<'_>, packet: &Packet<'_>) -> bool {
        let Some(slot) = self.demux.by_tag(packet.verification_tag) else { return false };
        let association = self.get(slot);
        let exempt = [ChunkType::INIT, ChunkType::COOKIE_ECHO, ChunkType::ASCONF];
        association.config().extensions.zero_checksum == Offer::On
            && association.paths().iter().any(|path| path.destination == datagram.source)
            && packet.chunks().all(|chunk| chunk.is_ok_and(|chunk| !exempt.contains(&chunk.kind())))
    }

    /// Returns the association of a packet, with what is known from the packet before.
    #[inline]
    fn find_after(&self, last: &mut LastPacket, datagram: &Datagram<'_>, packet: &Packet<'_>) -> Lookup {
        if let Some(route) = last.route.filter(|route| route.is_of(datagram, packet))
            && self.turns.unsettled == Some(route.slot)
        {
            return Lookup::Association(route.slot, route.path);
        }
        let found = self.find(datagram, packet);
        last.route = Route::of(found, datagram, packet).filter(|route| {
            // With its receiver's own tag reflected, or before the association is up, what is in a packet decides whose it is.
            let association = self.get(route.slot);
            association.peer().local_tag == route.tag && !association.session().is_setting_up()
        });
        found
    }

    fn find(&self, datagram: &Datagram<'_>, packet: &Packet<'_>) -> Lookup {
        // Tag zero is for INIT alone (§8.5.1 (A)).
        if packet.verification_tag == VerificationTag::ZERO {
            return Lookup::BadTag;
        }
        self.lookup(datagram, packet)
    }
}

/// The facts known from the packet before: those that come together are mostly of one association.
struct LastPacket {
    header: KnownHeader,
    route: Option<Route>,
}

/// The association that a packet belonged to. It does so for the next one as long as it has not been settled.
#[derive(Clone, Copy)]
struct Route {
    source: Destination,
    port: SctpPort,
    tag: VerificationTag,
    slot: usize,
    path: PathIndex,
}

impl Route {
    fn of(found: Lookup, datagram: &Datagram<'_>, packet: &Packet<'_>) -> Option<Self> {
        let Lookup::Association(slot, path) = found else { return None };
        Some(Self {
            source: datagram.source,
            port: packet.source_port,
            tag: packet.verification_tag,
            slot,
            path,
        })
    }

    #[inline]
    fn is_of(&self, datagram: &Datagram<'_>, packet: &Packet<'_>) -> bool {
        self.tag == packet.verification_tag
            && self.port == packet.source_port
            && self.source == datagram.source
    }
}

//! Packets of the handshake that come again after the association they made is over.

use sctp_core::{Datagram, Destination, Endpoint, TagShare};
use sctp_wire::{Checksum, Chunk, ChunkBuf, Packet, PacketWriter, Parameter, TagOrigin};
use virtual_time::Instant;

use crate::by_hand::{Hand, with_tag};
use crate::net::{End, LEFT_PORT, RIGHT_PORT, Setup, by_ip, is_up, ms};

/// A peer that speaks to an endpoint without a network.
pub(super) struct Caller {
    source: Destination,
    port: u16,
    tag: u32,
    peer_tag: u32,
    cookie: Vec<u8>,
}

impl Caller {
    pub(super) fn new(source: [u8; 4], tag: u32) -> Self {
        Self::at_port(source, LEFT_PORT, tag)
    }

    pub(super) fn at_port(source: [u8; 4], port: u16, tag: u32) -> Self {
        Self { source: by_ip(source.into()), port, tag, peer_tag: 0, cookie: Vec::new() }
    }

    /// Hands a packet in and gives what is sent because of it; events and messages are read.
    pub(super) fn hand_in(&self, endpoint: &mut Endpoint, now: Instant, packet: &[u8]) -> Vec<Vec<u8>> {
        let datagram = Datagram::new(self.source, packet);
        endpoint.handle_packet(now, datagram);
        let mut sent = Vec::new();
        let mut buffer = Vec::new();
        while endpoint.poll_transmit(now, &mut buffer).is_some() {
            sent.push(std::mem::take(&mut buffer));
        }
        while let Some((id, _)) = endpoint.poll_event() {
            while endpoint.receive(now, id).is_some() {}
        }
        sent
    }

    /// Sends INIT and keeps the cookie; false if there was no INIT ACK.
    pub(super) fn init(&mut self, endpoint: &mut Endpoint, now: Instant) -> bool {
        let header = Hand::new(self.port, self.tag).header();
        let init = with_tag(self.port, RIGHT_PORT, 0, |writer| writer.init(&header, &[]).unwrap());
        let answers = self.hand_in(endpoint, now, &init);
        let Some(answer) = answers.first() else { return false };
        let packet = Packet::decode(answer, Checksum::Verify).unwrap();
        let Some(Ok(Chunk::InitAck(ack))) = packet.chunks().next() else { return false };
        self.peer_tag = ack.initiate_tag.get();
        let cookie = ack.parameters.iter().flatten().find_map(|parameter| {
            if let Parameter::StateCookie(cookie) = parameter { Some(cookie.to_vec()) } else { None }
        });
        self.cookie = cookie.unwrap();
        true
    }

    pub(super) fn packet(&self, write: impl FnOnce(&mut PacketWriter<'_>)) -> Vec<u8> {
        with_tag(self.port, RIGHT_PORT, self.peer_tag, write)
    }

    pub(super) fn cookie_echo(&self) -> Vec<u8> {
        self.packet(|writer| writer.cookie_echo(&self.cookie).unwrap())
    }

    /// Whether an association came of INIT and COOKIE ECHO.
    pub(super) fn establish(&mut self, endpoint: &mut Endpoint, now: Instant) -> bool {
        if !self.init(endpoint, now) {
            return false;
        }
        let answers = self.hand_in(endpoint, now, &self.cookie_echo());
        let is_ack = |octets: &Vec<u8>| {
            let packet = Packet::decode(octets, Checksum::Verify).unwrap();
            packet.chunks().flatten().any(|chunk| matches!(chunk, Chunk::CookieAck))
        };
        answers.iter().any(is_ack)
    }

    pub(super) fn abort(&self, endpoint: &mut Endpoint, now: Instant) {
        let abort = ChunkBuf::abort(TagOrigin::Receiver, &[]).unwrap();
        let packet = self.packet(|writer| writer.raw(&abort).unwrap());
        self.hand_in(endpoint, now, &packet);
    }
}

/// A COOKIE ECHO with DATA is recorded; its association ends, and so many others begin and end that it is forgotten.
#[test]
fn robustness_32_a_flood_of_associations_brings_no_old_cookie_back() {
    for (share, others) in [
        (None, 25_000),
        (Some(TagShare { index: 3, of: 16 }), 2_000),
        (Some(TagShare { index: 3, of: 16 }), 25_000),
    ] {
        let mut setup = Setup::rfc9260();
        (setup.server.init_rate, setup.server.host_init_rate, setup.server.tag_share) = (None, None, share);
        let mut pair = setup.build();
        pair.run_ms(1000);
        let (mut victim, start) = (Caller::new([10, 0, 0, 9], 7), pair.now());
        let data = Hand::new(LEFT_PORT, 7).data_header(0);
        pair.with(End::Right, |side, _| {
            let endpoint = &mut side.endpoint;
            assert!(victim.init(endpoint, start));
            let recorded = victim.packet(|writer| {
                writer.cookie_echo(&victim.cookie).unwrap();
                writer.data(&data, b"transfer 100").unwrap();
            });
            victim.hand_in(endpoint, start, &recorded);
            assert_eq!(endpoint.statistics().accepted, 1);
            victim.abort(endpoint, start);
            for number in 0..others {
                let [_, a, b, c] = u32::to_be_bytes(number);
                let mut other = Caller::new([11, a, b, c], number + 1);
                let now = start + ms(u64::from(number) / 4);
                assert!(other.establish(endpoint, now), "{number}: who comes now gets in all the while");
                other.abort(endpoint, now);
            }
            let answers = victim.hand_in(endpoint, start + ms(10_000), &recorded);
            assert_eq!(answers.len(), 1, "ABORT if it is known, Stale Cookie if it is forgotten");
            let statistics = endpoint.statistics();
            assert_eq!(statistics.accepted, 1 + u64::from(others));
            assert_eq!(statistics.handshake.spent_cookies + statistics.handshake.stale_cookies, 1);
            assert_eq!(endpoint.association_count(), 0);
        });
    }
}

/// Who was on the way while his cookie was made stale begins again, with the cookie of a new INIT (RFC 9260 §5.2.6).
#[test]
fn robustness_32_honest_peer_on_a_slow_path_gets_in_at_the_second_attempt() {
    let mut setup = Setup::rfc9260();
    (setup.server.init_rate, setup.server.host_init_rate) = (None, None);
    let mut pair = setup.build();
    pair.connect();
    pair.run_ms(15);
    // The INIT ACK is under way: more associations begin and end than are remembered, all within that time.
    pair.with(End::Right, |side, now| {
        for number in 0..17_000_u32 {
            let [_, a, b, c] = number.to_be_bytes();
            let mut other = Caller::new([11, a, b, c], number + 1);
            assert!(other.init(&mut side.endpoint, now));
            let echo = other.cookie_echo();
            other.hand_in(&mut side.endpoint, now, &echo);
            other.abort(&mut side.endpoint, now);
        }
    });
    pair.run_ms(500);
    assert_eq!(pair.statistics(End::Left).association.stale_cookies, 1);
    assert_eq!(pair.count(End::Left, is_up), 1);
}

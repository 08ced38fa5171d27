//! A peer of the right end, every packet of which the test writes.

use std::net::IpAddr;

use sctp_core::{Destination, PayloadProtocolId, Ssn, StreamId, Tsn};
use sctp_wire::{
    Chunk, ChunkBuf, DataFlags, DataHeader, GapAckBlock, InitHeader, PacketWriter, Parameter, TagOrigin,
    VerificationTag,
};

use crate::net::{End, LEFT, LEFT_PORT, Pair, RIGHT_PORT, by_ip, port};

/// A packet with this tag and the chunks that `write` writes.
pub(crate) fn with_tag(from: u16, to: u16, tag: u32, write: impl FnOnce(&mut PacketWriter<'_>)) -> Vec<u8> {
    let mut octets = Vec::new();
    let tag = VerificationTag::new(tag);
    let mut writer = PacketWriter::begin(&mut octets, port(from), port(to), tag, 1400);
    write(&mut writer);
    let _len = writer.finish();
    octets
}

/// A peer without timers: it says what it is told to.
pub(crate) struct Hand {
    pub(crate) source: Destination,
    port: u16,
    tag: u32,
    peer_tag: u32,
    cookie: Vec<u8>,
    pub(crate) next_tsn: Tsn,
    pub(crate) next_ssn: Ssn,
    pub(crate) a_rwnd: u32,
    pub(crate) streams: u16,
    /// The first TSN of the right end.
    pub(crate) peer_tsn: Tsn,
}

impl Hand {
    pub(crate) fn new(port: u16, tag: u32) -> Self {
        let (next_tsn, next_ssn) = (Tsn::new(u32::MAX - 3), Ssn::new(0));
        let (peer_tag, peer_tsn) = (0, Tsn::new(0));
        let source = by_ip([10, 0, 0, 9].into());
        Self {
            source,
            port,
            tag,
            peer_tag,
            cookie: Vec::new(),
            next_tsn,
            next_ssn,
            a_rwnd: 100_000,
            streams: 10,
            peer_tsn,
        }
    }

    /// One that writes from the left end's address.
    pub(crate) fn posing_as_left(tag: u32) -> Self {
        Self { source: by_ip(LEFT), ..Self::new(LEFT_PORT, tag) }
    }

    pub(crate) fn init(&mut self, pair: &mut Pair) {
        self.init_with(pair, &[]);
    }

    pub(crate) fn init_listing(&mut self, pair: &mut Pair, address: IpAddr) {
        let IpAddr::V4(address) = address else { panic!("an IPv4 address") };
        self.init_with(pair, &[Parameter::Ipv4Address(address)]);
    }

    pub(crate) fn init_with(&mut self, pair: &mut Pair, parameters: &[Parameter<'_>]) {
        let header = self.header();
        let init = with_tag(self.port, RIGHT_PORT, 0, |writer| writer.init(&header, parameters).unwrap());
        pair.inject_from(End::Right, self.source, &init);
        let answer = pair.side(End::Right).sent.last().unwrap().clone();
        if let Some(Ok(Chunk::InitAck(ack))) = answer.packet().chunks().next() {
            self.peer_tag = ack.initiate_tag.get();
            self.peer_tsn = ack.initial_tsn;
            let cookie = ack.parameters.iter().flatten().find_map(|parameter| {
                if let Parameter::StateCookie(cookie) = parameter { Some(cookie.to_vec()) } else { None }
            });
            self.cookie = cookie.unwrap();
        }
    }

    pub(crate) fn header(&self) -> InitHeader {
        InitHeader {
            initiate_tag: VerificationTag::new(self.tag),
            a_rwnd: self.a_rwnd,
            outbound_streams: self.streams,
            inbound_streams: self.streams,
            initial_tsn: self.next_tsn,
        }
    }

    /// The right end's tag, as the INIT ACK tells it.
    pub(crate) fn peer_tag(&self) -> u32 {
        self.peer_tag
    }

    /// The state cookie of the INIT ACK.
    pub(crate) fn cookie(&self) -> &[u8] {
        &self.cookie
    }

    pub(crate) fn echo(&self, pair: &mut Pair) {
        let cookie = self.cookie.clone();
        self.tell(pair, |writer| writer.cookie_echo(&cookie).unwrap());
    }

    pub(crate) fn establish(&mut self, pair: &mut Pair) {
        self.init(pair);
        self.echo(pair);
    }

    /// A packet with the right tag, to be handed over later.
    pub(crate) fn packet(&self, write: impl FnOnce(&mut PacketWriter<'_>)) -> Vec<u8> {
        with_tag(self.port, RIGHT_PORT, self.peer_tag, write)
    }

    /// A packet with the next message, to be handed over later.
    pub(crate) fn data_packet(&mut self, len: usize) -> Vec<u8> {
        let header = self.data_header(0);
        self.packet(|writer| writer.data(&header, &vec![7; len]).unwrap())
    }

    /// A packet with the right tag.
    pub(crate) fn tell(&self, pair: &mut Pair, write: impl FnOnce(&mut PacketWriter<'_>)) {
        pair.inject_from(End::Right, self.source, &self.packet(write));
    }

    /// A packet with the tag of its receiver, or its sender's own reflected.
    pub(crate) fn tell_as(
        &self,
        pair: &mut Pair,
        origin: TagOrigin,
        write: impl FnOnce(&mut PacketWriter<'_>),
    ) {
        let tag = match origin {
            TagOrigin::Receiver => self.peer_tag,
            TagOrigin::Reflected => self.tag,
        };
        let packet = with_tag(self.port, RIGHT_PORT, tag, write);
        pair.inject_from(End::Right, self.source, &packet);
    }

    /// A whole ordered message in one chunk.
    pub(crate) fn data(&mut self, pair: &mut Pair, stream: u16, len: usize) {
        let header = self.data_header(stream);
        self.tell(pair, |writer| writer.data(&header, &vec![7; len]).unwrap());
    }

    /// The header of the next message; the message counts as sent.
    pub(crate) fn data_header(&mut self, stream: u16) -> DataHeader {
        let header = DataHeader {
            tsn: self.next_tsn,
            stream: StreamId::new(stream),
            ssn: self.next_ssn,
            ppid: PayloadProtocolId::new(0),
            flags: DataFlags::WHOLE,
        };
        self.next_tsn = self.next_tsn.next();
        self.next_ssn = self.next_ssn.next();
        header
    }

    /// Acknowledges the first `count` chunks of the right end, and gap ack blocks after them.
    pub(crate) fn sack(&self, pair: &mut Pair, count: u32, a_rwnd: u32, gaps: &[(u16, u16)]) {
        let cumulative = self.peer_tsn.previous().advance(count);
        let gaps: Vec<GapAckBlock> = gaps.iter().map(|&(start, end)| GapAckBlock { start, end }).collect();
        self.tell(pair, |writer| writer.sack(cumulative, a_rwnd, gaps, []).unwrap());
    }

    pub(crate) fn abort(&self, pair: &mut Pair) {
        let abort = ChunkBuf::abort(TagOrigin::Receiver, &[]).unwrap();
        self.tell(pair, |writer| writer.raw(&abort).unwrap());
    }
}

//! A peer of the victim that says whatever it likes.

use sctp_core::{AssociationId, Destination, SctpPort, StreamId, Tsn};
use sctp_wire::{
    Checksum, Chunk, ChunkBuf, ChunkType, ChunkTypes, DataFlags, DataHeader, GapAckBlock, InitHeader, Packet,
    PacketWriter, Parameter, PayloadProtocolId, Ssn, TagOrigin, VerificationTag,
};

use crate::victim::{PORT, Victim, by_ip};

pub(crate) struct Peer {
    pub(crate) source: Destination,
    port: u16,
    tag: u32,
    victims_tag: u32,
    cookie: Vec<u8>,
    pub(crate) a_rwnd: u32,
    /// Chunks beyond RFC 9260 that it lists.
    lists: &'static [u8],
    /// Its first TSN, and the victim's.
    pub(crate) first_tsn: Tsn,
    pub(crate) victims_tsn: Tsn,
    pub(crate) id: Option<AssociationId>,
}

/// The flags of a chunk with a whole message, and of one in the middle.
pub(crate) const WHOLE: DataFlags = DataFlags::WHOLE;
pub(crate) const MIDDLE: DataFlags =
    DataFlags { immediate: false, unordered: false, beginning: false, ending: false };

/// The most that a packet holds.
const PACKET_BYTES: usize = 60_000;

const FORWARD_TSN: u8 = ChunkType::FORWARD_TSN.get();
const RE_CONFIG: u8 = ChunkType::RE_CONFIG.get();
const I_DATA: u8 = ChunkType::I_DATA.get();

impl Peer {
    /// The `number`th one of this network, which has as many hosts and ports as there are numbers.
    pub(crate) fn new(network: u8, number: u32) -> Self {
        let [_, a, b, c] = number.to_be_bytes();
        Self {
            source: by_ip([network, a, b, c]),
            port: 5001,
            tag: number + 1,
            victims_tag: 0,
            cookie: Vec::new(),
            a_rwnd: 1500,
            lists: &[FORWARD_TSN, RE_CONFIG],
            first_tsn: Tsn::new(number),
            victims_tsn: Tsn::new(0),
            id: None,
        }
    }

    /// One at the same host as all others made like this, at a port of its own.
    pub(crate) fn at_one_host(number: u32) -> Self {
        let port = u16::try_from(1 + number % 65_000).unwrap();
        Self { source: by_ip([11, 0, 0, 1]), port, ..Self::new(11, number) }
    }

    /// As many established ones as asked for.
    pub(crate) fn established(victim: &mut Victim, count: u32) -> Vec<Self> {
        let establish = |number| {
            let mut peer = Self::new(11, number << 8);
            assert!(peer.establish(victim));
            peer
        };
        (0..count).map(establish).collect()
    }

    /// The same, with I-DATA.
    pub(crate) fn interleaving(victim: &mut Victim, count: u32) -> Vec<Self> {
        let establish = |number| {
            let mut peer = Self { lists: &[I_DATA], ..Self::new(11, number << 8) };
            assert!(peer.establish(victim));
            peer
        };
        (0..count).map(establish).collect()
    }

    fn packet(&self, tag: u32, write: impl FnOnce(&mut PacketWriter<'_>)) -> Vec<u8> {
        let (mut octets, port) = (Vec::new(), |number| SctpPort::new(number).unwrap());
        let tag = VerificationTag::new(tag);
        let mut writer = PacketWriter::begin(&mut octets, port(self.port), port(PORT), tag, PACKET_BYTES);
        write(&mut writer);
        let _len = writer.finish();
        octets
    }

    pub(crate) fn init(&mut self, victim: &mut Victim) {
        let header = InitHeader {
            initiate_tag: VerificationTag::new(self.tag),
            a_rwnd: self.a_rwnd,
            outbound_streams: 2048,
            inbound_streams: 2048,
            initial_tsn: self.first_tsn,
        };
        let extensions = Parameter::SupportedExtensions(ChunkTypes::new(self.lists));
        let init = self.packet(0, |writer| writer.init(&header, &[extensions]).unwrap());
        victim.take(self.source, &init);
        self.hear(&victim.answer);
    }

    /// Looks for an INIT ACK.
    fn hear(&mut self, answer: &[u8]) {
        let Ok(packet) = Packet::decode(answer, Checksum::Verify) else { return };
        let Some(Ok(Chunk::InitAck(ack))) = packet.chunks().next() else { return };
        (self.victims_tag, self.victims_tsn) = (ack.initiate_tag.get(), ack.initial_tsn);
        let cookie = ack.parameters.iter().flatten().find_map(|parameter| {
            if let Parameter::StateCookie(cookie) = parameter { Some(cookie.to_vec()) } else { None }
        });
        self.cookie = cookie.unwrap();
    }

    pub(crate) fn echo(&self, victim: &mut Victim) {
        self.tell(victim, |writer| writer.cookie_echo(&self.cookie).unwrap());
    }

    /// Whether the victim has one association more, or this one anew.
    pub(crate) fn establish(&mut self, victim: &mut Victim) -> bool {
        self.init(victim);
        self.echo(victim);
        self.id = victim.latest;
        let packet = Packet::decode(&victim.answer, Checksum::Verify);
        packet.is_ok_and(|packet| packet.chunks().flatten().any(|chunk| chunk == Chunk::CookieAck))
    }

    /// The tag of packets to it.
    pub(crate) fn tag(&self) -> VerificationTag {
        VerificationTag::new(self.tag)
    }

    /// Begins anew, with another tag.
    pub(crate) fn begin_anew(&mut self, victim: &mut Victim) {
        self.tag = self.tag.wrapping_add(1 << 20);
        self.init(victim);
        self.echo(victim);
    }

    pub(crate) fn tell(&self, victim: &mut Victim, write: impl FnOnce(&mut PacketWriter<'_>)) {
        victim.take(self.source, &self.packet(self.victims_tag, write));
    }

    /// A packet with a tag that is nobody's.
    pub(crate) fn tell_out_of_the_blue(&self, victim: &mut Victim, tag: u32) {
        let packet = self.packet(tag, |writer| writer.heartbeat(b"is anybody there").unwrap());
        victim.take(self.source, &packet);
    }

    pub(crate) fn say(&self, victim: &mut Victim, chunk: &ChunkBuf) {
        self.tell(victim, |writer| writer.raw(chunk).unwrap());
    }

    pub(crate) fn sack(&self, victim: &mut Victim, cumulative: Tsn, gaps: &[GapAckBlock]) {
        let gaps = gaps.iter().copied();
        self.tell(victim, |writer| writer.sack(cumulative, self.a_rwnd, gaps, []).unwrap());
    }

    pub(crate) fn abort(&self, victim: &mut Victim) {
        self.say(victim, &ChunkBuf::abort(TagOrigin::Receiver, &[]).unwrap());
    }

    /// DATA of so many octets: which TSN from the first one on, stream and number in it.
    pub(crate) fn data(&self, victim: &mut Victim, chunks: &[(u32, u32, u32, DataFlags)], octets: usize) {
        self.tell(victim, |writer| {
            for &(tsn, stream, ssn, flags) in chunks {
                let (stream, ssn) = (StreamId::new(low(stream)), Ssn::new(low(ssn)));
                let (tsn, ppid) = (self.first_tsn.advance(tsn), PayloadProtocolId::new(0));
                writer.data(&DataHeader { tsn, stream, ssn, ppid, flags }, &vec![7; octets]).unwrap();
            }
        });
    }
}

/// The low half of a number.
pub(crate) fn low(number: u32) -> u16 {
    u16::try_from(number & 0xffff).unwrap()
}

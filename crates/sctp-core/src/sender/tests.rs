//! The sender alone: what SACKs, timers and windows make of its chunks. Packets are written into a buffer and
//! read back; SACKs are written by hand.

use core::time::Duration;

use sctp_wire::{Checksum, Chunk, GapAckBlock, Packet, PacketWriter, SctpPort, StreamId, VerificationTag};

use super::abandon::Failed;
use super::*;
use crate::capabilities::{Capabilities, Capability};
use crate::config::Profile;
use crate::error::SendError;
use crate::event::PathState;
use crate::message::Reliability;
use crate::transmit::{Destination, Encapsulation};

const FIRST: Tsn = Tsn::new(u32::MAX - 2);
const WINDOW: u32 = 100_000;
/// Payload of a chunk that fills a packet of 1400 octets, IPv4 header included.
const FULL: usize = 1400 - 20 - 12 - 16;

struct Bench {
    sender: Sender,
    paths: PathSet,
    /// Where packets go.
    path: PathIndex,
    now: Instant,
}

fn agreed(outbound: u16, capabilities: Capabilities) -> Negotiated {
    Negotiated { outbound, inbound: 10, capabilities }
}

/// A chunk as it left: offset of its TSN from the first, payload octets, I bit.
type Written = (u32, usize, bool);

impl Bench {
    fn new(profile: Profile) -> Self {
        Self::with(profile, |_| {})
    }

    fn with(profile: Profile, change: impl FnOnce(&mut AssociationConfig)) -> Self {
        let mut config = AssociationConfig::profile(profile);
        change(&mut config);
        let peer = Destination { address: [10, 0, 0, 2].into(), encapsulation: Encapsulation::Ip };
        let paths = PathSet::new(peer, &[], &config);
        let mut sender = Sender::new(&config, FIRST);
        sender.on_negotiated(agreed(10, Capabilities::NONE), WINDOW);
        Self { sender, paths, path: PathIndex::FIRST, now: Instant::from_millis(1000) }
    }

    fn pass(&mut self, millis: u64) {
        self.now += Duration::from_millis(millis);
    }

    fn send(&mut self, len: usize) {
        self.sender.send(self.now, Message::ordered(StreamId::new(0), vec![7; len])).unwrap();
    }

    /// One packet, filled by `write`.
    fn packet(&mut self, write: impl FnOnce(&mut Self, &mut PacketWriter<'_>)) -> Vec<Written> {
        let octets = self.octets(write);
        let packet = Packet::decode(&octets, Checksum::Verify).unwrap();
        let written = packet.chunks().map(|chunk| {
            let chunk = chunk.unwrap();
            let Chunk::Data(data) = chunk else { panic!("{chunk}") };
            (FIRST.distance(data.tsn), data.payload.len(), data.flags.immediate)
        });
        written.collect()
    }

    fn octets(&mut self, write: impl FnOnce(&mut Self, &mut PacketWriter<'_>)) -> Vec<u8> {
        self.octets_within(1380, write)
    }

    fn octets_within(
        &mut self,
        limit: usize,
        write: impl FnOnce(&mut Self, &mut PacketWriter<'_>),
    ) -> Vec<u8> {
        let mut octets = Vec::new();
        let port = SctpPort::new(9).unwrap();
        let mut writer = PacketWriter::begin(&mut octets, port, port, VerificationTag::new(1), limit);
        write(self, &mut writer);
        let _len = writer.finish();
        octets
    }

    fn write_new(&mut self) -> Vec<Written> {
        self.packet(|bench, writer| {
            bench.sender.write_new(bench.now, bench.paths.path(bench.path), writer);
        })
    }

    fn write_lost(&mut self) -> Vec<Written> {
        self.packet(|bench, writer| {
            bench.sender.write_lost(bench.now, bench.path, &bench.paths, writer);
        })
    }

    fn write_probe(&mut self) -> Vec<Written> {
        self.packet(|bench, writer| {
            bench.sender.write_probe(bench.now, bench.paths.path(bench.path), bench.path, writer);
        })
    }

    /// `count` messages, each in a packet of its own and `gap` milliseconds apart.
    fn send_apart(&mut self, count: usize, gap: u64) {
        for _ in 0..count {
            self.send(100);
            assert_eq!(self.write_new().len(), 1);
            self.pass(gap);
        }
    }

    fn sack(&mut self, count: u32, gaps: &[(u16, u16)]) -> Result<SackOutcome, SackRefused> {
        self.sack_with(count, WINDOW, gaps, &[])
    }

    fn sack_with(
        &mut self,
        count: u32,
        a_rwnd: u32,
        gaps: &[(u16, u16)],
        duplicates: &[u32],
    ) -> Result<SackOutcome, SackRefused> {
        let mut octets = Vec::new();
        let port = SctpPort::new(9).unwrap();
        let mut writer = PacketWriter::begin(&mut octets, port, port, VerificationTag::new(1), 1380);
        let gaps = gaps.iter().map(|&(start, end)| GapAckBlock { start, end });
        let duplicates = duplicates.iter().map(|offset| FIRST.advance(*offset));
        writer.sack(FIRST.previous().advance(count), a_rwnd, gaps, duplicates).unwrap();
        let _len = writer.finish();
        let packet = Packet::decode(&octets, Checksum::Verify).unwrap();
        let Some(Ok(Chunk::Sack(sack))) = packet.chunks().next() else { panic!("a SACK") };
        self.sender.screen(&sack)?;
        let outcome = self.sender.on_sack(self.now, &sack, &self.paths);
        for (path, rtt) in &outcome.rtt {
            self.paths.on_measurement(*path, self.now, *rtt);
        }
        Ok(outcome)
    }

    /// Established round trip of 20 ms.
    fn measured(profile: Profile) -> Self {
        let mut bench = Self::new(profile);
        bench.paths.on_measurement(PathIndex::FIRST, bench.now, Duration::from_millis(20));
        bench
    }

    /// Five milliseconds later, when the reordering window of a round trip of 20 ms has run out.
    fn look_again(&mut self) -> Losses {
        self.pass(5);
        self.sender.losses_by_time(self.now, &self.paths)
    }

    /// From now on packets take a second path with the same round trip.
    fn change_over(&mut self) {
        let address = [10, 0, 0, 3].into();
        let second = Destination { address, encapsulation: Encapsulation::Ip };
        let _added = self.paths.add(second, PathState::Active, &AssociationConfig::default());
        let twin = PathIndex::new(1);
        self.paths.on_measurement(twin, self.now, Duration::from_millis(20));
        self.path = twin;
    }

    fn flight(&self) -> usize {
        self.sender.flight(PathIndex::FIRST)
    }
}

mod abandoning;
mod detection;
mod recoveries;
mod redundancy;
mod sacks;
mod streams;
mod work;
mod writing;

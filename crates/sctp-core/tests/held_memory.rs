//! What an endpoint counts of what it has received, against what the allocator gave it for that.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on ends here")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use sctp_core::{Datagram, Ecn, Fsn, Mid, Offer, PayloadProtocolId, Ssn, StreamId};
use sctp_wire::{
    ChunkType, ChunkTypes, DataFlags, DataHeader, FragmentLabel, IDataHeader, PacketWriter, Parameter,
};

use crate::by_hand::Hand;
use crate::net::{End, LEFT_PORT, Pair, Reading, Setup};

#[allow(dead_code, reason = "the other tests use the rest")]
#[path = "pair/by_hand.rs"]
mod by_hand;
#[allow(dead_code, reason = "the other tests use the rest")]
#[path = "pair/net.rs"]
mod net;
#[allow(dead_code, reason = "the other tests use the rest")]
#[path = "pair/random.rs"]
mod random;
#[allow(dead_code, reason = "the other tests use the rest")]
#[path = "pair/replay.rs"]
mod replay;

/// Counts the octets that this thread has been given and not given back.
struct Counting;

thread_local! {
    static IN_USE: Cell<isize> = const { Cell::new(0) };
}

fn count(octets: usize, sign: isize) {
    let octets = isize::try_from(octets).unwrap_or(isize::MAX);
    // A thread that ends has no counter any more.
    let _counted = IN_USE.try_with(|in_use| in_use.set(in_use.get() + sign * octets));
}

// SAFETY: everything is passed on to the system's allocator as it came.
#[allow(unsafe_code, reason = "an allocator can be written in no other way")]
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size(), 1);
        // SAFETY: the caller's promise.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        count(layout.size(), -1);
        // SAFETY: the caller's promise.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// An endpoint with one association, whose peer the test writes.
struct Victim {
    pair: Pair,
    hand: Hand,
    held: isize,
}

impl Victim {
    fn new(interleaving: Offer) -> Self {
        let mut pair = Setup::signalling()
            .configure(|config| {
                config.extensions.interleaving = interleaving;
                config.buffers.receive_bytes = 4 << 20;
            })
            .build();
        let mut hand = Hand::new(LEFT_PORT, 5);
        let listed = [ChunkType::I_DATA.get()];
        hand.init_with(&mut pair, &[Parameter::SupportedExtensions(ChunkTypes::new(&listed))]);
        hand.echo(&mut pair);
        pair.with(End::Right, |side, _| side.reading = Reading::Paused);
        Self { pair, hand, held: 0 }
    }

    /// What the endpoint keeps of it is counted.
    fn take(&mut self, write: impl FnOnce(&mut PacketWriter<'_>)) {
        let octets = self.hand.packet(write);
        let source = self.hand.source;
        let held = &mut self.held;
        self.pair.with(End::Right, |side, now| {
            let before = IN_USE.get();
            let datagram = Datagram { source, local: None, ecn: Ecn::NotEct, payload: &octets };
            side.endpoint.handle_packet(now, datagram);
            // They are told of it, and forget it.
            while side.endpoint.poll_event().is_some() {}
            *held += IN_USE.get() - before;
        });
    }

    /// At most so many messages; says how many there were.
    fn read(&mut self, messages: usize) -> usize {
        let held = &mut self.held;
        self.pair.with(End::Right, |side, now| {
            let before = IN_USE.get();
            let id = side.id.unwrap();
            let read = (0..messages).take_while(|_| side.endpoint.receive(now, id).is_some()).count();
            *held += IN_USE.get() - before;
            read
        })
    }

    fn counted(&self) -> usize {
        let side = self.pair.side(End::Right);
        side.endpoint.association(side.id.unwrap()).unwrap().receive_memory_bytes()
    }

    fn data(&mut self, chunks: &[(u32, u16, u16, DataFlags, usize)]) {
        let first = self.hand.next_tsn;
        self.take(|writer| {
            for &(tsn, stream, ssn, flags, len) in chunks {
                let header = DataHeader {
                    tsn: first.advance(tsn),
                    stream: StreamId::new(stream),
                    ssn: Ssn::new(ssn),
                    ppid: PayloadProtocolId::new(0),
                    flags,
                };
                writer.data(&header, &vec![7; len]).unwrap();
            }
        });
    }

    /// Within a tenth of what is held, either way.
    fn check(&self, shape: &str) {
        let (counted, held) = (self.counted(), usize::try_from(self.held).unwrap());
        let is_close = counted * 11 >= held * 10 && counted * 10 <= held * 11;
        assert!(is_close && held > 100_000, "{shape}: {counted} octets counted, {held} held");
    }
}

const WHOLE: DataFlags = DataFlags::WHOLE;
const MIDDLE: DataFlags = DataFlags { immediate: false, unordered: false, beginning: false, ending: false };

/// The low half of a number: SSNs wrap.
fn ssn(number: u32) -> u16 {
    u16::try_from(number & 0xffff).unwrap()
}

/// So many packets, each of so many chunks: as `chunk` says of each by its number.
fn fill(
    victim: &mut Victim,
    packets: u32,
    per_packet: u32,
    chunk: impl Fn(u32) -> (u32, u16, u16, DataFlags, usize),
) {
    for packet in 0..packets {
        let numbers = packet * per_packet..(packet + 1) * per_packet;
        victim.data(&numbers.map(&chunk).collect::<Vec<_>>());
    }
}

#[test]
fn robustness_39_messages_that_wait_for_the_application_count_what_they_hold() {
    for (octets, per_packet) in [(1, 60), (4, 60), (100, 11), (300, 4), (200, 1), (1100, 1), (1300, 1)] {
        let mut victim = Victim::new(Offer::Off);
        fill(&mut victim, 3000, per_packet, |number| (number, 0, ssn(number), WHOLE, octets));
        victim.check(&format!("{per_packet} messages of {octets} octets in a packet"));
        let messages = victim.read(1500 * per_packet as usize);
        victim.check(&format!("{octets} octets, {messages} messages read"));
        victim.read(usize::MAX);
        assert!(victim.counted() == 0 && victim.held < 70_000, "{octets}: {} octets held", victim.held);
    }
}

#[test]
fn robustness_39_blocked_messages_and_fragments_count_what_they_hold() {
    for (octets, per_packet) in [(1, 30), (100, 10)] {
        let mut blocked = Victim::new(Offer::Off);
        fill(&mut blocked, 800, per_packet, |number| (number, 0, ssn(number + 1), WHOLE, octets));
        blocked.check(&format!("blocked messages of {octets} octets"));
        let mut streams = Victim::new(Offer::Off);
        fill(&mut streams, 800, per_packet, |number| {
            (number, ssn(number % 10), ssn(number / 10 + 1), WHOLE, octets)
        });
        streams.check(&format!("blocked messages of {octets} octets in ten streams"));
        let mut apart = Victim::new(Offer::Off);
        fill(&mut apart, 300, per_packet, |number| (1 + 2 * number, 0, 0, MIDDLE, octets));
        apart.check(&format!("fragments of {octets} octets, each apart from the others"));
    }
    let mut together = Victim::new(Offer::Off);
    fill(&mut together, 150, 1, |number| (1 + number, 0, 0, MIDDLE, 1300));
    together.check("fragments of one message");
}

#[test]
fn robustness_39_interleaved_fragments_count_what_they_hold() {
    let mut victim = Victim::new(Offer::On);
    let first = victim.hand.next_tsn;
    for packet in 0..300_u32 {
        victim.take(|writer| {
            for number in packet * 30..(packet + 1) * 30 {
                let (stream, mid) = (StreamId::new(ssn(number % 10)), Mid::new(number));
                let (tsn, label) = (first.advance(number), FragmentLabel::Later(Fsn::new(1)));
                writer.i_data(&IDataHeader { tsn, stream, mid, label, flags: MIDDLE }, &[7]).unwrap();
            }
        });
    }
    victim.check("I-DATA fragments of one octet, each of another message");
}

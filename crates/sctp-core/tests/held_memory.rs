//! What an endpoint counts of what it has received and of what it has to send, against what the allocator gave it for that.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on ends here")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use std::time::Duration;

use sctp_core::{
    AssociationConfig, AssociationId, Datagram, Endpoint, EndpointConfig, Event, Fsn, Message, Mid, Offer,
    PayloadProtocolId, Profile, Reliability, Ssn, StreamId, StreamScheduler,
};
use sctp_wire::{
    ChunkType, ChunkTypes, DataFlags, DataHeader, FragmentLabel, IDataHeader, PacketWriter, Parameter,
};

use crate::by_hand::Hand;
use crate::net::{End, LEFT, LEFT_PORT, Pair, RIGHT, RIGHT_PORT, Reading, Setup, by_ip, port};
use virtual_time::Instant;

#[allow(dead_code, reason = "the other tests use the rest")]
#[path = "pair/by_hand.rs"]
mod by_hand;
#[allow(dead_code, reason = "the other tests use the rest")]
#[path = "pair/dice.rs"]
mod dice;
#[allow(dead_code, reason = "the other tests use the rest")]
#[path = "pair/net.rs"]
mod net;
#[allow(dead_code, reason = "the other tests use the rest")]
#[path = "pair/replay.rs"]
mod replay;

/// Counts what this thread has been given and not given back.
struct Counting;

thread_local! {
    /// The octets asked for.
    static IN_USE: Cell<isize> = const { Cell::new(0) };
    /// The octets that the pieces take, as glibc's allocator has it.
    static TAKEN: Cell<isize> = const { Cell::new(0) };
}

fn count(octets: usize, sign: isize) {
    let add = |octets: usize, to: &Cell<isize>| to.set(to.get() + sign * octets.cast_signed());
    // A thread that ends has no counters any more.
    let _counted = IN_USE.try_with(|in_use| add(octets, in_use));
    let _counted = TAKEN.try_with(|taken| add((octets + 8).next_multiple_of(16).max(32), taken));
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
        hand.streams = 2000;
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
            let before = TAKEN.get();
            let datagram = Datagram::new(source, &octets);
            side.endpoint.handle_packet(now, datagram);
            // They are told of it, and forget it.
            while side.endpoint.poll_event().is_some() {}
            *held += TAKEN.get() - before;
        });
    }

    /// At most so many messages; says how many there were.
    fn read(&mut self, messages: usize) -> usize {
        let held = &mut self.held;
        self.pair.with(End::Right, |side, now| {
            let before = TAKEN.get();
            let id = side.id.unwrap();
            let read = (0..messages).take_while(|_| side.endpoint.receive(now, id).is_some()).count();
            *held += TAKEN.get() - before;
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

    fn check(&self, shape: &str) {
        check(self.counted(), self.held, shape);
    }
}

/// Within a tenth of what is held, either way.
fn check(counted: usize, held: isize, shape: &str) {
    let held = usize::try_from(held).unwrap();
    let is_close = counted * 11 >= held * 10 && counted * 10 <= held * 11;
    assert!(is_close && held > 100_000, "{shape}: {counted} octets counted, {held} held");
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
    for (octets, per_packet) in [
        (1, 60),
        (4, 60),
        (100, 11),
        (300, 4),
        (1, 1),
        (4, 1),
        (30, 1),
        (100, 1),
        (200, 1),
        (1100, 1),
        (1300, 1),
    ] {
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

/// An endpoint that sends, and its peer, without a world between them.
struct Sending {
    sender: Endpoint,
    peer: Endpoint,
    id: AssociationId,
    peer_id: AssociationId,
    now: Instant,
    /// What the sender was given since the association was set up.
    held: isize,
    /// The packets it has sent and the peer has not read yet.
    underway: Vec<Vec<u8>>,
    buffer: Vec<u8>,
}

impl Sending {
    fn new(change: impl FnOnce(&mut AssociationConfig)) -> Self {
        let mut config = AssociationConfig::profile(Profile::Signalling);
        (config.buffers.send_bytes, config.buffers.receive_bytes) = (4 << 20, 8 << 20);
        (config.streams.outbound, config.streams.inbound) = (2000, 2000);
        change(&mut config);
        let endpoint = |number, seed| {
            let mut endpoint = EndpointConfig::new(port(number));
            endpoint.association = config.clone();
            Endpoint::new(endpoint, [seed; 32]).unwrap()
        };
        let (mut sender, peer) = (endpoint(LEFT_PORT, 1), endpoint(RIGHT_PORT, 2));
        let now = Instant::from_millis(1000);
        let id = sender.connect(now, &[by_ip(RIGHT)], port(RIGHT_PORT), config.clone()).unwrap();
        let (underway, buffer) = (Vec::new(), Vec::with_capacity(1 << 16));
        let mut it = Self { sender, peer, id, peer_id: id, now, held: 0, underway, buffer };
        (0..4).for_each(|_| it.trip());
        it.held = 0;
        it
    }

    /// What the sender keeps of this is counted.
    fn by_sender<R>(&mut self, act: impl FnOnce(&mut Endpoint, Instant, AssociationId) -> R) -> R {
        let before = IN_USE.get();
        let result = act(&mut self.sender, self.now, self.id);
        while self.sender.poll_event().is_some() {}
        self.held += IN_USE.get() - before;
        result
    }

    fn send(&mut self, messages: u32, message: impl Fn(u32) -> Message) {
        self.by_sender(|endpoint, now, id| {
            (0..messages).for_each(|number| endpoint.send(now, id, message(number)).unwrap());
        });
    }

    /// Everything leaves that may.
    fn transmit(&mut self) {
        let mut buffer = core::mem::take(&mut self.buffer);
        let mut packets = Vec::new();
        loop {
            buffer.clear();
            let sent = self.by_sender(|endpoint, now, _| endpoint.poll_transmit(now, &mut buffer).is_some());
            if !sent {
                break;
            }
            packets.push(buffer.clone());
        }
        self.underway.append(&mut packets);
        self.buffer = buffer;
    }

    /// The peer reads what is under way and answers; timers of both run for a while.
    fn trip(&mut self) {
        self.trip_of(usize::MAX);
    }

    /// The peer reads so many packets of what is under way.
    fn trip_of(&mut self, packets: usize) {
        self.transmit();
        let packets = packets.min(self.underway.len());
        for packet in self.underway.drain(..packets).collect::<Vec<_>>() {
            let source = by_ip(LEFT);
            let datagram = Datagram::new(source, &packet);
            self.peer.handle_packet(self.now, datagram);
        }
        while let Some((id, event)) = self.peer.poll_event() {
            if matches!(event, Event::CommunicationUp { .. }) {
                self.peer_id = id;
            }
        }
        while self.peer.receive(self.now, self.peer_id).is_some() {}
        self.now += Duration::from_millis(5);
        self.peer.handle_timeout(self.now);
        let mut buffer = Vec::new();
        while self.peer.poll_transmit(self.now, &mut buffer).is_some() {
            let source = by_ip(RIGHT);
            let datagram = Datagram::new(source, &buffer);
            self.by_sender(|endpoint, now, _| endpoint.handle_packet(now, datagram));
            buffer.clear();
        }
        self.by_sender(|endpoint, now, _| endpoint.handle_timeout(now));
    }

    /// The congestion window has room for a quarter of a megabyte and more.
    fn open_window(&mut self) {
        for _ in 0..30 {
            self.send(2000, |_| message(0, 1000));
            while self.counted() > 0 {
                self.trip();
            }
        }
        self.held = 0;
    }

    fn counted(&self) -> usize {
        self.sender.association(self.id).unwrap().send_memory_bytes()
    }

    fn check(&self, shape: &str) {
        check(self.counted(), self.held, shape);
    }
}

/// A message of so many octets in a place of its own.
fn message(stream: u16, octets: usize) -> Message {
    Message::ordered(StreamId::new(stream), vec![7; octets])
}

#[test]
fn robustness_39_messages_to_be_sent_count_what_they_hold_until_they_are_acknowledged() {
    let sizes = [(1, 15_000), (100, 10_000), (1000, 2_500), (5000, 600), (100_000, 30)];
    let framings = [("DATA", Offer::Off), ("I-DATA", Offer::On)];
    for ((octets, messages), (framing, offer)) in
        sizes.into_iter().flat_map(|size| framings.map(|it| (size, it)))
    {
        let shape = |when: &str| format!("{messages} messages of {octets} octets in {framing}, {when}");
        let mut it = Sending::new(|config| config.extensions.interleaving = offer);
        it.send(messages, |_| message(0, octets));
        it.check(&shape("waiting"));
        it.transmit();
        it.check(&shape("some of them sent"));
        let all = it.counted();
        while it.counted() > all / 2 {
            it.trip_of(4);
        }
        it.check(&shape("half of them acknowledged"));
        it.transmit();
        it.check(&shape("more of them sent"));
        while it.counted() > 0 {
            it.trip();
        }
        assert!(it.held < 70_000, "{}: {} octets held", shape("all acknowledged"), it.held);
    }
}

#[test]
fn robustness_39_messages_of_many_streams_and_terms_count_what_they_hold() {
    let hour = Duration::from_secs(3600);
    let terms = [Reliability::Reliable, Reliability::Lifetime(hour), Reliability::Priority(7)];
    let schedulers =
        [StreamScheduler::FirstComeFirstServed, StreamScheduler::RoundRobin, StreamScheduler::WeightedFair];
    for (reliability, scheduler) in
        terms.into_iter().flat_map(|it| schedulers.map(|scheduler| (it, scheduler)))
    {
        for (octets, streams) in [(1, 1), (1, 500), (100, 500)] {
            let shape = |when: &str| {
                format!("{octets} octets, {streams} streams, {reliability:?}, {scheduler:?}, {when}")
            };
            let mut it = Sending::new(|config| config.transmission.scheduler = scheduler);
            // The tables of streams are not messages.
            it.send(u32::from(streams), |number| message(ssn(number), octets));
            (0..200).for_each(|_| it.trip());
            it.held = 0;
            it.send(10_000, |number| Message { reliability, ..message(ssn(number) % streams, octets) });
            it.check(&shape("waiting"));
            it.transmit();
            it.check(&shape("some of them sent"));
            let all = it.counted();
            while it.counted() > all / 2 {
                it.trip_of(4);
            }
            it.check(&shape("half of them acknowledged"));
        }
    }
}

#[test]
fn robustness_39_messages_in_flight_and_given_up_count_what_they_hold() {
    for (octets, reliability) in [(1, Reliability::Reliable), (100, Reliability::Retransmissions(0))] {
        let mut it = Sending::new(|_| {});
        it.open_window();
        it.send(10_000, |_| Message { reliability, ..Message::unordered(StreamId::new(1), vec![7; octets]) });
        it.transmit();
        it.check(&format!("{octets} octets, all of them in flight, {reliability:?}"));
    }
}

#[test]
fn robustness_39_the_send_buffer_holds_no_more_than_its_limit() {
    for octets in [1, 100, 1000, 10_000] {
        let mut it = Sending::new(|config| config.buffers.send_bytes = 1 << 20);
        let mut accepted = 0;
        while it.by_sender(|endpoint, now, id| endpoint.send(now, id, message(0, octets))).is_ok() {
            accepted += 1;
        }
        assert!(it.held <= (1 << 20) * 11 / 10, "{octets}: {} octets held", it.held);
        for _ in 0..20 {
            it.trip();
            let _full = it.by_sender(|endpoint, now, id| endpoint.send(now, id, message(0, octets)));
            assert!(it.held <= (1 << 20) * 11 / 10, "{octets}: {} octets held", it.held);
        }
        assert!(accepted * (octets + 240) >= 1 << 20, "{octets}: {accepted} messages");
    }
}

#[test]
fn robustness_39_the_tables_of_streams_count_what_they_hold() {
    let mut sending = Sending::new(|_| {});
    let table = |it: &Sending| it.sender.association(it.id).unwrap().stream_table_bytes();
    let before = table(&sending);
    for batch in 0..20 {
        sending.send(100, |number| message(ssn(100 * batch + number), 1));
        while sending.counted() > 0 {
            sending.trip();
        }
    }
    check(table(&sending) - before, sending.held, "2000 outgoing streams");
    assert!(table(&sending) < 2000 * 120);

    let mut blocked = Victim::new(Offer::Off);
    let mut tsn = 0;
    for number in [1, 0] {
        for streams in (0..2000).collect::<Vec<u32>>().chunks(50) {
            let chunk = |stream: &u32| {
                tsn += 1;
                (tsn - 1, ssn(*stream), number, WHOLE, 1)
            };
            blocked.data(&streams.iter().map(chunk).collect::<Vec<_>>());
        }
        blocked.pair.run_ms(1);
    }
    while blocked.read(1000) > 0 {}
    let side = blocked.pair.side(End::Right);
    let table = side.endpoint.association(side.id.unwrap()).unwrap().stream_table_bytes();
    // Places of what is ready are kept for the next messages.
    check(table + 1024 * 64, blocked.held, "2000 incoming streams");
}

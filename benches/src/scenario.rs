//! What is counted: one part of the engine's work at a time, or all of it while something becomes large.

use std::collections::VecDeque;

use sctp_core::{AssociationId, Message, MessageBundling};
use virtual_time::Instant;

use crate::counting::counted;
use crate::load::Mode;
use crate::pair::{BATCH_PACKETS, Flight, Framing, Host, Pair, Traffic, config, connect, hosts};

/// Parts of what a packet of messages costs, both ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// The user hands messages in.
    HandIn,
    /// Packets are written.
    Send,
    /// Packets are read.
    Receive,
    /// The user reads messages.
    Read,
    /// A SACK for a batch is written, and read.
    Sack,
    /// All of it.
    All,
}

impl Part {
    /// In the order of a packet's way.
    pub const ALL: [Self; 6] = [Self::HandIn, Self::Send, Self::Receive, Self::Read, Self::Sack, Self::All];
}

const BUFFERED_BYTES: usize = 256 << 10;

/// Counts one part of the work of messages of this size; gives the packets it was for.
///
/// # Panics
/// When nothing moves.
pub fn part(part: Part, mode: Mode, octets: usize, messages: u64) -> u64 {
    let mut pair = Pair::new(&mode.config());
    let mut next = mode.messages(octets);
    pair.run(messages / 2, BUFFERED_BYTES, &mut next);
    let mut packets = 0;
    let mut read = 0;
    let count = |which: Part, work: &mut dyn FnMut()| {
        if which == part || part == Part::All { counted(work) } else { work() }
    };
    while read < messages {
        count(Part::HandIn, &mut || pair.send(&mut next, BUFFERED_BYTES));
        count(Part::Send, &mut || packets += pair.left.transmit(pair.now, BATCH_PACKETS) as u64);
        pair.pass_trip();
        count(Part::Receive, &mut || pair.right.take(pair.now, &pair.left));
        count(Part::Read, &mut || read += pair.right.read(pair.now, pair.right_id).0);
        pair.right.forget_events();
        count(Part::Sack, &mut || {
            pair.right.transmit(pair.now, BATCH_PACKETS);
            pair.left.take(pair.now, &pair.right);
        });
        pair.left.forget_events();
        pair.pass_trip();
    }
    packets
}

/// Counts handshakes.
pub fn handshakes(count: u16) -> u64 {
    let config = config(Framing::Data, 64);
    let (mut left, mut right) = hosts(&config);
    let mut now = Instant::from_millis(1000);
    for number in 0..count {
        counted(&mut || {
            connect(&mut left, &mut right, &mut now, &config, number);
        });
    }
    u64::from(count)
}

/// Counts round trips of single messages, each echoed before the next is sent; gives packets.
///
/// # Panics
/// When a message does not arrive.
pub fn round_trips(octets: usize, count: u64) -> u64 {
    let mode = Mode::Ordered;
    let mut pair = Pair::new(&mode.config());
    let mut next = mode.messages(octets);
    let mut trip = |pair: &mut Pair| {
        hop(pair.now, (&mut pair.left, pair.left_id), (&mut pair.right, pair.right_id), next());
        pair.pass_trip();
        hop(pair.now, (&mut pair.right, pair.right_id), (&mut pair.left, pair.left_id), next());
        pair.pass_trip();
    };
    (0..100).for_each(|_| trip(&mut pair));
    counted(&mut || (0..count).for_each(|_| trip(&mut pair)));
    2 * count
}

/// A message from end to end, in one packet.
fn hop(now: Instant, from: (&mut Host, AssociationId), to: (&mut Host, AssociationId), message: Message) {
    from.0.endpoint.send(now, from.1, message).expect("there is room");
    assert_eq!(from.0.transmit(now, BATCH_PACKETS), 1, "it takes its acknowledgment along");
    to.0.take(now, from.0);
    to.0.forget_events();
    assert_eq!(to.0.read(now, to.1).0, 1);
}

/// Counts everything while messages go over so many streams in turn; gives packets.
pub fn streams(streams: u16) -> u64 {
    let mode = Mode::Streams(streams);
    let mut pair = Pair::new(&mode.config());
    let mut next = mode.messages(100);
    // Every stream has been used before.
    pair.run(70_000, BUFFERED_BYTES, &mut next);
    let mut traffic = Traffic::default();
    counted(&mut || traffic = pair.run(70_000, BUFFERED_BYTES, &mut next));
    traffic.packets
}

/// Counts everything while about so many chunks of 100 octets are outstanding; gives packets.
pub fn outstanding(chunks: usize) -> u64 {
    let mode = Mode::Ordered;
    let mut config = mode.config();
    (config.buffers.send_bytes, config.buffers.receive_bytes) = (OUTSTANDING_BYTES, OUTSTANDING_BYTES);
    // With many outstanding the window is the limit: packets would be filled, and hold other chunks than with few.
    config.transmission.bundling = MessageBundling::On;
    let mut pair = Pair::new(&config);
    let mut next = mode.messages(100);
    let mut pipe: VecDeque<Flight> = VecDeque::new();
    let mut batch = |pair: &mut Pair, depth: usize, pipe: &mut VecDeque<Flight>| {
        pair.send(&mut next, OUTSTANDING_BYTES);
        let packets = pair.left.transmit(pair.now, BATCH_PACKETS) as u64;
        if packets > 0 {
            pipe.push_back(pair.left.detach());
        }
        pair.pass_trip();
        let in_pipe: usize = pipe.iter().map(Flight::packets).sum();
        if in_pipe * CHUNKS_PER_PACKET >= depth || packets == 0 {
            if let Some(arriving) = pipe.pop_front() {
                pair.right.take_flight(pair.now, &arriving);
            }
            pair.right.read(pair.now, pair.right_id);
            pair.right.forget_events();
            pair.right.transmit(pair.now, BATCH_PACKETS);
            pair.left.take(pair.now, &pair.right);
            pair.left.forget_events();
        }
        packets
    };
    // The window opens by a packet with each SACK.
    (0..chunks / CHUNKS_PER_PACKET + 100).for_each(|_| {
        batch(&mut pair, chunks, &mut pipe);
    });
    let mut packets = 0;
    counted(&mut || packets = (0..200).map(|_| batch(&mut pair, chunks, &mut pipe)).sum());
    packets
}

/// Room for more messages of 100 octets than can be outstanding.
const OUTSTANDING_BYTES: usize = 16 << 20;

/// Messages of 100 octets in a packet of 1400.
const CHUNKS_PER_PACKET: usize = 11;

/// Counts everything while so many associations send a message in turn; gives packets.
pub fn associations(count: u16) -> u64 {
    let config = config(Framing::Data, 16);
    let (mut left, mut right) = hosts(&config);
    let mut now = Instant::from_millis(1000);
    let ids: Vec<(AssociationId, AssociationId)> =
        (0..count).map(|number| connect(&mut left, &mut right, &mut now, &config, number)).collect();
    let mut next = Mode::Ordered.messages(1000);
    let mut turn = |left: &mut Host, right: &mut Host, now: Instant, id: (AssociationId, AssociationId)| {
        left.endpoint.send(now, id.0, next()).expect("there is room");
        left.transmit(now, BATCH_PACKETS);
        right.take(now, left);
        right.read(now, id.1);
        right.forget_events();
        right.transmit(now, BATCH_PACKETS);
        left.take(now, right);
        left.forget_events();
    };
    let rounds = 20_000 / usize::from(count);
    ids.iter().for_each(|&id| turn(&mut left, &mut right, now, id));
    counted(&mut || {
        for _ in 0..rounds {
            ids.iter().for_each(|&id| turn(&mut left, &mut right, now, id));
        }
    });
    (rounds * ids.len()) as u64
}

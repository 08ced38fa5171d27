//! The attacks of peers that have an association, and of users and peers who let things lie.

use core::time::Duration;

use sctp_core::{EndpointConfig, EventLimit, Message, StreamId};
use sctp_wire::{
    Cause, ChunkBuf, DataFlags, FragmentLabel, Fsn, GapAckBlock, IDataHeader, Mid, OutgoingSsnReset,
    Parameter, ReconfigSequence, SkippedSsn, Ssn, StreamIds, Tsn,
};

use crate::Course;
use crate::addresses::addresses_by_asconf;
use crate::floods::{ASSOCIATIONS, IDLE_BYTES, SPENT_BYTES, UNHEARD_BYTES};
use crate::floods::{inits, many_hosts, one_host, out_of_the_blue, replayed_cookies, unheard_aborts};
use crate::peer::{MIDDLE, Peer, WHOLE, low};
use crate::victim::{Victim, config};

pub(crate) struct Attack {
    pub(crate) name: &'static str,
    /// The octets that the endpoint may hold because of it, as configured.
    pub(crate) limit: usize,
    /// The growth below which the attack has not filled what it is meant to fill.
    pub(crate) least: usize,
    pub(crate) run: fn(Course),
}

/// An attack that fills at least three quarters of its limit.
const fn filling(name: &'static str, limit: usize, run: fn(Course)) -> Attack {
    Attack { name, limit, least: limit / 4 * 3, run }
}

/// An attack that is to leave less behind.
const fn passing(name: &'static str, limit: usize, run: fn(Course)) -> Attack {
    Attack { name, limit, least: 0, run }
}

pub(crate) const ATTACKS: [Attack; 19] = [
    passing("INITs from 50,000 addresses, some of them before answers can leave", 0, inits),
    passing("packets out of the blue, likewise", 0, out_of_the_blue),
    passing("cookies of associations that are over, again and again", SPENT_BYTES, replayed_cookies),
    filling("associations of one host", ASSOCIATIONS / 2 * IDLE_BYTES, one_host),
    filling("associations of many hosts", ASSOCIATIONS * IDLE_BYTES, many_hosts),
    filling("associations aborted with texts nobody reads", ASSOCIATIONS * UNHEARD_BYTES, unheard_aborts),
    filling("fragments that never complete a message", RECEIVED_BYTES, fragments),
    filling("fragments in I-DATA, of one octet", RECEIVED_BYTES, i_data_fragments),
    filling("messages of 4 octets that nobody reads, in 2000 streams", RECEIVED_BYTES, unread),
    filling("messages of 4 octets that wait for one before them", RECEIVED_BYTES, blocked),
    filling("windows that stay shut before messages of 20 octets", MANY * BUFFER_BYTES, shut_windows),
    filling("SACKs with gaps everywhere, taken back again and again", MANY * BUFFER_BYTES, gaps),
    filling("messages of 20 octets that expire, and nobody asks", MANY * (EVENT_BYTES + FEW_BYTES), expired),
    filling("ERROR chunks with long texts, and nobody asks", MANY * EVENT_BYTES, errors),
    filling("streams reset again and again, and nobody asks", MANY * EVENT_BYTES, stream_resets),
    filling("addresses added and deleted, and nobody asks", MANY * EVENT_BYTES, addresses_by_asconf),
    filling("messages skipped in 2000 streams (FORWARD TSN)", MANY * 2048 * STREAM_BYTES, skipped),
    filling("HEARTBEATs, and no answer can leave", ECHOING * (64 << 10), heartbeats),
    passing("restarts with full buffers, and nobody asks or reads", RESTARTED_BYTES, restarts),
];

/// Peers of an attack.
pub(crate) const MANY: usize = 64;
const PEERS: u32 = 64;

/// What all associations may hold of what was received.
const RECEIVED_BYTES: usize = 32 << 20;
/// The send buffer of an association.
const BUFFER_BYTES: usize = 512 << 10;
/// One that is small.
const FEW_BYTES: usize = 64 << 10;
/// What events of an association may hold, of either kind.
pub(crate) const EVENT_BYTES: usize = 512 << 10;
/// What a stream in use costs: the number it waits for, and how long its messages waited.
const STREAM_BYTES: usize = 64;
/// The associations with a queue of answers full.
const ECHOING: usize = 500;
/// Unread events, messages to send and messages received.
const RESTARTED_BYTES: usize = MANY * (2 * FEW_BYTES + FEW_BYTES + 3 * FEW_BYTES);

/// The limits of an association on what is sent and on events.
pub(crate) fn with_limits(send_bytes: usize, event_bytes: usize) -> EndpointConfig {
    let mut config = config();
    let buffers = &mut config.association.buffers;
    (buffers.send_bytes, buffers.message_bytes) = (send_bytes, send_bytes / 2);
    let limit = EventLimit { number: usize::MAX, bytes: event_bytes };
    (buffers.events.notices, buffers.events.failures) = (limit, Some(limit));
    config
}

fn with_received_bytes() -> EndpointConfig {
    let mut config = config();
    (config.association_limit, config.receive_memory_bytes) = (MANY, RECEIVED_BYTES);
    (config.crowds.network_percent, config.crowds.reserve_percent) = (100, 0);
    config
}

/// Each of the peers sends so many packets, in turns, each of so many chunks: as `chunk` says by their number.
fn send_each(
    course: Course,
    [packets, per_packet, octets]: [u32; 3],
    chunk: fn(u32) -> (u32, u32, u32, DataFlags),
) {
    let mut victim = Victim::new(with_received_bytes());
    let peers = Peer::established(&mut victim, PEERS);
    for packet in course.of(packets) {
        let numbers = packet * per_packet..(packet + 1) * per_packet;
        let chunks: Vec<_> = numbers.map(chunk).collect();
        peers.iter().for_each(|peer| peer.data(&mut victim, &chunks, octets as usize));
    }
}

fn fragments(course: Course) {
    send_each(course, [450, 2, 500], |number| (1 + 2 * number, 0, 0, MIDDLE));
}

fn unread(course: Course) {
    send_each(course, [110, 60, 4], |number| (number, number % 2000, number / 2000, WHOLE));
}

fn blocked(course: Course) {
    send_each(course, [110, 60, 4], |number| (number, number % 2000, number / 2000 + 1, WHOLE));
}

fn i_data_fragments(course: Course) {
    let mut victim = Victim::new(with_received_bytes());
    let peers = Peer::interleaving(&mut victim, PEERS);
    for packet in course.of(150) {
        for peer in &peers {
            peer.tell(&mut victim, |writer| {
                for number in packet * 30..(packet + 1) * 30 {
                    let (stream, mid) = (StreamId::new(low(number % 10)), Mid::new(number));
                    let (tsn, label) = (peer.first_tsn.advance(number), FragmentLabel::Later(Fsn::new(1)));
                    writer.i_data(&IDataHeader { tsn, stream, mid, label, flags: MIDDLE }, &[7]).unwrap();
                }
            });
        }
    }
}

fn message() -> Message {
    Message::ordered(StreamId::new(0), vec![7; 20])
}

fn shut_windows(course: Course) {
    let mut victim = Victim::new(with_limits(BUFFER_BYTES, FEW_BYTES));
    let peers = Peer::established(&mut victim, PEERS);
    for _ in course.of(1) {
        peers.iter().for_each(|peer| while victim.send(peer.id.unwrap(), message()) {});
    }
}

/// Everything is acknowledged until much may be in flight; then every second chunk is, and the others, in turns.
fn gaps(course: Course) {
    let mut victim = Victim::new(with_limits(BUFFER_BYTES, FEW_BYTES));
    let mut peers = Vec::new();
    for number in 0..PEERS {
        let mut peer = Peer::new(11, number << 8);
        peer.a_rwnd = LARGE_WINDOW;
        assert!(peer.establish(&mut victim));
        peers.push(peer);
    }
    let mut acknowledged: Vec<Tsn> = peers.iter().map(|peer| peer.victims_tsn.previous()).collect();
    for round in course.of(20) {
        for (peer, cumulative) in peers.iter().zip(&mut acknowledged) {
            victim.watch(peer.tag(), *cumulative);
            while victim.send(peer.id.unwrap(), message()) {}
            let block = |number: u16| GapAckBlock { start: number, end: number };
            let outstanding = low(cumulative.distance(victim.last_tsn).min(6000));
            let gaps = (2 + low(round % 2)..=outstanding).step_by(2).map(block);
            if round < 12 {
                *cumulative = victim.last_tsn;
                peer.sack(&mut victim, *cumulative, &[]);
            } else {
                peer.sack(&mut victim, *cumulative, &gaps.collect::<Vec<_>>());
            }
        }
        victim.pass(Duration::from_millis(300));
    }
}

const LARGE_WINDOW: u32 = 1 << 30;

fn expired(course: Course) {
    let mut victim = Victim::new(with_limits(FEW_BYTES, EVENT_BYTES));
    let peers = Peer::established(&mut victim, PEERS);
    victim.asks = false;
    let lifetime = Duration::from_millis(20);
    for _ in course.of(30) {
        peers.iter().for_each(
            |peer| {
                while victim.send(peer.id.unwrap(), message().with_lifetime(lifetime)) {}
            },
        );
        victim.pass(2 * lifetime);
    }
}

fn errors(course: Course) {
    let mut victim = Victim::new(with_limits(FEW_BYTES, EVENT_BYTES));
    let peers = Peer::established(&mut victim, PEERS);
    victim.asks = false;
    for number in course.of(2000) {
        let reason = [&number.to_be_bytes()[..], &[1; 1200]].concat();
        let error = ChunkBuf::error(&[Cause::UserInitiatedAbort(&reason)]).unwrap();
        peers.iter().for_each(|peer| peer.say(&mut victim, &error));
    }
}

fn stream_resets(course: Course) {
    let mut victim = Victim::new(with_limits(FEW_BYTES, EVENT_BYTES));
    let peers = Peer::established(&mut victim, PEERS);
    victim.asks = false;
    let streams: Vec<[u8; 2]> = (0..100_u16).map(u16::to_be_bytes).collect();
    for number in course.of(2000) {
        for peer in &peers {
            let request = ReconfigSequence::new(peer.first_tsn.get() + number);
            let (response, last_tsn) = (ReconfigSequence::new(0), peer.first_tsn.previous());
            let streams = StreamIds::new(&streams);
            let reset = OutgoingSsnReset { request, response, last_tsn, streams };
            peer.tell(&mut victim, |writer| writer.re_config(&[Parameter::OutgoingSsnReset(reset)]).unwrap());
        }
    }
}

fn skipped(course: Course) {
    let mut victim = Victim::new(with_received_bytes());
    let peers = Peer::established(&mut victim, PEERS);
    for packet in course.of(40) {
        let numbers = packet * 50..(packet + 1) * 50;
        // The first message of each stream is missing, and with it every second TSN.
        let second: Vec<_> = numbers.clone().map(|number| (2 * number + 1, number, 1, WHOLE)).collect();
        for peer in &peers {
            peer.data(&mut victim, &second, 4);
            // So that it counts that they waited.
            victim.pass(Duration::from_millis(1));
            let last = peer.first_tsn.advance(2 * numbers.end - 1);
            let skip = |number| SkippedSsn { stream: StreamId::new(low(number)), ssn: Ssn::new(0) };
            peer.tell(&mut victim, |writer| writer.forward_tsn(last, numbers.clone().map(skip)).unwrap());
            let read = || victim.endpoint.receive(victim.now, peer.id.unwrap());
            assert_eq!(core::iter::from_fn(read).count(), second.len());
        }
    }
}

fn heartbeats(course: Course) {
    let mut victim = Victim::new(config());
    let peers = Peer::established(&mut victim, u32::try_from(ECHOING).unwrap());
    victim.transmits = false;
    for number in course.of(50) {
        let info = [&number.to_be_bytes()[..], &[1; 1980]].concat();
        peers.iter().for_each(|peer| peer.tell(&mut victim, |writer| writer.heartbeat(&info).unwrap()));
    }
}

fn restarts(course: Course) {
    let mut config = with_limits(FEW_BYTES, FEW_BYTES);
    config.association.buffers.receive_bytes = FEW_BYTES;
    (config.association_limit, config.crowds.network_percent) = (MANY, 100);
    config.crowds.reserve_percent = 0;
    let mut victim = Victim::new(config);
    let mut peers = Peer::established(&mut victim, PEERS);
    victim.asks = false;
    for _ in course.of(30) {
        for peer in &mut peers {
            while victim.send(peer.id.unwrap(), message()) {}
            for packet in 0..40 {
                let chunk = |number| (number, number % 2000, 0, WHOLE);
                let chunks: Vec<_> = (packet * 60..(packet + 1) * 60).map(chunk).collect();
                peer.data(&mut victim, &chunks, 4);
            }
            peer.begin_anew(&mut victim);
        }
    }
}

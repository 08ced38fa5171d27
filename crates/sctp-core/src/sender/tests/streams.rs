//! Streams: schedulers (RFC 8260 §3), I-DATA (§2), and what re-configuration asks for (RFC 6525).

use core::num::NonZeroU16;

use sctp_wire::{FragmentLabel, Fsn, Mid, Ssn};

use super::*;
use crate::config::StreamScheduler;
use crate::steps;
use crate::stream_set::StreamSet;

impl Bench {
    fn scheduled(scheduler: StreamScheduler) -> Self {
        Self::with(Profile::Rfc9260, |config| config.transmission.scheduler = scheduler)
    }

    fn interleaving(mut self) -> Self {
        let capabilities = Capabilities::NONE.with(Capability::Interleaving);
        self.sender.on_negotiated(agreed(10, capabilities), WINDOW);
        self
    }

    fn send_on(&mut self, stream: u16, len: usize) {
        self.sender.send(self.now, Message::ordered(StreamId::new(stream), vec![7; len])).unwrap();
    }

    /// One packet of new chunks and the acknowledgment of all: stream and payload octets of each.
    fn streams_of_packet(&mut self) -> Vec<(u16, usize)> {
        let octets = self.octets(|bench, writer| {
            bench.sender.write_new(bench.now, bench.paths.path(PathIndex::FIRST), writer);
        });
        let packet = Packet::decode(&octets, Checksum::Verify).unwrap();
        let chunks = packet.chunks().map(|chunk| {
            let chunk = chunk.unwrap();
            if let Chunk::IData(data) = chunk {
                return (data.stream.get(), data.payload.len());
            }
            let Chunk::Data(data) = chunk else { panic!("{chunk}") };
            (data.stream.get(), data.payload.len())
        });
        let chunks = chunks.collect();
        self.sack(FIRST.distance(self.sender.outstanding.next_tsn()), &[]).unwrap();
        chunks
    }

    /// Octets that each of the streams 0 to 2 sends in this many packets.
    fn shares(&mut self, packets: usize) -> [usize; 3] {
        let mut shares = [0; 3];
        for (stream, octets) in (0..packets).flat_map(|_| self.streams_of_packet()) {
            shares[usize::from(stream)] += octets;
        }
        shares
    }
}

fn id(stream: u16) -> StreamId {
    StreamId::new(stream)
}

fn only(stream: u16) -> StreamSet {
    StreamSet::of_list([id(stream)])
}

#[test]
fn first_come_is_first_served_over_all_streams_rfc_8260_3_1() {
    let mut bench = Bench::scheduled(StreamScheduler::FirstComeFirstServed);
    [2, 0, 2, 1].into_iter().for_each(|stream| bench.send_on(stream, 100));
    assert_eq!(bench.streams_of_packet(), [(2, 100), (0, 100), (2, 100), (1, 100)]);
}

#[test]
fn round_robin_takes_a_message_of_each_stream_in_turn_rfc_8260_3_2() {
    let mut bench = Bench::scheduled(StreamScheduler::RoundRobin);
    (0..3).for_each(|_| bench.send_on(0, 100));
    bench.send_on(1, 200);
    bench.send_on(1, 200);
    bench.send_on(2, 50);
    let order = [(0, 100), (1, 200), (2, 50), (0, 100), (1, 200), (0, 100)];
    assert_eq!(bench.streams_of_packet(), order);
}

/// Without interleaving a turn is a message, whatever its length; with it a chunk.
#[test]
fn round_robin_turns_with_messages_in_data_and_with_chunks_in_i_data() {
    let mut bench = Bench::scheduled(StreamScheduler::RoundRobin);
    bench.send_on(0, 2 * FULL);
    bench.send_on(1, FULL);
    assert_eq!(bench.shares(2), [2 * FULL, 0, 0]);
    let mut bench = Bench::scheduled(StreamScheduler::RoundRobin).interleaving();
    bench.send_on(0, 2 * (FULL - 4));
    bench.send_on(1, FULL - 4);
    assert_eq!(bench.shares(2), [FULL - 4, FULL - 4, 0]);
}

#[test]
fn round_robin_per_packet_fills_a_packet_from_one_stream_rfc_8260_3_3() {
    let mut bench = Bench::scheduled(StreamScheduler::RoundRobinPerPacket);
    for stream in [0, 1, 0, 1, 0, 2] {
        bench.send_on(stream, 600);
    }
    assert_eq!(bench.streams_of_packet(), [(0, 600), (0, 600)]);
    assert_eq!(bench.streams_of_packet(), [(1, 600), (1, 600)]);
    assert_eq!(bench.streams_of_packet(), [(2, 600)], "the room that is left stays empty");
    assert_eq!(bench.streams_of_packet(), [(0, 600)]);
}

#[test]
fn lower_priority_starves_while_a_higher_one_has_something_rfc_8260_3_4() {
    let mut bench = Bench::scheduled(StreamScheduler::Priority);
    bench.sender.set_stream_share(id(1), |share| share.priority = 1).unwrap();
    for stream in [0, 2, 1, 1, 0, 2, 1] {
        bench.send_on(stream, FULL);
    }
    assert_eq!(bench.shares(3), [0, 3 * FULL, 0]);
    bench.send_on(1, FULL);
    assert_eq!(bench.shares(1), [0, FULL, 0], "also one that comes later");
    assert_eq!(bench.shares(2), [FULL, 0, FULL], "equals take turns");
}

/// RFC 8260 §3.4: with interleaving a long message of lower priority holds nobody up.
#[test]
fn higher_priority_interrupts_a_message_only_in_i_data() {
    for (interleaves, expected) in [(false, 0), (true, 2)] {
        let mut bench = Bench::scheduled(StreamScheduler::Priority);
        if interleaves {
            bench = bench.interleaving();
        }
        bench.sender.set_stream_share(id(2), |share| share.priority = 1).unwrap();
        bench.send_on(0, 4 * FULL);
        bench.streams_of_packet();
        bench.send_on(2, 10);
        assert_eq!(bench.streams_of_packet()[0].0, expected);
    }
}

#[test]
fn fair_capacity_gives_every_stream_the_same_octets_rfc_8260_3_5() {
    let mut bench = Bench::scheduled(StreamScheduler::FairCapacity);
    for _ in 0..100 {
        bench.send_on(0, 100);
        bench.send_on(1, 400);
        bench.send_on(2, 1200);
    }
    let shares = bench.shares(20);
    let (least, most) = (shares.iter().min().unwrap(), shares.iter().max().unwrap());
    assert!(most - least <= 1200, "{shares:?}: apart by no more than a message");
}

#[test]
fn weights_one_to_three_give_octets_one_to_three_rfc_8260_3_6() {
    for interleaves in [false, true] {
        let mut bench = Bench::scheduled(StreamScheduler::WeightedFair);
        if interleaves {
            bench = bench.interleaving();
        }
        let weight = |weight| NonZeroU16::new(weight).unwrap();
        bench.sender.set_stream_share(id(0), |share| share.weight = weight(100)).unwrap();
        bench.sender.set_stream_share(id(1), |share| share.weight = weight(300)).unwrap();
        for _ in 0..40 {
            bench.send_on(0, 700);
            bench.send_on(1, 700);
        }
        let [first, second, _] = bench.shares(20);
        assert!(first.abs_diff(second / 3) <= 1400, "{first} to {second}");
    }
}

#[test]
fn silent_stream_saves_up_no_capacity() {
    let mut bench = Bench::scheduled(StreamScheduler::FairCapacity);
    (0..20).for_each(|_| bench.send_on(0, FULL));
    bench.shares(10);
    (0..10).for_each(|_| bench.send_on(1, FULL));
    let [first, second, _] = bench.shares(10);
    assert!(first.abs_diff(second) <= FULL, "{first} and {second}");
}

#[test]
fn share_of_a_stream_that_was_not_negotiated_is_refused() {
    let mut bench = Bench::scheduled(StreamScheduler::Priority);
    let error = bench.sender.set_stream_share(id(10), |share| share.priority = 1).unwrap_err();
    assert_eq!(error.to_string(), "stream 10 does not exist; 10 streams were negotiated");
}

#[test]
fn statistics_of_a_stream_tell_queued_from_sent() {
    let mut bench = Bench::new(Profile::Rfc9260);
    bench.send_on(3, FULL + 100);
    bench.send_on(3, 50);
    bench.streams_of_packet();
    let statistics = bench.sender.stream_statistics(id(3));
    assert_eq!((statistics.messages_queued, statistics.octets_queued), (2, FULL as u64 + 150));
    assert_eq!((statistics.messages_sent, statistics.octets_sent), (0, FULL as u64));
    bench.streams_of_packet();
    let statistics = bench.sender.stream_statistics(id(3));
    assert_eq!((statistics.messages_sent, statistics.octets_sent), (2, FULL as u64 + 150));
    assert_eq!(bench.sender.stream_statistics(id(2)), crate::stats::StreamStatistics::default());
}

/// RFC 8260 §2.1: MIDs of ordered and unordered messages count apart, FSNs within a message, PPID in the first.
#[test]
fn i_data_numbers_messages_by_stream_and_order_and_fragments_by_message() {
    let mut bench = Bench::new(Profile::Rfc9260).interleaving();
    let mut long = Message::unordered(id(1), vec![7; FULL + 100]);
    long.ppid = sctp_wire::PayloadProtocolId::new(46);
    bench.send_on(1, 10);
    bench.send_on(0, 10);
    bench.send_on(1, 10);
    bench.sender.send(bench.now, long).unwrap();
    let mut seen = Vec::new();
    for _ in 0..2 {
        let octets = bench.octets(|bench, writer| {
            bench.sender.write_new(bench.now, bench.paths.path(PathIndex::FIRST), writer);
        });
        let packet = Packet::decode(&octets, Checksum::Verify).unwrap();
        for chunk in packet.chunks() {
            let Ok(Chunk::IData(data)) = chunk else { panic!("I-DATA only") };
            seen.push((data.stream.get(), data.flags.unordered, data.mid, data.label));
        }
    }
    let ppid = |ppid| FragmentLabel::Beginning(sctp_wire::PayloadProtocolId::new(ppid));
    let whole = [(1, false, 0), (0, false, 0), (1, false, 1)];
    let mut expected: Vec<_> = whole.map(|(stream, u, mid)| (stream, u, Mid::new(mid), ppid(0))).into();
    expected.push((1, true, Mid::new(0), ppid(46)));
    expected.push((1, true, Mid::new(0), FragmentLabel::Later(Fsn::new(1))));
    assert_eq!(seen, expected);
}

/// The header of I-DATA is four octets longer: packets stay within the path MTU, flight counts it.
#[test]
fn i_data_header_counts_in_packets_and_flight() {
    let mut bench = Bench::new(Profile::Rfc9260).interleaving();
    bench.send(FULL);
    let octets = bench.octets(|bench, writer| {
        bench.sender.write_new(bench.now, bench.paths.path(PathIndex::FIRST), writer);
    });
    assert_eq!(octets.len(), 1380);
    assert_eq!(bench.flight(), 1380 - 12);
    assert_eq!(bench.streams_of_packet(), [(0, 4)]);
    assert_eq!(bench.flight(), 0);
}

/// RFC 6525 §5.1.2: what was begun is finished, nothing further is begun, other streams go on.
#[test]
fn held_stream_finishes_its_message_and_begins_no_other() {
    for interleaves in [false, true] {
        let mut bench = Bench::new(Profile::Rfc9260);
        if interleaves {
            bench = bench.interleaving();
        }
        bench.send_on(1, FULL + 200);
        bench.streams_of_packet();
        bench.sender.hold_streams(only(1));
        bench.send_on(1, 10);
        bench.send_on(2, 20);
        assert!(!bench.sender.is_drained());
        let rest = if interleaves { 204 } else { 200 };
        assert_eq!(bench.streams_of_packet(), [(1, rest), (2, 20)]);
        assert!(bench.sender.is_drained() && !bench.sender.is_dry());
        assert_eq!(bench.streams_of_packet(), []);
        bench.sender.release_streams();
        assert_eq!(bench.streams_of_packet(), [(1, 10)]);
        assert!(bench.sender.is_dry());
    }
}

#[test]
fn unacknowledged_chunk_keeps_a_stream_from_being_drained() {
    let mut bench = Bench::new(Profile::Rfc9260);
    bench.send_on(1, 10);
    bench.write_new();
    assert!(!bench.sender.is_drained());
    for (streams, expected) in [(only(1), false), (only(0), true), (StreamSet::ALL, false)] {
        bench.sender.hold_streams(streams);
        assert_eq!(bench.sender.is_drained(), expected);
    }
    bench.sack(1, &[]).unwrap();
    assert!(bench.sender.is_drained());
}

/// RFC 6525 §5.2.2; messages that waited keep their place among all.
#[test]
fn reset_stream_begins_with_ssn_zero_and_what_waited_keeps_its_place() {
    let mut bench = Bench::new(Profile::Rfc9260);
    bench.send_on(1, 10);
    bench.send_on(2, 10);
    bench.streams_of_packet();
    bench.sender.hold_streams(only(1));
    bench.send_on(1, 11);
    bench.send_on(2, 12);
    assert_eq!(bench.sender.last_assigned_tsn(), FIRST.next());
    bench.sender.reset_streams(&only(1));
    let octets = bench.octets(|bench, writer| {
        bench.sender.write_new(bench.now, bench.paths.path(PathIndex::FIRST), writer);
    });
    let packet = Packet::decode(&octets, Checksum::Verify).unwrap();
    let chunks = packet.chunks().map(|chunk| {
        let Ok(Chunk::Data(data)) = chunk else { panic!("DATA") };
        (data.stream.get(), data.ssn, data.payload.len())
    });
    assert_eq!(chunks.collect::<Vec<_>>(), [(1, Ssn::new(0), 11), (2, Ssn::new(1), 12)]);
}

/// RFC 6525 §5.2.5.
#[test]
fn added_streams_can_be_used_and_never_exceed_what_ids_allow() {
    let mut bench = Bench::new(Profile::Rfc9260);
    let message = Message::ordered(id(10), vec![7; 10]);
    assert!(bench.sender.send(bench.now, message.clone()).is_err());
    bench.sender.add_streams(1);
    bench.sender.send(bench.now, message).unwrap();
    assert_eq!(bench.write_new().len(), 1);
    bench.sender.add_streams(u16::MAX);
    assert!(bench.sender.send(bench.now, Message::ordered(id(u16::MAX), vec![7])).is_err());
}

/// RFC 9260 §5.2.4 (A): the association begins anew, what the user wants does not change.
#[test]
fn shares_of_streams_outlive_a_restart_of_the_peer() {
    let mut before = Bench::scheduled(StreamScheduler::Priority);
    before.sender.set_stream_share(id(2), |share| share.priority = 1).unwrap();
    let mut bench = Bench::scheduled(StreamScheduler::Priority);
    bench.sender.adopt_shares(&before.sender);
    [0, 1, 2].into_iter().for_each(|stream| bench.send_on(stream, FULL));
    assert_eq!(bench.shares(1), [0, 0, FULL]);
}

/// What a peer asks for that has nothing to do with the messages that wait takes no step for any of them.
#[test]
fn robustness_27_outgoing_reset_does_not_walk_the_messages_and_streams_it_is_not_about() {
    for scheduler in [StreamScheduler::FirstComeFirstServed, StreamScheduler::RoundRobin] {
        let mut bench = Bench::with(Profile::Rfc9260, |config| {
            config.transmission.scheduler = scheduler;
            config.buffers.send_bytes = 16 << 20;
        });
        (0..24_000).for_each(|number| bench.send_on(number % 9, 10));
        for (streams, most) in [(only(9), 8), (only(3), 8), (StreamSet::ALL, 8)] {
            let (is_drained, steps) = steps::of(|| {
                bench.sender.hold_streams(streams.clone());
                let is_drained = bench.sender.is_drained();
                bench.sender.reset_streams(&streams);
                is_drained
            });
            assert!(steps <= most && is_drained == (streams == only(9)), "{streams:?}: {steps} steps");
        }
        bench.sender.hold_streams(only(9));
        (0..20).for_each(|_| bench.send_on(9, 10));
        assert!(steps::of(|| bench.sender.release_streams()).1 <= 20, "one for a message that waited");
    }
}

/// The walk over what is outstanding is done once a request, not once a packet.
#[test]
fn robustness_27_waiting_for_acknowledgments_before_a_reset_takes_one_walk() {
    let mut bench = Bench::new(Profile::Rfc9260);
    (0..3).for_each(|_| bench.send_on(1, FULL));
    (0..3).for_each(|_| drop(bench.write_new()));
    bench.sender.hold_streams(only(2));
    let (_, first) = steps::of(|| bench.sender.is_drained());
    let (_, second) = steps::of(|| bench.sender.is_drained());
    assert!(first >= 2 && second == 0, "{first} and {second} steps");
}

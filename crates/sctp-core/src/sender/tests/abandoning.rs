//! Giving messages up: policies (RFC 3758 §4.1, RFC 7496 §3), FORWARD TSN (RFC 3758 §3.5, RFC 8260 §2.3.1).

use sctp_wire::{Mid, SkippedMid, SkippedSsn, Ssn};

use super::*;
use crate::error::SendFailure;

impl Bench {
    fn partial(profile: Profile) -> Self {
        Self::new(profile).agree(&[Capability::PartialReliability])
    }

    fn agree(mut self, capabilities: &[Capability]) -> Self {
        let set = capabilities.iter().fold(Capabilities::NONE, |set, capability| set.with(*capability));
        self.sender.on_negotiated(agreed(10, set), WINDOW);
        self
    }

    fn offer(&mut self, message: Message) {
        assert_eq!(self.sender.send(self.now, message), Ok(Vec::new()));
    }

    /// Gives up what is due: context, whether part of it was sent, and why.
    fn give_up(&mut self) -> Vec<(u64, bool, SendFailure)> {
        let failed = self.sender.abandon_due(self.now).failed;
        failed.into_iter().map(|failed| (failed.message.context, failed.was_sent, failed.reason)).collect()
    }

    fn time_out(&mut self) {
        self.sender.lose_flight(self.now, PathIndex::FIRST);
    }

    /// The FORWARD TSN that is due in a packet of this size: how far it goes and what it names.
    fn forward_in(&mut self, limit: usize) -> Option<(u32, Vec<SkippedSsn>)> {
        let octets = self.octets_within(limit, |bench, writer| {
            bench.sender.write_forward(bench.now, PathIndex::FIRST, writer);
        });
        let packet = Packet::decode(&octets, Checksum::Verify).unwrap();
        let Chunk::ForwardTsn(forward) = packet.chunks().next()?.unwrap() else { panic!("a FORWARD TSN") };
        Some((FIRST.distance(forward.new_cumulative_tsn), forward.skipped().collect()))
    }

    fn forward(&mut self) -> Option<(u32, Vec<SkippedSsn>)> {
        self.forward_in(1380)
    }

    fn i_forward(&mut self) -> (u32, Vec<SkippedMid>) {
        let octets = self.octets(|bench, writer| {
            bench.sender.write_forward(bench.now, PathIndex::FIRST, writer);
        });
        let packet = Packet::decode(&octets, Checksum::Verify).unwrap();
        let Some(Ok(Chunk::IForwardTsn(forward))) = packet.chunks().next() else { panic!("I-FORWARD-TSN") };
        (FIRST.distance(forward.new_cumulative_tsn), forward.skipped().collect())
    }
}

fn message(stream: u16, len: usize, context: u64) -> Message {
    Message::ordered(StreamId::new(stream), vec![7; len]).with_context(context)
}

fn ssn(stream: u16, ssn: u16) -> SkippedSsn {
    SkippedSsn { stream: StreamId::new(stream), ssn: Ssn::new(ssn) }
}

fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

/// RFC 3758 §4.1 (TR3): no TSN for what has expired; it comes back whole, and its room is free.
#[test]
fn expired_message_that_waits_is_never_sent_and_comes_back() {
    let mut bench = Bench::new(Profile::Rfc9260);
    bench.offer(message(0, 100, 1).with_lifetime(ms(50)));
    bench.offer(message(0, 100, 2));
    assert_eq!(bench.sender.next_expiry(), Some(bench.now + ms(50)));
    bench.pass(49);
    assert_eq!(bench.give_up(), []);
    bench.pass(1);
    assert_eq!(bench.give_up(), [(1, false, SendFailure::LifetimeExpired)]);
    assert_eq!((bench.sender.next_expiry(), bench.sender.waiting_bytes()), (None, 164));
    assert_eq!(bench.write_new(), [(0, 100, false)]);
    assert_eq!(bench.sender.statistics().abandoned.lifetime.unsent, 1);
    assert_eq!(bench.sender.stream_statistics(StreamId::new(0)).abandoned.lifetime.unsent, 1);
}

/// RFC 3758 §3.5 (F5): what is in flight may arrive; if it is found lost, the window hears of it first.
#[test]
fn expired_message_in_flight_is_given_up_only_when_it_is_lost() {
    let mut bench = Bench::partial(Profile::Rfc9260);
    bench.offer(message(3, 100, 1).with_lifetime(ms(50)));
    bench.write_new();
    bench.pass(100);
    assert_eq!((bench.give_up().len(), bench.flight()), (0, 116));
    bench.time_out();
    assert_eq!(bench.give_up(), [(1, true, SendFailure::LifetimeExpired)]);
    assert_eq!((bench.flight(), bench.sender.waiting_bytes()), (0, 0));
    assert_eq!(bench.write_lost(), []);
    assert_eq!(bench.forward(), Some((0, vec![ssn(3, 0)])));
    assert!(!bench.sender.is_dry(), "the peer has not confirmed it yet");
    let outcome = bench.sack(1, &[]).unwrap();
    assert_eq!(outcome.forward_confirmed, Some(PathIndex::FIRST));
    assert!(bench.sender.is_dry() && !bench.sender.needs_t3(PathIndex::FIRST));
}

/// RFC 7496 §3.1: the limit is of retransmissions, 0 is none at all.
#[test]
fn message_is_given_up_when_a_chunk_would_be_sent_too_often() {
    for limit in 0..3 {
        let mut bench = Bench::partial(Profile::Rfc9260);
        bench.offer(message(0, 100, 1).with_retransmissions(limit));
        bench.write_new();
        for _ in 0..limit {
            bench.time_out();
            assert_eq!(bench.give_up(), []);
            assert_eq!(bench.write_lost().len(), 1);
        }
        bench.time_out();
        assert_eq!(bench.give_up(), [(1, true, SendFailure::RetransmissionsExceeded)]);
        assert_eq!(bench.sender.statistics().abandoned.retransmissions.sent, 1);
    }
}

/// A tail-loss probe is a retransmission too; where it is not allowed none is due.
#[test]
fn message_that_may_not_be_sent_again_is_not_probed() {
    let mut bench = Bench::measured(Profile::Signalling).agree(&[Capability::PartialReliability]);
    bench.offer(message(0, 100, 1).with_retransmissions(0));
    bench.write_new();
    assert_eq!(bench.sender.probe_at(bench.paths.path(PathIndex::FIRST)), None);
    bench.offer(message(0, 100, 2).with_lifetime(ms(10)));
    bench.write_new();
    bench.pass(40);
    assert!(bench.sender.probe_at(bench.paths.path(PathIndex::FIRST)).is_some());
    assert_eq!(bench.write_probe(), []);
    assert_eq!(
        bench.sender.probe_at(bench.paths.path(PathIndex::FIRST)),
        None,
        "not asked for again and again"
    );
}

/// RFC 3758 §3.5 (A3): all fragments at once; what was acknowledged too, and what was not sent is not sent.
#[test]
fn fragmented_message_is_given_up_whole() {
    let mut bench = Bench::partial(Profile::Rfc9260);
    bench.offer(message(1, 3 * FULL + 100, 1).with_retransmissions(0));
    bench.offer(message(2, 100, 2));
    (0..3).for_each(|_| assert_eq!(bench.write_new().len(), 1));
    bench.sack(1, &[(2, 2)]).unwrap();
    bench.time_out();
    assert_eq!(bench.give_up(), [(1, true, SendFailure::RetransmissionsExceeded)]);
    assert_eq!((bench.flight(), bench.sender.waiting_bytes()), (0, 164));
    // Three fragments, and a TSN for the rest: the message after it must not look like its end.
    assert_eq!(bench.forward(), Some((3, vec![ssn(1, 0)])));
    assert_eq!(bench.write_new(), [(4, 100, false)]);
    bench.sack(5, &[]).unwrap();
    assert_eq!((bench.sender.waiting_bytes(), bench.sender.is_dry()), (0, true));
}

#[test]
fn expired_message_is_not_continued_and_the_peer_does_not_wait_for_its_end() {
    let mut bench = Bench::partial(Profile::Rfc9260);
    bench.offer(message(1, 2 * FULL, 1).with_lifetime(ms(10)));
    bench.write_new();
    bench.sack(1, &[]).unwrap();
    bench.pass(10);
    assert_eq!(bench.give_up(), [(1, true, SendFailure::LifetimeExpired)]);
    assert_eq!(bench.forward(), Some((1, vec![ssn(1, 0)])), "though every chunk of it was acknowledged");
    assert_eq!(bench.write_new(), []);
}

/// RFC 3758 §3.5 (C2): over chunks given up, not over acknowledged ones, and not past one that is waited for.
#[test]
fn peer_ack_point_advances_over_what_was_given_up_and_no_further() {
    let mut bench = Bench::partial(Profile::Rfc9260);
    for context in 0..6 {
        let limited = message(0, 100, context);
        bench.offer(if context == 2 { limited } else { limited.with_retransmissions(0) });
        bench.write_new();
    }
    bench.sack(0, &[(5, 5)]).unwrap();
    bench.time_out();
    assert_eq!(bench.give_up().len(), 4);
    assert_eq!(bench.forward(), Some((1, vec![ssn(0, 1)])), "a stream is named once (C4)");
    assert_eq!(bench.write_lost(), [(2, 100, false)]);
    bench.sack(3, &[(2, 2)]).unwrap();
    assert_eq!(bench.forward(), Some((3, vec![ssn(0, 3)])));
    bench.sack(5, &[]).unwrap();
    assert_eq!(bench.forward(), Some((5, vec![ssn(0, 5)])));
}

/// RFC 3758 §3.5 (A2), (F5): nothing for the window to grow by, and the loss is found and told as any other.
#[test]
fn abandoned_octets_are_no_acknowledgment_but_their_loss_is_a_loss() {
    let mut bench = Bench::partial(Profile::Rfc9260);
    (0..5).for_each(|context| {
        bench.offer(message(0, 100, context).with_retransmissions(0));
        bench.write_new();
    });
    (2..4).for_each(|last| assert!(!bench.sack(0, &[(2, last)]).unwrap().losses.any));
    assert_eq!(bench.sack(0, &[(2, 4)]).unwrap().losses.paths, PathIds::from_iter([PathIndex::FIRST]));
    assert_eq!(bench.give_up(), [(0, true, SendFailure::RetransmissionsExceeded)]);
    assert!(bench.forward().is_some());
    let outcome = bench.sack(4, &[]).unwrap();
    assert!(outcome.acknowledgment.paths.is_empty() && outcome.acknowledgment.cumulative_advanced);
}

/// RFC 3758 §3.5 (C4): what does not fit a packet is told with the next.
#[test]
fn forward_tsn_goes_no_further_than_a_packet_can_say() {
    let mut bench = Bench::partial(Profile::Rfc9260);
    for stream in 0..10 {
        bench.offer(message(stream, 10, 0).with_retransmissions(0));
    }
    bench.write_new();
    bench.time_out();
    assert_eq!(bench.give_up().len(), 10);
    assert_eq!(bench.forward_in(12 + 8 + 4 * 4).unwrap().0, 3);
    assert_eq!(bench.forward(), None, "told as far as it goes: the peer's answer comes first");
    bench.sack(4, &[]).unwrap();
    let (to, skipped) = bench.forward().unwrap();
    assert_eq!((to, skipped.len()), (9, 6));
}

/// RFC 3758 §3.5 (C3), (F3), (A5): again after a round trip in which SACKs did not confirm it, and with T3-rtx.
#[test]
fn forward_tsn_is_repeated_until_the_peer_confirms_it() {
    let mut bench = Bench::partial(Profile::Rfc9260);
    bench.paths.on_measurement(PathIndex::FIRST, bench.now, ms(20));
    bench.offer(message(0, 100, 1).with_retransmissions(0));
    bench.offer(message(0, 100, 2));
    bench.write_new();
    bench.sack(0, &[(2, 2)]).unwrap();
    bench.time_out();
    bench.give_up();
    let told = bench.now;
    assert!(bench.forward().is_some() && bench.sender.needs_t3(PathIndex::FIRST));
    assert_eq!((bench.forward(), bench.sender.forward_again_at()), (None, None));
    bench.pass(1);
    bench.sack(0, &[(2, 2)]).unwrap();
    assert_eq!(bench.sender.forward_again_at(), Some(told + ms(25)));
    bench.sender.repeat_forward();
    assert!(bench.forward().is_some());
    bench.time_out();
    assert!(bench.forward().is_some());
    bench.sack(2, &[]).unwrap();
    bench.time_out();
    assert_eq!((bench.forward(), bench.sender.forward_again_at()), (None, None));
    assert_eq!(bench.sender.statistics().forward_tsns, 3);
}

/// RFC 8260 §2.3.1: ordered and unordered messages of a stream are named apart, by MID.
#[test]
fn i_forward_tsn_names_messages_by_stream_and_order() {
    let both = [Capability::PartialReliability, Capability::Interleaving];
    let mut bench = Bench::new(Profile::Rfc9260).agree(&both);
    for context in 0..2 {
        bench.offer(message(4, 10, context).with_retransmissions(0));
        let unordered = Message::unordered(StreamId::new(4), vec![7; 10]);
        bench.offer(unordered.with_retransmissions(0).with_context(context));
    }
    let written = bench.octets(|bench, writer| {
        bench.sender.write_new(bench.now, bench.paths.path(PathIndex::FIRST), writer);
    });
    assert_eq!(written.len(), 12 + 4 * 32);
    bench.time_out();
    assert_eq!(bench.give_up().len(), 4);
    let skipped = |unordered| SkippedMid { stream: StreamId::new(4), unordered, mid: Mid::new(1) };
    assert_eq!(bench.i_forward(), (3, vec![skipped(false), skipped(true)]));
}

/// Unordered messages in DATA have no number to name.
#[test]
fn forward_tsn_names_no_unordered_message() {
    let mut bench = Bench::partial(Profile::Rfc9260);
    bench.offer(Message::unordered(StreamId::new(4), vec![7; 10]).with_retransmissions(0));
    bench.write_new();
    bench.time_out();
    bench.give_up();
    assert_eq!(bench.forward(), Some((0, vec![])));
}

/// A peer that knows no FORWARD TSN gets the whole of what was begun, as often as it takes.
#[test]
fn without_partial_reliability_messages_are_given_up_only_while_unsent() {
    let mut bench = Bench::new(Profile::Rfc9260);
    bench.offer(message(0, FULL + 10, 1).with_lifetime(ms(10)));
    bench.offer(message(0, 100, 2).with_retransmissions(0));
    bench.offer(message(0, 100, 3).with_lifetime(ms(10)));
    bench.write_new();
    bench.pass(20);
    bench.time_out();
    assert_eq!(bench.give_up(), [(3, false, SendFailure::LifetimeExpired)]);
    assert_eq!(bench.write_lost(), [(0, FULL, false)]);
    assert_eq!(bench.write_new(), [(1, 10, false), (2, 100, false)]);
    bench.time_out();
    assert_eq!(bench.give_up(), []);
}

/// RFC 7496 §3.2: the least important first, of those the oldest, and only what is enough.
#[test]
fn important_message_displaces_less_important_ones_from_a_full_buffer() {
    let mut bench = Bench::with(Profile::Rfc9260, |config| {
        config.buffers.send_bytes = 4 * (100 + super::super::buffer::DISPLACED_BYTES) + 64;
        config.buffers.message_bytes = 900;
    });
    for (context, priority) in [(1, 5), (2, 9), (3, 9), (4, 2)] {
        bench.offer(message(0, 100, context).with_priority(priority));
    }
    let same = message(0, 100, 5).with_priority(9);
    assert_eq!(bench.sender.send(bench.now, same.clone()), Err(SendError::BufferFull(same)));
    let displaced = |bench: &mut Bench, message| {
        let failed: Vec<Failed> = bench.sender.send(bench.now, message).unwrap();
        assert!(failed.iter().all(|failed| failed.reason == SendFailure::Displaced && !failed.was_sent));
        failed.iter().map(|failed| failed.message.context).collect::<Vec<_>>()
    };
    assert_eq!(displaced(&mut bench, message(0, 100, 6).with_priority(3)), [2]);
    assert_eq!(displaced(&mut bench, message(0, 200, 7)), [3, 1], "a reliable one displaces all others");
    let large = message(0, 900, 8);
    assert_eq!(bench.sender.send(bench.now, large.clone()), Err(SendError::BufferFull(large)));
    assert_eq!(bench.sender.statistics().abandoned.priority.unsent, 3);
    assert_eq!(bench.write_new(), [(0, 100, false), (1, 100, false), (2, 200, false)]);
}

/// RFC 9260 §6.3.1: the chunk that was timed is given up; the next one is timed.
#[test]
fn round_trips_are_measured_after_a_timed_chunk_was_given_up() {
    let mut bench = Bench::partial(Profile::Rfc9260);
    bench.offer(message(0, 100, 1).with_retransmissions(0));
    bench.write_new();
    bench.time_out();
    bench.give_up();
    bench.forward();
    bench.send_apart(1, 20);
    assert_eq!(bench.sack(2, &[]).unwrap().rtt[..], [(PathIndex::FIRST, ms(20))]);
}

#[test]
fn deadlines_of_messages_that_are_gone_take_no_room() {
    let mut bench = Bench::partial(Profile::Rfc9260);
    let hour = Duration::from_secs(3600);
    for context in 0..10_000 {
        bench.offer(message(0, 100, context).with_lifetime(hour));
        bench.write_new();
        let sent = FIRST.distance(bench.sender.outstanding.next_tsn());
        bench.sack(sent, &[]).unwrap();
    }
    assert!(bench.sender.queue.deadlines_kept() < 100, "{}", bench.sender.queue.deadlines_kept());
    assert_eq!(bench.sender.next_expiry(), None);
}

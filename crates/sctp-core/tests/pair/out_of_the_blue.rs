//! Packets of no association, and packets that pretend (RFC 9260 §8.4, §8.5). Each discard is counted.

use std::net::IpAddr;

use sctp_core::{AssociationState, PathState};
use sctp_wire::{Cause, ChunkBuf, PacketWriter, TagOrigin};

use crate::by_hand::{Hand, with_tag};
use crate::net::{End, LEFT, LEFT_PORT, Pair, RIGHT_PORT, Setup, is_up, ordered};

fn raw(writer: &mut PacketWriter<'_>, chunk: ChunkBuf) {
    writer.raw(&chunk).unwrap();
}

/// What the right end answers to a packet from a stranger.
fn answer(write: impl FnOnce(&mut PacketWriter<'_>)) -> Option<(String, u32, bool)> {
    let mut pair = Setup::rfc9260().build();
    pair.inject(End::Right, LEFT, &with_tag(LEFT_PORT, RIGHT_PORT, 99, write));
    let sent = pair.side(End::Right).sent.first()?;
    let reflected = sent.octets[13] & 1 == 1;
    Some((sent.kinds(), sent.packet().verification_tag.get(), reflected))
}

#[test]
fn strangers_are_answered_by_the_rules_of_section_8_4() {
    let abort = Some(("ABORT".to_owned(), 99, true));
    let complete = Some(("SHUTDOWN_COMPLETE".to_owned(), 99, true));
    let stale = [Cause::StaleCookie { staleness_us: 1 }];
    let other = [Cause::OutOfResource];
    assert_eq!(answer(|w| raw(w, ChunkBuf::abort(TagOrigin::Receiver, &[]).unwrap())), None);
    assert_eq!(answer(|w| raw(w, ChunkBuf::shutdown_ack())), complete);
    assert_eq!(answer(|w| raw(w, ChunkBuf::shutdown_complete(TagOrigin::Receiver))), None);
    assert_eq!(answer(|w| raw(w, ChunkBuf::cookie_ack())), None);
    assert_eq!(answer(|w| raw(w, ChunkBuf::error(&stale).unwrap())), None);
    assert_eq!(answer(|w| raw(w, ChunkBuf::error(&other).unwrap())), abort);
    assert_eq!(answer(|w| w.heartbeat(b"x").unwrap()), abort);
    assert_eq!(answer(|w| w.sack(sctp_core::Tsn::new(1), 1, [], []).unwrap()), abort);
    let data = Hand::new(LEFT_PORT, 1).data_header(0);
    assert_eq!(answer(|w| w.data(&data, b"x").unwrap()), abort);
    assert_eq!(answer(|w| raw(w, ChunkBuf::cookie_echo(&[1; 100]).unwrap())), None);
}

#[test]
fn nothing_is_answered_to_addresses_that_are_nobodys() {
    for source in ["224.0.0.1", "255.255.255.255", "0.0.0.0"] {
        let mut pair = Setup::rfc9260().build();
        let source: IpAddr = source.parse().unwrap();
        pair.inject(End::Right, source, &with_tag(LEFT_PORT, RIGHT_PORT, 99, |w| w.heartbeat(b"x").unwrap()));
        assert!(pair.side(End::Right).sent.is_empty(), "{source}");
        assert_eq!(pair.side(End::Right).endpoint.statistics().out_of_the_blue_discarded, 1);
        let header = Hand::new(LEFT_PORT, 7).header();
        let init = with_tag(LEFT_PORT, RIGHT_PORT, 0, |w| w.init(&header, &[]).unwrap());
        pair.inject(End::Right, source, &init);
        assert!(pair.side(End::Right).sent.is_empty(), "INIT from {source}");
    }
}

/// RFC 9260 §8.5.1 (A).
#[test]
fn tag_zero_is_for_init_alone() {
    let mut pair = Setup::rfc9260().build();
    pair.inject(End::Right, LEFT, &with_tag(LEFT_PORT, RIGHT_PORT, 0, |w| w.heartbeat(b"x").unwrap()));
    let header = Hand::new(LEFT_PORT, 7).header();
    let tagged = with_tag(LEFT_PORT, RIGHT_PORT, 8, |w| w.init(&header, &[]).unwrap());
    pair.inject(End::Right, LEFT, &tagged);
    let bundled = with_tag(LEFT_PORT, RIGHT_PORT, 0, |w| {
        w.init(&header, &[]).unwrap();
        w.heartbeat(b"x").unwrap();
    });
    pair.inject(End::Right, LEFT, &bundled);
    assert!(pair.side(End::Right).sent.is_empty());
    let statistics = pair.side(End::Right).endpoint.statistics();
    assert_eq!((statistics.bad_tag, statistics.handshake.inits_refused), (1, 2));
}

#[test]
fn init_that_cannot_work_is_refused_with_its_own_tag() {
    let good = Hand::new(LEFT_PORT, 7).header();
    let bad = [
        sctp_wire::InitHeader { a_rwnd: 1499, ..good },
        sctp_wire::InitHeader { outbound_streams: 0, ..good },
        sctp_wire::InitHeader { inbound_streams: 0, ..good },
    ];
    for header in bad {
        let mut pair = Setup::rfc9260().build();
        let init = with_tag(LEFT_PORT, RIGHT_PORT, 0, |w| w.init(&header, &[]).unwrap());
        pair.inject(End::Right, LEFT, &init);
        let sent = &pair.side(End::Right).sent[0];
        assert_eq!((sent.kinds().as_str(), sent.packet().verification_tag.get()), ("ABORT", 7));
    }
    let mut pair = Setup::rfc9260().build();
    let untagged = Hand::new(LEFT_PORT, 0).header();
    let init = with_tag(LEFT_PORT, RIGHT_PORT, 0, |w| w.init(&untagged, &[]).unwrap());
    pair.inject(End::Right, LEFT, &init);
    assert!(pair.side(End::Right).sent.is_empty());
}

/// RFC 9260 §8.4 (3): over UDP all SCTP ports are the endpoint's to answer for, by the rules of its own one.
#[test]
fn init_for_a_foreign_port_is_refused_within_the_rate_and_not_at_all_without_a_tag() {
    let mut setup = Setup::rfc9260().in_udp();
    setup.server.host_init_rate = Some(sctp_core::InitRate { per_second: 1, burst: 3 });
    let mut pair = setup.build();
    let source = sctp_core::Destination { address: LEFT, encapsulation: pair.side(End::Right).encapsulation };
    let init = |tag, verification_tag| {
        let header = Hand::new(LEFT_PORT, tag).header();
        with_tag(LEFT_PORT, RIGHT_PORT + 1, verification_tag, |w| w.init(&header, &[]).unwrap())
    };
    for packet in [init(0, 0), init(7, 7)] {
        pair.inject_from(End::Right, source, &packet);
        assert!(pair.side(End::Right).sent.is_empty());
    }
    (0..10).for_each(|_| pair.inject_from(End::Right, source, &init(7, 0)));
    let kinds: Vec<_> = pair.side(End::Right).sent.iter().map(crate::net::Sent::kinds).collect();
    assert_eq!(kinds, ["ABORT"; 3]);
    assert_eq!(pair.side(End::Right).endpoint.statistics().handshake.inits_over_rate, 7);
}

/// An INIT ACK that cannot work, to an end in COOKIE-WAIT; the answer carries the tag it brought.
#[test]
fn init_ack_that_cannot_work_is_refused_with_the_tag_it_brought() {
    let good = Hand::new(RIGHT_PORT, 7).header();
    let without_streams = sctp_wire::InitHeader { outbound_streams: 0, ..good };
    for header in [good, without_streams] {
        let mut pair = Setup::rfc9260().build();
        pair.connect();
        let tag = init_tag(&pair);
        let ack = with_tag(RIGHT_PORT, LEFT_PORT, tag, |w| w.init_ack(&header, &[]).unwrap());
        pair.inject(End::Left, crate::net::RIGHT, &ack);
        let sent = pair.side(End::Left).sent.last().unwrap();
        assert_eq!((sent.kinds().as_str(), sent.packet().verification_tag.get()), ("ABORT", 7));
        assert_eq!(pair.endings(End::Left).len(), 1);
    }
}

#[test]
fn init_ack_without_a_window_changes_nothing() {
    let mut pair = Setup::rfc9260().build();
    pair.connect();
    let header = sctp_wire::InitHeader { a_rwnd: 100, ..Hand::new(RIGHT_PORT, 7).header() };
    let tag = init_tag(&pair);
    let ack = with_tag(RIGHT_PORT, LEFT_PORT, tag, |w| w.init_ack(&header, &[]).unwrap());
    pair.inject(End::Left, crate::net::RIGHT, &ack);
    pair.run_ms(100);
    assert_eq!(pair.count(End::Left, is_up), 1, "the real INIT ACK came later");
}

fn init_tag(pair: &Pair) -> u32 {
    let sent = &pair.side(End::Left).sent[0];
    let chunk = sent.packet().chunks().next().unwrap().unwrap();
    let sctp_wire::Chunk::Init(init) = chunk else { panic!("{chunk}") };
    init.initiate_tag.get()
}

/// Neither a wrong tag nor the right one from elsewhere does anything (RFC 9260 §8.5).
#[test]
fn robustness_04_forged_packets_are_discarded_and_counted() {
    let mut pair = Setup::rfc9260().connected();
    let tag = pair.side(End::Left).sent[1].packet().verification_tag.get();
    let abort =
        |tag, origin| with_tag(LEFT_PORT, RIGHT_PORT, tag, |w| raw(w, ChunkBuf::abort(origin, &[]).unwrap()));
    let stranger = IpAddr::from([10, 0, 0, 77]);
    pair.inject(End::Right, LEFT, &abort(tag ^ 1, TagOrigin::Receiver));
    pair.inject(End::Right, LEFT, &abort(tag ^ 1, TagOrigin::Reflected));
    pair.inject(End::Right, stranger, &abort(tag, TagOrigin::Receiver));
    pair.inject(End::Right, LEFT, &abort(tag, TagOrigin::Reflected));
    let complete = ChunkBuf::shutdown_complete(TagOrigin::Receiver);
    pair.inject(End::Right, LEFT, &with_tag(LEFT_PORT, RIGHT_PORT, tag, |w| raw(w, complete)));
    let statistics = *pair.side(End::Right).endpoint.statistics();
    assert_eq!((statistics.bad_tag, statistics.unknown_source), (2, 1));
    assert_eq!(pair.statistics(End::Right).association.discarded.bad_tags, 1);
    assert_eq!(pair.state(End::Right), Some(AssociationState::Established));
    pair.send(End::Left, ordered(0, 1, 10));
    pair.run_ms(300);
    assert_eq!(pair.side(End::Right).received.len(), 1);
}

/// RFC 9260 §8.5.1 (B): the T bit says that the tag is the sender's own.
#[test]
fn abort_with_a_reflected_tag_is_believed() {
    let mut pair = Setup::rfc9260().connected();
    let tag = pair.side(End::Right).sent[1].packet().verification_tag.get();
    let abort = ChunkBuf::abort(TagOrigin::Reflected, &[]).unwrap();
    pair.inject(End::Right, LEFT, &with_tag(LEFT_PORT, RIGHT_PORT, tag, |w| raw(w, abort)));
    assert_eq!(pair.endings(End::Right).len(), 1);
}

/// RFC 9260 §8.5.1 (E).
#[test]
fn shutdown_ack_of_a_forgotten_association_is_completed_while_setting_up() {
    let mut pair = Setup::rfc9260().build();
    pair.connect();
    let ack = with_tag(RIGHT_PORT, LEFT_PORT, 1234, |w| raw(w, ChunkBuf::shutdown_ack()));
    pair.inject(End::Left, crate::net::RIGHT, &ack);
    let sent = pair.side(End::Left).sent.last().unwrap();
    assert_eq!((sent.kinds().as_str(), sent.packet().verification_tag.get()), ("SHUTDOWN_COMPLETE", 1234));
    pair.run_ms(100);
    assert_eq!(pair.count(End::Left, is_up), 1);
}

/// RFC 9260 §8.5.1 (E): the same with the tag of the new association, alone and behind another packet of a batch.
#[test]
fn shutdown_ack_with_the_tag_of_an_association_that_is_set_up_is_out_of_the_blue_too() {
    for echoed in [false, true] {
        let mut pair = Setup::rfc9260().build();
        pair.connect();
        pair.run_ms(if echoed { 21 } else { 0 });
        let tag = init_tag(&pair);
        let ack = with_tag(RIGHT_PORT, LEFT_PORT, tag, |w| raw(w, ChunkBuf::shutdown_ack()));
        let heartbeat = with_tag(RIGHT_PORT, LEFT_PORT, tag, |w| w.heartbeat_ack(b"x").unwrap());
        let from = pair.side(End::Left).sent.len();
        pair.with(End::Left, |side, now| {
            let datagram = |payload| sctp_core::Datagram {
                source: crate::net::by_ip(crate::net::RIGHT),
                local: None,
                ecn: sctp_core::Ecn::NotEct,
                payload,
            };
            side.endpoint.handle_packets(now, [datagram(&heartbeat[..]), datagram(&ack[..])]);
        });
        let sent = &pair.side(End::Left).sent[from];
        assert_eq!((sent.kinds().as_str(), sent.packet().verification_tag.get()), ("SHUTDOWN_COMPLETE", tag));
        assert_eq!(sent.octets[13] & 1, 1, "the tag is reflected");
        pair.run_ms(100);
        assert_eq!((pair.count(End::Left, is_up), pair.endings(End::Left)), (1, vec![]));
    }
}

/// RFC 9260 §8.4: who breaks the protocol and goes on hears the reason before the answer to what followed.
#[test]
fn abort_with_its_cause_leaves_before_the_answer_to_the_packet_behind() {
    let mut pair = Setup::rfc9260().build();
    let mut hand = Hand::new(LEFT_PORT, 9);
    hand.establish(&mut pair);
    let (source, header) = (hand.source, hand.data_header(0));
    let [empty, next] = [&b""[..], b"x"].map(|payload| {
        with_tag(LEFT_PORT, RIGHT_PORT, hand.peer_tag(), |w| w.data(&header, payload).unwrap())
    });
    let from = pair.side(End::Right).sent.len();
    pair.with(End::Right, |side, now| {
        let datagram =
            |payload| sctp_core::Datagram { source, local: None, ecn: sctp_core::Ecn::NotEct, payload };
        side.endpoint.handle_packets(now, [datagram(&empty[..]), datagram(&next[..])]);
    });
    let causes = pair.side(End::Right).sent[from..].iter().map(|sent| match sent.packet().chunks().next() {
        Some(Ok(sctp_wire::Chunk::Abort(abort))) => {
            abort.causes.iter().flatten().next().map(|cause| cause.code())
        }
        other => panic!("{other:?}"),
    });
    assert_eq!(causes.collect::<Vec<_>>(), [Some(sctp_wire::CauseCode::NO_USER_DATA), None]);
}

/// RFC 9260 §6.10: nothing travels behind INIT ACK and SHUTDOWN COMPLETE.
#[test]
fn data_behind_what_travels_alone_is_discarded_and_counted() {
    let mut pair = Setup::rfc9260().build();
    let mut hand = Hand::new(LEFT_PORT, 9);
    hand.establish(&mut pair);
    let header = hand.data_header(0);
    hand.tell(&mut pair, |w| {
        raw(w, ChunkBuf::shutdown_complete(TagOrigin::Receiver));
        w.data(&header, b"x").unwrap();
    });
    let init = hand.header();
    hand.tell(&mut pair, |w| {
        w.init_ack(&init, &[]).unwrap();
        w.data(&header, b"x").unwrap();
    });
    assert!(pair.side(End::Right).received.is_empty());
    let discarded = pair.statistics(End::Right).association.discarded;
    assert_eq!((discarded.behind_lone_chunks, discarded.malformed), (2, 0));
    hand.tell(&mut pair, |w| w.data(&header, b"x").unwrap());
    assert_eq!(pair.side(End::Right).received.len(), 1);
}

/// RFC 9260 §5.1.2 (B), §3.3.10.5: the cause holds the parameter, to INIT and to INIT ACK.
#[test]
fn host_name_is_refused_with_the_parameter_in_the_cause() {
    let parameter = |name: &[u8]| {
        let mut octets = vec![0, 11, 0, u8::try_from(4 + name.len()).unwrap()];
        octets.extend_from_slice(name);
        octets
    };
    let cause = |sent: &crate::net::Sent| match sent.packet().chunks().next() {
        Some(Ok(sctp_wire::Chunk::Abort(abort))) => match abort.causes.iter().flatten().next() {
            Some(Cause::UnresolvableAddress(octets)) => octets.to_vec(),
            other => panic!("{other:?}"),
        },
        other => panic!("{other:?}"),
    };
    let long = [b'a'; 1000];
    for (name, told) in [(&b"host.example\0"[..], true), (&long, false)] {
        let expected = if told { parameter(name) } else { Vec::new() };
        let mut pair = Setup::rfc9260().build();
        Hand::new(LEFT_PORT, 7).init_with(&mut pair, &[sctp_wire::Parameter::HostNameAddress(name)]);
        let answer = cause(pair.side(End::Right).sent.last().unwrap());
        assert_eq!(answer[..expected.len()], expected);
        assert_eq!(answer.is_empty(), !told);
        let mut pair = Setup::rfc9260().build();
        pair.connect();
        let (header, tag) = (Hand::new(RIGHT_PORT, 7).header(), init_tag(&pair));
        let ack = with_tag(RIGHT_PORT, LEFT_PORT, tag, |w| {
            w.init_ack(&header, &[sctp_wire::Parameter::HostNameAddress(name)]).unwrap();
        });
        pair.inject(End::Left, crate::net::RIGHT, &ack);
        let answer = cause(pair.side(End::Left).sent.last().unwrap());
        assert_eq!(answer[..expected.len()], expected);
    }
}

/// RFC 9260 §5.1.5: MAC, ports, tag and age are what a cookie needs; where it comes from has still to be verified (§5.4).
#[test]
fn cookie_echo_from_an_address_the_init_did_not_name_counts_and_the_address_is_verified() {
    let mut pair = Setup::rfc9260().build();
    let mut hand = Hand::new(LEFT_PORT, 9);
    hand.init(&mut pair);
    let first = hand.source;
    hand.source.address = [10, 0, 0, 88].into();
    hand.echo(&mut pair);
    let handshake = pair.side(End::Right).endpoint.statistics().handshake;
    assert_eq!((handshake.cookies_from_elsewhere, handshake.bad_cookies), (1, 0));
    assert_eq!(pair.state(End::Right), Some(AssociationState::Established));
    assert_eq!(pair.path_states(End::Right), [PathState::Active, PathState::Unconfirmed]);
    assert_eq!(pair.sent_to(End::Right, "10.0.0.88"), ["COOKIE_ACK HEARTBEAT"]);
    pair.send(End::Right, ordered(0, 1, 10));
    assert_eq!(pair.sent_to(End::Right, "10.0.0.9").last().unwrap(), "DATA");
    hand.source = first;
    hand.data(&mut pair, 0, 10);
    assert_eq!(pair.side(End::Right).received.len(), 1);
}

#[test]
fn robustness_20_flood_of_strangers_makes_no_queue_grow() {
    let mut pair = Setup::rfc9260().build();
    let packet = with_tag(LEFT_PORT, RIGHT_PORT, 99, |w| w.heartbeat(b"x").unwrap());
    pair.with(End::Right, |side, now| {
        for _ in 0..1000 {
            let source = crate::net::by_ip(LEFT);
            let ecn = sctp_core::Ecn::NotEct;
            let datagram = sctp_core::Datagram { source, local: None, ecn, payload: &packet };
            side.endpoint.handle_packet(now, datagram);
        }
    });
    assert_eq!(pair.side(End::Right).sent.len(), 256);
    assert_eq!(pair.side(End::Right).endpoint.statistics().answers_dropped, 744);
}

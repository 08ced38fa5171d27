//! A peer whose UDP port changes, because a NAT on the way has forgotten it (RFC 6951 §5.4), and somebody who only says so.

use std::net::IpAddr;

use sctp_core::{
    Datagram, Destination, Ecn, Encapsulation, Endpoint, Offer, PathCounters, Profile, Transmit,
};
use sctp_wire::{Chunk, PacketWriter};

use crate::by_hand::with_tag;
use crate::dice::{Dice, seeds};
use crate::net::{End, LEFT, LEFT_PORT, Pair, RIGHT, RIGHT_PORT, Sent, Setup, ordered};

const FIRST: Encapsulation = Encapsulation::Udp { port: 9899 };
const SECOND: Encapsulation = Encapsulation::Udp { port: 4001 };
/// Octets of a packet with a HEARTBEAT that asks whether the peer is at a port.
const QUESTION_BYTES: usize = 32;

/// The right end is behind a NAT; a packet takes 10 ms.
fn pair(profile: Profile) -> Pair {
    let mut pair = Setup::new(profile).in_udp().connected();
    pair.with(End::Left, |side, _| side.is_translated = true);
    // Both ends have measured a round trip, and nothing is due.
    pair.send(End::Left, ordered(0, 0, 100));
    pair.send(End::Right, ordered(0, 0, 100));
    pair.run_ms(500);
    pair
}

fn rebind(pair: &mut Pair, to: Encapsulation) {
    pair.with(End::Left, |side, _| side.encapsulation = to);
}

fn port(pair: &Pair) -> Encapsulation {
    let side = pair.side(End::Left);
    side.endpoint.association(side.id.unwrap()).unwrap().status().peer_addresses[0].encapsulation
}

fn counters(pair: &Pair) -> PathCounters {
    pair.statistics(End::Left).paths[0].counters
}

fn tag_of_left(pair: &Pair) -> u32 {
    pair.side(End::Right).sent.last().unwrap().packet().verification_tag.get()
}

#[test]
fn port_is_followed_a_round_trip_after_the_first_packet_from_it() {
    for profile in [Profile::Signalling, Profile::Rfc9260] {
        let mut pair = pair(profile);
        rebind(&mut pair, SECOND);
        let begun = pair.now_ms();
        pair.send(End::Right, ordered(0, 1, 100));
        pair.run_ms(29);
        assert_eq!(port(&pair), FIRST, "{profile:?}");
        pair.run_ms(2);
        assert_eq!(port(&pair), SECOND, "{profile:?}");
        pair.send(End::Left, ordered(0, 2, 100));
        pair.run_ms(2000);
        assert_eq!((pair.payloads(End::Left).len(), pair.payloads(End::Right).len()), (2, 2));
        let now = counters(&pair);
        assert_eq!((now.rebindings_asked, now.rebindings, now.rebindings_over_limit), (1, 1, 0));
        assert_eq!(now.timeouts + pair.statistics(End::Right).paths[0].counters.timeouts, 0, "{profile:?}");
        // The SACK that went to the first port goes to the second one, too.
        let sent = pair.side(End::Left).sent.iter().filter(|sent| sent.at_ms() >= begun);
        let sacks: Vec<_> = sent.filter(|sent| sent.kinds().contains("SACK")).map(|sent| sent.over).collect();
        assert!(sacks.contains(&SECOND), "{profile:?}: {sacks:?}");
    }
}

/// Data that waits for T3-rtx, which has backed off, is sent at once where it can be probed for, and after an RTO elsewhere.
#[test]
fn what_went_to_the_port_before_does_not_wait_for_a_timer_that_has_backed_off() {
    for (profile, patience_ms) in [(Profile::Signalling, 50), (Profile::Rfc9260, 1050)] {
        let mut pair = pair(profile);
        rebind(&mut pair, SECOND);
        pair.send(End::Left, ordered(0, 1, 100));
        pair.run_ms(8000);
        assert_eq!(pair.payloads(End::Right).len(), 1, "{profile:?}: nobody has said where the peer is");
        pair.send(End::Right, ordered(0, 1, 100));
        pair.run_ms(patience_ms);
        assert_eq!(pair.payloads(End::Right).len(), 2, "{profile:?}");
    }
}

#[test]
fn port_changes_again_and_again_and_nothing_is_lost() {
    let mut pair = pair(Profile::Signalling);
    for number in 1..=50 {
        rebind(&mut pair, Encapsulation::Udp { port: 4000 + number });
        pair.send(End::Left, ordered(0, number.into(), 100));
        pair.send(End::Right, ordered(0, number.into(), 100));
        pair.run_ms(1000);
    }
    assert_eq!((pair.payloads(End::Left).len(), pair.payloads(End::Right).len()), (51, 51));
    assert_eq!(counters(&pair).rebindings, 50);
}

/// In the last states no HEARTBEAT may be sent, and nothing of the user's is.
#[test]
fn association_ends_with_a_peer_whose_port_changes_meanwhile() {
    for end in [End::Left, End::Right] {
        let mut pair = pair(Profile::Signalling);
        pair.shutdown(end);
        rebind(&mut pair, SECOND);
        pair.run_ms(5000);
        for end in [End::Left, End::Right] {
            assert_eq!(pair.endings(end), [Ok(())], "{end:?}");
        }
    }
}

/// Who has the tag, but is not where he says, gets what he asks for himself and no more: neither data nor SACKs.
#[test]
fn stranger_with_the_tag_captures_nothing() {
    for seed in seeds(200) {
        let mut dice = Dice::new(seed);
        let mut pair = pair(if seed % 2 == 0 { Profile::Signalling } else { Profile::Rfc9260 });
        let (tag, begun) = (tag_of_left(&pair), pair.now_ms());
        let mut asked = 0;
        for number in 1..=100 {
            let from = Encapsulation::Udp { port: 5000 + u16::try_from(dice.below(20)).unwrap() };
            let octets = with_tag(RIGHT_PORT, LEFT_PORT, tag, |writer| guess(&mut dice, writer));
            asked += octets.len();
            pair.inject_from(End::Left, Destination { address: RIGHT, encapsulation: from }, &octets);
            if dice.below(4) == 0 {
                pair.send(if number % 2 == 0 { End::Left } else { End::Right }, ordered(0, number, 100));
            }
            pair.run_ms(dice.below(100));
        }
        pair.run_ms(3000);
        let gone: Vec<&Sent> = pair.side(End::Left).sent.iter().filter(|sent| sent.over != FIRST).collect();
        let harmless = ["HEARTBEAT", "HEARTBEAT_ACK"];
        assert!(gone.iter().all(|sent| harmless.contains(&&*sent.kinds())), "seed {seed}");
        let octets: usize = gone.iter().map(|sent| sent.octets.len()).sum();
        let questions = counters(&pair).rebindings_asked;
        assert!(
            octets <= asked + usize::try_from(questions).unwrap() * QUESTION_BYTES,
            "seed {seed}: {octets}"
        );
        // No RTO is shorter than 100 ms here.
        let most = 4 * (1 + (pair.now_ms() - begun) / 100);
        assert!((1..=most.min(100)).contains(&questions), "seed {seed}: {questions} of {most}");
        assert_eq!((port(&pair), counters(&pair).rebindings), (FIRST, 0), "seed {seed}");
        let sent = pair.statistics(End::Left).sender.messages + pair.statistics(End::Right).sender.messages;
        let read = pair.payloads(End::Left).len() + pair.payloads(End::Right).len();
        assert_eq!(sent, u64::try_from(read).unwrap(), "seed {seed}");
    }
}

/// What somebody sends who wants to be taken for the peer: questions, and answers to those he has not seen.
fn guess(dice: &mut Dice, writer: &mut PacketWriter<'_>) {
    let mut info = [0; 12];
    info.iter_mut().skip(4).for_each(|octet| *octet = u8::try_from(dice.below(256)).unwrap());
    if dice.below(2) == 0 {
        writer.heartbeat(&info).unwrap();
    } else {
        writer.heartbeat_ack(&info).unwrap();
    }
}

/// The right nonce counts from the port that it was sent to.
#[test]
fn answer_from_another_port_than_was_asked_moves_nothing() {
    let mut pair = pair(Profile::Signalling);
    let tag = tag_of_left(&pair);
    let from = |port| Destination { address: RIGHT, encapsulation: Encapsulation::Udp { port } };
    let ask = with_tag(RIGHT_PORT, LEFT_PORT, tag, |writer| writer.heartbeat(b"text").unwrap());
    pair.inject_from(End::Left, from(5000), &ask);
    let asked = pair.side(End::Left).sent.iter().rfind(|sent| sent.kinds() == "HEARTBEAT").unwrap().clone();
    assert_eq!((asked.over, asked.octets.len()), (from(5000).encapsulation, QUESTION_BYTES));
    let Some(Ok(Chunk::Heartbeat(question))) = asked.packet().chunks().next() else { panic!("no HEARTBEAT") };
    let answer = with_tag(RIGHT_PORT, LEFT_PORT, tag, |writer| writer.heartbeat_ack(question.info).unwrap());
    for (port_of_answer, is_moved) in [(5001, false), (9899, false), (5000, true)] {
        pair.inject_from(End::Left, from(port_of_answer), &answer);
        assert_eq!(port(&pair) == from(5000).encapsulation, is_moved, "{port_of_answer}");
    }
}

/// Four ports are asked at in an RTO; more packets are counted.
#[test]
fn ports_in_question_are_few() {
    let mut pair = pair(Profile::Signalling);
    let ask =
        with_tag(RIGHT_PORT, LEFT_PORT, tag_of_left(&pair), |writer| writer.heartbeat(b"text").unwrap());
    for port in 5000..5010 {
        let from = Destination { address: RIGHT, encapsulation: Encapsulation::Udp { port } };
        pair.inject_from(End::Left, from, &ask);
    }
    let now = counters(&pair);
    assert_eq!((now.rebindings_asked, now.rebindings_over_limit, now.rebindings), (4, 6, 0));
}

/// A stranger at another address, and one without the tag, are not even asked.
#[test]
fn port_is_asked_about_with_the_peers_tag_at_its_address_alone() {
    let mut pair = pair(Profile::Signalling);
    let tag = tag_of_left(&pair);
    let stranger: IpAddr = [10, 0, 0, 66].into();
    for (address, tag, asked) in [(stranger, tag, 0), (RIGHT, !tag, 0), (RIGHT, tag, 1)] {
        let ask = with_tag(RIGHT_PORT, LEFT_PORT, tag, |writer| writer.heartbeat(b"text").unwrap());
        pair.inject_from(End::Left, Destination { address, encapsulation: SECOND }, &ask);
        assert_eq!(counters(&pair).rebindings_asked, asked);
    }
    let statistics = pair.side(End::Left).endpoint.statistics();
    assert_eq!((statistics.unknown_source, statistics.out_of_the_blue_answered), (1, 1));
}

/// A NAT between the two has one port for each address of this host, and lets nobody else in there.
#[test]
fn port_of_a_nat_belongs_to_the_address_that_was_sent_to() {
    const STANDBY: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(10, 0, 0, 9));
    let setup = Setup::rfc9260().configure(|config| {
        config.extensions.authentication = Offer::On;
        config.extensions.dynamic_addresses = Offer::On;
    });
    let homes = setup.homes(&["10.0.0.1", "10.0.0.9"], &["10.0.0.2"]).on_one_link();
    let mut pair = homes.in_udp().connected();
    pair.run_ms(200);
    let ask =
        with_tag(RIGHT_PORT, LEFT_PORT, tag_of_left(&pair), |writer| writer.heartbeat(b"text").unwrap());
    for (local, port, asked) in [(STANDBY, 4001, 0), (LEFT, 4002, 1)] {
        let source = Destination { address: RIGHT, encapsulation: Encapsulation::Udp { port } };
        pair.with(End::Left, |side, now| {
            let datagram = Datagram { source, local: Some(local), ecn: Ecn::NotEct, payload: &ask };
            side.endpoint.handle_packet(now, datagram);
            let sent = leaving(&mut side.endpoint, now);
            assert!(sent.iter().all(|sent| (sent.source, sent.destination) == (Some(local), source)));
            assert_eq!(sent.len(), asked + 1, "the answer, and the question");
            side.endpoint.send(now, side.id.unwrap(), ordered(0, 0, 10)).unwrap();
            let data = leaving(&mut side.endpoint, now);
            assert_eq!((data[0].source, data[0].destination.encapsulation), (Some(LEFT), FIRST));
        });
    }
}

/// What an endpoint has to send now.
fn leaving(endpoint: &mut Endpoint, now: virtual_time::Instant) -> Vec<Transmit> {
    std::iter::from_fn(|| endpoint.poll_transmit(now, &mut Vec::new())).collect()
}

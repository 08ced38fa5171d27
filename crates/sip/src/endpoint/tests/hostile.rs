//! Damaged and random messages: no panic, no memory that stays, never more octets out than a few times those that came in.

use rand::{Rng, RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use super::damage::damage;
use super::*;
use crate::{Framer, MessageLimits};

const SEEDS: [&str; 4] = [
    "INVITE sip:b@192.0.2.2;x=y SIP/2.0\r\nVia: SIP/2.0/UDP 192.0.2.1;branch=z9hG4bK1;rport\r\nMax-Forwards: 70\r\n\
     From: \"A\\\"\" <sip:a@x>;tag=1\r\nTo: <sip:b@x>\r\nCall-ID: 1\r\nCSeq: 1 INVITE\r\nContact: <sip:a@192.0.2.1>\r\n\
     Content-Type: application/sdp\r\nContent-Length: 5\r\n\r\nv=0\r\n",
    "SIP/2.0 200 OK\r\nv: SIP/2.0/UDP 192.0.2.2;branch=z9hG4bK1\r\nf: <sip:a@x>;tag=1\r\nt: <sip:b@x>;tag=2\r\ni: 1\r\n\
     CSeq: 1 INVITE\r\nm: <sip:[2001:db8::1]:5080;lr>, <sip:c@x>;q=0.1\r\nl: 0\r\n\r\n",
    "ACK sips:b@[2001:db8::2]:5061 SIP/2.0\r\nVia: SIP/2.0/TLS h;branch=z9hG4bK1, SIP/2.0/SCTP g;branch=z9hG4bK2\r\n\
     From: sip:a@x;tag=1\r\nTo: <sip:b@x>;tag=b\r\nCall-ID: 1\r\nCSeq: 1 ACK\r\nRoute: <sip:p;lr>\r\n folded\r\n\r\n",
    "CANCEL sip:b@192.0.2.2 SIP/2.0\r\nVia: SIP/2.0/UDP 192.0.2.1;branch=z9hG4bK1\r\nFrom: <sip:a@x>;tag=1\r\n\
     To: <sip:b@x>\r\nCall-ID: 1\r\nCSeq: 1 CANCEL\r\n\r\n",
];

/// A seed, damaged.
fn mutated(dice: &mut Xoshiro256PlusPlus) -> Vec<u8> {
    let mut text = SEEDS[dice.random_range(0..SEEDS.len())].as_bytes().to_vec();
    damage(dice, &mut text, &SEEDS.map(str::as_bytes));
    text
}

/// How many messages: `HEADWAY_SOAK_MESSAGES`, or 100,000.
fn count() -> u32 {
    std::env::var("HEADWAY_SOAK_MESSAGES").map_or(100_000, |count| count.parse().unwrap())
}

#[test]
fn a_hundred_thousand_damaged_messages_do_no_harm() {
    let mut dice = Xoshiro256PlusPlus::seed_from_u64(1);
    let mut side = endpoint(B);
    side.config.most_transactions = 1_000;
    let from = Flow::new(Transport::UDP, "198.51.100.7:4444".parse().unwrap());
    let mut now = Instant::EPOCH;
    for _ in 0..count() {
        let octets = Bytes::from(mutated(&mut dice));
        now += Duration::from_millis(1);
        side.handle_packet(now, from, &octets);
        let sent: usize = core::iter::from_fn(|| side.poll_transmit()).map(|sent| sent.octets.len()).sum();
        assert!(sent <= octets.len() + 256, "{sent} octets for {}", octets.len());
        while let Some(event) = side.poll_event() {
            if let Event::Request { transaction, request, .. } = event {
                side.respond(now, transaction, &Response::to(&request, Status::BUSY, "b"));
                while side.poll_transmit().is_some() {}
            }
        }
        side.handle_timeout(now);
        while side.poll_transmit().is_some() {}
    }
    side.handle_timeout(now + Duration::from_secs(1_000));
    assert_eq!((side.transactions(), side.poll_timeout()), (0, None));
}

#[test]
fn a_damaged_stream_is_cut_alike_however_it_comes() {
    let mut dice = Xoshiro256PlusPlus::seed_from_u64(3);
    let limits = MessageLimits { message_bytes: 2_048, head_bytes: 1_024, ..MessageLimits::default() };
    let cut = |stream: &[u8], dice: Option<&mut Xoshiro256PlusPlus>| {
        let (mut framer, mut found, mut rest, mut dice) = (Framer::new(limits), Vec::new(), stream, dice);
        while !rest.is_empty() {
            let size = dice.as_mut().map_or(rest.len(), |dice| dice.random_range(1..=rest.len()));
            framer.push(&rest[..size]);
            rest = &rest[size..];
            loop {
                match framer.next_message() {
                    Ok(Some(message)) => found.push(Ok(message)),
                    Ok(None) => break,
                    Err(_) => {
                        found.push(Err(()));
                        return found;
                    }
                }
            }
            assert!(framer.held_bytes() <= limits.message_bytes, "{} octets held", framer.held_bytes());
        }
        found
    };
    for _ in 0..count() / 10 {
        let pieces = dice.random_range(1..4);
        let stream: Vec<u8> = (0..pieces).flat_map(|_| mutated(&mut dice)).collect();
        let whole = cut(&stream, None);
        assert_eq!(cut(&stream, Some(&mut dice)), whole, "{}", String::from_utf8_lossy(&stream));
    }
}

#[test]
fn octets_at_random_do_no_harm() {
    let mut dice = Xoshiro256PlusPlus::seed_from_u64(2);
    let mut side = endpoint(B);
    let from = Flow::new(Transport::UDP, "198.51.100.7:4444".parse().unwrap());
    for _ in 0..20_000 {
        let mut octets = vec![0; dice.random_range(1..200)];
        dice.fill_bytes(&mut octets);
        side.handle_packet(Instant::EPOCH, from, &Bytes::from(octets));
        assert_eq!((side.poll_transmit(), side.poll_event()), (None, None));
    }
}

#[test]
fn nobody_who_has_not_seen_the_response_can_acknowledge_it() {
    let mut pair = Pair::new(Transport::UDP);
    let (_, server, request) = pair.invite();
    pair.respond(server, &request, Status::OK);
    let mut forged = ack("guess");
    forged.headers.push_front(HeaderName::Via, "SIP/2.0/UDP 198.51.100.7;branch=z9hG4bKf");
    let from = pair.flow(A);
    pair.sides[B].handle_packet(pair.now, from, &forged.encode());
    assert_eq!(pair.sides[B].poll_event(), None);
    assert_eq!(pair.sides[B].counters().stray_acks, 1);
}

#[test]
fn tags_and_branches_tell_nothing_of_each_other() {
    let mut side = endpoint(A);
    let tags: std::collections::BTreeSet<String> = (0..10_000).map(|_| side.tag()).collect();
    assert_eq!(tags.len(), 10_000);
    assert!(tags.iter().all(|tag| tag.len() == 20));
    assert_ne!(endpoint(B).tag(), endpoint(A).tag());
}

#[test]
fn a_head_full_of_separators_takes_no_more_time_than_its_length() {
    // Work is counted by the number of values that come out: one pass, no product of lists and parameters.
    let commas = "<sip:a@x>,".repeat(1_500);
    let mut headers = crate::Headers::default();
    headers.push(HeaderName::Contact, commas);
    assert_eq!(headers.list(&HeaderName::Contact).unwrap().len(), 1_500);
}

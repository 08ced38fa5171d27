//! Transfers and notices, by address and by key.

use super::*;
use crate::testing::verifier::Verifier;
use crate::zone::{Zone, ZoneBounds};

const SECRET: u8 = 8;

fn key(of: &str) -> LowerName {
    LowerName::new(&name(of))
}

/// A world whose zone a secondary has by its key, and whose zone takes several messages.
fn world(of: &str) -> World {
    let mut world = World::new(of);
    let keys = [("phone", 1), ("ns2", SECRET), ("backup", SECRET)];
    let keys = keys.map(|(of, secret)| KeySettings { signer: signer(of, secret), may: Vec::new() });
    let told = vec![Secondary { address: SECONDARY.parse().unwrap(), key: Some(key("ns2")) }];
    let secondaries = Secondaries { told, transfer_keys: vec![key("backup")] };
    world.service = Service::new([(long_zone(), secondaries)], Keyring::new(keys, START));
    world
}

fn long_zone() -> Zone {
    let text = hickory_proto::rr::rdata::TXT::new(vec!["x".repeat(250)]);
    let host = |of| Record::from_rdata(name(&format!("h{of}.example.org")), 5, RData::TXT(text.clone()));
    let short: Vec<Record> = zone().all().cloned().collect();
    let records = core::iter::once(soa(7)).chain(short).chain((0..200).map(host));
    Zone::new(&name("example.org"), records, ZoneBounds { names: 1000, ..BOUNDS })
}

fn transfer(kind: RecordType, serial: Option<u32>) -> Message {
    let mut message = Message::new(9, MessageType::Query, OpCode::Query);
    message.add_query(Query::query(name("example.org"), kind));
    message.authorities.extend(serial.map(soa));
    message
}

impl World {
    /// Sends octets; the octets of the answers.
    fn raw(&mut self, octets: &[u8], peer: &str) -> Vec<Vec<u8>> {
        match self.service.handle(self.now, octets, peer.parse().unwrap(), Via::Tcp) {
            Outcome::Answer(answers) => answers,
            other @ (Outcome::Update(_) | Outcome::Nothing) => panic!("{other:?}"),
        }
    }

    fn refused(&self, because: &str) -> u64 {
        self.service.counters.transfers_refused.get(because).copied().unwrap_or_default()
    }

    fn notices(&self, outcome: &str) -> u64 {
        self.service.counters.notices.get(outcome).copied().unwrap_or_default()
    }

    fn notice(&mut self) -> Vec<u8> {
        self.now.since_start = self.service.poll_timeout().unwrap();
        self.service.poll_notices(self.now).remove(0).1
    }
}

#[test]
fn whoever_signs_gets_a_zone_of_many_messages_each_of_them_signed_wherever_it_is() {
    for (by, peer) in [("ns2", SECONDARY), ("ns2", "203.0.113.9:53"), ("backup", PEER)] {
        let mut world = world("signed");
        let octets = signed(transfer(RecordType::AXFR, None), &signer(by, SECRET), START);
        let answers = world.raw(&octets, peer);
        let mut verifier = Verifier::new(&[SECRET; 32], &octets);
        assert!(answers.len() > 3, "{}", answers.len());
        assert!(answers.iter().all(|octets| verifier.read(octets).is_right));
        let records = answers.iter().map(|octets| Message::from_vec(octets).unwrap().answers.len());
        assert_eq!(records.sum::<usize>(), long_zone().all().count() + 2);
        assert_eq!(world.service.counters.transfers["whole"], 1);
    }
}

#[test]
fn changes_alone_and_their_absence_are_signed_too() {
    let mut world = world("changes");
    let change = [record("new.example.org", 5, "192.0.2.50")];
    assert!(world.service.with_zone(&key("example.org"), |zone| zone.update(&change).is_ok()));
    for (serial, records, of) in [(7, 5, "changes"), (8, 1, "nothing_new"), (3, 209, "whole")] {
        let octets = signed(transfer(RecordType::IXFR, Some(serial)), &signer("ns2", SECRET), START);
        let answers = world.raw(&octets, SECONDARY);
        let mut verifier = Verifier::new(&[SECRET; 32], &octets);
        assert!(answers.iter().all(|octets| verifier.read(octets).is_right), "{serial}");
        let found = answers.iter().map(|octets| Message::from_vec(octets).unwrap().answers.len());
        assert_eq!((found.sum::<usize>(), world.service.counters.transfers[of]), (records, 1), "{serial}");
    }
}

#[test]
fn whoever_has_not_the_key_gets_nothing_and_is_told_why() {
    let request = || transfer(RecordType::AXFR, None);
    let (own, guess, stranger) = (signer("ns2", SECRET), signer("ns2", 3), signer("stranger", SECRET));
    let (refused, not_auth) = (ResponseCode::Refused, ResponseCode::NotAuth);
    let mut part = request();
    part.queries[0].set_name(name("phone.example.org"));
    for (octets, code, error, because) in [
        (request().to_vec().unwrap(), refused, None, "unsigned"),
        (signed(request(), &signer("phone", 1), START), refused, Some(0), "not_permitted"),
        (signed(part, &own, START), refused, Some(0), "not_a_zone"),
        (signed(request(), &guess, START), not_auth, Some(16), "bad_signature"),
        (signed(request(), &stranger, START), not_auth, Some(17), "bad_key"),
        (signed(request(), &own, START - 301), not_auth, Some(18), "bad_time"),
        (signed(request(), &own, START + 301), not_auth, Some(18), "bad_time"),
    ] {
        let mut world = world("refused");
        let answers = world.raw(&octets, SECONDARY);
        let message = Message::from_vec(&answers[0]).unwrap();
        assert_eq!((message.metadata.response_code, message.answers.len()), (code, 0), "{because}");
        assert_eq!((answers.len(), world.refused(because)), (1, 1), "{because}");
        let says = error.map(|_| Verifier::new(&[SECRET; 32], &octets).read(&answers[0]));
        assert_eq!(says.as_ref().map(|says| says.error), error, "{because}");
        // RFC 8945 §5.3.2: signed where the key is proven, by whichever key that is.
        let is_signed = says.is_some_and(|says| !says.mac.is_empty());
        assert_eq!(is_signed, matches!(error, Some(0 | 18)), "{because}");
    }
}

#[test]
fn a_secondary_whose_clock_is_behind_gets_the_zone_at_once_though_updates_have_to_wait() {
    // An update of a minute ago may have been here before this server began; a question may be asked twice.
    let mut world = world("clock");
    let octets = signed(transfer(RecordType::AXFR, None), &signer("ns2", SECRET), START - 60);
    assert!(world.raw(&octets, SECONDARY).len() > 1);
    assert_eq!(world.code(&signed(update(&[]), &signer("phone", 1), START - 60)), ResponseCode::NotAuth);
}

#[test]
fn a_notice_is_signed_and_only_a_signed_answer_ends_it() {
    let mut world = world("notice");
    world.service.notify_all(world.now);
    let notice = world.notice();
    let own = signer("ns2", SECRET);
    assert!(own.verify_message_byte(&notice, None, true).is_ok());
    let mut heard = Message::from_vec(&notice).unwrap();
    let request_mac = heard.take_signature().unwrap().data.mac;
    heard.metadata.message_type = MessageType::Response;
    heard.metadata.response_code = ResponseCode::NoError;
    world.send(&heard.to_vec().unwrap(), SECONDARY, Via::Udp);
    let guess =
        Signing::proven(heard.metadata.id, START, signer("ns2", 3), request_mac.clone()).sign(heard.clone());
    world.send(&guess.unwrap(), SECONDARY, Via::Udp);
    assert_eq!((world.notices("answer_not_signed"), world.notices("heard")), (2, 0));
    // It is told again, by the same octets, so that an answer to either is one.
    assert_eq!(world.notice(), notice);
    let right = Signing::proven(heard.metadata.id, START, own, request_mac).sign(heard).unwrap();
    world.send(&right, SECONDARY, Via::Udp);
    assert_eq!((world.notices("heard"), world.service.poll_timeout()), (1, None));
    // Once more, and nothing waits for it.
    world.send(&right, SECONDARY, Via::Udp);
    assert_eq!((world.notices("heard"), world.service.counters.ignored), (1, 1));
}

#[test]
fn a_secondary_whose_key_is_gone_is_not_told_without_one() {
    let mut world = world("gone");
    world.service.keyring.configure([], START);
    world.service.notify_all(world.now);
    world.now.since_start = world.service.poll_timeout().unwrap();
    assert!(world.service.poll_notices(world.now).is_empty());
    assert_eq!((world.notices("without_key"), world.service.poll_timeout()), (1, None));
}

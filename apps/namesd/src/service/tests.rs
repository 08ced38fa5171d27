mod transfers;

use hickory_proto::op::MessageType;
use hickory_proto::rr::rdata::tsig::TsigAlgorithm;
use hickory_proto::rr::{RData, Record, TSigner};

use super::*;
use crate::journal::Journal;
use crate::keys::{KeySettings, Pattern};
use crate::secondaries::{Secondaries, Secondary};
use crate::testing::{BOUNDS, name, record, soa, zone};

const PEER: &str = "192.0.2.1:5353";
const SECONDARY: &str = "192.0.2.54:53";
const START: u64 = 1_800_000_000;

/// A service with a journal in a folder that goes with it.
struct World {
    service: Service,
    journal: Journal,
    folder: std::path::PathBuf,
    now: Now,
}

impl Drop for World {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

fn signer(key: &str, secret: u8) -> TSigner {
    TSigner::new(vec![secret; 32], TsigAlgorithm::HmacSha256, name(key), 300).unwrap()
}

fn keyring() -> Keyring {
    let may = vec![
        Pattern::Exactly(LowerName::new(&name("phone.example.org"))),
        Pattern::Below(LowerName::new(&name("phone.example.org"))),
    ];
    Keyring::new([KeySettings { signer: signer("phone", 1), may }], START)
}

impl World {
    fn new(of: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("namesd-service-{}-{of}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let (journal, _) = Journal::open(&folder).unwrap();
        let told = vec![Secondary { address: SECONDARY.parse().unwrap(), key: None }];
        let secondaries = Secondaries { told, transfer_keys: Vec::new() };
        let service = Service::new([(zone(), secondaries)], keyring());
        let now = Now { unix_s: START, since_start: Duration::ZERO };
        Self { service, journal, folder, now }
    }

    /// Sends octets; the answers.
    fn send(&mut self, octets: &[u8], peer: &str, via: Via) -> Vec<Message> {
        let peer = peer.parse().unwrap();
        let answers = match self.service.handle(self.now, octets, peer, via) {
            Outcome::Answer(answers) => answers,
            Outcome::Update(asked) => {
                self.service.update(self.now, &[*asked], &mut self.journal).into_iter().flatten().collect()
            }
            Outcome::Nothing => Vec::new(),
        };
        answers.iter().map(|octets| Message::from_vec(octets).unwrap()).collect()
    }

    fn code(&mut self, octets: &[u8]) -> ResponseCode {
        self.send(octets, PEER, Via::Udp)[0].metadata.response_code
    }

    fn ask(&mut self, of: &str, kind: RecordType) -> Message {
        self.send(&question(of, kind), PEER, Via::Udp).remove(0)
    }

    fn addresses(&mut self, of: &str) -> usize {
        self.ask(of, RecordType::A).answers.len()
    }

    fn updates(&self, outcome: &str) -> u64 {
        self.service.counters.updates.get(outcome).copied().unwrap_or_default()
    }
}

fn question(of: &str, kind: RecordType) -> Vec<u8> {
    let mut message = Message::query();
    message.add_query(Query::query(name(of), kind));
    message.to_vec().unwrap()
}

/// An update of the zone, which may be changed before it is signed.
fn update(records: &[Record]) -> Message {
    let mut message = Message::new(7, MessageType::Query, OpCode::Update);
    message.add_query(Query::query(name("example.org"), RecordType::SOA));
    message.add_authorities(records.iter().cloned());
    message
}

fn signed(mut message: Message, signer: &TSigner, at: u64) -> Vec<u8> {
    let (signature, _) = signer.sign_message(&message, at).unwrap();
    message.set_signature(signature);
    message.to_vec().unwrap()
}

fn by_phone(records: &[Record]) -> Vec<u8> {
    signed(update(records), &signer("phone", 1), START)
}

#[test]
fn a_signed_update_is_made_kept_told_and_its_answer_is_signed() {
    let mut world = World::new("made");
    let octets = by_phone(&[record("phone.example.org", 5, "192.0.2.77")]);
    let response = world.send(&octets, PEER, Via::Udp).remove(0);
    assert_eq!(response.metadata.response_code, ResponseCode::NoError);
    assert!(response.signature().is_some());
    assert_eq!((world.addresses("phone.example.org"), world.updates("made")), (3, 1));
    let later = world.service.poll_timeout().unwrap();
    let told = world.service.poll_notices(Now { since_start: later, ..world.now });
    let notice = Message::from_vec(&told[0].1).unwrap();
    assert_eq!((told[0].0.to_string(), notice.metadata.op_code), (SECONDARY.to_owned(), OpCode::Notify));
    // It answers, and is told no more.
    let mut heard = notice.clone();
    heard.metadata.message_type = MessageType::Response;
    world.send(&heard.to_vec().unwrap(), SECONDARY, Via::Udp);
    assert_eq!(world.service.poll_timeout(), None);
    // The same folder again has the same names.
    let mut again = Service::new([(zone(), Secondaries::default())], keyring());
    again.replay(&octets, PEER.parse().unwrap()).unwrap();
    assert_eq!(again.zones().next().unwrap().serial(), world.service.zones().next().unwrap().serial());
}

#[test]
fn whoever_has_no_right_to_a_name_changes_nothing() {
    let new = record("phone.example.org", 5, "192.0.2.77");
    let stranger = signer("stranger", 1);
    let guess = signer("phone", 2);
    let own = signer("phone", 1);
    let of_other = update(&[record("other.example.org", 5, "192.0.2.77")]);
    let elsewhere = update(&[record("phone.example.com", 5, "192.0.2.77")]);
    let mut foreign = update(&[]);
    foreign.queries[0].set_name(name("example.com"));
    let servers = update(&[Record::from_rdata(
        name("phone.example.org"),
        5,
        RData::NS(hickory_proto::rr::rdata::NS(name("x"))),
    )]);
    for (octets, code, outcome) in [
        (update(std::slice::from_ref(&new)).to_vec().unwrap(), ResponseCode::Refused, "unsigned"),
        (signed(update(std::slice::from_ref(&new)), &stranger, START), ResponseCode::NotAuth, "bad_key"),
        (signed(update(std::slice::from_ref(&new)), &guess, START), ResponseCode::NotAuth, "bad_signature"),
        (signed(update(std::slice::from_ref(&new)), &own, START - 301), ResponseCode::NotAuth, "bad_time"),
        (signed(update(std::slice::from_ref(&new)), &own, START + 301), ResponseCode::NotAuth, "bad_time"),
        (signed(of_other, &own, START), ResponseCode::Refused, "not_permitted"),
        (signed(elsewhere, &own, START), ResponseCode::NotZone, "malformed"),
        (signed(foreign, &own, START), ResponseCode::NotAuth, "not_our_zone"),
        (signed(servers, &own, START), ResponseCode::Refused, "malformed"),
    ] {
        let mut world = World::new("rights");
        assert_eq!(
            (world.code(&octets), world.updates(outcome), world.updates("made")),
            (code, 1, 0),
            "{outcome}"
        );
        assert_eq!((world.addresses("phone.example.org"), world.journal.length()), (2, 0));
    }
}

#[test]
fn any_bit_that_flips_makes_an_update_worthless() {
    let mut world = World::new("bits");
    let octets = by_phone(&[record("phone.example.org", 5, "192.0.2.77")]);
    let mut made = 0;
    for bit in 0..octets.len() * 8 {
        let mut changed = octets.clone();
        changed[bit / 8] ^= 1 << (bit % 8);
        world.send(&changed, PEER, Via::Udp);
        // The ID is not signed, and the case of letters in names counts for nothing.
        let is_same = bit < 16 || changed.eq_ignore_ascii_case(&octets);
        assert!(is_same || world.updates("made") == made, "bit {bit}");
        made = world.updates("made");
    }
    assert_eq!(made, 1, "once, whatever its ID");
}

#[test]
fn the_same_update_again_is_answered_where_it_came_from_and_refused_elsewhere() {
    let mut world = World::new("again");
    let add = by_phone(&[record("phone.example.org", 5, "192.0.2.77")]);
    let mut all = Record::update0(name("phone.example.org"), 0, RecordType::ANY);
    all.dns_class = DNSClass::ANY;
    let remove = by_phone(&[all]);
    assert_eq!((world.code(&add), world.code(&remove)), (ResponseCode::NoError, ResponseCode::NoError));
    assert_eq!(world.code(&add), ResponseCode::NoError, "its answer was lost");
    let elsewhere = world.send(&add, "203.0.113.66:53", Via::Udp).remove(0);
    assert_eq!(elsewhere.metadata.response_code, ResponseCode::Refused);
    assert_eq!(
        (world.addresses("phone.example.org"), world.updates("repeated"), world.updates("replayed")),
        (0, 1, 1)
    );
    // Signed long after it: by then whether it was here before is not known.
    world.now.unix_s += 60;
    let later = signed(update(&[]), &signer("phone", 1), START + 60);
    assert_eq!(world.code(&later), ResponseCode::NoError);
    assert_eq!((world.code(&add), world.updates("bad_time")), (ResponseCode::NotAuth, 1));
}

#[test]
fn prerequisites_hold_or_nothing_is_made() {
    let there = |of: &str, class, kind| {
        let mut record = Record::update0(name(of), 0, kind);
        record.dns_class = class;
        record
    };
    let exactly = |address| {
        let mut record = record("phone.example.org", 0, address);
        record.ttl = 0;
        record
    };
    let (any, none) = (DNSClass::ANY, DNSClass::NONE);
    for (prerequisites, code) in [
        (vec![there("phone.example.org", any, RecordType::ANY)], ResponseCode::NoError),
        (vec![there("nobody.example.org", any, RecordType::ANY)], ResponseCode::NXDomain),
        (vec![there("_sctp.example.org", any, RecordType::ANY)], ResponseCode::NXDomain),
        (vec![there("phone.example.org", any, RecordType::A)], ResponseCode::NoError),
        (vec![there("phone.example.org", any, RecordType::AAAA)], ResponseCode::NXRRSet),
        (vec![there("nobody.example.org", none, RecordType::ANY)], ResponseCode::NoError),
        (vec![there("phone.example.org", none, RecordType::ANY)], ResponseCode::YXDomain),
        (vec![there("phone.example.org", none, RecordType::A)], ResponseCode::YXRRSet),
        (vec![exactly("192.0.2.1"), exactly("192.0.2.9")], ResponseCode::NoError),
        (vec![exactly("192.0.2.1")], ResponseCode::NXRRSet),
        (vec![there("phone.example.com", any, RecordType::A)], ResponseCode::NotZone),
    ] {
        let mut world = World::new("prerequisites");
        let mut message = update(&[record("phone.example.org", 5, "192.0.2.77")]);
        message.add_answers(prerequisites.clone());
        let found = world.code(&signed(message, &signer("phone", 1), START));
        assert_eq!(found, code, "{prerequisites:?}");
        assert_eq!(world.addresses("phone.example.org"), if code == ResponseCode::NoError { 3 } else { 2 });
    }
}

#[test]
fn questions_of_others_are_refused_and_long_answers_are_cut_short() {
    let mut world = World::new("questions");
    assert_eq!(world.ask("example.com", RecordType::A).metadata.response_code, ResponseCode::Refused);
    let many: Vec<Record> = (0..4)
        .map(|of| {
            let text = hickory_proto::rr::rdata::TXT::new(vec!["x".repeat(250), of.to_string()]);
            Record::from_rdata(name("a.phone.example.org"), 5, RData::TXT(text))
        })
        .collect();
    assert_eq!(world.code(&by_phone(&many)), ResponseCode::NoError);
    let cut = world.ask("a.phone.example.org", RecordType::TXT);
    assert!(cut.metadata.truncation && cut.answers.is_empty());
    let whole = world.send(&question("a.phone.example.org", RecordType::TXT), PEER, Via::Tcp).remove(0);
    assert_eq!((whole.metadata.truncation, whole.answers.len()), (false, 4));
}

#[test]
fn only_secondaries_get_a_zone() {
    let mut world = World::new("transfer");
    let ask = |world: &mut World, peer, via| {
        world.send(&question("example.org", RecordType::AXFR), peer, via).remove(0)
    };
    assert_eq!(ask(&mut world, PEER, Via::Tcp).metadata.response_code, ResponseCode::Refused);
    assert_eq!(ask(&mut world, SECONDARY, Via::Udp).metadata.response_code, ResponseCode::FormErr);
    let whole = ask(&mut world, SECONDARY, Via::Tcp);
    assert_eq!(whole.answers.len(), world.service.zones().next().unwrap().all().count() + 2);
}

#[test]
fn answers_are_never_answered_and_nothing_panics() {
    let mut world = World::new("noise");
    let mut response = question("phone.example.org", RecordType::A);
    response[2] |= IS_RESPONSE;
    assert!(world.send(&response, PEER, Via::Udp).is_empty());
    // A few seeds that any message may come from, mutated in a way that is the same each time.
    let seeds = [
        by_phone(&[record("phone.example.org", 5, "192.0.2.77")]),
        question("example.org", RecordType::IXFR),
        question("_x._sctp.example.org", RecordType::SRV),
    ];
    let mut state = 1_u64;
    let mut draw = |below: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(state >> 33).unwrap() % below
    };
    for round in 0..20_000 {
        let mut octets = seeds[round % seeds.len()].clone();
        for _ in 0..=draw(4) {
            let place = draw(octets.len());
            match draw(3) {
                0 => octets[place] = u8::try_from(draw(256)).unwrap(),
                1 => drop(octets.remove(place)),
                _ => octets.insert(place, u8::try_from(draw(256)).unwrap()),
            }
        }
        world.service.handle(world.now, &octets, SECONDARY.parse().unwrap(), Via::Tcp);
    }
}

use hickory_proto::op::{MessageType, OpCode, Query};
use hickory_proto::rr::{RecordType, TSigVerifier};

use super::*;
use crate::testing::verifier::Verifier;
use crate::testing::{name, record};

const NOW: u64 = 1_800_000_000;
const SECRET: [u8; 32] = [9; 32];

fn signer() -> TSigner {
    TSigner::new(SECRET.to_vec(), TsigAlgorithm::HmacSha256, name("ns2"), 300).unwrap()
}

/// A signed request, its signature, and what the library would verify the response with.
fn request() -> (Vec<u8>, Vec<u8>, TSigVerifier) {
    let mut message = Message::new(77, MessageType::Query, OpCode::Query);
    message.add_query(Query::query(name("example.org"), RecordType::AXFR));
    let (signature, verifier) = signer().sign_message(&message, NOW).unwrap();
    let mac = signature.data.mac.clone();
    message.set_signature(signature);
    (message.to_vec().unwrap(), mac, verifier.unwrap())
}

fn response(number: u8) -> Message {
    let mut message = Message::new(77, MessageType::Response, OpCode::Query);
    message.add_answer(record("phone.example.org", 5, &format!("192.0.2.{number}")));
    message
}

/// Five messages of one response.
fn chain(mac: Vec<u8>) -> Vec<Vec<u8>> {
    let mut signing = Signing::proven(77, NOW, signer(), mac);
    (1..=5).map(|number| signing.sign(response(number)).unwrap()).collect()
}

/// How many messages are taken until the first one that is not.
fn taken(request: &[u8], messages: &[Vec<u8>]) -> usize {
    let mut verifier = Verifier::new(&SECRET, request);
    messages.iter().take_while(|octets| verifier.read(octets).is_right).count()
}

#[test]
fn every_message_is_signed_over_the_one_before_and_the_first_over_the_request() {
    let (octets, mac, mut library) = request();
    let messages = chain(mac);
    assert_eq!(taken(&octets, &messages), 5);
    assert!(messages.iter().all(|octets| library.verify(octets).is_ok()));
}

#[test]
fn a_message_that_is_left_out_moved_or_of_another_response_is_found() {
    let (octets, mac, _) = request();
    let messages = chain(mac.clone());
    let [first, second, third, ..] = messages.as_slice() else { panic!("five") };
    let all = |some: [&Vec<u8>; 2]| some.map(Clone::clone);
    assert_eq!(taken(&octets, &all([first, third])), 1);
    assert_eq!(taken(&octets, &all([second, first])), 0);
    assert_eq!(taken(&octets, &all([first, first])), 1);
    let other = chain(vec![1; mac.len()]);
    assert_eq!(taken(&octets, &all([&other[0], second])), 0);
    let mut changed = second.clone();
    // The response code.
    changed[3] ^= 1;
    assert_eq!(taken(&octets, &all([first, &changed])), 1);
}

#[test]
fn a_wrong_time_is_answered_with_both_times_and_signed() {
    // RFC 8945 §5.2.3: the time is the client's, so that it can verify; the server's is in the other data.
    let (octets, mac, _) = request();
    let mut signing = Signing::wrong_time(77, NOW + 1000, signer(), mac, NOW);
    let says = Verifier::new(&SECRET, &octets).read(&signing.sign(response(1)).unwrap());
    let server = (NOW + 1000).to_be_bytes();
    assert_eq!((says.time, says.error, &says.other[..], says.is_right), (NOW, 18, &server[2..], true));
}

#[test]
fn to_whom_nothing_is_proven_nothing_is_signed() {
    let (octets, _, _) = request();
    for (fault, error) in [(TsigError::BadSig, 16), (TsigError::BadKey, 17)] {
        let mut signing = Signing::unproven(77, NOW, name("ns2"), TsigAlgorithm::HmacSha256, fault);
        let says = Verifier::new(&SECRET, &octets).read(&signing.sign(response(1)).unwrap());
        assert_eq!((says.error, says.mac, says.is_right), (error, Vec::new(), false));
    }
}

//! Rules of RFC 3261 about single messages: how they are answered, where answers go, what is dropped.

use super::*;
use crate::via::Via;

/// What B answers to these octets, and where it sends that.
fn answer_to(side: &mut Endpoint, from: Flow, text: &str) -> Option<(Flow, String)> {
    side.handle_packet(Instant::EPOCH, from, &Bytes::copy_from_slice(text.as_bytes()));
    let sent = side.poll_transmit()?;
    Some((sent.flow, String::from_utf8(sent.octets.to_vec()).unwrap()))
}

fn stranger() -> Flow {
    Flow::new(Transport::UDP, "198.51.100.7:4444".parse().unwrap())
}

fn text(method: &str, via: &str, extra: &str) -> String {
    format!(
        "{method} sip:b@192.0.2.2 SIP/2.0\r\nVia: {via}\r\nFrom: <sip:a@x>;tag=a\r\nTo: <sip:b@x>\r\nCall-ID: c\r\n\
         CSeq: 1 {method}\r\n{extra}\r\n"
    )
}

const VIA: &str = "SIP/2.0/UDP 192.0.2.1:5080;branch=z9hG4bKx";

#[test]
fn an_unknown_extension_is_named_in_the_answer() {
    // RFC 3261 §8.2.2.3.
    let mut side = endpoint(B);
    let request = text("INVITE", VIA, "Require: 100rel, newer\r\nProxy-Require: nat\r\n");
    let (_, answer) = answer_to(&mut side, stranger(), &request).unwrap();
    assert!(answer.starts_with("SIP/2.0 420 Bad Extension\r\n"), "{answer}");
    assert!(answer.contains("Unsupported: 100rel, newer, nat\r\n"), "{answer}");
    assert_eq!((side.transactions(), side.counters().refused), (0, 1));
}

#[test]
fn a_request_that_came_by_two_ways_is_refused_once() {
    // RFC 3261 §8.2.2.2.
    let mut side = endpoint(B);
    assert_eq!(answer_to(&mut side, stranger(), &text("INVITE", VIA, "")), None);
    let other = text("INVITE", "SIP/2.0/UDP 192.0.2.1:5080;branch=z9hG4bKy", "");
    let (_, answer) = answer_to(&mut side, stranger(), &other).unwrap();
    assert!(answer.starts_with("SIP/2.0 482 "), "{answer}");
}

#[test]
fn a_cancel_for_nothing_is_refused() {
    let mut side = endpoint(B);
    let (_, answer) = answer_to(&mut side, stranger(), &text("CANCEL", VIA, "")).unwrap();
    assert!(answer.starts_with("SIP/2.0 481 "), "{answer}");
}

#[test]
fn an_ack_is_never_answered() {
    let mut side = endpoint(B);
    assert_eq!(answer_to(&mut side, stranger(), &text("ACK", VIA, "")), None);
    assert_eq!(answer_to(&mut side, stranger(), &text("ACK", VIA, "Max-Forwards: x\r\n")), None);
    assert_eq!((side.counters().stray_acks, side.counters().unanswerable), (1, 1));
}

#[test]
fn answers_go_where_the_request_came_from() {
    // RFC 3261 §18.2.2, RFC 3581 §4.
    let cases = [
        ("SIP/2.0/UDP 192.0.2.1:5080;branch=z9hG4bKx", "198.51.100.7:5080", ";received=198.51.100.7"),
        ("SIP/2.0/UDP host.example.org;branch=z9hG4bKx", "198.51.100.7:5060", ";received=198.51.100.7"),
        ("SIP/2.0/UDP 192.0.2.1;rport;branch=z9hG4bKx", "198.51.100.7:4444", ";rport=4444"),
        ("SIP/2.0/UDP 198.51.100.7;branch=z9hG4bKx;received=203.0.113.1", "198.51.100.7:5060", ";branch"),
        ("SIP/2.0/UDP 198.51.100.7;branch=z9hG4bKx;maddr=203.0.113.1", "198.51.100.7:5060", ";maddr"),
    ];
    for (via, goes_to, has) in cases {
        let (flow, answer) = answer_to(&mut endpoint(B), stranger(), &text("CANCEL", via, "")).unwrap();
        assert_eq!(flow.remote, goes_to.parse().unwrap(), "{via}");
        assert!(answer.contains(has), "{answer}");
        assert!(!answer.contains("received=203"), "{answer}");
    }
    let over_tcp = Flow { transport: Transport::TCP, connection: Some(crate::Connection(3)), ..stranger() };
    let via = "SIP/2.0/TCP 192.0.2.1:5080;branch=z9hG4bKx";
    assert_eq!(answer_to(&mut endpoint(B), over_tcp, &text("CANCEL", via, "")).unwrap().0, over_tcp);
}

#[test]
fn a_repeated_request_is_answered_as_before_and_told_once() {
    let mut side = endpoint(B);
    let request = text("OPTIONS", VIA, "");
    assert_eq!(answer_to(&mut side, stranger(), &request), None);
    let Some(Event::Request { transaction, request: read, .. }) = side.poll_event() else {
        panic!("no request")
    };
    assert_eq!(answer_to(&mut side, stranger(), &request), None);
    side.respond(Instant::EPOCH, transaction, &Response::to(&read, Status::OK, "b"));
    let first = side.poll_transmit().unwrap();
    let (_, again) = answer_to(&mut side, stranger(), &request).unwrap();
    assert_eq!((first.octets, side.poll_event()), (Bytes::from(again), None));
    assert_eq!(side.counters().repetitions, 2);
}

#[test]
fn requests_of_rfc_2543_are_told_apart_without_the_magic_cookie() {
    // RFC 3261 §17.2.3.
    let mut side = endpoint(B);
    for (via, number) in [
        ("SIP/2.0/UDP 192.0.2.1", 1),
        ("SIP/2.0/UDP 192.0.2.1;branch=1", 2),
        ("SIP/2.0/UDP 192.0.2.1;branch=1", 2),
    ] {
        answer_to(
            &mut side,
            stranger(),
            &text("OPTIONS", via, "").replace("Call-ID: c", &format!("Call-ID: {number}")),
        );
    }
    assert_eq!((side.transactions(), side.counters().repetitions), (2, 1));
}

#[test]
fn responses_that_fit_nothing_are_dropped() {
    // RFC 3261 §8.1.3.3, §18.1.2.
    let mut side = endpoint(A);
    let to = Flow::new(Transport::UDP, address(B));
    side.request(Instant::EPOCH, outside(Method::Options), to).unwrap();
    let sent = side.poll_transmit().unwrap();
    let Ok(crate::Message::Request(request)) = crate::Message::parse(&sent.octets, &MessageLimits::default())
    else {
        panic!("no request");
    };
    let good = Response::to(&request, Status::OK, "b");
    let mut two_vias = good.clone();
    two_vias.headers.push(HeaderName::Via, "SIP/2.0/UDP 192.0.2.77;branch=z9hG4bK7");
    let mut other_call = good.clone();
    other_call.headers.set(&HeaderName::CallId, "other");
    let mut other_branch = good.clone();
    let via = Via::parse(good.headers.first(&HeaderName::Via).unwrap()).unwrap().to_string();
    other_branch.headers.set(&HeaderName::Via, via.replace("z9hG4bK", "z9hG4bKf"));
    for stray in [two_vias, other_call, other_branch] {
        side.handle_packet(Instant::EPOCH, to, &stray.encode());
        assert_eq!(side.poll_event(), None);
    }
    assert_eq!(side.counters().stray_responses, 3);
    side.handle_packet(Instant::EPOCH, to, &good.encode());
    assert_eq!(status(&side.poll_event().unwrap()), 200);
}

#[test]
fn more_transactions_than_allowed_are_refused_without_memory() {
    let mut side = endpoint(B);
    side.config.most_transactions = 10;
    for number in 0..100 {
        let via = format!("SIP/2.0/UDP 192.0.2.1;branch=z9hG4bK{number}");
        let request = text("OPTIONS", &via, "").replace("Call-ID: c", &format!("Call-ID: {number}"));
        let answer = answer_to(&mut side, stranger(), &request);
        let is_refused = answer
            .is_some_and(|(_, text)| text.starts_with("SIP/2.0 503 ") && text.contains("Retry-After: 5\r\n"));
        assert_eq!(is_refused, number >= 10, "{number}");
    }
    assert_eq!((side.transactions(), side.counters().overloaded), (10, 90));
}

#[test]
fn nothing_is_sent_over_a_transport_without_an_address() {
    let mut side = endpoint(A);
    let to = Flow::new(Transport::TLS, address(B));
    assert_eq!(side.request(Instant::EPOCH, outside(Method::Options), to), None);
}

#[test]
fn line_ends_keep_a_binding_alive() {
    let mut side = endpoint(B);
    assert_eq!(answer_to(&mut side, stranger(), "\r\n\r\n"), None);
    assert_eq!((side.counters().keep_alives, side.counters().unreadable), (1, 0));
}

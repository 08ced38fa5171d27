use super::*;
use crate::message::{MessageNumber, MessageSize, SendTime};

const START: Instant = Instant::EPOCH;

fn after(millis: u64) -> Instant {
    START + Duration::from_millis(millis)
}

fn wire(number: u64) -> Bytes {
    Message { number: MessageNumber(number), sent: SendTime(0), size: MessageSize::MIN }.encode()
}

fn server(processing_ms: u64) -> EchoServer<char> {
    EchoServer::new(EchoConfig { processing: Duration::from_millis(processing_ms) })
}

fn drain(server: &mut EchoServer<char>, now: Instant) -> Vec<(char, Bytes)> {
    std::iter::from_fn(|| server.poll_transmit(now)).map(|reply| (reply.lane, reply.message)).collect()
}

#[test]
fn messages_return_unchanged_on_their_lane_and_repeated_ones_repeatedly() {
    let mut server = server(0);
    for (lane, number) in [('a', 1), ('b', 2), ('a', 1)] {
        server.handle_message(START, lane, wire(number)).unwrap();
    }
    assert_eq!(drain(&mut server, START), [('a', wire(1)), ('b', wire(2)), ('a', wire(1))]);
    assert_eq!((server.counters().requests, server.counters().replies), (3, 3));
    assert_eq!(server.queued_bytes(), 0);
}

#[test]
fn replies_wait_for_the_processing_time() {
    let mut server = server(5);
    server.handle_message(START, 'a', wire(1)).unwrap();
    server.handle_message(after(2), 'a', wire(2)).unwrap();
    assert_eq!(server.poll_timeout(), Some(after(5)));
    assert!(drain(&mut server, after(4)).is_empty());
    assert_eq!(drain(&mut server, after(5)), [('a', wire(1))]);
    assert_eq!(server.poll_timeout(), Some(after(7)));
    assert_eq!(drain(&mut server, after(7)), [('a', wire(2))]);
    assert_eq!(server.poll_timeout(), None);
}

#[test]
fn what_is_not_a_message_is_counted_and_not_answered() {
    let mut server = server(0);
    assert!(server.handle_message(START, 'a', Bytes::from_static(b"hello")).is_err());
    assert_eq!(server.counters().malformed, 1);
    assert!(drain(&mut server, START).is_empty());
}

#[test]
fn a_closed_lane_keeps_its_order_and_holds_up_no_other() {
    let mut server = server(0);
    for (lane, number) in [('a', 1), ('b', 2), ('a', 3), ('b', 4)] {
        server.handle_message(START, lane, wire(number)).unwrap();
    }
    let refused = server.poll_transmit(START).unwrap();
    server.defer(refused);
    assert_eq!(drain(&mut server, START), [('b', wire(2)), ('b', wire(4))]);
    assert_eq!((server.queued_bytes(), server.counters().replies), (40, 2));
    server.resume(&'a');
    let refused = server.poll_transmit(START).unwrap();
    server.defer(refused);
    assert!(drain(&mut server, START).is_empty());
    server.resume(&'a');
    assert_eq!(drain(&mut server, START), [('a', wire(1)), ('a', wire(3))]);
}

#[test]
fn a_forgotten_lane_leaves_nothing_behind() {
    let mut server = server(0);
    for (lane, number) in [('a', 1), ('b', 2), ('a', 3)] {
        server.handle_message(START, lane, wire(number)).unwrap();
    }
    let refused = server.poll_transmit(START).unwrap();
    server.defer(refused);
    server.forget(&'a');
    assert_eq!(server.queued_bytes(), 20);
    server.resume(&'a');
    assert_eq!(drain(&mut server, START), [('b', wire(2))]);
}

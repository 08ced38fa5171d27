//! Calls from beginning to end, with and without losses.

use super::*;

#[test]
fn a_call_is_set_up_and_leaves_nothing_behind() {
    for transport in [Transport::UDP, Transport::TCP, Transport::SCTP] {
        let mut pair = Pair::new(transport);
        let (client, server, request) = pair.invite();
        pair.respond(server, &request, Status::RINGING);
        assert_eq!(status(&pair.next().unwrap().1), 180);
        pair.respond(server, &request, Status::OK);
        assert_eq!(status(&pair.next().unwrap().1), 200);
        let to = pair.flow(B);
        pair.sides[A].acknowledge(client, ack("b"), to);
        assert!(
            matches!(pair.next(), Some((B, Event::Acknowledged { transaction, .. })) if transaction == server)
        );
        assert_eq!(pair.rest(), []);
        assert_eq!(pair.arrived(A, "SIP/2.0 200"), 1);
        pair.assert_empty();
    }
}

#[test]
fn a_success_is_repeated_until_it_is_acknowledged_over_tcp_too() {
    // RFC 3261 §13.3.1.4; the first three ACKs are lost.
    for transport in [Transport::UDP, Transport::TCP] {
        let mut pair = Pair::new(transport);
        pair.is_lost = |_, text, count| text.starts_with("ACK") && count < 9;
        let (client, server, request) = pair.invite();
        pair.respond(server, &request, Status::OK);
        assert_eq!(status(&pair.next().unwrap().1), 200);
        let to = pair.flow(B);
        pair.sides[A].acknowledge(client, ack("b"), to);
        let rest = pair.rest();
        assert!(matches!(rest.as_slice(), [(B, Event::Acknowledged { .. })]), "{rest:?}");
        assert_eq!(pair.arrived(A, "SIP/2.0 200"), 4);
        pair.assert_empty();
    }
}

#[test]
fn a_success_that_nobody_acknowledges_is_told() {
    let mut pair = Pair::new(Transport::TCP);
    let (_, server, request) = pair.invite();
    pair.respond(server, &request, Status::OK);
    assert_eq!(status(&pair.next().unwrap().1), 200);
    let rest = pair.rest();
    assert_eq!(rest, [(B, Event::Unacknowledged { transaction: server })]);
    assert_eq!(pair.arrived(A, "SIP/2.0 200"), 11);
    assert_eq!(pair.sides[B].counters().unacknowledged, 1);
    pair.assert_empty();
}

#[test]
fn a_refusal_is_acknowledged_by_the_transaction() {
    let mut pair = Pair::new(Transport::UDP);
    pair.is_lost = |_, text, count| text.starts_with("ACK") && count < 6;
    let (_, server, request) = pair.invite();
    pair.respond(server, &request, Status::BUSY);
    assert_eq!(status(&pair.next().unwrap().1), 486);
    assert_eq!(pair.rest(), []);
    assert_eq!(pair.arrived(B, "ACK sip:b@192.0.2.2 SIP/2.0"), 1);
    assert_eq!(pair.sides[B].counters().unacknowledged, 0);
    pair.assert_empty();
}

#[test]
fn lost_requests_and_lost_responses_are_made_up_for() {
    let mut pair = Pair::new(Transport::UDP);
    pair.is_lost = |_, _, count| matches!(count, 1 | 3);
    let to = pair.flow(B);
    pair.sides[A].request(pair.now, outside(Method::Options), to).unwrap();
    let Some((B, Event::Request { transaction, request, .. })) = pair.next() else { panic!("no request") };
    pair.respond(transaction, &request, Status::OK);
    assert_eq!(status(&pair.next().unwrap().1), 200);
    assert_eq!(pair.rest(), []);
    pair.assert_empty();
}

#[test]
fn a_cancel_waits_for_a_provisional_response() {
    // RFC 3261 §9.1.
    let mut pair = Pair::new(Transport::UDP);
    let (client, server, request) = pair.invite();
    assert_eq!(pair.sides[A].cancel(pair.now, client), CancelOutcome::OnItsWay);
    assert_eq!(pair.sides[A].cancel(pair.now, client), CancelOutcome::OnItsWay);
    pair.collect();
    assert!(pair.under_way.iter().all(|(_, _, octets)| !octets.starts_with(b"CANCEL")));
    pair.respond(server, &request, Status::TRYING);
    assert_eq!(status(&pair.next().unwrap().1), 100);
    assert_eq!(pair.next(), Some((B, Event::Cancelled { transaction: server })));
    pair.respond(server, &request, Status::TERMINATED);
    assert_eq!(status(&pair.next().unwrap().1), 487);
    assert_eq!(pair.rest(), []);
    assert_eq!(pair.sides[A].cancel(pair.now, client), CancelOutcome::TooLate);
    pair.assert_empty();
}

#[test]
fn a_cancel_that_meets_the_success_changes_nothing() {
    let mut pair = Pair::new(Transport::UDP);
    let (client, server, request) = pair.invite();
    pair.respond(server, &request, Status::RINGING);
    assert_eq!(status(&pair.next().unwrap().1), 180);
    pair.sides[A].cancel(pair.now, client);
    pair.respond(server, &request, Status::OK);
    assert_eq!(status(&pair.next().unwrap().1), 200);
    let to = pair.flow(B);
    pair.sides[A].acknowledge(client, ack("b"), to);
    let rest = pair.rest();
    assert!(matches!(rest.as_slice(), [(B, Event::Acknowledged { .. })]), "{rest:?}");
    assert!(pair.arrived(B, "CANCEL") >= 1);
    pair.assert_empty();
}

#[test]
fn forks_are_told_once_each_and_not_without_end() {
    // RFC 3261 §13.2.2.4.
    let mut pair = Pair::new(Transport::UDP);
    let (client, _, request) = pair.invite();
    for fork in 0..20 {
        let response = Response::to(&request, Status::OK, &format!("fork{}", fork % 10));
        let from = pair.flow(B);
        pair.sides[A].handle_packet(pair.now, from, &response.encode());
    }
    let mut told = 0;
    while let Some(event) = pair.sides[A].poll_event() {
        told += 1;
        assert_eq!(status(&event), 200);
    }
    assert_eq!((told, pair.sides[A].counters().surplus_forks), (8, 4));
    let to = pair.flow(B);
    pair.sides[A].acknowledge(client, ack("fork0"), to);
    assert_eq!(pair.sides[A].transactions(), 1);
}

#[test]
fn nobody_there_is_told_after_32_seconds() {
    let mut pair = Pair::new(Transport::UDP);
    pair.is_lost = |_, _, _| true;
    let to = pair.flow(B);
    let client = pair.sides[A].request(pair.now, outside(Method::Invite), to).unwrap();
    assert_eq!(pair.rest(), [(A, Event::Failed { transaction: client, failure: Failure::Timeout })]);
    assert_eq!((pair.count, pair.now), (7, Instant::from_millis(32_000)));
    pair.assert_empty();
}

#[test]
fn a_broken_connection_ends_what_waits_on_it() {
    let mut pair = Pair::new(Transport::TCP);
    let to = pair.flow(B);
    let client = pair.sides[A].request(pair.now, outside(Method::Invite), to).unwrap();
    pair.sides[A].handle_transport_error(pair.now, to);
    let event = pair.sides[A].poll_event();
    assert_eq!(event, Some(Event::Failed { transaction: client, failure: Failure::Transport }));
}

#[test]
fn a_long_request_goes_over_tcp_and_back_to_udp_if_that_fails() {
    // RFC 3261 §18.1.1.
    let mut pair = Pair::new(Transport::UDP);
    let mut request = outside(Method::Invite);
    request.body = Bytes::from(vec![b'x'; 1_300]);
    let to = pair.flow(B);
    pair.sides[A].request(pair.now, request, to).unwrap();
    let first = pair.sides[A].poll_transmit().unwrap();
    assert_eq!(first.flow.transport, Transport::TCP);
    assert!(first.octets.windows(12).any(|octets| octets == b"SIP/2.0/TCP "));
    pair.sides[A].handle_transport_error(pair.now, first.flow);
    let second = pair.sides[A].poll_transmit().unwrap();
    assert_eq!(second.flow, to);
    assert!(second.octets.windows(12).any(|octets| octets == b"SIP/2.0/UDP "));
    pair.sides[B].handle_packet(pair.now, pair.flow(A), &second.octets);
    assert!(matches!(pair.sides[B].poll_event(), Some(Event::Request { .. })));
    assert_eq!(pair.sides[A].counters().fallen_back, 1);
}

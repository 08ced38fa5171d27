use core::time::Duration;

use bytes::Bytes;
use virtual_time::Instant;
use workload::{Message, MessageNumber, MessageSize, SendTime};

use super::client::{Client, Pending};
use super::{Server, ServerPlan};
use crate::compare::CompareConfig;
use crate::traffic::Arrivals;

fn at(millis: u64) -> Instant {
    Instant::from_millis(millis)
}

/// One message every 10 ms for `millis`, over `lanes` streams, from the epoch on.
fn client(lanes: u16, millis: u64) -> Client {
    let mut config = CompareConfig::default();
    config.traffic.arrivals = Arrivals { name: "constant".to_owned(), law: workload::Arrivals::Constant };
    config.traffic.duration = Duration::from_millis(millis);
    let plan = config.client_plan(format!("sctp:{lanes}").parse().unwrap(), 0).unwrap();
    let mut client = Client::new(plan).unwrap();
    client.begin(Instant::EPOCH);
    client
}

/// What is due at a time, handed to a transport that takes everything.
fn send(client: &mut Client, now: Instant) -> Vec<(Pending, Bytes)> {
    client.handle_timeout(now);
    let mut sent = Vec::new();
    while let Some(pending) = client.poll_message() {
        sent.push((pending, client.encode(pending)));
        client.commit(now, pending);
    }
    sent
}

#[test]
fn messages_fall_due_whether_others_were_answered_or_not() {
    let mut client = client(2, 40);
    let sent = send(&mut client, at(100));
    assert_eq!(sent.iter().map(|(pending, _)| pending.number).collect::<Vec<_>>(), [0, 1, 2, 3]);
    assert_eq!(sent.iter().map(|(pending, _)| pending.lane).collect::<Vec<_>>(), [0, 1, 0, 1]);
    assert_eq!(client.poll_timeout(), None, "the duration is over");
}

#[test]
fn a_response_time_runs_from_when_the_message_was_due() {
    let mut client = client(1, 20);
    let sent = send(&mut client, at(30));
    client.on_response(at(50), 0, &sent[1].1, Some(Duration::from_millis(3)));
    let (drawn, _, samples, _) = client.into_parts();
    assert_eq!((drawn, samples.len()), (2, 2));
    assert_eq!((samples[0].sent, samples[0].response), (Some(at(30)), None));
    assert_eq!(samples[1].response, Some(Duration::from_millis(40)), "due at 10 ms, though sent at 30 ms");
    assert_eq!(samples[1].blocked, Some(Duration::from_millis(3)));
}

#[test]
fn a_lane_without_room_holds_up_no_other() {
    let mut client = client(2, 60);
    client.handle_timeout(at(100));
    let first = client.poll_message().unwrap();
    client.defer(first);
    let numbers = |client: &mut Client| -> Vec<u64> {
        core::iter::from_fn(|| client.poll_message()).map(|pending| pending.number).collect()
    };
    assert_eq!(numbers(&mut client), [1, 3, 5]);
    client.resume(0);
    assert_eq!(numbers(&mut client), [0, 2, 4]);
}

#[test]
fn what_answers_nothing_is_counted_and_times_nothing() {
    let mut client = client(2, 40);
    let sent = send(&mut client, at(100));
    let answer = |number, sent, octets| {
        let size = MessageSize::new(octets).unwrap();
        Message { number: MessageNumber(number), sent: SendTime::from(sent), size }.encode()
    };
    client.on_response(at(110), 0, b"no message", None);
    client.on_response(at(110), 0, &answer(9, at(0), 64), None);
    client.on_response(at(110), 0, &answer(0, at(5), 64), None);
    client.on_response(at(110), 0, &answer(0, at(0), 65), None);
    client.on_response(at(110), 1, &sent[0].1, None);
    assert_eq!((client.facts().1, client.answered()), (5, 0));
    client.on_response(at(110), 0, &sent[0].1, None);
    client.on_response(at(120), 0, &sent[0].1, None);
    assert_eq!((client.facts().1, client.answered()), (6, 1), "the second answer is none");
    assert_eq!(client.into_parts().2[0].response, Some(Duration::from_millis(110)));
}

#[test]
fn a_run_ends_with_its_last_answer_or_when_patience_does() {
    let mut client = client(1, 20);
    assert!(!client.is_finished(at(0), client.answered()));
    let sent = send(&mut client, at(10));
    assert!(!client.is_finished(at(15), 0));
    assert!(!client.is_finished(at(10_009), 0) && client.is_finished(at(10_010), 0), "10 s after the last");
    sent.iter().for_each(|(_, octets)| client.on_response(at(40), 0, octets, None));
    assert!(client.is_finished(at(40), client.answered()));
}

#[test]
fn a_failure_ends_a_run_and_the_first_reason_stays() {
    let mut client = client(1, 1000);
    client.fail("the path is gone");
    client.fail("so is the peer");
    assert!(client.is_finished(at(0), 0));
    assert_eq!((client.failure(), client.poll_timeout()), (Some("the path is gone"), None));
}

#[test]
fn a_server_holds_each_answer_for_the_time_of_processing_and_answers_only_messages() {
    let mut server: Server<u8> = Server::new(ServerPlan::echo(Duration::from_millis(5)));
    let message = Message { number: MessageNumber(0), sent: SendTime(0), size: MessageSize::MIN }.encode();
    server.on_message(at(0), at(0), 7, 0, message.clone());
    server.on_message(at(1), at(1), 7, 0, Bytes::from_static(b"no message"));
    server.on_datagram(at(2), 8, message.clone());
    assert_eq!((server.poll_timeout(), server.poll_reply(at(4))), (Some(at(5)), None));
    assert_eq!(server.poll_reply(at(5)), Some((7, message.clone())));
    server.defer(7, message.clone());
    assert_eq!(server.poll_reply(at(5)), Some((7, message.clone())), "what was refused comes again");
    assert_eq!((server.poll_reply(at(7)), server.poll_timeout()), (Some((8, message)), None));
}

use sctp_wire::{ReconfigResponse, ReconfigResult, ReconfigSequence, StreamId, StreamIds};

use super::requester::WAITING_AT_MOST;
use super::requester::*;
use super::responder::ANSWERED_STREAMS;
use super::responder::*;
use super::*;
use crate::config::{Acceptance, ReconfigConfig};
use crate::stream_set::StreamSet;

fn ids(streams: &[u16]) -> StreamSet {
    StreamSet::of_list(streams.iter().copied().map(StreamId::new))
}

/// A list as it stands in a request.
fn wire(streams: &[u16]) -> Vec<[u8; 2]> {
    streams.iter().map(|stream| stream.to_be_bytes()).collect()
}

fn number(number: u32) -> ReconfigSequence {
    ReconfigSequence::new(number)
}

fn reset(direction: ResetDirection, streams: &[u16]) -> Request {
    Request::ResetStreams { direction, streams: ids(streams), answers: None }
}

fn response(to: u32, result: ReconfigResult) -> ReconfigResponse {
    ReconfigResponse { response: number(to), result, next_tsns: None }
}

fn launched(requests: &[Request]) -> Requester {
    let mut requester = Requester::new(Tsn::new(u32::MAX));
    requests.iter().for_each(|request| assert!(requester.push(request.clone())));
    requester.begin_next().unwrap();
    requester.launch(Tsn::new(41), number(6)).unwrap();
    requester
}

/// RFC 6525 §4.1, §5.1.2 (A2) to (A4): numbers go on from the initial TSN, through zero.
#[test]
fn request_for_both_directions_takes_two_numbers_and_is_done_when_both_are_answered() {
    let mut requester = Requester::new(Tsn::new(u32::MAX));
    assert!(requester.push(reset(ResetDirection::Both, &[3])));
    requester.begin_next().unwrap();
    let chunk = requester.launch(Tsn::new(41), number(6)).unwrap();
    let outgoing = [0, 13, 0, 18, 255, 255, 255, 255, 0, 0, 0, 6, 0, 0, 0, 41, 0, 3, 0, 0];
    let incoming = [0, 14, 0, 10, 0, 0, 0, 0, 0, 3, 0, 0];
    assert_eq!(chunk.as_bytes()[4..], [&outgoing[..], &incoming[..]].concat());
    assert!(matches!(
        requester.on_response(&response(0, ReconfigResult::Denied)),
        ReconfigAnswer::Completed(Completed {
            part: Part::IncomingReset,
            result: ReconfigResult::Denied,
            ..
        })
    ));
    assert!(!requester.is_idle());
    let answered = requester.on_response(&response(u32::MAX, ReconfigResult::Performed));
    assert!(
        matches!(answered, ReconfigAnswer::Completed(done) if done.part == Part::OutgoingReset && done.streams == ids(&[3]))
    );
    assert!(requester.is_idle());
}

/// RFC 6525 §5.1.1: one request in flight.
#[test]
fn robustness_17_next_request_begins_when_the_one_before_is_answered_and_too_many_are_refused() {
    let add = Request::AddStreams { outbound: 1, inbound: 0 };
    let mut requester = launched(&[add.clone(), Request::ResetAssociation]);
    assert_eq!(requester.begin_next(), None);
    assert_eq!(requester.launch(Tsn::new(1), number(1)), None);
    requester.on_response(&response(u32::MAX, ReconfigResult::Performed));
    assert_eq!(requester.begin_next(), Some(&Request::ResetAssociation));
    for _ in 0..WAITING_AT_MOST {
        assert!(requester.push(add.clone()));
    }
    assert!(!requester.push(add.clone()) && !requester.push_first(add));
}

#[test]
fn answers_that_nothing_waits_for_are_unexpected() {
    let mut requester = launched(&[reset(ResetDirection::Outgoing, &[])]);
    assert_eq!(requester.on_response(&response(7, ReconfigResult::Performed)), ReconfigAnswer::Unexpected);
    requester.on_response(&response(u32::MAX, ReconfigResult::Performed));
    let again = requester.on_response(&response(u32::MAX, ReconfigResult::Performed));
    assert_eq!(again, ReconfigAnswer::Unexpected);
}

/// RFC 6525 §5.1.1, §5.2.7 (H2).
#[test]
fn timer_doubles_and_counts_errors_until_the_peer_says_it_is_at_it() {
    let (second, longest) = (core::time::Duration::from_secs(1), core::time::Duration::from_secs(5));
    let mut requester = launched(&[Request::ResetAssociation]);
    let mut patience = Vec::new();
    for _ in 0..4 {
        patience.push(requester.patience(second, longest).unwrap().as_secs());
        assert_eq!(requester.on_timer().unwrap().1, Expiry::Unanswered);
    }
    assert_eq!(patience, [1, 2, 4, 5]);
    let answered = requester.on_response(&response(u32::MAX, ReconfigResult::InProgress));
    assert_eq!(answered, ReconfigAnswer::InProgress);
    assert_eq!(requester.on_timer().unwrap().1, Expiry::PeerIsAtIt);
    assert_eq!(requester.on_timer().unwrap().1, Expiry::Unanswered, "it has said nothing since");
}

/// RFC 6525 §5.2.1, robustness against repetition: the same answer, and no second effect.
#[test]
fn robustness_17_responder_knows_the_next_number_and_the_last_two_answers() {
    let mut responder = ReconfigResponder::new(Tsn::new(u32::MAX));
    for (request, result) in
        [(u32::MAX, ReconfigResult::Denied), (0, ReconfigResult::InProgress), (1, ReconfigResult::Performed)]
    {
        assert_eq!(responder.place(number(request)), RequestOrder::New);
        responder.answer(number(request), result, None);
    }
    assert_eq!(responder.place(number(u32::MAX)), RequestOrder::OutOfSequence, "two are kept");
    assert_eq!(responder.place(number(3)), RequestOrder::OutOfSequence);
    assert_eq!(responder.place(number(0)), RequestOrder::Repeated(response(0, ReconfigResult::InProgress)));
    responder.answer(number(0), ReconfigResult::Performed, None);
    assert_eq!(responder.place(number(0)), RequestOrder::Repeated(response(0, ReconfigResult::Performed)));
    assert_eq!((responder.place(number(2)), responder.last()), (RequestOrder::New, number(1)));
}

#[test]
fn outgoing_reset_is_judged_row_by_row() {
    let accept = ReconfigConfig::default();
    let deny = ReconfigConfig { stream_reset: Acceptance::Deny, ..accept };
    let busy = Deferred::AssociationReset { request: number(1) };
    let rows = [
        (accept, wire(&[0, 9]), Arrived::All, None, RequestVerdict::Perform),
        (accept, wire(&[]), Arrived::All, None, RequestVerdict::Perform),
        (accept, wire(&[0]), Arrived::NotAll, None, RequestVerdict::Defer),
        (accept, wire(&[0, 10]), Arrived::NotAll, None, RequestVerdict::Answer(ReconfigResult::WrongSsn)),
        (deny, wire(&[10]), Arrived::All, None, RequestVerdict::Answer(ReconfigResult::Denied)),
        (
            deny,
            wire(&[0]),
            Arrived::All,
            Some(&busy),
            RequestVerdict::Answer(ReconfigResult::RequestAlreadyInProgress),
        ),
    ];
    for (config, streams, arrived, deferred, expected) in rows {
        assert_eq!(
            judge_outgoing_reset(&config, StreamIds::new(&streams), 10, arrived, deferred),
            expected,
            "{streams:?}"
        );
    }
}

/// RFC 6525 §5.2.3 with its collision rule: only what a reset of ours covers completely is nothing to do.
#[test]
fn incoming_reset_is_judged_row_by_row() {
    let accept = ReconfigConfig::default();
    let deny = ReconfigConfig { stream_reset: Acceptance::Deny, ..accept };
    let nothing = RequestVerdict::Answer(ReconfigResult::NothingToDo);
    let many = wire(&[0; ANSWERED_STREAMS + 1]);
    let rows = [
        (accept, wire(&[1, 2]), None, RequestVerdict::Perform),
        (accept, wire(&[1, 10]), None, RequestVerdict::Answer(ReconfigResult::WrongSsn)),
        (deny, wire(&[1]), None, RequestVerdict::Answer(ReconfigResult::Denied)),
        (accept, many, None, RequestVerdict::Answer(ReconfigResult::Denied)),
        (accept, wire(&[1, 2]), Some(ids(&[2, 1, 5])), nothing),
        (accept, wire(&[1, 2]), Some(ids(&[])), nothing),
        (accept, wire(&[]), Some(ids(&[])), nothing),
        (accept, wire(&[]), Some(ids(&[1])), RequestVerdict::Perform),
        (accept, wire(&[1, 2]), Some(ids(&[1])), RequestVerdict::Perform),
    ];
    for (config, streams, ours, expected) in rows {
        assert_eq!(
            judge_incoming_reset(&config, StreamIds::new(&streams), 10, ours.as_ref()),
            expected,
            "{streams:?} {ours:?}"
        );
    }
}

#[test]
fn association_reset_and_added_streams_are_judged_row_by_row() {
    let accept = ReconfigConfig::default();
    let deny = ReconfigConfig { association_reset: Acceptance::Deny, ..accept };
    let busy = RequestVerdict::Answer(ReconfigResult::RequestAlreadyInProgress);
    assert_eq!(judge_association_reset(&accept, Standing::Drained), RequestVerdict::Perform);
    assert_eq!(judge_association_reset(&accept, Standing::Sending), RequestVerdict::Defer);
    assert_eq!(judge_association_reset(&accept, Standing::Busy), busy);
    assert_eq!(
        judge_association_reset(&deny, Standing::Drained),
        RequestVerdict::Answer(ReconfigResult::Denied)
    );

    assert_eq!(judge_added_streams(10, 5, 15), RequestVerdict::Perform);
    assert_eq!(judge_added_streams(10, 6, 15), RequestVerdict::Answer(ReconfigResult::Denied));
    assert_eq!(judge_added_streams(10, 0, 15), RequestVerdict::Answer(ReconfigResult::NothingToDo));
    assert_eq!(judge_added_streams(65_535, 1, 65_535), RequestVerdict::Answer(ReconfigResult::Denied));
}

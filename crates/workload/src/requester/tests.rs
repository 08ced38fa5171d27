use super::*;
use crate::message::{MessageSize, SendTime};

const ONE: MessageNumber = MessageNumber(1);

fn wire(number: MessageNumber) -> Bytes {
    Message { number, sent: SendTime(0), size: MessageSize::MIN }.encode()
}

fn after(millis: u64) -> Instant {
    Instant::from_millis(millis)
}

fn requester() -> UdpRequester {
    UdpRequester::new(RetransmissionConfig::default())
}

/// Runs until nothing is pending; the times of all datagrams in ms.
fn transmissions(requester: &mut UdpRequester) -> Vec<u128> {
    let mut times = Vec::new();
    let mut now = Instant::EPOCH;
    loop {
        while requester.poll_transmit().is_some() {
            times.push(now.since(Instant::EPOCH).as_millis());
        }
        let Some(next) = requester.poll_timeout() else { return times };
        now = next;
        requester.handle_timeout(now);
    }
}

/// RFC 3261 §17.1.1.2, timers A and B.
#[test]
fn an_unanswered_request_is_sent_seven_times_and_given_up_after_32_seconds() {
    let mut requester = requester();
    requester.request(Instant::EPOCH, ONE, wire(ONE));
    assert_eq!(transmissions(&mut requester), [0, 500, 1500, 3500, 7500, 15_500, 31_500]);
    assert_eq!((requester.counters().retransmissions, requester.counters().given_up), (6, 1));
}

#[test]
fn the_surrender_comes_at_64_times_t1() {
    let mut requester = requester();
    requester.request(Instant::EPOCH, ONE, wire(ONE));
    for millis in [500, 1500, 3500, 7500, 15_500, 31_500] {
        assert_eq!(requester.poll_timeout(), Some(after(millis)));
        requester.handle_timeout(after(millis));
    }
    assert_eq!(requester.poll_timeout(), Some(after(32_000)));
    requester.handle_timeout(after(31_999));
    assert_eq!(requester.counters().given_up, 0);
}

#[test]
fn a_response_ends_the_repetitions_and_its_duplicate_is_told_apart() {
    let mut requester = requester();
    requester.request(Instant::EPOCH, ONE, wire(ONE));
    requester.handle_timeout(after(500));
    assert_eq!(requester.handle_response(after(600), &wire(ONE)), Ok(ResponseNovelty::First));
    assert_eq!(requester.poll_timeout(), None);
    assert_eq!(requester.poll_transmit(), None, "what was not sent yet need not be sent any more");
    assert_eq!(requester.handle_response(after(600), &wire(ONE)), Ok(ResponseNovelty::Repeated));
    assert_eq!(requester.counters().stray_responses, 1);
}

#[test]
fn requests_have_timers_of_their_own() {
    let mut requester = requester();
    let two = MessageNumber(2);
    requester.request(Instant::EPOCH, ONE, wire(ONE));
    requester.request(after(100), two, wire(two));
    while requester.poll_transmit().is_some() {}
    requester.handle_timeout(after(550));
    assert_eq!(requester.poll_transmit().map(|datagram| datagram.number), Some(ONE));
    assert_eq!(requester.poll_transmit(), None);
    assert_eq!(requester.poll_timeout(), Some(after(600)));
}

#[test]
fn octets_that_are_no_message_change_nothing() {
    let mut requester = requester();
    requester.request(Instant::EPOCH, ONE, wire(ONE));
    assert!(requester.handle_response(after(600), b"SIP/2.0 200 OK").is_err());
    assert_eq!(requester.counters().responses, 0);
    assert!(requester.poll_timeout().is_some());
}

/// RFC 6298 §2: the smoothed time and four deviations, of which 200 ms are the least; a request that was repeated measures nothing (§3).
#[test]
fn an_estimated_first_timeout_follows_the_answers_to_requests_sent_once() {
    let config =
        RetransmissionConfig { first_timeout: FirstTimeout::Estimated, ..RetransmissionConfig::default() };
    let mut requester = UdpRequester::new(config);
    requester.request(Instant::EPOCH, ONE, wire(ONE));
    assert_eq!(requester.poll_timeout(), Some(after(500)), "nothing is measured yet");
    requester.handle_answer(after(40), ONE);
    let [two, three] = [2, 3].map(MessageNumber);
    requester.request(after(100), two, wire(two));
    assert_eq!(
        requester.poll_timeout(),
        Some(after(100 + 40 + 200)),
        "four deviations of 20 ms are less than 200"
    );
    requester.handle_timeout(after(340));
    requester.handle_answer(after(1000), two);
    requester.request(after(1000), three, wire(three));
    assert_eq!(requester.poll_timeout(), Some(after(1000 + 240)), "which copy was answered is not known");
}

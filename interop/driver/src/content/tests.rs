//! The pattern, and every way of not meeting it.

use super::*;

fn ordered(stream: u16, index: u32) -> Message {
    let stream = StreamId::new(stream);
    Message::ordered(stream, payload(stream, index, 20))
}

fn unordered(stream: u16, index: u32) -> Message {
    let stream = StreamId::new(stream);
    Message::unordered(stream, payload(stream, index, 20))
}

#[test]
fn payload_is_the_pattern_of_peer() {
    // (31 * 2 + 7 * 258 + 8) mod 251 = 119
    assert_eq!(payload(StreamId::new(2), 258, 10), [0, 0, 0, 2, 0, 0, 1, 2, 119, 120]);
    assert_eq!(payload(StreamId::new(2), 258, 3), [0, 0, 0]);
    assert_eq!(payload(StreamId::new(0), 0, 252)[249..], [249, 250, 0]);
}

#[test]
fn ordered_messages_must_come_in_their_order() {
    let mut verification = Verification::default();
    assert_eq!(verification.check(&ordered(1, 0)), Ok(()));
    assert_eq!(verification.check(&ordered(9, 0)), Ok(()));
    assert_eq!(verification.check(&ordered(1, 2)), Err(Wrong::Order));
}

#[test]
fn a_wrong_octet_is_found() {
    let mut octets = payload(StreamId::new(1), 0, 20);
    octets[19] ^= 1;
    let mut verification = Verification::default();
    assert_eq!(verification.check(&Message::ordered(StreamId::new(1), octets)), Err(Wrong::Content));
    let short = Message::unordered(StreamId::new(1), vec![0, 0]);
    assert_eq!(verification.check(&short), Err(Wrong::Content));
}

#[test]
fn unordered_messages_come_in_any_order_but_each_once() {
    let mut verification = Verification::default();
    for index in [2, 0] {
        assert_eq!(verification.check(&unordered(3, index)), Ok(()));
    }
    assert_eq!(verification.incomplete().collect::<Vec<_>>(), [StreamId::new(3)]);
    assert_eq!(verification.check(&unordered(3, 2)), Err(Wrong::Double));
    assert_eq!(verification.check(&unordered(3, 1)), Ok(()));
    assert_eq!(verification.incomplete().count(), 0);
}

#[test]
fn with_gaps_allowed_messages_may_be_missing_but_not_late_or_wrong() {
    let mut verification = Verification::new(true);
    assert_eq!(verification.check(&ordered(1, 0)), Ok(()));
    assert_eq!(verification.check(&ordered(1, 5)), Ok(()));
    assert_eq!(verification.check(&ordered(1, 4)), Err(Wrong::Order));
    assert_eq!(verification.check(&unordered(2, 7)), Ok(()));
    assert_eq!(verification.incomplete().count(), 0);
}

//! What a lost packet costs, in both profiles. Round trip 20 ms.

use crate::net::{End, Pair, Setup, ordered};

/// Established, and the round trip is known from ten messages, each acknowledged at once or by the next.
fn measured(setup: Setup) -> Pair {
    let mut pair = setup.connected();
    for number in 0..10 {
        pair.send(End::Left, ordered(0, number, 100));
        pair.run_ms(250);
    }
    assert_eq!(pair.side(End::Right).received.len(), 10);
    pair
}

/// Messages 5 ms apart, each in a packet of its own; gives the time the first one left.
fn send_spaced(pair: &mut Pair, count: usize) -> u64 {
    let begun = pair.now_ms();
    for number in 0..count {
        pair.send(End::Left, ordered(0, number, 100));
        pair.run_ms(5);
    }
    begun
}

#[test]
fn lone_message_is_recovered_by_a_probe_after_two_round_trips() {
    let mut pair = measured(Setup::signalling());
    pair.drop_next(End::Left, &[1]);
    let begun = send_spaced(&mut pair, 1);
    pair.run_ms(1000);
    assert_eq!(pair.times_of(End::Left, "DATA", begun), [begun, begun + 40]);
    assert_eq!(pair.read_times(End::Right)[10], begun + 50);
}

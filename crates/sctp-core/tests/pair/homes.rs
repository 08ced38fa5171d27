//! Hosts with several addresses: who learns which, what may be sent where, and what happens when paths fail.

mod addresses;
mod break_before_make;
mod failover;
mod flaps;
mod initiating;
mod meanwhile;
mod sources;
mod start_up;

use crate::net::{End, Pair, ordered};

/// A message each way arrives within so many milliseconds.
fn assert_talks(pair: &mut Pair, within_ms: u64) {
    let before = [End::Left, End::Right].map(|end| pair.payloads(end).len());
    for end in [End::Left, End::Right] {
        pair.send(end, ordered(0, 1, 100));
    }
    pair.run_ms(within_ms);
    let after = [End::Left, End::Right].map(|end| pair.payloads(end).len());
    assert_eq!(after, before.map(|count| count + 1));
    assert_eq!((pair.endings(End::Left), pair.endings(End::Right)), (vec![], vec![]));
}

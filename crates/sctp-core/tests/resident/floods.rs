//! The attacks of those who have no association yet, or ask for many.

use core::time::Duration;

use sctp_wire::{Cause, ChunkBuf, TagOrigin};

use crate::Course;
use crate::peer::Peer;
use crate::victim::{Victim, config};

/// The associations that an endpoint may have here.
pub(crate) const ASSOCIATIONS: usize = 4000;
/// What each of them may hold while nothing is sent: the bar of docs/performance.md.
pub(crate) const IDLE_BYTES: usize = 2560;
/// The same with two events of 112 octets and a text of 256.
pub(crate) const UNHEARD_BYTES: usize = IDLE_BYTES + 2 * 112 + 256;
/// What is remembered of cookies that are spent.
pub(crate) const SPENT_BYTES: usize = 512 << 10;

pub(crate) fn inits(course: Course) {
    let mut victim = Victim::new(config());
    for number in course.of(50_000) {
        victim.transmits = number >= 1000;
        Peer::new(11, number).init(&mut victim);
    }
}

pub(crate) fn out_of_the_blue(course: Course) {
    let mut victim = Victim::new(config());
    for number in course.of(50_000) {
        victim.transmits = number >= 1000;
        Peer::new(11, number).tell_out_of_the_blue(&mut victim, number + 1);
    }
}

pub(crate) fn replayed_cookies(course: Course) {
    let mut victim = Victim::new(config());
    for number in course.of(20_000) {
        victim.pass(Duration::from_millis(1));
        let mut peer = Peer::new(11, number);
        assert!(peer.establish(&mut victim));
        peer.abort(&mut victim);
        (0..2).for_each(|_| peer.echo(&mut victim));
        assert_eq!(victim.endpoint.association_count(), 0);
    }
}

pub(crate) fn one_host(course: Course) {
    let victim = crowd(course, Peer::at_one_host);
    assert!(victim.endpoint.association_count() <= ASSOCIATIONS / 2);
}

pub(crate) fn many_hosts(course: Course) {
    let victim = crowd(course, |number| Peer::new(11, number << 8));
    assert!(victim.endpoint.association_count() <= ASSOCIATIONS);
}

/// Opens three times as many associations as there may be.
fn crowd(course: Course, peer: fn(u32) -> Peer) -> Victim {
    let mut victim = limited();
    for number in course.of(3 * LIMIT) {
        peer(number).establish(&mut victim);
    }
    victim
}

pub(crate) fn unheard_aborts(course: Course) {
    let mut victim = limited();
    victim.asks = false;
    let reason = [1; 1300];
    let abort = ChunkBuf::abort(TagOrigin::Receiver, &[Cause::UserInitiatedAbort(&reason)]).unwrap();
    for number in course.of(3 * LIMIT) {
        let mut peer = Peer::new(11, number << 8);
        peer.establish(&mut victim);
        peer.say(&mut victim, &abort);
    }
}

const LIMIT: u32 = 4000;

fn limited() -> Victim {
    let mut config = config();
    config.association_limit = ASSOCIATIONS;
    Victim::new(config)
}

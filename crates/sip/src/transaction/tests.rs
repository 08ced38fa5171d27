//! Row by row what RFC 3261 §17 and RFC 6026 say about states, events and timers.

use core::time::Duration;

use super::*;
use crate::status::StatusClass::{Failure, Provisional, Success};
use crate::transport::Transport;

const START: Instant = Instant::EPOCH;

fn at(millis: u64) -> Instant {
    Instant::from_millis(millis)
}

/// A machine that is left alone with its timers.
trait Timed {
    fn next(&self) -> Option<Instant>;
    fn wake(&mut self, now: Instant) -> Step;
}

macro_rules! timed {
    ($($machine:ty),*) => {$(
        impl Timed for $machine {
            fn next(&self) -> Option<Instant> {
                self.deadline()
            }
            fn wake(&mut self, now: Instant) -> Step {
                self.on_timeout(now)
            }
        }
    )*};
}

timed!(InviteClient, Client, InviteServer);

/// Milliseconds at which something is sent, and the end with its time, if everybody else is silent.
fn alone(mut machine: impl Timed) -> (Vec<u128>, Option<(u128, Step)>) {
    let mut sent = Vec::new();
    while let Some(now) = machine.next() {
        let millis = now.since(START).as_millis();
        match machine.wake(now) {
            Step::Send => sent.push(millis),
            over @ (Step::End | Step::TimedOut) => return (sent, Some((millis, over))),
            Step::Nothing | Step::Pass | Step::PassAndAcknowledge | Step::Acknowledge => {}
        }
    }
    (sent, None)
}

#[test]
fn invite_over_udp_is_repeated_with_doubled_intervals_for_64_t1() {
    // RFC 3261 §17.1.1.2: timers A and B.
    let (sent, end) = alone(InviteClient::new(START, Timers::default(), Transport::UDP));
    assert_eq!(sent, [500, 1_500, 3_500, 7_500, 15_500, 31_500]);
    assert_eq!(end, Some((32_000, Step::TimedOut)));
}

#[test]
fn invite_over_reliable_transports_is_never_repeated() {
    for transport in [Transport::TCP, Transport::TLS, Transport::SCTP, Transport::TLS_SCTP] {
        let (sent, end) = alone(InviteClient::new(START, Timers::default(), transport));
        assert_eq!((sent.len(), end), (0, Some((32_000, Step::TimedOut))), "{transport:?}");
    }
}

#[test]
fn requests_over_udp_are_repeated_up_to_every_t2() {
    // RFC 3261 §17.1.2.2: timers E and F.
    let (sent, end) = alone(Client::new(START, Timers::default(), Transport::UDP));
    assert_eq!(sent, [500, 1_500, 3_500, 7_500, 11_500, 15_500, 19_500, 23_500, 27_500, 31_500]);
    assert_eq!(end, Some((32_000, Step::TimedOut)));
}

#[test]
fn a_provisional_response_stops_repetitions_of_invite_and_slows_those_of_others() {
    let mut invite = InviteClient::new(START, Timers::default(), Transport::UDP);
    assert_eq!(invite.on_response(at(100), Provisional), Step::Pass);
    assert_eq!(invite.deadline(), None);
    let mut other = Client::new(START, Timers::default(), Transport::UDP);
    assert_eq!(other.on_response(at(100), Provisional), Step::Pass);
    assert_eq!(other.on_timeout(at(500)), Step::Send);
    assert_eq!(other.deadline(), Some(at(4_500)));
}

#[test]
fn a_failure_of_invite_is_acknowledged_each_time_for_timer_d() {
    let mut invite = InviteClient::new(START, Timers::default(), Transport::UDP);
    assert_eq!(invite.on_response(at(1), Failure), Step::PassAndAcknowledge);
    assert_eq!(invite.on_response(at(2), Failure), Step::Acknowledge);
    assert_eq!(invite.on_response(at(3), Success), Step::Nothing);
    assert_eq!(invite.on_response(at(3), Provisional), Step::Nothing);
    assert_eq!((invite.deadline(), invite.on_timeout(at(32_001))), (Some(at(32_001)), Step::End));
    let mut over_tcp = InviteClient::new(START, Timers::default(), Transport::TCP);
    over_tcp.on_response(at(1), Failure);
    assert_eq!(over_tcp.on_timeout(at(1)), Step::End);
}

#[test]
fn successes_of_invite_are_passed_on_for_timer_m() {
    // RFC 6026 §8.4: forks, and repetitions, belong to the transaction.
    let mut invite = InviteClient::new(START, Timers::default(), Transport::TCP);
    assert_eq!(invite.on_response(at(1), Success), Step::Pass);
    assert_eq!(invite.on_response(at(2), Success), Step::Pass);
    assert_eq!(invite.on_response(at(2), Failure), Step::Nothing);
    assert_eq!(invite.on_timeout(at(32_001)), Step::End);
}

#[test]
fn a_cancelled_invite_waits_64_t1_for_its_answer() {
    // RFC 3261 §9.1.
    let mut invite = InviteClient::new(START, Timers::default(), Transport::UDP);
    invite.on_response(at(1), Provisional);
    invite.on_cancelled(at(10));
    assert_eq!(invite.on_timeout(at(32_010)), Step::TimedOut);
}

#[test]
fn a_refused_invite_is_refused_until_it_is_acknowledged() {
    // RFC 3261 §17.2.1: timers G and H.
    let mut machine = InviteServer::new(Timers::default(), Transport::UDP);
    assert_eq!(machine.on_answer(START, Failure), Step::Send);
    assert_eq!(machine.on_repetition(), Step::Send);
    let (sent, end) = alone(machine.clone());
    assert_eq!(sent, [500, 1_500, 3_500, 7_500, 11_500, 15_500, 19_500, 23_500, 27_500, 31_500]);
    assert_eq!(end, Some((32_000, Step::TimedOut)));
    assert_eq!(machine.on_ack(at(100)), Step::Nothing);
    assert_eq!(machine.on_repetition(), Step::Nothing);
    assert_eq!(machine.on_timeout(at(5_100)), Step::End);
}

#[test]
fn an_accepted_invite_absorbs_repetitions_for_timer_l() {
    // RFC 6026 §8.7: neither repetitions of the INVITE nor ACKs reach the machine's answer.
    let mut machine = InviteServer::new(Timers::default(), Transport::UDP);
    assert_eq!(machine.on_answer(START, Provisional), Step::Send);
    assert_eq!(machine.on_repetition(), Step::Send);
    assert_eq!(machine.on_answer(START, Success), Step::Send);
    assert_eq!(machine.on_repetition(), Step::Nothing);
    assert_eq!(machine.on_answer(START, Failure), Step::Nothing);
    assert_eq!(machine.on_timeout(at(32_000)), Step::End);
}

#[test]
fn other_requests_are_answered_again_for_timer_j() {
    let mut machine = Server::new(Timers::default(), Transport::UDP);
    assert_eq!(machine.on_repetition(), Step::Nothing);
    machine.on_answer(START, Provisional);
    assert_eq!(machine.on_repetition(), Step::Send);
    machine.on_answer(START, Success);
    assert_eq!(machine.on_repetition(), Step::Send);
    assert_eq!(machine.on_answer(START, Failure), Step::Nothing);
    assert_eq!(machine.on_timeout(at(32_000)), Step::End);
    let mut over_tcp = Server::new(Timers::default(), Transport::TCP);
    over_tcp.on_answer(START, Success);
    assert_eq!(over_tcp.on_timeout(START), Step::End);
}

#[test]
fn all_timers_follow_from_three_values() {
    // RFC 3261 table 4.
    let timers = Timers::default();
    assert_eq!(timers.patience(), Duration::from_secs(32));
    assert_eq!(
        (timers.d(Transport::UDP), timers.d(Transport::SCTP)),
        (Duration::from_secs(32), Duration::ZERO)
    );
    assert_eq!((timers.absorb(Transport::UDP), timers.absorb(Transport::TLS)), (timers.t4, Duration::ZERO));
    assert_eq!(
        (timers.j(Transport::UDP), timers.j(Transport::TCP)),
        (Duration::from_secs(32), Duration::ZERO)
    );
}

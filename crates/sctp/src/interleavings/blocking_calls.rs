//! Threads without a runtime, one of which drives.

use sctp_core::{Message, StreamId};
use sctp_io::DatagramChannel;

use super::model::{Bells, Network, thread};
use super::{config, in_many_orders};
use crate::blocking::{Association, Endpoint};

/// Two endpoints whose calls block, with an association between them.
struct Threads {
    left: Endpoint,
    right: Endpoint,
    here: Association,
    there: Association,
}

impl Threads {
    fn open(bells: Bells) -> Self {
        let (left, right) = Network::begin(bells);
        let bind = |number, wire| crate::Endpoint::builder(config(number)).bind_blocking(wire).unwrap();
        let (left, right) = (bind(1, left), bind(2, right));
        let (accepting, port) = (right.clone(), right.handle().port());
        let accepting = thread::spawn(move || accepting.accept().unwrap());
        let here = left.connect(DatagramChannel::PEER, port).unwrap();
        Self { left, right, here, there: accepting.join().unwrap() }
    }

    /// Ends the association by agreement, and with it the threads of both endpoints.
    fn close(self) {
        let there = thread::spawn(move || self.there.closed().unwrap());
        self.here.shutdown().unwrap();
        there.join().unwrap();
        self.left.close();
        self.right.close();
        self.left.wait_idle();
        self.right.wait_idle();
    }
}

/// Three threads wait at one end, each for its own stream; whoever drives must wake the others, and hand the seat on.
pub(super) fn threads_wait_for_their_streams(bells: Bells) {
    let threads = Threads::open(bells);
    let mut waiting = Vec::new();
    for stream in 0..3 {
        let mut handle = threads.there.stream(StreamId::new(stream)).unwrap();
        waiting.push(thread::spawn(move || handle.recv().unwrap().unwrap().message.stream));
    }
    for stream in (0..3).rev() {
        threads.here.send(Message::ordered(StreamId::new(stream), "yours")).unwrap();
    }
    for (stream, waiter) in (0..).zip(waiting) {
        assert_eq!(waiter.join().unwrap(), StreamId::new(stream));
    }
    threads.close();
}

#[test]
fn threads_that_wait_for_different_streams_drive_for_each_other() {
    in_many_orders(|| threads_wait_for_their_streams(Bells::Sound));
}

#[test]
fn a_thread_that_asks_and_one_that_answers_never_both_wait() {
    in_many_orders(|| {
        let threads = Threads::open(Bells::Sound);
        let there = threads.there.clone();
        let answering = thread::spawn(move || {
            for _ in 0..3 {
                let question = there.recv().unwrap().unwrap();
                there.send(question.message).unwrap();
            }
        });
        for number in 0..3_u8 {
            threads.here.send(Message::ordered(StreamId::new(0), vec![number])).unwrap();
            assert_eq!(threads.here.recv().unwrap().unwrap().message.payload[..], [number]);
        }
        answering.join().unwrap();
        threads.close();
    });
}

#[test]
fn a_thread_that_accepts_is_told_that_the_endpoint_is_closed() {
    in_many_orders(|| {
        let threads = Threads::open(Bells::Sound);
        let accepting = threads.right.clone();
        let accepting = thread::spawn(move || assert!(accepting.accept().is_none()));
        threads.close();
        accepting.join().unwrap();
    });
}

#[test]
fn the_own_thread_of_an_endpoint_sleeps_while_a_call_waits() {
    in_many_orders(|| {
        let threads = Threads::open(Bells::Sound);
        let there = threads.there.clone();
        let waiting = thread::spawn(move || there.recv().unwrap().unwrap());
        let before = Network::watchdogs_fired();
        for _ in 0..200 {
            thread::yield_now();
        }
        // Each call, and each end of one, is seen once or twice.
        let fired = Network::watchdogs_fired() - before;
        assert!(fired <= 10, "{fired}");
        threads.here.send(Message::ordered(StreamId::new(0), "at last")).unwrap();
        waiting.join().unwrap();
        threads.close();
    });
}

//! Endpoints without a runtime.

use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use std::io::{BufRead, BufReader, ErrorKind, Read, Write};

use sctp::blocking::{Association, Endpoint};
use sctp::{
    ConnectError, Delivery, EndpointConfig, ReceivedMessage, SendError, StreamId, TimedOut, TimeoutError,
};

use crate::{CLIENT, SERVER, numbered, port};

fn bind(number: u16) -> Endpoint {
    Endpoint::bind(EndpointConfig::new(port(number)), "127.0.0.1:0".parse().unwrap()).unwrap()
}

/// An association between two endpoints; both ends, and what has to live as long.
fn pair() -> (Association, Association, [Endpoint; 2]) {
    let (server, client) = (bind(SERVER), bind(CLIENT));
    let accepting = server.clone();
    let accepted = thread::spawn(move || accepting.accept().unwrap());
    let here = client.connect(server.local_address(), port(SERVER)).unwrap();
    (here, accepted.join().unwrap(), [client, server])
}

/// Fails a test that would otherwise hang, after a minute.
fn within_a_minute(test: impl FnOnce() + Send + 'static) {
    let (done, is_done) = mpsc::channel();
    let running = thread::spawn(move || {
        test();
        done.send(()).unwrap();
    });
    let outcome = is_done.recv_timeout(Duration::from_secs(60));
    assert_ne!(outcome, Err(mpsc::RecvTimeoutError::Timeout), "still not done after a minute");
    running.join().unwrap();
}

#[test]
fn a_peer_is_answered_while_nobody_calls() {
    within_a_minute(|| {
        let (server, client) = (bind(SERVER), bind(CLIENT));
        // Nobody accepts yet.
        let here = client.connect(server.local_address(), port(SERVER)).unwrap();
        let message = numbered(0, 1, 5_000, Delivery::Ordered);
        here.send(message.clone()).unwrap();
        // Returns only after the message is acknowledged, which nobody's call at the other end does.
        here.shutdown().unwrap();
        let there = server.accept().unwrap();
        assert_eq!(there.recv().unwrap().unwrap().message, message);
        assert_eq!(there.recv().unwrap(), None);
    });
}

#[test]
fn threads_send_and_receive_on_one_association_at_the_same_time() {
    within_a_minute(|| {
        let (here, there, _endpoints) = pair();
        let messages =
            |stream| (0..500).map(move |number| numbered(stream, number, 2_000, Delivery::Ordered));
        let mut threads = Vec::new();
        for (sender, receiver) in [(here.clone(), there.clone()), (there, here)] {
            for stream in 0..2 {
                let sender = sender.clone();
                threads.push(thread::spawn(move || sender.send_many(messages(stream)).unwrap()));
            }
            threads.push(thread::spawn(move || {
                let mut received = Vec::new();
                while received.len() < 1_000 {
                    assert!(receiver.recv_many(&mut received, 100).unwrap() > 0);
                }
                for stream in 0..2 {
                    let of_stream = |message: &ReceivedMessage| message.stream.get() == stream;
                    let got = received
                        .iter()
                        .map(|received| &received.message)
                        .filter(|message| of_stream(message));
                    assert!(got.cloned().eq(messages(stream)));
                }
            }));
        }
        for thread in threads {
            thread.join().unwrap();
        }
    });
}

#[test]
fn a_message_waits_in_recv_until_it_comes_and_the_end_ends_all_calls() {
    within_a_minute(|| {
        let (here, there, [client, server]) = pair();
        let echoing = thread::spawn(move || {
            let mut count = 0;
            while let Some(received) = there.recv().unwrap() {
                there.send(received.message).unwrap();
                count += 1;
            }
            count
        });
        let accepting = thread::spawn(move || server.accept().is_none());
        for number in 0..200 {
            let message = numbered(0, number, 64, Delivery::Ordered);
            here.send(message.clone()).unwrap();
            assert_eq!(here.recv().unwrap().unwrap().message, message);
        }
        here.shutdown().unwrap();
        client.close();
        client.wait_idle();
        assert_eq!(echoing.join().unwrap(), 200);
        drop(accepting); // goes on waiting for others
    });
}

/// Who owes nobody an acknowledgment sleeps until the next request, instead of looking for it.
#[test]
fn a_server_that_has_answered_does_not_look_for_the_next_request() {
    within_a_minute(|| {
        let (here, there, [_client, server]) = pair();
        let echoing = thread::spawn(move || {
            while let Some(received) = there.recv().unwrap() {
                there.send(received.message).unwrap();
            }
        });
        for number in 0..200 {
            here.send(numbered(0, number, 1_200, Delivery::Ordered)).unwrap();
            here.recv().unwrap();
        }
        let in_vain = server.handle().io_statistics().receive_empty;
        assert!(in_vain < 800, "{in_vain} looks for 200 requests");
        here.shutdown().unwrap();
        echoing.join().unwrap();
    });
}

const SOON: Duration = Duration::from_millis(5);
const LATE: Duration = Duration::from_secs(60);

#[test]
fn calls_that_are_given_a_time_end_with_it_and_have_taken_nothing() {
    within_a_minute(|| {
        let server = bind(SERVER);
        assert_eq!(server.accept_timeout(SOON).map(drop), Err(TimedOut(SOON)));
        assert!(server.try_accept().is_none());
        drop(server);
        let (here, there, [_client, server]) = pair();
        assert_eq!(there.recv_timeout(SOON), Err(TimeoutError::TimedOut(TimedOut(SOON))));
        assert_eq!(server.wait_timeout(SOON, there.handle().closed()), Err(TimedOut(SOON)));
        let message = numbered(0, 1, 5_000, Delivery::Ordered);
        here.send_timeout(message.clone(), SOON).unwrap();
        assert_eq!(there.recv_timeout(LATE).unwrap().unwrap().message, message);
        drop(here);
        assert_eq!(there.recv_timeout(LATE), Ok(None));
    });
}

#[test]
fn a_peer_that_does_not_answer_in_time_is_not_connected_to() {
    within_a_minute(|| {
        let client = bind(CLIENT);
        // Bound, and never read from.
        let silent = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
        let there = [sctp::udp(silent.local_addr().unwrap())];
        let outcome = client.connect_timeout(there, port(SERVER), SOON);
        assert!(matches!(outcome, Err(ConnectError::TimedOut(TimedOut(SOON)))));
        client.wait_idle();
        assert_eq!(client.handle().statistics().initiated, 1);
    });
}

/// A message that found no room within its time comes back, whole.
#[test]
fn a_send_that_takes_too_long_gives_its_message_back() {
    within_a_minute(|| {
        let (here, there, _endpoints) = pair();
        let message = |number| numbered(0, number, 50_000, Delivery::Ordered);
        let refused = (0..1_000).find_map(|number| match here.send_timeout(message(number), SOON) {
            Ok(()) => None,
            Err(SendError::BufferFull(back)) => Some((number, back)),
            Err(error) => panic!("{error}"),
        });
        let (number, back) = refused.unwrap();
        assert_eq!(back, message(number));
        // Meanwhile the peer may have taken in more, so that there is room.
        let later = match here.try_send(back) {
            Ok(()) => None,
            Err(SendError::BufferFull(again)) => Some(again),
            Err(error) => panic!("{error}"),
        };
        assert!(later.iter().all(|again| *again == message(number)));
        let reading = thread::spawn(move || {
            let messages = std::iter::from_fn(|| there.recv().unwrap());
            messages.count()
        });
        later.into_iter().for_each(|again| here.send_timeout(again, LATE).unwrap());
        here.shutdown().unwrap();
        assert_eq!(reading.join().unwrap(), usize::try_from(number).unwrap() + 1);
    });
}

/// Nobody waits in a call: looking alone takes in what comes, and answers it.
#[test]
fn calls_that_do_not_wait_take_in_what_has_come() {
    within_a_minute(|| {
        let (server, client) = (bind(SERVER), bind(CLIENT));
        let here = client.connect(server.local_address(), port(SERVER)).unwrap();
        let there = std::iter::repeat_with(|| server.try_accept()).flatten().next().unwrap();
        for number in 0..100 {
            let message = numbered(0, number, 2_000, Delivery::Ordered);
            here.try_send(message.clone()).unwrap();
            let received = std::iter::repeat_with(|| there.try_recv()).flatten().next().unwrap();
            assert_eq!(received.message, message);
        }
        while here.handle().buffered().bytes() > 0 {
            assert_eq!(there.try_recv(), None);
            assert_eq!(here.try_recv(), None);
        }
    });
}

#[test]
fn a_stream_reads_and_writes_octets_and_its_timeouts_are_those_of_a_socket() {
    within_a_minute(|| {
        let (here, there, _endpoints) = pair();
        let mut stream = here.stream(StreamId::new(3)).unwrap();
        let mut other = here.stream(StreamId::new(4)).unwrap();
        stream.write_all(b"one\ntw").unwrap();
        stream.write_all(b"o\n").unwrap();
        let mut accepted = there.accept_stream().unwrap().unwrap();
        assert_eq!(accepted.id(), StreamId::new(3));
        accepted.set_read_timeout(Some(LATE));
        let lines: Vec<String> = BufReader::new(&mut accepted).lines().take(2).map(Result::unwrap).collect();
        assert_eq!(lines, ["one", "two"]);
        accepted.set_read_timeout(Some(SOON));
        assert_eq!(accepted.read(&mut [0; 8]).unwrap_err().kind(), ErrorKind::TimedOut);
        assert_eq!(accepted.recv_timeout(SOON), Err(TimeoutError::TimedOut(TimedOut(SOON))));
        assert_eq!(accepted.try_recv(), None);
        // Nobody reads the other one: its writer waits in vain, and what it could not write is not sent.
        other.set_write_timeout(Some(SOON));
        let in_vain = (0..1_000).find_map(|_| other.write(&[0; 50_000]).err()).unwrap();
        assert_eq!(in_vain.kind(), ErrorKind::TimedOut);
        drop((stream, other, here));
        assert_eq!(there.recv().unwrap().unwrap().message.stream, StreamId::new(4));
        assert_eq!(accepted.recv(), Ok(None));
    });
}

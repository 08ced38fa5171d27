//! Endpoints without a runtime.

use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use sctp::blocking::{Association, Endpoint};
use sctp::{Delivery, EndpointConfig, Message};

use crate::{CLIENT, SERVER, numbered, port};

fn bind(number: u16) -> Endpoint {
    Endpoint::bind(EndpointConfig::new(port(number)), "127.0.0.1:0".parse().unwrap()).unwrap()
}

/// An association between two endpoints; both ends, and what has to live as long.
fn pair() -> (Association, Association, [Endpoint; 2]) {
    let (server, client) = (bind(SERVER), bind(CLIENT));
    let accepting = server.clone();
    let accepted = thread::spawn(move || accepting.accept().unwrap());
    let here = client.connect(&[sctp::udp(server.local_address())], port(SERVER)).unwrap();
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
        let here = client.connect(&[sctp::udp(server.local_address())], port(SERVER)).unwrap();
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
                    let of_stream = |message: &Message| message.stream.get() == stream;
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

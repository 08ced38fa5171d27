//! Futures dropped half-way lose nothing and do nothing twice.

use std::time::Duration;

use sctp::{AssociationConfig, ConnectError, Delivery};
use tokio::task::yield_now;

use crate::{CLIENT, Pair, SERVER, bind, drain, number_of, numbered, port, within_a_minute};

#[tokio::test]
async fn a_dropped_recv_takes_no_message() {
    within_a_minute(async {
        let pair = Pair::new().await;
        let sender = pair.here.clone();
        tokio::spawn(async move {
            for number in 0..2_000 {
                sender.send(numbered(0, number, 50, Delivery::Ordered)).await.unwrap();
                yield_now().await;
            }
        });
        let mut dropped = 0;
        for expected in 0..2_000 {
            let received = loop {
                tokio::select! {
                    received = pair.there.recv() => break received.unwrap().unwrap(),
                    () = yield_now() => dropped += 1,
                }
            };
            assert_eq!(number_of(&received.message), expected);
        }
        assert!(dropped > 100, "only {dropped} futures were dropped: this test shows nothing");
    })
    .await;
}

#[tokio::test]
async fn a_dropped_send_sends_nothing_and_a_finished_one_everything() {
    within_a_minute(async {
        let mut config = AssociationConfig::default();
        config.buffers.send_bytes = 16_384;
        config.buffers.message_bytes = 8_192;
        let Pair { here, there, .. } = Pair::with("127.0.0.1:0", config).await;
        let receiving = tokio::spawn(async move { drain(&there).await });
        let (mut sent, mut dropped) = (Vec::new(), 0);
        for number in 0..4_000 {
            tokio::select! {
                outcome = here.send(numbered(0, number, 4_000, Delivery::Ordered)) => {
                    outcome.unwrap();
                    sent.push(number);
                }
                () = yield_now() => dropped += 1,
            }
        }
        here.shutdown().await.unwrap();
        let received: Vec<u32> = receiving.await.unwrap().iter().map(number_of).collect();
        assert_eq!(received, sent);
        assert!(dropped > 100, "only {dropped} futures were dropped: this test shows nothing");
    })
    .await;
}

#[tokio::test]
async fn a_dropped_accept_leaves_the_association_in_line() {
    within_a_minute(async {
        let server = bind("127.0.0.1:0", SERVER, AssociationConfig::default()).await;
        let client = bind("127.0.0.1:0", CLIENT, AssociationConfig::default()).await;
        let destination = [sctp::udp(server.local_address())];
        let connecting = client.connect(&destination, port(SERVER));
        let accepting = async {
            loop {
                tokio::select! {
                    accepted = server.accept() => break accepted.unwrap(),
                    () = yield_now() => {}
                }
            }
        };
        let (here, there) = tokio::join!(connecting, accepting);
        there.send(numbered(0, 1, 10, Delivery::Ordered)).await.unwrap();
        assert_eq!(number_of(&here.unwrap().recv().await.unwrap().unwrap().message), 1);
    })
    .await;
}

#[tokio::test]
async fn a_dropped_connect_aborts_the_attempt() {
    within_a_minute(async {
        let silent = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
        let client = bind("127.0.0.1:0", CLIENT, AssociationConfig::default()).await;
        let destination = [sctp::udp(silent.local_addr().unwrap())];
        tokio::select! {
            biased;
            outcome = client.connect(&destination, port(SERVER)) => panic!("connected to nobody: {outcome:?}"),
            () = yield_now() => {}
        }
        client.wait_idle().await;
        assert_eq!(client.io_statistics().packets_sent, 1, "the INIT and nothing else");
        assert_eq!(client.associations(), []);
        let again = client.connect_timeout(&destination, port(SERVER), Duration::from_millis(1)).await;
        assert!(matches!(again, Err(ConnectError::TimedOut(_))), "the peer is free for another attempt");
        assert_eq!(client.associations(), []);
    })
    .await;
}

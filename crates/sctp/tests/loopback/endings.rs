//! Every way an association ends is told apart, on both sides.

use std::time::Duration;

use sctp::{
    AssociationConfig, AssociationError, CommunicationLost, ConnectError, Delivery, Endpoint, EndpointConfig,
    Event, IncomingPolicy, SendError, SendFailure,
};

use crate::{CLIENT, Pair, SERVER, bind, drain, number_of, numbered, port, within_a_minute};

/// Gives a peer up after 70 ms.
fn impatient() -> AssociationConfig {
    let mut config = AssociationConfig::default();
    config.rto.initial = Duration::from_millis(10);
    config.rto.min = Duration::from_millis(10);
    config.rto.max = Duration::from_millis(20);
    config.attempts.init = 3;
    config
}

#[tokio::test]
async fn shutdown_delivers_everything_sent_before() {
    within_a_minute(async {
        let pair = Pair::new().await;
        for number in 0..500 {
            pair.here.send(numbered(0, number, 1_000, Delivery::Ordered)).await.unwrap();
        }
        let (outcome, messages) = tokio::join!(pair.here.shutdown(), drain(&pair.there));
        outcome.unwrap();
        assert_eq!(messages.iter().map(number_of).collect::<Vec<_>>(), (0..500).collect::<Vec<_>>());
        assert_eq!(pair.there.closed().await, Ok(()));
        let late = pair.here.send(numbered(0, 500, 10, Delivery::Ordered)).await;
        assert!(matches!(late, Err(SendError::ShuttingDown)));
    })
    .await;
}

#[tokio::test]
async fn dropping_the_last_handle_shuts_down_gracefully() {
    within_a_minute(async {
        let Pair { client, here, there, .. } = Pair::new().await;
        let clone = here.clone();
        drop(here);
        for number in 0..100 {
            clone.send(numbered(0, number, 1_000, Delivery::Ordered)).await.unwrap();
        }
        drop(clone);
        assert_eq!(drain(&there).await.len(), 100);
        client.wait_idle().await;
    })
    .await;
}

#[tokio::test]
async fn a_dropped_association_does_not_hold_up_what_its_peer_still_sends() {
    within_a_minute(async {
        let Pair { here, there, .. } = Pair::new().await;
        let flood = tokio::spawn(async move {
            let mut number = 0;
            while there.send(numbered(0, number, 60_000, Delivery::Ordered)).await.is_ok() {
                number += 1;
            }
            there.closed().await
        });
        here.recv().await.unwrap().unwrap();
        drop(here);
        assert_eq!(flood.await.unwrap(), Ok(()));
    })
    .await;
}

/// Nobody reads at the other end, so the shutdown waits; who runs the endpoint finds it and ends it.
#[tokio::test]
async fn an_association_whose_handles_are_gone_can_be_found_and_aborted() {
    within_a_minute(async {
        let mut config = AssociationConfig::default();
        (config.buffers.receive_bytes, config.buffers.message_bytes) = (4_000, 4_000);
        let Pair { client, here, there, .. } = Pair::with("127.0.0.1:0", config).await;
        for number in 0..100 {
            here.send(numbered(0, number, 1_000, Delivery::Ordered)).await.unwrap();
        }
        let id = here.id();
        drop(here);
        assert_eq!(client.associations(), [id]);
        assert_eq!(client.association_statistics(id).unwrap().sender.messages, 100);
        client.abort(id, b"out of patience").unwrap();
        client.wait_idle().await;
        assert_eq!((client.associations(), client.abort(id, b"").is_err()), (vec![], true));
        let Err(CommunicationLost::Association(AssociationError::AbortedByPeer(error))) =
            there.closed().await
        else {
            panic!("expected an abort")
        };
        assert!(error.text.contains("out of patience"), "{error}");
    })
    .await;
}

#[tokio::test]
async fn an_abort_is_seen_with_its_reason() {
    within_a_minute(async {
        let pair = Pair::new().await;
        pair.here.abort(b"maintenance at noon");
        let lost = pair.there.recv().await.unwrap_err();
        let CommunicationLost::Association(AssociationError::AbortedByPeer(error)) = &lost else {
            panic!("expected an abort, got {lost}");
        };
        assert!(error.text.contains("maintenance at noon"), "{error}");
        let locally = CommunicationLost::Association(AssociationError::AbortedLocally);
        assert_eq!(pair.here.closed().await, Err(locally.clone()));
        assert_eq!(pair.here.recv().await.unwrap_err(), locally);
        let outcome = pair.there.send(numbered(0, 0, 10, Delivery::Ordered)).await;
        assert!(matches!(outcome, Err(SendError::Lost(error)) if error == lost));
    })
    .await;
}

#[tokio::test]
async fn connecting_to_nobody_fails_after_the_retries() {
    within_a_minute(async {
        let silent = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
        let client = bind("127.0.0.1:0", CLIENT, impatient()).await;
        let outcome = client.connect(&[sctp::udp(silent.local_addr().unwrap())], port(SERVER)).await;
        let error = outcome.unwrap_err();
        let ConnectError::Failed(CommunicationLost::Association(AssociationError::HandshakeTimedOut {
            attempts,
        })) = &error
        else {
            panic!("expected a timeout, got {error}");
        };
        // The first INIT and three retransmissions (RFC 9260 §5.1.6).
        assert_eq!(*attempts, 4);
        assert_eq!(client.io_statistics().packets_sent, 4);
        client.wait_idle().await;
    })
    .await;
}

#[tokio::test]
async fn an_unreachable_port_is_counted_and_the_endpoint_goes_on() {
    within_a_minute(async {
        let closed = std::net::UdpSocket::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let client = bind("127.0.0.1:0", CLIENT, impatient()).await;
        client.connect(&[sctp::udp(closed)], port(SERVER)).await.unwrap_err();
        assert_eq!(client.io_statistics().reported_unreachable, 4);

        let server = bind("127.0.0.1:0", SERVER, AssociationConfig::default()).await;
        client.connect(&[sctp::udp(server.local_address())], port(SERVER)).await.unwrap();
    })
    .await;
}

#[tokio::test]
async fn an_endpoint_that_accepts_nothing_refuses() {
    within_a_minute(async {
        let mut refuse = EndpointConfig::new(port(SERVER));
        refuse.incoming = IncomingPolicy::Refuse;
        let server = Endpoint::bind(refuse, "127.0.0.1:0".parse().unwrap()).await.unwrap();
        let client = bind("127.0.0.1:0", CLIENT, AssociationConfig::default()).await;
        let error = client.connect(&[sctp::udp(server.local_address())], port(SERVER)).await.unwrap_err();
        assert!(
            matches!(
                &error,
                ConnectError::Failed(CommunicationLost::Association(AssociationError::Refused(_)))
            ),
            "{error:?}"
        );
    })
    .await;
}

#[tokio::test]
async fn the_end_is_the_last_event() {
    within_a_minute(async {
        let pair = Pair::new().await;
        assert!(matches!(pair.there.next_event().await, Some(Event::CommunicationUp { .. })));
        pair.here.shutdown().await.unwrap();
        let mut events = Vec::new();
        while let Some(event) = pair.there.next_event().await {
            events.push(event);
        }
        assert!(events.contains(&Event::ShutdownReceived), "{events:?}");
        assert_eq!(events.last(), Some(&Event::ShutdownComplete));
    })
    .await;
}

#[test]
fn shutting_the_runtime_down_ends_everything_that_waits() {
    let runtime = |threads| {
        tokio::runtime::Builder::new_multi_thread().worker_threads(threads).enable_all().build().unwrap()
    };
    let (theirs, ours) = (runtime(1), runtime(1));
    let pair = theirs.block_on(within_a_minute(Pair::new()));
    let waiting = ours.spawn({
        let there = pair.there.clone();
        async move { there.recv().await }
    });
    theirs.shutdown_background();
    let outcome = ours.block_on(within_a_minute(waiting)).unwrap();
    assert_eq!(outcome.unwrap_err(), CommunicationLost::DriverStopped);
    assert!(ours.block_on(within_a_minute(pair.server.accept())).is_none());
}

/// RFC 6458 §6.1.11: however many there are, with the sender's mark and the reason.
#[tokio::test]
async fn every_message_not_acknowledged_when_the_association_ends_comes_back() {
    within_a_minute(async {
        let pair = Pair::new().await;
        let mut accepted = 0;
        // The peer does not read: at some time nothing more fits.
        while pair
            .here
            .try_send(numbered(0, accepted, 5_000, Delivery::Ordered).with_context(accepted.into()))
            .is_ok()
        {
            accepted += 1;
        }
        pair.here.abort(b"enough");
        let mut failed = Vec::new();
        while let Some(event) = pair.here.next_event().await {
            if let Event::SendFailed { message, reason, .. } = event {
                assert_eq!(reason, SendFailure::Association(AssociationError::AbortedLocally));
                assert_eq!(
                    message.context,
                    u64::from(u32::from_be_bytes(message.payload[..4].try_into().unwrap()))
                );
                failed.push(message.context);
            }
        }
        assert!(failed.len() > 64, "more than other events are kept");
        assert!(failed.is_sorted() && failed.last() == Some(&u64::from(accepted - 1)), "{failed:?}");
        let undelivered = pair.here.statistics().sender.undelivered;
        assert_eq!(undelivered.sent + undelivered.unsent, failed.len() as u64);
    })
    .await;
}

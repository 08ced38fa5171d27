//! A handle tells who it joins and how that goes, while it goes on and afterwards.

use sctp::{AssociationState, Buffered, CommunicationLost, Delivery, Origin};

use crate::{CLIENT, Pair, SERVER, drain, numbered, port, within_a_minute};

#[tokio::test]
async fn both_handles_know_ports_addresses_and_streams() {
    let pair = Pair::new().await;
    let (here, there) = (pair.here.status().unwrap(), pair.there.status().unwrap());
    assert_eq!((here.local_port, here.peer_port), (port(CLIENT), port(SERVER)));
    assert_eq!((there.local_port, there.peer_port), (port(SERVER), port(CLIENT)));
    assert_eq!((here.origin, there.origin), (Origin::Initiated, Origin::Accepted));
    assert_eq!(here.peer_addresses, [sctp::udp(pair.server.local_address())]);
    assert_eq!(there.peer_addresses, [sctp::udp(pair.client.local_address())]);
    assert_eq!(pair.here.local_address(), pair.client.local_address());
    assert_eq!((here.outbound_streams, here.inbound_streams), (64, 64));
    assert_eq!(here.state, AssociationState::Established);
    assert_eq!(here.path.address, pair.server.local_address().ip());
    assert!(here.path.is_primary && here.path.srtt.is_some());
    assert_eq!(pair.here.close_reason(), None);
}

#[tokio::test]
async fn what_a_handle_knew_and_why_it_ended_is_known_afterwards() {
    let pair = Pair::new().await;
    within_a_minute(async {
        let before = pair.here.status().unwrap();
        pair.there.abort(b"enough");
        assert!(matches!(pair.here.closed().await, Err(CommunicationLost::Association(_))));
        assert_eq!(pair.here.close_reason(), Some(pair.here.closed().await));
        let after = pair.here.status().unwrap();
        assert_eq!(after.state, AssociationState::Closed);
        assert_eq!((after.peer_port, &after.peer_addresses), (before.peer_port, &before.peer_addresses));
    })
    .await;
}

#[tokio::test]
async fn what_is_buffered_falls_to_each_mark_that_is_waited_for() {
    let pair = Pair::new().await;
    within_a_minute(async {
        assert_eq!(pair.here.buffered(), Buffered::default());
        for number in 0..200 {
            pair.here.send(numbered(0, number, 4_000, Delivery::Ordered)).await.unwrap();
        }
        let buffered = pair.here.buffered();
        assert!(buffered.unsent_bytes > 0 && buffered.unacknowledged_bytes > 0, "{buffered:?}");
        let reading = tokio::spawn(async move { drain(&pair.there).await.len() });
        let drained = |mark| {
            let here = &pair.here;
            async move {
                here.drained_to(mark).await.unwrap();
                here.buffered().bytes()
            }
        };
        // Two wait at once: each for its own.
        let (high, low) = tokio::join!(drained(400_000), drained(0));
        assert!(high <= 400_000 && low == 0);
        assert_eq!(drained(0).await, 0, "at once");
        pair.here.shutdown().await.unwrap();
        assert_eq!(reading.await.unwrap(), 200);
        pair.here.drained_to(0).await.unwrap();
    })
    .await;
}

#[tokio::test]
async fn who_waits_for_a_mark_learns_that_it_will_not_be_reached() {
    let pair = Pair::new().await;
    within_a_minute(async {
        // More than the peer, which does not read, has room for.
        for number in 0..400 {
            if pair.here.try_send(numbered(0, number, 4_000, Delivery::Ordered)).is_err() {
                break;
            }
        }
        let (drained, ()) = tokio::join!(pair.here.drained_to(0), async { pair.here.abort(b"") });
        assert!(matches!(drained, Err(CommunicationLost::Association(_))));
    })
    .await;
}

/// What came before the clock was asked is not later than what it says.
#[tokio::test]
async fn the_time_at_which_messages_were_complete_is_that_of_a_clock_that_can_be_asked() {
    let pair = Pair::new().await;
    within_a_minute(async {
        let before = pair.server.now();
        pair.here.send(numbered(0, 0, 10, Delivery::Ordered)).await.unwrap();
        let complete_at = pair.there.recv().await.unwrap().unwrap().complete_at;
        assert!(before <= complete_at && complete_at <= pair.server.now());
    })
    .await;
}

#[tokio::test]
async fn a_handle_is_short_in_logs() {
    let pair = Pair::new().await;
    assert_eq!(pair.here.id().to_string(), "1");
    assert!(format!("{:?}", pair.here).len() < 100);
}

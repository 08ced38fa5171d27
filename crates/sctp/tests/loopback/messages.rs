//! Messages arrive whole, unchanged, and in the order their delivery asks for.

use std::collections::BTreeSet;

use sctp::{AssociationConfig, Delivery, Message, ReceivedMessage, SendError, StreamId};

use crate::{Pair, drain, echo, number_of, numbered, within_a_minute};

const MESSAGES: u32 = 10_000;
const STREAMS: u16 = 10;

fn stream_of(number: u32) -> u16 {
    u16::try_from(number % u32::from(STREAMS)).unwrap()
}

/// Sends [`MESSAGES`] over [`STREAMS`] to an echo server and returns what came back, in its order.
async fn echoed(delivery: Delivery) -> Vec<ReceivedMessage> {
    let pair = Pair::new().await;
    tokio::spawn(echo(pair.there));
    let sender = pair.here.clone();
    let sending = tokio::spawn(async move {
        for number in 0..MESSAGES {
            sender.send(numbered(stream_of(number), number, 100, delivery)).await.unwrap();
        }
    });
    let mut messages = Vec::new();
    for _ in 0..MESSAGES {
        messages.push(pair.here.recv().await.unwrap().unwrap().message);
    }
    sending.await.unwrap();
    pair.here.shutdown().await.unwrap();
    messages
}

fn assert_unchanged(messages: &[ReceivedMessage], delivery: Delivery) {
    for message in messages {
        let number = number_of(message);
        assert_eq!(*message, numbered(stream_of(number), number, 100, delivery));
    }
}

#[tokio::test]
async fn ordered_messages_come_back_in_order_on_every_stream() {
    let messages = within_a_minute(echoed(Delivery::Ordered)).await;
    assert_unchanged(&messages, Delivery::Ordered);
    for stream in 0..STREAMS {
        let on_stream = messages.iter().filter(|message| message.stream == StreamId::new(stream));
        let numbers: Vec<u32> = on_stream.map(number_of).collect();
        let expected: Vec<u32> = (0..MESSAGES).filter(|number| stream_of(*number) == stream).collect();
        assert_eq!(numbers, expected, "on stream {stream}");
    }
}

#[tokio::test]
async fn unordered_messages_come_back_once_each() {
    let messages = within_a_minute(echoed(Delivery::Unordered)).await;
    assert_unchanged(&messages, Delivery::Unordered);
    let numbers: BTreeSet<u32> = messages.iter().map(number_of).collect();
    assert_eq!(numbers, (0..MESSAGES).collect());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn messages_come_back_when_several_threads_drive() {
    let messages = within_a_minute(echoed(Delivery::Ordered)).await;
    assert_unchanged(&messages, Delivery::Ordered);
}

/// Of a task as of what the runtime blocks on: who is told of a message answers before its acknowledgment leaves.
#[tokio::test]
async fn answers_and_next_requests_take_acknowledgments_along() {
    const ROUND_TRIPS: u32 = 200;
    within_a_minute(async {
        let pair = Pair::new().await;
        let answering = tokio::spawn(echo(pair.there));
        for number in 0..ROUND_TRIPS {
            pair.here.send(numbered(0, number, 64, Delivery::Ordered)).await.unwrap();
            pair.here.recv().await.unwrap().unwrap();
        }
        // One for each message; a stall of the machine costs a few more.
        for endpoint in [&pair.client, &pair.server] {
            let packets = endpoint.io_statistics().packets_sent;
            assert!(packets < u64::from(ROUND_TRIPS) * 3 / 2, "{packets} packets for {ROUND_TRIPS} messages");
        }
        pair.here.shutdown().await.unwrap();
        answering.await.unwrap();
    })
    .await;
}

#[tokio::test]
async fn messages_of_64_kib_arrive_whole() {
    within_a_minute(async {
        let pair = Pair::new().await;
        tokio::spawn(echo(pair.there));
        for number in 0..50 {
            let message = numbered(0, number, 65_536, Delivery::Ordered);
            pair.here.send(message.clone()).await.unwrap();
            assert_eq!(pair.here.recv().await.unwrap().unwrap().message, message);
        }
    })
    .await;
}

#[tokio::test]
async fn ipv6_and_dual_stack_carry_messages() {
    within_a_minute(async {
        for address in ["[::1]:0", "127.0.0.1:0"] {
            let pair = Pair::with(address, AssociationConfig::default()).await;
            let message = numbered(3, 7, 5_000, Delivery::Ordered);
            pair.here.send(message.clone()).await.unwrap();
            assert_eq!(pair.there.recv().await.unwrap().unwrap().message, message);
        }
    })
    .await;
}

#[tokio::test]
async fn messages_that_cannot_be_sent_are_refused_with_the_reason() {
    within_a_minute(async {
        let pair = Pair::new().await;
        let send = async |stream: u16, bytes: usize| {
            pair.here.send(Message::ordered(StreamId::new(stream), vec![0; bytes])).await
        };
        assert!(matches!(send(0, 0).await, Err(SendError::Empty)));
        assert!(matches!(send(64, 1).await, Err(SendError::UnknownStream { negotiated: 64, .. })));
        assert!(matches!(send(0, 300_000).await, Err(SendError::TooLong { bytes: 300_000, .. })));
        assert!(pair.there.try_recv().is_none());
    })
    .await;
}

#[tokio::test]
async fn many_messages_at_once_arrive_in_order_and_fill_the_buffer_no_further_than_it_goes() {
    within_a_minute(async {
        let mut config = AssociationConfig::default();
        config.buffers.send_bytes = 300_000;
        let pair = Pair::with("127.0.0.1:0", config).await;
        let sent: Vec<_> = (0..2_000).map(|number| numbered(0, number, 1_000, Delivery::Ordered)).collect();
        let expected = sent.clone();
        let sending = async {
            pair.here.send_many(sent).await.unwrap();
            pair.here.shutdown().await.unwrap();
        };
        let receiving = async {
            let (mut received, mut most) = (Vec::new(), 0);
            loop {
                match pair.there.recv_many(&mut received, 32).await.unwrap() {
                    0 => break,
                    count => most = most.max(count),
                }
            }
            (received, most)
        };
        let ((), (received, most)) = tokio::join!(sending, receiving);
        assert!((2..=32).contains(&most), "{most} at once");
        assert!(received.into_iter().map(|received| received.message).eq(expected));
    })
    .await;
}

#[tokio::test]
async fn of_many_messages_those_before_the_impossible_one_are_sent() {
    within_a_minute(async {
        let pair = Pair::new().await;
        let good = numbered(0, 1, 10, Delivery::Ordered);
        let empty = Message::ordered(StreamId::new(0), "");
        let outcome = pair.here.send_many([good.clone(), empty, good.clone()]).await;
        assert!(matches!(outcome, Err(SendError::Empty)), "{outcome:?}");
        pair.here.shutdown().await.unwrap();
        assert_eq!(drain(&pair.there).await, [good]);
    })
    .await;
}

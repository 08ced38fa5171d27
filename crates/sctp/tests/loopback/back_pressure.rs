//! A sender gets no further ahead of its reader than the two buffers between them.

use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use sctp::{AssociationConfig, Delivery, SendError};

use crate::{Pair, number_of, numbered, within_a_minute};

const BUFFER_BYTES: usize = 65_536;
const MESSAGE_BYTES: usize = 1_024;

fn small_buffers() -> AssociationConfig {
    let mut config = AssociationConfig::default();
    config.buffers.send_bytes = BUFFER_BYTES;
    config.buffers.receive_bytes = BUFFER_BYTES;
    config.buffers.message_bytes = BUFFER_BYTES / 2;
    config
}

#[tokio::test]
async fn a_slow_reader_holds_the_sender_back() {
    within_a_minute(async {
        let pair = Pair::with("127.0.0.1:0", small_buffers()).await;
        let sent = Arc::new(AtomicU32::new(0));
        let count = Arc::clone(&sent);
        let sender = pair.here.clone();
        let sending = tokio::spawn(async move {
            for number in 0..2_000 {
                sender.send(numbered(0, number, MESSAGE_BYTES, Delivery::Ordered)).await.unwrap();
                count.store(number + 1, Ordering::Relaxed);
            }
        });
        let mut furthest_ahead = 0;
        for number in 0..2_000 {
            for _ in 0..10 {
                tokio::task::yield_now().await; // ten turns for everybody else: this is what makes it slow
            }
            let received = pair.there.recv().await.unwrap().unwrap();
            assert_eq!(number_of(&received.message), number);
            furthest_ahead = furthest_ahead.max(sent.load(Ordering::Relaxed).saturating_sub(number));
        }
        sending.await.unwrap();
        let both_buffers = u32::try_from(2 * BUFFER_BYTES / MESSAGE_BYTES).unwrap();
        // A receiver may take a packet or two beyond its window rather than drop them.
        assert!(furthest_ahead <= both_buffers + 4, "{furthest_ahead} messages ahead");
        assert!(furthest_ahead >= both_buffers / 2, "{furthest_ahead} messages ahead: never held back");
    })
    .await;
}

/// How often a future gave way before it was done.
async fn turns_of(work: impl Future<Output = ()>) -> usize {
    let (mut work, mut turns) = (pin!(work), 0);
    poll_fn(|context| {
        turns += 1;
        work.as_mut().poll(context)
    })
    .await;
    turns
}

#[tokio::test]
async fn who_sends_without_a_pause_leaves_others_their_turn() {
    within_a_minute(async {
        let mut roomy = AssociationConfig::default();
        roomy.buffers.send_bytes = 4 << 20;
        let pair = Pair::with("127.0.0.1:0", roomy).await;
        let messages = |range: std::ops::Range<u32>| {
            range.map(|number| numbered(0, number, MESSAGE_BYTES, Delivery::Ordered))
        };
        let many = turns_of(async { pair.here.send_many(messages(0..1_000)).await.unwrap() }).await;
        assert!(many > 3, "{many} turns for a megabyte");
        let single = async {
            for message in messages(1_000..2_000) {
                pair.here.send(message).await.unwrap();
            }
        };
        let single = turns_of(single).await;
        assert!(single > 3, "{single} turns for 1,000 messages");
    })
    .await;
}

#[tokio::test]
async fn a_full_buffer_hands_the_message_back_and_send_waits() {
    within_a_minute(async {
        let pair = Pair::with("127.0.0.1:0", small_buffers()).await;
        let mut number = 0;
        let refused = loop {
            match pair.here.try_send(numbered(0, number, MESSAGE_BYTES, Delivery::Ordered)) {
                Ok(()) => number += 1,
                Err(SendError::BufferFull(message)) => break message,
                Err(error) => panic!("{error}"),
            }
        };
        assert_eq!(refused, numbered(0, number, MESSAGE_BYTES, Delivery::Ordered));

        let waiting = pair.here.send(refused);
        tokio::pin!(waiting);
        tokio::select! {
            biased;
            outcome = &mut waiting => panic!("there was no room, yet {outcome:?}"),
            () = std::future::ready(()) => {}
        }
        let reading = async {
            for expected in 0..=number {
                assert_eq!(number_of(&pair.there.recv().await.unwrap().unwrap().message), expected);
            }
        };
        let (outcome, ()) = tokio::join!(waiting, reading);
        outcome.unwrap();
    })
    .await;
}

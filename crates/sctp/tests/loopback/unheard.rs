//! Applications that never ask for events lose the old ones and nothing else.

use std::time::Duration;

use sctp::{AssociationConfig, Delivery, Event, EventLimit};

use crate::{Pair, numbered, within_a_minute};

/// Nobody reads at the other end, so messages expire; asked for in the end, the newest failures are there, and those
/// dropped are counted.
#[tokio::test]
async fn failed_messages_nobody_asks_for_are_kept_within_the_limit_and_counted() {
    let mut config = AssociationConfig::default();
    config.buffers.receive_bytes = 4_000;
    config.buffers.message_bytes = 4_000;
    config.buffers.events.failures = Some(EventLimit { number: 100, bytes: 1 << 20 });
    within_a_minute(async {
        let pair = Pair::with("127.0.0.1:0", config).await;
        for number in 0..4_000 {
            let message =
                numbered(0, number, 1_000, Delivery::Ordered).with_lifetime(Duration::from_millis(1));
            pair.here.send(message).await.unwrap();
        }
        // The send buffer is four times too small for all of them: most have failed by now.
        assert!(pair.here.statistics().events.failures_dropped > 2_000);
        let mut kept = 0;
        loop {
            if let Event::SendFailed { .. } = pair.here.next_event().await.unwrap() {
                kept += 1;
            }
            let statistics = pair.here.statistics();
            let given_up = statistics.sender.abandoned.lifetime;
            // What the other end has room for does not fail.
            let all = given_up.sent + given_up.unsent;
            if all > 3_900 && statistics.events.failures_dropped + kept == all {
                break;
            }
        }
        assert!(kept >= 100, "{kept}");
    })
    .await;
}

//! The programs in `examples` do what they say, over real sockets on the loopback interface. What hangs fails after two minutes.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod hub;
mod multihomed;

use std::future::Future;
use std::time::Duration;

/// Runs a test that would otherwise hang for two minutes at most.
async fn within_two_minutes<T>(test: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(120), test).await.expect("still not done after two minutes")
}

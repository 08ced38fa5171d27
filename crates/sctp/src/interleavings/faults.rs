//! Faults on purpose: what these tests look for they find.

use std::panic::{AssertUnwindSafe, catch_unwind};

use sctp_core::{Message, Received, StreamId};
use shuttle::future::{block_on, spawn};
use shuttle::scheduler::RandomScheduler;
use shuttle::{FailurePersistence, Runner};

use super::blocking_calls::threads_wait_for_their_streams;
use super::model::Bells;
use super::tasks::Ends;
use super::{ORDERS, SEED, limits};
use crate::Association;

/// Returns what was wrong in one of many orders; `None` if nothing was.
fn fault_in(conversation: impl Fn() + Send + Sync + 'static) -> Option<String> {
    let mut limits = limits();
    limits.failure_persistence = FailurePersistence::None;
    let runner = Runner::new(RandomScheduler::new_from_seed(SEED, ORDERS), limits);
    let fault = catch_unwind(AssertUnwindSafe(|| runner.run(conversation))).err()?;
    let text = fault.downcast_ref::<String>().cloned();
    Some(text.or_else(|| fault.downcast_ref::<&str>().map(|text| (*text).to_owned())).unwrap_or_default())
}

/// Receives as `Association::recv` does, but begins to listen only after it has looked: a message between the two is told to nobody.
async fn recv_that_listens_too_late(association: &Association) -> Received {
    loop {
        if let Some(received) = association.try_recv() {
            return received;
        }
        association.readable().notified().await;
    }
}

#[test]
fn a_reader_that_listens_too_late_is_found_out() {
    let fault = fault_in(|| {
        block_on(async {
            let ends = Ends::open(1 << 20).await;
            let sender = ends.here.clone();
            let sending =
                spawn(
                    async move { sender.send(Message::ordered(StreamId::new(0), "missed")).await.unwrap() },
                );
            recv_that_listens_too_late(&ends.there).await;
            sending.await.unwrap();
            ends.close().await;
        });
    });
    assert!(fault.as_ref().is_some_and(|fault| fault.contains("deadlock")), "{fault:?}");
}

#[test]
fn bells_that_nobody_hears_are_found_out() {
    let fault = fault_in(|| threads_wait_for_their_streams(Bells::Dumb));
    assert!(fault.as_ref().is_some_and(|fault| fault.contains("deadlock")), "{fault:?}");
}

//! Giving way: who calls again and again without ever having to wait lets others of its thread have their turn.
//!
//! In tokio that is its cooperative budget. A thread that drives a blocking endpoint shares itself with nobody.

#[cfg(feature = "tokio")]
pub(crate) use tokio::task::{
    coop::{consume_budget, poll_proceed},
    yield_now,
};

/// Returns once the tasks that wait for their turn have had it.
#[cfg(feature = "tokio")]
pub(crate) async fn to_the_back() {
    let mut has_had_turn = false;
    core::future::poll_fn(|context| {
        if core::mem::replace(&mut has_had_turn, true) {
            return core::task::Poll::Ready(());
        }
        context.waker().wake_by_ref();
        core::task::Poll::Pending
    })
    .await;
}

#[cfg(not(feature = "tokio"))]
pub(crate) use self::alone::{consume_budget, poll_proceed, yield_now};

#[cfg(not(feature = "tokio"))]
mod alone {
    use core::task::{Context, Poll};

    /// The right to go on, which always is there.
    #[derive(Clone, Copy, Debug)]
    pub(crate) struct Turn;

    impl Turn {
        pub(crate) const fn made_progress(self) {}
    }

    pub(crate) const fn poll_proceed(_context: &Context<'_>) -> Poll<Turn> {
        Poll::Ready(Turn)
    }

    pub(crate) fn consume_budget() -> core::future::Ready<()> {
        core::future::ready(())
    }

    pub(crate) fn yield_now() -> core::future::Ready<()> {
        core::future::ready(())
    }
}

//! What the driver task and all handles of an endpoint share.

use std::sync::{Mutex, MutexGuard, PoisonError};

use sctp_core::{AssociationId, Destination};
use sctp_io::{Clock, PacketIo};
use tokio::sync::Notify;
use virtual_time::Instant;

use crate::error::CommunicationLost;
use crate::state::{EndpointSignals, State};

/// The socket, the clock, and the state behind its lock.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) io: Box<dyn PacketIo>,
    pub(crate) signals: EndpointSignals,
    clock: Clock,
    state: Mutex<State>,
}

impl Shared {
    pub(crate) fn new(io: Box<dyn PacketIo>, clock: Clock, state: State) -> Self {
        Self { io, signals: EndpointSignals::default(), clock, state: Mutex::new(state) }
    }

    /// The state, to look at it. Held for microseconds, never across an await.
    pub(crate) fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes the core at the current time and completes the change.
    pub(crate) fn change<T>(&self, change: impl FnOnce(&mut State, Instant) -> T) -> T {
        let mut state = self.lock();
        // Read behind the lock, so that time never goes back for the core.
        let now = self.clock.now();
        let outcome = change(&mut state, now);
        state.settle(now, &*self.io, &self.signals);
        outcome
    }

    /// Hands packets to the core and tells who waits for what was in them, but sends nothing yet. True if somebody
    /// was told something and may want to answer.
    pub(crate) fn take_in(&self, take: impl FnOnce(&mut State, Instant)) -> bool {
        let mut state = self.lock();
        let now = self.clock.now();
        take(&mut state, now);
        state.driver_settles = state.tell(now, &self.signals);
        state.driver_settles
    }

    /// Sends what [`take_in`](Self::take_in) left.
    pub(crate) fn complete(&self) {
        self.change(|state, _| state.driver_settles = false);
    }

    /// As [`change`](Self::change), for what may find nothing to change and then returns `None`.
    pub(crate) fn attempt<T>(&self, attempt: impl FnOnce(&mut State, Instant) -> Option<T>) -> Option<T> {
        let mut state = self.lock();
        let now = self.clock.now();
        let outcome = attempt(&mut state, now)?;
        if !state.driver_settles {
            state.settle(now, &*self.io, &self.signals);
        }
        Some(outcome)
    }

    pub(crate) fn release(&self, id: AssociationId) {
        self.change(|state, now| state.release(now, id));
    }

    pub(crate) fn stop(&self, cause: &CommunicationLost) {
        self.lock().stop(cause, &self.signals);
    }

    /// Whether the socket can send to `destination` at all.
    pub(crate) fn check(&self, destination: Destination) -> std::io::Result<()> {
        self.io.check(destination)
    }
}

/// Waits until `attempt` returns something, trying again after every signal.
///
/// Cancellation-safe if `attempt` is atomic: dropped while waiting, nothing was taken.
pub(crate) async fn until<T>(signal: &Notify, mut attempt: impl FnMut() -> Option<T>) -> T {
    if let Some(outcome) = attempt() {
        return outcome;
    }
    loop {
        // Made before the attempt: a signal between the two is not missed.
        let signalled = signal.notified();
        if let Some(outcome) = attempt() {
            return outcome;
        }
        signalled.await;
    }
}

//! The state that the driver and all handles of an endpoint share.

use std::io;
use std::sync::{PoisonError, TryLockError};

use sctp_core::{AssociationId, Destination};
#[cfg(target_os = "linux")]
use sctp_io::Notice;
use sctp_io::{PacketIo, ReceiveBatch};
use virtual_time::Instant;

use crate::error::CommunicationLost;
use crate::state::{EndpointSignals, State};
use crate::surroundings::atomic::{AtomicU64, Ordering};
use crate::surroundings::{Clock, Mutex, MutexGuard, Notify};
use crate::turn;

/// The socket, the clock, and the state behind its lock.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) io: Box<dyn PacketIo>,
    pub(crate) signals: EndpointSignals,
    clock: Clock,
    state: Mutex<State>,
    /// The batch into which packets are received: locked before the state, by whoever receives.
    intake: Mutex<ReceiveBatch>,
    /// Advances with every look at the socket of a thread that sends.
    looks: AtomicU64,
}

impl Shared {
    pub(crate) fn new(io: Box<dyn PacketIo>, clock: Clock, state: State) -> Self {
        let (state, intake) = (Mutex::new(state), Mutex::default());
        let looks = AtomicU64::new(0);
        Self { io, signals: EndpointSignals::default(), clock, state, intake, looks }
    }

    /// Returns the time.
    pub(crate) fn now(&self) -> Instant {
        self.clock.now()
    }

    /// Says how the driver learns of packets.
    #[cfg(target_os = "linux")]
    pub(crate) fn set_notice(&self, notice: Notice) {
        self.intake.lock().unwrap_or_else(PoisonError::into_inner).set_notice(notice);
    }

    /// Returns the state, to look at it. Held for microseconds, never across an await.
    pub(crate) fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes the core at the current time and completes the change.
    pub(crate) fn change<T>(&self, change: impl FnOnce(&mut State, Instant) -> T) -> T {
        let mut state = self.lock();
        // Read behind the lock, so that time never goes back for the core.
        let now = self.clock.now();
        let outcome = change(&mut state, now);
        state.driver_settles = false;
        state.settle(now, &*self.io, &self.signals);
        outcome
    }

    /// Hands messages to the core as [`change`](Self::change) does. A thread that hands in many without a pause
    /// never waits, and nothing else may run in it: then it has a look at the socket itself, for the
    /// acknowledgments that let the next ones leave.
    pub(crate) fn send<T>(&self, queue: impl FnOnce(&mut State, Instant) -> T) -> T {
        let (outcome, owes_look) = self.change(|state, now| {
            let outcome = queue(state, now);
            (outcome, state.queued_since_look >= LOOK_AFTER_BYTES)
        });
        if owes_look {
            self.look();
        }
        outcome
    }

    /// Takes in what waits at the socket and answers it, unless somebody else is at it.
    fn look(&self) {
        let mut batch = match self.intake.try_lock() {
            Ok(batch) => batch,
            Err(TryLockError::Poisoned(batch)) => batch.into_inner(),
            Err(TryLockError::WouldBlock) => return,
        };
        self.looks.fetch_add(1, Ordering::Relaxed);
        self.lock().queued_since_look = 0;
        // A broken socket is the driver's to report.
        if self.io.receive(&mut batch).is_ok() {
            self.change(|state, now| state.take_in(now, &*self.io, &batch));
        }
    }

    /// Returns how often a thread that sends has looked at the socket.
    #[cfg(target_os = "linux")]
    pub(crate) fn looks(&self) -> u64 {
        self.looks.load(Ordering::Relaxed)
    }

    /// Takes one batch from the socket and tells who waits for what was in it, but sends nothing yet.
    ///
    /// # Errors
    ///
    /// If the socket is of no more use.
    pub(crate) fn receive(&self) -> io::Result<Taken> {
        let mut batch = self.intake.lock().unwrap_or_else(PoisonError::into_inner);
        match self.io.receive(&mut batch) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                return Ok(Taken { what: Received::Nothing, has_more: false, octets: 0, at: None });
            }
            Err(error) => return Err(error),
        }
        let mut state = self.lock();
        let now = self.clock.now();
        state.take_in(now, &*self.io, &batch);
        state.driver_settles = state.tell(now, &self.signals);
        let what = if state.driver_settles { Received::News } else { Received::Packets };
        Ok(Taken { what, has_more: !batch.is_drained(), octets: batch.octets(), at: Some(now) })
    }

    /// Sends what [`receive`](Self::receive) left.
    pub(crate) fn complete(&self) {
        self.change(|_, _| ());
    }

    /// Sends what [`receive`](Self::receive) left where it brought news, unless an answer has taken it along.
    #[cfg(feature = "tokio")]
    pub(crate) fn complete_news(&self) {
        self.complete_news_of(&mut self.lock());
    }

    /// Returns whether nobody has yet sent what [`receive`](Self::receive) left where it brought news.
    #[cfg(feature = "tokio")]
    pub(crate) fn owes_completion(&self) -> bool {
        self.lock().driver_settles
    }

    /// Returns how the driver goes on, after sending what [`receive`](Self::receive) left; but a driver that
    /// `would_look` at the socket again does so first, so that one SACK answers all that comes. Who has
    /// answered already sleeps until the next request.
    #[cfg(target_os = "linux")]
    pub(crate) fn next_turn(&self, would_look: bool) -> Next {
        let mut state = self.lock();
        let is_look = would_look && state.driver_settles;
        if !is_look {
            self.complete_news_of(&mut state);
        }
        Next { is_look, is_blocked: state.outbox.is_blocked() }
    }

    fn complete_news_of(&self, state: &mut State) {
        if std::mem::take(&mut state.driver_settles) {
            state.settle(self.clock.now(), &*self.io, &self.signals);
        }
    }

    /// Changes the state as [`change`](Self::change) does, but only if `is_possible`, and may still find
    /// nothing to change and return `None`.
    pub(crate) fn attempt<T>(
        &self,
        is_possible: impl FnOnce(&State) -> bool,
        attempt: impl FnOnce(&mut State, Instant) -> Option<T>,
    ) -> Option<T> {
        let mut state = self.lock();
        if !is_possible(&state) {
            return None;
        }
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

    /// Returns whether the socket can send to `destination` at all.
    pub(crate) fn check(&self, destination: Destination) -> std::io::Result<()> {
        self.io.check(destination)
    }
}

/// The outcome of [`Shared::receive`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct Taken {
    pub(crate) what: Received,
    /// Whether another call may bring more at once.
    pub(crate) has_more: bool,
    /// How much it was.
    #[cfg_attr(not(target_os = "linux"), expect(dead_code, reason = "blocking drivers ask for it"))]
    pub(crate) octets: usize,
    /// When that was, if anything came.
    #[cfg_attr(not(target_os = "linux"), expect(dead_code, reason = "blocking drivers ask for it"))]
    pub(crate) at: Option<Instant>,
}

/// How a driver goes on.
#[cfg(target_os = "linux")]
#[derive(Clone, Copy, Debug)]
pub(crate) struct Next {
    /// Whether to look at the socket again instead of waiting for it.
    pub(crate) is_look: bool,
    /// The socket was full: what waits there is sent when there is room.
    pub(crate) is_blocked: bool,
}

/// The outcome of a look at the socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Received {
    Nothing,
    Packets,
    /// Packets with something for the users of associations, who may want to answer.
    News,
}

/// Waits until `attempt` returns something, trying again after every signal.
///
/// Cancellation-safe if `attempt` is atomic: dropped while waiting, nothing was taken.
///
/// Who calls again and again without ever having to wait gives way now and then, so that others of its thread have
/// their turn.
pub(crate) async fn until<T>(signal: &Notify, mut attempt: impl FnMut() -> Option<T>) -> T {
    turn::consume_budget().await;
    loop {
        // Made before the attempt: a signal between the two is not missed.
        let signalled = signal.notified();
        if let Some(outcome) = attempt() {
            return outcome;
        }
        signalled.await;
    }
}

/// Octets handed in between two looks at the socket: what one call with segmentation offload carries.
const LOOK_AFTER_BYTES: usize = 64 << 10;

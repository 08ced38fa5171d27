//! The task behind an endpoint: packets and timeouts in, whenever the kernel says so.

#[cfg_attr(not(target_os = "linux"), path = "driver/elsewhere.rs")]
mod readiness;

use std::io;
use std::pin::pin;
use std::sync::Arc;

use tokio::io::{Interest, Ready};
use tokio::runtime::{Handle, RuntimeFlavor};

pub(crate) use self::readiness::Readiness;
use self::readiness::{INCOMING, has_error};
use crate::error::CommunicationLost;
use crate::shared::{Received, Shared};
use crate::state::Openness;
use crate::turn;

/// Runs until the endpoint is closed and its last association is over.
pub(crate) async fn run(shared: Arc<Shared>, readiness: Readiness) {
    let mut driver =
        TaskDriver { stop: StopOnDrop { shared, cause: CommunicationLost::DriverStopped }, readiness };
    if let Err(error) = driver.run().await {
        driver.stop.cause = CommunicationLost::Socket(error.kind());
    }
}

struct TaskDriver {
    stop: StopOnDrop,
    readiness: Readiness,
}

impl TaskDriver {
    async fn run(&mut self) -> io::Result<()> {
        let shared = Arc::clone(&self.stop.shared);
        let turns = Turns::of_runtime();
        let mut notified = pin!(shared.signals.driver.notified());
        while let Some(interest) = self.interest() {
            tokio::select! {
                ready = self.readiness.socket.ready(interest) => {
                    let mut guard = ready?;
                    let ready = guard.ready();
                    if ready.is_readable() {
                        let taken = shared.receive()?;
                        match taken.what {
                            Received::Nothing => {
                                // Two sockets behind one descriptor tell of room to send in this way too.
                                if shared.lock().outbox.is_blocked() {
                                    resume_sending(&shared);
                                }
                            }
                            Received::Packets => shared.complete(),
                            Received::News => {
                                // Those who were told run first: what they answer at once travels with the SACK.
                                turns.give_way(|| shared.owes_completion()).await;
                                shared.complete_news();
                            }
                        }
                        // What comes from now on is told anew, so nobody need look and find nothing.
                        if !taken.has_more {
                            guard.clear_ready_matching(Ready::READABLE);
                        }
                    }
                    if ready.is_writable() && resume_sending(&shared) == Socket::Full {
                        guard.clear_ready_matching(Ready::WRITABLE);
                    }
                    if has_error(ready) {
                        drop(guard);
                        self.drain_errors()?;
                    }
                }
                ready = self.readiness.timer.readable() => {
                    ready?.clear_ready();
                    shared.change(|state, now| {
                        state.acknowledge_timer();
                        state.handle_timeout(now);
                    });
                }
                event = Readiness::address(&mut self.readiness.addresses) => {
                    let event = event?;
                    shared.change(|state, now| state.on_address(now, event));
                }
                () = notified.as_mut() => notified.set(shared.signals.driver.notified()),
            }
        }
        Ok(())
    }

    /// Returns what to wait for on the socket; `None` when the work is done.
    fn interest(&self) -> Option<Interest> {
        let state = self.stop.shared.lock();
        let is_blocked = state.outbox.is_blocked();
        if state.openness == Openness::Closed && state.is_idle() && !is_blocked {
            return None;
        }
        Some(if is_blocked { INCOMING | Interest::WRITABLE } else { INCOMING })
    }

    /// Counts what the network reported (the socket does).
    fn drain_errors(&mut self) -> io::Result<()> {
        while self.stop.shared.io.receive_error()?.is_some() {}
        self.readiness.renew()
    }
}

/// How the driver lets those run first whom it has just woken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Turns {
    /// One thread runs one task after the other, those that were woken first before the others.
    InOrder,
    /// Other threads may take tasks that wait, and each of them that is called takes time.
    Spread,
}

impl Turns {
    fn of_runtime() -> Self {
        match Handle::current().runtime_flavor() {
            RuntimeFlavor::CurrentThread => Self::InOrder,
            RuntimeFlavor::MultiThread | _ => Self::Spread,
        }
    }

    /// Returns when those who were woken had their turn; sooner, if nothing `is_left` to do.
    ///
    /// A task that gives way by [`yield_now`](tokio::task::yield_now) comes back after the runtime has looked at its
    /// sockets, which takes a system call. Behind the tasks that wait in the queue of one thread it comes without; only the
    /// future of `block_on` is not among them.
    async fn give_way(self, is_left: impl Fn() -> bool) {
        if self == Self::InOrder {
            turn::to_the_back().await;
            if !is_left() {
                return;
            }
        }
        turn::yield_now().await;
    }
}

fn resume_sending(shared: &Shared) -> Socket {
    shared.change(|_, _| ());
    if shared.lock().outbox.is_blocked() { Socket::Full } else { Socket::Ready }
}

/// The answer of the socket to the last attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Socket {
    Ready,
    Full,
}

/// Tells everybody who waits that nothing will come any more, also when the runtime drops the task.
struct StopOnDrop {
    shared: Arc<Shared>,
    cause: CommunicationLost,
}

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.shared.stop(&self.cause);
    }
}

//! The task behind an endpoint: packets and timeouts in, whenever the kernel says so.

#[cfg_attr(not(target_os = "linux"), path = "driver/elsewhere.rs")]
mod readiness;

use std::io;
use std::sync::Arc;

use tokio::io::{Interest, Ready};

pub(crate) use self::readiness::Readiness;
use self::readiness::{INCOMING, has_error};
use crate::error::CommunicationLost;
use crate::shared::{Received, Shared};
use crate::state::Openness;

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
        while let Some(interest) = self.interest() {
            tokio::select! {
                ready = self.readiness.socket.ready(interest) => {
                    let mut guard = ready?;
                    let ready = guard.ready();
                    if ready.is_readable() {
                        let taken = self.stop.shared.receive()?;
                        match taken.what {
                            Received::Nothing => {
                                // Two sockets behind one descriptor tell of room to send in this way too.
                                if self.stop.shared.lock().outbox.is_blocked() {
                                    resume_sending(&self.stop.shared);
                                }
                            }
                            Received::Packets => self.stop.shared.complete(),
                            Received::News => {
                                // Those who were told run first: what they answer at once travels with the SACK.
                                tokio::task::yield_now().await;
                                self.stop.shared.complete_news();
                            }
                        }
                        // What comes from now on is told anew, so nobody need look and find nothing.
                        if !taken.has_more {
                            guard.clear_ready_matching(Ready::READABLE);
                        }
                    }
                    if ready.is_writable() && resume_sending(&self.stop.shared) == Socket::Full {
                        guard.clear_ready_matching(Ready::WRITABLE);
                    }
                    if has_error(ready) {
                        drop(guard);
                        self.drain_errors()?;
                    }
                }
                ready = self.readiness.timer.readable() => {
                    ready?.clear_ready();
                    self.stop.shared.change(|state, now| {
                        state.acknowledge_timer();
                        state.handle_timeout(now);
                    });
                }
                event = Readiness::address(&mut self.readiness.addresses) => {
                    let event = event?;
                    self.stop.shared.change(|state, now| state.on_address(now, event));
                }
                () = self.stop.shared.signals.driver.notified() => {}
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

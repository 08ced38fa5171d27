//! The task behind an endpoint: packets and timeouts in, whenever the kernel says so.

use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::sync::Arc;

use sctp_io::{AddressEvent, AddressWatch};
use tokio::io::unix::AsyncFd;
use tokio::io::{Interest, Ready};

use crate::error::CommunicationLost;
use crate::shared::{Received, Shared};
use crate::state::Openness;

/// Readiness of socket and timer, as tokio reports it.
#[derive(Debug)]
pub(crate) struct Readiness {
    socket: AsyncFd<OwnedFd>,
    timer: AsyncFd<OwnedFd>,
    /// The addresses of this host, for endpoints with addresses that may come and go.
    addresses: Option<AsyncFd<AddressWatch>>,
}

impl Readiness {
    /// Registers duplicates of the descriptors: the originals stay where application threads use them.
    pub(crate) fn new(
        socket: impl AsFd,
        timer: OwnedFd,
        addresses: Option<AddressWatch>,
    ) -> io::Result<Self> {
        let timer = register(timer, Interest::READABLE)?;
        let socket = register(socket.as_fd().try_clone_to_owned()?, SOCKET_INTEREST)?;
        let addresses = addresses.map(|watch| register(watch, Interest::READABLE)).transpose()?;
        Ok(Self { socket, timer, addresses })
    }

    /// Waits for the next change of an address; for ever, where none is watched.
    async fn address(addresses: &mut Option<AsyncFd<AddressWatch>>) -> io::Result<AddressEvent> {
        let Some(addresses) = addresses else { return std::future::pending().await };
        loop {
            if let Some(event) = addresses.get_mut().poll_event()? {
                return Ok(event);
            }
            addresses.readable().await?.clear_ready();
        }
    }
}

/// Registers a descriptor with tokio's constructor that needs no `unsafe`. It is deprecated for types whose
/// descriptor may change or close behind tokio's back; an `OwnedFd` can do neither, nor can the one in an
/// `AddressWatch`.
#[allow(deprecated)]
fn register<T: AsRawFd>(descriptor: T, interest: Interest) -> io::Result<AsyncFd<T>> {
    AsyncFd::with_interest(descriptor, interest)
}

/// All a socket may ever be asked for; each wait picks from it.
const SOCKET_INTEREST: Interest = Interest::READABLE.add(Interest::WRITABLE).add(Interest::ERROR);

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
                    if ready.is_error() {
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
        let interest = Interest::READABLE | Interest::ERROR;
        Some(if is_blocked { interest | Interest::WRITABLE } else { interest })
    }

    /// Counts what the network reported (the socket does).
    fn drain_errors(&mut self) -> io::Result<()> {
        while self.stop.shared.io.receive_error()?.is_some() {}
        // An error also marks the registration as closed for writing, for good: tokio keeps that mark. A
        // new registration starts without it.
        let descriptor = self.readiness.socket.get_ref().try_clone()?;
        self.readiness.socket = register(descriptor, SOCKET_INTEREST)?;
        Ok(())
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

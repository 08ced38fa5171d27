//! The readiness of socket, timer and addresses on Linux, where each is a descriptor.

use std::future::poll_fn;
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::sync::Arc;

use sctp_io::{AddressEvent, AddressWatch};
use tokio::io::unix::{AsyncFd, AsyncFdReadyGuard};
use tokio::io::{Interest, Ready};

use crate::endpoint::Descriptors;
use crate::shared::Shared;

/// Readiness of socket and timer, as tokio reports it.
#[derive(Debug)]
pub(crate) struct Readiness {
    pub(super) socket: AsyncFd<OwnedFd>,
    pub(super) timer: TimerDescriptor,
    /// The addresses of this host, for endpoints with addresses that may come and go.
    pub(super) addresses: Option<AsyncFd<AddressWatch>>,
}

impl Readiness {
    /// Registers duplicates of the descriptors: the originals stay where application threads use them.
    pub(crate) fn new(shared: &Arc<Shared>, descriptors: Descriptors) -> io::Result<Self> {
        let Descriptors { timer, addresses } = descriptors;
        let timer = TimerDescriptor(register(timer, Interest::READABLE)?);
        let socket = register(shared.io.as_fd().try_clone_to_owned()?, SOCKET_INTEREST)?;
        let addresses = addresses.map(|watch| register(watch, Interest::READABLE)).transpose()?;
        Ok(Self { socket, timer, addresses })
    }

    /// Waits for the next change of an address; for ever, where none is watched.
    pub(super) async fn address(addresses: &mut Option<AsyncFd<AddressWatch>>) -> io::Result<AddressEvent> {
        let Some(addresses) = addresses else { return std::future::pending().await };
        loop {
            if let Some(event) = addresses.get_mut().poll_event()? {
                return Ok(event);
            }
            addresses.readable().await?.clear_ready();
        }
    }

    /// Registers the socket anew. An error also marks the registration as closed for writing, for good: tokio keeps that
    /// mark, and a new registration starts without it.
    pub(super) fn renew(&mut self) -> io::Result<()> {
        let descriptor = self.socket.get_ref().try_clone()?;
        self.socket = register(descriptor, SOCKET_INTEREST)?;
        Ok(())
    }
}

/// The endpoint's timer, for which one task waits.
#[derive(Debug)]
pub(super) struct TimerDescriptor(AsyncFd<OwnedFd>);

impl TimerDescriptor {
    /// Waits for it to fire. As nobody else waits, no list of those who do is kept.
    pub(super) async fn readable(&self) -> io::Result<AsyncFdReadyGuard<'_, OwnedFd>> {
        poll_fn(|context| self.0.poll_read_ready(context)).await
    }
}

/// Registers a descriptor with tokio's constructor that needs no `unsafe`. It is deprecated for types whose
/// descriptor may change or close behind tokio's back; an `OwnedFd` can do neither, nor can the one in an
/// `AddressWatch`.
#[allow(deprecated)]
fn register<T: AsRawFd>(descriptor: T, interest: Interest) -> io::Result<AsyncFd<T>> {
    AsyncFd::with_interest(descriptor, interest)
}

/// Returns whether the network has reported something.
pub(super) fn has_error(ready: Ready) -> bool {
    ready.is_error()
}

/// What a driver waits for while nothing has to be sent.
pub(super) const INCOMING: Interest = Interest::READABLE.add(Interest::ERROR);

/// All a socket may ever be asked for; each wait picks from it.
const SOCKET_INTEREST: Interest = INCOMING.add(Interest::WRITABLE);

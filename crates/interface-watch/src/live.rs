//! Waiting under tokio for what the kernel tells.

use std::io;

use mobility::Event;
use tokio::io::unix::AsyncFd;

use crate::{InterfaceWatch, Told};

/// A watch of interfaces that can be waited for under tokio (feature `tokio`).
#[derive(Debug)]
pub struct LiveWatch(AsyncFd<InterfaceWatch>);

impl LiveWatch {
    /// Begins to watch, within a runtime of tokio that drives sockets; outside of one it panics.
    ///
    /// # Errors
    ///
    /// If the kernel gives no netlink socket, or it cannot be waited for.
    pub fn open() -> io::Result<Self> {
        register(InterfaceWatch::open()?).map(Self)
    }

    /// Waits until the kernel has told something. Cancellation-safe: what was told is told by the next call.
    ///
    /// # Errors
    ///
    /// If the socket fails: no further change will be seen.
    pub async fn told(&mut self) -> io::Result<Told> {
        let mut ready = self.0.readable_mut().await?;
        let told = ready.get_inner_mut().poll()?;
        // After events nothing is left to read; after a loss there may be.
        if told != Told::Missed {
            ready.clear_ready();
        }
        Ok(told)
    }

    /// Reads links, addresses and routes as they are now; see [`InterfaceWatch::read_all`].
    ///
    /// # Errors
    ///
    /// As [`InterfaceWatch::read_all`].
    pub fn read_all(&mut self) -> io::Result<Vec<Event>> {
        self.0.get_mut().read_all()
    }
}

/// Registers the watch with tokio's constructor that needs no `unsafe`. It is deprecated for types whose descriptor may change or close
/// behind tokio's back; the one in an [`InterfaceWatch`] can do neither.
#[allow(deprecated)]
fn register(watch: InterfaceWatch) -> io::Result<AsyncFd<InterfaceWatch>> {
    AsyncFd::new(watch)
}

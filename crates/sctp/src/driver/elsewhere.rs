//! The readiness of socket and timer on systems other than Linux, by tokio's sockets and timers. Addresses are not watched.

use std::convert::Infallible;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{Interest, Ready};
use tokio::net::UdpSocket;

use crate::endpoint::Descriptors;
use crate::shared::Shared;

/// Readiness of socket and timer, as tokio reports it.
#[derive(Debug)]
pub(crate) struct Readiness {
    pub(super) socket: Registered,
    pub(super) timer: Deadline,
    pub(super) addresses: (),
}

impl Readiness {
    /// Registers a duplicate of the socket: the original stays where application threads use it.
    pub(crate) fn new(shared: &Arc<Shared>, Descriptors {}: Descriptors) -> io::Result<Self> {
        let socket = Registered(UdpSocket::from_std(shared.io.duplicate()?)?);
        Ok(Self { socket, timer: Deadline(Arc::clone(shared)), addresses: () })
    }

    /// Waits for ever: no address is watched here.
    pub(super) async fn address(_addresses: &mut ()) -> io::Result<Infallible> {
        std::future::pending().await
    }

    /// Does nothing: errors leave no mark here.
    pub(super) fn renew(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A socket of tokio's for the endpoint's.
#[derive(Debug)]
pub(super) struct Registered(UdpSocket);

impl Registered {
    pub(super) async fn ready(&self, interest: Interest) -> io::Result<SocketReady<'_>> {
        Ok(SocketReady { socket: &self.0, ready: self.0.ready(interest).await? })
    }
}

/// The readiness that a wait has found.
pub(super) struct SocketReady<'a> {
    socket: &'a UdpSocket,
    ready: Ready,
}

impl SocketReady<'_> {
    pub(super) fn ready(&self) -> Ready {
        self.ready
    }

    /// From now on another packet, or new room, has to come before it is ready again.
    pub(super) fn clear_ready_matching(&mut self, ready: Ready) {
        let interest = if ready.is_writable() { Interest::WRITABLE } else { Interest::READABLE };
        // What would have blocked is waited for anew.
        let _ = self.socket.try_io(interest, || Err::<(), _>(io::ErrorKind::WouldBlock.into()));
    }
}

/// The time at which the endpoint wants to be woken. Whoever makes it earlier notifies the driver.
#[derive(Debug)]
pub(super) struct Deadline(Arc<Shared>);

impl Deadline {
    pub(super) async fn readable(&self) -> io::Result<Due> {
        let fires_at = self.0.lock().timer_fires_at();
        let Some(fires_at) = fires_at else { return std::future::pending().await };
        let left: Duration = fires_at.since(self.0.now());
        tokio::time::sleep(left).await;
        Ok(Due)
    }
}

/// The time has come.
pub(super) struct Due;

impl Due {
    pub(super) fn clear_ready(self) {}
}

/// Returns false: the network reports nothing here.
pub(super) fn has_error(_ready: Ready) -> bool {
    false
}

/// What a driver waits for while nothing has to be sent.
pub(super) const INCOMING: Interest = Interest::READABLE;

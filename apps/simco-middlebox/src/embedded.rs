//! A middlebox on a thread of its own, for programs that bring one along.

use std::net::SocketAddr;
use std::thread::JoinHandle;

use daemon::Control;
use tokio::sync::mpsc;

use crate::config::Settings;
use crate::listen::{Opened, StartError};
use crate::server::Server;

/// A middlebox that serves until it is stopped. Dropped, it stops, too, but nobody waits for that.
#[derive(Debug)]
pub struct Embedded {
    tcp: Vec<SocketAddr>,
    sctp: Option<SocketAddr>,
    metrics: Option<SocketAddr>,
    controls: mpsc::Sender<Control<Settings>>,
    thread: JoinHandle<()>,
}

impl Embedded {
    /// Binds, opens the packet filter, and serves from then on.
    ///
    /// # Errors
    ///
    /// See [`StartError`].
    pub fn start(settings: Settings) -> Result<Self, StartError> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime =
            runtime.map_err(|because| StartError::System { what: "a runtime".to_owned(), because })?;
        let within = runtime.enter();
        let server = Server::new(&settings)?;
        drop(within);
        let opened = runtime.block_on(Opened::once(&settings))?;
        let listeners = opened.listeners();
        let (tcp, sctp) = (listeners.tcp_addresses(), listeners.sctp_address());
        let metrics = listeners.metrics_address();
        let (controls, receiver) = mpsc::channel(1);
        let thread =
            std::thread::spawn(move || runtime.block_on(server.run(std::future::ready(opened), receiver)));
        Ok(Self { tcp, sctp, metrics, controls, thread })
    }

    /// Returns where TCP listens.
    #[must_use]
    pub fn tcp_addresses(&self) -> &[SocketAddr] {
        &self.tcp
    }

    /// Returns where SCTP listens: with encapsulation, its UDP address.
    #[must_use]
    pub const fn sctp_address(&self) -> Option<SocketAddr> {
        self.sctp
    }

    /// Returns where metrics are served.
    #[must_use]
    pub const fn metrics_address(&self) -> Option<SocketAddr> {
        self.metrics
    }

    /// Ends every session with AST, and waits until all has left; rules live on where the packet filter keeps them. Not to
    /// be called within a runtime.
    pub fn stop(self) {
        // A server that has ended needs no command, and one that has panicked has said so.
        let _told = self.controls.blocking_send(Control::Stop);
        let _ended = self.thread.join();
    }
}

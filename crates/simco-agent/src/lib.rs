//! A SIMCO agent (RFC 4540) for tokio: opens pinholes on a middlebox, keeps them, learns what becomes of them.
//!
//! ```text
//!  your tasks    SimcoAgent::request ──┐        ┌─► AgentEvents::next: ARE, rules lost, the end
//!                                      ▼        │
//!  one task                         simco::agent::Agent (the protocol, no IO)
//!                                      │        ▲
//!                                      ▼        │
//!  a connection                  TCP, or SCTP with a message per message and a stream per rule
//! ```
//!
//! What is here: the task that drives the core over a connection, and handles to it. What is not: the protocol, which
//! is [`simco`]. A connection that ends ends the handle, unless
//! [`AgentSettings::reconnection`](simco::agent::AgentSettings::reconnection) says how to come back: then the agent connects
//! anew by itself, later and later, authenticates itself, asks which of its rules are left (PRL, PRS), tells what was lost
//! and what was found, and goes on refreshing what it holds. Requests without an answer end with
//! [`RequestError::Closed`], those made meanwhile with [`RequestError::NotConnected`]; none is made again by itself, for
//! whether it was done only the user can find out. What is told, and when:
//!
//! ```text
//!  Closed{why} ─ Reconnecting{1, 0.4 s} ─ Reconnecting{2, 0.8 s} ─ Opened ─ RuleLost, Found … ─ Resynchronised
//! ```
#![forbid(unsafe_code)]

mod driver;
mod events;
mod link;
mod tls;

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;

use simco::agent::{Agent, AgentCloseReason, AgentSettings, PolicyReply};
use simco::{Capabilities, Lifetime, NegativeCode, PolicyRequest, PolicyRuleId};
use tokio::sync::{mpsc, oneshot};

pub use events::AgentEvents;
pub use tls::{TlsTrust, TlsTrustError};

use driver::{Command, Driver};
use link::Dialer;

/// A session with a middlebox. Cheap to clone; all clones are the same session. When the last is dropped, the session
/// is terminated.
#[derive(Clone, Debug)]
pub struct SimcoAgent {
    commands: mpsc::Sender<Command>,
    capabilities: Capabilities,
}

/// How to reach a middlebox.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Middlebox {
    /// The addresses of the middlebox with the port of SIMCO, 7626 by default. TCP uses the first.
    pub addresses: Vec<SocketAddr>,
    /// The transport: TCP or SCTP.
    pub transport: Transport,
    /// Writes every packet of SCTP to this file, for Wireshark and tshark (pcapng). Default: no capture.
    pub capture: Option<PathBuf>,
}

/// A transport for SIMCO: TCP or SCTP.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Transport {
    /// TCP without delay (Nagle's algorithm off, as in study S4).
    Tcp,
    /// The transport is SCTP, with streams.
    Sctp {
        /// Streams to ask for; six were enough in study S4 (§5.4).
        streams: u16,
        /// The carrier of SCTP packets.
        carrier: Carrier,
    },
}

/// The carrier of SCTP packets.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Carrier {
    /// The packets travel in UDP (RFC 6951).
    Udp {
        /// The UDP port of this side; 0 for any.
        local: u16,
        /// The middlebox', 9899 as registered.
        remote: u16,
    },
    /// Directly over IP, protocol 132.
    Ip,
}

/// The reason why there is no session.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    /// The middlebox was given without an address.
    #[error("no address of a middlebox; name one at least")]
    NoAddress,
    /// The operating system has no entropy.
    #[error("no entropy from the operating system: {0}")]
    Entropy(#[source] io::Error),
    /// The TCP connection could not be opened.
    #[error("no TCP connection with {to}: {error}; is the middlebox running, is this its port?")]
    Tcp {
        /// The address that was tried.
        to: SocketAddr,
        /// The error that the system returned.
        error: io::Error,
    },
    /// The TLS handshake failed.
    #[error("no TLS with {to}: {error}; is this the authority of its certificate, and its name?")]
    Tls {
        /// The address that was tried.
        to: SocketAddr,
        /// The error of the handshake.
        error: io::Error,
    },
    /// The transport is SCTP, but TLS is for TCP.
    #[error("TLS protects TCP only: choose TCP, or leave TLS out")]
    TlsWithoutTcp,
    /// The socket for SCTP could not be bound.
    #[error("no socket for SCTP: {0}")]
    Bind(#[from] sctp::BindError),
    /// SCTP did not get through.
    #[error(
        "no SCTP association with {to}: {error}; is the middlebox running, is this its port and its UDP port?"
    )]
    Sctp {
        /// The address that was tried.
        to: SocketAddr,
        /// The reason for the failure.
        error: sctp::ConnectError,
    },
    /// The port of the middlebox is 0, which no port is.
    #[error("port 0 is nobody's: write 7626 or the middlebox' own")]
    PortZero,
    /// SIMCO did not get through.
    #[error("no SIMCO session: {0}")]
    Session(#[from] AgentCloseReason),
}

/// The reason why a request was not done.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum RequestError {
    /// The middlebox refused the request, with this code.
    #[error("the middlebox refuses: {0}")]
    Refused(NegativeCode),
    /// There is no session at the moment, and the agent is on its way to another one. The request was not made.
    #[error("there is no session at the moment; the agent is connecting anew")]
    NotConnected,
    /// The session ended; whether the request was done is not known.
    #[error("the session ended before the answer: {0}")]
    Closed(AgentCloseReason),
}

impl SimcoAgent {
    /// Connects and opens a session. A task on this runtime drives it from then on, and those that follow it if
    /// [`AgentSettings::reconnection`] is set; the first has to open for that.
    ///
    /// There is no time limit: wrap the call in `tokio::time::timeout`.
    ///
    /// # Errors
    ///
    /// See [`ConnectError`].
    pub async fn connect(
        middlebox: &Middlebox,
        settings: AgentSettings,
    ) -> Result<(Self, AgentEvents), ConnectError> {
        Self::begin(Dialer { middlebox: middlebox.clone(), trust: None }, settings).await
    }

    /// Connects as [`connect`](Self::connect) does, over TCP with TLS.
    ///
    /// # Errors
    ///
    /// See [`ConnectError`].
    pub async fn connect_tls(
        middlebox: &Middlebox,
        trust: &TlsTrust,
        settings: AgentSettings,
    ) -> Result<(Self, AgentEvents), ConnectError> {
        Self::begin(Dialer { middlebox: middlebox.clone(), trust: Some(trust.clone()) }, settings).await
    }

    async fn begin(dialer: Dialer, settings: AgentSettings) -> Result<(Self, AgentEvents), ConnectError> {
        let link = dialer.dial().await?;
        let secret = sctp_io::os_entropy().map_err(ConnectError::Entropy)?;
        let patience = settings.reconnection.unwrap_or_default().patience;
        let agent = Agent::new(settings, secret);
        let (commands, received) = mpsc::channel(COMMANDS);
        let (tell, events) = events::events();
        let (opened, opening) = oneshot::channel();
        tokio::spawn(Driver::new(agent, dialer, patience, received, tell, opened).run(link));
        match opening.await {
            Ok(Ok(capabilities)) => Ok((Self { commands, capabilities }, events)),
            Ok(Err(reason)) => Err(reason.into()),
            Err(_) => Err(AgentCloseReason::Lost.into()),
        }
    }

    /// Returns what the middlebox can do.
    #[must_use]
    pub const fn capabilities(&self) -> &Capabilities {
        &self.capabilities
    }

    /// Makes a request and waits for its answer. Requests of several tasks are under way at the same time.
    ///
    /// Dropping the future does not take the request back.
    ///
    /// # Errors
    ///
    /// The middlebox refuses, or the session ends.
    pub async fn request(&self, request: PolicyRequest) -> Result<PolicyReply, RequestError> {
        let (answer, answered) = oneshot::channel();
        let sent = self.commands.send(Command::Request { request, answer }).await;
        if sent.is_err() {
            return Err(RequestError::Closed(AgentCloseReason::Lost));
        }
        answered.await.unwrap_or(Err(RequestError::Closed(AgentCloseReason::Lost)))
    }

    /// Keeps a rule alive, asking for `lifetime` each time, until it is released or lost.
    pub async fn hold(&self, rule: PolicyRuleId, lifetime: Lifetime) {
        // An error means that the session is over, which the events tell.
        let _over = self.commands.send(Command::Hold { rule, lifetime }).await;
    }

    /// Keeps a rule alive no longer.
    pub async fn release(&self, rule: PolicyRuleId) {
        // As above.
        let _over = self.commands.send(Command::Release { rule }).await;
    }

    /// Ends the session once all requests are answered, and waits for that. Rules live on until their deadlines.
    pub async fn terminate(&self) {
        if self.commands.send(Command::Terminate).await.is_ok() {
            self.commands.closed().await;
        }
    }
}

/// Requests that wait for the driver at most.
const COMMANDS: usize = 1024;

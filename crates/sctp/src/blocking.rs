//! A blocking API of the endpoints, for programs without a runtime: calls that wait, from as many threads as
//! they like.
//!
//! Whoever waits does the work: a thread in [`recv`](Association::recv) waits on the socket itself, takes packets from it and
//! answers them, so that between a message on the wire and the caller there is no other thread. While nobody is in a
//! call, a thread of the endpoint's steps in after 10 ms; until then nothing is acknowledged.
//!
//! What blocks is here; the rest is that of the [`sctp::Association`](crate::Association) behind
//! [`Association::handle`].
//!
//! ```
//! use sctp::blocking::Endpoint;
//! use sctp::{EndpointConfig, Message, SctpPort, StreamId};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let port = SctpPort::try_from(3863)?;
//! let server = Endpoint::bind(EndpointConfig::new(port), "127.0.0.1:0".parse()?)?;
//! let address = server.local_address();
//! let serving = std::thread::spawn(move || {
//!     let association = server.accept().ok_or("closed")?;
//!     while let Some(received) = association.recv().map_err(|_| "lost")? {
//!         association.send(received.message).map_err(|_| "lost")?;
//!     }
//!     Ok::<_, &str>(())
//! });
//!
//! let client = Endpoint::bind(EndpointConfig::new(SctpPort::try_from(50_000)?), "127.0.0.1:0".parse()?)?;
//! let association = client.connect(&[sctp::udp(address)], port)?;
//! association.send(Message::ordered(StreamId::new(7), "hello"))?;
//! let answer = association.recv()?.ok_or("no answer")?;
//! assert_eq!(answer.message.payload, "hello");
//! association.shutdown()?;
//! # assert!(matches!(serving.join(), Ok(Ok(()))));
//! # Ok(())
//! # }
//! ```

mod seat;

use std::net::SocketAddr;
use std::sync::Arc;

use sctp_core::{AssociationConfig, Destination, EndpointConfig, Event, Message, Received, SctpPort};
use sctp_io::{PacketIo, UdpEncapsulation};

use self::seat::ThreadDriver;
use crate::endpoint::EndpointBuilder;
use crate::error::{BindError, CommunicationLost, ConnectError, SendError};

/// An endpoint whose calls block; see [`sctp::Endpoint`](crate::Endpoint) for what they do.
#[derive(Clone, Debug)]
pub struct Endpoint {
    inner: crate::Endpoint,
    driver: Arc<ThreadDriver>,
}

impl Endpoint {
    /// Binds an endpoint to a UDP socket at `address`; port 0 lets the system choose.
    ///
    /// # Errors
    ///
    /// If the configuration cannot work or the address cannot be bound.
    pub fn bind(config: EndpointConfig, address: SocketAddr) -> Result<Self, BindError> {
        config.validate()?; // before a socket is bound in vain
        let io = UdpEncapsulation::bind(address).map_err(BindError::of_socket(address))?;
        crate::Endpoint::builder(config).bind_blocking(io)
    }

    /// Opens an association; returns when it is established.
    ///
    /// # Errors
    ///
    /// As [`sctp::Endpoint::connect`](crate::Endpoint::connect).
    pub fn connect(&self, destinations: &[Destination], port: SctpPort) -> Result<Association, ConnectError> {
        self.driver.wait(self.inner.connect(destinations, port)).map(|inner| self.association(inner))
    }

    /// Opens an association as [`connect`](Self::connect) does, with parameters of its own.
    ///
    /// # Errors
    ///
    /// As [`connect`](Self::connect).
    pub fn connect_with(
        &self,
        destinations: &[Destination],
        port: SctpPort,
        config: AssociationConfig,
    ) -> Result<Association, ConnectError> {
        let connecting = self.inner.connect_with(destinations, port, config);
        self.driver.wait(connecting).map(|inner| self.association(inner))
    }

    /// Returns the next association a peer opened; `None` once the endpoint is closed.
    #[must_use]
    pub fn accept(&self) -> Option<Association> {
        self.driver.wait(self.inner.accept()).map(|inner| self.association(inner))
    }

    /// Shuts all associations down gracefully and accepts no more; returns at once.
    pub fn close(&self) {
        self.inner.close();
    }

    /// Waits until no association is alive.
    pub fn wait_idle(&self) {
        self.driver.wait(self.inner.wait_idle());
    }

    /// Returns the address the socket is bound to.
    #[must_use]
    pub fn local_address(&self) -> SocketAddr {
        self.inner.local_address()
    }

    /// Returns the endpoint behind this one, for what does not block: counters and keys.
    #[must_use]
    pub const fn handle(&self) -> &crate::Endpoint {
        &self.inner
    }

    fn association(&self, inner: crate::Association) -> Association {
        Association { inner, driver: Arc::clone(&self.driver) }
    }
}

/// An association whose calls block; see [`sctp::Association`](crate::Association) for what they do. Threads may send and
/// receive at the same time.
#[derive(Clone, Debug)]
pub struct Association {
    inner: crate::Association,
    driver: Arc<ThreadDriver>,
}

impl Association {
    /// Sends a message, waiting while the send buffer is full.
    ///
    /// # Errors
    ///
    /// See [`SendError`]; never `BufferFull`.
    pub fn send(&self, message: Message) -> Result<(), SendError> {
        match self.inner.try_send(message) {
            Err(SendError::BufferFull(message)) => self.driver.wait(self.inner.send(message)),
            outcome => outcome,
        }
    }

    /// Sends messages in their order, waiting as often as the send buffer is full.
    ///
    /// # Errors
    ///
    /// As [`sctp::Association::send_many`](crate::Association::send_many).
    pub fn send_many(&self, messages: impl IntoIterator<Item = Message>) -> Result<(), SendError> {
        self.driver.wait(self.inner.send_many(messages))
    }

    /// Returns the next message; `None` after the peer and this side agreed to end and everything was read.
    ///
    /// # Errors
    ///
    /// If the association ended otherwise.
    pub fn recv(&self) -> Result<Option<Received>, CommunicationLost> {
        self.driver.wait(self.inner.recv())
    }

    /// Appends the messages that are there, at most `limit`; waits for the first. 0 at the end.
    ///
    /// # Errors
    ///
    /// If the association ended otherwise.
    pub fn recv_many(&self, received: &mut Vec<Received>, limit: usize) -> Result<usize, CommunicationLost> {
        self.driver.wait(self.inner.recv_many(received, limit))
    }

    /// Returns the next event of the association other than a message; `None` after the last.
    #[must_use]
    pub fn next_event(&self) -> Option<Event> {
        self.driver.wait(self.inner.next_event())
    }

    /// Waits until no more than so many octets of payload are buffered.
    ///
    /// # Errors
    ///
    /// As [`sctp::Association::drained_to`](crate::Association::drained_to).
    pub fn drained_to(&self, octets: usize) -> Result<(), CommunicationLost> {
        self.driver.wait(self.inner.drained_to(octets))
    }

    /// Ends the association gracefully and waits for it.
    ///
    /// # Errors
    ///
    /// If the association ended otherwise, so that messages may not have arrived.
    pub fn shutdown(&self) -> Result<(), CommunicationLost> {
        self.driver.wait(self.inner.shutdown())
    }

    /// Waits for the end of the association, whoever brings it about.
    ///
    /// # Errors
    ///
    /// Why it ended, if not by agreement.
    pub fn closed(&self) -> Result<(), CommunicationLost> {
        self.driver.wait(self.inner.closed())
    }

    /// Returns the association behind this one, for what does not block: `try_send`, `try_recv`, `abort`,
    /// status, statistics, changes.
    #[must_use]
    pub const fn handle(&self) -> &crate::Association {
        &self.inner
    }
}

impl EndpointBuilder {
    /// Starts an endpoint with blocking calls over this socket: a UDP socket
    /// ([`UdpEncapsulation`](sctp_io::UdpEncapsulation)), a raw one ([`RawIp`](crate::RawIp)) or one of your own.
    ///
    /// # Errors
    ///
    /// As [`bind_io`](Self::bind_io), but no runtime is needed.
    pub fn bind_blocking(self, io: impl PacketIo + 'static) -> Result<Endpoint, BindError> {
        let assembled = self.assemble(io)?;
        let driver = ThreadDriver::start(&assembled.shared, assembled.timer, assembled.addresses);
        let driver = driver.map_err(BindError::System)?;
        Ok(Endpoint { inner: crate::Endpoint::of(assembled.shared, assembled.association), driver })
    }
}

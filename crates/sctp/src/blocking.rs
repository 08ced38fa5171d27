//! A blocking API of the endpoints, for programs without a runtime: calls that wait, from as many threads as
//! they like. On Linux only.
//!
//! Whoever waits does the work: a thread in [`recv`](Association::recv) waits on the socket itself, takes packets from it and
//! answers them, so that between a message on the wire and the caller there is no other thread. While nobody is in a
//! call, a thread of the endpoint's steps in after 10 ms; until then nothing is acknowledged.
//!
//! Calls wait as long as it takes. Those that programs most often give a time have a twin that does (`connect_timeout`,
//! `accept_timeout`, `recv_timeout`, `send_timeout`), any other has [`Endpoint::wait_timeout`]; those that begin with `try_`
//! do not wait at all, but take in what has come. A [`Stream`] reads and writes octets as a `TcpStream` does.
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
//! let client = Endpoint::client("127.0.0.1:0".parse()?)?;
//! let association = client.connect(address, port)?;
//! association.send(Message::ordered(StreamId::new(7), "hello"))?;
//! let answer = association.recv()?.ok_or("no answer")?;
//! assert_eq!(answer.message.payload, "hello");
//! association.shutdown()?;
//! # assert!(matches!(serving.join(), Ok(Ok(()))));
//! # Ok(())
//! # }
//! ```

mod association;
mod dialling;
mod incoming;
mod looks;
mod seat;
mod stream;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use sctp_core::{AssociationConfig, EndpointConfig};
use sctp_io::{PacketIo, UdpEncapsulation};

pub use self::association::Association;
pub use self::dialling::Connecting;
pub use self::incoming::Incoming;
use self::seat::ThreadDriver;
pub use self::stream::Stream;
use crate::endpoint::EndpointBuilder;
use crate::error::{BindError, TimedOut};

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

    /// Binds an endpoint that only opens associations, as [`sctp::Endpoint::client`](crate::Endpoint::client) does.
    ///
    /// # Errors
    ///
    /// If the address cannot be bound.
    pub fn client(address: SocketAddr) -> Result<Self, BindError> {
        let io = UdpEncapsulation::bind(address).map_err(BindError::of_socket(address))?;
        crate::Endpoint::builder_of_client(AssociationConfig::default()).bind_blocking(io)
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

    /// Returns the endpoint behind this one, for what does not block: counters, keys, parameters.
    #[must_use]
    pub const fn handle(&self) -> &crate::Endpoint {
        &self.inner
    }

    /// Returns the next association a peer opens within `limit`; `None` once the endpoint is closed.
    ///
    /// # Errors
    ///
    /// If none came in that time.
    pub fn accept_timeout(&self, limit: Duration) -> Result<Option<Association>, TimedOut> {
        let accepted = self.driver.wait_timeout(limit, self.inner.accept())?;
        Ok(accepted.map(|inner| self.association(inner)))
    }

    /// Returns the next association a peer opened if there is one already.
    #[must_use]
    pub fn try_accept(&self) -> Option<Association> {
        self.driver.look();
        self.inner.try_accept().map(|inner| self.association(inner))
    }

    /// Waits for any future of the handle behind this one ([`handle`](Self::handle)) or of its associations, at most for
    /// `limit`. Then it is dropped, which its documentation says what follows from.
    ///
    /// # Errors
    ///
    /// If it took longer.
    pub fn wait_timeout<T>(&self, limit: Duration, future: impl Future<Output = T>) -> Result<T, TimedOut> {
        self.driver.wait_timeout(limit, future)
    }

    fn association(&self, inner: crate::Association) -> Association {
        Association::new(inner, Arc::clone(&self.driver))
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
        let driver = ThreadDriver::start(&assembled.shared, assembled.descriptors);
        let driver = driver.map_err(BindError::System)?;
        Ok(Endpoint { inner: crate::Endpoint::of(assembled.shared), driver })
    }
}

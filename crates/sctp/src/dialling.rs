//! Opening associations: what waits until one is up, and what can be sent before.

use std::sync::Arc;
#[cfg(feature = "tokio")]
use std::time::Duration;

use sctp_core::{AssociationConfig, SctpPort};

use crate::association::Association;
use crate::destinations::Destinations;
use crate::endpoint::Endpoint;
use crate::error::ConnectError;
#[cfg(feature = "tokio")]
use crate::error::TimedOut;
use crate::slot::{Holder, Phase, Slot};
use crate::state::Openness;

impl Endpoint {
    /// Opens an association with the endpoint at SCTP port `port` of a peer, whose addresses are `to`, with the parameters
    /// this endpoint also uses for incoming ones.
    ///
    /// Returns when the association is established. Dropped before, the attempt is aborted, and nothing is left of it.
    ///
    /// ```
    /// # use sctp::{Endpoint, EndpointConfig, SctpPort};
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let port = SctpPort::try_from(3863)?;
    /// # let server = Endpoint::bind(EndpointConfig::new(port), "127.0.0.1:0".parse()?).await?;
    /// # let address = server.local_address();
    /// let client = Endpoint::client("127.0.0.1:0".parse()?).await?;
    /// let association = client.connect(address, port).await?;
    /// # association.shutdown().await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// See [`ConnectError`]. A peer that does not answer is given up after Max.Init.Retransmits attempts (RFC 9260
    /// §16): over four minutes with the default of eight. Use [`connect_timeout`](Self::connect_timeout), or lower
    /// `attempts.init` with [`connect_with`](Self::connect_with), to know earlier.
    pub async fn connect(
        &self,
        to: impl Into<Destinations>,
        port: SctpPort,
    ) -> Result<Association, ConnectError> {
        self.connect_early(to, port)?.established().await
    }

    /// Opens an association as [`connect`](Self::connect) does, with parameters of its own.
    ///
    /// # Errors
    ///
    /// As [`connect`](Self::connect).
    pub async fn connect_with(
        &self,
        to: impl Into<Destinations>,
        port: SctpPort,
        config: AssociationConfig,
    ) -> Result<Association, ConnectError> {
        self.connect_early_with(to, port, config)?.established().await
    }

    /// Opens an association as [`connect`](Self::connect) does, if it is established within `limit`. The runtime has to
    /// have its timers enabled, as for `tokio::time`.
    ///
    /// # Errors
    ///
    /// As [`connect`](Self::connect); [`ConnectError::TimedOut`] if it took longer, and then the attempt is aborted.
    #[cfg(feature = "tokio")]
    pub async fn connect_timeout(
        &self,
        to: impl Into<Destinations>,
        port: SctpPort,
        limit: Duration,
    ) -> Result<Association, ConnectError> {
        let connecting = self.connect_early(to, port)?;
        let established = tokio::time::timeout(limit, connecting.established()).await;
        established.map_err(|_elapsed| ConnectError::TimedOut(TimedOut(limit)))?
    }

    /// Begins to open an association and returns at once: what is sent before it is established travels with the COOKIE
    /// ECHO, as far as one packet carries it, and reaches the peer a round trip earlier than after
    /// [`connect`](Self::connect). See [`Connecting`].
    ///
    /// # Errors
    ///
    /// If the request itself cannot be met.
    pub fn connect_early(
        &self,
        to: impl Into<Destinations>,
        port: SctpPort,
    ) -> Result<Connecting, ConnectError> {
        self.connect_early_with(to, port, self.association_config())
    }

    /// Begins to open an association as [`connect_early`](Self::connect_early) does, with parameters of its own.
    ///
    /// # Errors
    ///
    /// As [`connect_early`](Self::connect_early).
    pub fn connect_early_with(
        &self,
        to: impl Into<Destinations>,
        port: SctpPort,
        config: AssociationConfig,
    ) -> Result<Connecting, ConnectError> {
        let (shared, to) = (self.shared(), to.into());
        for destination in to.as_slice() {
            shared
                .check(*destination)
                .map_err(|source| ConnectError::Destination { destination: *destination, source })?;
        }
        let association = shared.change(|state, now| {
            if state.openness != Openness::Open {
                return Err(ConnectError::EndpointClosed);
            }
            let buffers = config.buffers;
            let id = state.core.connect(now, to.as_slice(), port, config)?;
            let slot = Slot::new(Phase::Connecting, Holder::Application, &buffers);
            let association = Association::new(Arc::clone(shared), id, Arc::clone(&slot.signals));
            state.insert(id, slot);
            Ok(association)
        })?;
        Ok(Connecting { association })
    }
}

/// An association that is being opened, and can be sent on already.
///
/// What is sent now waits for the peer's INIT ACK and leaves with the COOKIE ECHO: as much as one packet carries, the rest
/// after COOKIE ACK. Messages are delivered once, in order, as always, and cannot be played back, for the cookie makes one
/// association and no other. But until it is [established](Self::established) nobody has said that anything arrived:
///
/// * a peer that refuses the association, or does not answer, has seen nothing, and `established` says why;
/// * a peer that has acted on a message may still seem not to answer, where COOKIE ACK is lost until the attempt is given up;
/// * how many streams the peer allows is not known: messages on streams beyond come back as
///   [`Event::SendFailed`](crate::Event::SendFailed).
///
/// So send early what is asked again without harm, or what a lost association loses anyway.
///
/// ```
/// use sctp::{Endpoint, EndpointConfig, Message, SctpPort, StreamId};
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let port = SctpPort::try_from(3863)?;
/// # let server = Endpoint::bind(EndpointConfig::new(port), "127.0.0.1:0".parse()?).await?;
/// # let address = server.local_address();
/// # tokio::spawn(async move {
/// #     let association = server.accept().await.ok_or("closed")?;
/// #     let request = association.recv().await.map_err(|_| "lost")?.ok_or("over")?;
/// #     association.send(request.message).await.map_err(|_| "lost")?;
/// #     association.closed().await.map_err(|_| "lost")
/// # });
/// let client = Endpoint::client("127.0.0.1:0".parse()?).await?;
/// let connecting = client.connect_early(address, port)?;
/// connecting.association().send(Message::ordered(StreamId::new(0), "request")).await?;
/// let association = connecting.established().await?;
/// let answer = association.recv().await?.ok_or("no answer")?;
/// # assert_eq!(answer.message.payload, "request");
/// # Ok(())
/// # }
/// ```
///
/// Dropped before it is established, with all handles of the association, the attempt is aborted.
#[derive(Debug)]
#[must_use = "dropped, the attempt is aborted"]
pub struct Connecting {
    association: Association,
}

impl Connecting {
    /// Returns the association as it will be: messages can be sent, streams taken, and `recv` waits for what the peer sends.
    #[must_use]
    pub const fn association(&self) -> &Association {
        &self.association
    }

    /// Waits until the association is established. Dropped before, the attempt is aborted, unless somebody has another handle
    /// of the association.
    ///
    /// # Errors
    ///
    /// As [`Endpoint::connect`].
    pub async fn established(self) -> Result<Association, ConnectError> {
        self.association.established().await?;
        Ok(self.association)
    }
}

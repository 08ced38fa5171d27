//! Peers that ask for an association, before anybody has decided about them.

use std::sync::Arc;

use sctp_core::{AcceptError, AssociationConfig, IncomingPolicy, Newcomer, RefusalCause};
use virtual_time::Instant;

use crate::association::Association;
use crate::endpoint::Endpoint;
use crate::error::IncomingError;
use crate::shared::{Shared, until};
use crate::slot::{Holder, Phase, Slot};
use crate::state::{Openness, State};

/// A peer that asks for an association and waits for a decision.
///
/// Its handshake is done but for the last packet: it has shown that it receives at its address, and waits for
/// COOKIE ACK. [`newcomer`](Self::newcomer) says who it is and what its INIT said. Dropped without a decision, it is refused.
///
/// A peer waits for [`AskLimits::patience`](crate::AskLimits) and is forgotten then, as if its COOKIE ECHO had been lost; if it
/// comes again, [`Endpoint::incoming`] gives a new one.
///
/// ```
/// use sctp::{Endpoint, SctpPort};
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let port = SctpPort::try_from(3863)?;
/// let server = Endpoint::server(port, "127.0.0.1:0".parse()?).await?;
/// let address = server.local_address();
/// tokio::spawn(async move {
///     while let Ok(incoming) = server.incoming().await {
///         if incoming.newcomer().source.address.is_loopback() {
///             let _association = incoming.accept()?;
///         } else {
///             incoming.refuse("for this host alone");
///         }
///     }
///     Ok::<_, sctp::AcceptError>(())
/// });
/// # let client = Endpoint::client("127.0.0.1:0".parse()?).await?;
/// # client.connect(address, port).await?;
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Incoming {
    shared: Arc<Shared>,
    newcomer: Newcomer,
    decision: Decision,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Decision {
    Open,
    Made,
}

impl Incoming {
    fn new(shared: &Arc<Shared>, newcomer: Newcomer) -> Self {
        Self { shared: Arc::clone(shared), newcomer, decision: Decision::Open }
    }

    /// Returns who asks: its address, its ports, and what its INIT said.
    #[must_use]
    pub const fn newcomer(&self) -> &Newcomer {
        &self.newcomer
    }

    /// Opens the association with the parameters of all that peers open ([`Endpoint::association_config`]). It is established:
    /// messages that came with the COOKIE ECHO can be read.
    ///
    /// # Errors
    ///
    /// See [`AcceptError`].
    pub fn accept(self) -> Result<Association, AcceptError> {
        self.admit(None)
    }

    /// Opens the association with parameters of its own. Streams, extensions and addresses are agreed on already, by what
    /// [`Endpoint::association_config`] was when INIT came; a smaller receive buffer than there drops what the peer was
    /// allowed to send.
    ///
    /// # Errors
    ///
    /// See [`AcceptError`]; the peer is refused then, also for a configuration that cannot work.
    pub fn accept_with(self, config: AssociationConfig) -> Result<Association, AcceptError> {
        self.admit(Some(config))
    }

    fn admit(mut self, config: Option<AssociationConfig>) -> Result<Association, AcceptError> {
        let association =
            self.shared.change(|state, now| state.admit(now, &self.shared, &self.newcomer, config))?;
        self.decision = Decision::Made;
        Ok(association)
    }

    /// Turns the peer away at once: ABORT with this cause. A text is a reason for its user (RFC 9260 §3.3.10.12).
    pub fn refuse<'a>(mut self, cause: impl Into<RefusalCause<'a>>) {
        self.decision = Decision::Made;
        let (cause, id) = (cause.into(), self.newcomer.id);
        // An error only says that the peer waits no more.
        let _ = self.shared.change(|state, now| state.core.refuse_newcomer(now, id, cause));
    }

    /// Answers nothing, now or when the peer repeats its COOKIE ECHO: to it this endpoint is as if it had gone, which takes it
    /// minutes to find out. A later attempt of it is told of again.
    pub fn ignore(mut self) {
        self.decision = Decision::Made;
        // An error only says that the peer waits no more.
        let _ = self.shared.change(|state, now| state.core.ignore_newcomer(now, self.newcomer.id));
    }
}

impl Drop for Incoming {
    fn drop(&mut self) {
        if self.decision == Decision::Open {
            let _ = self.shared.change(|state, now| {
                state.core.refuse_newcomer(now, self.newcomer.id, RefusalCause::Unexplained)
            });
        }
    }
}

impl Endpoint {
    /// Returns the next peer that asks for an association, to be accepted, refused or ignored. The endpoint has to be one
    /// that asks: a [`server`](Self::server), or bound with [`EndpointConfig::incoming`](crate::EndpointConfig::incoming) as
    /// [`IncomingPolicy::ASK`]; [`accept`](Self::accept) accepts whoever comes there, too.
    ///
    /// Cancellation-safe: a peer is handed out or stays in line.
    ///
    /// # Errors
    ///
    /// See [`IncomingError`].
    pub async fn incoming(&self) -> Result<Incoming, IncomingError> {
        let shared = self.shared();
        until(&shared.signals.backlog, || {
            let mut state = shared.lock();
            if state.openness != Openness::Open {
                return Some(Err(IncomingError::EndpointClosed));
            }
            match (state.core.poll_newcomer(), state.core.incoming()) {
                (Some(newcomer), _) => Some(Ok(Incoming::new(shared, newcomer))),
                (None, IncomingPolicy::Ask(_)) => None,
                (None, _) => Some(Err(IncomingError::NotAsked)),
            }
        })
        .await
    }

    /// Returns the next peer that asks for an association if there is one already.
    #[must_use]
    pub fn try_incoming(&self) -> Option<Incoming> {
        let shared = self.shared();
        let newcomer = shared.lock().core.poll_newcomer()?;
        Some(Incoming::new(shared, newcomer))
    }

    /// Accepts the next peer that still waits, where the endpoint asks.
    pub(crate) fn admit_next(&self) -> Option<Association> {
        let shared = self.shared();
        if !shared.lock().core.has_newcomer() {
            return None;
        }
        shared.change(|state, now| {
            while let Some(newcomer) = state.core.poll_newcomer() {
                if let Ok(association) = state.admit(now, shared, &newcomer, None) {
                    return Some(association);
                }
            }
            None
        })
    }
}

impl State {
    /// Opens the association that a peer asks for.
    fn admit(
        &mut self,
        now: Instant,
        shared: &Arc<Shared>,
        newcomer: &Newcomer,
        config: Option<AssociationConfig>,
    ) -> Result<Association, AcceptError> {
        let buffers = config.as_ref().unwrap_or_else(|| self.core.accepted()).buffers;
        let id = self.core.accept_newcomer(now, newcomer.id, config)?;
        let slot = Slot::new(Phase::Established, Holder::Application, &buffers);
        let association = Association::new(Arc::clone(shared), id, Arc::clone(&slot.signals));
        self.insert(id, slot);
        Ok(association)
    }
}

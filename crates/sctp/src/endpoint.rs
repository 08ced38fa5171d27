//! The endpoint: one socket, one SCTP port, many associations. Several of them at one port are in `shards`.

#[cfg(feature = "tokio")]
mod bind;
#[cfg(feature = "tokio")]
mod shards;

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::num::NonZeroU16;
#[cfg(target_os = "linux")]
use std::os::fd::{AsFd, OwnedFd};
#[cfg(feature = "pcap")]
use std::path::{Path, PathBuf};
use std::sync::Arc;

use sctp_core::{
    AssociationConfig, AssociationId, AssociationStatistics, AuthKeyError, ConfigError, EndpointConfig,
    EndpointStatistics, IncomingPolicy, KeyOwner, SctpPort, SharedKeyId, UnknownAssociation,
};
#[cfg(target_os = "linux")]
use sctp_io::AddressWatch;
use sctp_io::{IoStatistics, PacketIo, Timer};
use virtual_time::Instant;

#[cfg(feature = "tokio")]
pub use self::shards::Shard;
use crate::association::Association;
#[cfg(feature = "pcap")]
use crate::capture::Capture;
use crate::error::BindError;
use crate::shared::{Shared, until};
use crate::slot::Holder;
use crate::state::{Openness, State};
use crate::surroundings::{Clock, os_entropy};

/// An SCTP endpoint: opens associations and accepts those that peers open.
///
/// Cheap to clone; all clones are the same endpoint. A task on the runtime it was bound in drives it. When the
/// last handle is dropped, no new associations are accepted, existing ones go on until they end by themselves,
/// and then the task ends.
#[derive(Clone, Debug)]
pub struct Endpoint {
    inner: Arc<EndpointInner>,
}

#[derive(Debug)]
struct EndpointInner {
    shared: Arc<Shared>,
}

impl Endpoint {
    /// Creates the handle of an endpoint that somebody drives.
    pub(crate) fn of(shared: Arc<Shared>) -> Self {
        Self { inner: Arc::new(EndpointInner { shared }) }
    }

    /// Returns a builder for an endpoint with options beyond the protocol's.
    #[must_use]
    pub const fn builder(config: EndpointConfig) -> EndpointBuilder {
        EndpointBuilder {
            config,
            #[cfg(feature = "pcap")]
            capture: None,
            port_choice: PortChoice::Given,
        }
    }

    /// Returns a builder for an endpoint that only opens associations, with these parameters: it refuses peers that call, and
    /// its SCTP port is one of the [dynamic](EndpointBuilder::dynamic_port) ones.
    #[must_use]
    pub fn builder_of_client(association: AssociationConfig) -> EndpointBuilder {
        let mut config = EndpointConfig::with_association(SctpPort::from(FIRST_DYNAMIC_PORT), association);
        config.incoming = IncomingPolicy::Refuse;
        Self::builder(config).dynamic_port()
    }

    /// Returns the parameters of associations that peers open, and of those that [`connect`](Self::connect) does.
    #[must_use]
    pub fn association_config(&self) -> AssociationConfig {
        self.inner.shared.lock().core.accepted().clone()
    }

    /// Gives these parameters to associations that begin from now on; those that run keep theirs, which
    /// [`Association::set`] changes.
    ///
    /// # Errors
    ///
    /// The configuration cannot work; then nothing is changed.
    pub fn set_association_config(&self, config: AssociationConfig) -> Result<(), ConfigError> {
        self.inner.shared.change(|state, _now| state.core.set_accepted(config))
    }

    /// Returns the next association a peer opened; `None` once the endpoint is closed. To decide about peers before, see
    /// [`incoming`](Self::incoming).
    ///
    /// Cancellation-safe: an association is handed out or stays in line.
    pub async fn accept(&self) -> Option<Association> {
        let shared = &self.inner.shared;
        until(&shared.signals.backlog, || match self.try_accept() {
            None if shared.lock().openness == Openness::Open => None,
            accepted => Some(accepted),
        })
        .await
    }

    /// Returns the next association a peer opened if there is one already.
    #[must_use]
    pub fn try_accept(&self) -> Option<Association> {
        let waiting = self.take_waiting(&mut self.inner.shared.lock());
        waiting.or_else(|| self.admit_next())
    }

    pub(crate) fn shared(&self) -> &Arc<Shared> {
        &self.inner.shared
    }

    fn take_waiting(&self, state: &mut State) -> Option<Association> {
        let id = state.backlog.pop_front()?;
        let slot = state.slots.get_mut(&id)?;
        slot.holder = Holder::Application;
        Some(Association::new(Arc::clone(&self.inner.shared), id, Arc::clone(&slot.signals)))
    }

    /// Shuts all associations down gracefully and accepts no more; returns at once.
    ///
    /// Use [`wait_idle`](Self::wait_idle) to wait until everything sent has been delivered.
    pub fn close(&self) {
        let shared = &self.inner.shared;
        shared.change(|state, now| state.close(now, &shared.signals));
    }

    /// Waits until no association is alive.
    pub async fn wait_idle(&self) {
        let shared = &self.inner.shared;
        until(&shared.signals.idle, || shared.lock().is_idle().then_some(())).await;
    }

    /// Adds a key to sign and verify with, or replaces the one with this identifier (RFC 4895 §6.1). [`AuthKeys`](sctp_core::AuthKeys) says how
    /// to change keys while data flows; the peer's use of a new one is told by
    /// [`Event::NewPeerKey`](sctp_core::Event::NewPeerKey).
    ///
    /// # Errors
    ///
    /// There is no such association.
    pub fn set_auth_key(
        &self,
        owner: KeyOwner,
        key: SharedKeyId,
        secret: impl Into<Vec<u8>>,
    ) -> Result<(), UnknownAssociation> {
        let secret = secret.into();
        self.inner.shared.change(|state, _now| state.core.set_auth_key(owner, key, secret))
    }

    /// Signs packets with this key from now on.
    ///
    /// # Errors
    ///
    /// There is no such key or association.
    pub fn activate_auth_key(&self, owner: KeyOwner, key: SharedKeyId) -> Result<(), AuthKeyError> {
        self.inner.shared.change(|state, _now| state.core.activate_auth_key(owner, key))
    }

    /// Forgets a key: what is signed with it is discarded from now on.
    ///
    /// # Errors
    ///
    /// There is no such key or association, or the key is active.
    pub fn delete_auth_key(&self, owner: KeyOwner, key: SharedKeyId) -> Result<(), AuthKeyError> {
        self.inner.shared.change(|state, _now| state.core.delete_auth_key(owner, key))
    }

    /// Returns the associations that are alive, also those whose last handle is gone and that are still ending.
    #[must_use]
    pub fn associations(&self) -> Vec<AssociationId> {
        let state = self.inner.shared.lock();
        let alive = state.slots.iter().filter(|(_, slot)| slot.ending().is_none());
        alive.map(|(association, _)| *association).collect()
    }

    /// Returns the counters of one association of this endpoint.
    ///
    /// # Errors
    ///
    /// There is no such association.
    pub fn association_statistics(
        &self,
        association: AssociationId,
    ) -> Result<AssociationStatistics, UnknownAssociation> {
        let state = self.inner.shared.lock();
        let found = state.core.association(association).ok_or(UnknownAssociation)?;
        Ok(found.statistics())
    }

    /// Ends an association at once, as [`Association::abort`] does, whoever has handles of it: for those that end too slowly
    /// after the last one was dropped.
    ///
    /// # Errors
    ///
    /// There is no such association.
    pub fn abort(&self, association: AssociationId, reason: &[u8]) -> Result<(), UnknownAssociation> {
        self.inner.shared.change(|state, now| state.core.abort(now, association, reason))
    }

    /// Tells the endpoint that this host has lost an address: what was sent from there goes again at once, from another address
    /// or on another path.
    ///
    /// Of addresses that were listed when it was bound, if there are several, an endpoint takes notice itself. This is for those that
    /// were [added](Association::add_local_address) since, and for who knows better than the kernel that an address leads nowhere;
    /// see [`sctp_core::Endpoint::local_address_down`].
    pub fn local_address_down(&self, address: IpAddr) {
        self.inner.shared.change(|state, now| state.core.local_address_down(now, address));
    }

    /// Tells the endpoint that this host has an address, again or new: paths that do not work are tried from there, where the
    /// peer knows it; see [`sctp_core::Endpoint::local_address_up`].
    pub fn local_address_up(&self, address: IpAddr) {
        self.inner.shared.change(|state, now| state.core.local_address_up(now, address));
    }

    /// Returns the time on the clock of this endpoint, which is that of [`Received::complete_at`](crate::Received) and of
    /// captures: since 1970, never set back.
    #[must_use]
    pub fn now(&self) -> Instant {
        self.inner.shared.now()
    }

    /// Returns the SCTP port of the endpoint.
    #[must_use]
    pub fn port(&self) -> SctpPort {
        self.inner.shared.lock().core.port()
    }

    /// Returns the address the socket is bound to, with the UDP port, or with the SCTP port if there is no UDP.
    #[must_use]
    pub fn local_address(&self) -> SocketAddr {
        self.inner.shared.io.local_address()
    }

    /// Returns the counters of the protocol: packets discarded, and why.
    #[must_use]
    pub fn statistics(&self) -> EndpointStatistics {
        *self.inner.shared.lock().core.statistics()
    }

    /// Returns why the capture that [`EndpointBuilder::capture`] asked for is not complete; `None` while it is,
    /// or without one.
    #[cfg(feature = "pcap")]
    #[must_use]
    pub fn capture_failure(&self) -> Option<String> {
        self.inner.shared.lock().capture.as_ref().and_then(Capture::failure)
    }

    /// Returns the counters of the socket: packets, system calls, errors.
    #[must_use]
    pub fn io_statistics(&self) -> IoStatistics {
        self.inner.shared.io.statistics()
    }
}

impl Drop for EndpointInner {
    fn drop(&mut self) {
        let shared = &self.shared;
        shared.change(State::refuse_newcomers);
        shared.signals.driver.notify();
    }
}

/// An [`Endpoint`] about to be bound.
#[derive(Clone, Debug)]
pub struct EndpointBuilder {
    config: EndpointConfig,
    #[cfg(feature = "pcap")]
    capture: Option<PathBuf>,
    port_choice: PortChoice,
}

/// Who chooses the SCTP port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PortChoice {
    Given,
    Dynamic,
}

impl EndpointBuilder {
    /// Writes every packet sent and received to `path`, for Wireshark and tshark (pcapng).
    ///
    /// Packets are written as they are handed to and taken from the socket, with IP headers, and UDP headers if there
    /// is UDP, made up for them. Default: no capture. For diagnosis only: it costs a system call for each turn of the driver.
    #[cfg(feature = "pcap")]
    #[must_use]
    pub fn capture(mut self, path: impl AsRef<Path>) -> Self {
        self.capture = Some(path.as_ref().to_owned());
        self
    }

    /// Chooses an SCTP port at random from those that belong to nobody, 49152 to 65535 (RFC 6335 §6), in place of the
    /// configuration's: for endpoints that open associations and are not called. Directly over IP, where a host has each port
    /// once, it is one that no other endpoint has; in UDP the socket's own UDP port tells it from all others.
    #[must_use]
    pub const fn dynamic_port(mut self) -> Self {
        self.port_choice = PortChoice::Dynamic;
        self
    }

    fn choose_port(&mut self) -> io::Result<()> {
        if self.port_choice == PortChoice::Dynamic {
            let [first, second, ..] = os_entropy()?;
            self.config.port = (FIRST_DYNAMIC_PORT | u16::from_be_bytes([first, second])).into();
        }
        Ok(())
    }

    /// Puts everything together but somebody to drive it.
    pub(crate) fn assemble(mut self, io: impl PacketIo + 'static) -> Result<Assembled, BindError> {
        self.choose_port().map_err(BindError::System)?;
        let listed = self.config.local_addresses.clone();
        let core = sctp_core::Endpoint::new(self.config, os_entropy().map_err(BindError::System)?)?;
        #[cfg(feature = "pcap")]
        let capture = self
            .capture
            .map(|path| Capture::create(&path).map_err(|source| BindError::Capture { path, source }))
            .transpose()?;
        #[cfg(not(feature = "pcap"))]
        let capture = None;
        let clock = sctp_io::Clock::start();
        #[cfg(target_os = "linux")]
        let timer = Timer::new(clock).map_err(BindError::System)?;
        #[cfg(not(target_os = "linux"))]
        let timer = Timer::new(clock);
        let descriptors = Descriptors::new(&timer, &listed).map_err(BindError::System)?;
        let state = State::new(core, listed, timer, capture);
        let shared = Arc::new(Shared::new(Box::new(io), Clock::start(), state));
        Ok(Assembled { shared, descriptors })
    }
}

/// An endpoint that nobody drives yet.
pub(crate) struct Assembled {
    pub(crate) shared: Arc<Shared>,
    pub(crate) descriptors: Descriptors,
}

/// The descriptors that a driver waits for beside the socket.
#[cfg(target_os = "linux")]
pub(crate) struct Descriptors {
    pub(crate) timer: OwnedFd,
    /// The addresses of this host, where several are listed: they may come and go.
    pub(crate) addresses: Option<AddressWatch>,
}

#[cfg(target_os = "linux")]
impl Descriptors {
    fn new(timer: &Timer, listed: &[IpAddr]) -> io::Result<Self> {
        let addresses = (listed.len() > 1).then(AddressWatch::open).transpose()?;
        Ok(Self { timer: timer.as_fd().try_clone_to_owned()?, addresses })
    }
}

/// The descriptors that a driver waits for beside the socket: none, for it has timers of its own.
#[cfg(not(target_os = "linux"))]
pub(crate) struct Descriptors {}

#[cfg(not(target_os = "linux"))]
impl Descriptors {
    fn new(_timer: &Timer, _listed: &[IpAddr]) -> io::Result<Self> {
        Ok(Self {})
    }
}

/// The first of the ports that belong to nobody; all its bits are in the others' numbers, too (RFC 6335 §6).
const FIRST_DYNAMIC_PORT: NonZeroU16 = NonZeroU16::MIN.saturating_add(0xBFFF);

//! SCTP (RFC 9260) in user space, for tokio.
//!
//! SCTP carries *messages*, whole as they were sent, on independent *streams*: a lost packet holds up the stream it
//! belongs to and no other. An [`Endpoint`] owns a socket; an [`Association`] is what TCP calls a connection.
//!
//! ```text
//!  your tasks     Association::send ──┐         ┌─► Association::recv, Stream::recv
//!                                     ▼         │
//!  one lock                     sctp_core::Endpoint (the protocol, no IO)
//!                                     │         ▲
//!  the caller's thread, or            ▼         │
//!  the endpoint's task          sctp_io::UdpEncapsulation or RawIp ⇄ kernel
//! ```
//!
//! What is here: handles for tasks to share, waiting and waking, back-pressure, the task that feeds packets and
//! timeouts to the core. What is not: the protocol, which is `sctp-core`, and system calls, which are `sctp-io`.
//! Packets travel in UDP (RFC 6951), which needs no privilege and crosses middleboxes, or directly over IP
//! ([`EndpointBuilder::bind_ip`]), which is what the SCTP of operating systems speaks.
//!
//! ```
//! use sctp::{Endpoint, Message, SctpPort, StreamId};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let port = SctpPort::try_from(3863)?;
//! let server = Endpoint::server(port, "127.0.0.1:0".parse()?).await?;
//! let address = server.local_address();
//! tokio::spawn(async move {
//!     while let Some(association) = server.accept().await {
//!         tokio::spawn(async move {
//!             while let Ok(Some(received)) = association.recv().await {
//!                 association.send(received.message).await?;
//!             }
//!             Ok::<_, sctp::SendError>(())
//!         });
//!     }
//! });
//!
//! let client = Endpoint::client("127.0.0.1:0".parse()?).await?;
//! let association = client.connect(address, port).await?;
//! association.send(Message::ordered(StreamId::new(7), "hello")).await?;
//! let answer = association.recv().await?.ok_or("no answer")?;
//! assert_eq!(answer.message.payload, "hello");
//! association.shutdown().await?;
//! # Ok(())
//! # }
//! ```
//!
//! Two complete programs are in `examples/`: `cargo run -p headway-sctp --example echo_server` and, beside it,
//! `cargo run -p headway-sctp --example client`.
//!
//! Programs without a runtime find the same with blocking calls in [`blocking`].
//!
//! All of this is for Linux. On macOS and Windows there are endpoints in UDP that a tokio runtime drives, with its timers enabled; SCTP
//! over IP is refused by [`RawIpError::NotOnThisSystem`].
//!
//! # Features
//!
//! | feature | what it brings | default |
//! |---|---|---|
//! | `tokio` | endpoints that a task of a tokio runtime drives; without it there is the [`blocking`] API alone | on |
//! | `pcap` | captures for Wireshark ([`EndpointBuilder::capture`]) | on |
//! | `tracing` | events and spans for subscribers ([`trace`]) | on |
//! | `serde` | configurations as data, both ways; statistics, status, events and messages one way | off |
//! | `metrics` | statistics in the recorder of the crate `metrics` (the module `metrics`) | off |
//!
//! # How associations end
//!
//! | what happens | `recv` then returns | `closed`, `shutdown` |
//! |---|---|---|
//! | either side calls `shutdown`, or drops its last handle | the messages left, then `Ok(None)` | `Ok(())` |
//! | either side calls `abort`, the peer vanishes or breaks the protocol | the messages left, then `Err` | `Err` with the reason |
//! | the runtime of the endpoint is shut down | the messages left, then `Err(DriverStopped)` | `Err(DriverStopped)` |
//!
//! # Cancellation
//!
//! Every future here may be dropped at any await point, in `select!` for instance. `send` has then queued the whole
//! message or nothing of it, `recv` and `accept` have taken nothing. A dropped `connect` aborts the attempt; a
//! dropped `shutdown` leaves the shutdown running.
#![forbid(unsafe_code)]

mod association;
#[cfg(target_os = "linux")]
pub mod blocking;
#[cfg(feature = "pcap")]
mod capture;
#[cfg(not(feature = "pcap"))]
#[path = "capture/absent.rs"]
mod capture;
mod destinations;
mod dialling;
#[cfg(feature = "tokio")]
mod driver;
mod endpoint;
mod error;
mod incoming;
#[cfg(all(test, shuttle))]
mod interleavings;
#[cfg(feature = "metrics")]
pub mod metrics;
mod outbox;
mod shared;
mod slot;
mod state;
mod surroundings;
mod turn;

use std::net::{IpAddr, SocketAddr};

#[doc(inline)]
pub use bytes::Bytes;
pub use sctp_core::{
    AbandonedCount, AbandonedMessages, AcceptError, Acceptance, AddressChange, AddressChangeError,
    AddressOutcome, AfterTimeout, AnnouncedPrimary, AsconfStatistics, AskLimits, AssociationConfig,
    AssociationCounters, AssociationError, AssociationId, AssociationState, AssociationStatistics,
    AssociationStatus, Attempts, AuthConfig, AuthKeyError, AuthKeys, AuthenticationStatistics,
    AutomaticAddresses, BlockingHistogram, BlockingStatistics, Buffered, Buffers, Capabilities, Capability,
    ChunkSet, ChunkType, ConfigError, CongestionAlgorithm, CongestionConfig, CongestionCounters,
    ConnectError as RequestError, CopyCounters, CrowdLimits, Datagram, Delivery, Destination,
    DiscardedChunks, Discovery, Dscp, EarlyCopy, Ecn, Encapsulation, EndpointConfig, EndpointStatistics,
    Event, EventCounters, EventGroup, EventLimit, EventLimits, EventMask, Exposure, Extensions,
    Fragmentation, Fsn, GivenUp, HandshakeCounters, HeartbeatConfig, Heartbeats, HmacAlgorithm,
    HmacPreference, ImmediateSack, IncomingPolicy, InitRate, InitialWindow, KeyOwner, LeastWindow,
    LossDetection, Message, MessageBundling, MessageNumber, Mid, Nagle, Newcomer, NewcomerId, NoDscp, Offer,
    Origin, Pacing, ParseDestinationError, PathCounters, PathId, PathMtuConfig, PathSetting, PathSettings,
    PathState, PathStatistics, PathsConfig, PayloadProtocolId, Piece, Profile, ProtocolViolation, Received,
    ReceivedMessage, ReceiverStatistics, ReceiverViolation, ReconfigConfig, ReconfigError, ReconfigOutcome,
    ReconfigStatistics, RecoveryConfig, RedundancyConfig, RefusalCause, Reliability, RemoteError,
    ResetDirection, RtoConfig, SackConfig, SctpPort, SendFailure, SenderStatistics, SetPrimaryError, Setting,
    SettingError, SharedKeyId, Ssn, StandingQueue, StartUp, StreamBlocking, StreamDirection, StreamError,
    StreamId, StreamScheduler, StreamShare, StreamStatistics, Streams, TagShare, TransmissionConfig, Tsn,
    UnknownAssociation, UnknownProfile, WindowValidation, trace,
};
#[cfg(target_os = "linux")]
pub use sctp_io::DatagramChannel;
pub use sctp_io::{
    Descriptor, DualStackRawIp, IoStatistics, KernelSctp, NetworkError, NetworkErrorKind, Notice, Outgoing,
    PacketIo, PortFilter, RawIp, RawIpError, RawIpOptions, ReceiveBatch, UdpEncapsulation,
};

pub use virtual_time::Instant;

pub use self::association::{Association, Stream, StreamReader, StreamWriter};
pub use self::destinations::Destinations;
pub use self::dialling::Connecting;
#[cfg(feature = "tokio")]
pub use self::endpoint::Shard;
pub use self::endpoint::{Endpoint, EndpointBuilder};
pub use self::error::{
    BindError, CommunicationLost, ConnectError, IncomingError, SendError, StreamReadError, TakeStreamError,
    TimedOut, TimeoutError,
};
pub use self::incoming::Incoming;

/// Returns the destination behind a UDP socket address: SCTP in UDP (RFC 6951).
#[must_use]
pub const fn udp(address: SocketAddr) -> Destination {
    Destination { address: address.ip(), encapsulation: Encapsulation::Udp { port: address.port() } }
}

/// Returns the destination behind an IP address: SCTP directly over IP, protocol 132.
#[must_use]
pub const fn ip(address: IpAddr) -> Destination {
    Destination { address, encapsulation: Encapsulation::Ip }
}

/// The examples of the package's page.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

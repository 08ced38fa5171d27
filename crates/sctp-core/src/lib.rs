//! SCTP (RFC 9260) as a state machine: packets and time in, packets and events out. No socket, no clock, no
//! thread: the same code serves real networks, the simulator and the tests.
//!
//! ```text
//! datagram ─► Endpoint ─► Packet::decode ─► demux ─► Association::handle_packet(now)
//!                                                        │ dispatch
//!             ┌──────────── control ──────────────┬─────┴─── DATA ─────┬──── SACK ─────┐
//!             ▼                                   ▼                    ▼               │
//!  handshake  shutdown  heartbeat             receiver              sender ─► outcome ─► paths (rtt, cwnd)
//!             │                                   │ Arrival            │
//!             └───────────► control queue, timers, events ◄────────────┘
//! poll_event() ─► user      poll_transmit(now) ─► packetizer ─► octets      poll_timeout() ─► driver
//! ```
//!
//! An [`Endpoint`] has five verbs — [`handle_packet`](Endpoint::handle_packet),
//! [`handle_timeout`](Endpoint::handle_timeout), [`poll_transmit`](Endpoint::poll_transmit),
//! [`poll_event`](Endpoint::poll_event), [`poll_timeout`](Endpoint::poll_timeout) — and a driver is a loop of a page
//! around them. Beside what every SCTP counts, the receiver measures per message how long it was *blocked*: complete,
//! but waiting for an earlier one of its stream ([`Received::blocked`]).
//!
//! What it does not do: sockets (`sctp-io`), an async API (`sctp`).
//!
//! Two endpoints joined by nothing but two calls:
//!
//! ```
//! use sctp_core::{Datagram, Destination, Encapsulation, Endpoint, EndpointConfig, Event, Message};
//! use sctp_wire::{SctpPort, StreamId};
//! use virtual_time::Instant;
//!
//! let now = Instant::EPOCH;
//! let udp = Encapsulation::Udp { port: 9899 };
//! let at = |last| Destination { address: [10, 0, 0, last].into(), encapsulation: udp };
//! let port = SctpPort::try_from(7626)?;
//! let mut server = Endpoint::new(EndpointConfig::new(port), [1; 32])?;
//! let mut client = Endpoint::new(EndpointConfig::new(SctpPort::try_from(5001)?), [2; 32])?;
//! let id = client.connect(now, &[at(2)], port, Default::default())?;
//! client.send(now, id, Message::ordered(StreamId::new(0), "hello"))?;
//!
//! let mut heard = Vec::new();
//! for _ in 0..10 {
//!     let mut buffer = Vec::new();
//!     while client.poll_transmit(now, &mut buffer).is_some() {
//!         server.handle_packet(now, Datagram::new(at(1), &buffer));
//!         buffer.clear();
//!     }
//!     while server.poll_transmit(now, &mut buffer).is_some() {
//!         client.handle_packet(now, Datagram::new(at(2), &buffer));
//!         buffer.clear();
//!     }
//!     while let Some((id, event)) = server.poll_event() {
//!         if event == Event::MessageReady {
//!             heard.extend(server.receive(now, id));
//!         }
//!     }
//! }
//! assert_eq!(&heard[0].message.payload[..], b"hello");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Over a channel of the caller's
//!
//! Packets need not travel over IP: [`Destination::channel`] stands for anything that carries datagrams, DTLS as in
//! WebRTC (RFC 8261) or a queue between threads. The verbs are the same, the profile `webrtc` fits.
//!
//! ```
//! use std::sync::mpsc;
//!
//! use sctp_core::{AssociationConfig, Datagram, Destination, Ecn, Endpoint, EndpointConfig, Event, Message, Profile};
//! use sctp_wire::{SctpPort, StreamId};
//! use virtual_time::Instant;
//!
//! /// Sends what is due into one end of the channel and takes what has come out of it.
//! fn exchange(endpoint: &mut Endpoint, to: &mpsc::Sender<Vec<u8>>, from: &mpsc::Receiver<Vec<u8>>) {
//!     let now = Instant::EPOCH;
//!     for payload in from.try_iter() {
//!         let source = Destination::channel(0);
//!         endpoint.handle_packet(now, Datagram::new(source, &payload));
//!     }
//!     let mut packet = Vec::new();
//!     while endpoint.poll_transmit(now, &mut packet).is_some() {
//!         let _gone = to.send(std::mem::take(&mut packet));
//!     }
//! }
//!
//! let port = SctpPort::try_from(5000)?;
//! let mut config = EndpointConfig::new(port);
//! config.association = AssociationConfig::profile(Profile::WebRtc);
//! let mut browser = Endpoint::new(config.clone(), [1; 32])?;
//! let mut server = Endpoint::new(config, [2; 32])?;
//! let (to_server, at_server) = mpsc::channel();
//! let (to_browser, at_browser) = mpsc::channel();
//!
//! let webrtc = AssociationConfig::profile(Profile::WebRtc);
//! let id = browser.connect(Instant::EPOCH, &[Destination::channel(0)], port, webrtc)?;
//! browser.send(Instant::EPOCH, id, Message::ordered(StreamId::new(65_534), "hello"))?;
//! for _ in 0..4 {
//!     exchange(&mut browser, &to_server, &at_browser);
//!     exchange(&mut server, &to_browser, &at_server);
//! }
//! let heard = std::iter::from_fn(|| server.poll_event()).find(|(_, event)| *event == Event::MessageReady);
//! let received = heard.and_then(|(id, _)| server.receive(Instant::EPOCH, id));
//! assert_eq!(received.map(|received| received.message.payload).as_deref(), Some(&b"hello"[..]));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![forbid(unsafe_code)]

mod allocation;
mod association;
mod capabilities;
mod config;
mod endpoint;
mod error;
mod event;
mod message;
mod path;
mod receiver;
mod rng;
mod seldom;
mod sender;
mod stats;
mod steps;
mod stream_set;
pub mod trace;
mod transmit;

/// Ways in for fuzz targets; no part of the API, and there only when fuzzing.
#[cfg(fuzzing)]
#[doc(hidden)]
pub mod fuzzing {
    pub use crate::endpoint::fuzz_cookie as cookie;
}

pub use association::{Association, ResetDirection};
pub use capabilities::{Capabilities, Capability};
pub use config::{
    Acceptance, AfterTimeout, AnnouncedPrimary, AskLimits, AssociationConfig, Attempts, AuthConfig, AuthKeys,
    AutomaticAddresses, Buffers, CongestionAlgorithm, CongestionConfig, CrowdLimits, Discovery, EarlyCopy,
    EndpointConfig, EventGroup, EventLimit, EventLimits, EventMask, Exposure, Extensions, HeartbeatConfig,
    Heartbeats, HmacPreference, ImmediateSack, IncomingPolicy, InitRate, InitialWindow, LeastWindow,
    LossDetection, MessageBundling, Nagle, Offer, Pacing, PathMtuConfig, PathSetting, PathSettings,
    PathsConfig, Profile, ReconfigConfig, RecoveryConfig, RedundancyConfig, RtoConfig, SackConfig, Setting,
    StandingQueue, StartUp, StreamScheduler, StreamShare, Streams, TagShare, TransmissionConfig,
    UnknownProfile, WindowValidation,
};
pub use endpoint::{AssociationId, Endpoint, KeyOwner, Newcomer, NewcomerId, RefusalCause};
pub use error::{
    AcceptError, AddressChangeError, AssociationError, AuthKeyError, ConfigError, ConnectError,
    ProtocolViolation, ReceiverViolation, ReconfigError, RemoteError, SendError, SendFailure,
    SetPrimaryError, SettingError, StreamError, UnknownAssociation, UnknownNewcomer,
};
pub use event::{
    AddressChange, AddressOutcome, AssociationState, Event, EventCounters, EventQueue, Origin, PathState,
    ReconfigOutcome, StreamDirection,
};
pub use message::{Delivery, Message, MessageNumber, Piece, Received, ReceivedMessage, Reliability};
pub use sctp_wire::{
    ChunkSet, ChunkType, Fsn, HmacAlgorithm, Mid, PayloadProtocolId, SctpPort, SharedKeyId, Ssn, StreamId,
    Tsn,
};
pub use stats::{
    AbandonedCount, AbandonedMessages, AsconfStatistics, AssociationCounters, AssociationStatistics,
    AssociationStatus, AuthenticationStatistics, BlockingHistogram, BlockingStatistics, Buffered,
    CongestionCounters, CopyCounters, DiscardedChunks, EndpointStatistics, GivenUp, HandshakeCounters,
    PathCounters, PathStatistics, ReceiverStatistics, ReconfigStatistics, SenderStatistics, StreamBlocking,
    StreamStatistics,
};
pub use transmit::{
    Datagram, Destination, Dscp, Ecn, Encapsulation, Fragmentation, NoDscp, ParseDestinationError, PathId,
    Transmit,
};

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
//! use sctp_core::{Datagram, Destination, Ecn, Encapsulation, Endpoint, EndpointConfig, Event, Message};
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
//!         server.handle_packet(now, Datagram { source: at(1), local: None, ecn: Ecn::NotEct, payload: &buffer });
//!         buffer.clear();
//!     }
//!     while server.poll_transmit(now, &mut buffer).is_some() {
//!         client.handle_packet(now, Datagram { source: at(2), local: None, ecn: Ecn::NotEct, payload: &buffer });
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
#![forbid(unsafe_code)]

mod association;
mod config;
mod endpoint;
mod error;
mod event;
mod message;
mod path;
mod receiver;
mod rng;
mod sender;
mod stats;
mod transmit;

/// Ways in for fuzz targets; no part of the API, and there only when fuzzing.
#[cfg(fuzzing)]
#[doc(hidden)]
pub mod fuzzing {
    pub use crate::endpoint::fuzz_cookie as cookie;
}

pub use association::{Association, AssociationState, AuthenticationStatistics, Capabilities, Capability};
pub use config::{
    AssociationConfig, Attempts, AuthConfig, AuthKeys, Buffers, EndpointConfig, Extensions, FailureConfig,
    HeartbeatConfig, HmacPreference, ImmediateSack, Incoming, InitRate, LossDetection, Nagle, Offer, Profile,
    RecoveryConfig, RtoConfig, SackConfig, StreamScheduler, StreamShare, Streams, UnknownProfile,
};
pub use endpoint::{AssociationId, Endpoint, KeyOwner};
pub use error::{
    AssociationError, AuthKeyError, ConfigError, ConnectError, ProtocolViolation, RemoteError, SendError,
    SendFailure, SetPrimaryError, StreamError, UnknownAssociation,
};
pub use event::{Event, Origin, PathState};
pub use message::{Delivery, Message, Received, Reliability};
pub use path::PathCounters;
pub use receiver::{
    BlockingHistogram, BlockingStatistics, GivenUp, ReceiverStatistics, ReceiverViolation, StreamBlocking,
};
pub use sctp_wire::{
    ChunkSet, ChunkType, Fsn, HmacAlgorithm, Mid, PayloadProtocolId, SctpPort, SharedKeyId, Ssn, StreamId,
    Tsn,
};
pub use sender::{AbandonedCount, AbandonedMessages, SenderStatistics, StreamStatistics};
pub use stats::{AssociationCounters, AssociationStatistics, EndpointStatistics, PathStatistics};
pub use transmit::{Datagram, Destination, Ecn, Encapsulation, PathId, Transmit};

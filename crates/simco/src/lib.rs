//! SIMCO (RFC 4540): an agent asks a firewall or translator for pinholes, and the middlebox answers.
//!
//! ```text
//!  agent ── request ──────────────► middlebox ── Change ─► PacketFilter
//!        ◄─ positive, negative reply ──┘  │
//!        ◄─ notification: AST, ARE, BFM ──┘
//! ```
//!
//! * **Messages**: [`Message`], [`Header`], [`Request`], [`PositiveReply`], [`NegativeReply`], [`Notification`]; views
//!   of the octets received where a value has a length of its own.
//! * **Rules**: [`PolicyRule`], and [`filter`]: what a packet filter is told and must do.
//! * **[`agent`]**: a session, requests over streams, rules that are kept alive, what is left after a reconnection.
//! * **[`middlebox`]**: sessions, transactions, conflicts, translation, notifications, limits.
//!
//! Not here: sockets, TCP, SCTP, clocks. Time and octets come in, octets and events go out.
//!
//! ```
//! use simco::{Body, Lifetime, Message, PolicyRequest, PolicyRuleId, Request, TransactionId};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let delete = PolicyRequest::LifetimeChange { rule: PolicyRuleId::new(8), lifetime: Lifetime::ZERO };
//! let message = Message { transaction: TransactionId::new(6), body: Body::Request(Request::Policy(delete)) };
//! let mut octets = Vec::new();
//! message.encode(&mut octets)?;
//! assert_eq!(octets[..8], [0x01, 0x15, 0, 16, 0, 0, 0, 6]);
//! assert_eq!(Message::decode(&octets)?, message);
//! # Ok(())
//! # }
//! ```
#![forbid(unsafe_code)]

pub mod agent;
mod attributes;
mod auth;
mod codepoints;
mod error;
pub mod filter;
mod framer;
mod message;
pub mod middlebox;
mod numbers;
mod outbox;
mod parameters;
mod rule;
mod tuple;

pub use auth::{Key, KeyError};
pub use codepoints::{
    AttributeType, BasicType, CHALLENGE_BYTES, HEADER_BYTES, MESSAGE_BYTES, NegativeCode, NotificationType,
    OWNER_BYTES, PAYLOAD_BYTES, PAYLOAD_PROTOCOL, PORT, PositiveType, RequestType,
};
pub use error::{AttributeError, DecodeError, EncodeError};
pub use message::{
    Body, DisableRequest, DisableStatus, EnableRequest, EnableStatus, Enabled, Header, Message,
    NegativeReply, Notification, PolicyRequest, PositiveReply, Request, ReserveRequest, ReserveStatus,
    Reserved, RuleIds, RuleIdsIter,
};
pub use numbers::{GroupId, Lifetime, PolicyRuleId, StreamNumber, TransactionId, TransportProtocol};
pub use parameters::{
    Capabilities, Direction, EnableParameters, EnableParity, IpVersions, NatMode, ReserveParameters,
    ReserveParity, Services, Version, Wildcards,
};
pub use rule::{Blockade, Owner, OwnerTooLong, Pinhole, PolicyRule, Reservation, RuleKind};
pub use tuple::{AddressTuple, IpVersion, Location, TupleForm};

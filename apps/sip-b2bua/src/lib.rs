//! A SIP back-to-back user agent that opens the firewall for the media of its calls (RFC 3261, RFC 4540; study S4).
//!
//! ```text
//!  UDP, TCP, SCTP ──► sockets ─► Input ─► server (one task) ─► Calls: the protocol, no IO ─► sockets
//!                                     ▲        │
//!                                     └────────┴─► a task per middlebox ─► SIMCO over TCP or SCTP
//! ```
//!
//! [`Calls`] of the crate `call-core` knows calls and is tested in virtual time; everything else here carries octets, asks middleboxes, counts, and
//! reads the configuration. A middlebox may be a packet filter or a
//! translator, whose addresses outside are reserved (PRR), told to the other side, and opened (PEA).
//!
//! What is not here: a translator beside other middleboxes, twice NAT (of a middlebox that can do it, traditional NAT is asked for), ICE through a
//! translator, answers of its own to challenges. The configuration refuses the first and has no words for the others; a peer that requires
//! an extension that does not work through the agent is answered with 420.
#![forbid(unsafe_code)]

mod config;
mod connections;
mod firewall;
mod metrics;
mod names;
mod records;
mod server;

pub use call_core::{
    AuthenticationSettings, BOUNDS_MS, CallCounters, CallId, CallSettings, Calls, Demand, Histogram,
    HopAddress, HopName, NextHop, Pinhole, PinholeId, Record, Refusal, Route,
};
pub use config::{ConfigError, Listen, MiddleboxSettings, SctpListen, Settings, TlsSettings};
pub use server::{Server, StartError};

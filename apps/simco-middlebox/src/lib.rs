//! A SIMCO middlebox (RFC 4540) as a daemon: sockets, configuration, logs and metrics around `simco::middlebox`.
//!
//! ```text
//!  TCP 7626 ──► connection tasks ─┐                    ┌─► PacketFilter: nftables or memory
//!  SCTP 7626 ─►                   ├─► Input ─► server ─┤
//!  signals, metrics ──────────────┘   (one task)       └─► writers of the connections, audit log
//! ```
//!
//! One task owns the middlebox; it takes all input that waits, has it processed in one call of the filter, and hands
//! out the answers. Connections have a task each way. Nothing here decides about the protocol.
#![forbid(unsafe_code)]

mod audit;
mod config;
mod connection;
mod control;
mod embedded;
mod filter;
mod listen;
mod metrics;
mod server;

pub use config::{ConfigError, FilterSettings, Interfaces, Listen, SctpListen, Settings, TlsIdentity};
pub use daemon::tell_systemd;
pub use embedded::Embedded;
pub use listen::{Listeners, Opened, StartError};
pub use server::Server;

//! Netlink to nftables: octets, transactions, dumps. Not: what the ruleset is.
//!
//! ```text
//!  Batch ── message(kind, |attributes| …) … ─► Socket::transact ─► kernel: all of it, or none
//!                                              Socket::dump ◄────── kernel: message after message
//! ```
//!
//! Written by hand, for a transaction is a handful of microseconds: the typed messages of netlink-packet-netfilter allocate
//! a vector for each attribute, and know neither `ct` nor `nat` nor the removal that tolerates absence.

mod attributes;
mod batch;
mod codes;
mod socket;

pub(crate) use attributes::{Attributes, attribute, attributes};
pub(crate) use batch::Batch;
pub(crate) use codes::*;
pub use socket::NetlinkError;
pub(crate) use socket::{DUMP_ATTEMPTS, Dump, Socket};

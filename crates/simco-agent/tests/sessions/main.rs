//! An agent and a middlebox core over real sockets on loopback: TCP, and SCTP in UDP.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests; clippy knows only functions marked as such")]

mod comeback;
mod middlebox;
mod transactions;

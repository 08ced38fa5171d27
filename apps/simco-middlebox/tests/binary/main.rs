//! The daemon as a process: real sockets, signals, a kernel's packet filter where the rights for one are there.
//!
//! Tests that need nftables make a network namespace of their own. Where that is refused they say so and pass, unless
//! `CI=true`.

#![allow(clippy::unwrap_used, clippy::panic, reason = "tests; clippy knows only functions marked as such")]
#![allow(clippy::print_stderr, reason = "a test that cannot run says why")]

mod agent;
mod daemon;
mod namespace;
mod oracle;

mod agreement;
mod comeback;
mod control;
mod crash;
mod guard;
mod hostile;
mod refusal;
mod reload;
mod tls;
mod transports;

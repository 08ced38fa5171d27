//! Calls of a stranger's SIP stack (SIPp) through the agent, with the middlebox on nftables between caller and called side.
//!
//! ```text
//!  namespace `in`                 namespace `mid`                    namespace `out`
//!  SIPp, 10.1.8.3 ─── in0 10.1.8.1: sip-b2bua, middlebox: 198.51.100.1 out0 ─── SIPp, 198.51.100.9
//! ```
//!
//! In one of them Kamailio, a second stranger, stands between SIPp and the agent, in another one on both sides of the agent, over TLS. Where namespaces, nftables, SIPp or Kamailio are
//! missing they say so and pass, unless `CI=true`.

#![allow(clippy::unwrap_used, clippy::panic, reason = "tests; clippy knows only functions marked as such")]
#![allow(clippy::print_stderr, reason = "a test that cannot run says why")]

mod agent;
mod cases;
mod faults;
mod middlebox;
mod network;
mod phone;
mod probe;
mod proxy;
mod stranger;
mod translated;

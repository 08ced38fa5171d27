//! RFC 9260 packet by packet: what a peer that is a script sees of the stack.
//!
//! A [`Case`](case::Case) is one sentence of the RFC that an observer outside can check, and a script: say this packet,
//! hear that one within so long, hear nothing. The script has an encoder and a decoder of its own, so that a mistake of
//! the stack's codec is not made twice. The same scripts run over two wires:
//!
//! ```text
//!                        ┌─ virtual_time: the core, no IO, exact times
//!  cases ─► script::Peer ┤
//!                        └─ raw_ip: protocol 132 in a network namespace, against a process with the stack that ships
//! ```
//!
//! What the RFC demands is a list of its keywords ([`requirement`]), each with what judges it: cases, a rule for every packet
//! ([`law`]), or the reason why nothing can.
//!
//! `conformance table` writes `docs/conformance.md` from what the cases give; `conformance list` names them;
//! `conformance run NAME` runs one and prints the ladder of packets.
#![forbid(unsafe_code)]

pub mod case;
mod cases;
pub mod law;
pub mod packet;
pub mod raw_ip;
pub mod requirement;
pub mod script;
pub mod stack;
pub mod table;
pub mod virtual_time;
pub mod wire;

//! Congestion controls as values, for SCTP and TCP alike: a protocol reports what happened and asks what may be in flight.
//!
//! | module | goes by |
//! |---|---|
//! | [`cubic`] | losses, and the time since the last one (RFC 9438, with the slow start of RFC 9406) |
//! | [`bbr`] | what the path has delivered and how long it took, a model of the path (BBRv3) |
//!
//! They do not find losses, send nothing and have no timers. All of it is integer arithmetic: equal events give equal windows on every
//! machine.
#![forbid(unsafe_code)]

pub mod bbr;
pub mod cubic;

//! A SACK TCP for the simulator, never for the real network: bytes and time in, bytes and events out.
//!
//! ```text
//!              segments ─► Connection ─► events
//!                            │      │
//!            sender ◄────────┘      └────────► receiver
//!   stream, scoreboard, RACK                  order, SACK blocks (RFC 2018), delayed acknowledgments
//!   congestion window and its validation, RTO
//! ```
//!
//! What a comparison with SCTP needs: opening and closing (RFC 9293), retransmission timer (RFC 6298), loss recovery
//! by SACK (RFC 6675, with duplicates told of: RFC 2883) or by time (RACK-TLP, RFC 8985), NewReno (RFC 5681) and CUBIC (RFC 9438), byte
//! counting (RFC 3465), validation of windows that are not used, window scaling and timestamps (RFC 7323), the Nagle
//! algorithm, delayed acknowledgments. [`Profile`] names stacks: today's Linux, Linux and Solaris of 2006, ns-2. [`framing`] puts messages on the
//! stream. What is not there: urgent data, simultaneous open, ECN, path MTU discovery, keep-alives, undoing of needless
//! reductions, proportional rate reduction (RFC 6937), listening: a host answers a SYN with [`Connection::accept`].
//!
//! ```
//! use tcp_core::{Connection, Segment, TcpConfig};
//! use virtual_time::Instant;
//!
//! let now = Instant::EPOCH;
//! let mut client = Connection::connect(TcpConfig::default(), 5001, 80, 1000);
//! client.write(b"hello");
//! let mut packet = Vec::new();
//! client.poll_transmit(now, &mut packet).ok_or("a SYN")?;
//! let syn = Segment::decode(&packet)?;
//! let mut server = Connection::accept(TcpConfig::default(), &syn, 2000).ok_or("a SYN")?;
//!
//! let mut heard = Vec::new();
//! for _ in 0..3 {
//!     for (from, to) in [(0, 1), (1, 0)] {
//!         let mut ends = [&mut client, &mut server];
//!         packet.clear();
//!         while ends[from].poll_transmit(now, &mut packet).is_some() {
//!             ends[to].handle_packet(now, &packet);
//!             packet.clear();
//!         }
//!     }
//!     server.read(&mut heard);
//! }
//! assert_eq!(heard, b"hello");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![forbid(unsafe_code)]

mod config;
mod connection;
pub mod framing;
mod profile;
mod ranges;
mod segment;

pub use config::{
    Acknowledge, Boundaries, ByteCounting, CongestionAlgorithm, LossDetection, Nagle, Reduction, RtoFloor,
    SegmentRules, SlowStartEnd, TcpConfig, TimerRules, Timestamps, WindowRules, WindowUnit, WindowValidation,
};
pub use connection::{Connection, ConnectionStatistics, Event, SenderCounters, State};
pub use profile::{Profile, UnknownProfile};
pub use segment::{DecodeError, Flags, HEADER_BYTES, Segment, SynOptions};

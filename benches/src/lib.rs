//! Two endpoints in one thread, joined by nothing but calls: what the engine costs without sockets.
//!
//! | program | measures |
//! |---|---|
//! | `engine` | time per packet and per message, both ends together |
//! | `growth` | the same while streams, outstanding chunks or associations become many |
//! | `memory` | octets of an idle association end |
//! | `handshakes` | associations set up per second, keyed cookie and all |
//! | `one` | nothing: one run, to be profiled |
//! | `loopback` | throughput, cost and latency over sockets, beside the kernel's TCP and UDP |
//! | `simulator` | events and packets per second of the simulator |
//! | `thin` | the share of a processor that a receiver of 1,000 messages a second takes |
//! | `crowd` | many associations on one endpoint: response times of those that are active, and what the others cost |
//! | `handles` | instructions per message over `sctp`, with handles of streams and without |
//! | `instructions` | instructions per packet, counted by valgrind and held against a table |
//!
//! Time is virtual: a trip takes 25 µs, whatever the machine does meanwhile.

pub mod clock;
pub mod counting;
pub mod crowd;
pub mod handles;
pub mod load;
pub mod pair;
pub mod quiet;
pub mod raw_udp;
pub mod scenario;
pub mod simulator;

pub use clock::median;
pub use quiet::when_quiet;

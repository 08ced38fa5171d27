//! Headway and other stacks over the loopback device, side by side.
//!
//! ```text
//!  bin/peers ──┬─ contender STACK receive …   on one processor: counts, prints `begun`, then what arrived
//!              └─ contender STACK send …      on the other
//! ```
//!
//! Stacks without IO of their own ([`stacks`]) run under one [`driver`]: one thread, a socket that does not block,
//! segmentation and receive offload. Others bring theirs: Headway by its API
//! ([`product`]), quinn ([`quic`]), TCP ([`plain`]), usrsctp and pion, which are programs of their own in `peers/`.

pub mod beside;
pub mod contest;
pub mod driver;
pub mod handshakes;
pub mod link;
pub mod plain;
pub mod product;
pub mod quic;
pub mod raw_ip;
pub mod running;
pub mod stacks;
pub mod tally;
pub mod task;

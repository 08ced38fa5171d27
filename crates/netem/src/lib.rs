//! Link impairment as data in, data out: what a wide-area path does to packets, without a clock and without IO.
//!
//! A [`Link`] is **one direction** of a path. Packets of any type go in with [`Link::offer`], come out of
//! [`Link::poll_deliver`] when they are due, and [`Link::poll_timeout`] says when to look again. The simulator
//! and the emulator for real packets drive the same `Link`, so that an impairment means the same in both.
//!
//! ```text
//! offer ─► number n ─► listed? ─► lost? ─► duplicate? ─► queue ─► rate ─► delay ± jitter ─► corrupt ─► poll_deliver
//!                        │          │                      │                 ▲
//!                        ▼          ▼                      ▼                 └ a reordered packet skips this one
//!                     dropped    dropped           dropped when full
//! ```
//!
//! **The law of repetition.** Packets are numbered from 1 as they are offered. Whether packet *n* is lost,
//! duplicated, reordered or corrupted, and how much jitter it gets, is a function of the link's seed and of *n*
//! alone — never of time. Each purpose has a random stream of its own and the *n*-th draw belongs to packet *n*, so
//! that the same seed drops the same packet numbers again on a slower machine, and switching jitter on changes
//! no loss. (A [`GilbertElliott`] chain additionally depends on the packet it was switched on at; when [`Bursts`]
//! come depends on the seed and on time instead.)
//!
//! What is not here: sockets, TUN devices and waiting (the emulator), topology (the simulator).
//!
//! ```
//! use core::time::Duration;
//! use netem::{Impairments, Link, Verdict};
//! use virtual_time::Instant;
//!
//! let wan = Impairments { delay: Duration::from_millis(10), loss: "1%".parse()?, ..Impairments::default() };
//! let mut link = Link::new(wan, netem::derive_seed(1, "request"))?;
//!
//! let now = Instant::EPOCH;
//! if let Verdict::Queued { deliver_at, .. } = link.offer(now, 100, "hello") {
//!     assert_eq!(deliver_at, Instant::from_millis(10));
//!     assert!(link.poll_deliver(now).is_none(), "never early");
//!     assert_eq!(link.poll_timeout(), Some(deliver_at));
//!     let delivery = link.poll_deliver(deliver_at).ok_or("due")?;
//!     assert_eq!(delivery.packet, "hello");
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![forbid(unsafe_code)]

mod dice;
mod impairments;
mod link;
mod loss;
mod parse;
mod probability;
mod seed;
mod units;

pub use impairments::{Impairments, InvalidImpairments, MAX_DELAY};
pub use link::{Delivery, DropReason, FlippedBit, Link, LinkStats, Verdict};
pub use loss::{Bursts, GilbertElliott, InvalidBursts, InvalidGilbertElliott, Loss};
pub use parse::ParseError;
pub use probability::{OutOfRange, Probability};
pub use seed::{derive_indexed_seed, derive_seed};
pub use units::{BitRate, ByteSize, CoDel, QueueLimit, Red};

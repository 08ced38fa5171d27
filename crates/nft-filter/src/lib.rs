//! Pinholes in Linux nftables, for a middlebox that opens tens of thousands a second.
//!
//! ```text
//!  simco::filter::Change … ─► NftFilter ── Ledger: which element, until when
//!                                │    └──── one transaction: elements and records, all or nothing
//!                                ▼
//!                     table inet headway: fixed chains ─► sets of timed elements ─► drop, accept, translate
//! ```
//!
//! * **The ruleset is fixed.** A pinhole is an element of a set, not a rule: it costs the same with one beside it or a
//!   hundred thousand. The kernel ends it by itself, on its own monotonic clock.
//! * **Closed.** What passes into or out of the protected network passes through a pinhole or not at all. No flow is
//!   accepted for being established: an element that is gone cuts it.
//! * **Atomic.** [`NftFilter::apply`](simco::filter::PacketFilter::apply) is one netlink transaction, whatever the number
//!   of changes.
//! * **Nobody else's.** Where the kernel can, we own the table: another's `flush ruleset` passes it over. Elsewhere
//!   [`NftFilter::inspect`] finds what others did to it, [`NftFilter::rewrite`] mends it, and nothing is granted in between.
//! * **The kernel is the journal.** The sets `rules_…` have a record of each policy rule, reservations too, written in the
//!   same transaction; [`NftFilter::open`] takes all over. A process that is killed loses nothing and leaves nothing
//!   behind; a host that starts anew has neither rules nor pinholes.
//!
//! Not here: the SIMCO protocol, clocks, threads. Linux only; CAP_NET_ADMIN is needed.
//!
//! ```no_run
//! use nft_filter::{NftConfig, NftFilter};
//! use virtual_time::Instant;
//!
//! # fn main() -> Result<(), nft_filter::NftError> {
//! let (filter, rules) = NftFilter::open(NftConfig::new(vec!["eth1".to_owned()]), Instant::EPOCH)?;
//! println!("{} rules taken over", rules.len());
//! # Ok(())
//! # }
//! ```
#![forbid(unsafe_code)]
#![cfg(target_os = "linux")]

mod config;
mod error;
mod filter;
mod ledger;
mod netlink;
mod record;
mod ruleset;

pub use config::{NftConfig, Ownership, Passing, Removal, TranslationPriorities};
pub use error::NftError;
pub use filter::{Damage, NftFilter};
pub use netlink::NetlinkError;
pub use record::RecordError;

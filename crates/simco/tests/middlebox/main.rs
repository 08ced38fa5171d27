//! The middlebox core: sessions, transactions, every reply code. `docs/simco.md` has the table.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::wildcard_enum_match_arm,
    reason = "tests; clippy knows only functions marked as such"
)]

#[path = "../support/mod.rs"]
mod support;

mod batches;
mod conflicts;
mod events;
mod lifetimes;
mod restart;
mod sessions;
mod transactions;
mod translation;
mod values;

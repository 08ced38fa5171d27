//! Agent and middlebox together, over networks that delay, lose and reorder.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::wildcard_enum_match_arm,
    reason = "tests; clippy knows only functions marked as such"
)]

#[path = "../support/mod.rs"]
mod support;

mod authentication;
mod keeping;
mod network;
mod ordering;
mod races;

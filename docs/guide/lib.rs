//! The guide, page by page: a part of the documentation site (`docs/site/build.py`).
//!
//! The pages are in `docs/guide/src`. They are documentation of this crate for one reason: rustdoc compiles and runs their
//! blocks of Rust with every `cargo test`, so that a page cannot say what the code does not do.
#![forbid(unsafe_code)]

#[doc = include_str!("src/introduction.md")]
pub mod introduction {}

#[doc = include_str!("src/first-association.md")]
pub mod first_association {}

#[doc = include_str!("src/streams.md")]
pub mod streams {}

#[doc = include_str!("src/accepting.md")]
pub mod accepting {}

#[doc = include_str!("src/multihoming.md")]
pub mod multihoming {}

#[doc = include_str!("src/blocked-time.md")]
pub mod blocked_time {}

#[doc = include_str!("src/embedding.md")]
pub mod embedding {}

#[doc = include_str!("src/testing.md")]
pub mod testing {}

#[doc = include_str!("src/from-lksctp.md")]
pub mod from_lksctp {}

#[doc = include_str!("src/from-webrtc-sctp.md")]
pub mod from_webrtc_sctp {}

#[doc = include_str!("src/programs.md")]
pub mod programs {}

#[doc = include_str!("src/comparison.md")]
pub mod comparison {}

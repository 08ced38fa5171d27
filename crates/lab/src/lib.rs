//! The laboratory of Headway.
#![forbid(unsafe_code)]

#[cfg(target_os = "linux")]
pub mod emulator;

//! `--pcap` and `--pcap-at`: packets, as a file. Each command says which in its own help.

use std::path::Path;

use clap::{Args, ValueEnum};
use emulator::CapturePoint;

use super::UsageError;
use crate::output::check_file;

/// The option that says which packets of an emulated link are written.
#[derive(Debug, Clone, Args)]
pub(crate) struct CapturePointArguments {
    /// The packets --pcap writes: as the sender sent them, as the receiver got them, or both (then those
    /// delivered are there twice)
    #[arg(long, value_name = "PLACE", value_enum, default_value_t = CaptureSide::Sender)]
    pcap_at: CaptureSide,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum CaptureSide {
    /// Packets as sent and when, lost ones included
    Sender,
    /// Packets as received and when, with delays, copies and damage
    Receiver,
    /// Both, on interfaces of their own
    Both,
}

impl CapturePointArguments {
    pub(crate) const fn point(&self) -> CapturePoint {
        match self.pcap_at {
            CaptureSide::Sender => CapturePoint::Sender,
            CaptureSide::Receiver => CapturePoint::Receiver,
            CaptureSide::Both => CapturePoint::Both,
        }
    }
}

/// Fails where the file of `--pcap`, or those beside it that are named after it, could not be written later.
pub(crate) fn check_capture(path: Option<&Path>) -> Result<(), UsageError> {
    let Some(path) = path else { return Ok(()) };
    check_file(path).map_err(|error| {
        let (value, because) = (path.display(), error.to_string());
        UsageError::value("--pcap", value, &because, "name a file in a writable folder")
    })
}

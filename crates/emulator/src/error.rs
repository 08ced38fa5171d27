//! The reason why an emulated network could not be set up or run.

use std::io;
use std::path::PathBuf;

use netem::InvalidImpairments;
use nix::errno::Errno;

use super::device::DeviceKind;
use super::link::{Direction, LinkEnd};
use super::permission::Refused;

/// An emulated network could not be set up or run.
#[derive(Debug, thiserror::Error)]
pub enum EmulatorError {
    /// A link's impairments are out of bounds.
    #[error("link {link}, {}: {reason}", direction.name())]
    InvalidImpairments {
        /// The index of the link meant.
        link: u8,
        /// The direction of the link.
        direction: Direction,
        /// The bound that is broken.
        reason: InvalidImpairments,
    },
    /// Link index 0, or one that is used twice.
    #[error("link index {link} must be between 1 and 255 and used once")]
    InvalidLinkIndex {
        /// The index that was given.
        link: u8,
    },
    /// No link has the index that was given.
    #[error("there is no link {link} in this world")]
    UnknownLink {
        /// The index that was given.
        link: u8,
    },
    /// An end was given to two sides.
    #[error("this end of the link is attached already: {end:?}")]
    AttachedTwice {
        /// The end that was attached twice.
        end: LinkEnd,
    },
    /// An end was given to no side.
    #[error("no side is attached to this end of the link: {end:?}")]
    NotAttached {
        /// The end of a link that is loose.
        end: LinkEnd,
    },
    /// A new network namespace was refused.
    #[error("a new network namespace was refused ({errno}): run as root or call enter_user_namespace first")]
    NewNamespace {
        /// The reason that the kernel gave.
        errno: Errno,
    },
    /// A network namespace cannot be opened.
    #[error("network namespace {} cannot be opened ({source}): `ip netns list` shows what there is", path.display())]
    OpenNamespace {
        /// The path at which it should be.
        path: PathBuf,
        /// The reason that the kernel gave.
        source: io::Error,
    },
    /// A network namespace cannot be entered.
    #[error("network namespace {} cannot be entered ({errno}): run as root", path.display())]
    EnterNamespace {
        /// The path of the namespace.
        path: PathBuf,
        /// The reason that the kernel gave.
        errno: Errno,
    },
    /// The loopback device of a new namespace cannot be brought up.
    #[error("the loopback device cannot be brought up: {errno}")]
    Loopback {
        /// The reason that the kernel gave.
        errno: Errno,
    },
    /// The devices there are cannot be used.
    #[error(transparent)]
    Refused(#[from] Refused),
    /// A network device cannot be made.
    #[error(
        "{kind} device {device} cannot be made: {source} (if it exists already, choose another link index)"
    )]
    Device {
        /// The kind of device in question.
        kind: DeviceKind,
        /// The name of the device in question.
        device: String,
        /// The reason that the kernel gave.
        source: io::Error,
    },
    /// A kernel parameter cannot be set.
    #[error("kernel parameter {name} cannot be set to {value}: {source}")]
    KernelParameter {
        /// The name of the parameter, with dots.
        name: String,
        /// The value it should have.
        value: String,
        /// The reason that the kernel gave.
        source: io::Error,
    },
    /// The capture file cannot be written.
    #[error("capture {} cannot be written: {reason}", path.display())]
    Capture {
        /// The path of the capture file.
        path: PathBuf,
        /// The reason for the failure.
        reason: String,
    },
    /// Waiting for packets failed.
    #[error("waiting for packets failed: {errno}")]
    Wait {
        /// The reason that the kernel gave.
        errno: Errno,
    },
    /// A thread could not be started.
    #[error("a thread could not be started: {source}")]
    Thread {
        /// The reason that the kernel gave.
        source: io::Error,
    },
    /// The emulator's thread is gone.
    #[error("the emulator has ended")]
    Ended,
    /// The command behind the link could not be run.
    #[error("the command could not be run: {source}")]
    Command {
        /// The reason that the kernel gave.
        source: io::Error,
    },
    /// The host's network cannot be reached from behind the link, or the host could not be left as it was.
    #[error("the host's network cannot be translated (nftables and forwarding): {because}")]
    Translation {
        /// The message of the program that failed.
        because: String,
    },
    /// A side did not do its work.
    #[error(transparent)]
    Side(#[from] SideError),
    /// A network device cannot be switched, or given an address or a route.
    #[error("device {device} cannot be configured: {errno}")]
    Configure {
        /// The name of the device that was to be configured.
        device: String,
        /// The reason that the kernel gave.
        errno: Errno,
    },
}

/// The reason why a side has no result.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum SideError {
    /// The world was dropped before it was started.
    #[error("the world was never started")]
    NotStarted,
    /// The thread that did the side's work panicked.
    #[error("the side's work panicked")]
    Panicked,
}

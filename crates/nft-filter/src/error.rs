//! Why the filter could not do something.

use rustix::io::Errno;

use crate::netlink::NetlinkError;
use crate::record::RecordError;

/// Why nothing was changed.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum NftError {
    /// No interface was named.
    #[error("no interface of the protected network is named: name at least one")]
    NoInterface,
    /// A table or interface has a name the kernel does not take.
    #[error("`{name}` is no name for {what}: 1 to {longest} octets, without zero")]
    BadName {
        /// A table, an interface.
        what: &'static str,
        /// As configured.
        name: String,
        /// Octets it may have.
        longest: usize,
    },
    /// The kernel.
    #[error(transparent)]
    Netlink(#[from] NetlinkError),
    /// A rule that needs more elements than a rule may.
    #[error(
        "the rule needs more than {most} set elements: fewer ports, or ports that start at a power of two"
    )]
    TooManyElements {
        /// The bound.
        most: usize,
    },
    /// More kinds of wildcards are in use than packets should have to be compared with.
    #[error("{most} shapes of wildcards are in use already, the rule would need another")]
    TooManyShapes {
        /// The bound.
        most: usize,
    },
    /// A rule translates, and the filter is not to.
    #[error("the rule translates addresses, for which the filter is not configured")]
    NoTranslation,
    /// Two rules translate the same address and port to different ones.
    #[error("the rule translates an address and port otherwise than another rule does")]
    Contradiction,
    /// What the kernel keeps about a rule cannot be written or read.
    #[error("the record of a policy rule: {0}")]
    Record(#[from] RecordError),
}

impl NftError {
    /// Whether the kernel has no room.
    pub(crate) fn is_full(&self) -> bool {
        match self {
            Self::Netlink(error) => matches!(error.errno(), Some(Errno::NFILE | Errno::NOMEM | Errno::NOSPC)),
            Self::TooManyShapes { .. } => true,
            Self::NoInterface
            | Self::BadName { .. }
            | Self::TooManyElements { .. }
            | Self::NoTranslation
            | Self::Contradiction
            | Self::Record(_) => false,
        }
    }
}

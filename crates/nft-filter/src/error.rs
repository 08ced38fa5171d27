//! The reason why the filter could not do something.

use rustix::io::Errno;

use crate::filter::Damage;
use crate::netlink::NetlinkError;
use crate::record::RecordError;

/// The reason why nothing was changed.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum NftError {
    /// The list of interfaces is empty.
    #[error("no interface of the protected network is named: name at least one")]
    NoInterface,
    /// A table or interface has a name the kernel does not take.
    #[error("`{name}` is no name for {what}: 1 to {longest} octets, without zero")]
    BadName {
        /// The kind of name: of a table, of an interface.
        what: &'static str,
        /// The name as it was configured.
        name: String,
        /// The number of octets it may have.
        longest: usize,
    },
    /// The process may not speak to the packet filter.
    #[error("CAP_NET_ADMIN is missing; in a unit of systemd: AmbientCapabilities=CAP_NET_ADMIN")]
    NoRights,
    /// Another process owns the table.
    #[error(
        "the table inet {table} belongs to another process (netlink port {owner}); stop that one, or choose another table"
    )]
    Owned {
        /// The name of the table meant.
        table: String,
        /// The port of its netlink socket, which is its process number, as a rule.
        owner: u32,
    },
    /// Another process of ours writes to the table.
    #[error("another process serves the table inet {table}; stop that one, or choose another table")]
    InUse {
        /// The name of the table meant.
        table: String,
    },
    /// A table that is not to be taken away.
    #[error("the table inet {table} is not a middlebox'; name the one that is")]
    Foreign {
        /// The name of the table meant.
        table: String,
    },
    /// Whether another process writes to the table cannot be known.
    #[error("the table inet {table} cannot be locked: {because}")]
    Lock {
        /// The name of the table meant.
        table: String,
        /// The reason that the system gave.
        because: String,
    },
    /// Somebody has changed the table; nothing is opened until it is written anew.
    #[error("{0}; nothing is changed until it is written anew")]
    Damaged(Damage),
    /// The kernel refused a request.
    #[error(transparent)]
    Netlink(#[from] NetlinkError),
    /// A rule that needs more elements than a rule may.
    #[error(
        "the rule needs more than {most} set elements: fewer ports, or ports that start at a power of two"
    )]
    TooManyElements {
        /// The largest number that is allowed.
        most: usize,
    },
    /// More kinds of wildcards are in use than packets should have to be compared with.
    #[error("{most} shapes of wildcards are in use already, the rule would need another")]
    TooManyShapes {
        /// The largest number that is allowed.
        most: usize,
    },
    /// The rules of one agent use more kinds of wildcards than it may.
    #[error("the rules of {agent} use {most} shapes of wildcards already, and would need another")]
    TooManyShapesOfAgent {
        /// The agent whose rules they are.
        agent: String,
        /// The largest number that is allowed.
        most: usize,
    },
    /// A rule translates, and the filter is not to.
    #[error("the rule translates addresses, for which the filter is not configured")]
    NoTranslation,
    /// Two rules translate the same address and port to different ones.
    #[error("the rule translates an address and port otherwise than another rule does")]
    Contradiction,
    /// The record of a rule in the kernel cannot be written or read.
    #[error("the record of a policy rule: {0}")]
    Record(#[from] RecordError),
}

impl NftError {
    /// Returns whether the kernel has no room.
    pub(crate) fn is_full(&self) -> bool {
        match self {
            Self::Netlink(error) => matches!(error.errno(), Some(Errno::NFILE | Errno::NOMEM | Errno::NOSPC)),
            Self::TooManyShapes { .. } | Self::TooManyShapesOfAgent { .. } => true,
            Self::NoInterface
            | Self::NoRights
            | Self::Owned { .. }
            | Self::InUse { .. }
            | Self::Foreign { .. }
            | Self::Lock { .. }
            | Self::Damaged(_)
            | Self::BadName { .. }
            | Self::TooManyElements { .. }
            | Self::NoTranslation
            | Self::Contradiction
            | Self::Record(_) => false,
        }
    }
}

//! The reports of a [`Mover`](crate::Mover): each thing that it did or heard.

use std::fmt;
use std::net::IpAddr;

use mobility::{Action, Decision};
use sctp::{AddressChangeError, AddressOutcome, Event};

/// Something that happened to a moving association, in the order in which it happened.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Report {
    /// A decision, with its reasons. It is carried out already, but for [`Action::Probe`]: whoever can measure an address tells the
    /// mover by [`tell`](crate::Mover::tell); and but for what the next report says that it waits.
    Decided(Decision),
    /// The peer is asked to send to the address when it has measured the way there, and before that when a second has passed since it
    /// agreed to the address, or the address in use is gone.
    Awaits {
        /// The address that data moves to.
        address: IpAddr,
    },
    /// The peer has answered, or will not any more. Whatever is not [`AddressOutcome::Done`] is decided anew after a while.
    Answered {
        /// The action that the peer was asked for.
        action: Action,
        /// The outcome of the request, with the cause that the peer gave where it refused.
        outcome: AddressOutcome,
    },
    /// The association would not ask the peer. It counts as refused.
    NotAsked {
        /// The action that the peer was to be asked for.
        action: Action,
        /// The reason why the peer was not asked.
        error: AddressChangeError,
    },
    /// The kernel does not tell any more what happens to interfaces: the association stays where it is.
    Blind {
        /// The error that the kernel gave, as text.
        because: String,
    },
    /// An event of the association that is about something else.
    Association(Event),
}

/// One line, or several for a decision.
impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Decided(decision) => decision.fmt(f),
            Self::Awaits { address } => {
                write!(f, "set primary {address}: when the peer has measured the way there")
            }
            Self::Answered { action, outcome } => match outcome {
                AddressOutcome::Done => write!(f, "{action}: the peer agrees"),
                AddressOutcome::Refused { cause } => write!(f, "{action}: the peer refuses, cause {cause}"),
                AddressOutcome::NotUnderstood => write!(f, "{action}: the peer does not understand"),
                AddressOutcome::NotAnswered => write!(f, "{action}: the peer does not answer"),
                AddressOutcome::PeerRestarted => write!(f, "{action}: the peer has begun anew"),
                other => write!(f, "{action}: {other:?}"),
            },
            Self::NotAsked { action, error } => write!(f, "{action}: not asked, for {error}"),
            Self::Blind { because } => write!(f, "interfaces are not watched any more: {because}"),
            Self::Association(event) => write!(f, "{event:?}"),
        }
    }
}

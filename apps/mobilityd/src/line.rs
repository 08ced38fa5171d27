//! The line that clients are told: how things stand, in whole.

use std::collections::BTreeMap;
use std::fmt;
use std::net::IpAddr;

use mobility::{Decision, InterfaceId, InterfaceName, InterfaceState, Judgement};
use serde::{Deserialize, Serialize};

/// The line that clients are told, which is the whole state each time.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Line {
    /// The time at which the daemon began, in milliseconds since 1970: another number is another daemon, which counts anew.
    pub(crate) daemon: u64,
    /// The number of changes since then.
    pub(crate) sequence: u64,
    #[serde(flatten)]
    pub(crate) state: State,
}

/// The state of the host, and what follows from it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct State {
    pub(crate) interfaces: Vec<Found>,
    pub(crate) applications: BTreeMap<String, ForApplication>,
}

/// An interface of the host, as far as it is known.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Found {
    pub(crate) interface: InterfaceId,
    pub(crate) name: Option<InterfaceName>,
    pub(crate) state: InterfaceState,
}

/// The address that an application is to use by its policy, and why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ForApplication {
    /// The address to use now; none if there is none that can be sent from.
    pub(crate) primary: Option<IpAddr>,
    /// The last decision about it.
    pub(crate) decision: Option<Decision>,
    /// The addresses of this host as the policy judges them, the best first.
    pub(crate) addresses: Vec<Judgement>,
}

/// For a person: where to send from, why, and what was found about every address.
impl fmt::Display for ForApplication {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.primary {
            Some(primary) => writeln!(f, "use {primary}")?,
            None => writeln!(f, "use nothing")?,
        }
        if let Some(decision) = &self.decision {
            writeln!(f, "decided: {decision}")?;
        }
        write!(f, "now:")?;
        self.addresses.iter().try_for_each(|judgement| write!(f, "\n  {judgement}"))
    }
}

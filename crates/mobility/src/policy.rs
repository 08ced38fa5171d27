//! The wishes of a user: which interfaces, in which order, and how willingly an association moves.

mod file;

use core::time::Duration;
use std::collections::BTreeMap;

use crate::damping::Damping;
use crate::event::InterfaceName;

/// The policies of a host: one for each application that has one of its own, and how interfaces are damped.
///
/// ```
/// use mobility::{Handing, Policies};
///
/// # fn main() -> Result<(), mobility::PolicyError> {
/// let policies = Policies::parse(r#"
///     [applications.video]
///     handover = "break-before-make"
///     [[applications.video.prefer]]
///     interface = "wlan*"
///     cost = 1
///     min_signal_dbm = -75
///     [[applications.video.prefer]]
///     interface = "wwan0"
///     cost = 10
/// "#)?;
/// assert_eq!(policies.application("video").handing, Handing::BreakBeforeMake);
/// assert_eq!(policies.application("telephone").handing, Handing::MakeBeforeBreak);
/// let error = Policies::parse("[applications.video]\naddresses = 9").unwrap_err();
/// assert_eq!(error.to_string(), "applications.video.addresses = 9: from 2 to 8 are possible");
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Policies {
    /// The measures by which interfaces that flap are held back, for all applications.
    pub damping: Damping,
    applications: BTreeMap<String, Policy>,
}

impl Policies {
    /// Reads and checks a file's text, TOML.
    ///
    /// # Errors
    ///
    /// See [`PolicyError`].
    pub fn parse(text: &str) -> Result<Self, PolicyError> {
        file::read(text)
    }

    /// Returns the policy of an application: its own, else the one of `default`, else [`Policy::default`].
    #[must_use]
    pub fn application(&self, name: &str) -> Policy {
        let found = self.applications.get(name).or_else(|| self.applications.get(DEFAULT_APPLICATION));
        found.cloned().unwrap_or_default()
    }

    /// Returns the names of the applications that have a policy of their own.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.applications.keys().map(String::as_str)
    }
}

/// The policy of one application.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Policy {
    /// Whether the peer is told of standby addresses. Default: yes. Change it where an interface costs money as soon as it
    /// is used.
    pub handing: Handing,
    /// The number of addresses that the peer is told at the same time, from 2 to 8. Default 3.
    pub addresses: usize,
    /// How long a better address has to have been fit for use before data moves there from one that works. Default 1 s. Raise it
    /// where coverage is patchy.
    pub better_for: Duration,
    /// The time between two changes of the primary address while the one left is still there. Default 2 s.
    pub primary_interval: Duration,
    /// How long the peer keeps an address that cannot be used, before it is asked to forget it. Default 30 s.
    pub keep: Duration,
    /// How long after the peer has refused a change it is asked again. Default 10 s.
    pub retry: Duration,
    /// How often an address is probed until somebody answers. Default 1 s.
    pub probe_every: Duration,
    /// The needs of an address besides its interface.
    pub needs: Needs,
    /// The interfaces that may be used. The first rule that fits the name of an interface counts; what none fits is not used.
    /// Default: every interface, at cost 0.
    pub prefer: Vec<Preference>,
}

impl Default for Policy {
    fn default() -> Self {
        Self {
            handing: Handing::MakeBeforeBreak,
            addresses: 3,
            better_for: Duration::from_secs(1),
            primary_interval: Duration::from_secs(2),
            keep: Duration::from_secs(30),
            retry: Duration::from_secs(10),
            probe_every: Duration::from_secs(1),
            needs: Needs::default(),
            prefer: vec![Preference::any()],
        }
    }
}

/// The order in which an association leaves an address and takes another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Handing {
    /// The peer knows the best addresses ahead, so that data moves at once.
    MakeBeforeBreak,
    /// The peer knows the address in use, and the next only when data moves there. The old one is deleted then.
    BreakBeforeMake,
}

/// The needs of an address besides an interface that carries packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Needs {
    /// A default route of its family. Default: no, for peers in the same network need none.
    pub default_route: bool,
    /// An answer to packets from it ([`Event::Verified`](crate::Event::Verified)). Default: no, for SCTP has the peer
    /// verify what is added. Switch it on where networks want a login first, and somebody probes.
    pub verification: bool,
}

/// A rule: which interfaces, what they cost, and how good they have to be.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Preference {
    /// The interfaces that the rule is for.
    pub interface: Pattern,
    /// The cost: interfaces with less are preferred. From 0 to 1000.
    pub cost: u16,
    /// The bound of the signal. An interface that reports none is held to be good.
    pub signal: Option<SignalBound>,
    /// The bound of the round-trip time. An address of which none is known is probed first.
    pub rtt: Option<Duration>,
    /// The bound of losses, in packets of a thousand. An address of which none are known is probed first.
    pub loss_permille: Option<u16>,
    /// How much better than `rtt` and `loss_permille` an address has to be that is not in use, in percent of them. Default 20.
    pub quality_hysteresis_percent: u8,
}

impl Preference {
    /// Creates the rule for every interface: no cost, no bounds.
    #[must_use]
    pub fn any() -> Self {
        Self {
            interface: Pattern("*".to_owned()),
            cost: 0,
            signal: None,
            rtt: None,
            loss_permille: None,
            quality_hysteresis_percent: DEFAULT_QUALITY_HYSTERESIS,
        }
    }
}

/// The signal that an interface needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SignalBound {
    /// The least signal at which an address in use stays in use, in dBm.
    pub min_dbm: i16,
    /// How much stronger it has to be for an address that is not in use, in dB. Default 5.
    pub hysteresis_db: u8,
}

/// A pattern of names: a name, or the beginning of names with `*` behind it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pattern(String);

impl Pattern {
    /// Creates a pattern; `None` if a star stands anywhere but at the end, or there is nothing at all.
    #[must_use]
    pub fn new(text: &str) -> Option<Self> {
        let beginning = text.strip_suffix('*').unwrap_or(text);
        (!text.is_empty() && !beginning.contains('*')).then(|| Self(text.to_owned()))
    }

    /// Returns whether a name fits.
    #[must_use]
    pub fn fits(&self, name: &InterfaceName) -> bool {
        match self.0.strip_suffix('*') {
            Some(beginning) => name.as_str().starts_with(beginning),
            None => name.as_str() == self.0,
        }
    }

    /// Returns the pattern as it is written.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// The reason why a text is no policy.
#[derive(Debug, thiserror::Error)]
pub enum PolicyError {
    /// The text is no TOML, a key is unknown, or a value has the wrong type.
    #[error("{0}")]
    Toml(#[from] Box<toml::de::Error>),
    /// A value is out of bounds.
    #[error("{key} = {value}: {bound}")]
    Value {
        /// The name of the key, with its tables.
        key: String,
        /// The value as it was written.
        value: String,
        /// The bound of values that are allowed.
        bound: String,
    },
}

/// The application whose policy counts for those that have none.
pub const DEFAULT_APPLICATION: &str = "default";
const DEFAULT_SIGNAL_HYSTERESIS: u8 = 5;
const DEFAULT_QUALITY_HYSTERESIS: u8 = 20;

#[cfg(test)]
mod tests;

//! The decisions about an association, and the reasons for them.

use core::fmt;
use core::net::IpAddr;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use virtual_time::Instant;

use crate::event::{InterfaceId, InterfaceName, Quality};
use crate::interface::InterfaceState;

/// A decision about one association: what to do, which rule said so, and what was found about every address then.
///
/// It explains itself: its text is what a person wants to read who asks why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Decision {
    /// The time of the decision.
    pub at: Instant,
    /// The action that is to be carried out.
    pub action: Action,
    /// The rule by which it was decided.
    pub rule: Rule,
    /// The judgement about each address of the host at that time, the best first.
    pub found: Arc<[Judgement]>,
}

/// The action that an association is to take.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Action {
    /// Tell the peer of the address, and answer.
    Add(IpAddr),
    /// Find out whether packets from the address are answered, and how fast; the host is told by
    /// [`Event::Verified`](crate::Event::Verified), [`Refuted`](crate::Event::Refuted) or
    /// [`Measured`](crate::Event::Measured).
    Probe(IpAddr),
    /// Let data go by the address, which the peer knows, and answer.
    SetPrimary(IpAddr),
    /// Ask the peer to forget the address, and answer.
    Delete(IpAddr),
    /// Leave data where it is, although there is a reason to move it. Nobody answers.
    Hold {
        /// The address that data would move to, if there is one.
        instead_of: Option<IpAddr>,
        /// The time when it is looked at again without any event, if that is known.
        until: Option<Instant>,
    },
}

/// The rule by which something was decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Rule {
    /// The association has no primary address yet.
    First,
    /// The primary address cannot be used any more.
    PrimaryGone,
    /// The primary address is there, and does not fulfil what the policy asks for.
    PrimaryUnfit,
    /// Another address costs less.
    Cheaper,
    /// The address stands by, in case that the primary one is lost.
    Standby,
    /// The peer knows as many addresses as the policy allows, and one of them has to go for a better one.
    MakesRoom,
    /// The host does not have the address any more.
    AddressGone,
    /// The address has been out of use for as long as the policy keeps one.
    OutOfUse,
    /// The policy does not want the peer to know the address.
    Unwanted,
    /// The policy asks for something that is not known of the address.
    Unknown,
    /// The better address has not been fit for use for long enough.
    TooNew,
    /// The primary address was changed a short while ago.
    ChangedRecently,
    /// No address is fit for use.
    NothingFit,
}

impl Rule {
    /// Returns the rule as the end of a sentence that begins with an action.
    #[must_use]
    pub const fn reason(self) -> &'static str {
        match self {
            Self::First => "there is no primary address yet",
            Self::PrimaryGone => "the primary address cannot be used any more",
            Self::PrimaryUnfit => "the primary address is not what the policy asks for",
            Self::Cheaper => "it costs less than the primary address",
            Self::Standby => "it stands by",
            Self::MakesRoom => "a better one takes its place",
            Self::AddressGone => "the host has it no more",
            Self::OutOfUse => "it has been out of use for too long",
            Self::Unwanted => "the policy does not want the peer to know it",
            Self::Unknown => "the policy asks for what is not known of it",
            Self::TooNew => "the better address has not been there for long enough",
            Self::ChangedRecently => "the primary address was changed a short while ago",
            Self::NothingFit => "no address is fit for use",
        }
    }
}

/// The judgement about one address of the host, by a policy.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Judgement {
    /// The address that is judged.
    pub address: IpAddr,
    /// The number of the interface that has it.
    pub interface: InterfaceId,
    /// The name of the interface; `None` while no link is known.
    pub name: Option<InterfaceName>,
    /// How far the interface has come.
    pub state: InterfaceState,
    /// The place of the preference that fits the interface, in the policy.
    pub preference: Option<usize>,
    /// Whether the address is fit for use.
    pub verdict: Verdict,
}

/// Whether an address is fit for use, by a policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Verdict {
    /// The address may be used, at this cost.
    Fit {
        /// The cost by the preference.
        cost: u16,
    },
    /// Nothing can be sent from it: the interface has not come far enough, or the address has not.
    Unusable,
    /// The address is good for what runs, and for nothing new.
    Deprecated,
    /// No preference fits the interface.
    NotWanted,
    /// The interface has flapped too often.
    Damped {
        /// The time from which on it is used again.
        until: Instant,
    },
    /// There is no default route.
    NoDefaultRoute,
    /// Packets from it were not answered.
    Refuted,
    /// The interface receives its access point too weakly.
    WeakSignal {
        /// The strength of the signal, in dBm.
        dbm: i16,
        /// The least that is needed, in dBm.
        needed: i16,
    },
    /// The way from it is too slow, or loses too much.
    Bad(Quality),
    /// The policy asks for what is not known yet.
    Unknown,
}

impl fmt::Display for Decision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.action, self.rule.reason())?;
        self.found.iter().try_for_each(|judgement| write!(f, "\n  {judgement}"))
    }
}

impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Add(address) => write!(f, "add {address}"),
            Self::Probe(address) => write!(f, "probe {address}"),
            Self::SetPrimary(address) => write!(f, "set primary {address}"),
            Self::Delete(address) => write!(f, "delete {address}"),
            Self::Hold { instead_of: None, .. } => f.write_str("hold"),
            Self::Hold { instead_of: Some(address), .. } => write!(f, "hold instead of {address}"),
        }
    }
}

impl fmt::Display for Judgement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.name.as_ref().map_or("?", InterfaceName::as_str);
        write!(f, "{} on {name} ({}): {}", self.address, self.state.name(), self.verdict)?;
        self.preference.map_or(Ok(()), |place| write!(f, ", by prefer[{place}]"))
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fit { cost } => write!(f, "fit, cost {cost}"),
            Self::Unusable => f.write_str("cannot be sent from"),
            Self::Deprecated => f.write_str("deprecated"),
            Self::NotWanted => f.write_str("no preference fits"),
            Self::Damped { until } => write!(f, "damped until {until:?}"),
            Self::NoDefaultRoute => f.write_str("no default route"),
            Self::Refuted => f.write_str("not answered"),
            Self::WeakSignal { dbm, needed } => write!(f, "signal {dbm} dBm, {needed} needed"),
            Self::Bad(quality) => write!(
                f,
                "round trip {:.0?}, {} ‰ lost, which is too much",
                quality.rtt, quality.loss_permille
            ),
            Self::Unknown => f.write_str("not verified or measured yet"),
        }
    }
}

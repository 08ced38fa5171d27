//! The trait that a middlebox needs of a packet filter, and the changes that the filter is told.
//!
//! ```text
//!  Middlebox ── apply(now, &[Change]) ─► PacketFilter ─► kernel, or MemoryFilter
//!     │                                      ▲
//!     │   Change: Arc<PolicyRule>            └── list(now) ─► FilterRule …   what really stands there
//!     └── PolicyRule::filter_rule() ─► FilterRule
//! ```
//!
//! A [`PacketFilter`] gets *every* change of the rule base, reservations too, with the whole [`PolicyRule`], so
//! that a journal can be a filter around a filter. What matters to packets is [`PolicyRule::filter_rule`].

mod memory;
mod selector;

use core::error::Error;
use std::sync::Arc;

use virtual_time::Instant;

pub use self::memory::{MemoryFilter, Passage, ProbePacket};
pub use self::selector::{Mapping, Network, Ports, Selector, Translation};
use crate::numbers::{PolicyRuleId, TransportProtocol};
use crate::parameters::{Capabilities, Direction};
use crate::rule::PolicyRule;

/// A packet filter, a translator, or both.
///
/// The middlebox decides which rules there are; the filter makes packets obey. Contract:
///
/// * What no rule opens stays closed. A [`FilterAction::Block`] wins over every [`FilterAction::Open`]; the middlebox
///   removes the pinholes that conflict in the same call.
/// * A rule ends at its deadline *by itself*, even if the middlebox is no longer there to say so.
///   [`RemovalCause::Expired`] may therefore name a rule the filter has dropped already: no error.
/// * Packets of flows that exist obey as others do: a rule that ended cuts them.
/// * A call may take the time of a system call, and not longer: the middlebox waits for it.
pub trait PacketFilter {
    /// Returns what the filter can do, with the longest lifetime it can keep. The middlebox offers what both
    /// this and its configuration allow.
    fn capabilities(&self) -> Capabilities;

    /// Makes all changes, in this order, or none of them.
    ///
    /// A call has the changes of one request or of several that were waiting; never none. If it fails with several
    /// requests, the middlebox calls again with the changes of each alone.
    ///
    /// # Errors
    ///
    /// Why nothing was changed. The request is refused with 0x034A, or with 0x0342 for [`FilterError::Full`] and
    /// [`FilterError::Exhausted`].
    fn apply(&mut self, now: Instant, changes: &[Change]) -> Result<(), FilterError>;

    /// Returns the rules that really stand in the filter, by identifier: for restarts, for comparison with the
    /// rule base. Rules whose deadline has passed are not listed.
    ///
    /// # Errors
    ///
    /// The filter cannot be asked.
    fn list(&mut self, now: Instant) -> Result<Vec<FilterRule>, FilterError>;
}

/// One change of the rule base.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Change {
    /// A new rule has been made.
    Insert(Arc<PolicyRule>),
    /// A reservation becomes a pinhole with the same identifier (PEA).
    Replace {
        /// The reservation that is replaced.
        old: Arc<PolicyRule>,
        /// The pinhole that replaces it.
        new: Arc<PolicyRule>,
    },
    /// The deadline of a rule changed, to earlier or later, and nothing else (PLC).
    Lifetime {
        /// The rule as it was before.
        old: Arc<PolicyRule>,
        /// The rule with its new deadline.
        new: Arc<PolicyRule>,
    },
    /// A rule is gone, and with it its pinhole or block.
    Remove {
        /// The rule as it was before.
        rule: Arc<PolicyRule>,
        /// The reason for the removal.
        cause: RemovalCause,
    },
}

impl Change {
    /// Returns the rule as it is afterwards; `None` if it is gone.
    #[must_use]
    pub const fn after(&self) -> Option<&Arc<PolicyRule>> {
        match self {
            Self::Insert(rule) | Self::Replace { new: rule, .. } | Self::Lifetime { new: rule, .. } => {
                Some(rule)
            }
            Self::Remove { .. } => None,
        }
    }

    /// Returns the rule as it was before; `None` if it is new.
    #[must_use]
    pub const fn before(&self) -> Option<&Arc<PolicyRule>> {
        match self {
            Self::Insert(_) => None,
            Self::Replace { old: rule, .. }
            | Self::Lifetime { old: rule, .. }
            | Self::Remove { rule, .. } => Some(rule),
        }
    }
}

/// The reason why a rule is gone.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RemovalCause {
    /// An agent deleted the rule (PLC with lifetime zero).
    Deleted,
    /// The rule's deadline has passed.
    Expired,
    /// A policy disable rule is against it.
    Disabled,
    /// The middlebox' operator took it away.
    Administrative,
}

/// The reason why a filter changed nothing.
#[derive(Debug, thiserror::Error)]
pub enum FilterError {
    /// There is no room for another rule.
    #[error("the packet filter has no room for another rule")]
    Full,
    /// There is no room for another rule, and this is what there is too much of.
    #[error("the packet filter has no room for another rule: {0}")]
    Exhausted(#[source] Box<dyn Error + Send + Sync>),
    /// Something else; what, only the filter knows.
    #[error("the packet filter refused: {0}")]
    Refused(#[source] Box<dyn Error + Send + Sync>),
}

/// A rule as packets see it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct FilterRule {
    /// The policy rule it serves.
    pub id: PolicyRuleId,
    /// The treatment of the packets that the rule means.
    pub action: FilterAction,
    /// The transport protocol; [`TransportProtocol::ANY`] for all, ports are [`Ports::Any`] then.
    pub protocol: TransportProtocol,
    /// A0: the host and ports in the protected network, before translation.
    pub internal: Selector,
    /// A3: the host and ports outside, before translation.
    ///
    /// If `internal` and `external` both have several ports they have equally many, and the k-th goes with the
    /// k-th only (RFC 5189 §2.3.6): see [`FilterRule::port_pairs`].
    pub external: Selector,
    /// How addresses and ports change on the way; `None` without translation.
    pub translation: Option<Translation>,
    /// The time at which the rule ends, on the middlebox' clock.
    pub deadline: Instant,
}

/// The treatment of the packets that a rule means.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum FilterAction {
    /// The packets pass in this direction. For TCP the direction is that of the first segment; the others pass
    /// both ways. Other protocols pass this way only.
    Open(Direction),
    /// The packets do not pass, whatever else is open.
    Block,
}

impl FilterRule {
    /// Returns whether some packet belongs to both rules (RFC 4540 §8.8): protocol, internal and external side
    /// overlap.
    #[must_use]
    pub fn overlaps(&self, other: &Self) -> bool {
        self.protocol.overlaps(other.protocol)
            && self.internal.network.overlaps(&other.internal.network)
            && self.external.network.overlaps(&other.external.network)
            && self.some_port_pair_is_in(other)
    }

    /// Returns the pairs of internal and external ports whose packets the rule means; a wildcard on either side
    /// stays one.
    ///
    /// One pair, unless both sides have several ports.
    pub fn port_pairs(&self) -> impl Iterator<Item = (Ports, Ports)> + use<> {
        let (internal, external) = (self.internal.ports, self.external.ports);
        let count = match (internal, external) {
            (Ports::Range { count, .. }, Ports::Range { .. }) => count.get(),
            (Ports::Any, _) | (_, Ports::Any) => 1,
        };
        (0..count).map(move |step| match count {
            1 => (internal, external),
            _ => (internal.nth(step), external.nth(step)),
        })
    }

    /// Returns whether some pair of ports is in both rules. Ports of paired ranges go together: both offsets
    /// must hit the same step.
    fn some_port_pair_is_in(&self, other: &Self) -> bool {
        let (mine, theirs) = (self.pairing(), other.pairing());
        match (mine, theirs) {
            (Some(mine), Some(theirs)) => mine.meets(&theirs),
            (None, _) | (_, None) => {
                self.internal.ports.overlaps(other.internal.ports)
                    && self.external.ports.overlaps(other.external.ports)
                    && self.one_sided_pair_meets(other)
            }
        }
    }

    /// Returns whether some step of a range that is paired on one side only has both its ports in the other
    /// rule.
    fn one_sided_pair_meets(&self, other: &Self) -> bool {
        let (paired, free) = match (self.pairing(), other.pairing()) {
            (Some(pairing), _) => (pairing, other),
            (None, Some(pairing)) => (pairing, self),
            (None, None) => return true,
        };
        let internal = paired.steps_within(paired.internal, free.internal.ports);
        let external = paired.steps_within(paired.external, free.external.ports);
        matches!((internal, external), (Some(a), Some(b)) if a.0 <= b.1 && b.0 <= a.1)
    }

    fn pairing(&self) -> Option<Pairing> {
        match (self.internal.ports, self.external.ports) {
            (Ports::Range { first: internal, count }, Ports::Range { first: external, .. }) => {
                Some(Pairing {
                    internal: internal.into(),
                    external: external.into(),
                    count: count.get().into(),
                })
            }
            (Ports::Any, _) | (_, Ports::Any) => None,
        }
    }
}

/// Ports that go together: step k of both sides, k from 0 to `count` − 1.
#[derive(Clone, Copy, Debug)]
struct Pairing {
    internal: i32,
    external: i32,
    count: i32,
}

impl Pairing {
    /// Returns whether two pairings have a pair of ports in common: the difference between both sides must be
    /// the same, and the intervals must meet.
    const fn meets(&self, other: &Self) -> bool {
        self.external - self.internal == other.external - other.internal
            && self.internal < other.internal + other.count
            && other.internal < self.internal + self.count
    }

    /// Returns the first and the last step whose port, counted from `first`, is among `ports`.
    fn steps_within(&self, first: i32, ports: Ports) -> Option<(i32, i32)> {
        let (low, high) = match ports {
            Ports::Any => (0, self.count - 1),
            Ports::Range { first: other, count } => {
                let offset = i32::from(other) - first;
                (offset.max(0), (offset + i32::from(count.get()) - 1).min(self.count - 1))
            }
        };
        (low <= high).then_some((low, high))
    }
}

#[cfg(test)]
mod tests;

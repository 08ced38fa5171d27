//! Judges which addresses are fit for use by a policy, and in which order: a pure function of policy, host and what is in use.

use core::net::IpAddr;
use std::collections::BTreeSet;

use super::state::State;
use crate::decision::{Judgement, Verdict};
use crate::event::{Family, InterfaceId, Quality, Usability};
use crate::host::{Settled, Verification, Way};
use crate::interface::{Interface, reaches_beyond_the_link};
use crate::policy::{Policy, Preference};

/// Returns what is found about every address, each once, the best first.
pub(super) fn all(policy: &Policy, state: &State, host: &Settled<'_>) -> Vec<Judgement> {
    let mut found = Vec::new();
    for (id, interface) in host.interfaces() {
        let addresses = interface.addresses.keys().copied();
        for address in addresses.filter(|address| reaches_beyond_the_link(*address)) {
            found.push(Candidate { policy, state, host, id, interface, address }.judge());
        }
    }
    found.sort_by_key(|(rank, _)| *rank);
    let mut seen = BTreeSet::new();
    found.into_iter().filter_map(|(_, found)| seen.insert(found.address).then_some(found)).collect()
}

/// One address of one interface, and all that its judgement depends on.
struct Candidate<'a> {
    policy: &'a Policy,
    state: &'a State,
    host: &'a Settled<'a>,
    id: InterfaceId,
    interface: &'a Interface,
    address: IpAddr,
}

/// The order of addresses: fit ones by cost, verified before others, with a route before others, the primary one before others;
/// then by interface and address, so that there is one order only.
type Rank = (u32, bool, bool, bool, InterfaceId, IpAddr);

impl Candidate<'_> {
    fn judge(&self) -> (Rank, Judgement) {
        let name = self.interface.link.as_ref().map(|link| &link.name);
        let fits = |preference: &Preference| name.is_some_and(|name| preference.interface.fits(name));
        let place = self.policy.prefer.iter().position(fits);
        let verdict = self.verdict(place.and_then(|place| self.policy.prefer.get(place)));
        let judgement = Judgement {
            address: self.address,
            interface: self.id,
            name: name.cloned(),
            state: self.host.state_of(self.interface),
            preference: place,
            verdict,
        };
        let rank = (
            order(verdict),
            self.way().verification != Some(Verification::Verified),
            !self.has_route(),
            self.state.current() != Some(self.address),
            self.id,
            self.address,
        );
        (rank, judgement)
    }

    fn verdict(&self, preference: Option<&Preference>) -> Verdict {
        if !self.interface.can_send_from(self.address) {
            return Verdict::Unusable;
        }
        let Some(preference) = preference else { return Verdict::NotWanted };
        let usability = self.interface.addresses.get(&self.address);
        if usability == Some(&Usability::Deprecated) && !self.is_in_use() {
            return Verdict::Deprecated;
        }
        let needs = self.policy.needs;
        if let Some(until) = self.host.damped_until(self.interface) {
            Verdict::Damped { until }
        } else if needs.default_route && !self.has_route() {
            Verdict::NoDefaultRoute
        } else if self.way().verification == Some(Verification::Refuted) {
            Verdict::Refuted
        } else if let Some(weak) = self.weak_signal(preference) {
            weak
        } else if needs.verification && self.way().verification.is_none() {
            Verdict::Unknown
        } else {
            self.quality(preference)
        }
    }

    fn weak_signal(&self, preference: &Preference) -> Option<Verdict> {
        let (dbm, bound) = (self.interface.signal_dbm?, preference.signal?);
        let extra = if self.is_in_use() { 0 } else { i16::from(bound.hysteresis_db) };
        let needed = bound.min_dbm.saturating_add(extra);
        (dbm < needed).then_some(Verdict::WeakSignal { dbm, needed })
    }

    fn quality(&self, preference: &Preference) -> Verdict {
        let fit = Verdict::Fit { cost: preference.cost };
        if preference.rtt.is_none() && preference.loss_permille.is_none() {
            return fit;
        }
        let Some(quality) = self.way().quality else { return Verdict::Unknown };
        if self.is_good(quality, preference) { fit } else { Verdict::Bad(quality) }
    }

    /// Compares in hundredths of the bounds, so that nothing is rounded.
    fn is_good(&self, quality: Quality, preference: &Preference) -> bool {
        let less = if self.is_in_use() { 0 } else { u32::from(preference.quality_hysteresis_percent) };
        let share = 100_u32.saturating_sub(less);
        let is_fast =
            preference.rtt.is_none_or(|most| quality.rtt.saturating_mul(100) <= most.saturating_mul(share));
        let loses_little = preference
            .loss_permille
            .is_none_or(|most| u32::from(quality.loss_permille) * 100 <= u32::from(most) * share);
        is_fast && loses_little
    }

    fn is_in_use(&self) -> bool {
        self.state.known.contains_key(&self.address)
    }

    fn has_route(&self) -> bool {
        self.interface.has_default_route(self.host.now(), Family::of(self.address))
    }

    fn way(&self) -> Way {
        self.host.way(self.address)
    }
}

/// Returns the place of a verdict in the order: fit addresses by their cost, behind them what may become fit, and last what cannot be sent from.
fn order(verdict: Verdict) -> u32 {
    const BEHIND: u32 = u16::MAX as u32;
    match verdict {
        Verdict::Fit { cost } => u32::from(cost),
        Verdict::Damped { .. } => BEHIND + 1,
        Verdict::Unknown => BEHIND + 2,
        Verdict::WeakSignal { .. } | Verdict::Bad(_) => BEHIND + 3,
        Verdict::Deprecated | Verdict::NoDefaultRoute | Verdict::Refuted => BEHIND + 4,
        Verdict::NotWanted => BEHIND + 5,
        Verdict::Unusable => BEHIND + 6,
    }
}

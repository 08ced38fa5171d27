//! The next hops of routes that have names: where they are, and which of their addresses do not answer (RFC 3263 §4).

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use sip::{Flow, Transport};
use virtual_time::Instant;

/// The next hop of a route: where its calls are sent.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum NextHop {
    /// An address, and the transport over which it is reached.
    Address(Flow),
    /// A name, which is looked up.
    Name(HopName),
}

/// The name of a next hop, with what the configuration says of it; the rest is looked up.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct HopName {
    /// The name of the host or domain.
    pub host: String,
    /// The port; with one, no services are looked up.
    pub port: Option<u16>,
    /// The transport; without one, the domain says which ones it has.
    pub transport: Option<Transport>,
}

impl fmt::Display for HopName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.host)?;
        self.port.map_or(Ok(()), |port| write!(f, ":{port}"))
    }
}

/// An address at which a next hop is reached.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct HopAddress {
    /// The transport and address by which the next hop is reached.
    pub flow: Flow,
    /// The rank of the address: those with a lower one are tried first.
    pub rank: u32,
    /// The share of calls it gets among those of its rank (RFC 2782).
    pub weight: u16,
}

/// All next hops with names.
#[derive(Debug, Default)]
pub(super) struct Hops {
    found: BTreeMap<HopName, Vec<HopAddress>>,
    /// The addresses that did not answer, and until when they are left alone.
    failed: BTreeMap<Flow, Instant>,
}

impl Hops {
    /// Takes over what a name stands for from now on.
    pub(super) fn set(&mut self, name: HopName, targets: Vec<HopAddress>) {
        self.found.insert(name, targets);
        let known = |flow: &Flow| self.found.values().flatten().any(|target| target.flow == *flow);
        self.failed.retain(|flow, _| known(flow));
    }

    /// Forgets all names but those that routes have.
    pub(super) fn keep(&mut self, is_kept: impl Fn(&HopName) -> bool) {
        self.found.retain(|name, _| is_kept(name));
    }

    /// Chooses the way of a call by a number drawn at random: among the addresses of the lowest rank that answer, by their weights;
    /// among all if none does. `None` if the name stands for nothing, or is not looked up yet.
    pub(super) fn choose(&self, now: Instant, hop: &NextHop, drawn: u64) -> Option<Flow> {
        let name = match hop {
            NextHop::Address(flow) => return Some(*flow),
            NextHop::Name(name) => name,
        };
        let all = self.found.get(name)?;
        let answers = |target: &&HopAddress| self.failed.get(&target.flow).is_none_or(|until| *until <= now);
        let mut fit: Vec<&HopAddress> = all.iter().filter(answers).collect();
        if fit.is_empty() {
            fit = all.iter().collect();
        }
        let rank = fit.iter().map(|target| target.rank).min()?;
        fit.retain(|target| target.rank == rank);
        // One more than the weight, so that those without one are chosen, too, if seldom.
        let weight = |target: &HopAddress| u64::from(target.weight) + 1;
        let mut left = drawn % fit.iter().map(|target| weight(target)).sum::<u64>();
        for target in fit {
            match left.checked_sub(weight(target)) {
                Some(rest) => left = rest,
                None => return Some(target.flow),
            }
        }
        None
    }

    /// Takes note that a call got no answer from an address of a name: the next calls go to others for a while.
    pub(super) fn note_failure(&mut self, now: Instant, flow: Flow) {
        if self.found.values().flatten().any(|target| target.flow == flow) {
            self.failed.insert(flow, now + LEFT_ALONE);
        }
    }
}

/// How long an address that did not answer is left alone.
const LEFT_ALONE: Duration = Duration::from_secs(30);

#[cfg(test)]
mod tests {
    use super::*;

    fn target(address: &str, rank: u32, weight: u16) -> HopAddress {
        HopAddress { flow: Flow::new(Transport::UDP, address.parse().unwrap()), rank, weight }
    }

    fn hops() -> (Hops, NextHop, [Flow; 3]) {
        let name = HopName { host: "example.org".to_owned(), port: None, transport: None };
        let targets =
            [target("192.0.2.1:5060", 0, 29), target("192.0.2.2:5060", 0, 9), target("192.0.2.3:5060", 1, 0)];
        let mut hops = Hops::default();
        hops.set(name.clone(), targets.to_vec());
        (hops, NextHop::Name(name), targets.map(|target| target.flow))
    }

    #[test]
    fn addresses_of_the_lowest_rank_get_calls_by_their_weights() {
        // RFC 2782: a share of weight by sum of weights.
        let (hops, hop, [first, second, _]) = hops();
        let of = |flow| (0..400).filter(|n| hops.choose(Instant::EPOCH, &hop, *n) == Some(flow)).count();
        assert_eq!((of(first), of(second)), (300, 100));
    }

    #[test]
    fn an_address_that_does_not_answer_is_left_alone_for_thirty_seconds() {
        let (mut hops, hop, [first, second, third]) = hops();
        let mut now = Instant::EPOCH;
        hops.note_failure(now, first);
        assert!((0..40).all(|n| hops.choose(now, &hop, n) == Some(second)));
        hops.note_failure(now, second);
        assert!((0..40).all(|n| hops.choose(now, &hop, n) == Some(third)), "the next rank");
        hops.note_failure(now, third);
        assert!(hops.choose(now, &hop, 0).is_some(), "if none answers, all are tried");
        now += LEFT_ALONE;
        assert_eq!(hops.choose(now, &hop, 0), Some(first));
    }

    #[test]
    fn names_that_stand_for_nothing_lead_nowhere_and_addresses_to_themselves() {
        let (mut hops, hop, [first, ..]) = hops();
        assert_eq!(hops.choose(Instant::EPOCH, &NextHop::Address(first), 7), Some(first));
        hops.keep(|_| false);
        assert_eq!(hops.choose(Instant::EPOCH, &hop, 7), None);
    }
}

//! The host: all interfaces, bounds on their number, and the instant that closes.
//!
//! Owns facts and what follows from them; not policies, nor what an association does with any of it.

use core::net::IpAddr;
use core::time::Duration;
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use virtual_time::Instant;

use crate::damping::Damping;
use crate::event::{Event, Family, InterfaceId, InterfaceName, Quality};
use crate::interface::{Interface, InterfaceState, Link};

/// The host as it is known: its interfaces, and the way from their addresses.
///
/// The contract: hand in all [events](Self::handle_event) that are there, then [`settle`](Self::settle) and show the result to
/// the [`Handover`](crate::Handover) of each association; come back at [`poll_timeout`](Self::poll_timeout) at the latest. While
/// [`needs_reading`](Self::needs_reading), something was missed: read everything there is and hand it to
/// [`read_anew`](Self::read_anew).
///
/// Serialised, it can be kept over a restart within the same epoch of [`Instant`]; it is no format for data of strangers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Host {
    interfaces: BTreeMap<InterfaceId, Interface>,
    /// The ways from addresses, those of interfaces that are up.
    ways: BTreeMap<IpAddr, Way>,
    #[serde(skip)]
    damping: Damping,
    budget: Budget,
    needs_reading: bool,
    /// The instant of the last event.
    instant: Instant,
    refused: RefusedEvents,
}

/// The way from an address to peers, as far as it is known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Way {
    pub(crate) verification: Option<Verification>,
    pub(crate) quality: Option<Quality>,
}

/// Whether packets from an address are answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Verification {
    Verified,
    Refuted,
}

/// The numbers of events that were refused.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RefusedEvents {
    /// Events that came faster than [`EVENTS_PER_SECOND`].
    pub too_fast: u64,
    /// Events about an interface more than [`MAX_INTERFACES`].
    pub too_many_interfaces: u64,
    /// Events about an address more than [`MAX_ADDRESSES`].
    pub too_many_addresses: u64,
}

/// The reason why an event was not taken in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// More than [`EVENTS_PER_SECOND`] came. [`Host::needs_reading`] says so until the host is read anew.
    #[error("more than {EVENTS_PER_SECOND} events a second; read the interfaces anew")]
    TooFast,
    /// [`MAX_INTERFACES`] are known.
    #[error("more than {MAX_INTERFACES} interfaces")]
    TooManyInterfaces,
    /// [`MAX_ADDRESSES`] of the interface are known.
    #[error("more than {MAX_ADDRESSES} addresses of one interface")]
    TooManyAddresses,
}

impl Host {
    /// Creates a host of which nothing is known, with the measures by which its interfaces are damped.
    #[must_use]
    pub fn new(damping: Damping) -> Self {
        Self { damping, ..Self::default() }
    }

    /// Sets the measures by which interfaces are damped from now on; a host that was kept has the defaults until then.
    pub fn set_damping(&mut self, damping: Damping) {
        self.damping = damping;
    }

    /// Takes in a fact. The first one of an instant closes the instant before, for which all interfaces are looked at.
    ///
    /// # Errors
    ///
    /// A bound is reached; the event is counted in [`refused`](Self::refused) and nothing else is changed.
    pub fn handle_event(&mut self, now: Instant, event: Event) -> Result<(), Refused> {
        self.close_before(now);
        if !self.budget.take(now) {
            self.refused.too_fast += 1;
            self.needs_reading = true;
            return Err(Refused::TooFast);
        }
        self.write_down(now, event)
    }

    /// Takes in everything there is, in place of what was known of links, addresses and routes; what was measured of addresses that
    /// are still there stays. Facts beyond the bounds are counted and left out.
    pub fn read_anew(&mut self, now: Instant, events: impl IntoIterator<Item = Event>) {
        self.close_before(now);
        for interface in self.interfaces.values_mut() {
            let kept = core::mem::take(interface);
            interface.flaps = kept.flaps;
            interface.was_usable = kept.was_usable;
            interface.signal_dbm = kept.signal_dbm;
            // Advertisements are not in the kernel's tables.
            interface.router_until = kept.router_until;
        }
        for event in events {
            // Counted where refused: a table beyond the bounds is no reason to read it again.
            let _refused = self.write_down(now, event);
        }
        self.needs_reading = false;
        self.budget = Budget::default();
    }

    /// Closes the instant: counts flaps, forgets what is known of the way from addresses that cannot be used, and returns the host as
    /// it stands.
    pub fn settle(&mut self, now: Instant) -> Settled<'_> {
        self.close_before(now);
        self.instant = self.instant.max(now);
        self.close();
        Settled { host: self, now: self.instant }
    }

    /// Returns when something changes without an event: an interface is damped no more, or a router's lifetime is over.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Instant> {
        let now = self.instant;
        let of = |interface: &Interface| {
            let damped = interface.flaps.suppressed_until(now, &self.damping);
            let router = interface.router_until.filter(|until| *until > now);
            damped.into_iter().chain(router).min()
        };
        self.interfaces.values().filter_map(of).min()
    }

    /// Returns whether events were refused because they came too fast, so that everything is to be read anew.
    #[must_use]
    pub fn needs_reading(&self) -> bool {
        self.needs_reading
    }

    /// Returns how many events were refused, and why.
    #[must_use]
    pub fn refused(&self) -> RefusedEvents {
        self.refused
    }

    fn write_down(&mut self, now: Instant, event: Event) -> Result<(), Refused> {
        match event {
            Event::Link { interface, name, state } => {
                self.interface(interface)?.link = Some(Link { name, state });
            }
            Event::LinkGone { interface } => self.known(interface, |known| known.link = None),
            Event::Address { interface, address, usability } => {
                let known = &mut self.interface(interface)?.addresses;
                let address = address.to_canonical();
                if known.len() >= MAX_ADDRESSES && !known.contains_key(&address) {
                    self.refused.too_many_addresses += 1;
                    return Err(Refused::TooManyAddresses);
                }
                known.insert(address, usability);
            }
            Event::AddressGone { interface, address } => {
                self.known(interface, |known| {
                    known.addresses.remove(&address.to_canonical());
                });
            }
            Event::DefaultRoute { interface, family } => {
                *route(self.interface(interface)?, family) = true;
            }
            Event::DefaultRouteGone { interface, family } => {
                self.known(interface, |known| *route(known, family) = false);
            }
            Event::Router { interface, lifetime } => {
                let until = (!lifetime.is_zero()).then(|| now + lifetime);
                self.interface(interface)?.router_until = until;
            }
            Event::Signal { interface, dbm } => self.interface(interface)?.signal_dbm = Some(dbm),
            Event::Measured { address, quality } => self.way(address, |way| way.quality = Some(quality)),
            Event::Verified { address } => {
                self.way(address, |way| way.verification = Some(Verification::Verified));
            }
            Event::Refuted { address } => {
                self.way(address, |way| way.verification = Some(Verification::Refuted));
            }
        }
        Ok(())
    }

    fn interface(&mut self, id: InterfaceId) -> Result<&mut Interface, Refused> {
        let count = self.interfaces.len();
        match self.interfaces.entry(id) {
            Entry::Occupied(known) => Ok(known.into_mut()),
            Entry::Vacant(free) if count < MAX_INTERFACES => Ok(free.insert(Interface::default())),
            Entry::Vacant(_) => {
                self.refused.too_many_interfaces += 1;
                Err(Refused::TooManyInterfaces)
            }
        }
    }

    /// Changes what is known of an interface; of one that is not known there is nothing to forget.
    fn known(&mut self, id: InterfaceId, change: impl FnOnce(&mut Interface)) {
        if let Some(known) = self.interfaces.get_mut(&id) {
            change(known);
        }
    }

    /// Notes what is known of the way from an address. Until the instant is closed that may be any address, of as many as may ever be
    /// there.
    fn way(&mut self, address: IpAddr, change: impl FnOnce(&mut Way)) {
        let address = address.to_canonical();
        if self.ways.len() < MAX_INTERFACES * MAX_ADDRESSES || self.ways.contains_key(&address) {
            change(self.ways.entry(address).or_default());
        }
    }

    /// Returns the addresses that packets can be sent from.
    fn usable(&self) -> BTreeSet<IpAddr> {
        let of = |interface: &Interface| {
            let addresses = interface.addresses.keys().copied();
            addresses.filter(|address| interface.can_send_from(*address)).collect::<Vec<_>>()
        };
        self.interfaces.values().flat_map(of).collect()
    }

    /// Closes the instant before `now`, if events came in it. Time that goes back counts as no time.
    fn close_before(&mut self, now: Instant) {
        if now > self.instant {
            self.close();
            self.instant = now;
        }
    }

    fn close(&mut self) {
        let now = self.instant;
        for interface in self.interfaces.values_mut() {
            let is_usable = interface.state() >= InterfaceState::Addressed;
            if interface.was_usable && !is_usable {
                interface.flaps.count(now, &self.damping);
            }
            interface.was_usable = is_usable;
            if interface.router_until.is_some_and(|until| until <= now) {
                interface.router_until = None;
            }
            // Another access point has another signal.
            if interface.state() < InterfaceState::Associated {
                interface.signal_dbm = None;
            }
        }
        self.interfaces.retain(|_, interface| !interface.is_forgettable(now));
        if !self.ways.is_empty() {
            let usable = self.usable();
            self.ways.retain(|address, _| usable.contains(address));
        }
    }
}

fn route(interface: &mut Interface, family: Family) -> &mut bool {
    match family {
        Family::V4 => &mut interface.has_route_v4,
        Family::V6 => &mut interface.has_route_v6,
    }
}

/// A host whose last instant is closed: what decisions are made on.
#[derive(Clone, Copy, Debug)]
pub struct Settled<'a> {
    host: &'a Host,
    now: Instant,
}

impl<'a> Settled<'a> {
    /// Returns the instant that is closed.
    #[must_use]
    pub fn now(&self) -> Instant {
        self.now
    }

    /// Returns the addresses that packets can be sent from now, each once, in their order.
    pub fn usable(&self) -> impl Iterator<Item = IpAddr> + use<> {
        self.host.usable().into_iter()
    }

    /// Returns how far an interface has come.
    #[must_use]
    pub fn state(&self, interface: InterfaceId) -> InterfaceState {
        self.host.interfaces.get(&interface).map_or(InterfaceState::Absent, |known| self.state_of(known))
    }

    /// Returns every interface of which something is known, with its name where its link is known, and how far it has come.
    pub fn states(&self) -> impl Iterator<Item = (InterfaceId, Option<&'a InterfaceName>, InterfaceState)> {
        self.interfaces().map(|(id, interface)| {
            (id, interface.link.as_ref().map(|link| &link.name), self.state_of(interface))
        })
    }

    pub(crate) fn state_of(&self, interface: &Interface) -> InterfaceState {
        let is_verified = |address: &IpAddr| self.way(*address).verification == Some(Verification::Verified);
        let state = interface.state();
        if state == InterfaceState::Addressed && interface.addresses.keys().any(is_verified) {
            return InterfaceState::Verified;
        }
        state
    }

    pub(crate) fn interfaces(&self) -> impl Iterator<Item = (InterfaceId, &'a Interface)> + use<'a> {
        self.host.interfaces.iter().map(|(id, interface)| (*id, interface))
    }

    pub(crate) fn way(&self, address: IpAddr) -> Way {
        self.host.ways.get(&address).copied().unwrap_or_default()
    }

    pub(crate) fn damped_until(&self, interface: &Interface) -> Option<Instant> {
        interface.flaps.suppressed_until(self.now, &self.host.damping)
    }
}

/// A bucket of events: full at first, filled at [`EVENTS_PER_SECOND`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Budget {
    left: u32,
    filled_at: Instant,
}

impl Default for Budget {
    fn default() -> Self {
        Self { left: EVENTS_PER_SECOND, filled_at: Instant::EPOCH }
    }
}

impl Budget {
    fn take(&mut self, now: Instant) -> bool {
        let each = Duration::from_secs(1) / EVENTS_PER_SECOND;
        let new = now.since(self.filled_at).as_nanos() / each.as_nanos();
        if new > 0 {
            let new = u32::try_from(new).unwrap_or(u32::MAX);
            self.left = self.left.saturating_add(new).min(EVENTS_PER_SECOND);
            self.filled_at = now;
        }
        let has_some = self.left > 0;
        self.left = self.left.saturating_sub(1);
        has_some
    }
}

/// The number of interfaces that are kept.
pub const MAX_INTERFACES: usize = 64;
/// The number of addresses that are kept of an interface.
pub const MAX_ADDRESSES: usize = 16;
/// The number of events that are taken in within a second, and at once after a second of silence.
pub const EVENTS_PER_SECOND: u32 = 1_000;

#[cfg(test)]
mod tests;

//! All paths of an association: primary, path in use, sources.

use core::time::Duration;
use std::net::IpAddr;

use virtual_time::Instant;

use super::address::source_for;
use super::failure::{Choice, FailureThresholds, PathCandidate, Purpose, choose};
use super::source::{Follow, Hint};
use super::{Answer, Congestion, Path, PathIds, PerPath, Rebinding, Unanswered, Way};
use crate::config::AssociationConfig;
use crate::event::PathState;
use crate::trace;
use crate::transmit::{Destination, Encapsulation, MAX_PATHS, PathId, PathIndex};

/// All paths of an association. A path keeps its index; that of a deleted address is used again when all are.
#[derive(Debug)]
pub(crate) struct PathSet {
    paths: PerPath<Path>,
    primary: PathIndex,
    /// The path for new data, kept up to date with every change, so that sending does not choose.
    current: PathIndex,
    /// The path the peer would like to be primary, until its address is confirmed.
    preferred: Option<PathIndex>,
    limits: FailureThresholds,
    locals: Locals,
    verification: VerificationWindow,
    /// How often new data changed its path.
    switches: u64,
    /// Grows with every change of what the endpoint finds associations by: confirmed addresses and their ports.
    revision: u32,
}

/// The local addresses that may be sent from.
#[derive(Clone, Debug)]
struct Locals {
    addresses: Vec<IpAddr>,
    /// Whether any were configured: otherwise the routing table chooses.
    are_configured: bool,
}

/// HEARTBEATs to unconfirmed addresses in the current RTO (HB.Max.Burst, RFC 9260 §5.4).
#[derive(Clone, Copy, Debug, Default)]
struct VerificationWindow {
    ends_at: Instant,
    sent: u32,
}

/// The time at which a HEARTBEAT may go to an unconfirmed address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum VerificationSlot {
    Now,
    At(Instant),
}

/// The outcome for an address of the peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Added {
    /// The address has become a path.
    New,
    /// The address was a path already.
    Known,
    /// There are [`MAX_PATHS`] already: it is not used.
    TooMany,
}

impl PathSet {
    /// Creates the set with the path of the handshake, which counts as confirmed: the user named it, or it
    /// carried tag and cookie both ways (RFC 9260 §5.4). `locals` are the local addresses to choose sources
    /// from; with none the routing table chooses.
    pub(crate) fn new(first: Destination, locals: &[IpAddr], config: &AssociationConfig) -> Self {
        let locals = Locals { addresses: locals.to_vec(), are_configured: !locals.is_empty() };
        let mut path = Path::new((PathIndex::FIRST, 0), first, PathState::Active, config);
        locals.assign(&mut path);
        Self {
            paths: PerPath::new(path),
            primary: PathIndex::FIRST,
            current: PathIndex::FIRST,
            preferred: None,
            limits: FailureThresholds::of(config),
            locals,
            verification: VerificationWindow::default(),
            switches: 0,
            revision: 1,
        }
    }

    /// Adds a path to an address of the peer, `Active` if the user vouches for it and `Unconfirmed` otherwise
    /// (RFC 9260 §5.4). One that is known stays as it is. The caller starts its HEARTBEATs.
    pub(crate) fn add(
        &mut self,
        destination: Destination,
        state: PathState,
        config: &AssociationConfig,
    ) -> Added {
        if self.by_address(destination.address).is_some() {
            return Added::Known;
        }
        let Some((index, generation)) = self.vacancy() else { return Added::TooMany };
        let mut path = Path::new((index, generation), destination, state, config);
        self.locals.assign(&mut path);
        match self.paths.get_mut(index) {
            Some(place) => *place = path,
            None => self.paths.push(path),
        }
        self.revision += 1;
        self.reselect();
        Added::New
    }

    /// Returns the index for one more address, and how many had it before: those of deleted addresses are used again once
    /// all have been used.
    fn vacancy(&self) -> Option<(PathIndex, u32)> {
        if let Some(index) =
            PathIndex::below(self.paths.len() + 1).last().filter(|_| self.paths.len() < MAX_PATHS)
        {
            return Some((index, 0));
        }
        let is_vacant =
            |path: &&Path| path.state == PathState::Removed && path.generation < PathId::GENERATIONS;
        self.paths.iter().find(is_vacant).map(|path| (path.index, path.generation + 1))
    }

    /// Returns the path of this name; `None` if its address was deleted, whoever has its index now.
    pub(crate) fn by_id(&self, id: PathId) -> Option<PathIndex> {
        self.iter().find(|path| path.id() == id).map(|path| path.index)
    }

    /// Returns the name of a path for the user.
    pub(crate) fn id(&self, path: PathIndex) -> PathId {
        self.path(path).id()
    }

    /// Panics never: indices are handed out by this set and paths are not removed.
    pub(crate) fn path(&self, id: PathIndex) -> &Path {
        &self.paths[id]
    }

    pub(crate) fn path_mut(&mut self, id: PathIndex) -> &mut Path {
        &mut self.paths[id]
    }

    /// Returns all paths but those to addresses the peer has deleted.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Path> {
        self.paths.iter().filter(|path| path.state != PathState::Removed)
    }

    /// Returns all paths, also those to deleted addresses: what was sent there may still be on its way.
    pub(crate) fn ever(&self) -> impl Iterator<Item = &Path> {
        self.paths.iter()
    }

    pub(crate) fn ids(&self) -> PathIds {
        self.iter().map(|path| path.index).collect()
    }

    pub(crate) fn contains(&self, id: PathIndex) -> bool {
        self.paths.get(id).is_some_and(|path| path.state != PathState::Removed)
    }

    /// Returns whether there has never been another path than the first.
    #[inline]
    pub(crate) fn has_only_first(&self) -> bool {
        self.paths.len() == 1
    }

    pub(crate) fn has_several(&self) -> bool {
        self.iter().nth(1).is_some()
    }

    /// Returns the path a packet from this address belongs to.
    pub(crate) fn by_address(&self, address: IpAddr) -> Option<PathIndex> {
        self.iter().find(|path| path.destination.address == address).map(|path| path.index)
    }

    /// Returns whether the peer has, or lists, this transport address.
    pub(crate) fn has_destination(&self, destination: Destination) -> bool {
        self.iter().any(|path| path.destination == destination)
    }

    /// Returns the addresses the peer has shown to be its own: by these the endpoint finds the association.
    pub(crate) fn confirmed(&self) -> impl Iterator<Item = Destination> {
        self.paths.iter().filter(|path| path.is_confirmed()).map(|path| path.destination)
    }

    /// Returns whether there is a path that data may go to. A peer can delete all it had by ASCONF and leave
    /// those it never answered from.
    pub(crate) fn has_confirmed(&self) -> bool {
        self.iter().any(Path::is_confirmed)
    }

    pub(crate) fn revision(&self) -> u32 {
        self.revision
    }

    pub(crate) fn switches(&self) -> u64 {
        self.switches
    }

    pub(crate) fn local_addresses(&self) -> &[IpAddr] {
        &self.locals.addresses
    }

    /// A packet with a valid tag came in, which says where the peer sends to.
    pub(crate) fn on_packet(
        &mut self,
        now: Instant,
        id: PathIndex,
        source: Destination,
        local: Option<IpAddr>,
    ) {
        let path = self.path_mut(id);
        path.counters.packets_received += 1;
        let (way, unanswered) = (Way { local, encapsulation: source.encapsulation }, path.errors);
        if let Some(local) = path.source.hears(now, way, path.destination.encapsulation) {
            self.follow(now, id, (local, way.encapsulation), Hint::Packet { unanswered });
        }
    }

    /// A packet had user data: what the peer sends to this local address alone is followed there.
    #[inline]
    pub(crate) fn on_data(&mut self, now: Instant, id: PathIndex) {
        let path = self.path(id);
        if let Some(Way { local: Some(local), encapsulation }) = path.source.way_of_answer()
            && path.source.address() != Some(local)
        {
            let patience = path.rto.rto();
            self.follow(now, id, (local, encapsulation), Hint::Data { patience });
        }
    }

    /// Another local address may be the better one to send from. One that is given up, or not agreed on yet, is
    /// not one to send from for that (RFC 5061 §5.3 (F1), (F4)). The port at the other end has to be verified.
    fn follow(&mut self, now: Instant, id: PathIndex, (local, from): (IpAddr, Encapsulation), hint: Hint) {
        if !self.locals.may_be_sent_from(local) {
            return;
        }
        let path = self.path_mut(id);
        match path.source.follow(now, local, hint) {
            Follow::Stays => return,
            Follow::Begins => {}
            // RFC 9260 §7.2.5.2: from another source address the way to the peer may be another.
            Follow::Moves => path.change_window("source address changed", Congestion::reinitialise),
        }
        let way = Way { local: Some(local), encapsulation: from };
        let _in_use = path.source.hears(now, way, path.destination.encapsulation);
    }

    /// Returns how the packet being looked at travelled, if not as the path's own do though it came to the address that they
    /// leave from: a NAT may have changed the peer's UDP port (RFC 6951 §5.4). A channel stays one.
    #[inline]
    pub(crate) fn other_port(&self, id: PathIndex) -> Option<Way> {
        let path = self.path(id);
        let is_other = |way: &Way| {
            let ports = [way.encapsulation, path.destination.encapsulation];
            ports[0] != ports[1]
                && !ports.contains(&Encapsulation::Datagrams)
                && way.local.is_none_or(|local| path.source.address() == Some(local))
        };
        path.source.way_of_answer().filter(is_other)
    }

    /// The packets of a path travel like this from now on.
    pub(crate) fn move_to_port(&mut self, id: PathIndex, encapsulation: Encapsulation) {
        let path = self.path_mut(id);
        path.set_encapsulation(encapsulation);
        trace::peer_port_changed(id, &path.destination);
        path.rebinding = Rebinding::default();
        path.counters.note().rebindings += 1;
        self.revision += 1;
    }

    /// Returns the way that an answer to the packet being looked at has to take, where it is not the path's.
    pub(crate) fn way_of_answer(&self, id: PathIndex) -> Option<Way> {
        let may_be = |way: &Way| way.local.is_none_or(|local| self.locals.may_be_sent_from(local));
        self.path(id).source.way_of_answer().filter(may_be)
    }

    /// The peer was asked to send to this local address, and will: the only path to it begins there, too. Where there are
    /// several, each keeps the address that fits it best.
    pub(crate) fn on_primary_granted(&mut self, now: Instant, local: IpAddr) {
        let mut fitting = self.iter().filter(|path| path.destination.address.is_ipv4() == local.is_ipv4());
        let (first, second) = (fitting.next(), fitting.next());
        if let (Some(only), None) = (first, second)
            && only.source.address() != Some(local)
        {
            let (id, encapsulation) = (only.index, only.destination.encapsulation);
            drop(fitting);
            self.follow(now, id, (local, encapsulation), Hint::Asked);
        }
    }

    /// The limits of errors are others from now on.
    pub(crate) fn set_limits(&mut self, config: &AssociationConfig) {
        self.limits = FailureThresholds::of(config);
    }

    /// Returns the path for new data (RFC 9260 §6.4).
    pub(crate) fn for_data(&self) -> PathIndex {
        self.current
    }

    pub(crate) fn primary(&self) -> PathIndex {
        self.primary
    }

    /// Returns the path on which a chunk goes again that was last sent on `path`: one that timed out elsewhere,
    /// if elsewhere is as good; one that acknowledgments show to be lost on the same path while that is active
    /// (RFC 9260 §6.4).
    pub(crate) fn for_lost(&self, path: PathIndex, loss: Loss) -> PathIndex {
        // The peer has deleted the address it was sent to (RFC 5061 §5.3 (F13)).
        if !self.contains(path) {
            return self.current;
        }
        if !self.has_several() {
            return path;
        }
        match loss {
            Loss::TimedOut => self.choose(Purpose::TimedOutOn(path)).path().unwrap_or(self.current),
            Loss::Reported if self.is_usable(path) => path,
            Loss::Reported => self.current,
        }
    }

    /// Returns another active path than this one, if there is any.
    pub(crate) fn alternate(&self, path: PathIndex) -> Option<PathIndex> {
        if !self.has_several() {
            return None;
        }
        let other = self.choose(Purpose::TimedOutOn(path)).path()?;
        (other != path && self.is_usable(other)).then_some(other)
    }

    /// Returns the active path after this one, in the order of their numbers and around; itself if there is no
    /// other.
    pub(crate) fn next_active(&self, path: PathIndex) -> PathIndex {
        self.next_after(path, |other| self.is_usable(other.index)).unwrap_or(path)
    }

    /// Returns the first path after this one, in the order of their numbers and around, of which something holds; the last is this
    /// one itself.
    pub(crate) fn next_after(&self, path: PathIndex, holds: impl Fn(&Path) -> bool) -> Option<PathIndex> {
        let after = self.paths.iter().skip(path.index() + 1);
        let mut all = after.chain(self.paths.iter().take(path.index() + 1));
        all.find(|other| other.state != PathState::Removed && holds(other)).map(|other| other.index)
    }

    /// Returns the confirmed path after this one: where the next INIT, COOKIE ECHO or SHUTDOWN goes.
    pub(crate) fn next_confirmed(&self, path: PathIndex) -> PathIndex {
        self.next_after(path, Path::is_confirmed).unwrap_or(path)
    }

    /// Returns whether data may be sent at all: there is a confirmed address of the peer, and one of ours to
    /// send from.
    pub(crate) fn is_open(&self) -> bool {
        let path = self.path(self.current);
        path.is_confirmed() && !path.source.is_stranded()
    }

    /// Returns whether there is an address of ours to send from to where data goes.
    pub(crate) fn has_source(&self) -> bool {
        !self.path(self.current).source.is_stranded()
    }

    /// The peer would like this path to be the primary one: it is, or will be when its address is confirmed.
    pub(crate) fn prefer(&mut self, id: PathIndex) {
        let is_primary = self.set_primary(id);
        self.preferred = (!is_primary).then_some(id);
    }

    /// The peer has deleted this address. Its number stays taken as long as there are others.
    pub(crate) fn remove(&mut self, id: PathIndex) {
        let path = self.path_mut(id);
        let _removed = path.enter(PathState::Removed);
        let _asked = path.heartbeat.expire();
        path.probe_is_due = false;
        self.revision += 1;
        // The number may be given out again, and to another address.
        self.preferred = self.preferred.filter(|preferred| *preferred != id);
        self.reselect();
        if self.current == id {
            self.current = self.remaining();
        }
        if self.primary == id {
            self.make_primary(self.remaining(), "address deleted");
        }
    }

    /// Returns a path that is left: the one in use, another confirmed one, or any.
    pub(crate) fn remaining(&self) -> PathIndex {
        let is_current = |path: &&Path| path.index == self.current;
        let confirmed = || self.iter().filter(|path| path.is_confirmed());
        let path = confirmed().find(is_current).or_else(|| confirmed().next()).or_else(|| self.iter().next());
        path.map_or(self.current, |path| path.index)
    }

    /// Makes this path the primary one. False if its address is not confirmed.
    pub(crate) fn set_primary(&mut self, id: PathIndex) -> bool {
        let is_confirmed = self.path(id).is_confirmed();
        if is_confirmed {
            self.make_primary(id, "chosen");
            self.reselect();
        }
        is_confirmed
    }

    #[inline]
    pub(crate) fn on_measurement(&mut self, id: PathIndex, now: Instant, rtt: Duration) {
        self.path_mut(id).rto.on_measurement(now, rtt);
    }

    /// Takes note of an answer on a path, and returns its new state if that changed it.
    pub(crate) fn on_answer(&mut self, id: PathIndex, answer: Answer) -> Option<PathState> {
        let was_confirmed = self.path(id).is_confirmed();
        let change = self.path_mut(id).on_answer(answer)?;
        if !was_confirmed {
            self.revision += 1;
            let is_preferred = self.preferred == Some(id);
            if is_preferred || !self.path(self.primary).is_confirmed() {
                self.make_primary(id, "confirmed");
                self.preferred = self.preferred.filter(|_| !is_preferred);
            }
        }
        self.reselect();
        Some(change)
    }

    /// Takes note of a transmission on a path that went unanswered, and returns its new state if that changed
    /// it.
    pub(crate) fn on_unanswered(&mut self, id: PathIndex, what: Unanswered) -> Option<PathState> {
        let limits = self.limits;
        let change = self.path_mut(id).on_unanswered(what, &limits);
        // Also without a change of state: of failed paths that with the fewest errors is used.
        self.reselect();
        if id == self.primary && id != self.current && limits.switches_primary(self.path(id).errors) {
            self.make_primary(self.current, "switchover");
        }
        change
    }

    /// Returns when a HEARTBEAT may go to the unconfirmed address of `id`: at most `burst` in one RTO (RFC 9260
    /// §5.4), and none before those that were asked less often.
    pub(crate) fn verification_slot(&mut self, now: Instant, id: PathIndex, burst: u32) -> VerificationSlot {
        let (rto, errors) = (self.path(id).rto.rto(), self.path(id).errors);
        let goes_before = |other: &Path| {
            other.state == PathState::Unconfirmed
                && other.errors < errors
                && !other.heartbeat.is_outstanding()
        };
        if self.iter().any(goes_before) {
            return VerificationSlot::At(self.verification.ends_at.max(now + rto));
        }
        let window = &mut self.verification;
        if now >= window.ends_at {
            *window = VerificationWindow { ends_at: now + rto, sent: 0 };
        }
        if window.sent >= burst {
            return VerificationSlot::At(window.ends_at);
        }
        window.sent += 1;
        VerificationSlot::Now
    }

    /// Takes over the count of what was asked of unconfirmed addresses before the peer began anew.
    pub(crate) fn adopt_verification(&mut self, predecessor: &Self) {
        self.verification = predecessor.verification;
    }

    /// Gives another source address to the paths that used `local`, from which nothing is to be sent any more.
    /// The peer knows of both, so they stay what they were.
    pub(crate) fn on_local_deleted(&mut self, local: IpAddr) -> PathIds {
        self.locals.addresses.retain(|address| *address != local);
        let mut moved = PathIds::default();
        for path in self.paths.iter_mut().filter(|path| path.source.address() == Some(local)) {
            self.locals.assign(path);
            moved.insert(path.index);
        }
        self.reselect();
        moved.into_iter().filter(|path| self.contains(*path)).collect()
    }

    /// Nothing is sent but from these local addresses.
    pub(crate) fn use_locals(&mut self, addresses: Vec<IpAddr>) {
        self.locals.addresses = addresses;
        let may_stay = |path: &Path| {
            path.source.address().is_some_and(|address| self.locals.addresses.contains(&address))
        };
        for path in self.paths.iter_mut().filter(|path| !may_stay(path)) {
            self.locals.assign(path);
        }
        self.reselect();
    }

    /// Gives another source address, or none, to the paths that used `local`, which is gone. Either way they
    /// are inactive until the peer answers from there: while another path works, it carries the data.
    pub(crate) fn on_local_down(&mut self, local: IpAddr) -> PathIds {
        self.locals.addresses.retain(|address| *address != local);
        let mut moved = PathIds::default();
        let is_left =
            |path: &&mut Path| path.source.address() == Some(local) && path.state != PathState::Removed;
        for path in self.paths.iter_mut().filter(is_left) {
            path.source.replace_lost(self.locals.fitting(path), self.locals.are_configured);
            if path.is_confirmed() {
                let _inactive = path.enter(PathState::Inactive);
            }
            moved.insert(path.index);
        }
        self.reselect();
        moved
    }

    /// Takes note that a local address is there (again), after the ones known so far; returns the paths that do
    /// not work and may do so now, with the source that fits them best, but for those asked from there already. What was measured
    /// or asked from another address says nothing about the way from here.
    pub(crate) fn on_local_up(&mut self, local: IpAddr) -> PathIds {
        if !self.locals.addresses.contains(&local) {
            self.locals.addresses.push(local);
        }
        let mut revived = PathIds::default();
        let is_idle = |path: &&mut Path| {
            path.state != PathState::Removed && (path.source.is_stranded() || path.state != PathState::Active)
        };
        for path in self.paths.iter_mut().filter(is_idle) {
            // A HEARTBEAT of a path without a source went from the address that was about to be told of: this one.
            let is_asked =
                path.source.is_stranded() && !path.is_confirmed() && path.heartbeat.is_outstanding();
            let before = path.source.address();
            self.locals.assign(path);
            if is_asked {
                continue;
            }
            if path.source.address() != before {
                path.rto.begin_anew();
                self.verification = VerificationWindow::default();
            }
            revived.insert(path.index);
        }
        self.reselect();
        revived
    }

    fn is_usable(&self, id: PathIndex) -> bool {
        let path = self.path(id);
        path.state == PathState::Active && !path.source.is_stranded()
    }

    fn make_primary(&mut self, path: PathIndex, because: &'static str) {
        if self.primary != path {
            trace::primary_path_changed(self.primary, path, because);
            self.primary = path;
        }
    }

    fn reselect(&mut self) {
        let choice = self.choose(Purpose::NewData);
        let Some(path) = choice.path().filter(|path| *path != self.current) else { return };
        trace::data_path_changed(self.current, path);
        if let Some(used) = self.path(self.current).congestion.usage() {
            let entry = self.path_mut(path);
            let srtt = entry.rto.srtt();
            entry.change_window("data moves here", |congestion| congestion.begin(&used, srtt));
        }
        self.current = path;
        self.switches += 1;
    }

    fn choose(&self, purpose: Purpose) -> Choice {
        let candidates = self.paths.iter().map(|path| PathCandidate {
            path: path.index,
            state: path.state,
            errors: path.errors,
            has_source: !path.source.is_stranded(),
        });
        choose(candidates, self.primary, self.current, purpose)
    }
}

impl Locals {
    fn assign(&self, path: &mut Path) {
        path.source.assign(self.fitting(path), self.are_configured);
    }

    /// Returns whether the peer knows of this address, and of no end of it.
    fn may_be_sent_from(&self, local: IpAddr) -> bool {
        !self.are_configured || self.addresses.contains(&local)
    }

    /// Returns the address that fits the way to the peer best.
    fn fitting(&self, path: &Path) -> Option<IpAddr> {
        source_for(path.destination.address, &self.addresses, path.index.index())
    }
}

/// How a chunk came to count as lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Loss {
    /// T3-rtx expired, or the path's local address went away.
    TimedOut,
    /// Acknowledgments of others say so.
    Reported,
}

#[cfg(test)]
mod tests;

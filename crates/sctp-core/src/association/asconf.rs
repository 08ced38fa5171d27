//! Addresses that come and go during an association (RFC 5061).
//!
//! | module | owns |
//! |---|---|
//! | `request` | what we ask the peer for, one ASCONF at a time |
//! | `prospect` | which addresses are left once the peer has done it |
//! | `elsewhere` | where the peer may be when it answers at none of its addresses |
//! | `routes` | the way of requests and answers, and the timer |
//! | `response` | what the peer asks for, and what it is answered |

mod elsewhere;
mod prospect;
mod request;
mod response;
mod routes;

use core::net::IpAddr;

use sctp_wire::{Asconf, AsconfSerial, Cause, ChunkBuf, ChunkType, Tsn};
use smallvec::SmallVec;
use virtual_time::Instant;

use self::elsewhere::Elsewhere;
use self::request::Requests;
use self::response::{AsconfResponder, Judgement, Screening};
use super::session::Session;
use super::{Capability, LocalAddresses};
use crate::config::AutomaticAddresses;
use crate::error::AddressChangeError;
use crate::event::{AddressChange, AddressOutcome, Event, PathState};
use crate::path::{Added, Path, PathSet, address};
use crate::seldom::Seldom;
use crate::stats::AsconfStatistics;
use crate::trace;
use crate::transmit::{Destination, MAX_PATHS, PathIndex};

/// ASCONF of one association.
#[derive(Debug, Default)]
pub(crate) struct DynamicAddresses {
    agreed: Option<Box<AgreedAsconf>>,
    /// Local addresses since our INIT, until the association is up; `None` if the routing table chooses.
    since_init: Option<Box<LocalAddresses>>,
    pub(crate) statistics: Seldom<AsconfStatistics>,
}

/// ASCONF in both directions, where it is agreed.
#[derive(Debug)]
struct AgreedAsconf {
    requests: Requests,
    responder: AsconfResponder,
    /// The local addresses that the peer knows.
    told: SmallVec<[IpAddr; 2]>,
    /// The addresses that this host has lost, among them and those that the peer is asked to add.
    lost: SmallVec<[IpAddr; 1]>,
    elsewhere: Elsewhere,
}

impl DynamicAddresses {
    /// Returns the address that an ASCONF is sent from for want of one that the peer knows (RFC 5061 §5.3 (F1),
    /// §5.3.2).
    pub(super) fn only_source(&self) -> Option<IpAddr> {
        let agreed = self.agreed.as_ref()?;
        let is_there = |added: &IpAddr| !added.is_unspecified() && !agreed.lost.contains(added);
        agreed.requests.being_added().filter(is_there)
    }

    /// Takes over the counters from before the peer began anew; what it has been asked since counts as well.
    pub(super) fn adopt_statistics(&mut self, predecessor: &Self) {
        let asked = core::mem::replace(&mut self.statistics, predecessor.statistics.clone());
        if asked.exists() {
            self.statistics.note().sent += asked.get().sent;
        }
    }

    /// Takes out everything that was asked, or waits to be, and is not answered.
    pub(super) fn take_requests(&mut self) -> SmallVec<[AddressChange; 4]> {
        self.agreed.as_mut().map(|agreed| agreed.requests.take_all()).unwrap_or_default()
    }
}

/// What we ask for.
impl DynamicAddresses {
    /// The peer will know these local addresses: an INIT is about to list them, or an INIT ACK of ours has.
    pub(super) fn begin(&mut self, locals: LocalAddresses) {
        self.since_init = (!locals.told.is_empty()).then(|| Box::new(locals));
    }

    /// An INIT is about to list the local addresses again.
    pub(super) fn begin_again(&mut self) {
        self.since_init.iter_mut().for_each(|locals| locals.list_again());
    }

    /// The INIT ACK came to this local address.
    pub(super) fn on_init_ack(&mut self, local: IpAddr) {
        self.since_init.iter_mut().for_each(|locals| locals.show(local));
    }

    /// Address changes are agreed on, or not: if so, the addresses that the peer knows are sent from, and no others. Both sides
    /// count their ASCONFs from their initial TSNs (RFC 5061 §5.1 (A2)).
    pub(super) fn agree(&mut self, peer_initial_tsn: Tsn, session: &Session, paths: &mut PathSet) {
        let is_agreed = session.peer.agreed.capabilities.has(Capability::DynamicAddresses);
        self.since_init = self.since_init.take().filter(|_| is_agreed);
        let told = self.since_init.as_ref().map(|locals| locals.told.clone());
        let told = told.unwrap_or_else(|| SmallVec::from_slice(paths.local_addresses()));
        if let Some(locals) = &self.since_init {
            paths.use_locals(locals.left().collect());
        }
        let agreed = is_agreed.then(|| AgreedAsconf {
            requests: Requests::new(AsconfSerial::new(session.peer.local_initial_tsn.get())),
            responder: AsconfResponder::new(AsconfSerial::new(peer_initial_tsn.get())),
            told,
            lost: SmallVec::new(),
            elsewhere: Elsewhere::default(),
        });
        self.agreed = agreed.map(Box::new);
    }

    /// Notes a change that the peer is to be asked for.
    fn ask(&mut self, change: AddressChange, session: &Session) -> Result<(), AddressChangeError> {
        if !session.state.name().changes_addresses() {
            return Err(AddressChangeError::WrongState);
        }
        let agreed = self.agreed.as_mut().ok_or(AddressChangeError::NotAgreed)?;
        agreed.admit(change)?;
        if agreed.requests.push(change) { Ok(()) } else { Err(AddressChangeError::TooMany) }
    }

    /// Takes note that this host has lost an address; returns whether the peer is to be asked to forget it now, with automatic
    /// addresses. Without another address to ask from that has to wait.
    fn note_loss(&mut self, local: IpAddr, session: &Session, paths: &PathSet) -> bool {
        let knows = |agreed: &&mut AgreedAsconf| {
            agreed.told.contains(&local) || agreed.requests.prospect(&agreed.told).contains(local)
        };
        let Some(agreed) = self.agreed.as_deref_mut().filter(knows) else { return false };
        if !agreed.lost.contains(&local) {
            agreed.lost.push(local);
        }
        let has_other = paths.local_addresses().iter().any(|other| *other != local);
        has_other && session.config.paths.automatic_addresses == AutomaticAddresses::On
    }

    /// Takes note of a new address of this host; returns whether the peer is to be asked, with automatic addresses, to add
    /// it, and to forget those lost before.
    fn note_gain(&mut self, local: IpAddr, session: &Session) -> bool {
        let is_automatic = session.config.paths.automatic_addresses == AutomaticAddresses::On;
        let may_ask = is_automatic && session.state.name().changes_addresses();
        let Some(agreed) = self.agreed.as_mut() else { return false };
        agreed.lost.retain(|lost| *lost != local);
        // RFC 5061 §5.1 (A9), §5.3 (F3): who does not understand is not asked again.
        let is_refused = agreed.requests.is_refused(AddressChange::Add(local));
        if !may_ask
            || is_refused
            || agreed.requests.prospect(&agreed.told).contains(local)
            || !agreed.requests.push(AddressChange::Add(local))
        {
            return false;
        }
        let prospect = agreed.requests.prospect(&agreed.told);
        for &lost in agreed.lost.iter().filter(|lost| prospect.contains(**lost)) {
            let _queued = agreed.requests.push(AddressChange::Delete(lost));
        }
        true
    }

    /// Returns whether the peer takes packets from this local address: where addresses change by ASCONF, what
    /// it neither was told of nor has been asked to forget (RFC 5061 §5.3 (F1), (F4)). For whoever knows none
    /// this is no reason to keep silent.
    fn is_known_to_peer(&self, local: IpAddr) -> bool {
        self.agreed.as_ref().is_none_or(|agreed| {
            let is_leaving = agreed.requests.being_deleted().contains(&local);
            agreed.told.is_empty() || agreed.told.contains(&local) && !is_leaving
        })
    }

    /// Returns whether the peer knows this address, and the host has not lost it.
    fn is_told_and_there(&self, local: IpAddr) -> bool {
        let is = |agreed: &AgreedAsconf| agreed.told.contains(&local) && !agreed.lost.contains(&local);
        self.agreed.as_deref().is_some_and(is)
    }

    /// Returns whether an ABORT to this address answers what crossed the ASCONF that deletes it (RFC 5061
    /// §5.3.1).
    pub(super) fn is_leaving(&self, local: Option<IpAddr>) -> bool {
        local.is_some_and(|local| self.being_deleted().contains(&local))
    }

    fn being_deleted(&self) -> SmallVec<[IpAddr; 1]> {
        self.agreed.as_ref().map(|agreed| agreed.requests.being_deleted()).unwrap_or_default()
    }

    /// Takes out what cannot be asked for any more (F5): what was to take the place of an address was refused since its
    /// deletion was asked for.
    fn take_impossible(&mut self) -> SmallVec<[AddressChange; 1]> {
        let agreed = self.agreed.as_mut();
        agreed.map(|agreed| agreed.requests.drop_impossible(&agreed.told)).unwrap_or_default()
    }

    /// Returns the next ASCONF, if something waits and nothing is outstanding (A1 to A4).
    fn next(&mut self, now: Instant, path: &Path) -> Option<ChunkBuf> {
        let agreed = self.agreed.as_mut()?;
        // By its tag the peer may find the association anyway; others go by this (RFC 5061 §4.1.1, §5.2 (D2)).
        let lookup = agreed.told.first().copied().or(path.source.address());
        let lookup = lookup.unwrap_or_else(|| address::unspecified_like(path.destination.address));
        let chunk = agreed.requests.next(now, lookup, path.index)?;
        self.statistics.note().sent += 1;
        Some(chunk)
    }

    /// Returns the ASCONF that is unanswered, and the path it went on.
    fn outstanding(&self) -> Option<(PathIndex, ChunkBuf)> {
        let outstanding = self.agreed.as_ref()?.requests.outstanding()?;
        Some((outstanding.path, outstanding.chunk.clone()))
    }

    /// Takes note that the unanswered ASCONF goes again on this path; returns whether it may, for so often at most.
    fn repeat(&mut self, path: PathIndex, most: u32) -> bool {
        let may_repeat = self.agreed.as_mut().is_none_or(|agreed| agreed.requests.repeat(path, most));
        if may_repeat {
            self.statistics.note().retransmissions += 1;
        }
        may_repeat
    }

    /// Takes out all requests, and asks for none any more (A9).
    fn give_up(&mut self) -> SmallVec<[AddressChange; 4]> {
        self.agreed.as_mut().map(|agreed| agreed.requests.on_not_understood()).unwrap_or_default()
    }

    /// Takes note of an answer; returns the address of this host that may be used because of it (F2): one that was added, or
    /// that the peer did not delete, which is still its way to us.
    fn settle(&mut self, change: AddressChange, outcome: AddressOutcome) -> Option<IpAddr> {
        let agreed = self.agreed.as_mut();
        match (change, outcome) {
            (AddressChange::Add(added), AddressOutcome::Done) if !added.is_unspecified() => {
                agreed.into_iter().for_each(|agreed| agreed.told.push(added));
                Some(added)
            }
            (AddressChange::Delete(deleted), AddressOutcome::Done) => {
                agreed.into_iter().for_each(|agreed| agreed.told.retain(|told| *told != deleted));
                None
            }
            (AddressChange::Delete(kept), AddressOutcome::Refused { .. } | AddressOutcome::NotUnderstood)
                if !kept.is_unspecified() =>
            {
                Some(kept)
            }
            (AddressChange::Add(_) | AddressChange::Delete(_) | AddressChange::SetPrimary(_), _) => None,
        }
    }
}

/// What the peer asks for.
impl DynamicAddresses {
    /// Returns the answer to an ASCONF, and the changes that it grants; `None` if it does not count (E1 to E5).
    fn answer(
        &mut self,
        source: Destination,
        asconf: &Asconf<'_>,
        session: &Session,
        paths: &PathSet,
    ) -> Option<(ChunkBuf, SmallVec<[AddressChange; 4]>)> {
        let counts = session.state.name().changes_addresses();
        let Some(agreed) = self.agreed.as_mut().filter(|_| counts) else {
            self.statistics.note().discarded += 1;
            return None;
        };
        match agreed.responder.screen(asconf.serial) {
            Screening::Discarded => {
                self.statistics.note().discarded += 1;
                return None;
            }
            Screening::Repeated(answer) => {
                self.statistics.note().repeated += 1;
                return Some((answer, SmallVec::new()));
            }
            Screening::Next => {}
        }
        let known = agreed.addresses_of_peer(paths);
        let is_usable = |asked| address::is_usable(asked, source.address);
        let judgement = Judgement::of(asconf.requests, source.address, &known, MAX_PATHS, &is_usable);
        let answer = judgement.answer(asconf.serial).ok()?;
        agreed.responder.on_answered(asconf.serial, answer.clone());
        for change in &judgement.granted {
            if let AddressChange::Add(added) = *change {
                agreed.elsewhere.confirm(added);
            }
        }
        if judgement.granted.contains(&AddressChange::Add(source.address)) {
            agreed.elsewhere.show(source.address);
        }
        let statistics = self.statistics.note();
        statistics.processed += 1;
        statistics.refused += u64::from(judgement.refused.is_some());
        Some((answer, judgement.granted))
    }
}

impl DynamicAddresses {
    /// Grants the peer an address more (F14), which is unconfirmed until a HEARTBEAT is answered, or another primary one; returns
    /// the path of a new address.
    fn grant(
        &mut self,
        source: Destination,
        change: AddressChange,
        session: &mut Session,
        paths: &mut PathSet,
    ) -> Option<PathIndex> {
        let (AddressChange::Add(address)
        | AddressChange::Delete(address)
        | AddressChange::SetPrimary(address)) = change;
        if !matches!(change, AddressChange::Add(_)) {
            let path = paths.by_address(address)?;
            paths.prefer(path);
            session.tell(Event::PeerPrimary(paths.id(path)));
            return None;
        }
        let destination = Destination { address, ..source };
        if paths.add(destination, PathState::Unconfirmed, &session.config) == Added::TooMany {
            return None;
        }
        let path = paths.by_address(address)?;
        if !session.peer.addresses.contains(&address) {
            session.peer.addresses.push(address);
        }
        self.statistics.note().added += 1;
        trace::peer_address_added(path, &address);
        session.tell(Event::PeerAddressChange { path: paths.id(path), state: PathState::Unconfirmed });
        Some(path)
    }
}

impl AgreedAsconf {
    /// Returns the peer's addresses: where only the user believes it to be is none of them.
    fn addresses_of_peer(&self, paths: &PathSet) -> SmallVec<[IpAddr; 8]> {
        let is_of_peer =
            |path: &&Path| path.is_confirmed() || !self.elsewhere.is_suggested(path.destination.address);
        paths.iter().filter(is_of_peer).map(|path| path.destination.address).collect()
    }

    /// What the peer has forgotten, and is not asked to add, need not be remembered as lost.
    fn forget_lost(&mut self) {
        let (told, prospect) = (&self.told, self.requests.prospect(&self.told));
        self.lost.retain(|lost| told.contains(lost) || prospect.contains(*lost));
    }

    fn admit(&self, change: AddressChange) -> Result<(), AddressChangeError> {
        if self.requests.is_refused(change) {
            return Err(AddressChangeError::NotUnderstood);
        }
        match change {
            AddressChange::Delete(address) if !self.requests.prospect(&self.told).allows(change) => {
                Err(AddressChangeError::LastAddress(address))
            }
            AddressChange::Add(_) | AddressChange::Delete(_) | AddressChange::SetPrimary(_) => Ok(()),
        }
    }
}

/// Returns whether the peer reports not to know ASCONF.
pub(super) fn is_about_asconf(cause: &Cause<'_>) -> bool {
    let Cause::UnrecognizedChunkType(chunk) = cause else { return false };
    chunk.first() == Some(&ChunkType::ASCONF.get())
}

//! The decisions of user, host and peer about addresses: what comes in about them.

use core::net::IpAddr;

use sctp_wire::{Asconf, AsconfAck, Chunk, Packet};
use smallvec::SmallVec;
use virtual_time::Instant;

use super::Association;
use super::auth::{Admission, Authenticity};
use crate::error::{AddressChangeError, SetPrimaryError};
use crate::event::AddressChange;
use crate::trace;
use crate::transmit::{Datagram, Destination, PathId, PathIndex};

/// The addresses of this host as an INIT or an INIT ACK lists them, and how they have changed since.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct LocalAddresses {
    /// The addresses that were there when it was sent: the peer takes packets from these, whether they are there or not.
    pub(crate) told: SmallVec<[IpAddr; 2]>,
    /// The addresses among them that are gone.
    pub(crate) lost: SmallVec<[IpAddr; 1]>,
    /// The addresses that have come since: the peer does not know them (RFC 5061 §5.3 (F1)).
    pub(crate) gained: SmallVec<[IpAddr; 1]>,
}

impl LocalAddresses {
    /// Compares what was told with the addresses that are there now.
    pub(crate) fn changed(told: SmallVec<[IpAddr; 2]>, there: impl Iterator<Item = IpAddr> + Clone) -> Self {
        let is_gone = |address: &IpAddr| !there.clone().any(|other| other == *address);
        let lost = told.iter().copied().filter(is_gone).collect();
        let gained = there.clone().filter(|address| !told.contains(address)).collect();
        Self { told, lost, gained }
    }

    /// Lists those that are there, of which none has changed so far.
    pub(super) fn list(there: &[IpAddr]) -> Self {
        Self { told: SmallVec::from_slice(there), ..Self::default() }
    }

    /// They are listed again, as they are now: the peer knows for certain those alone that are on every list.
    pub(super) fn list_again(&mut self) {
        let lost = core::mem::take(&mut self.lost);
        self.told.retain(|told| !lost.contains(told));
    }

    pub(super) fn lose(&mut self, local: IpAddr) {
        self.gained.retain(|gained| *gained != local);
        if self.told.contains(&local) && !self.lost.contains(&local) {
            self.lost.push(local);
        }
    }

    pub(super) fn gain(&mut self, local: IpAddr) {
        self.lost.retain(|lost| *lost != local);
        if !self.told.contains(&local) && !self.gained.contains(&local) {
            self.gained.push(local);
        }
    }

    /// The peer has answered to this address: where none is left that was listed, it is the one that the peer knows.
    pub(super) fn show(&mut self, local: IpAddr) {
        if self.left().next().is_none() && !self.told.contains(&local) {
            self.told.push(local);
            if !self.gained.contains(&local) {
                self.lost.push(local);
            }
            self.gained.retain(|gained| *gained != local);
        }
    }

    /// Returns the addresses that were listed and are there.
    pub(super) fn left(&self) -> impl Iterator<Item = IpAddr> {
        self.told.iter().copied().filter(|told| !self.lost.contains(told))
    }
}

impl Association {
    /// Makes a path the primary one: data goes there from now on, while the path is active.
    pub(crate) fn set_primary(&mut self, now: Instant, id: PathId) -> Result<(), SetPrimaryError> {
        self.outbound.set_primary(id)?;
        self.after_input(now);
        Ok(())
    }

    /// Asks the peer for a change. It is told of by [`Event::AddressChangeAnswered`](crate::Event::AddressChangeAnswered).
    pub(crate) fn request_address_change(
        &mut self,
        now: Instant,
        change: AddressChange,
    ) -> Result<(), AddressChangeError> {
        self.addresses.request(now, change, &mut self.session, &mut self.outbound)
    }

    /// The peer may be at these addresses, besides those it has.
    pub(crate) fn suggest_peer_addresses(
        &mut self,
        now: Instant,
        at: &[Destination],
    ) -> Result<(), AddressChangeError> {
        let ways = (&mut self.outbound, &mut self.inbound);
        self.addresses.suggest(now, at, &mut self.session, ways)?;
        self.after_input(now);
        Ok(())
    }

    /// An address of this host is gone: what was sent from it goes again at once, from another address or on another
    /// path. The list the peer was told stays as it is.
    pub(crate) fn local_address_down(&mut self, now: Instant, local: IpAddr) {
        if self.is_closed() {
            return;
        }
        trace::local_address_changed("deleted", &local);
        let (session, outbound) = (&mut self.session, &mut self.outbound);
        self.addresses.on_local_down(now, local, session, outbound);
        outbound.on_local_down(now, local, session);
        self.inbound.leave_stranded(outbound);
        self.after_input(now);
    }

    /// A (new) address of this host: paths that do not work may work from there, if the peer takes packets from it.
    pub(crate) fn local_address_up(&mut self, now: Instant, local: IpAddr) {
        if self.is_closed() {
            return;
        }
        let (session, outbound) = (&mut self.session, &mut self.outbound);
        self.addresses.on_local_up(now, local, session, outbound);
        self.after_input(now);
    }

    /// Takes in an ASCONF that is authenticated and came from there, to this address of this host if that is to be known.
    pub(super) fn on_asconf(
        &mut self,
        now: Instant,
        way: (Destination, Option<IpAddr>),
        asconf: &Asconf<'_>,
    ) {
        let (session, outbound, inbound) = (&mut self.session, &mut self.outbound, &mut self.inbound);
        self.addresses.on_asconf(now, way, asconf, session, outbound, inbound);
    }

    pub(super) fn on_asconf_ack(&mut self, now: Instant, path: PathIndex, ack: &AsconfAck<'_>) {
        let (session, outbound) = (&mut self.session, &mut self.outbound);
        if let Err(violation) = self.addresses.on_ack((now, path), ack, session, outbound) {
            self.abort_for(violation);
        }
    }

    /// The peer reports that it does not know ASCONF.
    pub(super) fn on_asconf_not_understood(&mut self, now: Instant) {
        self.addresses.on_not_understood(now, &mut self.session, &mut self.outbound);
    }

    /// Acts on T4-rto, which has expired.
    pub(super) fn on_t4(&mut self, now: Instant) {
        if let Err(error) = self.addresses.on_t4(now, &mut self.session, &mut self.outbound) {
            self.abort_quietly(error);
        }
    }

    /// Returns whether a chunk is an ABORT that answers what crossed the ASCONF which deletes the address it came to (RFC 5061
    /// §5.3.1).
    pub(super) fn is_abort_of_leaving(&self, local: Option<IpAddr>, chunk: &Chunk<'_>) -> bool {
        matches!(chunk, Chunk::Abort(_)) && self.addresses.is_leaving(local)
    }

    /// A packet with the right tag and an ASCONF, from an address that is not the peer's (RFC 5061 §5.2, §5.3.2): nothing
    /// in it counts but AUTH and the ASCONFs behind it.
    pub(crate) fn handle_stranger(&mut self, now: Instant, datagram: &Datagram<'_>, packet: &Packet<'_>) {
        self.session.counters.packets_received += 1;
        self.session.authentication.on_packet(Authenticity::NotShown);
        for chunk in packet.chunks().flatten() {
            let path = self.outbound.paths.for_data();
            match self.session.admit(path, &chunk, &mut self.outbound) {
                Admission::Admitted => {}
                Admission::Skipped => continue,
                Admission::RestDiscarded => break,
            }
            if let Chunk::Asconf(asconf) = chunk {
                self.on_asconf(now, (datagram.source, datagram.local), &asconf);
            }
        }
        self.after_input(now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ip(last: u8) -> IpAddr {
        [10, 0, 0, last].into()
    }

    fn lists(locals: &LocalAddresses) -> [Vec<IpAddr>; 3] {
        [locals.told.to_vec(), locals.lost.to_vec(), locals.gained.to_vec()]
    }

    /// 1 goes for good, 2 goes and comes again, 3 comes, 4 comes and goes again.
    fn changed() -> LocalAddresses {
        let mut locals = LocalAddresses::list(&[ip(1), ip(2)]);
        [1, 2].into_iter().for_each(|last| locals.lose(ip(last)));
        [2, 3, 4].into_iter().for_each(|last| locals.gain(ip(last)));
        locals.lose(ip(4));
        locals
    }

    #[test]
    fn what_has_come_or_gone_since_they_were_listed_is_what_has_not_been_undone() {
        assert_eq!(lists(&changed()), [vec![ip(1), ip(2)], vec![ip(1)], vec![ip(3)]]);
        assert!(changed().left().eq([ip(2)]));
    }

    #[test]
    fn peer_knows_what_is_on_every_list_and_where_it_answered_if_none_of_that_is_left() {
        let mut locals = changed();
        locals.list_again();
        locals.show(ip(3));
        assert_eq!(lists(&locals), [vec![ip(2)], vec![], vec![ip(3)]]);
        locals.lose(ip(2));
        locals.list_again();
        let gone = locals.clone();
        locals.show(ip(3));
        assert_eq!(lists(&locals), [vec![ip(3)], vec![], vec![]]);
        let mut locals = gone;
        locals.show(ip(1));
        assert_eq!(lists(&locals), [vec![ip(1)], vec![ip(1)], vec![ip(3)]]);
    }
}

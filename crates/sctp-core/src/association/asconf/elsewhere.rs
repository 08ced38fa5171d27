//! Where the peer may be when it answers at none of its addresses: which ASCONFs are tried there besides.
//!
//! When both ends move at the same time, neither knows an address of the other that works (RFC 5061 §5.3.2 has one of them
//! stay). Then somebody else has to say where the peer went: its name, or an ASCONF of its own that came through.

use core::net::IpAddr;

use smallvec::SmallVec;

/// Addresses at which the peer may be. They are paths, at first not confirmed.
#[derive(Debug, Default)]
pub(super) struct Elsewhere {
    addresses: SmallVec<[(IpAddr, SaidBy); 1]>,
}

/// Who said that the peer may be there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SaidBy {
    /// As long as the peer has not said so, it has no such address.
    User,
    /// An ASCONF of the peer came from there, and added it.
    Peer,
}

impl Elsewhere {
    /// Replaces what was suggested before; returns those addresses that are not suggested any more.
    pub(super) fn suggest(&mut self, addresses: &[IpAddr]) -> SmallVec<[IpAddr; 1]> {
        let before: SmallVec<[IpAddr; 1]> = self.suggested().collect();
        self.addresses.retain(|(_, by)| *by == SaidBy::Peer);
        for address in addresses {
            if !self.contains(*address) {
                self.addresses.push((*address, SaidBy::User));
            }
        }
        before.into_iter().filter(|address| !self.contains(*address)).collect()
    }

    /// Takes note that the peer has shown itself there. Only the last such address counts.
    pub(super) fn show(&mut self, shown: IpAddr) {
        self.addresses.retain(|(address, by)| *by == SaidBy::User && *address != shown);
        self.addresses.push((shown, SaidBy::Peer));
    }

    /// The peer has this address, as it says itself: nobody need suggest it.
    pub(super) fn confirm(&mut self, added: IpAddr) {
        self.addresses.retain(|(address, by)| *by == SaidBy::Peer || *address != added);
    }

    /// Returns whether the user alone believes that the peer is there.
    pub(super) fn is_suggested(&self, address: IpAddr) -> bool {
        self.suggested().any(|suggested| suggested == address)
    }

    fn suggested(&self) -> impl Iterator<Item = IpAddr> {
        let suggested = self.addresses.iter().filter(|(_, by)| *by == SaidBy::User);
        suggested.map(|(address, _)| *address)
    }

    /// Returns whether the peer is believed to be there.
    pub(super) fn contains(&self, wanted: IpAddr) -> bool {
        self.addresses.iter().any(|(address, _)| *address == wanted)
    }
}

//! Address tables: which interface has an address, which interface leads to one.

use std::net::IpAddr;

use crate::id::InterfaceId;

/// Addresses of one host or of its neighbours; a sorted array, because it is read for every packet and written
/// only while a world is built.
#[derive(Debug, Default)]
pub(crate) struct AddressTable {
    entries: Vec<(IpAddr, InterfaceId)>,
}

impl AddressTable {
    #[inline]
    pub(crate) fn find(&self, address: IpAddr) -> Option<InterfaceId> {
        if let [(only, interface)] = self.entries[..] {
            return (only == address).then_some(interface);
        }
        let position = self.position(address).ok()?;
        self.entries.get(position).map(|(_, interface)| *interface)
    }

    /// Adds an address unless it is there; the first entry wins.
    pub(crate) fn insert(&mut self, address: IpAddr, interface: InterfaceId) {
        if let Err(position) = self.position(address) {
            self.entries.insert(position, (address, interface));
        }
    }

    fn position(&self, address: IpAddr) -> Result<usize, usize> {
        self.entries.binary_search_by(|(candidate, _)| candidate.cmp(&address))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_both_families_are_found() {
        let addresses: [IpAddr; 3] =
            ["10.0.0.2", "fd00::1", "10.0.0.1"].map(|address| address.parse().unwrap());
        let mut table = AddressTable::default();
        for (index, address) in addresses.into_iter().enumerate() {
            table.insert(address, InterfaceId(index));
        }
        for (index, address) in addresses.into_iter().enumerate() {
            assert_eq!(table.find(address), Some(InterfaceId(index)));
        }
        assert_eq!(table.find("10.0.0.3".parse().unwrap()), None);
    }

    #[test]
    fn the_first_interface_that_leads_to_an_address_stays() {
        let address = "10.0.0.1".parse().unwrap();
        let mut table = AddressTable::default();
        table.insert(address, InterfaceId(4));
        table.insert(address, InterfaceId(5));
        assert_eq!(table.find(address), Some(InterfaceId(4)));
    }
}

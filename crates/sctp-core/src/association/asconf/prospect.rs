//! The local addresses that a peer knows once it has done what it is asked for: pure decisions.

use core::net::IpAddr;

use smallvec::SmallVec;

use super::AddressChange;

/// The addresses that will be left.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Prospect {
    certain: SmallVec<[IpAddr; 4]>,
    /// One of these, besides: the one that a request to delete all others came from. Empty if there is none.
    one_of: SmallVec<[IpAddr; 4]>,
}

impl Prospect {
    /// Creates the prospect without any request: the addresses that the peer knows.
    pub(crate) fn of(told: &[IpAddr]) -> Self {
        Self { certain: SmallVec::from_slice(told), one_of: SmallVec::new() }
    }

    /// Returns whether the peer knows this address for certain then.
    pub(crate) fn contains(&self, address: IpAddr) -> bool {
        self.certain.contains(&address)
    }

    /// Returns whether an address is left for certain after this, too (RFC 5061 §5.3 (F5)).
    pub(crate) fn allows(&self, change: AddressChange) -> bool {
        match change {
            AddressChange::Delete(address) if !address.is_unspecified() => {
                let has_other = self.certain.iter().any(|certain| *certain != address);
                has_other || (!self.one_of.is_empty() && !self.one_of.contains(&address))
            }
            AddressChange::Add(_) | AddressChange::Delete(_) | AddressChange::SetPrimary(_) => true,
        }
    }

    /// The peer does this as well. What is added without a name is one that the packet came from, and not counted.
    pub(crate) fn apply(&mut self, change: AddressChange) {
        match change {
            AddressChange::Add(address) if !address.is_unspecified() && !self.certain.contains(&address) => {
                self.certain.push(address);
            }
            AddressChange::Delete(address) if address.is_unspecified() => {
                self.one_of.append(&mut self.certain);
            }
            AddressChange::Delete(address) => {
                self.certain.retain(|certain| *certain != address);
                if self.one_of.contains(&address) {
                    self.one_of.clear();
                }
            }
            AddressChange::Add(_) | AddressChange::SetPrimary(_) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ANY: IpAddr = IpAddr::V4(core::net::Ipv4Addr::UNSPECIFIED);

    fn ip(last: u8) -> IpAddr {
        [10, 0, 0, last].into()
    }

    /// RFC 5061 §5.3 (F5), row by row: addresses 1 and 2 are known, this was asked, this is asked now.
    #[test]
    fn an_address_is_left_for_certain() {
        let (add, delete) = (|last| AddressChange::Add(ip(last)), |last| AddressChange::Delete(ip(last)));
        let all_others = AddressChange::Delete(ANY);
        let rows = [
            (vec![], delete(1), true),
            (vec![delete(1)], delete(2), false),
            (vec![delete(1)], delete(1), true),
            (vec![delete(1), add(3)], delete(2), true),
            (vec![delete(1), add(3), delete(2)], delete(3), false),
            (vec![delete(1), add(2)], delete(2), false),
            (vec![delete(1), AddressChange::Add(ANY)], delete(2), false),
            (vec![all_others], delete(1), false),
            (vec![all_others, add(3)], delete(1), true),
            (vec![all_others, add(3)], delete(3), true),
            (vec![all_others, add(3), delete(1)], delete(3), false),
            (vec![all_others], all_others, true),
            (vec![all_others], add(1), true),
        ];
        for (asked, now, expected) in rows {
            let mut prospect = Prospect::of(&[ip(1), ip(2)]);
            asked.iter().for_each(|change| prospect.apply(*change));
            assert_eq!(prospect.allows(now), expected, "{asked:?}, then {now:?}");
        }
    }
}

//! The addresses and ports that a translator gives out. Choosing changes nothing; taking does.

use core::net::IpAddr;
use core::num::NonZeroU16;
use core::ops::RangeInclusive;
use std::collections::BTreeMap;

use super::config::{Pool, Service};
use crate::codepoints::NegativeCode;
use crate::filter::{Mapping, Ports, Translation};
use crate::numbers::TransportProtocol;
use crate::parameters::ReserveParity;
use crate::tuple::IpVersion;

/// The pools of a translator.
#[derive(Debug)]
pub(crate) struct Translator {
    pub(crate) outside: PoolUse,
    /// The pool inside; of twice NAT only.
    pub(crate) inside: Option<PoolUse>,
}

impl Translator {
    pub(crate) fn new(service: &Service) -> Option<Self> {
        match service {
            Service::Firewall => None,
            Service::TraditionalNat { outside } => {
                Some(Self { outside: PoolUse::new(outside.clone()), inside: None })
            }
            Service::TwiceNat { outside, inside } => Some(Self {
                outside: PoolUse::new(outside.clone()),
                inside: Some(PoolUse::new(inside.clone())),
            }),
        }
    }

    /// Counts a use of what a rule translates to.
    pub(crate) fn take(&mut self, translation: &Translation) {
        let protocol = translation.protocol;
        self.outside.take(protocol, &translation.outside);
        if let (Some(pool), Some(mapping)) = (&mut self.inside, &translation.inside) {
            pool.take(protocol, mapping);
        }
    }

    /// Ends a use; what nobody uses any more is free.
    pub(crate) fn release(&mut self, translation: &Translation) {
        let protocol = translation.protocol;
        self.outside.release(protocol, &translation.outside);
        if let (Some(pool), Some(mapping)) = (&mut self.inside, &translation.inside) {
            pool.release(protocol, mapping);
        }
    }
}

/// A wish for something of a pool.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Wanted {
    /// An address with all its protocols and ports.
    Address,
    /// An address with all ports of the protocol.
    AllPorts,
    /// A number of consecutive ports is wanted.
    Ports { count: NonZeroU16, parity: ReserveParity },
}

/// A pool and what of it is in use.
#[derive(Debug)]
pub(crate) struct PoolUse {
    pool: Pool,
    ports: BTreeMap<(IpAddr, TransportProtocol), PortMap>,
    /// How many rules use a mapping, by address, protocol and first port; port 0 is the whole address.
    uses: BTreeMap<(IpAddr, TransportProtocol, u16), u32>,
}

impl PoolUse {
    fn new(pool: Pool) -> Self {
        Self { pool, ports: BTreeMap::new(), uses: BTreeMap::new() }
    }

    /// Chooses something free, on the address `near` if that has it.
    ///
    /// # Errors
    ///
    /// 0x0348 if no address will do, 0x0349 if there are addresses but no ports.
    pub(crate) fn choose(
        &self,
        protocol: TransportProtocol,
        version: IpVersion,
        wanted: Wanted,
        near: Option<IpAddr>,
    ) -> Result<Mapping, NegativeCode> {
        let usable =
            |address: &IpAddr| IpVersion::of(*address) == version && !self.is_whole_address_taken(*address);
        let ordered = near.into_iter().chain(self.pool.addresses.iter().copied());
        let mut candidates = ordered.filter(usable).peekable();
        if candidates.peek().is_none() {
            return Err(NegativeCode::LackOfAddresses);
        }
        match wanted {
            Wanted::Address => {
                let free = candidates.find(|address| !self.is_in_use(*address, None));
                let address = free.ok_or(NegativeCode::LackOfAddresses)?;
                Ok(Mapping { address, ports: Ports::Any })
            }
            Wanted::AllPorts => {
                let free = candidates.find(|address| !self.is_in_use(*address, Some(protocol)));
                let address = free.ok_or(NegativeCode::LackOfPorts)?;
                Ok(Mapping { address, ports: Ports::Range { first: 1, count: NonZeroU16::MAX } })
            }
            Wanted::Ports { count, parity } => candidates
                .find_map(|address| self.choose_ports(address, protocol, count, parity))
                .ok_or(NegativeCode::LackOfPorts),
        }
    }

    /// Returns an address that several share, the translator choosing ports as packets come; `near` if it is
    /// usable.
    pub(crate) fn shared(&self, version: IpVersion, near: Option<IpAddr>) -> Result<Mapping, NegativeCode> {
        let usable =
            |address: &IpAddr| IpVersion::of(*address) == version && !self.is_whole_address_taken(*address);
        let mut ordered = near.into_iter().chain(self.pool.addresses.iter().copied());
        let address = ordered.find(usable).ok_or(NegativeCode::LackOfAddresses)?;
        Ok(Mapping { address, ports: Ports::Any })
    }

    /// Returns how many consecutive ports there can be at most.
    pub(crate) fn most_ports(&self) -> usize {
        self.pool.ports.len()
    }

    fn choose_ports(
        &self,
        address: IpAddr,
        protocol: TransportProtocol,
        count: NonZeroU16,
        parity: ReserveParity,
    ) -> Option<Mapping> {
        let first = match self.ports.get(&(address, protocol)) {
            Some(map) => map.find(&self.pool.ports, count.get(), parity)?,
            None => PortMap::new().find(&self.pool.ports, count.get(), parity)?,
        };
        Some(Mapping { address, ports: Ports::Range { first, count } })
    }

    fn is_whole_address_taken(&self, address: IpAddr) -> bool {
        self.of_address(address).any(|(protocol, port)| !protocol.has_ports() && port == 0)
    }

    fn is_in_use(&self, address: IpAddr, protocol: Option<TransportProtocol>) -> bool {
        self.of_address(address).any(|(used, _)| protocol.is_none_or(|protocol| protocol == used))
    }

    /// Protocols and first ports in use: one step per protocol at most where it matters, for the first decides.
    fn of_address(&self, address: IpAddr) -> impl Iterator<Item = (TransportProtocol, u16)> {
        let protocols = [
            TransportProtocol::ANY,
            TransportProtocol::TCP,
            TransportProtocol::UDP,
            TransportProtocol::DCCP,
            TransportProtocol::SCTP,
            TransportProtocol::UDP_LITE,
        ];
        let first_of = move |protocol: TransportProtocol| {
            let all = (address, protocol, 0)..=(address, protocol, u16::MAX);
            self.uses.range(all).next().map(|((_, protocol, port), _)| (*protocol, *port))
        };
        protocols.into_iter().filter_map(first_of)
    }

    fn take(&mut self, protocol: TransportProtocol, mapping: &Mapping) {
        let Some(key) = key(protocol, mapping) else { return };
        let uses = self.uses.entry(key).or_default();
        *uses += 1;
        if let (1, Ports::Range { first, .. }) = (*uses, mapping.ports) {
            let map = self.ports.entry((mapping.address, protocol)).or_insert_with(PortMap::new);
            map.set(first..=mapping.ports.last());
        }
    }

    fn release(&mut self, protocol: TransportProtocol, mapping: &Mapping) {
        let Some(key) = key(protocol, mapping) else { return };
        let Some(uses) = self.uses.get_mut(&key) else { return };
        *uses -= 1;
        if *uses > 0 {
            return;
        }
        self.uses.remove(&key);
        if let (Ports::Range { first, .. }, Some(map)) =
            (mapping.ports, self.ports.get_mut(&(mapping.address, protocol)))
        {
            map.clear(first..=mapping.ports.last());
        }
    }
}

/// Returns what a mapping occupies; `None` for an address that several share. A whole address belongs to every
/// protocol.
fn key(protocol: TransportProtocol, mapping: &Mapping) -> Option<(IpAddr, TransportProtocol, u16)> {
    match mapping.ports {
        Ports::Range { first, .. } => Some((mapping.address, protocol, first)),
        Ports::Any if protocol.has_ports() => None,
        Ports::Any => Some((mapping.address, TransportProtocol::ANY, 0)),
    }
}

/// One bit per port.
#[derive(Debug)]
struct PortMap {
    words: Box<[u64]>,
    /// The port behind what was taken last, so that a port is not used again at once.
    next: u16,
}

impl PortMap {
    fn new() -> Self {
        Self { words: vec![0; 1024].into_boxed_slice(), next: 0 }
    }

    /// Returns the first of `count` free ports in `range`, looking from behind the latest on.
    fn find(&self, range: &RangeInclusive<u16>, count: u16, parity: ReserveParity) -> Option<u16> {
        let (low, high) = (*range.start(), *range.end());
        let start = if range.contains(&self.next) { self.next } else { low };
        self.find_from(start, high, count, parity).or_else(|| self.find_from(low, high, count, parity))
    }

    fn find_from(&self, low: u16, high: u16, count: u16, parity: ReserveParity) -> Option<u16> {
        let last_start = high.checked_sub(count - 1)?;
        let mut candidate = low;
        while candidate <= last_start {
            let end = candidate + (count - 1);
            match (candidate..=end).rev().find(|port| self.is_set(*port)) {
                None if parity.admits(candidate) => return Some(candidate),
                None => candidate = candidate.checked_add(1)?,
                Some(taken) => candidate = self.next_free(taken)?,
            }
        }
        None
    }

    /// Returns the first free port behind `taken`, whole words at a time.
    fn next_free(&self, taken: u16) -> Option<u16> {
        let mut port = taken.checked_add(1)?;
        loop {
            let (word, bit) = place(port);
            let free = !self.words[word] & (u64::MAX << bit);
            if free != 0 {
                let offset = u16::try_from(free.trailing_zeros()).ok()?;
                return Some((port & !63) | offset);
            }
            port = (port | 63).checked_add(1)?;
        }
    }

    fn is_set(&self, port: u16) -> bool {
        let (word, bit) = place(port);
        self.words[word] & (1 << bit) != 0
    }

    fn set(&mut self, ports: RangeInclusive<u16>) {
        self.next = ports.end().wrapping_add(1);
        for port in ports {
            let (word, bit) = place(port);
            self.words[word] |= 1 << bit;
        }
    }

    fn clear(&mut self, ports: RangeInclusive<u16>) {
        for port in ports {
            let (word, bit) = place(port);
            self.words[word] &= !(1 << bit);
        }
    }
}

fn place(port: u16) -> (usize, u16) {
    (usize::from(port / 64), port % 64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pool(ports: RangeInclusive<u16>) -> PoolUse {
        PoolUse::new(Pool {
            addresses: vec!["192.0.2.1".parse().unwrap(), "192.0.2.2".parse().unwrap()],
            ports,
        })
    }

    fn ports(count: u16, parity: ReserveParity) -> Wanted {
        Wanted::Ports { count: NonZeroU16::new(count).unwrap(), parity }
    }

    const UDP: TransportProtocol = TransportProtocol::UDP;
    const V4: IpVersion = IpVersion::V4;

    #[test]
    fn every_even_pair_is_given_out_once_and_then_the_next_address() {
        let mut pool = pool(1001..=1006);
        let mut found = Vec::new();
        while let Ok(mapping) = pool.choose(UDP, V4, ports(2, ReserveParity::Even), None) {
            pool.take(UDP, &mapping);
            let Ports::Range { first, .. } = mapping.ports else { panic!("{mapping:?}") };
            found.push((mapping.address.to_string(), first));
        }
        let expected = [("192.0.2.1", 1002), ("192.0.2.1", 1004), ("192.0.2.2", 1002), ("192.0.2.2", 1004)];
        assert_eq!(found, expected.map(|(address, first)| (address.to_owned(), first)));
        let refused = pool.choose(UDP, V4, ports(2, ReserveParity::Even), None);
        assert_eq!(refused, Err(NegativeCode::LackOfPorts));
        assert!(pool.choose(TransportProtocol::TCP, V4, ports(2, ReserveParity::Even), None).is_ok());
        let v6 = pool.choose(UDP, IpVersion::V6, ports(1, ReserveParity::Any), None);
        assert_eq!(v6, Err(NegativeCode::LackOfAddresses));
    }

    #[test]
    fn mapping_used_twice_is_free_after_both_ends() {
        let mut pool = pool(5000..=5000);
        pool.pool.addresses.truncate(1);
        let mapping = pool.choose(UDP, V4, ports(1, ReserveParity::Any), None).unwrap();
        pool.take(UDP, &mapping);
        pool.take(UDP, &mapping);
        pool.release(UDP, &mapping);
        assert!(pool.choose(UDP, V4, ports(1, ReserveParity::Any), None).is_err());
        pool.release(UDP, &mapping);
        assert_eq!(pool.choose(UDP, V4, ports(1, ReserveParity::Any), None), Ok(mapping));
    }

    #[test]
    fn whole_address_is_nobody_elses() {
        let mut pool = pool(1024..=65_535);
        let one = pool.choose(UDP, V4, ports(1, ReserveParity::Any), None).unwrap();
        pool.take(UDP, &one);
        let whole = pool.choose(TransportProtocol::ANY, V4, Wanted::Address, None).unwrap();
        assert_ne!(whole.address, one.address);
        pool.take(TransportProtocol::ANY, &whole);
        let again = pool.choose(TransportProtocol::ANY, V4, Wanted::Address, None);
        assert_eq!(again, Err(NegativeCode::LackOfAddresses));
        let near = pool.choose(UDP, V4, ports(1, ReserveParity::Any), Some(whole.address)).unwrap();
        assert_eq!(near.address, one.address);
    }
}

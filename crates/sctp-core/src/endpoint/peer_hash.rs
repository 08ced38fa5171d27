//! Where a peer is, as a hash with a key: peers choose their addresses and ports, and so must not know where they stand in a table.

use std::net::IpAddr;

use sctp_wire::SctpPort;

use crate::rng::Rng;
use crate::transmit::{Destination, Encapsulation};

/// The place of a peer: address, UDP port if encapsulated, SCTP port, as numbers that are quick to compare.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PeerKey {
    low: u64,
    high: u64,
    /// Family, carrier and ports.
    rest: u64,
}

impl PeerKey {
    pub(super) fn new(Destination { address, encapsulation }: Destination, port: SctpPort) -> Self {
        let (family, high, low) = match address {
            IpAddr::V4(v4) => (4, 0, u64::from(v4.to_bits())),
            IpAddr::V6(v6) => {
                let [high, low] = halves(v6.to_bits());
                (6, high, low)
            }
        };
        let (carrier, udp) = match encapsulation {
            Encapsulation::Ip => (0, 0),
            Encapsulation::Udp { port } => (1, port),
            Encapsulation::Datagrams => (2, 0),
        };
        let ports = (u64::from(udp) << 16) | u64::from(port.get());
        Self { low, high, rest: (family << 40) | (carrier << 32) | ports }
    }
}

fn halves(bits: u128) -> [u64; 2] {
    let [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p] = bits.to_be_bytes();
    [[a, b, c, d, e, f, g, h], [i, j, k, l, m, n, o, p]].map(u64::from_be_bytes)
}

/// A hash with a key that is drawn at random: a sum of products with numbers of the key, which is strongly universal (Lemire and Kaser,
/// "Strongly universal string hashing is fast", 2014). However two peers choose where they are, their hashes are equal once in 2³² keys.
#[derive(Clone, Copy)]
pub(super) struct PeerHash {
    sum: u64,
    factors: [u64; 6],
}

/// Never shows the key.
impl core::fmt::Debug for PeerHash {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("PeerHash")
    }
}

impl PeerHash {
    pub(super) fn new(rng: &mut Rng) -> Self {
        Self { sum: rng.u64(), factors: core::array::from_fn(|_| rng.u64()) }
    }

    pub(super) fn of(&self, PeerKey { low, high, rest }: &PeerKey) -> u32 {
        let words = [*low, low >> 32, *high, high >> 32, *rest, rest >> 32].map(|word| word & LOW_HALF);
        let products = words.iter().zip(&self.factors).map(|(word, factor)| factor.wrapping_mul(*word));
        u32::try_from(products.fold(self.sum, u64::wrapping_add) >> 32).unwrap_or_default()
    }
}

const LOW_HALF: u64 = 0xffff_ffff;

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn peer(address: impl Into<IpAddr>, udp: u16, port: u16) -> PeerKey {
        let encapsulation = Encapsulation::Udp { port: udp };
        PeerKey::new(Destination { address: address.into(), encapsulation }, SctpPort::new(port).unwrap())
    }

    /// Whatever it is that a peer chooses, another key puts it elsewhere, and another choice elsewhere, too.
    #[test]
    fn hash_depends_on_the_key_and_on_all_that_a_peer_is_found_by() {
        let peers = [
            peer([10, 0, 0, 1], 9899, 7),
            peer([10, 0, 0, 2], 9899, 7),
            peer([10, 0, 0, 1], 9898, 7),
            peer([10, 0, 0, 1], 9899, 8),
            peer(1_u128.to_be_bytes(), 9899, 7),
            peer((1_u128 << 32).to_be_bytes(), 9899, 7),
            peer((1_u128 << 64).to_be_bytes(), 9899, 7),
            peer((1_u128 << 96).to_be_bytes(), 9899, 7),
        ];
        let keys = [1, 2].map(|seed| PeerHash::new(&mut Rng::new(&[seed; 32])));
        let hashes: BTreeSet<u32> =
            keys.iter().flat_map(|key| peers.iter().map(|peer| key.of(peer))).collect();
        assert_eq!(hashes.len(), keys.len() * peers.len());
    }
}

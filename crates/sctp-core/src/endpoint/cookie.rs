//! The state cookie (RFC 9260 §5.1.3): everything needed to build an association, signed, so that nothing is
//! kept until the peer has shown that it receives at the address it writes from.
//!
//! HMAC-SHA-256 over the whole of it: ports, tags, tie-tags, TSNs, addresses, streams, extensions, time. The key is random and
//! changes every Valid.Cookie.Life; the one before stays good for as long. Parsing keeps its bounds even after
//! the signature has been found right.

use core::time::Duration;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use hmac::{Hmac, Mac};
use sctp_wire::{SctpPort, Tsn, VerificationTag};
use sha2::Sha256;
use smallvec::SmallVec;
use virtual_time::Instant;

use crate::association::{Capabilities, Negotiated};
use crate::rng::{Rng, keyed};
use crate::transmit::{Destination, Encapsulation};

/// What a cookie says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct StateCookie {
    pub(crate) created_at: Instant,
    pub(crate) local_port: SctpPort,
    pub(crate) peer_port: SctpPort,
    pub(crate) local_tag: VerificationTag,
    pub(crate) peer_tag: VerificationTag,
    /// The tie-tag of the association that existed when the cookie was made; zero if none did.
    pub(crate) tie_tag: u64,
    pub(crate) local_initial_tsn: Tsn,
    pub(crate) peer_initial_tsn: Tsn,
    pub(crate) peer_window: u32,
    pub(crate) agreed: Negotiated,
    /// Where the INIT came from.
    pub(crate) source: Destination,
    /// The addresses the INIT listed, at most [`MAX_ADDRESSES`].
    pub(crate) addresses: SmallVec<[IpAddr; 1]>,
    /// How many more it listed.
    pub(crate) addresses_ignored: u8,
}

/// Why a cookie was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum CookieRefused {
    #[error("cookie signature does not match")]
    Signature,
    #[error("signed cookie does not parse")]
    Malformed,
}

/// The keys cookies are signed with.
pub(crate) struct CookieKeys {
    current: Hmac<Sha256>,
    previous: Option<Hmac<Sha256>>,
    changed_at: Instant,
    life: Duration,
    rng: Rng,
}

impl CookieKeys {
    pub(crate) fn new(mut rng: Rng, life: Duration) -> Self {
        let current = keyed(&rng.key());
        Self { current, previous: None, changed_at: Instant::EPOCH, life, rng }
    }

    pub(crate) fn life(&self) -> Duration {
        self.life
    }

    /// The octets of a signed cookie.
    pub(crate) fn sign(&mut self, now: Instant, cookie: &StateCookie) -> Vec<u8> {
        self.rotate(now);
        let mut octets = cookie.encode();
        let mac = self.current.clone().chain_update(&octets).finalize();
        octets.extend_from_slice(&mac.into_bytes());
        octets
    }

    /// Checks the signature first, in constant time, and only then reads.
    pub(crate) fn verify(&mut self, now: Instant, octets: &[u8]) -> Result<StateCookie, CookieRefused> {
        self.rotate(now);
        let body_bytes = octets.len().checked_sub(MAC_BYTES).ok_or(CookieRefused::Signature)?;
        let (body, mac) = octets.split_at(body_bytes);
        let signed_by = |key: &Hmac<Sha256>| key.clone().chain_update(body).verify_slice(mac).is_ok();
        if !signed_by(&self.current) && !self.previous.as_ref().is_some_and(signed_by) {
            return Err(CookieRefused::Signature);
        }
        StateCookie::decode(body).ok_or(CookieRefused::Malformed)
    }

    fn rotate(&mut self, now: Instant) {
        let age = now.since(self.changed_at);
        if age < self.life {
            return;
        }
        let next = keyed(&self.rng.key());
        let last = core::mem::replace(&mut self.current, next);
        // After a long silence even the last key is older than any cookie that may still come.
        self.previous = (age < self.life * 2).then_some(last);
        self.changed_at = now;
    }
}

impl StateCookie {
    fn encode(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(FIXED_BYTES + 17 * (1 + self.addresses.len()) + 3 + MAC_BYTES);
        out.extend_from_slice(&self.created_at.as_nanos().to_be_bytes());
        out.extend_from_slice(&self.tie_tag.to_be_bytes());
        for number in [
            self.local_tag.get(),
            self.peer_tag.get(),
            self.local_initial_tsn.get(),
            self.peer_initial_tsn.get(),
            self.peer_window,
        ] {
            out.extend_from_slice(&number.to_be_bytes());
        }
        let ports = [self.local_port.get(), self.peer_port.get()];
        for number in ports.into_iter().chain([self.agreed.outbound, self.agreed.inbound]) {
            out.extend_from_slice(&number.to_be_bytes());
        }
        out.push(self.agreed.capabilities.to_octet());
        out.push(self.addresses_ignored);
        // UDP port 0 cannot be a peer's: it stands for "no encapsulation".
        let port = match self.source.encapsulation {
            Encapsulation::Ip => 0,
            Encapsulation::Udp { port } => port,
        };
        out.extend_from_slice(&port.to_be_bytes());
        encode_address(&mut out, self.source.address);
        for &address in self.addresses.iter().take(MAX_ADDRESSES) {
            encode_address(&mut out, address);
        }
        out
    }

    fn decode(body: &[u8]) -> Option<Self> {
        let mut rest = body;
        let created_at = Instant::from_nanos(u64::from_be_bytes(take(&mut rest)?));
        let tie_tag = u64::from_be_bytes(take(&mut rest)?);
        let mut u32_field = || Some(u32::from_be_bytes(take(&mut rest)?));
        let (local_tag, peer_tag) = (u32_field()?, u32_field()?);
        let (local_initial_tsn, peer_initial_tsn) = (u32_field()?, u32_field()?);
        let peer_window = u32_field()?;
        let mut u16_field = || Some(u16::from_be_bytes(take(&mut rest)?));
        let (local_port, peer_port) = (u16_field()?, u16_field()?);
        let (outbound, inbound) = (u16_field()?, u16_field()?);
        let [capabilities, addresses_ignored] = take(&mut rest)?;
        let capabilities = Capabilities::from_octet(capabilities);
        let encapsulation = match u16::from_be_bytes(take(&mut rest)?) {
            0 => Encapsulation::Ip,
            port => Encapsulation::Udp { port },
        };
        let source = Destination { address: decode_address(&mut rest)?, encapsulation };
        let mut addresses = SmallVec::new();
        while !rest.is_empty() && addresses.len() < MAX_ADDRESSES {
            addresses.push(decode_address(&mut rest)?);
        }
        Some(Self {
            created_at,
            local_port: SctpPort::new(local_port)?,
            peer_port: SctpPort::new(peer_port)?,
            local_tag: VerificationTag::new(local_tag),
            peer_tag: VerificationTag::new(peer_tag),
            tie_tag,
            local_initial_tsn: Tsn::new(local_initial_tsn),
            peer_initial_tsn: Tsn::new(peer_initial_tsn),
            peer_window,
            agreed: Negotiated { outbound, inbound, capabilities },
            source,
            addresses,
            addresses_ignored,
        })
    }
}

fn take<const N: usize>(rest: &mut &[u8]) -> Option<[u8; N]> {
    let (head, tail) = rest.split_first_chunk::<N>()?;
    *rest = tail;
    Some(*head)
}

fn encode_address(out: &mut Vec<u8>, address: IpAddr) {
    match address {
        IpAddr::V4(v4) => {
            out.push(4);
            out.extend_from_slice(&v4.octets());
        }
        IpAddr::V6(v6) => {
            out.push(6);
            out.extend_from_slice(&v6.octets());
        }
    }
}

fn decode_address(rest: &mut &[u8]) -> Option<IpAddr> {
    match take::<1>(rest)? {
        [4] => Some(Ipv4Addr::from(take::<4>(rest)?).into()),
        [6] => Some(Ipv6Addr::from(take::<16>(rest)?).into()),
        _ => None,
    }
}

/// Addresses remembered in a cookie; further ones of the INIT are not used.
pub(crate) const MAX_ADDRESSES: usize = 8;
const MAC_BYTES: usize = 32;
const FIXED_BYTES: usize = 2 * 8 + 5 * 4 + 5 * 2 + 2;

#[cfg(test)]
mod tests;

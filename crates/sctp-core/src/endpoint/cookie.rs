//! The state cookie (RFC 9260 §5.1.3): everything needed to build an association, signed, so that nothing is
//! kept until the peer has shown that it receives at the address it writes from.
//!
//! HMAC-SHA-256 over the whole of it: ports, tags, tie-tags, TSNs, addresses, streams, extensions, time. The key is
//! random and changes every Valid.Cookie.Life; the ones before stay known for a while, so that a cookie whose life
//! is over is told from a forged one and its owner hears that it is stale (RFC 9260 §5.2.6). Parsing keeps its
//! bounds even after the signature has been found right.

use core::time::Duration;
use std::collections::VecDeque;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use hmac::{Hmac, Mac};
use sctp_wire::{SctpPort, Tsn, VerificationTag};
use sha2::Sha256;
use smallvec::SmallVec;
use virtual_time::Instant;

use super::spent::SpentTags;
use crate::association::{Announcement, Capabilities, Capability, KeyMaterial, Negotiated, PeerNotes};
use crate::rng::{Rng, keyed};
use crate::transmit::{Destination, Encapsulation};

/// What a cookie says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct StateCookie {
    /// Valid.Cookie.Life from its making, and what the INIT asked for beyond it (RFC 9260 §3.3.2.1.3).
    pub(crate) expires_at: Instant,
    /// When the INIT ACK with it left.
    pub(crate) issued_at: Instant,
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
    /// Present if authentication is among what was agreed.
    pub(crate) key_material: Option<KeyMaterial>,
    /// Where the INIT came from.
    pub(crate) source: Destination,
    /// The addresses the INIT listed, at most [`MAX_ADDRESSES`].
    pub(crate) addresses: SmallVec<[IpAddr; 1]>,
    pub(crate) notes: PeerNotes,
}

/// Why a cookie was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum CookieRefused {
    #[error("cookie signature does not match")]
    Signature,
    #[error("signed cookie does not parse")]
    Malformed,
    #[error("the association of this cookie is over")]
    Spent,
}

/// The keys cookies are signed with, the current one first, and which cookies do not count any more.
pub(crate) struct CookieKeys {
    keys: VecDeque<Key>,
    spent: SpentTags,
    life: Duration,
    /// The longest that a cookie's life may be extended.
    extension: Duration,
    rng: Rng,
}

struct Key {
    hmac: Hmac<Sha256>,
    in_use_since: Instant,
}

impl CookieKeys {
    pub(crate) fn new(mut rng: Rng, life: Duration, extension: Duration) -> Self {
        let first = Key { hmac: keyed(&rng.key()), in_use_since: Instant::EPOCH };
        Self { keys: VecDeque::from([first]), spent: SpentTags::default(), life, extension, rng }
    }

    /// When a cookie made now expires, if the peer asks for this much more than the usual.
    pub(crate) fn expiry(&self, now: Instant, increment: Duration) -> Instant {
        now + self.life + increment.min(self.extension)
    }

    /// The octets of a signed cookie.
    pub(crate) fn sign(&mut self, now: Instant, cookie: &StateCookie) -> Vec<u8> {
        self.rotate(now);
        let mut octets = cookie.encode();
        // Never empty: `rotate` puts a key in before it forgets others.
        if let Some(key) = self.keys.front() {
            octets.extend_from_slice(&key.hmac.clone().chain_update(&octets).finalize().into_bytes());
        }
        octets
    }

    /// Checks the signature first, in constant time, and only then reads.
    pub(crate) fn verify(&mut self, now: Instant, octets: &[u8]) -> Result<StateCookie, CookieRefused> {
        self.rotate(now);
        let body_bytes = octets.len().checked_sub(MAC_BYTES).ok_or(CookieRefused::Signature)?;
        let (body, mac) = octets.split_at(body_bytes);
        let signed_by = |key: &Key| key.hmac.clone().chain_update(body).verify_slice(mac).is_ok();
        if !self.keys.iter().any(signed_by) {
            return Err(CookieRefused::Signature);
        }
        let cookie = StateCookie::decode(body).ok_or(CookieRefused::Malformed)?;
        if self.spent.contains(cookie.local_tag) { Err(CookieRefused::Spent) } else { Ok(cookie) }
    }

    /// The association with this tag of ours is over.
    pub(crate) fn spend(&mut self, tag: VerificationTag) {
        self.spent.note(tag);
    }

    /// A key signs for one period and is known for [`PERIODS_KNOWN`]: the cookies it signs live two periods at most.
    fn rotate(&mut self, now: Instant) {
        let period = self.life.max(self.extension);
        let is_due = self.keys.front().is_none_or(|current| now.since(current.in_use_since) >= period);
        if is_due {
            self.keys.push_front(Key { hmac: keyed(&self.rng.key()), in_use_since: now });
        }
        while self.keys.back().is_some_and(|oldest| now.since(oldest.in_use_since) >= period * PERIODS_KNOWN)
        {
            self.keys.pop_back();
        }
    }
}

impl StateCookie {
    pub(super) fn encode(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(FIXED_BYTES + 17 * (2 + self.addresses.len()) + 3 + MAC_BYTES);
        out.extend_from_slice(&self.expires_at.as_nanos().to_be_bytes());
        out.extend_from_slice(&self.issued_at.as_nanos().to_be_bytes());
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
        let PeerNotes { addresses_ignored, primary, adaptation } = self.notes;
        out.push(addresses_ignored);
        out.push(u8::from(adaptation.is_some()));
        out.extend_from_slice(&adaptation.unwrap_or_default().to_be_bytes());
        match primary {
            Some(address) => encode_address(&mut out, address),
            None => out.push(NO_ADDRESS),
        }
        if let Some(KeyMaterial { ours, peer }) = &self.key_material {
            ours.encode(&mut out);
            peer.encode(&mut out);
        }
        let (carrier, port) = match self.source.encapsulation {
            Encapsulation::Ip => (0, 0),
            Encapsulation::Udp { port } => (1, port),
            Encapsulation::Datagrams => (2, 0),
        };
        out.push(carrier);
        out.extend_from_slice(&port.to_be_bytes());
        encode_address(&mut out, self.source.address);
        for &address in self.addresses.iter().take(MAX_ADDRESSES) {
            encode_address(&mut out, address);
        }
        out
    }

    pub(super) fn decode(body: &[u8]) -> Option<Self> {
        let mut rest = body;
        let expires_at = Instant::from_nanos(u64::from_be_bytes(take(&mut rest)?));
        let issued_at = Instant::from_nanos(u64::from_be_bytes(take(&mut rest)?));
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
        let [has_adaptation] = take(&mut rest)?;
        let adaptation = Some(u32::from_be_bytes(take(&mut rest)?)).filter(|_| has_adaptation != 0);
        let primary = match rest.split_first()? {
            (&NO_ADDRESS, behind) => {
                rest = behind;
                None
            }
            _ => Some(decode_address(&mut rest)?),
        };
        let notes = PeerNotes { addresses_ignored, primary, adaptation };
        let key_material = if capabilities.has(Capability::Authentication) {
            Some(KeyMaterial {
                ours: Announcement::decode(&mut rest)?,
                peer: Announcement::decode(&mut rest)?,
            })
        } else {
            None
        };
        let encapsulation = match (take::<1>(&mut rest)?, u16::from_be_bytes(take(&mut rest)?)) {
            ([0], _) => Encapsulation::Ip,
            ([1], port) => Encapsulation::Udp { port },
            ([2], _) => Encapsulation::Datagrams,
            _ => return None,
        };
        let source = Destination { address: decode_address(&mut rest)?, encapsulation };
        let mut addresses = SmallVec::new();
        while !rest.is_empty() && addresses.len() < MAX_ADDRESSES {
            addresses.push(decode_address(&mut rest)?);
        }
        Some(Self {
            expires_at,
            issued_at,
            local_port: SctpPort::new(local_port)?,
            peer_port: SctpPort::new(peer_port)?,
            local_tag: VerificationTag::new(local_tag),
            peer_tag: VerificationTag::new(peer_tag),
            tie_tag,
            local_initial_tsn: Tsn::new(local_initial_tsn),
            peer_initial_tsn: Tsn::new(peer_initial_tsn),
            peer_window,
            agreed: Negotiated { outbound, inbound, capabilities },
            key_material,
            source,
            addresses,
            notes,
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
/// One in which a key signs, two that its cookies may live, and one in which they are recognised as stale.
const PERIODS_KNOWN: u32 = 4;
const FIXED_BYTES: usize = 3 * 8 + 5 * 4 + 5 * 2 + 2 + 1 + 6;
/// Stands where an address would begin with its version.
const NO_ADDRESS: u8 = 0;

#[cfg(test)]
mod tests;

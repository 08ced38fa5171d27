//! The state cookie (RFC 9260 §5.1.3): everything needed to build an association, signed, so that nothing is
//! kept until the peer has shown that it receives at the address it writes from.
//!
//! BLAKE2b with a key over the whole of it: ports, tags, tie-tags, TSNs, addresses, streams, extensions, time
//! (docs/decisions/0013-blake2-in-the-handshake.md). The key is random and changes every Valid.Cookie.Life; the ones
//! before stay known for a while, so that a cookie whose life is over is told from a forged one and its owner hears that
//! it is stale (RFC 9260 §5.2.6). Parsing keeps its bounds even after the signature has been found right.
//!
//! What is seldom there takes no room: a cookie between two hosts of one IPv4 address each is shorter than a block of the
//! hash, key material included.

use core::time::Duration;
use std::collections::VecDeque;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::Arc;

use blake2::digest::Mac;
use sctp_wire::{SctpPort, Tsn, VerificationTag};
use smallvec::SmallVec;
use virtual_time::Instant;

use super::spent::{Answering, SpentTags};
use crate::association::{AnnouncedLists, KeyMaterial, PeerNotes, StateCookie};
use crate::capabilities::{Capabilities, Capability, Negotiated};
use crate::rng::{KeyedHash, Rng, keyed};
use crate::transmit::{Destination, Encapsulation, MAX_PATHS};

/// The reason why a cookie was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum CookieRefused {
    #[error("no cookie of ours is as long or as short")]
    Length,
    #[error("cookie signature does not match")]
    Signature,
    #[error("signed cookie does not parse")]
    Malformed,
    #[error("the association of this cookie is over, or was refused")]
    Spent,
    #[error("the user ignores the peer of this cookie")]
    Ignored,
}

/// The keys cookies are signed with, the current one first, and which cookies do not count any more.
pub(crate) struct CookieKeys {
    keys: VecDeque<Key>,
    spent: SpentTags,
    life: Duration,
    /// The longest that a cookie's life may be extended.
    extension: Duration,
    /// The time when a cookie was last made or looked at.
    now: Instant,
    /// The time until which the keys are the right ones.
    rotates_at: Instant,
    rng: Rng,
}

struct Key {
    hash: KeyedHash,
    in_use_since: Instant,
}

impl CookieKeys {
    pub(crate) fn new(mut rng: Rng, life: Duration, extension: Duration) -> Self {
        let first = Key { hash: keyed(&rng.octets()), in_use_since: Instant::EPOCH };
        let spent = SpentTags::new(life + extension);
        let (keys, now) = (VecDeque::from([first]), Instant::EPOCH);
        Self { keys, spent, life, extension, now, rotates_at: now, rng }
    }

    /// Returns when a cookie made now expires, if the peer asks for this much more than the usual.
    pub(crate) fn expiry(&self, now: Instant, increment: Duration) -> Instant {
        now + self.life + increment.min(self.extension)
    }

    /// Returns the octets of a signed cookie.
    pub(crate) fn sign(&mut self, now: Instant, cookie: &StateCookie) -> Vec<u8> {
        self.rotate(now);
        let mut octets = cookie.encode();
        // Never empty: `rotate` puts a key in before it forgets others.
        if let Some(key) = self.keys.front() {
            octets.extend_from_slice(&key.hash.clone().chain_update(&octets).finalize().into_bytes());
        }
        octets
    }

    /// Checks the signature first, in constant time, and only then reads; but for when it claims to have been made, which
    /// says with which key (RFC 9260 §5.1.5, step 1). So a forged one costs one look at no more octets than one of ours has.
    /// `lists` are what this endpoint announces for authentication, and mostly what is in the cookie.
    pub(crate) fn verify(
        &mut self,
        now: Instant,
        octets: &[u8],
        lists: Option<&Arc<AnnouncedLists>>,
    ) -> Result<StateCookie, CookieRefused> {
        self.rotate(now);
        let body_bytes = octets.len().checked_sub(MAC_BYTES).ok_or(CookieRefused::Length)?;
        if octets.len() > MAX_BYTES {
            return Err(CookieRefused::Length);
        }
        let (body, mac) = octets.split_at(body_bytes);
        let issued_at = StateCookie::issued_at(body).ok_or(CookieRefused::Length)?;
        let key = self.key_at(issued_at).ok_or(CookieRefused::Signature)?;
        if key.hash.clone().chain_update(body).verify_slice(mac).is_err() {
            return Err(CookieRefused::Signature);
        }
        let cookie = StateCookie::decode(body, lists).ok_or(CookieRefused::Malformed)?;
        match self.spent.get(cookie.local_tag) {
            None => Ok(cookie),
            Some(Answering::Abort) => Err(CookieRefused::Spent),
            Some(Answering::Nothing) => Err(CookieRefused::Ignored),
        }
    }

    /// The association with this tag of ours is over, for which a cookie was made last at `issued_at`.
    pub(crate) fn spend(&mut self, tag: VerificationTag, issued_at: Instant) {
        self.spent.note(self.now, tag, issued_at, Answering::Abort);
    }

    /// Makes the cookie of a peer count no more, which gets no answer if it comes again.
    pub(crate) fn ignore(&mut self, tag: VerificationTag, issued_at: Instant) {
        self.spent.note(self.now, tag, issued_at, Answering::Nothing);
    }

    pub(crate) fn is_spent(&self, tag: VerificationTag) -> bool {
        self.spent.contains(tag)
    }

    /// Returns whether a cookie is too old, or as old as one that is forgotten to have been used.
    pub(crate) fn is_stale(&self, cookie: &StateCookie) -> bool {
        self.now > cookie.expires_at || self.spent.may_be_forgotten(cookie.issued_at)
    }

    /// Returns the key that signed then: keys are in order, the newest first.
    fn key_at(&self, issued_at: Instant) -> Option<&Key> {
        self.keys.iter().find(|key| key.in_use_since <= issued_at)
    }

    /// A key signs for one period and is known for [`PERIODS_KNOWN`]: the cookies it signs live two periods at most.
    fn rotate(&mut self, now: Instant) {
        self.now = now;
        if now >= self.rotates_at {
            self.change_keys(now);
        }
    }

    #[cold]
    fn change_keys(&mut self, now: Instant) {
        let period = self.life.max(self.extension);
        let is_due = self.keys.front().is_none_or(|current| now.since(current.in_use_since) >= period);
        if is_due {
            self.keys.push_front(Key { hash: keyed(&self.rng.octets()), in_use_since: now });
        }
        while self.keys.back().is_some_and(|oldest| now.since(oldest.in_use_since) >= period * PERIODS_KNOWN)
        {
            self.keys.pop_back();
        }
        let signs_until = self.keys.front().map(|current| current.in_use_since + period);
        let known_until = self.keys.back().map(|oldest| oldest.in_use_since + period * PERIODS_KNOWN);
        self.rotates_at = signs_until.into_iter().chain(known_until).min().unwrap_or(now);
    }
}

impl StateCookie {
    pub(super) fn encode(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(USUAL_BYTES);
        out.extend_from_slice(&[self.flags(), self.agreed.capabilities.to_octet()]);
        for time in [self.expires_at, self.issued_at] {
            out.extend_from_slice(&time.as_nanos().to_be_bytes());
        }
        let (local_tsn, peer_tsn) = (self.local_initial_tsn.get(), self.peer_initial_tsn.get());
        for number in [self.local_tag.get(), self.peer_tag.get(), local_tsn, peer_tsn, self.peer_window] {
            out.extend_from_slice(&number.to_be_bytes());
        }
        let ports = [self.local_port.get(), self.peer_port.get()];
        for number in ports.into_iter().chain([self.agreed.outbound, self.agreed.inbound]) {
            out.extend_from_slice(&number.to_be_bytes());
        }
        self.encode_optional(&mut out);
        encode_address(&mut out, self.source.address);
        if !self.has_source_alone() {
            let listed = &self.addresses[..self.addresses.len().min(MAX_PATHS)];
            out.push(u8::try_from(listed.len()).unwrap_or_default());
            listed.iter().for_each(|address| encode_address(&mut out, *address));
        }
        out
    }

    /// Returns when a cookie says it was made, as `encode` has it.
    fn issued_at(body: &[u8]) -> Option<Instant> {
        let (_flags_and_expiry, rest) = body.split_at_checked(ISSUED_AT)?;
        Some(Instant::from_nanos(u64::from_be_bytes(*rest.first_chunk()?)))
    }

    /// Encodes the optional parts that the flags announce, in their order.
    fn encode_optional(&self, out: &mut Vec<u8>) {
        if self.tie_tag != 0 {
            out.extend_from_slice(&self.tie_tag.to_be_bytes());
        }
        if let Some(adaptation) = self.notes.adaptation {
            out.extend_from_slice(&adaptation.to_be_bytes());
        }
        if let Some(primary) = self.notes.primary {
            encode_address(out, primary);
        }
        if self.notes.addresses_ignored != 0 {
            out.push(self.notes.addresses_ignored);
        }
        if let Some(material) = &self.key_material {
            material.encode(out);
        }
        if let Encapsulation::Udp { port } = self.source.encapsulation {
            out.extend_from_slice(&port.to_be_bytes());
        }
    }

    fn flags(&self) -> u8 {
        let has = |is_there, flag| if is_there { flag } else { 0 };
        let carrier = match self.source.encapsulation {
            Encapsulation::Ip => 0,
            Encapsulation::Udp { .. } => UDP,
            Encapsulation::Datagrams => DATAGRAMS,
        };
        carrier
            | has(self.tie_tag != 0, TIE_TAG)
            | has(self.notes.adaptation.is_some(), ADAPTATION)
            | has(self.notes.primary.is_some(), PRIMARY)
            | has(self.notes.addresses_ignored != 0, ADDRESSES_IGNORED)
            | has(self.key_material.as_ref().is_some_and(KeyMaterial::is_alike), ALIKE)
            | has(!self.has_source_alone(), ADDRESSES)
    }

    fn has_source_alone(&self) -> bool {
        self.addresses[..] == [self.source.address]
    }

    /// Returns the content of a cookie; `lists` may be those that are in it.
    pub(super) fn decode(body: &[u8], lists: Option<&Arc<AnnouncedLists>>) -> Option<Self> {
        let mut rest = body;
        let [flags, capabilities] = take(&mut rest)?;
        let mut time = || Some(Instant::from_nanos(u64::from_be_bytes(take(&mut rest)?)));
        let (expires_at, issued_at) = (time()?, time()?);
        let mut u32_field = || Some(u32::from_be_bytes(take(&mut rest)?));
        let (local_tag, peer_tag) = (u32_field()?, u32_field()?);
        let (local_initial_tsn, peer_initial_tsn) = (u32_field()?, u32_field()?);
        let peer_window = u32_field()?;
        let mut u16_field = || Some(u16::from_be_bytes(take(&mut rest)?));
        let (local_port, peer_port) = (u16_field()?, u16_field()?);
        let (outbound, inbound) = (u16_field()?, u16_field()?);
        let capabilities = Capabilities::from_octet(capabilities);
        let has = |flag| flags & flag != 0;
        let tie_tag = if has(TIE_TAG) { u64::from_be_bytes(take(&mut rest)?) } else { 0 };
        let notes = decode_notes(&mut rest, flags)?;
        let key_material = if capabilities.has(Capability::Authentication) {
            Some(KeyMaterial::decode(&mut rest, has(ALIKE), lists)?)
        } else {
            None
        };
        let encapsulation = match flags & (UDP | DATAGRAMS) {
            0 => Encapsulation::Ip,
            UDP => Encapsulation::Udp { port: u16::from_be_bytes(take(&mut rest)?) },
            DATAGRAMS => Encapsulation::Datagrams,
            _ => return None,
        };
        let source = Destination { address: decode_address(&mut rest)?, encapsulation };
        let addresses = decode_addresses(&mut rest, (!has(ADDRESSES)).then_some(source.address))?;
        let cookie = Self {
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
        };
        rest.is_empty().then_some(cookie)
    }
}

fn decode_notes(rest: &mut &[u8], flags: u8) -> Option<PeerNotes> {
    let mut notes = PeerNotes::default();
    if flags & ADAPTATION != 0 {
        notes.adaptation = Some(u32::from_be_bytes(take(rest)?));
    }
    if flags & PRIMARY != 0 {
        notes.primary = Some(decode_address(rest)?);
    }
    if flags & ADDRESSES_IGNORED != 0 {
        [notes.addresses_ignored] = take(rest)?;
    }
    Some(notes)
}

fn take<const N: usize>(rest: &mut &[u8]) -> Option<[u8; N]> {
    let (head, tail) = rest.split_first_chunk::<N>()?;
    *rest = tail;
    Some(*head)
}

/// Returns those that are listed, or the source alone.
fn decode_addresses(rest: &mut &[u8], alone: Option<IpAddr>) -> Option<SmallVec<[IpAddr; 1]>> {
    if let Some(source) = alone {
        return Some(SmallVec::from_elem(source, 1));
    }
    let [count] = take(rest)?;
    let count = usize::from(count);
    if count > MAX_PATHS {
        return None;
    }
    (0..count).map(|_| decode_address(rest)).collect()
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

/// The octets of a cookie's MAC: so many that a guess has no chance within the life of a key.
const MAC_BYTES: usize = 16;
/// One in which a key signs, two that its cookies may live, and one in which they are recognised as stale.
const PERIODS_KNOWN: u32 = 4;
/// Octets of the longest cookie we make, and of its MAC, rounded up: two lists of 256 chunk types and 32 HMACs are the most of it.
const MAX_BYTES: usize = 1024;
/// The offset of the time at which a cookie was made: behind flags, capabilities and the time at which it
/// expires.
const ISSUED_AT: usize = 10;
/// Octets of most cookies, and of their MAC.
const USUAL_BYTES: usize = 192;

const TIE_TAG: u8 = 1;
const ADAPTATION: u8 = 1 << 1;
const PRIMARY: u8 = 1 << 2;
const ADDRESSES_IGNORED: u8 = 1 << 3;
/// Both sides announced the same chunks and HMACs.
const ALIKE: u8 = 1 << 4;
const UDP: u8 = 1 << 5;
const DATAGRAMS: u8 = 1 << 6;
/// The INIT listed other addresses than the one it came from.
const ADDRESSES: u8 = 1 << 7;

#[cfg(test)]
mod tests;

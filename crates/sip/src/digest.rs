//! Digest authentication of callers (RFC 3261 §22, RFC 7616, RFC 8760): a challenge with SHA-512-256, SHA-256 and
//! MD5, and what a caller answers to it.
//!
//! A challenge costs no memory: a nonce is its time and its number, signed with a key, and whoever has seen none makes none. Only
//! callers who have proved who they are leave something behind, the count of their last use of a nonce, so that nobody says the
//! same again.

use core::fmt;
use core::time::Duration;
use std::collections::BTreeMap;

use hmac::{Hmac, KeyInit, Mac};
use md5::Md5;
use sha2::{Digest as _, Sha256, Sha512_256};
use virtual_time::Instant;

use crate::message::{HeaderName, Request};
use crate::text::{self, hex};

/// The side that challenges.
#[derive(Clone)]
pub struct Authenticator {
    realm: String,
    /// The passwords by name.
    users: BTreeMap<String, String>,
    keyed: Option<Hmac<Sha256>>,
    /// How many nonces there have been, which tells those of a second apart.
    made: u64,
    /// The last count of each nonce that was used well (RFC 7616 §3.4).
    used: BTreeMap<Nonce, u32>,
}

/// The verdict on a request.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Authentication {
    /// The request is from this user.
    User(String),
    /// The request proves nothing: it is to be answered with 401 and these values of WWW-Authenticate, the first of which is the
    /// one to be preferred (RFC 8760 §2.3).
    Challenge([String; 3]),
}

/// The hash functions, by their names in `algorithm`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Algorithm {
    Sha512Of256,
    Sha256,
    Md5,
}

/// What a nonce says: the second in which it was made, and its number.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Nonce {
    second: u64,
    number: u64,
}

/// Shows neither passwords nor the key.
impl fmt::Debug for Authenticator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Authenticator").field("realm", &self.realm).field("users", &self.users.len()).finish()
    }
}

impl Authenticator {
    /// Creates the authenticator of a realm, with passwords by the names of users. `seed` makes nonces that nobody can guess.
    #[must_use]
    pub fn new(realm: impl Into<String>, users: BTreeMap<String, String>, seed: [u8; 32]) -> Self {
        // HMAC takes keys of any length. What the seed is for elsewhere must not meet what is signed here.
        let keyed = |key: &[u8]| Hmac::<Sha256>::new_from_slice(key).ok();
        let of_digest = keyed(&seed).map(|seed| seed.chain_update("digest").finalize().into_bytes());
        let keyed = of_digest.and_then(|key| keyed(&key));
        Self { realm: realm.into(), users, keyed, made: 0, used: BTreeMap::new() }
    }

    /// Goes by other users from now on; challenges stay valid.
    pub fn set_users(&mut self, realm: impl Into<String>, users: BTreeMap<String, String>) {
        (self.realm, self.users) = (realm.into(), users);
    }

    /// Returns whose a request is, or the challenge to it.
    pub fn check(&mut self, now: Instant, request: &Request) -> Authentication {
        let is_ours = |credentials: &Credentials<'_>| credentials.value("realm") == Some(self.realm.as_str());
        let values = request.headers.all(&HeaderName::Authorization);
        let Some(credentials) = values.filter_map(Credentials::parse).find(is_ours) else {
            return self.challenge(now, false);
        };
        let (Some(nonce), Some(user)) = (credentials.value("nonce"), credentials.value("username")) else {
            return self.challenge(now, false);
        };
        let Some(count) = self.proved(&credentials, request) else { return self.challenge(now, false) };
        // Who has the password and an old nonce, be it of this agent before it was started anew, need not ask its user again.
        if self.take(now, nonce, count) {
            Authentication::User(user.to_owned())
        } else {
            self.challenge(now, true)
        }
    }

    /// Removes the credentials for this realm from a request, which are nobody else's business.
    pub fn strip(&self, request: &mut Request) {
        let values = request.headers.all(&HeaderName::Authorization);
        let is_ours = |value: &&str| {
            Credentials::parse(value).is_some_and(|found| found.value("realm") == Some(self.realm.as_str()))
        };
        let others: Vec<String> = values.filter(|value| !is_ours(value)).map(str::to_owned).collect();
        request.headers.remove(&HeaderName::Authorization);
        for other in others {
            request.headers.push(HeaderName::Authorization, other);
        }
    }

    /// Returns the count of a proof, if it is one.
    fn proved(&self, credentials: &Credentials<'_>, request: &Request) -> Option<u32> {
        let algorithm = Algorithm::of(credentials.value("algorithm").unwrap_or("MD5"))?;
        let (user, count) = (credentials.value("username")?, credentials.value("nc")?);
        let number = (count.len() == 8).then(|| u32::from_str_radix(count, 16).ok()).flatten()?;
        // Credentials are for this request and no other (RFC 3261 §22.4); without qop they could be had again and again.
        if credentials.value("uri")? != request.uri || credentials.value("qop")? != "auth" {
            return None;
        }
        let password = self.users.get(user)?;
        let first = algorithm.hash(&[user, &self.realm, password]);
        let second = algorithm.hash(&[&request.method.to_string(), &request.uri]);
        let nonces = [credentials.value("nonce")?, count, credentials.value("cnonce")?, "auth"];
        let expected = algorithm.hash(&[&first, nonces[0], nonces[1], nonces[2], nonces[3], &second]);
        self.is_equal(&expected, &credentials.value("response")?.to_ascii_lowercase()).then_some(number)
    }

    /// Compares under the key, so that the time it takes tells nothing.
    fn is_equal(&self, one: &str, other: &str) -> bool {
        let Some(keyed) = &self.keyed else { return false };
        let tag = |text: &str| keyed.clone().chain_update(text).finalize().into_bytes();
        tag(one) == tag(other)
    }

    /// Takes note of the use of a nonce; returns whether it may be used so (RFC 7616 §3.3, §3.4).
    fn take(&mut self, now: Instant, text: &str, count: u32) -> bool {
        let Some(nonce) = Nonce::read(text).filter(|nonce| self.is_equal(&self.signed(*nonce), text)) else {
            return false;
        };
        let oldest = seconds(now).saturating_sub(NONCE_LIFE.as_secs());
        while self.used.first_key_value().is_some_and(|(first, _)| first.second < oldest) {
            self.used.pop_first();
        }
        let last = self.used.get(&nonce).copied();
        let is_full = last.is_none() && self.used.len() >= MOST_NONCES;
        if nonce.second < oldest || count <= last.unwrap_or(0) || is_full {
            return false;
        }
        self.used.insert(nonce, count);
        true
    }

    fn challenge(&mut self, now: Instant, is_stale: bool) -> Authentication {
        self.made += 1;
        let nonce = self.signed(Nonce { second: seconds(now), number: self.made });
        let stale = if is_stale { ", stale=true" } else { "" };
        let value = |algorithm: Algorithm| {
            let (realm, name) = (&self.realm, algorithm.name());
            format!("Digest realm=\"{realm}\", nonce=\"{nonce}\", algorithm={name}, qop=\"auth\"{stale}")
        };
        Authentication::Challenge(Algorithm::ALL.map(value))
    }

    /// Returns a nonce as callers see it, signed.
    fn signed(&self, nonce: Nonce) -> String {
        let mut text = format!("{:0DIGITS$x}{:0DIGITS$x}", nonce.second, nonce.number);
        if let Some(keyed) = &self.keyed {
            let tag = keyed.clone().chain_update(&text).finalize().into_bytes();
            text.push_str(&hex(&tag[..16]));
        }
        text
    }
}

impl Nonce {
    /// Reads a nonce, whoever signed it.
    fn read(text: &str) -> Option<Self> {
        let number = |from: usize| u64::from_str_radix(text.get(from..from + DIGITS)?, 16).ok();
        Some(Self { second: number(0)?, number: number(DIGITS)? })
    }
}

impl Algorithm {
    /// All of them, the one to be preferred first.
    const ALL: [Self; 3] = [Self::Sha512Of256, Self::Sha256, Self::Md5];

    fn of(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|algorithm| algorithm.name().eq_ignore_ascii_case(name))
    }

    const fn name(self) -> &'static str {
        match self {
            Self::Sha512Of256 => "SHA-512-256",
            Self::Sha256 => "SHA-256",
            Self::Md5 => "MD5",
        }
    }

    /// Hashes parts with colons between them.
    fn hash(self, parts: &[&str]) -> String {
        let whole = parts.join(":");
        match self {
            Self::Sha512Of256 => hex(&Sha512_256::digest(whole)),
            Self::Sha256 => hex(&Sha256::digest(whole)),
            Self::Md5 => hex(&Md5::digest(whole)),
        }
    }
}

/// The values of an Authorization header field of the scheme Digest.
struct Credentials<'a>(Vec<(&'a str, &'a str)>);

impl<'a> Credentials<'a> {
    /// Reads a value; `None` if it is of another scheme, malformed, or has escapes, which no name here has.
    fn parse(value: &'a str) -> Option<Self> {
        let (scheme, rest) = value.split_once(text::is_space)?;
        if !scheme.eq_ignore_ascii_case("Digest") || value.len() > LONGEST || value.contains('\\') {
            return None;
        }
        let pair = |text: &'a str| {
            let (name, value) = text.split_once('=')?;
            let value = value.trim_matches(text::is_space);
            let unquoted = value.strip_prefix('"').map_or(Some(value), |rest| rest.strip_suffix('"'))?;
            Some((name.trim_matches(text::is_space), unquoted))
        };
        text::split(rest, ',')?.into_iter().map(pair).collect::<Option<Vec<_>>>().map(Self)
    }

    /// Returns the value of a name that stands there once.
    fn value(&self, name: &str) -> Option<&'a str> {
        let mut found = self.0.iter().filter(|(other, _)| other.eq_ignore_ascii_case(name));
        match (found.next(), found.next()) {
            (Some((_, value)), None) => Some(value),
            (None | Some(_), _) => None,
        }
    }
}

fn seconds(now: Instant) -> u64 {
    now.since(Instant::EPOCH).as_secs()
}

/// The digits of a number in a nonce.
const DIGITS: usize = 16;
/// How long a nonce may be used.
const NONCE_LIFE: Duration = Duration::from_secs(60);
/// Nonces in use at the same time, more than 2,000 calls a second need; beyond them callers are asked again.
const MOST_NONCES: usize = 200_000;
/// Octets of credentials that are read.
const LONGEST: usize = 2_048;

#[cfg(test)]
mod tests;

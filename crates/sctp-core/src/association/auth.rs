//! Authentication of chunks (RFC 4895): which have to be authenticated in which direction, and with which keys.
//!
//! | module | owns |
//! |---|---|
//! | `announcement` | what each side says in INIT and INIT ACK |
//! | `key` | association shared keys, HMACs |
//!
//! Where authentication was not agreed, all this costs is one look at an `Option` per chunk and packet.

mod announcement;
mod key;
#[cfg(test)]
mod tests;

use sctp_wire::{Auth, AuthPolicy, Chunk, ChunkSet, ChunkType, HmacAlgorithm, HmacId, SharedKeyId};

pub(crate) use self::announcement::{Announcement, Found, KeyMaterial, WrongRandomLength};
use self::key::{Keyed, association_key};
use crate::config::AuthKeys;
use crate::seldom::Seldom;
use crate::stats::AuthenticationStatistics;

/// Authentication of one association.
#[derive(Debug, Default)]
pub(crate) struct Authentication {
    /// The announcement of this side, until it is part of what is agreed; `None` with the extension off.
    ours: Option<Box<Announcement>>,
    agreed: Option<Box<AgreedAuth>>,
    /// The authenticity of the packet that is looked at.
    authenticity: Authenticity,
    pub(crate) statistics: Seldom<AuthenticationStatistics>,
}

/// The keys and rules that exist once both sides have announced.
#[derive(Debug)]
struct AgreedAuth {
    material: KeyMaterial,
    /// The chunks that this side takes authenticated only.
    demanded: ChunkSet,
    /// The chunks that the peer takes authenticated only.
    owed: ChunkSet,
    /// How we sign: the peer's first HMAC that we know.
    hmac: HmacAlgorithm,
    /// The key the peer signed with last; at first it is expected to use ours.
    peer_key: SharedKeyId,
    /// Keys and algorithms used so far.
    derived: Vec<(SharedKeyId, Keyed)>,
}

/// The verdict on an AUTH chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AuthVerdict {
    /// The chunks that follow come from the peer.
    Authentic,
    /// The chunks that follow come from the peer, which has not signed with this key before.
    AuthenticByNewKey(SharedKeyId),
    /// We do not do this HMAC, or did not offer it.
    UnsupportedHmac(HmacId),
    UnknownKey,
    WrongHmac,
}

/// The knowledge about the origin of the chunks of a packet that is looked at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Authenticity {
    /// No AUTH chunk so far.
    #[default]
    NotShown,
    /// The AUTH chunk in front has been verified with the key of the association that this one replaced.
    ShownBefore,
    /// An AUTH chunk has been verified.
    Shown,
}

/// Whether a chunk counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Admission {
    Admitted,
    /// The chunk is passed over.
    Skipped,
    /// The chunk and what follows it are discarded.
    RestDiscarded,
}

impl Authentication {
    pub(crate) fn new(ours: Option<Announcement>) -> Self {
        Self { ours: ours.map(Box::new), ..Self::default() }
    }

    /// Creates the state with what a state cookie holds of the agreement.
    pub(crate) fn agreed(material: Option<&KeyMaterial>, keys: &AuthKeys) -> Self {
        let mut authentication = Self::default();
        authentication.agree_on(material.cloned(), keys);
        authentication
    }

    /// Returns what we announce, the same for as long as our tag is (RFC 4895 §6.1).
    pub(crate) fn ours(&self) -> Option<&Announcement> {
        let agreed = self.agreed.as_ref().map(|agreed| &agreed.material.ours);
        agreed.or(self.ours.as_deref())
    }

    pub(crate) fn is_agreed(&self) -> bool {
        self.agreed.is_some()
    }

    /// The peer has announced, or does no authentication.
    pub(crate) fn agree(&mut self, peer: Option<Announcement>, keys: &AuthKeys) {
        let before = self.agreed.take().map(|agreed| agreed.material.ours);
        let ours = before.or_else(|| self.ours.take().map(|ours| *ours));
        match (ours, peer) {
            (Some(ours), Some(peer)) => self.agree_on(Some(KeyMaterial { ours, peer }), keys),
            (ours, _) => self.ours = ours.map(Box::new),
        }
    }

    fn agree_on(&mut self, material: Option<KeyMaterial>, keys: &AuthKeys) {
        let Some(material) = material else { return };
        match material.peer.preferred_hmac() {
            Some(hmac) => self.agreed = Some(Box::new(AgreedAuth::new(material, hmac, keys))),
            None => self.ours = Some(Box::new(material.ours)),
        }
    }

    /// Keys have changed: nothing is kept that was made from the old ones.
    pub(crate) fn on_keys_changed(&mut self) {
        if let Some(agreed) = &mut self.agreed {
            agreed.derived.clear();
        }
    }

    /// A packet begins.
    pub(crate) fn on_packet(&mut self, authenticity: Authenticity) {
        self.authenticity = authenticity;
    }

    /// Returns whether the packet that is looked at must not end the association: with ABORT to be
    /// authenticated, an unauthenticated chunk that breaks the protocol must not do what ABORT cannot (RFC 4895
    /// §6.3).
    pub(crate) fn spares(&self) -> bool {
        self.authenticity != Authenticity::Shown && self.demands(ChunkType::ABORT)
    }

    /// Returns whether this chunk must come authenticated.
    pub(crate) fn demands(&self, kind: ChunkType) -> bool {
        self.agreed.as_ref().is_some_and(|agreed| agreed.demanded.contains(kind))
    }

    /// Returns whether a chunk of this kind may come as the one that is looked at does.
    #[inline]
    pub(crate) fn lets_in(&self, kind: ChunkType) -> bool {
        self.authenticity == Authenticity::Shown || !self.demands(kind)
    }

    /// Returns how packets to the peer are signed; `None` if it wants nothing authenticated.
    pub(crate) fn policy(&self, keys: &AuthKeys) -> Option<AuthPolicy> {
        let agreed = self.agreed.as_ref()?;
        if agreed.owed.is_empty() {
            return None;
        }
        Some(AuthPolicy { key: keys.active(), algorithm: agreed.hmac, chunks: agreed.owed })
    }

    /// Returns the number of octets of each packet with data that its AUTH chunk takes.
    pub(crate) fn data_overhead_bytes(&self, keys: &AuthKeys) -> usize {
        let policy = self.policy(keys).filter(AuthPolicy::covers_data);
        policy.map_or(0, |policy| policy.algorithm.chunk_bytes())
    }

    /// Fills in the HMAC of a packet, by the active key.
    pub(crate) fn sign(&mut self, keys: &AuthKeys, octets: &[u8], hmac: &mut [u8]) {
        let Some(agreed) = &mut self.agreed else { return };
        let algorithm = agreed.hmac;
        if let Some(keyed) = agreed.keyed(keys, keys.active(), algorithm) {
            keyed.sign(octets, hmac);
            self.statistics.note().packets_signed += 1;
        }
    }

    /// Returns whether a chunk counts, and the verdict on it if it is an AUTH chunk that was verified.
    pub(super) fn admit(&mut self, keys: &AuthKeys, chunk: &Chunk<'_>) -> (Admission, Option<AuthVerdict>) {
        let Chunk::Auth(auth) = chunk else {
            if self.lets_in(chunk.kind()) {
                return (Admission::Admitted, None);
            }
            self.statistics.note().unauthenticated_chunks += 1;
            return (Admission::Skipped, None);
        };
        match self.authenticity {
            Authenticity::ShownBefore => {
                self.authenticity = Authenticity::Shown;
                (Admission::Skipped, None)
            }
            Authenticity::Shown => {
                self.statistics.note().repeated += 1;
                (Admission::RestDiscarded, None)
            }
            Authenticity::NotShown => {
                let verdict = self.verify(keys, auth);
                let is_authentic =
                    matches!(verdict, AuthVerdict::Authentic | AuthVerdict::AuthenticByNewKey(_));
                if is_authentic {
                    self.authenticity = Authenticity::Shown;
                }
                let admission = if is_authentic { Admission::Skipped } else { Admission::RestDiscarded };
                (admission, Some(verdict))
            }
        }
    }

    /// Looks at an AUTH chunk (RFC 4895 §6.3).
    pub(crate) fn verify(&mut self, keys: &AuthKeys, auth: &Auth<'_>) -> AuthVerdict {
        let verdict =
            self.agreed.as_mut().map_or(AuthVerdict::UnknownKey, |agreed| agreed.verify(keys, auth));
        let statistics = self.statistics.note();
        *match verdict {
            AuthVerdict::Authentic | AuthVerdict::AuthenticByNewKey(_) => &mut statistics.verified,
            AuthVerdict::UnsupportedHmac(_) => &mut statistics.unsupported_hmacs,
            AuthVerdict::UnknownKey => &mut statistics.unknown_keys,
            AuthVerdict::WrongHmac => &mut statistics.wrong_hmacs,
        } += 1;
        verdict
    }
}

impl AgreedAuth {
    fn new(material: KeyMaterial, hmac: HmacAlgorithm, keys: &AuthKeys) -> Self {
        let demanded = material.ours.accepted_authenticated_only();
        let owed = material.peer.accepted_authenticated_only();
        Self { demanded, owed, hmac, peer_key: keys.active(), derived: Vec::new(), material }
    }

    fn verify(&mut self, keys: &AuthKeys, auth: &Auth<'_>) -> AuthVerdict {
        let Some(algorithm) =
            HmacAlgorithm::of(auth.hmac_id).filter(|_| self.material.ours.lists(auth.hmac_id))
        else {
            return AuthVerdict::UnsupportedHmac(auth.hmac_id);
        };
        match self.keyed(keys, auth.key, algorithm) {
            None => return AuthVerdict::UnknownKey,
            Some(keyed) if !keyed.verify(auth) => return AuthVerdict::WrongHmac,
            Some(_right) => {}
        }
        if core::mem::replace(&mut self.peer_key, auth.key) == auth.key {
            AuthVerdict::Authentic
        } else {
            AuthVerdict::AuthenticByNewKey(auth.key)
        }
    }

    /// Returns the HMAC of a key, made when it is first needed.
    fn keyed(&mut self, keys: &AuthKeys, id: SharedKeyId, algorithm: HmacAlgorithm) -> Option<&Keyed> {
        // Asked first: a deleted key is gone, whatever was made from it.
        let secret = keys.secret(id)?;
        let wanted = |(known, keyed): &(SharedKeyId, Keyed)| *known == id && keyed.algorithm() == algorithm;
        let known = self.derived.iter().position(wanted);
        let index = match known {
            Some(index) => index,
            None => {
                let (ours, peer) = (self.material.ours.key_vector(), self.material.peer.key_vector());
                let key = association_key(secret, &ours, &peer);
                self.derived.push((id, Keyed::new(algorithm, &key)?));
                self.derived.len() - 1
            }
        };
        self.derived.get(index).map(|(_, keyed)| keyed)
    }
}

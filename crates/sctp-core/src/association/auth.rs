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

use sctp_wire::{Auth, AuthPolicy, Chunk, ChunkType, HmacAlgorithm, HmacId, SharedKeyId};

pub(crate) use self::announcement::{AnnouncedLists, Announcement, Found, KeyMaterial, WrongRandomLength};
use self::key::{Keyed, association_key};
use crate::config::AuthKeys;
use crate::seldom::Seldom;
use crate::stats::AuthenticationStatistics;

/// Authentication of one association.
#[derive(Debug, Default)]
pub(crate) struct Authentication {
    /// What was announced; `None` with the extension off.
    announced: Option<Box<Announced>>,
    /// The authenticity of the packet that is looked at.
    authenticity: Authenticity,
    pub(crate) statistics: Seldom<AuthenticationStatistics>,
}

/// The announcement of this side, and what came of it.
#[derive(Debug)]
struct Announced {
    ours: Announcement,
    agreed: Option<AgreedAuth>,
}

/// The keys and rules that exist once both sides have announced.
#[derive(Debug)]
struct AgreedAuth {
    peer: Announcement,
    /// Whether the peer takes any chunks authenticated only.
    is_owed: bool,
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
        let announced = ours.map(|ours| Box::new(Announced { ours, agreed: None }));
        Self { announced, ..Self::default() }
    }

    /// Creates the state with what a state cookie holds of the agreement.
    pub(crate) fn agreed(material: Option<KeyMaterial>, keys: &AuthKeys) -> Self {
        let announced = material.map(|KeyMaterial { ours, peer }| {
            Box::new(Announced { ours, agreed: AgreedAuth::new(peer, keys) })
        });
        Self { announced, ..Self::default() }
    }

    /// Returns what we announce, the same for as long as our tag is (RFC 4895 §6.1).
    pub(crate) fn ours(&self) -> Option<&Announcement> {
        self.announced.as_ref().map(|announced| &announced.ours)
    }

    #[inline]
    fn terms(&self) -> Option<&AgreedAuth> {
        self.announced.as_ref()?.agreed.as_ref()
    }

    #[inline]
    pub(crate) fn is_agreed(&self) -> bool {
        self.terms().is_some()
    }

    /// The peer has announced, or does no authentication.
    pub(crate) fn agree(&mut self, peer: Option<Announcement>, keys: &AuthKeys) {
        if let Some(announced) = &mut self.announced {
            announced.agreed = peer.and_then(|peer| AgreedAuth::new(peer, keys));
        }
    }

    /// Keys have changed: nothing is kept that was made from the old ones.
    pub(crate) fn on_keys_changed(&mut self) {
        if let Some(agreed) = self.announced.as_mut().and_then(|announced| announced.agreed.as_mut()) {
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
        let announced = self.announced.as_ref().filter(|announced| announced.agreed.is_some());
        announced.is_some_and(|announced| announced.ours.accepted_authenticated_only().contains(kind))
    }

    /// Returns whether a chunk of this kind may come as the one that is looked at does.
    #[inline]
    pub(crate) fn lets_in(&self, kind: ChunkType) -> bool {
        self.authenticity == Authenticity::Shown || !self.demands(kind)
    }

    /// Returns how packets to the peer are signed; `None` if it wants nothing authenticated.
    pub(crate) fn policy(&self, keys: &AuthKeys) -> Option<AuthPolicy> {
        let agreed = self.terms().filter(|agreed| agreed.is_owed)?;
        let chunks = *agreed.peer.accepted_authenticated_only();
        Some(AuthPolicy { key: keys.active(), algorithm: agreed.hmac, chunks })
    }

    /// Returns the number of octets of each packet with data that its AUTH chunk takes.
    pub(crate) fn data_overhead_bytes(&self, keys: &AuthKeys) -> usize {
        let policy = self.policy(keys).filter(AuthPolicy::covers_data);
        policy.map_or(0, |policy| policy.algorithm.chunk_bytes())
    }

    /// Fills in the HMAC of a packet, by the active key.
    pub(crate) fn sign(&mut self, keys: &AuthKeys, octets: &[u8], hmac: &mut [u8]) {
        let Some(announced) = &mut self.announced else { return };
        let Some(agreed) = &mut announced.agreed else { return };
        let algorithm = agreed.hmac;
        if let Some(keyed) = agreed.keyed(&announced.ours, keys, keys.active(), algorithm) {
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
        let verdict = match self.announced.as_deref_mut() {
            Some(Announced { ours, agreed: Some(agreed) }) => agreed.verify(ours, keys, auth),
            Some(Announced { agreed: None, .. }) | None => AuthVerdict::UnknownKey,
        };
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
    /// Creates what follows from the peer's announcement; `None` if we know none of its HMACs.
    fn new(peer: Announcement, keys: &AuthKeys) -> Option<Self> {
        let (hmac, is_owed) = (peer.preferred_hmac()?, !peer.accepted_authenticated_only().is_empty());
        Some(Self { peer, is_owed, hmac, peer_key: keys.active(), derived: Vec::new() })
    }

    fn verify(&mut self, ours: &Announcement, keys: &AuthKeys, auth: &Auth<'_>) -> AuthVerdict {
        let Some(algorithm) = HmacAlgorithm::of(auth.hmac_id).filter(|_| ours.lists(auth.hmac_id)) else {
            return AuthVerdict::UnsupportedHmac(auth.hmac_id);
        };
        match self.keyed(ours, keys, auth.key, algorithm) {
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
    fn keyed(
        &mut self,
        ours: &Announcement,
        keys: &AuthKeys,
        id: SharedKeyId,
        algorithm: HmacAlgorithm,
    ) -> Option<&Keyed> {
        // Asked first: a deleted key is gone, whatever was made from it.
        let secret = keys.secret(id)?;
        let wanted = |(known, keyed): &(SharedKeyId, Keyed)| *known == id && keyed.algorithm() == algorithm;
        let known = self.derived.iter().position(wanted);
        let index = match known {
            Some(index) => index,
            None => {
                let key = association_key(secret, &ours.key_vector(), &self.peer.key_vector());
                self.derived.push((id, Keyed::new(algorithm, &key)?));
                self.derived.len() - 1
            }
        };
        self.derived.get(index).map(|(_, keyed)| keyed)
    }
}

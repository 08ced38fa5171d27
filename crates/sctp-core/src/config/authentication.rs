//! Authentication of chunks: which, and with which keys (RFC 4895).

use core::fmt;

use bytes::Bytes;
use sctp_wire::{ChunkSet, ChunkType, HmacAlgorithm, SharedKeyId};
use smallvec::SmallVec;

use super::Extensions;
use crate::config::Offer;
use crate::error::{AuthKeyError, ConfigError};

/// Authentication of chunks (RFC 4895). Counts where [`Extensions::authentication`] is on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(default, deny_unknown_fields))]
#[non_exhaustive]
pub struct AuthConfig {
    /// HMACs the peer may use, the preferred one first. Default SHA-256 before SHA-1. Change it for peers that take the
    /// first one without knowing it, or, where processors have instructions for it, for the shorter SHA-1.
    pub hmacs: HmacPreference,
    /// Chunks accepted from the peer only when authenticated. Default none; ASCONF and ASCONF-ACK are added where
    /// [`Extensions::dynamic_addresses`] is on (RFC 5061 §4.2). INIT, INIT ACK, SHUTDOWN COMPLETE and AUTH cannot be
    /// authenticated. A peer that does not do authentication is refused when anything is listed here: list what must
    /// not be forged, such as DATA, or ABORT against being torn down. With COOKIE ECHO in the list, only peers that know
    /// a key get in, and none can restart an association (RFC 4895 §6.3).
    pub chunks: ChunkSet,
    /// Endpoint pair shared keys. Default the empty one, which keeps out everybody who did not see the handshake; set
    /// one that only the two ends know against those who did (RFC 4895 §9). With the feature `serde` they are neither written nor
    /// read: secrets do not belong beside settings.
    #[cfg_attr(feature = "serde", serde(skip))]
    pub keys: AuthKeys,
}

/// The HMACs that the peer may use. SHA-1 is always among them (RFC 4895 §6.1); each end has to be prepared for
/// the weakest one that it lists (§9).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
pub enum HmacPreference {
    /// SHA-256, and SHA-1 for peers that know no better.
    #[default]
    Sha256First,
    /// SHA-1, which is shorter by 12 octets a packet, or SHA-256.
    Sha1First,
    /// The peer may use SHA-1 alone.
    Sha1Only,
}

impl HmacPreference {
    /// Returns the algorithms, the preferred one first.
    #[must_use]
    pub const fn algorithms(self) -> &'static [HmacAlgorithm] {
        match self {
            Self::Sha256First => &[HmacAlgorithm::Sha256, HmacAlgorithm::Sha1],
            Self::Sha1First => &[HmacAlgorithm::Sha1, HmacAlgorithm::Sha256],
            Self::Sha1Only => &[HmacAlgorithm::Sha1],
        }
    }
}

/// Endpoint pair shared keys by their identifiers. One is active: it signs what is sent; all verify what comes in.
///
/// To change keys while data flows: both ends [`set`](Self::set) the new one, then each
/// [`activate`](Self::activate)s it, then both [`delete`](Self::delete) the old one. A key that is no longer active
/// signs nothing from then on, retransmissions included.
#[derive(Clone, PartialEq, Eq)]
pub struct AuthKeys {
    secrets: SmallVec<[(SharedKeyId, Bytes); 1]>,
    active: SharedKeyId,
}

/// The empty key with identifier 0, as between ends that share none (RFC 4895 §6.1).
impl Default for AuthKeys {
    fn default() -> Self {
        Self::new(SharedKeyId::new(0), Bytes::new())
    }
}

/// The identifiers; never the secrets.
impl fmt::Debug for AuthKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ids: SmallVec<[u16; 4]> = self.secrets.iter().map(|(id, _)| id.get()).collect();
        f.debug_struct("AuthKeys").field("ids", &ids).field("active", &self.active.get()).finish()
    }
}

impl AuthKeys {
    /// Creates the keys of an endpoint that has this one alone: the empty key is not accepted.
    #[must_use]
    pub fn new(id: SharedKeyId, secret: impl Into<Bytes>) -> Self {
        Self { secrets: SmallVec::from_iter([(id, secret.into())]), active: id }
    }

    /// Adds a key, or replaces the one with this identifier.
    pub fn set(&mut self, id: SharedKeyId, secret: impl Into<Bytes>) {
        match self.secrets.iter_mut().find(|(known, _)| *known == id) {
            Some((_, old)) => *old = secret.into(),
            None => self.secrets.push((id, secret.into())),
        }
    }

    /// Makes `id` the key that signs from now on.
    ///
    /// # Errors
    /// There is none with this identifier.
    pub fn activate(&mut self, id: SharedKeyId) -> Result<(), AuthKeyError> {
        self.secret(id).ok_or(AuthKeyError::Unknown(id))?;
        self.active = id;
        Ok(())
    }

    /// Forgets a key: nothing signed with it is accepted any more. After the first key of one's own, that is for key 0
    /// too, which is empty unless it was set.
    ///
    /// # Errors
    /// There is none with this identifier, or it is the active one.
    pub fn delete(&mut self, id: SharedKeyId) -> Result<(), AuthKeyError> {
        self.secret(id).ok_or(AuthKeyError::Unknown(id))?;
        if id == self.active {
            return Err(AuthKeyError::Active(id));
        }
        self.secrets.retain(|(known, _)| *known != id);
        Ok(())
    }

    /// Returns the key that signs.
    #[must_use]
    pub fn active(&self) -> SharedKeyId {
        self.active
    }

    pub(crate) fn secret(&self, id: SharedKeyId) -> Option<&Bytes> {
        self.secrets.iter().find(|(known, _)| *known == id).map(|(_, secret)| secret)
    }
}

impl AuthConfig {
    /// Returns the chunk types to list in CHUNKS: those configured, and those that RFC 5061 §4.2 wants there.
    pub(crate) fn accepted_authenticated_only(&self, extensions: &Extensions) -> ChunkSet {
        let asconf = match extensions.dynamic_addresses {
            Offer::On => &[ChunkType::ASCONF, ChunkType::ASCONF_ACK][..],
            Offer::Off => &[],
        };
        self.chunks.iter().chain(asconf.iter().copied()).collect()
    }

    pub(super) fn validate(&self, extensions: &Extensions) -> Result<(), ConfigError> {
        if let Some(chunk) = self.chunks.iter().find(|chunk| NEVER_AUTHENTICATED.contains(chunk)) {
            return Err(ConfigError::NotAuthenticable { chunk });
        }
        let needs_authentication = !self.chunks.is_empty() || extensions.dynamic_addresses == Offer::On;
        if needs_authentication && extensions.authentication == Offer::Off {
            return Err(ConfigError::AuthenticationOff);
        }
        Ok(())
    }
}

/// The chunk types that cannot be listed in CHUNKS (RFC 4895 §3.2).
pub(crate) const NEVER_AUTHENTICATED: [ChunkType; 4] =
    [ChunkType::INIT, ChunkType::INIT_ACK, ChunkType::SHUTDOWN_COMPLETE, ChunkType::AUTH];

//! What proves that chunks come from the peer, and packets from us (RFC 4895): authentication, with the keys of the
//! configuration.

use sctp_wire::{Auth, AuthPolicy, Cause, Chunk, ChunkBuf};

use super::Session;
use crate::association::Commons;
use crate::association::auth::{Admission, Announcement, AuthVerdict};
use crate::association::outbound::Outbound;
use crate::config::AuthKeys;
use crate::event::Event;
use crate::transmit::PathIndex;

impl Session {
    /// Returns what we announce to this peer.
    pub(crate) fn announcement(&self) -> Option<&Announcement> {
        self.authentication.ours()
    }

    /// Returns whether packets may have to show where they come from.
    pub(crate) fn is_authenticated(&self) -> bool {
        self.authentication.is_agreed()
    }

    /// Takes in the peer's announcement; it does no authentication if there is none.
    pub(in crate::association) fn agree_on_keys(&mut self, peer: Option<Announcement>) {
        self.authentication.agree(peer, &self.config.authentication.keys);
    }

    /// Changes the keys; what was made from the old ones is forgotten.
    pub(crate) fn change_keys<R>(&mut self, change: impl FnOnce(&mut AuthKeys) -> R) -> R {
        self.authentication.on_keys_changed();
        change(&mut Commons::change(&mut self.config).authentication.keys)
    }

    /// Returns the verdict on an AUTH chunk, which is counted.
    pub(crate) fn verify(&mut self, auth: &Auth<'_>) -> AuthVerdict {
        self.authentication.verify(&self.config.authentication.keys, auth)
    }

    /// Returns whether a chunk counts: AUTH chunks are verified here, and what has to follow one is discarded
    /// without. To be asked where authentication was agreed on.
    pub(in crate::association) fn admit(
        &mut self,
        path: PathIndex,
        chunk: &Chunk<'_>,
        outbound: &mut Outbound,
    ) -> Admission {
        let (admission, verdict) = self.authentication.admit(&self.config.authentication.keys, chunk);
        match verdict {
            Some(AuthVerdict::AuthenticByNewKey(key)) => self.tell(Event::NewPeerKey(key)),
            Some(AuthVerdict::UnsupportedHmac(id)) => {
                let error = ChunkBuf::error(&[Cause::UnsupportedHmacIdentifier(id)]);
                outbound.push(path, self, error);
            }
            Some(AuthVerdict::Authentic | AuthVerdict::UnknownKey | AuthVerdict::WrongHmac) | None => {}
        }
        admission
    }

    /// Returns how packets to the peer are signed; `None` if it wants nothing authenticated.
    pub(in crate::association) fn signing(&self) -> Option<AuthPolicy> {
        self.authentication.policy(&self.config.authentication.keys)
    }

    /// Returns the number of octets of each packet with data that its AUTH chunk takes.
    pub(in crate::association) fn signature_bytes(&self) -> usize {
        self.authentication.data_overhead_bytes(&self.config.authentication.keys)
    }

    /// Fills in the HMAC of a packet, by the active key.
    pub(in crate::association) fn sign(&mut self, octets: &[u8], hmac: &mut [u8]) {
        self.authentication.sign(&self.config.authentication.keys, octets, hmac);
    }
}

//! Keys to authenticate with (RFC 4895), of one association or of those that peers will open.

use bytes::Bytes;
use sctp_wire::SharedKeyId;

use super::{Endpoint, KeyOwner};
use crate::config::AuthKeys;
use crate::error::{AuthKeyError, UnknownAssociation};

impl Endpoint {
    /// Adds a key to sign and verify with, or replaces the one with this identifier (RFC 4895 §6.1,
    /// SCTP_AUTH_KEY). See [`AuthKeys`] for how to change keys while data flows.
    ///
    /// # Errors
    /// There is no such association.
    pub fn set_auth_key(
        &mut self,
        owner: KeyOwner,
        key: SharedKeyId,
        secret: impl Into<Bytes>,
    ) -> Result<(), UnknownAssociation> {
        self.with_keys(owner, |keys| keys.set(key, secret))
    }

    /// Signs packets with this key from now on (SCTP_AUTH_ACTIVE_KEY).
    ///
    /// # Errors
    /// There is no such key or association.
    pub fn activate_auth_key(&mut self, owner: KeyOwner, key: SharedKeyId) -> Result<(), AuthKeyError> {
        self.with_keys(owner, |keys| keys.activate(key))?
    }

    /// Forgets a key: what is signed with it is discarded from now on (SCTP_AUTH_DELETE_KEY).
    ///
    /// # Errors
    /// There is no such key or association, or the key is active.
    pub fn delete_auth_key(&mut self, owner: KeyOwner, key: SharedKeyId) -> Result<(), AuthKeyError> {
        self.with_keys(owner, |keys| keys.delete(key))?
    }

    fn with_keys<R>(
        &mut self,
        owner: KeyOwner,
        change: impl FnOnce(&mut AuthKeys) -> R,
    ) -> Result<R, UnknownAssociation> {
        match owner {
            KeyOwner::Association(id) => {
                let slot = self.table.slot(id)?;
                Ok(self.table.associations[slot].association.session_mut().change_keys(change))
            }
            KeyOwner::Accepted => {
                let result = change(&mut self.config.association.authentication.keys);
                self.shared.set_accepted(&self.config.association);
                Ok(result)
            }
        }
    }
}

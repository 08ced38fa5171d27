//! The calls by which users open associations, send and read, and end them; and change the addresses they use.

use core::num::NonZeroU16;
use std::net::IpAddr;

use sctp_wire::{SctpPort, StreamId};
use smallvec::SmallVec;
use virtual_time::Instant;

use super::{AssociationId, Endpoint};
use crate::association::Association;
use crate::config::{AssociationConfig, EndpointConfig, PathSetting, Setting, StreamShare};
use crate::error::{
    AddressChangeError, ConfigError, ConnectError, SendError, SetPrimaryError, SettingError, StreamError,
    UnknownAssociation,
};
use crate::event::AddressChange;
use crate::message::{Message, Received};
use crate::receiver::Receiver;
use crate::transmit::{Destination, MAX_PATHS, PathId, is_unicast};

impl Endpoint {
    /// Opens an association with the endpoint `port` at `destinations`: all addresses of it that are known, the preferred
    /// one first. They are tried in turn, and all of them may carry data; those the peer names beyond them must be
    /// verified before (RFC 9260 §5.4).
    ///
    /// Messages may be sent at once: they travel with the handshake as early as the RFC allows. The outcome is
    /// [`Event::CommunicationUp`](crate::Event::CommunicationUp) or [`Event::CannotStart`](crate::Event::CannotStart).
    ///
    /// # Errors
    /// No destination or more than 8, an association with this peer exists, too many of them, or a configuration that
    /// cannot work.
    pub fn connect(
        &mut self,
        now: Instant,
        destinations: &[Destination],
        port: SctpPort,
        config: AssociationConfig,
    ) -> Result<AssociationId, ConnectError> {
        let config = self.shared.initiated(config)?;
        let (&first, others) = destinations.split_first().ok_or(ConnectError::NoDestination)?;
        if destinations.len() > MAX_PATHS {
            return Err(ConnectError::TooManyDestinations { given: destinations.len(), limit: MAX_PATHS });
        }
        if destinations.iter().any(|&destination| self.table.demux.by_peer(destination, port).is_some()) {
            return Err(ConnectError::Exists);
        }
        let limit = self.config.association_limit;
        if self.table.len() >= limit {
            return Err(ConnectError::TooMany { limit });
        }
        let tag = self.unused_tag();
        let ports = (self.config.port, port);
        let destinations = (first, others);
        let (locals, rng) = (&self.locals, &mut self.rng);
        let association = Association::initiate(now, destinations, locals, ports, config, tag, rng);
        self.statistics.initiated += 1;
        let slot = self.insert(now, association);
        Ok(self.table.id(slot))
    }

    /// Queues a message.
    ///
    /// # Errors
    /// See [`SendError`]; with [`SendError::BufferFull`] the message comes back.
    pub fn send(&mut self, now: Instant, id: AssociationId, message: Message) -> Result<(), SendError> {
        let slot = self.table.slot(id)?;
        self.with(now, slot, |association| association.send_one(now, message))
    }

    /// Queues messages until one is refused, which is less work for each than one by one: how many were taken, and why
    /// the next was not; with [`SendError::BufferFull`] it comes back. Those behind it are not asked for.
    ///
    /// # Errors
    /// There is no such association.
    #[inline]
    pub fn send_many(
        &mut self,
        now: Instant,
        id: AssociationId,
        messages: impl IntoIterator<Item = Message>,
    ) -> Result<(usize, Option<SendError>), UnknownAssociation> {
        let slot = self.table.slot(id)?;
        Ok(self.with(now, slot, |association| association.send(now, messages)))
    }

    /// Changes a parameter of a running association: timeouts, acknowledgments, HEARTBEATs, limits of errors, packets.
    ///
    /// # Errors
    /// There is no such association, or the value cannot work, alone or with the others; then nothing is changed.
    pub fn set(&mut self, now: Instant, id: AssociationId, setting: Setting) -> Result<(), SettingError> {
        let slot = self.table.slot(id)?;
        Ok(self.with(now, slot, |association| association.set(now, setting))?)
    }

    /// Changes a parameter of one path of a running association.
    ///
    /// # Errors
    /// There is no such association or path, or the value cannot work.
    pub fn set_path(
        &mut self,
        now: Instant,
        id: AssociationId,
        path: PathId,
        setting: PathSetting,
    ) -> Result<(), SettingError> {
        let slot = self.table.slot(id)?;
        self.with(now, slot, |association| association.set_path(now, path, setting))
    }

    /// Gives these parameters to the associations that peers open from now on, in place of
    /// [`EndpointConfig::association`](crate::EndpointConfig::association). A handshake under way goes on with what was
    /// agreed on.
    ///
    /// # Errors
    /// The configuration cannot work; then nothing is changed.
    pub fn set_accepted(&mut self, config: AssociationConfig) -> Result<(), ConfigError> {
        let changed = EndpointConfig { association: config, ..self.config.clone() };
        changed.validate()?;
        self.config = changed;
        self.shared.set_accepted(&self.config.association);
        Ok(())
    }

    /// Returns the parameters that associations which peers open have now.
    #[must_use]
    pub fn accepted(&self) -> &AssociationConfig {
        &self.config.association
    }

    /// Asks for [`Event::SendBufferAvailable`](crate::Event::SendBufferAvailable) as soon as no more than so much payload is
    /// [buffered](Association::buffered), once; returns false if it is so already, and then there is no event. Of several
    /// calls the highest mark counts.
    ///
    /// # Errors
    /// There is no such association.
    pub fn await_low_water(
        &mut self,
        id: AssociationId,
        payload_bytes: usize,
    ) -> Result<bool, UnknownAssociation> {
        let slot = self.table.slot(id)?;
        let association = &mut self.table.associations[slot].association;
        let is_above = association.buffered().bytes() > payload_bytes;
        if is_above {
            association.await_low_water(payload_bytes);
        }
        Ok(is_above)
    }

    /// Sets the priority of an outgoing stream for [`StreamScheduler::Priority`](crate::StreamScheduler::Priority):
    /// lower goes first; 256 if never set.
    ///
    /// # Errors
    /// There is no such association or stream.
    pub fn set_stream_priority(
        &mut self,
        id: AssociationId,
        stream: StreamId,
        priority: u16,
    ) -> Result<(), StreamError> {
        self.set_stream_share(id, stream, |share| share.priority = priority)
    }

    /// Sets the weight of an outgoing stream for
    /// [`StreamScheduler::WeightedFair`](crate::StreamScheduler::WeightedFair); 256 if never set.
    ///
    /// # Errors
    /// There is no such association or stream.
    pub fn set_stream_weight(
        &mut self,
        id: AssociationId,
        stream: StreamId,
        weight: NonZeroU16,
    ) -> Result<(), StreamError> {
        self.set_stream_share(id, stream, |share| share.weight = weight)
    }

    fn set_stream_share(
        &mut self,
        id: AssociationId,
        stream: StreamId,
        change: impl FnOnce(&mut StreamShare),
    ) -> Result<(), StreamError> {
        let slot = self.table.slot(id)?;
        self.table.associations[slot].association.set_stream_share(stream, change)
    }

    /// Returns whether [`receive`](Self::receive) would give a message.
    #[must_use]
    pub fn has_message(&self, id: AssociationId) -> bool {
        self.association(id).and_then(Association::receiver).is_some_and(Receiver::has_message)
    }

    /// Returns the next message from the peer, if one is ready. A closed association can be read until it is
    /// empty.
    pub fn receive(&mut self, now: Instant, id: AssociationId) -> Option<Received> {
        let slot = self.table.slot(id).ok()?;
        let received = self.table.associations[slot].association.receiver_mut()?.receive()?;
        self.after_reading(now, slot);
        Some(received)
    }

    /// Appends the messages from the peer that are ready, at most `limit`; gives how many there were.
    pub fn receive_many(
        &mut self,
        now: Instant,
        id: AssociationId,
        limit: usize,
        received: &mut Vec<Received>,
    ) -> usize {
        self.read(now, id, |receiver| receiver.receive_many(limit, received))
    }

    /// Appends the messages from the peer that are ready, at most `limit`, as [`receive_many`](Self::receive_many)
    /// does, but they go on counting against the receive window until [`mark_read`](Self::mark_read): for users who
    /// sort messages into queues of their own, which a peer must not be able to fill without end.
    pub fn take_unread(
        &mut self,
        now: Instant,
        id: AssociationId,
        limit: usize,
        received: &mut Vec<Received>,
    ) -> usize {
        self.read(now, id, |receiver| receiver.take_unread(limit, received))
    }

    fn read(&mut self, now: Instant, id: AssociationId, read: impl FnOnce(&mut Receiver) -> usize) -> usize {
        let Ok(slot) = self.table.slot(id) else { return 0 };
        let Some(receiver) = self.table.associations[slot].association.receiver_mut() else { return 0 };
        let count = read(receiver);
        if count > 0 {
            self.after_reading(now, slot);
        }
        count
    }

    /// Opens the receive window again for so many messages that were [taken unread](Self::take_unread), with so many
    /// octets of payload together. Nothing is to be done for an association that is over.
    pub fn mark_read(&mut self, now: Instant, id: AssociationId, messages: usize, payload_bytes: usize) {
        let Ok(slot) = self.table.slot(id) else { return };
        if let Some(receiver) = self.table.associations[slot].association.receiver_mut() {
            receiver.mark_read(messages, payload_bytes);
        }
        self.after_reading(now, slot);
    }

    fn after_reading(&mut self, now: Instant, slot: usize) {
        let association = self.table.get(slot);
        if association.is_closed() {
            // The last message may have been the last thing left to do.
            self.refresh(slot);
        } else if association.receiver().is_some_and(Receiver::window_update_due) {
            self.with(now, slot, |association| association.update_window(now));
        } else {
            self.table.note_read(slot);
        }
    }

    /// Ends an association gracefully: everything queued is delivered first (RFC 9260 §9.2).
    ///
    /// # Errors
    /// There is no such association.
    pub fn shutdown(&mut self, now: Instant, id: AssociationId) -> Result<(), UnknownAssociation> {
        let slot = self.table.slot(id)?;
        self.with(now, slot, |association| association.shutdown(now));
        Ok(())
    }

    /// Ends an association at once; the peer is told, with up to 400 octets of `reason` (RFC 9260 §9.1).
    ///
    /// # Errors
    /// There is no such association.
    pub fn abort(
        &mut self,
        now: Instant,
        id: AssociationId,
        reason: &[u8],
    ) -> Result<(), UnknownAssociation> {
        let slot = self.table.slot(id)?;
        self.with(now, slot, |association| association.abort(reason));
        Ok(())
    }

    /// Makes a path the primary one: data goes there while it is active (RFC 9260 §6.4, §11.1.5). Paths and their
    /// addresses are in [`Association::statistics`].
    ///
    /// # Errors
    /// There is no such association or path, or the path's address is not confirmed.
    pub fn set_primary(
        &mut self,
        now: Instant,
        id: AssociationId,
        path: PathId,
    ) -> Result<(), SetPrimaryError> {
        let slot = self.table.slot(id)?;
        self.with(now, slot, |association| association.set_primary(now, path))
    }

    /// Tells the peer that this side can be reached at `address` too (RFC 5061 §4.2.1). It is sent from as soon as the peer
    /// has agreed, which [`Event::AddressChangeAnswered`](crate::Event::AddressChangeAnswered) tells. The unspecified address stands for the one the request
    /// will seem to come from: for hosts behind a NAT.
    ///
    /// # Errors
    /// See [`AddressChangeError`].
    pub fn add_local_address(
        &mut self,
        now: Instant,
        id: AssociationId,
        address: IpAddr,
    ) -> Result<(), AddressChangeError> {
        self.change_address(now, id, AddressChange::Add(address.to_canonical()))
    }

    /// Tells the peer that this side cannot be reached at `address` any more (RFC 5061 §4.2.2). Nothing is sent from it
    /// any more; what still comes to it counts until the peer has agreed. The unspecified address stands for all but the
    /// one the request will seem to come from.
    ///
    /// # Errors
    /// See [`AddressChangeError`].
    pub fn delete_local_address(
        &mut self,
        now: Instant,
        id: AssociationId,
        address: IpAddr,
    ) -> Result<(), AddressChangeError> {
        self.change_address(now, id, AddressChange::Delete(address.to_canonical()))
    }

    /// Asks the peer to send to `address` of this side (RFC 5061 §4.2.4, SCTP_SET_PEER_PRIMARY_ADDR).
    ///
    /// # Errors
    /// See [`AddressChangeError`].
    pub fn request_peer_primary(
        &mut self,
        now: Instant,
        id: AssociationId,
        address: IpAddr,
    ) -> Result<(), AddressChangeError> {
        self.change_address(now, id, AddressChange::SetPrimary(address.to_canonical()))
    }

    /// Says where the peer may be, should it not answer at any of its addresses: what its name leads to, for example, when both
    /// ends have moved at the same time and neither can tell the other. It replaces what was suggested before; an empty list
    /// takes that back.
    ///
    /// HEARTBEATs ask for the peer there, and ASCONFs that are not answered elsewhere are tried there as well, always with
    /// authentication; nothing else is sent there before the peer has answered (RFC 9260 §5.4). As little as one of the two
    /// ends has to know where the other is.
    ///
    /// # Errors
    /// Dynamic addresses are not agreed on, the association is not established, an address is none of a host, or there are more than
    /// 8 with those that the peer has. Nothing has been done then.
    pub fn suggest_peer_addresses(
        &mut self,
        now: Instant,
        id: AssociationId,
        at: &[Destination],
    ) -> Result<(), AddressChangeError> {
        let slot = self.table.slot(id)?;
        if let Some(other) = at.iter().find(|destination| !is_unicast(destination.address)) {
            return Err(AddressChangeError::NotAHost(other.address));
        }
        let canonical = |at: &Destination| Destination { address: at.address.to_canonical(), ..*at };
        let at: SmallVec<[Destination; 2]> = at.iter().map(canonical).collect();
        self.with(now, slot, |association| association.suggest_peer_addresses(now, &at))
    }

    fn change_address(
        &mut self,
        now: Instant,
        id: AssociationId,
        change: AddressChange,
    ) -> Result<(), AddressChangeError> {
        let slot = self.table.slot(id)?;
        self.with(now, slot, |association| association.request_address_change(now, change))
    }

    /// This host has lost an address. What was sent from it goes again at once, from another of
    /// [`EndpointConfig::local_addresses`](crate::EndpointConfig::local_addresses) or on another path. Peers keep the address in their lists.
    pub fn local_address_down(&mut self, now: Instant, address: IpAddr) {
        let address = address.to_canonical();
        if self.locals.contains(&address) {
            self.locals.retain(|local| *local != address);
            self.presence.end(now, address);
        }
        self.each_association(now, |association| association.local_address_down(now, address));
    }

    /// This host has an address, again or new. Paths that do not work are tried from there, where addresses change by ASCONF
    /// only if the peer knows this one ([`add_local_address`](Self::add_local_address)); new associations list it after those
    /// known before.
    pub fn local_address_up(&mut self, now: Instant, address: IpAddr) {
        let address = address.to_canonical();
        if !self.locals.contains(&address) && self.locals.len() < MAX_PATHS {
            self.locals.push(address);
            self.presence.begin(now, address);
        }
        self.each_association(now, |association| association.local_address_up(now, address));
    }

    /// Returns an association, to look at. It stays until its last event has been polled and all messages are
    /// read.
    #[must_use]
    pub fn association(&self, id: AssociationId) -> Option<&Association> {
        self.table.association(id)
    }

    /// Returns the number of octets all associations hold of what was received and not read, bookkeeping
    /// included; at most [`EndpointConfig::receive_memory_bytes`](crate::EndpointConfig::receive_memory_bytes).
    #[must_use]
    pub fn receive_memory_bytes(&self) -> usize {
        self.table.memory.held_bytes()
    }

    /// Returns how many associations there are.
    #[must_use]
    pub fn association_count(&self) -> usize {
        self.table.len()
    }
}

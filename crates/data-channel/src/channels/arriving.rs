//! Messages of the peer: DCEP opens and confirms channels, all others are the application's.

use std::collections::btree_map::Entry;

use sctp_core::{PayloadProtocolId, ReceivedMessage, StreamId};

use super::channel::{Channel, OwnReset, Stage};
use super::{ChannelEvent, DataChannels};
use crate::config::ChannelConfig;
use crate::dcep::Dcep;
use crate::error::ChannelViolation;
use crate::payload::{NotPayload, Payload};

impl DataChannels {
    /// Takes a message from the association.
    pub(super) fn take(&mut self, message: ReceivedMessage) {
        let stream = message.stream;
        let outcome = if message.ppid == PayloadProtocolId::WEBRTC_DCEP {
            self.take_control(stream, &message.payload)
        } else {
            self.take_payload(message)
        };
        if let Err(violation) = outcome {
            self.refuse(stream, violation);
        }
    }

    fn take_control(&mut self, stream: StreamId, octets: &[u8]) -> Result<(), ChannelViolation> {
        match Dcep::decode(octets)? {
            Dcep::Open(config) => self.take_open(stream, config),
            Dcep::Ack => self.confirm(stream),
        }
    }

    /// Takes note that the peer opens a channel (RFC 8832 §6).
    fn take_open(&mut self, stream: StreamId, config: ChannelConfig) -> Result<(), ChannelViolation> {
        if self.role.opens(stream) {
            return Err(ChannelViolation::WrongStream);
        }
        // What opens a channel is the first message of its stream: a reset that nobody has looked at came before it.
        self.take_peer_reset_before(stream);
        if self.is_closed_for_peer(stream) {
            self.remove(stream);
        }
        if self.channels.contains_key(&stream) {
            return Err(ChannelViolation::OpenedTwice);
        }
        let name_bytes = self.peer_name_bytes + config.name_bytes();
        if self.channels.len() >= self.limits.channels || name_bytes > self.limits.peer_name_bytes {
            return Err(ChannelViolation::TooMany);
        }
        self.peer_name_bytes = name_bytes;
        self.channels.insert(stream, Channel::of_peer(config));
        self.unanswered.push_back(stream);
        self.events.push_back(ChannelEvent::Opened(stream));
        Ok(())
    }

    /// Returns whether both ends have reset the stream as the peer sees it: it may open the next channel there before its answer
    /// to our reset has arrived.
    fn is_closed_for_peer(&self, stream: StreamId) -> bool {
        let closed = Stage::Closing { ours: OwnReset::Asked, is_theirs_done: true };
        self.channels.get(&stream).is_some_and(|channel| channel.stage == closed)
    }

    fn confirm(&mut self, stream: StreamId) -> Result<(), ChannelViolation> {
        let channel = self.channels.get_mut(&stream).ok_or(ChannelViolation::NoChannel)?;
        if channel.stage == Stage::Opening {
            channel.stage = Stage::Open;
            self.events.push_back(ChannelEvent::Confirmed(stream));
        }
        Ok(())
    }

    fn take_payload(&mut self, message: ReceivedMessage) -> Result<(), ChannelViolation> {
        let channel = message.stream;
        let payload = Payload::from_wire(message.ppid, message.payload).map_err(|what| match what {
            NotPayload::NotText => ChannelViolation::NotText,
            NotPayload::UnknownIdentifier(ppid) => ChannelViolation::UnknownIdentifier(ppid),
        })?;
        match self.channels.get(&channel).map(|channel| channel.stage) {
            None => return Err(ChannelViolation::NoChannel),
            // It was sent before the peer knew that this end has closed.
            Some(Stage::Closing { .. }) => return Ok(()),
            // What is unordered may overtake DATA_CHANNEL_ACK, and says the same.
            Some(Stage::Opening) => self.confirm(channel)?,
            Some(Stage::Open) => {}
        }
        self.events.push_back(ChannelEvent::Message { channel, payload });
        Ok(())
    }

    /// Closes a stream on which the peer broke the rules. That is told once for a stream.
    fn refuse(&mut self, stream: StreamId, violation: ChannelViolation) {
        let is_new = match self.channels.entry(stream) {
            Entry::Vacant(place) => {
                place.insert(Channel::refused());
                true
            }
            Entry::Occupied(mut channel) => channel.get_mut().begin_closing(),
        };
        if is_new {
            self.resets.due.insert(stream);
            self.events.push_back(ChannelEvent::Violation { stream, violation });
        }
    }
}

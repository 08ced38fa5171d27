//! The channels of an association: which there are, what state they are in, what is to be told.
//!
//! | module | owns |
//! |---|---|
//! | `channel` | one channel and its state |
//! | `arriving` | messages of the peer, from the stream to the application |
//! | `closing` | stream resets, asked for and answered (RFC 8831 §6.7) |

mod arriving;
mod channel;
mod closing;

use core::num::NonZeroU16;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

use bytes::Bytes;
use sctp_core::{AssociationId, Delivery, Endpoint, Event, Message, PayloadProtocolId, StreamId};
use virtual_time::Instant;

pub use self::channel::ChannelState;
use self::channel::{Channel, Stage};
use self::closing::Resets;
use crate::config::{ChannelConfig, ChannelLimits, DtlsRole};
use crate::dcep::Dcep;
use crate::error::{ChannelViolation, OpenError, SendError, UnknownChannel};
use crate::payload::Payload;

/// The data channels of one association, as a state machine without clock and IO.
///
/// # Contract
/// Whoever drives the [`Endpoint`] gives every event of the association to [`handle_event`](Self::handle_event) and then polls
/// [`poll_event`](Self::poll_event) until there is none: that reads the association's messages, one at a time, so that what the
/// application does not poll for stays in SCTP's receive window and holds the peer back. Nobody else reads or resets its streams.
#[derive(Debug)]
pub struct DataChannels {
    association: AssociationId,
    role: DtlsRole,
    limits: ChannelLimits,
    channels: BTreeMap<StreamId, Channel>,
    /// Streams whose channel the peer would not close: they are not used again.
    spent: BTreeSet<StreamId>,
    resets: Resets,
    /// Streams on which DATA_CHANNEL_ACK is still to be sent.
    unanswered: VecDeque<StreamId>,
    /// Octets of the names that the peer gave its channels.
    peer_name_bytes: usize,
    events: VecDeque<ChannelEvent>,
}

/// Something that the application should know of its channels.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ChannelEvent {
    /// The peer has opened a channel. It can be sent on at once.
    Opened(StreamId),
    /// The peer has confirmed a channel that this end opened.
    Confirmed(StreamId),
    /// The peer has sent a message.
    Message {
        /// The channel that the message came on.
        channel: StreamId,
        /// The content of the message.
        payload: Payload,
    },
    /// The peer closes a channel: nothing more comes, and nothing more can be sent.
    Closing(StreamId),
    /// A channel is closed in both directions, or the association is over. Nothing more is told of it, and its stream may have
    /// another channel.
    Closed(StreamId),
    /// The peer did what it must not, and this stream is being closed.
    Violation {
        /// The stream that is being closed.
        stream: StreamId,
        /// The rule that the peer broke.
        violation: ChannelViolation,
    },
}

impl DataChannels {
    /// Creates the channels of an association that has none yet.
    #[must_use]
    pub fn new(association: AssociationId, role: DtlsRole, limits: ChannelLimits) -> Self {
        Self {
            association,
            role,
            limits,
            channels: BTreeMap::new(),
            spent: BTreeSet::new(),
            resets: Resets::default(),
            unanswered: VecDeque::new(),
            peer_name_bytes: 0,
            events: VecDeque::new(),
        }
    }

    /// Returns the association that carries them.
    #[must_use]
    pub fn association(&self) -> AssociationId {
        self.association
    }

    /// Returns what a channel is.
    #[must_use]
    pub fn config(&self, channel: StreamId) -> Option<&ChannelConfig> {
        self.channels.get(&channel).map(|channel| &channel.config)
    }

    /// Returns how far a channel is.
    #[must_use]
    pub fn state(&self, channel: StreamId) -> Option<ChannelState> {
        self.channels.get(&channel).map(|channel| channel.stage.state())
    }

    /// Returns the channels that there are, those that are closing included.
    pub fn iter(&self) -> impl Iterator<Item = StreamId> {
        self.channels.keys().copied()
    }

    /// Opens a channel on the lowest stream of this end that is free. It can be sent on at once; whether the peer has it is told
    /// by [`ChannelEvent::Confirmed`].
    ///
    /// # Errors
    /// See [`OpenError`].
    pub fn open(
        &mut self,
        now: Instant,
        endpoint: &mut Endpoint,
        config: ChannelConfig,
    ) -> Result<StreamId, OpenError> {
        let open = Dcep::Open(config.clone()).encode()?;
        let free = |stream: &StreamId| !self.channels.contains_key(stream) && !self.spent.contains(stream);
        let own = (self.role.first_stream()..MOST_STREAMS).step_by(2).map(StreamId::new);
        let has_room = self.channels.len() < self.limits.channels;
        let stream = own.filter(|_| has_room).find(free);
        let stream = stream.ok_or(OpenError::TooMany { channels: self.channels.len() })?;
        endpoint.send(now, self.association, control(stream, open))?;
        self.insert(endpoint, stream, Channel::new(config, Stage::Opening));
        Ok(stream)
    }

    /// Opens a channel that both ends have agreed on by other means, on this stream (`negotiated` in JavaScript).
    ///
    /// # Errors
    /// See [`OpenError`].
    pub fn open_negotiated(
        &mut self,
        endpoint: &mut Endpoint,
        stream: StreamId,
        config: ChannelConfig,
    ) -> Result<(), OpenError> {
        if self.channels.contains_key(&stream) || self.spent.contains(&stream) {
            return Err(OpenError::InUse(stream));
        }
        if self.channels.len() >= self.limits.channels || stream.get() == MOST_STREAMS {
            return Err(OpenError::TooMany { channels: self.channels.len() });
        }
        self.insert(endpoint, stream, Channel::new(config, Stage::Open));
        Ok(())
    }

    /// Sends a message.
    ///
    /// # Errors
    /// See [`SendError`]; with [`SendError::BufferFull`] the message comes back.
    pub fn send(
        &mut self,
        now: Instant,
        endpoint: &mut Endpoint,
        channel: StreamId,
        payload: impl Into<Payload>,
    ) -> Result<(), SendError> {
        let payload = payload.into();
        let open = self.channels.get(&channel).ok_or(UnknownChannel(channel))?;
        let limit = self.limits.peer_message_bytes;
        let delivery = match open.stage {
            Stage::Closing { .. } => return Err(SendError::Closing(channel)),
            // RFC 8832 §6: nothing may overtake DATA_CHANNEL_OPEN.
            Stage::Opening => Delivery::Ordered,
            Stage::Open => open.config.delivery,
        };
        if payload.len() > limit {
            return Err(SendError::TooLong { octets: payload.len(), limit });
        }
        let (ppid, octets) = payload.into_wire();
        let reliability = open.config.reliability;
        let message = Message { reliability, ..Message::new(channel, delivery, octets).with_ppid(ppid) };
        match endpoint.send(now, self.association, message) {
            Ok(()) => Ok(()),
            Err(sctp_core::SendError::BufferFull(Message { ppid, payload, .. })) => Payload::from_wire(
                ppid, payload,
            )
            .map_or_else(|_| Err(SendError::Closing(channel)), |payload| Err(SendError::BufferFull(payload))),
            Err(other) => Err(SendError::Association(other)),
        }
    }

    /// Takes note of an event of the association. [`poll_event`](Self::poll_event) tells what follows.
    pub fn handle_event(&mut self, now: Instant, endpoint: &mut Endpoint, event: &Event) {
        match event {
            Event::StreamsReset { direction, streams, result } => {
                self.on_reset(*direction, streams, *result);
            }
            // All streams begin anew, and nobody knows their channels.
            Event::Restart { .. }
            | Event::ShutdownComplete
            | Event::CommunicationLost(_)
            | Event::CannotStart(_) => self.lose_all(),
            Event::CommunicationUp { .. }
            | Event::AssociationReset { .. }
            | Event::StreamsAdded { .. }
            | Event::ShutdownReceived
            | Event::PeerAddressChange { .. }
            | Event::RemoteError(_)
            | Event::SendFailed { .. }
            | Event::PartialDeliveryAborted { .. }
            | Event::NewPeerKey(_)
            | Event::AddressChangeAnswered { .. }
            | Event::PeerPrimary(_)
            | Event::TrainReceived { .. }
            | Event::SenderDry
            | Event::MessageReady
            | Event::SendBufferAvailable
            | _ => {}
        }
        self.progress(now, endpoint);
    }

    /// Returns the next thing that the application should know; reads messages of the association until there is one.
    pub fn poll_event(&mut self, now: Instant, endpoint: &mut Endpoint) -> Option<ChannelEvent> {
        loop {
            if let Some(event) = self.events.pop_front() {
                return Some(event);
            }
            if let Some(received) = endpoint.receive(now, self.association) {
                self.take(received.message);
            } else if !self.take_peer_resets() {
                return None;
            }
            self.progress(now, endpoint);
        }
    }

    /// Sends what waits for room, and asks for resets that wait for others.
    fn progress(&mut self, now: Instant, endpoint: &mut Endpoint) {
        while let Some(&stream) = self.unanswered.front() {
            let ack = control(stream, Bytes::from_static(Dcep::ACK));
            if let Err(sctp_core::SendError::BufferFull(_)) = endpoint.send(now, self.association, ack) {
                break;
            }
            // Any other refusal means that the association is ending, which its event tells.
            self.unanswered.pop_front();
        }
        self.ask_for_resets(now, endpoint);
    }

    fn insert(&mut self, endpoint: &mut Endpoint, stream: StreamId, channel: Channel) {
        if channel.config.priority != crate::Priority::NORMAL {
            let weight = NonZeroU16::new(channel.config.priority.0).unwrap_or(NonZeroU16::MIN);
            // A stream that does not exist is told by `send`.
            let _unknown = endpoint.set_stream_weight(self.association, stream, weight);
        }
        self.channels.insert(stream, channel);
    }

    /// Forgets a channel, and says so if the application knows it.
    fn remove(&mut self, stream: StreamId) {
        let Some(channel) = self.channels.remove(&stream) else { return };
        self.peer_name_bytes -= channel.peer_name_bytes;
        self.unanswered.retain(|unanswered| *unanswered != stream);
        if channel.is_told {
            self.events.push_back(ChannelEvent::Closed(stream));
        }
    }

    fn lose_all(&mut self) {
        while let Some(stream) = self.channels.keys().next().copied() {
            self.remove(stream);
        }
        self.spent.clear();
        self.resets = Resets::default();
    }
}

/// Returns a message of DCEP: in order and reliable, whatever the channel is (RFC 8832 §6).
fn control(stream: StreamId, octets: Bytes) -> Message {
    Message::ordered(stream, octets).with_ppid(PayloadProtocolId::WEBRTC_DCEP)
}

/// Streams that channels can be on: 65,535 is none (RFC 8832 §6).
const MOST_STREAMS: u16 = u16::MAX;

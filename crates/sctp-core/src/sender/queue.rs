//! Messages accepted from the user and not yet in packets.
//!
//! First come, first served over all streams. A message is cut into fragments only when its turn comes, so
//! that fragments fit the path of that moment.

use std::collections::VecDeque;

use bytes::Bytes;
use sctp_wire::{DataFlags, PayloadProtocolId, Ssn, StreamId};

use crate::message::{Delivery, Message};

/// Unsent messages in order.
#[derive(Debug, Default)]
pub(crate) struct SendQueue {
    messages: VecDeque<Message>,
    /// The message at the head, once part of it has been taken.
    begun: Option<Begun>,
    payload_bytes: usize,
}

/// A message of which fragments have left already.
#[derive(Debug)]
struct Begun {
    ssn: Ssn,
    rest: Bytes,
}

/// What one DATA chunk carries; it keeps this for every retransmission.
#[derive(Clone, Debug)]
pub(crate) struct Fragment {
    pub(crate) stream: StreamId,
    pub(crate) ssn: Ssn,
    pub(crate) ppid: PayloadProtocolId,
    pub(crate) flags: DataFlags,
    pub(crate) payload: Bytes,
}

impl SendQueue {
    pub(crate) fn push(&mut self, message: Message) {
        self.payload_bytes += message.payload.len();
        self.messages.push_back(message);
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.messages.is_empty()
    }

    /// Payload octets waiting.
    pub(crate) fn payload_bytes(&self) -> usize {
        self.payload_bytes
    }

    /// Payload octets the next fragment would carry, given the room in this packet and in an empty one.
    ///
    /// A message that fits a packet is not cut: it waits for the next one. `None`: nothing to send, or not here.
    pub(crate) fn next_len(&self, room: usize, full_room: usize) -> Option<usize> {
        let head = self.messages.front()?;
        let rest = self.begun.as_ref().map_or(head.payload.len(), |begun| begun.rest.len());
        if rest <= room {
            Some(rest)
        } else if rest > full_room && room >= full_room.min(MIN_FRAGMENT_BYTES) {
            Some(room & !3)
        } else {
            None
        }
    }

    /// Takes `len` octets off the head message. `next_ssn` is asked for a sequence number when a message begins.
    pub(crate) fn take(&mut self, len: usize, next_ssn: impl FnOnce(&Message) -> Ssn) -> Option<Fragment> {
        let head = self.messages.front()?;
        let beginning = self.begun.is_none();
        let begun =
            self.begun.get_or_insert_with(|| Begun { ssn: next_ssn(head), rest: head.payload.clone() });
        let payload = begun.rest.split_to(len.min(begun.rest.len()));
        let ending = begun.rest.is_empty();
        let unordered = head.delivery == Delivery::Unordered;
        let flags = DataFlags { immediate: false, unordered, beginning, ending };
        let fragment = Fragment { stream: head.stream, ssn: begun.ssn, ppid: head.ppid, flags, payload };
        self.payload_bytes -= fragment.payload.len();
        if ending {
            self.begun = None;
            self.messages.pop_front();
        }
        Some(fragment)
    }

    /// Takes out what is queued for streams that turned out not to exist.
    pub(crate) fn drain_unknown_streams(&mut self, streams: u16) -> Vec<Message> {
        // A message of which part is under way cannot be taken back: the peer reports its stream as invalid.
        let begun = if self.begun.is_some() { self.messages.pop_front() } else { None };
        let queued = core::mem::take(&mut self.messages).into_iter();
        let (known, unknown) = queued.partition::<Vec<_>, _>(|message| message.stream.get() < streams);
        self.messages = begun.into_iter().chain(known).collect();
        self.payload_bytes -= unknown.iter().map(|message| message.payload.len()).sum::<usize>();
        unknown
    }

    /// Everything of which nothing was sent, for send-failed events.
    pub(crate) fn drain_unsent(&mut self) -> impl Iterator<Item = Message> {
        if self.begun.take().is_some() {
            self.messages.pop_front();
        }
        self.payload_bytes = 0;
        core::mem::take(&mut self.messages).into_iter()
    }
}

/// A fragment smaller than this is not worth a chunk header at the end of a packet.
const MIN_FRAGMENT_BYTES: usize = 256;

//! Messages accepted from the user and not yet in packets.
//!
//! Every stream has a queue of its own, and a [`scheduler`](super::scheduler) chooses between them. A message is
//! cut into fragments only when its turn comes, so that fragments fit the path of that moment. Without interleaving
//! the fragments of a message follow each other (RFC 9260 §6.9); with it a message of another stream may come
//! between (RFC 8260 §2).

mod hold;
mod memory;

use core::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};

use sctp_wire::{DataFlags, Fsn, IData, Mid, Ssn, StreamId};
use virtual_time::Instant;

use self::hold::Hold;
pub(crate) use self::memory::{DISPLACEABLE_BYTES, WAITING_BYTES};
use super::messages::{MessageKey, Messages, OnceBegun, Stored};
use super::scheduler::{Rest, Schedule, Served, WaitingMessage};
use super::write::Blocked;
use crate::capabilities::{Capabilities, Capability};
use crate::config::{StreamScheduler, StreamShare};
use crate::message::{Delivery, Message, Reliability};
use crate::seldom::Seldom;
use crate::stats::{AbandonedMessages, StreamStatistics};

/// Unsent messages of all streams.
#[derive(Debug)]
pub(crate) struct SendQueue {
    /// The messages that wait, and those of which chunks are outstanding.
    stored: Messages,
    /// The streams by their numbers; grows with the streams used.
    streams: Vec<OutStream>,
    /// How many messages the queues of all streams have room for.
    queue_places: usize,
    discipline: Schedule,
    framing: Framing,
    unfinished_messages: Unfinished,
    /// The stream whose message was begun and must be finished first.
    unfinished: Option<StreamId>,
    /// The stream of the packet being filled, where a packet carries one only.
    in_packet: Option<StreamId>,
    accepted: u64,
    messages: usize,
    payload_bytes: usize,
    /// The terms of messages that may be given up; from the first of them on.
    terms: Option<Box<Terms>>,
    hold: Option<Box<Hold>>,
    /// How often all streams have begun anew.
    round: u32,
}

/// The messages that have to leave, and when.
#[derive(Debug, Default)]
struct Terms {
    /// The times at which waiting messages expire. Those that are gone meanwhile are passed over when they come
    /// up.
    deadlines: BinaryHeap<Reverse<(Instant, u64, StreamId)>>,
    /// Messages that make room for more important ones: the least important first, of those the oldest.
    displaceable: BTreeMap<(Reverse<u32>, u64), (StreamId, usize)>,
}

impl Terms {
    /// Returns which message expires first, and when.
    fn first_deadline(&self) -> Option<(Instant, u64, StreamId)> {
        self.deadlines.peek().map(|Reverse(first)| *first)
    }

    /// A message with such terms does not wait any more.
    fn forget_priority(&mut self, reliability: Reliability, number: u64) {
        if let Reliability::Priority(priority) = reliability {
            self.displaceable.remove(&(Reverse(priority), number));
        }
    }
}

/// The chunk that messages travel in: agreed on for the whole association (RFC 8260 §2.2.1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Framing {
    /// DATA: the fragments of a message follow each other.
    #[default]
    Data,
    /// I-DATA: messages of different streams may alternate.
    IData,
}

impl Framing {
    pub(crate) fn agreed(capabilities: Capabilities) -> Self {
        if capabilities.has(Capability::Interleaving) { Self::IData } else { Self::Data }
    }

    /// Returns the number of octets of a chunk before its payload.
    pub(crate) const fn header_bytes(self) -> usize {
        match self {
            Self::Data => 16,
            Self::IData => IData::HEADER_BYTES,
        }
    }
}

/// An outgoing stream.
#[derive(Debug, Default)]
struct OutStream {
    queue: VecDeque<MessageKey>,
    /// Part of the message at the head has been taken.
    has_begun: bool,
    next: NextMids,
    share: StreamShare,
    /// The round of the queue that `next` counts in.
    round: u32,
    statistics: StreamTally,
}

/// The counts of an outgoing stream: there may be 65,535 of them.
#[derive(Debug, Default)]
struct StreamTally {
    messages_queued: u64,
    octets_queued: u64,
    messages_sent: u64,
    octets_sent: u64,
    abandoned: Seldom<AbandonedMessages>,
}

impl StreamTally {
    fn get(&self) -> StreamStatistics {
        let &Self { messages_queued, octets_queued, messages_sent, octets_sent, ref abandoned } = self;
        let abandoned = abandoned.get();
        StreamStatistics { messages_queued, octets_queued, messages_sent, octets_sent, abandoned }
    }
}

/// A message that was taken out before it was sent to its end.
#[derive(Debug)]
pub(crate) struct RemovedMessage {
    pub(crate) message: Message,
    /// The name it had: chunks of it still bear it.
    pub(crate) key: MessageKey,
    /// Payload octets of it that had not been sent.
    pub(crate) unsent_bytes: usize,
    /// The end in place of what was not sent, if part of it was: see [`Fragment::end_without_payload`].
    pub(crate) end: Option<Fragment>,
}

/// How much payload the next chunk may have.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ChunkRoom {
    /// Octets left in this packet.
    pub(crate) here: usize,
    /// Octets in a packet of its own.
    pub(crate) alone: usize,
    /// Octets the peer has room for.
    pub(crate) window: usize,
    /// Whether messages that fit a packet are cut, too, to fill this one.
    pub(crate) cut: Cut,
}

/// The messages that are cut into fragments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cut {
    /// The messages that are longer than a packet.
    WhatFitsNoPacket,
    /// Any, where a packet ends.
    ToFill,
}

impl ChunkRoom {
    /// Returns how much of a message goes next of which there is so much left.
    ///
    /// A message that fits a packet is not cut, unless packets are to be filled: it waits for the next one.
    #[inline]
    fn payload_bytes(&self, rest: usize) -> Result<usize, Blocked> {
        let here = self.here.min(self.alone);
        let whole = match self.cut {
            Cut::WhatFitsNoPacket => self.alone,
            Cut::ToFill => 0,
        };
        let octets = if rest <= here {
            rest
        } else if rest > whole && here >= self.alone.min(MIN_FRAGMENT_BYTES) {
            here & !3
        } else {
            return Err(Blocked::PacketFull);
        };
        if octets > self.window { Err(Blocked::PeerWindow) } else { Ok(octets) }
    }
}

/// A fragment on its way into a packet.
#[derive(Debug)]
pub(crate) struct Taken<'a> {
    pub(crate) fragment: Fragment,
    pub(crate) message: &'a Message,
    /// Whether another one could be taken.
    pub(crate) has_next: bool,
}

/// Message identifiers of a stream; the lower half of that of an ordered message is its SSN.
#[derive(Clone, Copy, Debug, Default)]
struct NextMids {
    ordered: Mid,
    unordered: Mid,
}

/// The content of one DATA or I-DATA chunk, which keeps this for every retransmission.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fragment {
    /// The message it is a part of; [`MessageKey::NONE`] once that was given up.
    pub(crate) message: MessageKey,
    offset: u32,
    len: u16,
    pub(crate) stream: StreamId,
    /// The number of the message; its lower half is the SSN where messages do not interleave.
    pub(crate) mid: Mid,
    pub(crate) fsn: Fsn,
    /// The flags, as they stand in the chunk.
    flags: u8,
    pub(crate) framing: Framing,
}

impl Fragment {
    /// Takes the place of what is not sent any more of a message. Its TSN is never sent: it is what a FORWARD TSN
    /// passes over, so that the peer does not wait for the rest.
    fn end_without_payload(head: &Stored, framing: Framing) -> Self {
        let unordered = head.message.delivery == Delivery::Unordered;
        let flags = DataFlags { immediate: false, unordered, beginning: false, ending: false };
        let (message, stream, flags) = (MessageKey::NONE, head.message.stream, flags.bits());
        Self { message, offset: 0, len: 0, stream, mid: head.mid, fsn: head.next_fsn, flags, framing }
    }

    #[inline]
    pub(crate) fn flags(&self) -> DataFlags {
        DataFlags::from(self.flags)
    }

    /// Returns the octets of its message that it carries.
    pub(crate) fn payload<'a>(&self, message: &'a Message) -> &'a [u8] {
        let start = self.offset as usize;
        message.payload.get(start..start + self.payload_bytes()).unwrap_or_default()
    }

    pub(crate) fn payload_bytes(&self) -> usize {
        usize::from(self.len)
    }

    /// Returns the number of octets of its chunk in a packet (RFC 9260 §3.3.1).
    #[inline]
    pub(crate) fn wire_bytes(&self) -> usize {
        // Padded to a multiple of four.
        self.framing.header_bytes() + ((self.payload_bytes() + 3) & !3)
    }

    /// Forgets the message, which was given up.
    pub(crate) fn forget_message(&mut self) {
        let flags = DataFlags { ending: false, ..self.flags() };
        (self.message, self.offset, self.len, self.flags) = (MessageKey::NONE, 0, 0, flags.bits());
    }

    /// Returns the number of the message where messages do not interleave; unordered ones have none.
    pub(crate) fn ssn(&self) -> Ssn {
        if self.flags().unordered { Ssn::new(0) } else { ssn(self.mid) }
    }
}

/// Returns the SSN of an ordered message: both count the messages of the stream.
pub(crate) fn ssn(mid: Mid) -> Ssn {
    let [_, _, high, low] = mid.get().to_be_bytes();
    Ssn::new(u16::from_be_bytes([high, low]))
}

impl Stored {
    /// Returns the next fragment of it, of at most so many octets.
    #[inline]
    fn cut(&mut self, key: MessageKey, octets: usize, framing: Framing, beginning: bool) -> Fragment {
        let len = u16::try_from(octets).unwrap_or(u16::MAX);
        let (offset, fsn) = (self.sent_bytes, self.next_fsn);
        self.sent_bytes += u32::from(len);
        self.next_fsn = fsn.next();
        let unordered = self.message.delivery == Delivery::Unordered;
        let ending = self.unsent_bytes() == 0;
        let flags = DataFlags { immediate: false, unordered, beginning, ending };
        Fragment {
            message: key,
            offset,
            len,
            stream: self.message.stream,
            mid: self.mid,
            fsn,
            flags: flags.bits(),
            framing,
        }
    }
}

impl OutStream {
    fn rest(&self, id: StreamId, stored: &Messages, hold: Option<&Hold>) -> Rest {
        match self.queue.front() {
            Some(&front) if hold.is_none_or(|hold| hold.lets_go(id, stored.number(front))) => Rest::Some,
            Some(_) | None => Rest::None,
        }
    }

    /// Returns the numbers of its next messages, in this round of the queue.
    fn next_mids(&mut self, round: u32) -> &mut NextMids {
        if self.round != round {
            (self.round, self.next) = (round, NextMids::default());
        }
        &mut self.next
    }

    fn position(&self, number: u64, stored: &Messages) -> Option<usize> {
        self.queue.binary_search_by_key(&number, |key| stored.number(*key)).ok()
    }

    /// Returns the index of the first message of which nothing was sent.
    fn first_unbegun(&self) -> usize {
        usize::from(self.has_begun)
    }
}

impl NextMids {
    fn take(&mut self, delivery: Delivery) -> Mid {
        let next = match delivery {
            Delivery::Ordered => &mut self.ordered,
            Delivery::Unordered => &mut self.unordered,
        };
        let mid = *next;
        *next = mid.next();
        mid
    }
}

impl SendQueue {
    pub(crate) fn new(scheduler: StreamScheduler) -> Self {
        Self {
            stored: Messages::default(),
            streams: Vec::new(),
            queue_places: 0,
            discipline: Schedule::new(scheduler),
            framing: Framing::Data,
            unfinished_messages: Unfinished::MustBeFinished,
            unfinished: None,
            in_packet: None,
            accepted: 0,
            messages: 0,
            payload_bytes: 0,
            terms: None,
            hold: None,
            round: 0,
        }
    }

    #[inline]
    pub(crate) fn push(&mut self, now: Instant, message: Message) {
        let bytes = message.payload.len();
        self.payload_bytes += bytes;
        self.messages += 1;
        self.accepted += 1;
        let (id, number) = (message.stream, self.accepted);
        let deadline = self.note_terms(now, &message, number);
        let key = self.stored.insert(Stored::new(message, number, deadline));
        let index = self.place(id);
        let stream = &mut self.streams[index];
        stream.statistics.messages_queued += 1;
        stream.statistics.octets_queued += bytes as u64;
        let is_held = self.hold.as_mut().is_some_and(|hold| hold.keeps_new(id));
        if !is_held {
            let waiting = WaitingMessage { stream: id, number, share: stream.share };
            self.discipline.queued(waiting, || stream.rest(id, &self.stored, self.hold.as_deref()));
        }
        if stream.queue.len() == stream.queue.capacity() {
            self.queue_places += stream.grow();
        }
        stream.queue.push_back(key);
    }

    /// Returns the messages, by key.
    pub(crate) fn messages(&self) -> &Messages {
        &self.stored
    }

    pub(crate) fn messages_mut(&mut self) -> &mut Messages {
        &mut self.stored
    }

    /// Returns a message that has left the queue is not needed any more.
    pub(crate) fn forget(&mut self, key: MessageKey) -> Option<Message> {
        self.stored.remove(key).map(|stored| stored.message)
    }

    #[inline]
    fn note_terms(&mut self, now: Instant, message: &Message, number: u64) -> Option<Instant> {
        match message.reliability {
            Reliability::Reliable | Reliability::Retransmissions(_) => None,
            Reliability::Lifetime(lifetime) => {
                let deadline = now + lifetime;
                self.forget_deadlines();
                let terms = self.terms.get_or_insert_default();
                terms.deadlines.push(Reverse((deadline, number, message.stream)));
                Some(deadline)
            }
            Reliability::Priority(priority) => {
                let entry = (message.stream, message.payload.len());
                let terms = self.terms.get_or_insert_default();
                terms.displaceable.insert((Reverse(priority), number), entry);
                None
            }
        }
    }

    /// Long lifetimes outlast their messages: when most of the entries are of messages that are gone, those go as well.
    fn forget_deadlines(&mut self) {
        let Some(terms) = &mut self.terms else { return };
        if terms.deadlines.len() <= 2 * self.messages + DEADLINES_KEPT {
            return;
        }
        let (streams, stored) = (&self.streams, &self.stored);
        terms.deadlines.retain(|Reverse((_, number, stream))| {
            let stream = streams.get(usize::from(stream.get()));
            stream.is_some_and(|stream| stream.position(*number, stored).is_some())
        });
    }

    #[cfg(test)]
    pub(crate) fn deadlines_kept(&self) -> usize {
        self.terms.as_ref().map_or(0, |terms| terms.deadlines.len())
    }

    /// Returns how many messages were ever accepted.
    pub(crate) fn accepted(&self) -> u64 {
        self.accepted
    }

    /// Returns whether no message waits, not even in a stream that is held.
    pub(crate) fn is_empty(&self) -> bool {
        self.messages == 0
    }

    /// Returns whether a fragment could be taken.
    pub(crate) fn has_next(&self) -> bool {
        self.head().is_some()
    }

    /// Returns the octets of payload that wait.
    pub(crate) fn payload_bytes(&self) -> usize {
        self.payload_bytes
    }

    /// Returns the octets that all that waits takes in packets at most, but for what cutting adds.
    pub(crate) fn most_wire_bytes(&self) -> usize {
        // Padding comes to three octets.
        self.payload_bytes + self.messages * (self.framing.header_bytes() + 3)
    }

    /// Returns whether all that waits is no more than these octets and none of it is held back, so that the first fragment of a packet
    /// is no more either. False says nothing.
    #[inline]
    pub(crate) fn fits(&self, octets: usize) -> bool {
        self.messages > 0 && self.payload_bytes <= octets && self.hold.is_none() && self.in_packet.is_none()
    }

    /// Returns the octets of payload of the fragment that would be taken next.
    pub(crate) fn next_bytes(&self, room: &ChunkRoom) -> Result<usize, Blocked> {
        let head = self.head().ok_or(Blocked::NothingToSend)?;
        let stream = self.streams.get(usize::from(head.get())).ok_or(Blocked::NothingToSend)?;
        let front = stream.queue.front().and_then(|key| self.stored.get(*key));
        let rest = front.ok_or(Blocked::NothingToSend)?.unsent_bytes();
        self.check_stream(head)?;
        room.payload_bytes(rest)
    }

    /// Checks that a packet which carries one stream only gets no other.
    fn check_stream(&self, head: StreamId) -> Result<(), Blocked> {
        let is_another = self.in_packet.is_some_and(|stream| stream != head);
        if is_another { Err(Blocked::PacketFull) } else { Ok(()) }
    }

    /// Takes the next fragment, if there is room for it.
    #[inline(always)]
    pub(crate) fn take(&mut self, room: &ChunkRoom) -> Result<Taken<'_>, Blocked> {
        let id = self.head().ok_or(Blocked::NothingToSend)?;
        self.check_stream(id)?;
        let stream = self.streams.get_mut(usize::from(id.get())).ok_or(Blocked::NothingToSend)?;
        let key = *stream.queue.front().ok_or(Blocked::NothingToSend)?;
        let stored = self.stored.get_mut(key).ok_or(Blocked::NothingToSend)?;
        let octets = room.payload_bytes(stored.unsent_bytes())?;
        let beginning = !stream.has_begun;
        if beginning {
            stored.mid = stream.next_mids(self.round).take(stored.message.delivery);
            if self.unfinished_messages == Unfinished::MayBeLeft {
                stored.once_begun = OnceBegun::MayBeGivenUp;
            }
            if let Some(terms) = &mut self.terms {
                terms.forget_priority(stored.message.reliability, stored.number);
            }
        }
        let fragment = stored.cut(key, octets, self.framing, beginning);
        let (octets, ending) = (fragment.payload_bytes(), fragment.flags().ending);
        let number = stored.number;
        stream.has_begun = !ending;
        stream.statistics.octets_sent += octets as u64;
        if ending {
            stream.statistics.messages_sent += 1;
            stream.queue.pop_front();
            self.messages -= 1;
        }
        self.payload_bytes -= octets;
        let ends_turn = ending || self.framing == Framing::IData;
        self.unfinished = (!ends_turn).then_some(id);
        self.discipline.served(number, ending, || {
            let message = WaitingMessage { stream: id, number, share: stream.share };
            let rest = stream.rest(id, &self.stored, self.hold.as_deref());
            Served { message, octets, ends_message: ending, ends_turn, rest }
        });
        if self.discipline.one_stream_per_packet() {
            self.in_packet = Some(id);
        }
        let has_next = self.has_next();
        let message = self.stored.get(key).map(|stored| &stored.message);
        message.map(|message| Taken { fragment, message, has_next }).ok_or(Blocked::NothingToSend)
    }

    /// A packet is complete: the next chunk begins another one.
    pub(crate) fn end_packet(&mut self) {
        self.in_packet = None;
        self.discipline.packet_ended();
    }

    pub(crate) fn framing(&self) -> Framing {
        self.framing
    }

    /// Returns whether a message may be given up of which part was sent.
    pub(crate) fn may_leave_unfinished(&self) -> bool {
        self.unfinished_messages == Unfinished::MayBeLeft
    }

    pub(crate) fn on_negotiated(&mut self, framing: Framing, unfinished_messages: Unfinished) {
        self.framing = framing;
        self.unfinished_messages = unfinished_messages;
    }

    /// Sets what a stream gets beside others, from its next message on.
    pub(crate) fn set_share(&mut self, stream: StreamId, change: impl FnOnce(&mut StreamShare)) {
        change(&mut self.stream_mut(stream).share);
        self.announce(stream);
    }

    /// Returns what streams get beside others, where that is not the default.
    pub(crate) fn shares(&self) -> impl Iterator<Item = (StreamId, StreamShare)> {
        let streams = (0..=u16::MAX).map(StreamId::new).zip(&self.streams);
        streams.map(|(id, stream)| (id, stream.share)).filter(|(_, share)| *share != StreamShare::default())
    }

    /// Returns whether part of a message of this stream has left, and part has not.
    fn has_begun(&self, stream: StreamId) -> bool {
        self.streams.get(usize::from(stream.get())).is_some_and(|stream| stream.has_begun)
    }

    /// Returns when the first of the waiting messages expires.
    pub(crate) fn next_expiry(&mut self) -> Option<Instant> {
        while let Some((deadline, number, stream)) = self.terms.as_ref()?.first_deadline() {
            if self.position(stream, number).is_some() {
                return Some(deadline);
            }
            self.terms.as_mut()?.deadlines.pop();
        }
        None
    }

    /// Takes out what has expired (RFC 3758 §4.1 (TR3)); what was begun only if it may be left unfinished.
    pub(crate) fn take_expired(&mut self, now: Instant) -> Vec<RemovedMessage> {
        let mut expired = Vec::new();
        while let Some(terms) = &mut self.terms
            && let Some((deadline, number, stream)) = terms.first_deadline()
            && deadline <= now
        {
            terms.deadlines.pop();
            let must_stay = !self.may_leave_unfinished() && self.is_begun(stream, number);
            if !must_stay {
                expired.extend(self.remove(stream, number));
            }
        }
        expired
    }

    /// Takes out messages that are less important than one of this reliability, until so many octets are free, each
    /// message counted with its bookkeeping; none if that is not enough (RFC 7496 §3.2).
    pub(crate) fn displace(
        &mut self,
        needed: usize,
        by: Reliability,
        overhead: usize,
    ) -> Vec<RemovedMessage> {
        let priority = match by {
            Reliability::Priority(priority) => Some(priority),
            Reliability::Reliable | Reliability::Lifetime(_) | Reliability::Retransmissions(_) => None,
        };
        let mut freed = 0;
        let mut chosen = Vec::new();
        let displaceable = self.terms.iter().flat_map(|terms| &terms.displaceable);
        for (&(Reverse(theirs), number), &(stream, bytes)) in displaceable {
            if freed >= needed || priority.is_some_and(|ours| theirs <= ours) {
                break;
            }
            freed += bytes + overhead;
            chosen.push((stream, number));
        }
        if freed < needed {
            return Vec::new();
        }
        chosen.into_iter().filter_map(|(stream, number)| self.remove(stream, number)).collect()
    }

    /// Takes out a message, begun or not.
    pub(crate) fn remove(&mut self, id: StreamId, number: u64) -> Option<RemovedMessage> {
        let index = self.position(id, number)?;
        let stream = &mut self.streams[usize::from(id.get())];
        let key = stream.queue.remove(index)?;
        let has_begun = index == 0 && core::mem::take(&mut stream.has_begun);
        let stored = self.stored.remove(key)?;
        let unsent_bytes = stored.unsent_bytes();
        let framing = self.framing;
        let end = has_begun.then(|| Fragment::end_without_payload(&stored, framing));
        let waiting = WaitingMessage { stream: id, number, share: stream.share };
        let rest = stream.rest(id, &self.stored, self.hold.as_deref());
        if has_begun && self.unfinished == Some(id) {
            self.unfinished = None;
        }
        self.messages -= 1;
        self.payload_bytes -= unsent_bytes;
        if let Some(terms) = &mut self.terms {
            terms.forget_priority(stored.message.reliability, number);
        }
        self.discipline.removed(waiting, rest);
        Some(RemovedMessage { message: stored.message, key, unsent_bytes, end })
    }

    /// Counts a message that was given up.
    pub(crate) fn note_abandoned(&mut self, stream: StreamId, count: impl FnOnce(&mut AbandonedMessages)) {
        count(self.stream_mut(stream).statistics.abandoned.note());
    }

    fn position(&self, stream: StreamId, number: u64) -> Option<usize> {
        self.streams.get(usize::from(stream.get()))?.position(number, &self.stored)
    }

    fn is_begun(&self, stream: StreamId, number: u64) -> bool {
        self.has_begun(stream) && self.position(stream, number) == Some(0)
    }

    pub(crate) fn stream_statistics(&self, stream: StreamId) -> StreamStatistics {
        self.streams.get(usize::from(stream.get())).map(|stream| stream.statistics.get()).unwrap_or_default()
    }

    /// Takes out what is queued for streams that turned out not to exist, in the order in which it was handed in.
    pub(crate) fn drain_unknown_streams(&mut self, streams: u16) -> Vec<Message> {
        self.drain_unbegun(streams)
    }

    /// Takes out everything that waits, for send-failed events: messages of which part was sent, and all
    /// others. Nothing is sent any more.
    pub(crate) fn drain(&mut self) -> (Vec<Message>, Vec<Message>) {
        let unsent = self.drain_unbegun(0);
        let mut begun = Vec::new();
        (self.messages, self.payload_bytes, self.unfinished) = (0, 0, None);
        for id in 0..=u16::MAX {
            let Some(stream) = self.streams.get_mut(usize::from(id)) else { break };
            begun.extend(stream.queue.drain(..).filter_map(|key| self.stored.remove(key)));
            stream.has_begun = false;
            self.discipline.withdrawn(StreamId::new(id));
        }
        begun.sort_by_key(|stored| stored.number);
        (begun.into_iter().map(|stored| stored.message).collect(), unsent)
    }

    /// Takes out what waits on streams of this number on. A message of which part is under way cannot be taken
    /// back: the peer reports its stream as invalid.
    fn drain_unbegun(&mut self, from: u16) -> Vec<Message> {
        let mut drained: Vec<Stored> = Vec::new();
        for id in from..=u16::MAX {
            let Some(stream) = self.streams.get_mut(usize::from(id)) else { break };
            let first = stream.first_unbegun();
            drained.extend(stream.queue.drain(first..).filter_map(|key| self.stored.remove(key)));
            self.announce(StreamId::new(id));
        }
        drained.sort_by_key(|stored| stored.number);
        if let Some(terms) = &mut self.terms {
            let gone = drained.iter().map(|stored| (stored.message.reliability, stored.number));
            gone.for_each(|(reliability, number)| terms.forget_priority(reliability, number));
        }
        self.messages -= drained.len();
        self.payload_bytes -= drained.iter().map(|stored| stored.message.payload.len()).sum::<usize>();
        drained.into_iter().map(|stored| stored.message).collect()
    }

    /// Returns the stream whose turn it is.
    #[inline]
    pub(crate) fn head(&self) -> Option<StreamId> {
        self.unfinished.or_else(|| self.discipline.next())
    }

    /// Tells the discipline anew what a stream has waiting.
    fn announce(&mut self, id: StreamId) {
        self.discipline.withdrawn(id);
        let Some(stream) = self.streams.get(usize::from(id.get())) else { return };
        let mut before = Rest::None;
        let numbers = stream.queue.iter().map(|key| self.stored.number(*key));
        let hold = self.hold.as_deref();
        for number in numbers.take_while(|number| hold.is_none_or(|hold| hold.lets_go(id, *number))) {
            let waiting = WaitingMessage { stream: id, number, share: stream.share };
            self.discipline.queued(waiting, || before);
            before = Rest::Some;
        }
    }

    fn stream_mut(&mut self, stream: StreamId) -> &mut OutStream {
        let index = self.place(stream);
        &mut self.streams[index]
    }

    /// Returns the index of a stream, which exists from now on.
    fn place(&mut self, stream: StreamId) -> usize {
        let index = usize::from(stream.get());
        if self.streams.len() <= index {
            self.grow(index + 1);
        }
        index
    }

    /// Many associations use but one stream.
    #[cold]
    fn grow(&mut self, streams: usize) {
        if self.streams.is_empty() {
            self.streams.reserve_exact(streams);
        }
        self.streams.resize_with(streams, OutStream::default);
    }
}

/// Whether a message of which part was sent may be left unfinished: that takes a peer that knows FORWARD TSN.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unfinished {
    MayBeLeft,
    MustBeFinished,
}

impl Unfinished {
    pub(crate) fn agreed(capabilities: Capabilities) -> Self {
        let skips = capabilities.has(Capability::PartialReliability);
        if skips { Self::MayBeLeft } else { Self::MustBeFinished }
    }
}

/// Deadlines of messages that are gone, kept at least before they are looked for.
const DEADLINES_KEPT: usize = 64;

/// A fragment smaller than this is not worth a chunk header at the end of a packet. A larger one is: packets of one size go
/// to the kernel in one run.
const MIN_FRAGMENT_BYTES: usize = 64;

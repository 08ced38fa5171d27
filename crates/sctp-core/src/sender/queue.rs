//! Messages accepted from the user and not yet in packets.
//!
//! Every stream has a queue of its own, and a [`scheduler`](super::scheduler) chooses between them. A message is
//! cut into fragments only when its turn comes, so that fragments fit the path of that moment. Without interleaving
//! the fragments of a message follow each other (RFC 9260 §6.9); with it a message of another stream may come
//! between (RFC 8260 §2).

use core::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};
use std::sync::Arc;

use bytes::Bytes;
use sctp_wire::{DataFlags, FragmentLabel, Fsn, IData, Mid, PayloadProtocolId, Ssn, StreamId};
use virtual_time::Instant;

use super::abandon::{AbandonedMessages, Terms};
use super::scheduler::{Discipline, Rest, Served, Waiting, discipline};
use crate::association::{Capabilities, Capability};
use crate::config::{StreamScheduler, StreamShare};
use crate::message::{Delivery, Message, Reliability};

/// Unsent messages of all streams.
#[derive(Debug)]
pub(crate) struct SendQueue {
    /// By stream id; grows with the streams used.
    streams: Vec<OutStream>,
    discipline: Box<dyn Discipline>,
    framing: Framing,
    unfinished_messages: Unfinished,
    /// The stream whose message was begun and must be finished first.
    unfinished: Option<StreamId>,
    /// The stream of the packet being filled, where a packet carries one only.
    in_packet: Option<StreamId>,
    accepted: u64,
    messages: usize,
    payload_bytes: usize,
    /// When waiting messages expire. Those that are gone meanwhile are passed over when they come up.
    deadlines: BinaryHeap<Reverse<(Instant, u64, StreamId)>>,
    /// Messages that make room for more important ones: the least important first, of those the oldest.
    displaceable: BTreeMap<(Reverse<u32>, u64), (StreamId, usize)>,
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

    /// Octets of a chunk before its payload.
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
    queue: VecDeque<Queued>,
    /// The message at the head, once part of it has been taken.
    begun: Option<Begun>,
    next: NextMids,
    share: StreamShare,
    /// Only messages up to this number go out (see [`SendQueue::hold`]).
    held_behind: Option<u64>,
    statistics: StreamStatistics,
}

#[derive(Debug)]
struct Queued {
    message: Message,
    number: u64,
    /// When it is given up; not if it was begun and the peer has to get the whole of it.
    deadline: Option<Instant>,
}

/// A message that was taken out before it was sent to its end.
#[derive(Debug)]
pub(crate) struct Removed {
    pub(crate) message: Message,
    pub(crate) number: u64,
    /// Payload octets of it that had not been sent.
    pub(crate) unsent_bytes: usize,
    /// In place of what was not sent, if part of it was: see [`Fragment::end_without_payload`].
    pub(crate) end: Option<Fragment>,
}

/// A message of which fragments have left already.
#[derive(Debug)]
struct Begun {
    mid: Mid,
    next_fsn: Fsn,
    rest: Bytes,
    terms: Option<Arc<Terms>>,
}

/// Message identifiers of a stream; the lower half of that of an ordered message is its SSN.
#[derive(Clone, Copy, Debug, Default)]
struct NextMids {
    ordered: Mid,
    unordered: Mid,
}

/// What one outgoing stream did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StreamStatistics {
    /// Messages accepted from the user.
    pub messages_queued: u64,
    /// Octets of their payload.
    pub octets_queued: u64,
    /// Messages sent to their last fragment; retransmissions do not count.
    pub messages_sent: u64,
    /// Payload octets sent; retransmissions do not count.
    pub octets_sent: u64,
    /// Messages given up (RFC 7496 §4.3).
    pub abandoned: AbandonedMessages,
}

/// What one DATA or I-DATA chunk carries; it keeps this for every retransmission.
#[derive(Clone, Debug)]
pub(crate) struct Fragment {
    pub(crate) stream: StreamId,
    /// The message; its lower half is the SSN where messages do not interleave.
    pub(crate) mid: Mid,
    pub(crate) fsn: Fsn,
    pub(crate) ppid: PayloadProtocolId,
    pub(crate) flags: DataFlags,
    pub(crate) framing: Framing,
    pub(crate) payload: Bytes,
    /// Under which the message may be given up; `None`: never.
    pub(crate) terms: Option<Arc<Terms>>,
    /// With the last fragment of a message: all of it, to be handed back if the association ends before the peer has it.
    pub(crate) whole: Option<Message>,
}

impl Fragment {
    /// Takes the place of what is not sent any more of a message. Its TSN is never sent: it is what a FORWARD TSN
    /// passes over, so that the peer does not wait for the rest.
    fn end_without_payload(stream: StreamId, head: &Message, begun: &Begun, framing: Framing) -> Self {
        let unordered = head.delivery == Delivery::Unordered;
        let flags = DataFlags { immediate: false, unordered, beginning: false, ending: false };
        let (mid, fsn, payload) = (begun.mid, begun.next_fsn, Bytes::new());
        Self { stream, mid, fsn, ppid: head.ppid, flags, framing, payload, terms: None, whole: None }
    }

    /// What an I-DATA chunk has in the place that PPID and FSN share.
    pub(crate) fn label(&self) -> FragmentLabel {
        if self.flags.beginning {
            FragmentLabel::Beginning(self.ppid)
        } else {
            FragmentLabel::Later(self.fsn)
        }
    }

    /// The number of the message where messages do not interleave; unordered ones have none.
    pub(crate) fn ssn(&self) -> Ssn {
        if self.flags.unordered { Ssn::new(0) } else { ssn(self.mid) }
    }
}

/// The SSN of an ordered message: both count the messages of the stream.
pub(crate) fn ssn(mid: Mid) -> Ssn {
    let [_, _, high, low] = mid.get().to_be_bytes();
    Ssn::new(u16::from_be_bytes([high, low]))
}

impl OutStream {
    fn lets_go(&self, queued: &Queued) -> bool {
        self.held_behind.is_none_or(|last| queued.number <= last)
    }

    fn rest(&self) -> Rest {
        if self.queue.front().is_some_and(|front| self.lets_go(front)) { Rest::Some } else { Rest::None }
    }

    /// Octets of the message at the head that have not left yet.
    fn head_bytes(&self) -> Option<usize> {
        let begun = self.begun.as_ref().map(|begun| begun.rest.len());
        begun.or_else(|| self.queue.front().map(|queued| queued.message.payload.len()))
    }

    /// Index of the first message of which nothing was sent.
    fn first_unbegun(&self) -> usize {
        usize::from(self.begun.is_some())
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
            streams: Vec::new(),
            discipline: discipline(scheduler),
            framing: Framing::Data,
            unfinished_messages: Unfinished::MustBeFinished,
            unfinished: None,
            in_packet: None,
            accepted: 0,
            messages: 0,
            payload_bytes: 0,
            deadlines: BinaryHeap::new(),
            displaceable: BTreeMap::new(),
        }
    }

    pub(crate) fn push(&mut self, now: Instant, message: Message) {
        self.payload_bytes += message.payload.len();
        self.messages += 1;
        self.accepted += 1;
        let (id, number) = (message.stream, self.accepted);
        let deadline = self.note_terms(now, &message, number);
        let stream = self.stream_mut(id);
        stream.statistics.messages_queued += 1;
        stream.statistics.octets_queued += message.payload.len() as u64;
        let (before, share, is_held) = (stream.rest(), stream.share, stream.held_behind.is_some());
        stream.queue.push_back(Queued { message, number, deadline });
        if !is_held {
            self.discipline.queued(Waiting { stream: id, number, share }, before);
        }
    }

    fn note_terms(&mut self, now: Instant, message: &Message, number: u64) -> Option<Instant> {
        match message.reliability {
            Reliability::Reliable | Reliability::Retransmissions(_) => None,
            Reliability::Lifetime(lifetime) => {
                let deadline = now + lifetime;
                self.deadlines.push(Reverse((deadline, number, message.stream)));
                Some(deadline)
            }
            Reliability::Priority(priority) => {
                let entry = (message.stream, message.payload.len());
                self.displaceable.insert((Reverse(priority), number), entry);
                None
            }
        }
    }

    /// Whether no message waits, not even in a stream that is held.
    pub(crate) fn is_empty(&self) -> bool {
        self.messages == 0
    }

    /// Whether a fragment could be taken.
    pub(crate) fn has_next(&self) -> bool {
        self.head().is_some()
    }

    /// Payload octets waiting.
    pub(crate) fn payload_bytes(&self) -> usize {
        self.payload_bytes
    }

    /// Payload octets the next fragment would carry, given the room in this packet and in an empty one.
    ///
    /// A message that fits a packet is not cut: it waits for the next one. `None`: nothing to send, or not here.
    pub(crate) fn next_len(&self, room: usize, full_room: usize) -> Option<usize> {
        let head = self.head()?;
        if self.in_packet.is_some_and(|stream| stream != head) {
            return None;
        }
        let rest = self.streams.get(usize::from(head.get()))?.head_bytes()?;
        if rest <= room {
            Some(rest)
        } else if rest > full_room && room >= full_room.min(MIN_FRAGMENT_BYTES) {
            Some(room & !3)
        } else {
            None
        }
    }

    /// Takes `len` octets of the message whose turn it is.
    pub(crate) fn take(&mut self, len: usize) -> Option<Fragment> {
        let id = self.head()?;
        let stream = self.streams.get_mut(usize::from(id.get()))?;
        let head = stream.queue.front()?;
        let (number, beginning, delivery) = (head.number, stream.begun.is_none(), head.message.delivery);
        if let Reliability::Priority(priority) = head.message.reliability
            && beginning
        {
            self.displaceable.remove(&(Reverse(priority), number));
        }
        let terms = (beginning && self.unfinished_messages == Unfinished::MayBeLeft)
            .then(|| Terms::of(&head.message, number, head.deadline));
        let begun = stream.begun.get_or_insert_with(|| Begun {
            mid: stream.next.take(delivery),
            next_fsn: Fsn::new(0),
            rest: head.message.payload.clone(),
            terms: terms.flatten(),
        });
        let payload = begun.rest.split_to(len.min(begun.rest.len()));
        let (mid, fsn, ending) = (begun.mid, begun.next_fsn, begun.rest.is_empty());
        begun.next_fsn = fsn.next();
        let flags =
            DataFlags { immediate: false, unordered: delivery == Delivery::Unordered, beginning, ending };
        let (ppid, framing, terms) = (head.message.ppid, self.framing, begun.terms.clone());
        let mut fragment =
            Fragment { stream: id, mid, fsn, ppid, flags, framing, payload, terms, whole: None };
        stream.statistics.octets_sent += fragment.payload.len() as u64;
        if ending {
            stream.statistics.messages_sent += 1;
            stream.begun = None;
            fragment.whole = stream.queue.pop_front().map(|sent| sent.message);
            self.messages -= 1;
        }
        self.payload_bytes -= fragment.payload.len();
        self.note_served(&fragment, number);
        Some(fragment)
    }

    fn note_served(&mut self, fragment: &Fragment, number: u64) {
        let id = fragment.stream;
        let stream = &self.streams[usize::from(id.get())];
        let ends_message = fragment.flags.ending;
        let ends_turn = ends_message || self.framing == Framing::IData;
        let message = Waiting { stream: id, number, share: stream.share };
        let (octets, rest) = (fragment.payload.len(), stream.rest());
        self.discipline.served(Served { message, octets, ends_message, ends_turn, rest });
        self.unfinished = (!ends_turn).then_some(id);
        if self.discipline.one_stream_per_packet() {
            self.in_packet = Some(id);
        }
    }

    /// A packet is complete: the next chunk begins another one.
    pub(crate) fn end_packet(&mut self) {
        self.in_packet = None;
        self.discipline.packet_ended();
    }

    pub(crate) fn framing(&self) -> Framing {
        self.framing
    }

    /// Whether a message may be given up of which part was sent.
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

    /// What is handed in from now on waits until the stream is released. Held again, it stays where it is.
    pub(crate) fn hold(&mut self, stream: StreamId) {
        let last = self.accepted;
        self.stream_mut(stream).held_behind.get_or_insert(last);
        self.announce(stream);
    }

    /// Messages that waited take their place as of the time they were handed in.
    pub(crate) fn release(&mut self, stream: StreamId) {
        self.stream_mut(stream).held_behind = None;
        self.announce(stream);
    }

    /// Whether part of a message of this stream has left, and part has not.
    fn has_begun(&self, stream: StreamId) -> bool {
        self.streams.get(usize::from(stream.get())).is_some_and(|stream| stream.begun.is_some())
    }

    /// Whether a message of this stream is still to go out, in whole or in part, although the stream is held.
    pub(crate) fn is_under_way(&self, stream: StreamId) -> bool {
        self.streams.get(usize::from(stream.get())).is_some_and(|stream| stream.rest() == Rest::Some)
    }

    /// The next message of the stream is its first again (RFC 6525 §5.2.2, RFC 8260 §2.3.2).
    pub(crate) fn reset(&mut self, stream: StreamId) {
        self.stream_mut(stream).next = NextMids::default();
    }

    /// When the first of the waiting messages expires.
    pub(crate) fn next_expiry(&mut self) -> Option<Instant> {
        while let Some(&Reverse((deadline, number, stream))) = self.deadlines.peek() {
            if self.position(stream, number).is_some() {
                return Some(deadline);
            }
            self.deadlines.pop();
        }
        None
    }

    /// Takes out what has expired (RFC 3758 §4.1 (TR3)); what was begun only if it may be left unfinished.
    pub(crate) fn take_expired(&mut self, now: Instant) -> Vec<Removed> {
        let mut expired = Vec::new();
        while let Some(&Reverse((deadline, number, stream))) = self.deadlines.peek()
            && deadline <= now
        {
            self.deadlines.pop();
            let must_stay = !self.may_leave_unfinished() && self.is_begun(stream, number);
            if !must_stay {
                expired.extend(self.remove(stream, number));
            }
        }
        expired
    }

    /// Takes out messages that are less important than one of this reliability, until so many octets are free, each
    /// message counted with its bookkeeping; none if that is not enough (RFC 7496 §3.2).
    pub(crate) fn displace(&mut self, needed: usize, by: Reliability, overhead: usize) -> Vec<Removed> {
        let priority = match by {
            Reliability::Priority(priority) => Some(priority),
            Reliability::Reliable | Reliability::Lifetime(_) | Reliability::Retransmissions(_) => None,
        };
        let mut freed = 0;
        let mut chosen = Vec::new();
        for (&(Reverse(theirs), number), &(stream, bytes)) in &self.displaceable {
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
    pub(crate) fn remove(&mut self, id: StreamId, number: u64) -> Option<Removed> {
        let index = self.position(id, number)?;
        let stream = &mut self.streams[usize::from(id.get())];
        let Queued { message, .. } = stream.queue.remove(index)?;
        let begun = if index == 0 { stream.begun.take() } else { None };
        let unsent_bytes = begun.as_ref().map_or(message.payload.len(), |begun| begun.rest.len());
        let framing = self.framing;
        let end = begun.as_ref().map(|begun| Fragment::end_without_payload(id, &message, begun, framing));
        let (waiting, rest) = (Waiting { stream: id, number, share: stream.share }, stream.rest());
        if begun.is_some() && self.unfinished == Some(id) {
            self.unfinished = None;
        }
        self.messages -= 1;
        self.payload_bytes -= unsent_bytes;
        self.forget_priority(&message, number);
        self.discipline.removed(waiting, rest);
        Some(Removed { message, number, unsent_bytes, end })
    }

    fn forget_priority(&mut self, message: &Message, number: u64) {
        if let Reliability::Priority(priority) = message.reliability {
            self.displaceable.remove(&(Reverse(priority), number));
        }
    }

    /// Counts a message that was given up.
    pub(crate) fn note_abandoned(&mut self, stream: StreamId, count: impl FnOnce(&mut AbandonedMessages)) {
        count(&mut self.stream_mut(stream).statistics.abandoned);
    }

    fn position(&self, stream: StreamId, number: u64) -> Option<usize> {
        let queue = &self.streams.get(usize::from(stream.get()))?.queue;
        queue.binary_search_by_key(&number, |queued| queued.number).ok()
    }

    fn is_begun(&self, stream: StreamId, number: u64) -> bool {
        self.has_begun(stream) && self.position(stream, number) == Some(0)
    }

    pub(crate) fn stream_statistics(&self, stream: StreamId) -> StreamStatistics {
        self.streams.get(usize::from(stream.get())).map(|stream| stream.statistics).unwrap_or_default()
    }

    /// Takes out what is queued for streams that turned out not to exist, in the order in which it was handed in.
    pub(crate) fn drain_unknown_streams(&mut self, streams: u16) -> Vec<Message> {
        self.drain_unbegun(streams)
    }

    /// Everything that waits, for send-failed events: messages of which part was sent, and all others. Nothing is sent
    /// any more.
    pub(crate) fn drain(&mut self) -> (Vec<Message>, Vec<Message>) {
        let unsent = self.drain_unbegun(0);
        let mut begun = Vec::new();
        (self.messages, self.payload_bytes, self.unfinished) = (0, 0, None);
        for id in 0..=u16::MAX {
            let Some(stream) = self.streams.get_mut(usize::from(id)) else { break };
            begun.extend(stream.queue.drain(..));
            stream.begun = None;
            self.discipline.withdrawn(StreamId::new(id));
        }
        begun.sort_by_key(|queued| queued.number);
        (begun.into_iter().map(|queued| queued.message).collect(), unsent)
    }

    /// From streams of this number on. A message of which part is under way cannot be taken back: the peer reports
    /// its stream as invalid.
    fn drain_unbegun(&mut self, from: u16) -> Vec<Message> {
        let mut drained = Vec::new();
        for id in from..=u16::MAX {
            let Some(stream) = self.streams.get_mut(usize::from(id)) else { break };
            let first = stream.first_unbegun();
            drained.extend(stream.queue.drain(first..));
            self.announce(StreamId::new(id));
        }
        drained.sort_by_key(|queued| queued.number);
        drained.iter().for_each(|queued| self.forget_priority(&queued.message, queued.number));
        self.messages -= drained.len();
        self.payload_bytes -= drained.iter().map(|queued| queued.message.payload.len()).sum::<usize>();
        drained.into_iter().map(|queued| queued.message).collect()
    }

    fn head(&self) -> Option<StreamId> {
        self.unfinished.or_else(|| self.discipline.next())
    }

    /// Tells the discipline anew what a stream has waiting.
    fn announce(&mut self, id: StreamId) {
        self.discipline.withdrawn(id);
        let Some(stream) = self.streams.get(usize::from(id.get())) else { return };
        let mut before = Rest::None;
        for queued in stream.queue.iter().take_while(|queued| stream.lets_go(queued)) {
            let waiting = Waiting { stream: id, number: queued.number, share: stream.share };
            self.discipline.queued(waiting, before);
            before = Rest::Some;
        }
    }

    fn stream_mut(&mut self, stream: StreamId) -> &mut OutStream {
        let index = usize::from(stream.get());
        if self.streams.len() <= index {
            self.streams.resize_with(index + 1, OutStream::default);
        }
        &mut self.streams[index]
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

/// A fragment smaller than this is not worth a chunk header at the end of a packet.
const MIN_FRAGMENT_BYTES: usize = 256;

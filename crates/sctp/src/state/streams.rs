//! Messages sorted by stream, for associations whose streams have handles.
//!
//! Once a stream of an association has been taken, its messages leave the core as soon as they are ready and wait here:
//! those of taken streams in a queue each, all others in one. They count against the receive window until
//! somebody reads them. Associations without such handles have no table, and nothing of this is done for them.

use std::collections::{BTreeMap, VecDeque};
use std::task::Waker;

use bytes::Bytes;
use sctp_core::{AssociationId, Received, StreamId};
use virtual_time::Instant;

use super::{CoreChanged, State};
use crate::error::{StreamReadError, TakeStreamError};

/// The messages of one association that wait for their readers.
#[derive(Debug, Default)]
pub(crate) struct StreamTable {
    taken: BTreeMap<StreamId, Taker>,
    readers: BTreeMap<ReaderId, Queue>,
    /// Messages of streams that nobody has taken, in the order of their arrival.
    others: VecDeque<Received>,
    /// The tasks that wait for room in the send buffer.
    writers: Vec<Waker>,
    numbers: u64,
    /// Messages between the core and their queues; kept for its memory.
    batch: Vec<Received>,
}

/// The number of a reader within its association: a stream that was reset may have a new one while the old one still reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ReaderId(u64);

/// The receiver of what comes on a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Taker {
    Reader(ReaderId),
    /// Nobody: it is thrown away.
    Nobody,
}

/// The messages of one stream that wait for its reader.
#[derive(Debug)]
struct Queue {
    stream: StreamId,
    messages: VecDeque<Received>,
    unread_bytes: usize,
    /// More unread octets than this cut the reader off.
    limit: Option<usize>,
    /// The task that waits for the next message.
    waker: Option<Waker>,
    /// The reason why nothing comes behind what is there.
    end: Option<StreamEnd>,
}

/// The reason why nothing more comes on a stream of an association that goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StreamEnd {
    /// The peer has reset it.
    Reset,
    /// The peer has lost its state.
    Restarted,
    /// More was unread than its reader wanted to be kept.
    Overrun,
}

/// Messages that are read or thrown away: their room in the window is free.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Freed {
    messages: usize,
    bytes: usize,
}

/// The outcome of looking into a queue: a message, the end, or nothing yet.
pub(crate) type Found = Option<Result<Option<Received>, StreamReadError>>;

impl State {
    /// Takes a stream, for one reader.
    pub(crate) fn take_stream(
        &mut self,
        now: Instant,
        id: AssociationId,
        stream: StreamId,
    ) -> Result<ReaderId, TakeStreamError> {
        let table = self.streams.entry(id).or_default();
        if let Some(Taker::Reader(_)) = table.taken.get(&stream) {
            return Err(TakeStreamError::Taken(stream));
        }
        let reader = table.take(stream);
        self.sort(now, id);
        Ok(reader)
    }

    /// Takes the stream of the oldest message that nobody has a handle for.
    pub(crate) fn take_next_stream(
        &mut self,
        now: Instant,
        id: AssociationId,
    ) -> Option<(StreamId, ReaderId)> {
        self.streams.entry(id).or_default();
        self.sort(now, id);
        let table = self.streams.get_mut(&id)?;
        let stream = table.others.front()?.message.stream;
        Some((stream, table.take(stream)))
    }

    /// Moves messages from the core to the queues of their streams.
    pub(super) fn sort(&mut self, now: Instant, id: AssociationId) -> CoreChanged {
        let Some(table) = self.streams.get_mut(&id) else { return CoreChanged::No };
        if self.core.take_unread(now, id, usize::MAX, &mut table.batch) == 0 {
            return CoreChanged::No;
        }
        let freed = table.sort();
        if !table.others.is_empty()
            && let Some(slot) = self.slots.get(&id)
        {
            slot.signals.readable.notify_waiters();
        }
        self.free(now, id, freed)
    }

    /// Returns the next message of an association that is not for the reader of a stream.
    pub(crate) fn receive(&mut self, now: Instant, id: AssociationId) -> Option<Received> {
        if !self.streams.contains_key(&id) {
            return self.core.receive(now, id);
        }
        self.sort(now, id);
        let received = self.streams.get_mut(&id)?.others.pop_front()?;
        self.free(now, id, Freed::of(&received));
        Some(received)
    }

    /// Appends up to `limit` of them; returns how many there were.
    pub(crate) fn receive_many(
        &mut self,
        now: Instant,
        id: AssociationId,
        limit: usize,
        received: &mut Vec<Received>,
    ) -> usize {
        if !self.streams.contains_key(&id) {
            return self.core.receive_many(now, id, limit, received);
        }
        let before = received.len();
        received.extend(std::iter::from_fn(|| self.receive(now, id)).take(limit));
        received.len() - before
    }

    /// Returns whether [`receive`](Self::receive) would give a message.
    pub(crate) fn has_message(&self, id: AssociationId) -> bool {
        self.core.has_message(id) || self.streams.get(&id).is_some_and(|table| !table.others.is_empty())
    }

    /// Returns what a reader finds. Who finds nothing and has a waker is woken up when that changes.
    pub(crate) fn read(
        &mut self,
        now: Instant,
        id: AssociationId,
        reader: ReaderId,
        waker: Option<&Waker>,
    ) -> Found {
        let queue = self.streams.get_mut(&id)?.readers.get_mut(&reader)?;
        if let Some(received) = queue.pop() {
            self.free(now, id, Freed::of(&received));
            return Some(Ok(Some(received)));
        }
        let end = queue.end.map(|end| match end {
            StreamEnd::Reset => Ok(None),
            StreamEnd::Restarted => Err(StreamReadError::PeerRestarted),
            StreamEnd::Overrun => Err(StreamReadError::Overrun { limit: queue.limit.unwrap_or_default() }),
        });
        let ending = || self.slots.get(&id)?.ending().cloned();
        let found = end.or_else(|| Some(ending()?.map(|()| None).map_err(StreamReadError::Lost)));
        if found.is_none()
            && let Some(waker) = waker
        {
            queue.waker = Some(waker.clone());
        }
        found
    }

    /// Says how much may be unread on a stream before its reader is cut off.
    pub(crate) fn limit_unread(&mut self, id: AssociationId, reader: ReaderId, limit: Option<usize>) {
        let table = self.streams.get_mut(&id);
        if let Some(queue) = table.and_then(|table| table.readers.get_mut(&reader)) {
            queue.limit = limit;
        }
    }

    /// Returns why nothing more comes on a reader's stream, if the association goes on.
    pub(crate) fn stream_end(&self, id: AssociationId, reader: ReaderId) -> Option<StreamEnd> {
        self.streams.get(&id)?.readers.get(&reader)?.end
    }

    /// A reader is gone. What it has not read, and what comes, is for others, unless it is to be thrown away.
    pub(crate) fn give_back(&mut self, now: Instant, id: AssociationId, reader: ReaderId, unread: Remains) {
        let Some(table) = self.streams.get_mut(&id) else { return };
        let freed = table.give_back(reader, unread);
        if !table.others.is_empty()
            && let Some(slot) = self.slots.get(&id)
        {
            slot.signals.readable.notify_waiters();
        }
        self.free(now, id, freed);
    }

    /// The streams listed begin anew, all if none is: their readers get what is there, and nothing more.
    pub(super) fn end_streams(
        &mut self,
        now: Instant,
        id: AssociationId,
        streams: &[StreamId],
        end: StreamEnd,
    ) {
        // A peer sends again on what it has reset once it has our answer, which is still to leave. One that restarted may
        // have sent at once.
        if end == StreamEnd::Reset {
            self.sort(now, id);
        }
        if let Some(table) = self.streams.get_mut(&id) {
            table.end(streams, end);
        }
        self.sort(now, id);
    }

    /// A writer is to be woken up when there may be room in the send buffer.
    pub(crate) fn await_room(&mut self, id: AssociationId, waker: &Waker) {
        if let Some(table) = self.streams.get_mut(&id)
            && !table.writers.iter().any(|writer| writer.will_wake(waker))
        {
            table.writers.push(waker.clone());
        }
    }

    /// There is room in the send buffer, or never will be.
    pub(super) fn wake_writers(&mut self, id: AssociationId) {
        if let Some(table) = self.streams.get_mut(&id) {
            table.writers.drain(..).for_each(Waker::wake);
        }
    }

    /// The association ended: whatever the users of streams wait for, it will not come.
    pub(super) fn wake_streams(&mut self, id: AssociationId) {
        self.wake_writers(id);
        let Some(table) = self.streams.get_mut(&id) else { return };
        table.readers.values_mut().for_each(Queue::wake);
    }

    /// Nobody has a handle of the association any more: what waits here is thrown away.
    pub(super) fn forget_streams(&mut self, now: Instant, id: AssociationId) {
        if self.streams.remove(&id).is_some() {
            self.core.mark_read(now, id, usize::MAX, usize::MAX);
        }
    }

    fn free(&mut self, now: Instant, id: AssociationId, freed: Freed) -> CoreChanged {
        if freed.messages == 0 {
            return CoreChanged::No;
        }
        self.core.mark_read(now, id, freed.messages, freed.bytes);
        CoreChanged::Yes
    }
}

impl StreamTable {
    fn take(&mut self, stream: StreamId) -> ReaderId {
        self.numbers += 1;
        let reader = ReaderId(self.numbers);
        let mut queue = Queue::new(stream);
        let (own, others) = std::mem::take(&mut self.others)
            .into_iter()
            .partition(|received: &Received| received.message.stream == stream);
        self.others = others;
        VecDeque::into_iter(own).for_each(|received| queue.push(received));
        self.readers.insert(reader, queue);
        self.taken.insert(stream, Taker::Reader(reader));
        reader
    }

    /// Puts each message of the batch where it belongs. Returns what nobody wants.
    fn sort(&mut self) -> Freed {
        let mut freed = Freed::default();
        for received in self.batch.drain(..) {
            match self.taken.get(&received.message.stream) {
                None => self.others.push_back(received),
                Some(Taker::Nobody) => freed.add(&received),
                Some(Taker::Reader(reader)) => {
                    if let Some(refused) =
                        self.readers.get_mut(reader).and_then(|queue| queue.offer(received))
                    {
                        freed.add(&refused);
                    }
                }
            }
        }
        freed
    }

    fn end(&mut self, streams: &[StreamId], end: StreamEnd) {
        let begins_anew = |stream: &StreamId| streams.is_empty() || streams.contains(stream);
        self.taken.retain(|stream, _| !begins_anew(stream));
        for queue in self.readers.values_mut().filter(|queue| begins_anew(&queue.stream)) {
            queue.end.get_or_insert(end);
            queue.wake();
        }
    }

    fn give_back(&mut self, reader: ReaderId, unread: Remains) -> Freed {
        let Some(queue) = self.readers.remove(&reader) else { return Freed::default() };
        let is_current = self.taken.get(&queue.stream) == Some(&Taker::Reader(reader));
        if is_current {
            match unread {
                Remains::ForOthers => drop(self.taken.remove(&queue.stream)),
                Remains::ForNobody => drop(self.taken.insert(queue.stream, Taker::Nobody)),
            }
        }
        if is_current && queue.end.is_none() && unread == Remains::ForOthers {
            self.others.extend(queue.messages);
            return Freed::default();
        }
        Freed { messages: queue.messages.len(), bytes: queue.unread_bytes }
    }
}

impl Queue {
    fn new(stream: StreamId) -> Self {
        Self { stream, messages: VecDeque::new(), unread_bytes: 0, limit: None, waker: None, end: None }
    }

    /// Takes a message, unless the reader is cut off: then it comes back.
    fn offer(&mut self, received: Received) -> Option<Received> {
        let bytes = self.unread_bytes + received.message.payload.len();
        if !self.messages.is_empty() && self.limit.is_some_and(|limit| bytes > limit) {
            self.end.get_or_insert(StreamEnd::Overrun);
        }
        if self.end.is_some() {
            self.wake();
            return Some(received);
        }
        self.push(received);
        self.wake();
        None
    }

    fn push(&mut self, mut received: Received) {
        // Who is behind must not keep the blocks that its messages share with others.
        if self.unread_bytes >= BEHIND_BYTES {
            received.message.payload = Bytes::copy_from_slice(&received.message.payload);
        }
        self.unread_bytes += received.message.payload.len();
        self.messages.push_back(received);
    }

    fn pop(&mut self) -> Option<Received> {
        let received = self.messages.pop_front()?;
        self.unread_bytes -= received.message.payload.len();
        Some(received)
    }

    fn wake(&mut self) {
        if let Some(waker) = self.waker.take() {
            waker.wake();
        }
    }
}

impl Freed {
    fn of(received: &Received) -> Self {
        Self { messages: 1, bytes: received.message.payload.len() }
    }

    fn add(&mut self, received: &Received) {
        self.messages += 1;
        self.bytes += received.message.payload.len();
    }
}

/// The destiny of what a reader leaves unread, and of what comes for it afterwards.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Remains {
    ForOthers,
    ForNobody,
}

/// Unread octets from which on a message of a stream gets memory of its own.
const BEHIND_BYTES: usize = 16 << 10;

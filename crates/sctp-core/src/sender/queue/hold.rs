//! Streams of which nothing new goes out until their peer has agreed to a reset (RFC 6525 §5.1.2 (A1)).
//!
//! A hold is one number and a set of streams: neither holding nor releasing touches what waits elsewhere. One exists at a
//! time, as there is one request at a time (§5.1.1).

use std::collections::BTreeSet;

use sctp_wire::{StreamId, Tsn};

use super::{Messages, OutStream, SendQueue};
use crate::sender::scheduler::{Rest, WaitingMessage};
use crate::steps::step;
use crate::stream_set::StreamSet;

/// The streams whose new messages are held back.
#[derive(Debug)]
pub(super) struct Hold {
    streams: StreamSet,
    /// Messages up to this number still go out.
    behind: u64,
    /// The streams for which messages wait because of it.
    waiting: BTreeSet<StreamId>,
    /// The number of streams, in their order, that have nothing left to go out. Once so, a stream stays so.
    emptied: usize,
    /// The last chunk that was sent of the streams, once nothing more of them goes out.
    last_tsn: Option<Tsn>,
}

impl Hold {
    pub(super) fn lets_go(&self, stream: StreamId, number: u64) -> bool {
        number <= self.behind || !self.streams.contains(stream)
    }

    /// Returns whether a message waits that is handed in now.
    pub(super) fn keeps_new(&mut self, stream: StreamId) -> bool {
        let is_held = self.streams.contains(stream);
        if is_held {
            self.waiting.insert(stream);
        }
        is_held
    }
}

impl SendQueue {
    /// Holds back what is handed in from now on for these streams.
    pub(crate) fn hold(&mut self, streams: StreamSet) {
        self.release();
        let behind = self.accepted;
        let hold = Hold { streams, behind, waiting: BTreeSet::new(), emptied: 0, last_tsn: None };
        self.hold = Some(Box::new(hold));
    }

    /// Lets what was held go on. Messages that waited take their place as of the time they were handed in.
    pub(crate) fn release(&mut self) {
        let Some(hold) = self.hold.take() else { return };
        let mut released: Vec<(WaitingMessage, Rest)> = Vec::new();
        for id in hold.waiting {
            let Some(stream) = self.streams.get(usize::from(id.get())) else { continue };
            released.extend(stream.waiting_behind(hold.behind, id, &self.stored));
        }
        released.sort_unstable_by_key(|(message, _)| message.number);
        self.discipline.released(&released);
    }

    /// Returns whether all that was handed in before for the held streams has left in chunks; for want of such,
    /// all there is.
    pub(crate) fn has_left(&mut self) -> bool {
        let Some(hold) = self.hold.as_deref() else { return self.is_empty() };
        let listed = hold.streams.listed();
        let count = if hold.streams.is_all() { self.streams.len() } else { listed.len() };
        let mut emptied = hold.emptied;
        while emptied < count {
            step();
            let index = listed.get(emptied).map_or(emptied, |stream| usize::from(stream.get()));
            let stream = self.streams.get(index);
            let front = stream.and_then(|stream| stream.front_number(&self.stored));
            if front.is_some_and(|number| number <= hold.behind) {
                break;
            }
            emptied += 1;
        }
        if let Some(hold) = self.hold.as_deref_mut() {
            hold.emptied = emptied;
        }
        emptied == count
    }

    /// Returns the last chunk that was sent of the held streams, to be found once when nothing more of them
    /// goes out; `None` if none are held.
    pub(crate) fn last_tsn_of_held(&mut self, find: impl FnOnce(&StreamSet) -> Tsn) -> Option<Tsn> {
        let hold = self.hold.as_deref_mut()?;
        let found = hold.last_tsn.unwrap_or_else(|| find(&hold.streams));
        hold.last_tsn = Some(found);
        Some(found)
    }

    /// The next message of these streams is their first again (RFC 6525 §5.2.2, RFC 8260 §2.3.2).
    pub(crate) fn reset(&mut self, streams: &StreamSet) {
        if streams.is_all() {
            self.round = self.round.wrapping_add(1);
        }
        for stream in streams.listed() {
            step();
            if let Some(stream) = self.streams.get_mut(usize::from(stream.get())) {
                stream.next = super::NextMids::default();
            }
        }
    }
}

impl OutStream {
    fn front_number(&self, stored: &Messages) -> Option<u64> {
        self.queue.front().map(|key| stored.number(*key))
    }

    /// Returns the messages with a higher number, and for each whether it is the first of the stream.
    fn waiting_behind(
        &self,
        behind: u64,
        id: StreamId,
        stored: &Messages,
    ) -> impl Iterator<Item = (WaitingMessage, Rest)> {
        let first = self.queue.partition_point(|key| stored.number(*key) <= behind);
        self.queue.range(first..).enumerate().map(move |(index, key)| {
            step();
            let message = WaitingMessage { stream: id, number: stored.number(*key), share: self.share };
            (message, if first + index == 0 { Rest::None } else { Rest::Some })
        })
    }
}

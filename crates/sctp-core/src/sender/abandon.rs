//! Giving messages up (RFC 3758, RFC 7496): expired, sent too often, displaced.
//!
//! A message in the queue is simply taken out. One of which part was sent is given up only when a chunk of it would
//! have to be sent again, or its rest for the first time: what is in flight may arrive, and if it is lost the
//! congestion window has to hear of it first (RFC 3758 §3.5 (F5)).

use virtual_time::Instant;

use super::Sender;
use super::buffer::DISPLACED_BYTES;
use super::messages::MessageKey;
use super::outstanding::Tries;
use super::queue::RemovedMessage;
use super::sent_chunk::{ChunkState, SentChunk};
use crate::error::{AssociationError, SendFailure};
use crate::message::{Message, Reliability};
use crate::stats::AbandonedMessages;
use crate::transmit::PathIndex;

/// A message that is not sent any more.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Failed {
    pub(crate) message: Message,
    pub(crate) was_sent: bool,
    pub(crate) reason: SendFailure,
}

/// The messages that were given up, and what follows.
#[derive(Debug, Default)]
pub(crate) struct Abandonment {
    pub(crate) failed: Vec<Failed>,
    pub(crate) buffer_available: bool,
}

impl AbandonedMessages {
    fn count(&mut self, failed: &Failed) {
        let policy = match failed.reason {
            SendFailure::LifetimeExpired => &mut self.lifetime,
            SendFailure::RetransmissionsExceeded => &mut self.retransmissions,
            SendFailure::Displaced => &mut self.priority,
            SendFailure::Association(_) => return,
        };
        if failed.was_sent {
            policy.sent += 1;
        } else {
            policy.unsent += 1;
        }
    }
}

impl Sender {
    /// Gives up what has to be by now: before anything is sent, and after anything was found lost.
    pub(crate) fn abandon_due(&mut self, now: Instant) -> Abandonment {
        let mut abandonment = Abandonment::default();
        if !self.options.gives_up {
            return abandonment;
        }
        for removed in self.queue.take_expired(now) {
            self.give_up(now, removed, SendFailure::LifetimeExpired, &mut abandonment);
        }
        self.abandon_lost(now, &mut abandonment);
        if !abandonment.failed.is_empty() {
            self.forget_samples();
            self.advance_peer_ack_point();
            abandonment.buffer_available = self.release(0);
        }
        abandonment
    }

    /// Returns everything that the peer has not acknowledged, what was sent first, because the association is
    /// over. Bounded by the send buffer.
    pub(crate) fn fail_all(&mut self, error: &AssociationError) -> Vec<Failed> {
        let (begun, unsent) = self.queue.drain();
        let unacknowledged = self.outstanding.unacknowledged();
        let mut sent: Vec<Message> =
            unacknowledged.into_iter().filter_map(|key| self.queue.forget(key)).collect();
        sent.extend(begun);
        let undelivered = &mut self.statistics.note().undelivered;
        undelivered.sent += sent.len() as u64;
        undelivered.unsent += unsent.len() as u64;
        let failed = |was_sent| move |message| Failed { message, was_sent, reason: error.clone().into() };
        sent.into_iter().map(failed(true)).chain(unsent.into_iter().map(failed(false))).collect()
    }

    /// Returns whether any message was handed in that may be given up.
    pub(crate) fn gives_up(&self) -> bool {
        self.options.gives_up
    }

    /// Returns when a waiting message expires.
    pub(crate) fn next_expiry(&mut self) -> Option<Instant> {
        self.queue.next_expiry()
    }

    /// Makes room in the buffer at the cost of less important messages.
    pub(super) fn displace(&mut self, now: Instant, needed: usize, by: Reliability) -> Vec<Failed> {
        let mut abandonment = Abandonment::default();
        for removed in self.queue.displace(needed, by, DISPLACED_BYTES) {
            self.give_up(now, removed, SendFailure::Displaced, &mut abandonment);
        }
        abandonment.failed
    }

    /// Forgets the round trips of what was given up, which gives none.
    fn forget_samples(&mut self) {
        let outstanding = &self.outstanding;
        let is_abandoned = |tsn| {
            let chunk = outstanding.index_of(tsn).and_then(|index| outstanding.get(index));
            chunk.is_some_and(|chunk| chunk.state == ChunkState::Abandoned)
        };
        self.rtt_samples.iter_mut().for_each(|sample| sample.forget_if(is_abandoned));
    }

    /// Chunks that wait for a retransmission they do not get, with all of their messages (RFC 3758 §3.5 (A3)).
    fn abandon_lost(&mut self, now: Instant, abandonment: &mut Abandonment) {
        if !self.outstanding.has_lost() || !self.queue.may_leave_unfinished() {
            return;
        }
        let lost = self.outstanding.iter().filter(|(_, chunk)| chunk.state.is_lost());
        let due = lost.filter(|(_, chunk)| !self.may_be_resent(now, chunk));
        let mut keys: Vec<MessageKey> = due.map(|(_, chunk)| chunk.fragment.message).collect();
        keys.sort_by_key(|key| self.queue.messages().number(*key));
        keys.dedup();
        for &key in &keys {
            let Some(stored) = self.queue.messages().get(key) else { continue };
            let (stream, number) = (stored.message.stream, stored.number);
            let reason = match stored.message.reliability {
                Reliability::Lifetime(_) => SendFailure::LifetimeExpired,
                Reliability::Reliable | Reliability::Retransmissions(_) | Reliability::Priority(_) => {
                    SendFailure::RetransmissionsExceeded
                }
            };
            match self.queue.remove(stream, number) {
                Some(removed) => self.give_up(now, removed, reason, abandonment),
                None => {
                    if let Some(message) = self.queue.forget(key) {
                        self.fail(message, true, reason, abandonment);
                    }
                }
            }
        }
        keys.sort();
        if !keys.is_empty() {
            self.buffer.release(self.outstanding.abandon(&keys));
        }
    }

    /// Returns whether a chunk may be sent once more under the terms of its message.
    pub(super) fn may_be_resent(&self, now: Instant, chunk: &SentChunk) -> bool {
        let stored = self.queue.messages().get(chunk.fragment.message);
        stored.is_none_or(|stored| stored.allows(now, u32::from(chunk.transmissions)))
    }

    /// Returns the tries that are left to a chunk that has just been sent so often.
    #[inline]
    pub(super) fn tries_left(&self, now: Instant, message: MessageKey, transmissions: u32) -> Tries {
        if !self.options.gives_up {
            return Tries::More;
        }
        let stored = self.queue.messages().get(message);
        let is_allowed = stored.is_none_or(|stored| stored.allows(now, transmissions));
        if is_allowed { Tries::More } else { Tries::Last }
    }

    /// A message that was taken out of the queue, and what was sent of it.
    fn give_up(
        &mut self,
        now: Instant,
        removed: RemovedMessage,
        reason: SendFailure,
        into: &mut Abandonment,
    ) {
        let RemovedMessage { message, key, unsent_bytes, end } = removed;
        let was_sent = end.is_some();
        self.buffer.release(unsent_bytes);
        if let Some(end) = end {
            self.buffer.release(self.outstanding.abandon(&[key]));
            self.outstanding.push_abandoned(now, PathIndex::FIRST, end);
        }
        self.fail(message, was_sent, reason, into);
    }

    fn fail(&mut self, message: Message, was_sent: bool, reason: SendFailure, into: &mut Abandonment) {
        let failed = Failed { message, was_sent, reason };
        self.statistics.note().abandoned.count(&failed);
        self.queue.note_abandoned(failed.message.stream, |abandoned| abandoned.count(&failed));
        into.failed.push(failed);
    }
}

//! An association as the application uses it: messages in, messages out, a defined end.
//! What is changed on a running one is in `changes`, what one knows of itself in `status`, several messages at once are in
//! `batch`, handles of single streams in `stream`.

mod batch;
mod changes;
mod status;
mod stream;

use std::sync::Arc;

use core::num::NonZeroU16;

use sctp_core::{AssociationId, Event, Message, PathId, Received, SetPrimaryError, StreamError, StreamId};
use virtual_time::Instant;

pub use self::stream::{Stream, StreamReader, StreamWriter};
use crate::error::{CommunicationLost, SendError};
use crate::shared::{Shared, until};
use crate::slot::{Ending, Phase, Signals};
use crate::state::State;

/// An SCTP association: reliable messages on independent streams between two endpoints.
///
/// Cheap to clone, usable from any task or thread; all clones are the same association. Tasks may send and receive
/// at the same time.
///
/// When the last handle is dropped, a graceful shutdown begins in the background: what was sent is still
/// delivered, what the peer sends is discarded. Use [`shutdown`](Self::shutdown) to learn how it went,
/// [`abort`](Self::abort) to end it at once. A peer that takes nothing is given up after five times RTO.Max, or when
/// [`Endpoint::abort`](crate::Endpoint::abort) is called.
#[derive(Clone)]
pub struct Association {
    inner: Arc<AssociationInner>,
}

struct AssociationInner {
    shared: Arc<Shared>,
    id: AssociationId,
    signals: Arc<Signals>,
}

impl Association {
    pub(crate) fn new(shared: Arc<Shared>, id: AssociationId, signals: Arc<Signals>) -> Self {
        Self { inner: Arc::new(AssociationInner { shared, id, signals }) }
    }

    /// Returns the association's number within its endpoint: short, for logs, and what events
    /// ([`trace`](sctp_core::trace)) tell it apart by.
    #[must_use]
    pub fn id(&self) -> AssociationId {
        self.inner.id
    }

    /// Sends a message, waiting while the send buffer is full.
    ///
    /// Returns as soon as the message is queued; where the congestion and receive windows allow, it has then left
    /// already. What was [received](sctp_core::ReceivedMessage) can be sent back or on as it is. Cancellation-safe: a future
    /// dropped before it completed has queued nothing.
    ///
    /// # Errors
    ///
    /// See [`SendError`]; never `BufferFull`.
    pub async fn send(&self, message: impl Into<Message>) -> Result<(), SendError> {
        self.send_from(&mut Some(message.into())).await
    }

    /// Sends a message that stays where it is until there is room.
    pub(crate) async fn send_from(&self, waiting: &mut Option<Message>) -> Result<(), SendError> {
        until(&self.inner.signals.writable, || match self.try_send(waiting.take()?) {
            Err(SendError::BufferFull(message)) => {
                *waiting = Some(message);
                None
            }
            outcome => Some(outcome),
        })
        .await
    }

    /// Sends a message if the send buffer has room for it now.
    ///
    /// # Errors
    ///
    /// See [`SendError`]; `BufferFull` hands the message back.
    pub fn try_send(&self, message: impl Into<Message>) -> Result<(), SendError> {
        self.inner.shared.send(|state, now| self.queue(state, now, message.into()))
    }

    /// Hands a message to the core; sending is the caller's to bring about.
    fn queue(&self, state: &mut State, now: Instant, message: Message) -> Result<(), SendError> {
        state.note_queued(message.payload.len());
        state.core.send(now, self.inner.id, message).map_err(|error| self.send_error(state, error))
    }

    /// Returns why the core refused a message, in the words of users.
    fn send_error(&self, state: &State, error: sctp_core::SendError) -> SendError {
        use sctp_core::SendError as Core;
        match (error, self.ending(state)) {
            (_, Some(Err(lost))) => SendError::Lost(lost),
            (_, Some(Ok(()))) | (Core::ShuttingDown | Core::UnknownAssociation(_), None) => {
                SendError::ShuttingDown
            }
            (Core::BufferFull(message), None) => SendError::BufferFull(message),
            (Core::UnknownStream { stream, negotiated }, None) => {
                SendError::UnknownStream { stream, negotiated }
            }
            (Core::TooLong { bytes, limit }, None) => SendError::TooLong { bytes, limit },
            (Core::Empty, None) => SendError::Empty,
        }
    }

    /// Returns the next message; `None` after the peer and this side agreed to end and everything was read.
    ///
    /// Messages of one stream come in the order they were sent (unless sent unordered), messages of different
    /// streams as they arrive. Where partial delivery is switched on it may be a piece of one
    /// ([`Received::piece`]). Streams that somebody has taken as [`Stream`] are not among them. Cancellation-safe: a future dropped before it completed has taken nothing.
    ///
    /// # Errors
    ///
    /// If the association ended otherwise. What had arrived before is handed out first.
    pub async fn recv(&self) -> Result<Option<Received>, CommunicationLost> {
        until(&self.inner.signals.readable, || {
            self.inner.shared.attempt(
                |state| self.has_news(state),
                |state, now| match state.receive(now, self.inner.id) {
                    Some(received) => Some(Ok(Some(received))),
                    None => self.ending(state).map(|ending| ending.map(|()| None)),
                },
            )
        })
        .await
    }

    /// Returns the next message if one is there already, of a stream that nobody has taken.
    #[must_use]
    pub fn try_recv(&self) -> Option<Received> {
        let id = self.inner.id;
        self.inner.shared.attempt(|state| state.has_message(id), |state, now| state.receive(now, id))
    }

    /// Returns the next event of the association other than a message: paths up and down, errors the peer reported,
    /// restart, messages that could not be sent, the end. `None` after the last.
    ///
    /// Events wait here until they are asked for, within
    /// [`buffers.events`](crate::Buffers::events) of the association's configuration: what the association became (up, begun
    /// anew, ending, over) always, of all else the newest. Who never asks loses older ones, which
    /// [`statistics`](Self::statistics) count, and nothing else: events hold up neither data nor the peer. Kinds that
    /// nobody needs can be [left out](crate::EventMask), as [`Event::SenderDry`] is by default. Cancellation-safe.
    pub async fn next_event(&self) -> Option<Event> {
        until(&self.inner.signals.event, || {
            let mut state = self.inner.shared.lock();
            let slot = state.slots.get_mut(&self.inner.id)?;
            slot.events.pop().map(Some).or_else(|| slot.ending().map(|_| None))
        })
        .await
    }

    /// Ends the association gracefully and waits for it: everything sent is delivered and acknowledged first
    /// (RFC 9260 §9.2).
    ///
    /// From here on nothing can be sent; what the peer still sends can be received, during and after. A peer with much
    /// to send needs somebody to receive it. Dropping the future does not stop the shutdown.
    ///
    /// # Errors
    ///
    /// If the association ended otherwise, so that messages may not have arrived.
    pub async fn shutdown(&self) -> Result<(), CommunicationLost> {
        let AssociationInner { shared, id, .. } = &*self.inner;
        // An error only says that the association is over already.
        let _ = shared.change(|state, now| state.core.shutdown(now, *id));
        self.closed().await
    }

    /// Ends the association at once; the peer is told `reason`, what is queued is lost (RFC 9260 §9.1).
    pub fn abort(&self, reason: &[u8]) {
        let AssociationInner { shared, id, .. } = &*self.inner;
        // An error only says that the association is over already.
        let _ = shared.change(|state, now| state.core.abort(now, *id, reason));
    }

    /// Waits for the end of the association, whoever brings it about.
    ///
    /// # Errors
    ///
    /// Why it ended, if not by agreement.
    pub async fn closed(&self) -> Result<(), CommunicationLost> {
        let AssociationInner { shared, signals, .. } = &*self.inner;
        until(&signals.phase, || self.ending(&shared.lock())).await
    }

    /// Makes a path the primary one: data goes there while it is active (RFC 9260 §6.4). Paths and their addresses are
    /// in [`statistics`](Self::statistics).
    ///
    /// # Errors
    ///
    /// There is no such path, its address is not confirmed yet, or the association is over.
    pub fn set_primary(&self, path: PathId) -> Result<(), SetPrimaryError> {
        let AssociationInner { shared, id, .. } = &*self.inner;
        shared.change(|state, now| state.core.set_primary(now, *id, path))
    }

    /// Sets the priority of a stream: under [`StreamScheduler::Priority`](crate::StreamScheduler::Priority)
    /// streams with smaller numbers go first; see [`sctp_core::Endpoint::set_stream_priority`].
    ///
    /// # Errors
    ///
    /// There is no such stream, or the association is over.
    pub fn set_stream_priority(&self, stream: StreamId, priority: u16) -> Result<(), StreamError> {
        let AssociationInner { shared, id, .. } = &*self.inner;
        shared.change(|state, _now| state.core.set_stream_priority(*id, stream, priority))
    }

    /// Sets the weight of a stream: under
    /// [`StreamScheduler::WeightedFair`](crate::StreamScheduler::WeightedFair) streams share by their weights;
    /// see [`sctp_core::Endpoint::set_stream_weight`].
    ///
    /// # Errors
    ///
    /// There is no such stream, or the association is over.
    pub fn set_stream_weight(&self, stream: StreamId, weight: NonZeroU16) -> Result<(), StreamError> {
        let AssociationInner { shared, id, .. } = &*self.inner;
        shared.change(|state, _now| state.core.set_stream_weight(*id, stream, weight))
    }

    /// Waits until the association is established.
    pub(crate) async fn established(&self) -> Result<(), CommunicationLost> {
        let AssociationInner { shared, id, signals } = &*self.inner;
        until(&signals.phase, || match &shared.lock().slots.get(id)?.phase {
            Phase::Connecting => None,
            Phase::Established | Phase::Ended(Ok(())) => Some(Ok(())),
            Phase::Ended(Err(lost)) => Some(Err(lost.clone())),
        })
        .await
    }

    /// Returns the signal that there may be a message to receive.
    #[cfg(all(test, shuttle))]
    pub(crate) fn readable(&self) -> &crate::surroundings::Notify {
        &self.inner.signals.readable
    }

    /// Returns whether a reader is to be told something: a message, or that none will come any more.
    fn has_news(&self, state: &State) -> bool {
        state.has_message(self.inner.id) || self.ending(state).is_some()
    }

    /// Returns the length of the longest message that can be sent, in octets.
    fn message_limit(&self) -> usize {
        let state = self.inner.shared.lock();
        state.core.association(self.inner.id).map_or(1, |core| core.config().buffers.message_bytes)
    }

    fn ending(&self, state: &State) -> Option<Ending> {
        state.slots.get(&self.inner.id).and_then(|slot| slot.ending().cloned())
    }
}

impl Drop for AssociationInner {
    fn drop(&mut self) {
        self.shared.release(self.id);
    }
}

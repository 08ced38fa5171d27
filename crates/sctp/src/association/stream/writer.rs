//! The half of a stream that writes.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use futures_sink::Sink;
use sctp_core::{
    Capability, Delivery, Message, PayloadProtocolId, ReconfigError, Reliability, ResetDirection, StreamId,
};
use tokio::io::AsyncWrite;

use super::Association;
use crate::error::SendError;

/// The writing half of a [`Stream`](super::Stream).
///
/// It sends payloads as messages, ordered and reliable unless told otherwise. All streams of an association share its
/// send buffer.
#[derive(Debug)]
pub struct StreamWriter {
    association: Association,
    stream: StreamId,
    delivery: Delivery,
    ppid: PayloadProtocolId,
    reliability: Reliability,
    /// The message that the sink has taken and that found no room yet.
    waiting: Option<Message>,
    /// Whether the peer was told that nothing comes any more.
    is_finished: bool,
}

impl StreamWriter {
    pub(super) const fn new(association: Association, stream: StreamId) -> Self {
        Self {
            association,
            stream,
            delivery: Delivery::Ordered,
            ppid: PayloadProtocolId::UNSPECIFIED,
            reliability: Reliability::Reliable,
            waiting: None,
            is_finished: false,
        }
    }

    /// Returns the number of the stream.
    #[must_use]
    pub const fn id(&self) -> StreamId {
        self.stream
    }

    /// Sets the payload protocol identifier of the messages from now on. Default: unspecified (0).
    pub const fn set_ppid(&mut self, ppid: PayloadProtocolId) {
        self.ppid = ppid;
    }

    /// Sets whether messages keep their order from now on. Default: they do.
    pub const fn set_delivery(&mut self, delivery: Delivery) {
        self.delivery = delivery;
    }

    /// Sets when messages are given up from now on (RFC 3758). Default: never.
    pub const fn set_reliability(&mut self, reliability: Reliability) {
        self.reliability = reliability;
    }

    /// Sends a message, waiting while the send buffer is full.
    ///
    /// Cancellation-safe: a future dropped before it completed has queued nothing.
    ///
    /// # Errors
    ///
    /// See [`SendError`]; never `BufferFull`.
    pub async fn send(&self, payload: impl Into<Bytes>) -> Result<(), SendError> {
        self.association.send(self.message(payload.into())).await
    }

    /// Sends a message if the send buffer has room for it now.
    ///
    /// # Errors
    ///
    /// See [`SendError`]; `BufferFull` hands the message back.
    pub fn try_send(&self, payload: impl Into<Bytes>) -> Result<(), SendError> {
        self.association.try_send(self.message(payload.into()))
    }

    /// Tells the peer that nothing more comes on the stream, by a reset (RFC 6525): its reader sees the end behind what was
    /// sent. Both sides must offer [`Extensions::reconfiguration`](crate::Extensions::reconfiguration).
    ///
    /// # Errors
    ///
    /// As [`Association::reset_streams`].
    pub fn finish(&mut self) -> Result<(), ReconfigError> {
        if !self.is_finished {
            self.association.reset_streams(&[self.stream], ResetDirection::Outgoing)?;
            self.is_finished = true;
        }
        Ok(())
    }

    fn message(&self, payload: Bytes) -> Message {
        let message = Message::new(self.stream, self.delivery, payload).with_ppid(self.ppid);
        Message { reliability: self.reliability, ..message }
    }

    /// Queues a message, or puts it back and has the task woken up when there may be room.
    fn poll_queue(
        &self,
        context: &mut Context<'_>,
        waiting: &mut Option<Message>,
    ) -> Poll<Result<(), SendError>> {
        let Some(message) = waiting.take() else { return Poll::Ready(Ok(())) };
        let inner = &self.association.inner;
        inner.shared.send(|state, now| match self.association.queue(state, now, message) {
            Err(SendError::BufferFull(message)) => {
                *waiting = Some(message);
                state.await_room(inner.id, context.waker());
                Poll::Pending
            }
            outcome => Poll::Ready(outcome),
        })
    }

    fn poll_waiting(&mut self, context: &mut Context<'_>) -> Poll<Result<(), SendError>> {
        let mut waiting = self.waiting.take();
        let polled = self.poll_queue(context, &mut waiting);
        self.waiting = waiting;
        polled
    }

    /// Tells the peer of the end where it understands that.
    fn finish_if_agreed(&mut self) -> Result<(), ReconfigError> {
        let is_agreed = self.association.capabilities().has(Capability::Reconfiguration);
        if is_agreed { self.finish() } else { Ok(()) }
    }
}

/// Octets, each write a message of its own: of at most [`Buffers::message_bytes`](crate::Buffers::message_bytes), and not
/// of less than one octet.
///
/// Shutting down tells the peer of the end as [`finish`](StreamWriter::finish) does, if both sides offer what that needs,
/// and does nothing otherwise; the association goes on.
impl AsyncWrite for StreamWriter {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        octets: &[u8],
    ) -> Poll<io::Result<usize>> {
        if self.is_finished {
            return Poll::Ready(Err(io::ErrorKind::BrokenPipe.into()));
        }
        ready!(self.poll_waiting(context))?;
        let written = octets.len().min(self.association.message_limit());
        if written == 0 {
            return Poll::Ready(Ok(0));
        }
        let mut message = Some(self.message(Bytes::copy_from_slice(&octets[..written])));
        self.poll_queue(context, &mut message).map(|queued| Ok(queued.map(|()| written)?))
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(ready!(self.poll_waiting(context))?))
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.poll_waiting(context))?;
        Poll::Ready(self.finish_if_agreed().map_err(io::Error::other))
    }
}

impl Sink<Bytes> for StreamWriter {
    type Error = SendError;

    fn poll_ready(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<(), SendError>> {
        self.poll_waiting(context)
    }

    fn start_send(mut self: Pin<&mut Self>, payload: Bytes) -> Result<(), SendError> {
        match self.try_send(payload) {
            Err(SendError::BufferFull(message)) => self.waiting = Some(message),
            outcome => outcome?,
        }
        Ok(())
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<(), SendError>> {
        self.poll_waiting(context)
    }

    fn poll_close(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<(), SendError>> {
        ready!(self.poll_waiting(context))?;
        // The peer cannot be told any more: the association is ending, which tells it as well.
        let _ = self.finish_if_agreed();
        Poll::Ready(Ok(()))
    }
}

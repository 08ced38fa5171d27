//! The half of a stream that reads.

use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, Waker, ready};

use bytes::{Buf, Bytes};
use sctp_core::{Received, StreamId};
use tokio::io::{AsyncBufRead, AsyncRead, ReadBuf};

use super::Association;
use crate::error::StreamReadError;
use crate::state::{ReaderId, Remains, StreamEnd};
use crate::turn;

/// The reading half of a [`Stream`](super::Stream).
///
/// It gives whole messages ([`recv`](Self::recv), `Stream`) or the octets of their payloads back to back
/// ([`AsyncRead`], [`AsyncBufRead`]). Who does both gets messages behind the one whose octets were read last.
#[derive(Debug)]
pub struct StreamReader {
    association: Association,
    stream: StreamId,
    reader: ReaderId,
    /// Octets of the message that is being read in parts.
    rest: Bytes,
    unread: Remains,
}

impl StreamReader {
    pub(super) const fn new(association: Association, stream: StreamId, reader: ReaderId) -> Self {
        Self { association, stream, reader, rest: Bytes::new(), unread: Remains::ForOthers }
    }

    /// Returns the number of the stream.
    #[must_use]
    pub const fn id(&self) -> StreamId {
        self.stream
    }

    /// Returns the next message of the stream. `None` at its end: both sides agreed to end the association, or the peer
    /// has reset the stream (RFC 6525), which [`is_reset`](Self::is_reset) tells apart.
    ///
    /// What comes on a stream after its reset is for a new handle. Cancellation-safe: a future dropped before it completed
    /// has taken nothing.
    ///
    /// # Errors
    ///
    /// See [`StreamReadError`]. What had arrived before is handed out first.
    pub async fn recv(&mut self) -> Result<Option<Received>, StreamReadError> {
        poll_fn(|context| self.poll_recv(context)).await
    }

    /// Returns the next message as [`recv`](Self::recv) does, for futures written by hand.
    ///
    /// # Errors
    ///
    /// As [`recv`](Self::recv).
    pub fn poll_recv(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<Result<Option<Received>, StreamReadError>> {
        let turn = ready!(turn::poll_proceed(context));
        match self.find(Some(context.waker())) {
            Some(found) => {
                turn.made_progress();
                Poll::Ready(found)
            }
            None => Poll::Pending,
        }
    }

    /// Returns the next message if one is there already.
    #[must_use]
    pub fn try_recv(&mut self) -> Option<Received> {
        self.find(None)?.ok().flatten()
    }

    fn find(&self, waker: Option<&Waker>) -> Option<Result<Option<Received>, StreamReadError>> {
        let (id, reader) = (self.association.inner.id, self.reader);
        self.association.inner.shared.attempt(|_| true, |state, now| state.read(now, id, reader, waker))
    }

    /// Returns whether the peer has reset the stream; what came before can still be read.
    #[must_use]
    pub fn is_reset(&self) -> bool {
        let state = self.association.inner.shared.lock();
        state.stream_end(self.association.inner.id, self.reader) == Some(StreamEnd::Reset)
    }

    /// Cuts this reader off when more than so many octets of the stream are unread: what is there can be read, then
    /// comes [`StreamReadError::Overrun`], and everything behind it is thrown away until the stream is taken anew.
    ///
    /// Default `None`: nothing is lost, and a reader who is behind makes the peer wait, on all streams once the receive
    /// window is full. Set it where one stream must not hold up the others, whatever its reader does. One message is
    /// always kept, however long it is.
    pub fn limit_unread(&mut self, bytes: Option<usize>) {
        let mut state = self.association.inner.shared.lock();
        state.limit_unread(self.association.inner.id, self.reader, bytes);
    }

    /// Throws away what is unread and what comes on the stream from now on, so that it never holds up others; until the
    /// stream is taken anew or reset.
    pub fn discard(mut self) {
        self.unread = Remains::ForNobody;
    }
}

impl Drop for StreamReader {
    fn drop(&mut self) {
        let (inner, reader, unread) = (&self.association.inner, self.reader, self.unread);
        inner.shared.change(|state, now| state.give_back(now, inner.id, reader, unread));
    }
}

impl AsyncBufRead for StreamReader {
    fn poll_fill_buf(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<&[u8]>> {
        let reader = self.get_mut();
        if reader.rest.is_empty()
            && let Some(received) = ready!(reader.poll_recv(context))?
        {
            reader.rest = received.message.payload;
        }
        Poll::Ready(Ok(&reader.rest))
    }

    fn consume(mut self: Pin<&mut Self>, octets: usize) {
        self.rest.advance(octets);
    }
}

impl AsyncRead for StreamReader {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let octets = ready!(self.as_mut().poll_fill_buf(context))?;
        let taken = octets.len().min(into.remaining());
        into.put_slice(&octets[..taken]);
        self.consume(taken);
        Poll::Ready(Ok(()))
    }
}

impl futures_core::Stream for StreamReader {
    type Item = Result<Received, StreamReadError>;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.get_mut().poll_recv(context).map(Result::transpose)
    }
}

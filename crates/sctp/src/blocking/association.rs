//! An association whose calls block.

use std::sync::Arc;
use std::time::Duration;

use sctp_core::{Event, Message, Received, StreamId};

use super::seat::ThreadDriver;
use super::stream::Stream;
use crate::error::{CommunicationLost, SendError, TakeStreamError, TimedOut, TimeoutError};

/// An association whose calls block; see [`sctp::Association`](crate::Association) for what they do. Threads may send and
/// receive at the same time.
#[derive(Clone, Debug)]
pub struct Association {
    inner: crate::Association,
    driver: Arc<ThreadDriver>,
}

impl Association {
    pub(super) const fn new(inner: crate::Association, driver: Arc<ThreadDriver>) -> Self {
        Self { inner, driver }
    }

    /// Sends a message, waiting while the send buffer is full.
    ///
    /// # Errors
    ///
    /// See [`SendError`]; never `BufferFull`.
    pub fn send(&self, message: impl Into<Message>) -> Result<(), SendError> {
        match self.inner.try_send(message) {
            Err(SendError::BufferFull(message)) => self.driver.wait(self.inner.send(message)),
            outcome => outcome,
        }
    }

    /// Sends a message, waiting at most for `limit` while the send buffer is full.
    ///
    /// # Errors
    ///
    /// See [`SendError`]; `BufferFull` hands the message back when the time is over.
    pub fn send_timeout(&self, message: impl Into<Message>, limit: Duration) -> Result<(), SendError> {
        let mut waiting = Some(message.into());
        let sent = self.driver.wait_timeout(limit, self.inner.send_from(&mut waiting));
        sent.unwrap_or_else(|TimedOut(_)| {
            waiting.map_or(Ok(()), |message| Err(SendError::BufferFull(message)))
        })
    }

    /// Sends a message if the send buffer has room for it now.
    ///
    /// # Errors
    ///
    /// See [`SendError`]; `BufferFull` hands the message back.
    pub fn try_send(&self, message: impl Into<Message>) -> Result<(), SendError> {
        match self.inner.try_send(message) {
            Err(SendError::BufferFull(message)) => {
                self.driver.look();
                self.inner.try_send(message)
            }
            outcome => outcome,
        }
    }

    /// Sends messages in their order, waiting as often as the send buffer is full.
    ///
    /// # Errors
    ///
    /// As [`sctp::Association::send_many`](crate::Association::send_many).
    pub fn send_many(&self, messages: impl IntoIterator<Item: Into<Message>>) -> Result<(), SendError> {
        self.driver.wait(self.inner.send_many(messages))
    }

    /// Returns the next message; `None` after the peer and this side agreed to end and everything was read.
    ///
    /// # Errors
    ///
    /// If the association ended otherwise.
    pub fn recv(&self) -> Result<Option<Received>, CommunicationLost> {
        self.driver.wait(self.inner.recv())
    }

    /// Returns the next message if it comes within `limit`.
    ///
    /// # Errors
    ///
    /// As [`recv`](Self::recv), or if none came in that time.
    pub fn recv_timeout(&self, limit: Duration) -> Result<Option<Received>, TimeoutError<CommunicationLost>> {
        TimeoutError::flatten(self.driver.wait_timeout(limit, self.inner.recv()))
    }

    /// Returns the next message if it has come already.
    #[must_use]
    pub fn try_recv(&self) -> Option<Received> {
        self.inner.try_recv().or_else(|| {
            self.driver.look();
            self.inner.try_recv()
        })
    }

    /// Takes a stream, to read and write it apart from others.
    ///
    /// # Errors
    ///
    /// As [`sctp::Association::stream`](crate::Association::stream).
    pub fn stream(&self, stream: StreamId) -> Result<Stream, TakeStreamError> {
        Ok(self.stream_of(self.inner.stream(stream)?))
    }

    /// Takes the next stream on which the peer has sent something and that nobody has taken; `None` at the end.
    ///
    /// # Errors
    ///
    /// As [`sctp::Association::accept_stream`](crate::Association::accept_stream).
    pub fn accept_stream(&self) -> Result<Option<Stream>, CommunicationLost> {
        let taken = self.driver.wait(self.inner.accept_stream())?;
        Ok(taken.map(|inner| self.stream_of(inner)))
    }

    fn stream_of(&self, inner: crate::Stream) -> Stream {
        Stream::new(inner, Arc::clone(&self.driver))
    }

    /// Appends the messages that are there, at most `limit`; waits for the first. 0 at the end.
    ///
    /// # Errors
    ///
    /// If the association ended otherwise.
    pub fn recv_many(&self, received: &mut Vec<Received>, limit: usize) -> Result<usize, CommunicationLost> {
        self.driver.wait(self.inner.recv_many(received, limit))
    }

    /// Returns the next event of the association other than a message; `None` after the last.
    #[must_use]
    pub fn next_event(&self) -> Option<Event> {
        self.driver.wait(self.inner.next_event())
    }

    /// Waits until no more than so many octets of payload are buffered.
    ///
    /// # Errors
    ///
    /// As [`sctp::Association::drained_to`](crate::Association::drained_to).
    pub fn drained_to(&self, octets: usize) -> Result<(), CommunicationLost> {
        self.driver.wait(self.inner.drained_to(octets))
    }

    /// Ends the association gracefully and waits for it.
    ///
    /// # Errors
    ///
    /// If the association ended otherwise, so that messages may not have arrived.
    pub fn shutdown(&self) -> Result<(), CommunicationLost> {
        self.driver.wait(self.inner.shutdown())
    }

    /// Waits for the end of the association, whoever brings it about.
    ///
    /// # Errors
    ///
    /// Why it ended, if not by agreement.
    pub fn closed(&self) -> Result<(), CommunicationLost> {
        self.driver.wait(self.inner.closed())
    }

    /// Returns the association behind this one, for what does not block: `try_send`, `try_recv`, `abort`,
    /// status, statistics, changes.
    #[must_use]
    pub const fn handle(&self) -> &crate::Association {
        &self.inner
    }
}

//! Streams as handles: one reader and one writer each, beside [`recv`](Association::recv) for those who want one queue.

mod reader;
mod writer;

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use sctp_core::{Received, StreamId};
use tokio::io::{AsyncBufRead, AsyncRead, AsyncWrite, ReadBuf};

pub use self::reader::StreamReader;
pub use self::writer::StreamWriter;
use super::Association;
use crate::error::{CommunicationLost, SendError, StreamReadError, TakeStreamError};
use crate::shared::until;
use crate::state::ReaderId;

/// A stream of an association, in both directions: what the peer sends on it comes here and nowhere else.
///
/// | who reads | gets |
/// |---|---|
/// | the handle of a stream | the messages of that stream |
/// | [`Association::recv`] | the messages of all streams that nobody has taken |
/// | [`Association::accept_stream`] | a handle of the stream of the first of those |
///
/// Each stream has a queue of its own, and who reads it slowly or not at all holds up nobody else, as long as the receive
/// window ([`buffers.receive_bytes`](crate::Buffers::receive_bytes)) has room. SCTP has one window for all
/// streams: one stream that is never read fills it in the end, and then the peer can send on none, until somebody
/// reads. [`StreamReader::limit_unread`] bounds what a stream may take of it.
///
/// A handle of a stream keeps the association alive as one of the association does. Dropped, it gives its stream back: what is
/// unread is for the association's `recv` and `accept_stream`.
///
/// Besides messages it carries octets ([`AsyncRead`], [`AsyncWrite`]), which makes it fit for codecs
/// (`tokio_util::codec::Framed`): each write is a message, and what is read are the payloads back to back. It is
/// also a `Stream` of received messages and a `Sink` of payloads.
///
/// ```
/// use sctp::{Endpoint, EndpointConfig, SctpPort, StreamId};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let port = SctpPort::try_from(3863)?;
/// # let server = Endpoint::bind(EndpointConfig::new(port), "127.0.0.1:0".parse()?).await?;
/// # let client = Endpoint::bind(EndpointConfig::new(port), "127.0.0.1:0".parse()?).await?;
/// # let there = [sctp::udp(server.local_address())];
/// # let (opened, accepted) = tokio::join!(client.connect(&there, port), server.accept());
/// # let (association, peer) = (opened?, accepted.ok_or("closed")?);
/// tokio::spawn(async move {
///     while let Some(mut stream) = peer.accept_stream().await? {
///         // A task for each stream: none waits for another.
///         tokio::spawn(async move {
///             while let Some(received) = stream.recv().await? {
///                 stream.send(received.message.payload).await?;
///             }
///             Ok::<_, Box<dyn std::error::Error + Send + Sync>>(())
///         });
///     }
///     Ok::<_, sctp::CommunicationLost>(())
/// });
///
/// let (mut orders, mut prices) = (association.stream(StreamId::new(1))?, association.stream(StreamId::new(2))?);
/// orders.send("buy").await?;
/// prices.send("12.50").await?;
/// assert_eq!(prices.recv().await?.ok_or("over")?.message.payload, "12.50");
/// assert_eq!(orders.recv().await?.ok_or("over")?.message.payload, "buy");
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Stream {
    reader: StreamReader,
    writer: StreamWriter,
}

/// Streams as handles; see [`Stream`].
impl Association {
    /// Takes a stream: what comes on it from now on, or has come and was not read, is for the handle alone.
    ///
    /// A stream that the peer cannot send on can be written to, and the other way round.
    ///
    /// # Errors
    ///
    /// Somebody has the stream.
    pub fn stream(&self, stream: StreamId) -> Result<Stream, TakeStreamError> {
        let id = self.inner.id;
        let reader = self.inner.shared.change(|state, now| state.take_stream(now, id, stream))?;
        Ok(self.stream_of(stream, reader))
    }

    /// Takes the next stream on which the peer has sent something and that nobody has taken; `None` after
    /// the peer and this side agreed to end and everything was read.
    ///
    /// Cancellation-safe: a future dropped before it completed has taken nothing.
    ///
    /// # Errors
    ///
    /// If the association ended otherwise. What had arrived before is handed out first.
    pub async fn accept_stream(&self) -> Result<Option<Stream>, CommunicationLost> {
        let id = self.inner.id;
        let taken = until(&self.inner.signals.readable, || {
            self.inner.shared.attempt(
                |_| true,
                |state, now| match state.take_next_stream(now, id) {
                    Some(taken) => Some(Ok(Some(taken))),
                    None => self.ending(state).map(|ending| ending.map(|()| None)),
                },
            )
        });
        Ok(taken.await?.map(|(stream, reader)| self.stream_of(stream, reader)))
    }

    fn stream_of(&self, stream: StreamId, reader: ReaderId) -> Stream {
        let reader = StreamReader::new(self.clone(), stream, reader);
        Stream { reader, writer: StreamWriter::new(self.clone(), stream) }
    }
}

impl Stream {
    /// Returns the number of the stream.
    #[must_use]
    pub const fn id(&self) -> StreamId {
        self.reader.id()
    }

    /// Returns the next message; see [`StreamReader::recv`].
    ///
    /// # Errors
    ///
    /// As [`StreamReader::recv`].
    pub async fn recv(&mut self) -> Result<Option<Received>, StreamReadError> {
        self.reader.recv().await
    }

    /// Sends a message; see [`StreamWriter::send`].
    ///
    /// # Errors
    ///
    /// As [`StreamWriter::send`].
    pub async fn send(&self, payload: impl Into<Bytes>) -> Result<(), SendError> {
        self.writer.send(payload).await
    }

    /// Returns the half that reads.
    pub const fn reader(&mut self) -> &mut StreamReader {
        &mut self.reader
    }

    /// Returns the half that writes.
    pub const fn writer(&mut self) -> &mut StreamWriter {
        &mut self.writer
    }

    /// Returns both halves, for two tasks.
    #[must_use]
    pub fn split(self) -> (StreamReader, StreamWriter) {
        (self.reader, self.writer)
    }
}

impl AsyncRead for Stream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.reader).poll_read(context, into)
    }
}

impl AsyncBufRead for Stream {
    fn poll_fill_buf(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<&[u8]>> {
        Pin::new(&mut self.get_mut().reader).poll_fill_buf(context)
    }

    fn consume(mut self: Pin<&mut Self>, octets: usize) {
        Pin::new(&mut self.reader).consume(octets);
    }
}

impl AsyncWrite for Stream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        octets: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.writer).poll_write(context, octets)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        AsyncWrite::poll_flush(Pin::new(&mut self.writer), context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.writer).poll_shutdown(context)
    }
}

impl futures_core::Stream for Stream {
    type Item = Result<Received, StreamReadError>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        Pin::new(&mut self.reader).poll_next(context)
    }
}

impl futures_sink::Sink<Bytes> for Stream {
    type Error = SendError;

    fn poll_ready(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<(), SendError>> {
        Pin::new(&mut self.writer).poll_ready(context)
    }

    fn start_send(mut self: Pin<&mut Self>, payload: Bytes) -> Result<(), SendError> {
        Pin::new(&mut self.writer).start_send(payload)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<(), SendError>> {
        futures_sink::Sink::<Bytes>::poll_flush(Pin::new(&mut self.writer), context)
    }

    fn poll_close(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<(), SendError>> {
        Pin::new(&mut self.writer).poll_close(context)
    }
}

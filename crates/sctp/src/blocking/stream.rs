//! A stream whose calls block: messages, or octets as `TcpStream` has them.

use std::future::poll_fn;
use std::io::{self, Read, Write};
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use sctp_core::{Received, StreamId};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::seat::ThreadDriver;
use crate::error::{SendError, StreamReadError, TimedOut, TimeoutError};

/// A stream whose calls block; see [`sctp::Stream`](crate::Stream) for what they do.
///
/// It gives whole messages ([`recv`](Self::recv)), or the octets of their payloads back to back ([`Read`]), and sends each
/// [`Write::write`] as a message. `std::io::BufReader` makes lines of them.
///
/// ```
/// use std::io::{BufRead, BufReader, Write};
///
/// use sctp::blocking::Endpoint;
/// use sctp::{EndpointConfig, SctpPort, StreamId};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let port = SctpPort::try_from(3863)?;
/// # let server = Endpoint::bind(EndpointConfig::new(port), "127.0.0.1:0".parse()?)?;
/// # let client = Endpoint::bind(EndpointConfig::new(port), "127.0.0.1:0".parse()?)?;
/// let association = client.connect(server.local_address(), port)?;
/// let mut stream = association.stream(StreamId::new(3))?;
/// writeln!(stream, "hello")?;
///
/// let accepted = server.accept().ok_or("closed")?;
/// let stream = accepted.accept_stream()?.ok_or("over")?;
/// let mut line = String::new();
/// BufReader::new(stream).read_line(&mut line)?;
/// assert_eq!(line, "hello\n");
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Stream {
    inner: crate::Stream,
    driver: Arc<ThreadDriver>,
    read_timeout: Option<Duration>,
    write_timeout: Option<Duration>,
}

impl Stream {
    pub(super) const fn new(inner: crate::Stream, driver: Arc<ThreadDriver>) -> Self {
        Self { inner, driver, read_timeout: None, write_timeout: None }
    }

    /// Returns the number of the stream.
    #[must_use]
    pub const fn id(&self) -> StreamId {
        self.inner.id()
    }

    /// Returns the next message; `None` at the end of the stream.
    ///
    /// # Errors
    ///
    /// As [`StreamReader::recv`](crate::StreamReader::recv).
    pub fn recv(&mut self) -> Result<Option<Received>, StreamReadError> {
        self.driver.wait(self.inner.recv())
    }

    /// Returns the next message if it comes within `limit`.
    ///
    /// # Errors
    ///
    /// As [`recv`](Self::recv), or if none came in that time.
    pub fn recv_timeout(
        &mut self,
        limit: Duration,
    ) -> Result<Option<Received>, TimeoutError<StreamReadError>> {
        TimeoutError::flatten(self.driver.wait_timeout(limit, self.inner.recv()))
    }

    /// Returns the next message if it has come already.
    #[must_use]
    pub fn try_recv(&mut self) -> Option<Received> {
        self.inner.reader().try_recv().or_else(|| {
            self.driver.look();
            self.inner.reader().try_recv()
        })
    }

    /// Sends a message, waiting while the send buffer is full.
    ///
    /// # Errors
    ///
    /// As [`StreamWriter::send`](crate::StreamWriter::send).
    pub fn send(&self, payload: impl Into<Bytes>) -> Result<(), SendError> {
        self.driver.wait(self.inner.send(payload))
    }

    /// Sets how long [`Read`] waits for octets; then it fails with [`io::ErrorKind::TimedOut`]. Default `None`: as long as it
    /// takes.
    pub const fn set_read_timeout(&mut self, limit: Option<Duration>) {
        self.read_timeout = limit;
    }

    /// Sets how long [`Write`] waits for room in the send buffer; then it fails with [`io::ErrorKind::TimedOut`], and nothing
    /// was written. Default `None`: as long as it takes.
    pub const fn set_write_timeout(&mut self, limit: Option<Duration>) {
        self.write_timeout = limit;
    }

    /// Returns the stream behind this one, for what does not block: whether the peer has reset it, limits, how messages are
    /// sent.
    pub const fn handle(&mut self) -> &mut crate::Stream {
        &mut self.inner
    }

    fn wait<T>(
        driver: &ThreadDriver,
        limit: Option<Duration>,
        future: impl Future<Output = io::Result<T>>,
    ) -> io::Result<T> {
        match limit {
            None => driver.wait(future),
            Some(limit) => driver.wait_timeout(limit, future)?,
        }
    }
}

/// Octets of the payloads back to back; 0 at the end of the stream.
impl Read for Stream {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let (reader, mut octets) = (self.inner.reader(), ReadBuf::new(into));
        let reading = poll_fn(|context| Pin::new(&mut *reader).poll_read(context, &mut octets));
        Self::wait(&self.driver, self.read_timeout, reading)?;
        Ok(octets.filled().len())
    }
}

/// Each write is a message, of at most [`Buffers::message_bytes`](crate::Buffers::message_bytes).
impl Write for Stream {
    fn write(&mut self, octets: &[u8]) -> io::Result<usize> {
        let writer = self.inner.writer();
        let writing = poll_fn(|context| Pin::new(&mut *writer).poll_write(context, octets));
        Self::wait(&self.driver, self.write_timeout, writing)
    }

    /// Returns at once: what was written is on its way.
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The error that programs see which read and write octets.
impl From<TimedOut> for io::Error {
    fn from(error: TimedOut) -> Self {
        Self::new(io::ErrorKind::TimedOut, error)
    }
}

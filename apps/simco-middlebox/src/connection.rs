//! Connections: a task reads, a task writes, the server in between.

mod hosts;
pub(crate) mod over_sctp;
pub(crate) mod over_tcp;

use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bytes::Bytes;
use simco::StreamNumber;
use simco::middlebox::{Connection, SessionId};
use tokio::sync::{mpsc, oneshot};

pub(crate) use self::hosts::Hosts;

/// The messages of connections to the server.
#[derive(Debug)]
pub(crate) enum Input {
    /// There is a new connection. It hears its number.
    Opened { connection: Connection, writer: Writer, number: oneshot::Sender<SessionId> },
    /// Octets of a byte stream.
    Octets { session: SessionId, octets: Vec<u8> },
    /// Whole messages with their streams.
    Messages { session: SessionId, messages: Vec<(StreamNumber, Bytes)> },
    /// The connection takes octets again.
    Drained { session: SessionId },
    /// The connection is gone.
    Lost { session: SessionId },
    /// A host wanted more connections than it may have.
    TurnedAway { host: IpAddr },
}

/// The sending end of the server's octets for a connection. Dropped, the connection is closed once they have
/// left.
#[derive(Clone, Debug)]
pub(crate) struct Writer {
    outgoing: mpsc::UnboundedSender<Outgoing>,
    queued_bytes: Arc<AtomicUsize>,
}

/// Octets for a connection.
#[derive(Debug)]
pub(crate) struct Outgoing {
    pub(crate) stream: StreamNumber,
    pub(crate) octets: Vec<u8>,
}

/// The receiving end of a [`Writer`].
#[derive(Debug)]
pub(crate) struct Outbound {
    outgoing: mpsc::UnboundedReceiver<Outgoing>,
    queued_bytes: Arc<AtomicUsize>,
}

/// Whether a connection keeps up.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Pace {
    KeepsUp,
    LagsBehind,
}

/// Creates both ends of a connection's outbound queue.
pub(crate) fn outbound() -> (Writer, Outbound) {
    let (sender, receiver) = mpsc::unbounded_channel();
    let queued_bytes = Arc::new(AtomicUsize::new(0));
    let writer = Writer { outgoing: sender, queued_bytes: Arc::clone(&queued_bytes) };
    (writer, Outbound { outgoing: receiver, queued_bytes })
}

impl Writer {
    /// Queues octets to be written. The core bounds what waits for a connection that lags behind.
    pub(crate) fn send(&self, outgoing: Outgoing) -> Pace {
        let bytes = outgoing.octets.len();
        let before = self.queued_bytes.fetch_add(bytes, Ordering::Relaxed);
        // Without a receiver the connection is gone; its reader says so.
        let _ = self.outgoing.send(outgoing);
        if before + bytes > HIGH_BYTES { Pace::LagsBehind } else { Pace::KeepsUp }
    }
}

impl Outbound {
    /// Waits for something to write; `None` once the server has closed the connection.
    pub(crate) async fn next(&mut self) -> Option<Outgoing> {
        self.outgoing.recv().await
    }

    /// Takes out something more to write, if there is any at once.
    pub(crate) fn next_now(&mut self) -> Option<Outgoing> {
        self.outgoing.try_recv().ok()
    }

    /// Waits for `work`, which hands octets to the connection; `None` if it takes too long after the server has
    /// closed the connection: the agent does not read.
    pub(crate) async fn bounded<T>(&self, work: impl Future<Output = T>) -> Option<T> {
        let mut work = std::pin::pin!(work);
        loop {
            tokio::select! {
                biased;
                done = &mut work => return Some(done),
                () = tokio::time::sleep(LAST_OCTETS) => {}
            }
            if self.outgoing.is_closed() {
                return None;
            }
        }
    }

    /// Takes note that this much was written; returns whether the connection has caught up with that.
    pub(crate) fn written(&self, bytes: usize) -> bool {
        let before = self.queued_bytes.fetch_sub(bytes, Ordering::Relaxed);
        before > LOW_BYTES && before - bytes <= LOW_BYTES
    }
}

/// Introduces a connection to the server; its number, unless the server has stopped.
pub(crate) async fn introduce(
    inputs: &mpsc::Sender<Input>,
    connection: Connection,
    writer: Writer,
) -> Option<SessionId> {
    let (number, told) = oneshot::channel();
    inputs.send(Input::Opened { connection, writer, number }).await.ok()?;
    told.await.ok()
}

/// How long the last octets may take, at least; at most twice as long.
const LAST_OCTETS: Duration = Duration::from_secs(1);
/// The octets beyond which the connection lags behind.
const HIGH_BYTES: usize = 256 << 10;
/// The octets below which it has caught up.
const LOW_BYTES: usize = 64 << 10;

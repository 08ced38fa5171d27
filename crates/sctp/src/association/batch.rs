//! Several messages at once: one lock, one run of packets, one wake-up for all of them.

use core::ops::ControlFlow;

use sctp_core::{Message, Received};

use super::Association;
use crate::error::{CommunicationLost, SendError};
use crate::shared::until;
use crate::state::PER_MESSAGE_BYTES;
use crate::turn;

/// Many messages, as a bulk transfer or a gateway has them. What is said of [`send`](Self::send) and
/// [`recv`](Self::recv) holds for each message.
///
/// ```
/// use sctp::{Endpoint, EndpointConfig, Message, SctpPort, StreamId};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let port = SctpPort::try_from(3863)?;
/// # let server = Endpoint::bind(EndpointConfig::new(port), "127.0.0.1:0".parse()?).await?;
/// # let client = Endpoint::bind(EndpointConfig::new(port), "127.0.0.1:0".parse()?).await?;
/// # let there = [sctp::udp(server.local_address())];
/// # let (opened, accepted) = tokio::join!(client.connect(&there, port), server.accept());
/// # let (association, peer) = (opened?, accepted.ok_or("closed")?);
/// let readings = (0_u8..100).map(|number| Message::ordered(StreamId::new(0), vec![number; 20]));
/// association.send_many(readings).await?;
///
/// let mut received = Vec::new();
/// while received.len() < 100 {
///     peer.recv_many(&mut received, 64).await?;
/// }
/// assert_eq!(received[99].message.payload[0], 99);
/// # Ok(())
/// # }
/// ```
impl Association {
    /// Sends messages in their order, waiting as often as the send buffer is full.
    ///
    /// A future dropped before it completed has queued those it took from the iterator but the last, if that found no
    /// room: pass `by_ref()` of an iterator to go on with the rest.
    ///
    /// # Errors
    ///
    /// See [`SendError`]; never `BufferFull`. Those before the one concerned have been queued.
    pub async fn send_many(&self, messages: impl IntoIterator<Item: Into<Message>>) -> Result<(), SendError> {
        let mut messages = messages.into_iter().map(Into::into);
        let mut waiting = None;
        loop {
            let queued = until(&self.inner.signals.writable, || self.queue_some(&mut waiting, &mut messages));
            if let ControlFlow::Break(outcome) = queued.await {
                return outcome;
            }
            // While acknowledgments keep up there is always room: others in this thread have their turn in between.
            turn::yield_now().await;
        }
    }

    /// Queues up to [`AT_ONCE_BYTES`] and sends; `None` if there is no room.
    fn queue_some(
        &self,
        waiting: &mut Option<Message>,
        messages: &mut impl Iterator<Item = Message>,
    ) -> Option<ControlFlow<Result<(), SendError>>> {
        self.inner.shared.send(|state, now| {
            let (mut queued_bytes, mut is_last) = (0, false);
            let next = std::iter::from_fn(|| {
                if queued_bytes >= AT_ONCE_BYTES {
                    return None;
                }
                let message = waiting.take().or_else(|| messages.next());
                queued_bytes +=
                    message.as_ref().map_or(0, |message| message.payload.len() + PER_MESSAGE_BYTES);
                is_last = message.is_none();
                message
            });
            let refused = match state.core.send_many(now, self.inner.id, next) {
                Ok((_, refused)) => refused,
                Err(unknown) => Some(unknown.into()),
            };
            state.note_queued(queued_bytes);
            match refused.map(|error| self.send_error(state, error)) {
                None if is_last => Some(ControlFlow::Break(Ok(()))),
                None => Some(ControlFlow::Continue(())),
                Some(SendError::BufferFull(message)) => {
                    *waiting = Some(message);
                    None
                }
                Some(error) => Some(ControlFlow::Break(Err(error))),
            }
        })
    }

    /// Appends the messages that are there to `received`, at most `limit`; waits for the first. Returns how many; 0 after
    /// the peer and this side agreed to end and everything was read (and if `limit` is 0).
    ///
    /// Cancellation-safe: a future dropped before it completed has taken nothing.
    ///
    /// # Errors
    ///
    /// If the association ended otherwise. What had arrived before is handed out first.
    pub async fn recv_many(
        &self,
        received: &mut Vec<Received>,
        limit: usize,
    ) -> Result<usize, CommunicationLost> {
        if limit == 0 {
            return Ok(0);
        }
        until(&self.inner.signals.readable, || {
            self.inner.shared.attempt(
                |state| self.has_news(state),
                |state, now| match state.receive_many(now, self.inner.id, limit, received) {
                    0 => self.ending(state).map(|ending| ending.map(|()| 0)),
                    count => Some(Ok(count)),
                },
            )
        })
        .await
    }
}

/// Queued before the lock is given away and packets leave, each message with [`PER_MESSAGE_BYTES`] beside its own: a few
/// runs of packets, and few enough messages that their descriptions stay in the nearest cache.
const AT_ONCE_BYTES: usize = 256 << 10;

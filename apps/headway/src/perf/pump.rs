//! The client's side of a connection with messages: as many as it takes, or one at a time.

use std::time::{Duration, Instant};

use bytes::Bytes;
use sctp::{Association, Delivery, Message, StreamId};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::watch;

use super::connection::Connection;
use super::payload::{self, Payloads};
use super::{PerfError, broke_off};

/// The messages to be sent: payload, streams and order.
#[derive(Debug, Clone)]
pub(crate) struct Load {
    pub(crate) payload: Bytes,
    pub(crate) streams: u16,
    /// Share of messages sent unordered.
    pub(crate) unordered: f64,
    pub(crate) is_echoed: bool,
    /// Whether each message is made anew, and each echo read.
    pub(crate) is_fresh: bool,
}

impl Load {
    fn payloads(&self) -> Payloads {
        let payload = self.payload.clone();
        if self.is_fresh { Payloads::fresh(payload) } else { Payloads::shared(payload) }
    }

    /// Reads an echo, if messages are fresh.
    fn read(&self, echo: &[u8]) {
        if self.is_fresh {
            let _nobody_asks = payload::read(echo);
        }
    }
}

/// The phase of a run, which says when to send.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Phase {
    /// Some connections are still being opened.
    Waiting,
    SendingUntil(Instant),
    Stopped,
}

/// Sends until the time is over or somebody stops it; the round-trip times in nanoseconds, if there is an echo.
pub(crate) async fn run(
    connection: &mut Connection,
    load: &Load,
    mut phase: watch::Receiver<Phase>,
) -> Result<Vec<u64>, PerfError> {
    let begun = phase.wait_for(|phase| *phase != Phase::Waiting).await.map(|phase| *phase);
    let Ok(Phase::SendingUntil(deadline)) = begun else { return Ok(Vec::new()) };
    let mut times_ns = Vec::new();
    let stopped = phase.wait_for(|phase| *phase == Phase::Stopped);
    tokio::select! {
        biased;
        _either_way = stopped => Ok(()),
        sent = send_until(deadline, connection, load, &mut times_ns) => sent,
    }?;
    Ok(times_ns)
}

async fn send_until(
    deadline: Instant,
    connection: &mut Connection,
    load: &Load,
    times_ns: &mut Vec<u64>,
) -> Result<(), PerfError> {
    match (connection, load.is_echoed) {
        (Connection::Sctp(association), false) => fill(deadline, association, load).await,
        (Connection::Sctp(association), true) => ping(deadline, association, load, times_ns).await,
        (Connection::Tcp(stream), false) => fill_tcp(deadline, stream, load).await,
        (Connection::Tcp(stream), true) => ping_tcp(deadline, stream, load, times_ns).await,
    }
}

async fn fill(deadline: Instant, association: &Association, load: &Load) -> Result<(), PerfError> {
    let mut dealer = Dealer::new(load);
    while Instant::now() < deadline {
        association.send_many(dealer.by_ref().take(BATCH)).await.map_err(broke_off)?;
    }
    Ok(())
}

async fn ping(
    deadline: Instant,
    association: &Association,
    load: &Load,
    times_ns: &mut Vec<u64>,
) -> Result<(), PerfError> {
    let mut dealer = Dealer::new(load);
    let mut sent_at = Instant::now();
    while sent_at < deadline {
        association.send_many(dealer.by_ref().take(1)).await.map_err(broke_off)?;
        let ended = || PerfError::BrokeOff("the server closed the association".to_owned());
        let echo = association.recv().await.map_err(broke_off)?.ok_or_else(ended)?;
        load.read(&echo.message.payload);
        let now = Instant::now();
        times_ns.push(nanoseconds(now - sent_at));
        sent_at = now;
    }
    Ok(())
}

/// Fills a TCP connection with one write for each message, as associations have one call for each.
async fn fill_tcp(deadline: Instant, stream: &mut TcpStream, load: &Load) -> Result<(), PerfError> {
    let mut payloads = load.payloads();
    let mut payload = payloads.buffer();
    while Instant::now() < deadline {
        for _ in 0..BATCH {
            payloads.rewrite(&mut payload);
            stream.write_all(&payload).await.map_err(broke_off)?;
        }
    }
    Ok(())
}

async fn ping_tcp(
    deadline: Instant,
    stream: &mut TcpStream,
    load: &Load,
    times_ns: &mut Vec<u64>,
) -> Result<(), PerfError> {
    let mut payloads = load.payloads();
    let mut payload = payloads.buffer();
    let mut echo = vec![0; payload.len()];
    let mut sent_at = Instant::now();
    while sent_at < deadline {
        payloads.rewrite(&mut payload);
        stream.write_all(&payload).await.map_err(broke_off)?;
        stream.read_exact(&mut echo).await.map_err(broke_off)?;
        load.read(&echo);
        let now = Instant::now();
        times_ns.push(nanoseconds(now - sent_at));
        sent_at = now;
    }
    Ok(())
}

/// Deals messages to streams in turn, and order to messages so that the share is kept at every moment.
#[derive(Debug)]
struct Dealer<'a> {
    load: &'a Load,
    payloads: Payloads,
    stream: u16,
    /// The sum of shares of unordered messages; at one, the next message is unordered.
    due: f64,
}

impl<'a> Dealer<'a> {
    fn new(load: &'a Load) -> Self {
        Self { load, payloads: load.payloads(), stream: 0, due: 0.0 }
    }
}

impl Iterator for Dealer<'_> {
    type Item = Message;

    fn next(&mut self) -> Option<Message> {
        let stream = StreamId::new(self.stream);
        self.stream = if self.stream + 1 < self.load.streams { self.stream + 1 } else { 0 };
        self.due += self.load.unordered;
        let delivery = if self.due >= 1.0 { Delivery::Unordered } else { Delivery::Ordered };
        if delivery == Delivery::Unordered {
            self.due -= 1.0;
        }
        Some(Message::new(stream, delivery, self.payloads.next()))
    }
}

fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// Messages between two looks at the clock.
const BATCH: usize = 256;

#[cfg(test)]
mod tests {
    use super::*;

    fn dealt(streams: u16, unordered: f64, count: usize) -> Vec<Message> {
        let load =
            Load { payload: Bytes::from_static(b"x"), streams, unordered, is_echoed: false, is_fresh: false };
        Dealer::new(&load).take(count).collect()
    }

    #[test]
    fn messages_are_dealt_to_all_streams_in_turn() {
        let streams: Vec<_> = dealt(3, 0.0, 7).iter().map(|message| message.stream.get()).collect();
        assert_eq!(streams, [0, 1, 2, 0, 1, 2, 0]);
    }

    #[test]
    fn the_unordered_share_is_kept() {
        let unordered = |share| {
            let dealt = dealt(1, share, 100);
            dealt.iter().filter(|message| message.delivery == Delivery::Unordered).count()
        };
        assert_eq!((unordered(0.0), unordered(0.25), unordered(1.0)), (0, 25, 100));
    }
}

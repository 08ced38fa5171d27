//! The server's side of a run: one at a time, whatever number of connections it has.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use sctp::{Association, Message, Received, ReceivedMessage};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, timeout};

use super::connection::Connection;
use super::control::{Answer, ArrivalReport, Arrived, Opening, Plan, Request};
use super::cpu::process_time;
use super::payload;
use super::tally::{Intervals, Tally};
use super::{PerfError, broke_off};

/// The state that all connections of a server share.
#[derive(Debug)]
pub(crate) struct Host {
    current: Mutex<Option<Arc<CurrentRun>>>,
    finished: mpsc::UnboundedSender<(Plan, ArrivalReport)>,
}

/// The run under way.
#[derive(Debug)]
struct CurrentRun {
    plan: Plan,
    tally: Tally,
    /// Connections with messages that are open.
    open: watch::Sender<usize>,
}

impl Host {
    /// Creates a host; `finished` gets what each run found.
    pub(crate) fn new(finished: mpsc::UnboundedSender<(Plan, ArrivalReport)>) -> Self {
        Self { current: Mutex::new(None), finished }
    }

    /// Serves a connection until it ends, whatever it is for.
    pub(crate) async fn serve(&self, mut connection: Connection) {
        // What goes wrong with a connection is the client's to report.
        let _outcome = self.follow(&mut connection).await;
    }

    async fn follow(&self, connection: &mut Connection) -> Result<(), PerfError> {
        let Ok(opening) = timeout(OPENING_TIME, connection.hear()).await else { return Ok(()) };
        match opening? {
            None => Ok(()),
            Some(Opening::Run(plan)) => self.control(plan, connection).await,
            Some(Opening::Messages(number)) => {
                let current = self.lock().clone();
                let Some(run) = current.filter(|run| run.plan.run == number) else { return Ok(()) };
                run.open.send_modify(|open| *open += 1);
                let taken_in = run.take_in(connection).await;
                run.open.send_modify(|open| *open -= 1);
                taken_in
            }
        }
    }

    async fn control(&self, plan: Plan, connection: &mut Connection) -> Result<(), PerfError> {
        let run = Arc::new(CurrentRun { plan, tally: Tally::default(), open: watch::Sender::new(0) });
        if !self.begin(&run) {
            connection.say(&Answer::Busy).await?;
            return connection.close().await;
        }
        let controlled = run.control(connection).await;
        *self.lock() = None;
        if let Ok(report) = &controlled {
            // Nobody waits any more when the server ends.
            let _unheard = self.finished.send((plan, *report));
        }
        controlled.map(drop)
    }

    /// Begins a run; returns false if another one is under way.
    fn begin(&self, run: &Arc<CurrentRun>) -> bool {
        let mut current = self.lock();
        let is_free = current.is_none();
        if is_free {
            *current = Some(Arc::clone(run));
        }
        is_free
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Option<Arc<CurrentRun>>> {
        self.current.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl CurrentRun {
    /// Serves a run from the plan to the report: tells of every second until the client has finished.
    async fn control(&self, connection: &mut Connection) -> Result<ArrivalReport, PerfError> {
        let cpu_before = process_time();
        connection.say(&Answer::Ready).await?;
        let mut intervals = Intervals::default();
        let mut tick = Instant::now() + INTERVAL;
        loop {
            match connection.hear_by(tick).await? {
                Some(Request::Finished) => break,
                None => {
                    if let Some(elapsed) = self.tally.elapsed() {
                        let interval = intervals.cut(elapsed, self.tally.arrived());
                        connection.say(&Answer::Interval(interval)).await?;
                    }
                    tick += INTERVAL;
                }
            }
        }
        let mut open = self.open.subscribe();
        // Connections that were lost rather than closed must not keep the report.
        let _in_time = timeout(OPENING_TIME, open.wait_for(|open| *open == 0)).await.is_ok();
        let cpu_s = process_time().saturating_sub(cpu_before).as_secs_f64();
        let (arrived, duration) = (self.tally.arrived(), self.tally.duration());
        if duration > intervals.until() {
            connection.say(&Answer::Interval(intervals.cut(duration, arrived))).await?;
        }
        let report = ArrivalReport {
            arrived,
            seconds: duration.as_secs_f64(),
            cpu_s,
            wrong_length: self.tally.wrong_length(),
            is_read: self.plan.is_fresh,
        };
        connection.say(&Answer::Report(report)).await?;
        // The client closes when it has read it.
        while connection.hear::<Request>().await?.is_some() {}
        Ok(report)
    }

    async fn take_in(&self, connection: &mut Connection) -> Result<(), PerfError> {
        connection.say(&Answer::Ready).await?;
        self.tally.begin();
        match connection {
            Connection::Sctp(association) => self.take_in_sctp(association).await,
            Connection::Tcp(stream) => self.take_in_tcp(stream).await,
        }
    }

    async fn take_in_sctp(&self, association: &Association) -> Result<(), PerfError> {
        let mut received = Vec::with_capacity(AT_ONCE);
        while association.recv_many(&mut received, AT_ONCE).await.map_err(broke_off)? > 0 {
            self.count(&received)?;
            for received in &received {
                self.read(&received.message.payload);
            }
            let messages = received.drain(..).map(|received| received.message);
            if self.plan.is_echoed {
                let echo = messages.map(|ReceivedMessage { stream, delivery, payload, .. }| {
                    Message::new(stream, delivery, payload)
                });
                association.send_many(echo).await.map_err(broke_off)?;
            }
        }
        Ok(())
    }

    /// Reads octets that arrived, if the plan is that somebody does.
    fn read(&self, octets: &[u8]) {
        if self.plan.is_fresh {
            let _nobody_asks = payload::read(octets);
        }
    }

    fn count(&self, received: &[Received]) -> Result<(), PerfError> {
        let planned = usize::try_from(self.plan.message_bytes).map_err(broke_off)?;
        let lengths = received.iter().map(|received| received.message.payload.len());
        let wrong_length = lengths.clone().filter(|length| *length != planned).count();
        let counted = |count: usize| u64::try_from(count).map_err(broke_off);
        let arrived = Arrived { messages: counted(received.len())?, octets: counted(lengths.sum())? };
        self.tally.add(arrived, counted(wrong_length)?);
        Ok(())
    }

    /// Counts what arrives over TCP, which knows no messages: they are counted by their length.
    async fn take_in_tcp(&self, stream: &mut TcpStream) -> Result<(), PerfError> {
        stream.set_nodelay(self.plan.is_echoed).map_err(broke_off)?;
        let mut buffer = vec![0; TCP_BUFFER_BYTES];
        let (mut octets, mut messages) = (0_u64, 0_u64);
        loop {
            let len = stream.read(&mut buffer).await.map_err(broke_off)?;
            if len == 0 {
                break;
            }
            self.read(&buffer[..len]);
            if self.plan.is_echoed {
                stream.write_all(&buffer[..len]).await.map_err(broke_off)?;
            }
            let len = u64::try_from(len).map_err(broke_off)?;
            octets += len;
            let whole = octets / u64::from(self.plan.message_bytes.max(1));
            self.tally.add(Arrived { messages: whole - messages, octets: len }, 0);
            messages = whole;
        }
        stream.shutdown().await.map_err(broke_off)
    }
}

/// The longest time that the server waits: for an opening after the handshake, for connections to be over after
/// the client said so.
const OPENING_TIME: Duration = Duration::from_secs(5);
const INTERVAL: Duration = Duration::from_secs(1);
/// Messages taken with one call.
const AT_ONCE: usize = 256;
const TCP_BUFFER_BYTES: usize = 256 << 10;

//! The clients: each is told the newest line as fast as it reads, and none holds up another.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::UnixStream;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::timeout;

/// All clients, each a task that shares the newest line with the others: one that does not read costs its socket's buffer.
#[derive(Debug)]
pub(crate) struct Clients {
    line: watch::Sender<Arc<str>>,
    tasks: JoinSet<Departure>,
    most: usize,
    /// How many were dropped, by the reason.
    pub(crate) dropped: BTreeMap<&'static str, u64>,
}

/// The way in which a client went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Departure {
    /// The client has closed the connection.
    Left,
    /// The client did not read.
    Slow,
    /// The client said something, where nothing is to be said.
    Spoke,
}

impl Clients {
    pub(crate) fn new(most: usize) -> Self {
        let (line, _) = watch::channel("".into());
        Self { line, tasks: JoinSet::new(), most, dropped: BTreeMap::new() }
    }

    pub(crate) fn set_most(&mut self, most: usize) {
        self.most = most;
    }

    pub(crate) fn count(&self) -> usize {
        self.tasks.len()
    }

    /// Hands every client a line, in place of one that it has not read.
    pub(crate) fn tell(&self, line: String) {
        self.line.send_replace(line.into());
    }

    pub(crate) fn admit(&mut self, stream: UnixStream) {
        let who = stream.peer_cred().ok();
        let (pid, uid) = (who.and_then(|who| who.pid()), who.map(|who| who.uid()));
        if self.tasks.len() >= self.most {
            *self.dropped.entry("too_many").or_default() += 1;
            tracing::warn!(
                pid,
                uid,
                most = self.most,
                "a client is turned away: daemon.clients are connected"
            );
            // A new socket has room for this, or its peer is gone.
            let _told = stream.try_write(b"{\"error\":\"too many clients; see daemon.clients\"}\n");
            return;
        }
        let lines = self.line.subscribe();
        self.tasks.spawn(async move {
            let departure = serve(stream, lines).await;
            match departure {
                Departure::Left => tracing::debug!(pid, uid, "a client has left"),
                Departure::Slow => tracing::warn!(pid, uid, "a client is dropped: it does not read"),
                Departure::Spoke => tracing::warn!(pid, uid, "a client is dropped: it says something"),
            }
            departure
        });
    }

    /// Waits until a client has gone; for ever while there is none.
    pub(crate) async fn departure(&mut self) {
        let gone = match self.tasks.join_next().await {
            Some(gone) => gone.unwrap_or(Departure::Left),
            None => std::future::pending().await,
        };
        let reason = match gone {
            Departure::Left => return,
            Departure::Slow => "slow",
            Departure::Spoke => "spoke",
        };
        *self.dropped.entry(reason).or_default() += 1;
    }
}

/// Writes the newest line whenever there is a newer one than was written last.
async fn serve(mut stream: UnixStream, mut lines: watch::Receiver<Arc<str>>) -> Departure {
    let (mut reading, mut writing) = stream.split();
    let mut said = [0_u8; 1];
    loop {
        let line = Arc::clone(&lines.borrow_and_update());
        match timeout(PATIENCE, writing.write_all(line.as_bytes())).await {
            Ok(Ok(())) => {}
            Ok(Err(_)) => return Departure::Left,
            Err(_) => return Departure::Slow,
        }
        tokio::select! {
            changed = lines.changed() => if changed.is_err() { return Departure::Left },
            read = reading.read(&mut said) => return match read {
                Ok(0) | Err(_) => Departure::Left,
                Ok(_) => {
                    let refusal = b"{\"error\":\"nothing is to be said here\"}\n";
                    let _told = timeout(PATIENCE, writing.write_all(refusal)).await;
                    Departure::Spoke
                }
            },
        }
    }
}

/// How long a client may read nothing while a line waits.
const PATIENCE: Duration = Duration::from_secs(30);

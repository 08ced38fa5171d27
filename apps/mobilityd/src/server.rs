//! The socket: one daemon has it, and every client is told each line or is dropped.

use std::fs::{File, TryLockError};
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use interface_watch::{InterfaceWatch, Told};
use tokio::io::unix::AsyncFd;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use virtual_time::Instant;

use crate::config::Settings;
use crate::view::View;

/// The daemon at work.
#[derive(Debug)]
pub(crate) struct Server {
    view: View,
    watch: AsyncFd<InterfaceWatch>,
    listener: UnixListener,
    clients: Vec<Client>,
    settings: Settings,
    began: std::time::Instant,
    /// Held as long as the daemon lives.
    _lock: File,
}

/// The reason why the daemon cannot begin, or go on.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ServeError {
    #[error("another mobilityd has the socket {}", .0.display())]
    Taken(PathBuf),
    #[error("the socket {} cannot be had: {because}", path.display())]
    Socket { path: PathBuf, because: io::Error },
    #[error("the interfaces of this host cannot be watched: {0}")]
    Watch(io::Error),
    #[error("a line cannot be written: {0}")]
    Line(#[from] serde_json::Error),
}

#[derive(Debug)]
struct Client {
    lines: mpsc::Sender<Arc<str>>,
    task: JoinHandle<()>,
}

impl Server {
    /// Takes the socket, and reads what interfaces there are.
    pub(crate) fn new(settings: Settings) -> Result<Self, ServeError> {
        let failed = |because| ServeError::Socket { path: settings.socket.clone(), because };
        let mut lock_path = settings.socket.clone().into_os_string();
        lock_path.push(".lock");
        let lock = File::create(lock_path).map_err(failed)?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(ServeError::Taken(settings.socket)),
            Err(TryLockError::Error(error)) => return Err(failed(error)),
        }
        match std::fs::remove_file(&settings.socket) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(failed(error)),
            Ok(()) | Err(_) => {}
        }
        let mut watch = InterfaceWatch::open().map_err(ServeError::Watch)?;
        let mut view = View::new(&settings);
        let now = Instant::from_millis(0);
        view.take_in(now, None, &mut watch).map_err(ServeError::Watch)?;
        view.look(now);
        let listener = UnixListener::bind(&settings.socket).map_err(failed)?;
        let watch = register(watch).map_err(ServeError::Watch)?;
        let began = std::time::Instant::now();
        Ok(Self { view, watch, listener, clients: Vec::new(), settings, began, _lock: lock })
    }

    /// Tells whoever asks, until the kernel fails.
    pub(crate) async fn run(&mut self) -> Result<(), ServeError> {
        loop {
            let wake = self.view.poll_timeout();
            let now = self.now();
            tokio::select! {
                told = told(&mut self.watch) => {
                    let now = self.now();
                    let told = told.map_err(ServeError::Watch)?;
                    let watch = self.watch.get_mut();
                    self.view.take_in(now, Some(told), watch).map_err(ServeError::Watch)?;
                }
                accepted = self.listener.accept() => match accepted {
                    Ok((stream, _)) => self.admit(stream)?,
                    Err(error) => {
                        tracing::warn!(%error, "a client could not be accepted");
                        tokio::time::sleep(RETRY).await;
                    }
                },
                () = reached(now, wake) => {}
            }
            if self.view.look(self.now()) {
                self.tell()?;
            }
        }
    }

    fn now(&self) -> Instant {
        Instant::from_millis(u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX))
    }

    fn admit(&mut self, stream: UnixStream) -> Result<(), ServeError> {
        self.clients.retain(|client| !client.lines.is_closed());
        if self.clients.len() >= self.settings.clients {
            tracing::warn!(clients = self.clients.len(), "a client is turned away: there are as many as may be");
            return Ok(());
        }
        let (lines, waiting) = mpsc::channel(self.settings.queued_lines);
        let snapshot: Arc<str> = self.view.line()?.into();
        let task = tokio::spawn(write(stream, snapshot, waiting));
        self.clients.push(Client { lines, task });
        Ok(())
    }

    fn tell(&mut self) -> Result<(), ServeError> {
        let line: Arc<str> = self.view.line()?.into();
        self.clients.retain(|client| match client.lines.try_send(Arc::clone(&line)) {
            Ok(()) => true,
            Err(mpsc::error::TrySendError::Closed(_)) => false,
            Err(mpsc::error::TrySendError::Full(_)) => {
                tracing::warn!("a client is dropped: it does not read what it is told");
                client.task.abort();
                false
            }
        });
        Ok(())
    }
}

/// Writes to a client until it goes, or says something: it has nothing to say.
async fn write(mut stream: UnixStream, snapshot: Arc<str>, mut waiting: mpsc::Receiver<Arc<str>>) {
    let mut next = snapshot;
    let mut said = [0_u8; 1];
    while stream.write_all(next.as_bytes()).await.is_ok() {
        next = tokio::select! {
            line = waiting.recv() => match line {
                Some(line) => line,
                None => return,
            },
            _ = stream.read(&mut said) => return,
        };
    }
}

/// Registers the watch with tokio's constructor that needs no `unsafe`. It is deprecated for types whose descriptor may change or close
/// behind tokio's back; the one in an [`InterfaceWatch`] can do neither.
#[allow(deprecated)]
fn register(watch: InterfaceWatch) -> io::Result<AsyncFd<InterfaceWatch>> {
    AsyncFd::new(watch)
}

async fn told(watch: &mut AsyncFd<InterfaceWatch>) -> io::Result<Told> {
    let mut ready = watch.readable_mut().await?;
    let told = ready.get_inner_mut().poll()?;
    // After events nothing is left to read; after a loss there may be.
    if told != Told::Missed {
        ready.clear_ready();
    }
    Ok(told)
}

async fn reached(now: Instant, wake: Option<Instant>) {
    match wake {
        // The clock counts whole milliseconds: not a part of one too early.
        Some(wake) => tokio::time::sleep(wake.since(now) + Duration::from_millis(1)).await,
        None => std::future::pending().await,
    }
}

const RETRY: Duration = Duration::from_millis(100);

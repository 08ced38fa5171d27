//! The page that Prometheus reads, and the socket that it is read from.

use std::fmt::Write;
use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;

/// The page that Prometheus reads (text format 0.0.4).
#[derive(Clone, Debug, Default)]
pub struct Page(String);

impl Page {
    /// Writes a value of its own; `kind` is `gauge` or `counter`.
    pub fn plain(&mut self, name: &str, kind: &str, help: &str, value: impl std::fmt::Display) {
        self.line(format_args!("# HELP {name} {help}"));
        self.line(format_args!("# TYPE {name} {kind}"));
        self.line(format_args!("{name} {value}"));
    }

    /// Writes a gauge for each value of a label.
    pub fn labelled_gauge(
        &mut self,
        name: &str,
        help: &str,
        label: &str,
        values: impl Iterator<Item = (String, u64)>,
    ) {
        self.lines_of("gauge", name, help, label, values);
    }

    /// Writes a counter for each value of a label.
    pub fn labelled(
        &mut self,
        name: &str,
        help: &str,
        label: &str,
        values: impl Iterator<Item = (String, u64)>,
    ) {
        self.lines_of("counter", name, help, label, values);
    }

    fn lines_of(
        &mut self,
        kind: &str,
        name: &str,
        help: &str,
        label: &str,
        values: impl Iterator<Item = (String, u64)>,
    ) {
        self.line(format_args!("# HELP {name} {help}"));
        self.line(format_args!("# TYPE {name} {kind}"));
        for (value, count) in values {
            self.line(format_args!("{name}{{{label}=\"{value}\"}} {count}"));
        }
    }

    /// Writes a histogram of seconds: how many were no longer than each bound, in milliseconds, how many there were at all, and
    /// their sum.
    pub fn histogram(
        &mut self,
        name: &str,
        help: &str,
        counts: impl Iterator<Item = (u64, u64)>,
        count: u64,
        sum: Duration,
    ) {
        self.line(format_args!("# HELP {name} {help}"));
        self.line(format_args!("# TYPE {name} histogram"));
        let mut so_far = 0;
        for (bound_ms, count) in counts {
            so_far += count;
            let bound = Duration::from_millis(bound_ms).as_secs_f64();
            self.line(format_args!("{name}_bucket{{le=\"{bound}\"}} {so_far}"));
        }
        self.line(format_args!("{name}_bucket{{le=\"+Inf\"}} {count}"));
        self.line(format_args!("{name}_sum {}", sum.as_secs_f64()));
        self.line(format_args!("{name}_count {count}"));
    }

    /// Returns the text of the page.
    #[must_use]
    pub fn into_text(self) -> String {
        self.0
    }

    fn line(&mut self, line: std::fmt::Arguments<'_>) {
        // Writing to a String does not fail.
        let _ = writeln!(self.0, "{line}");
    }
}

/// Serves the page at an address, which may change.
#[derive(Debug, Default)]
pub struct Scraping {
    scrapes: Option<mpsc::Sender<oneshot::Sender<String>>>,
    task: Option<JoinHandle<()>>,
}

impl Scraping {
    /// Creates the server of nobody yet; pages are asked for through `scrapes`.
    #[must_use]
    pub const fn new(scrapes: mpsc::Sender<oneshot::Sender<String>>) -> Self {
        Self { scrapes: Some(scrapes), task: None }
    }

    /// Serves there from now on, and nowhere else.
    pub fn begin(&mut self, listener: TcpListener) {
        self.stop();
        self.task = self.scrapes.clone().map(|scrapes| tokio::spawn(serve(listener, scrapes)));
    }

    /// Serves at another address, if that can be had.
    ///
    /// # Errors
    ///
    /// The address cannot be had; nothing changes then.
    pub fn move_to(&mut self, address: Option<SocketAddr>) -> io::Result<()> {
        let Some(address) = address else {
            self.stop();
            return Ok(());
        };
        let listener = std::net::TcpListener::bind(address)?;
        listener.set_nonblocking(true)?;
        self.begin(TcpListener::from_std(listener)?);
        Ok(())
    }

    /// Stops serving the page, and serves nobody any more.
    pub fn stop(&mut self) {
        if let Some(task) = self.task.take() {
            task.abort();
        }
    }
}

/// Answers `GET /metrics` until the server stops.
async fn serve(listener: TcpListener, scrapes: mpsc::Sender<oneshot::Sender<String>>) {
    while !scrapes.is_closed() {
        match listener.accept().await {
            Ok((stream, _)) => {
                let answered = answer(stream, scrapes.clone());
                tokio::spawn(async move { tokio::time::timeout(PATIENCE, answered).await });
            }
            Err(error) => {
                tracing::warn!(%error, "a connection for metrics could not be accepted");
                tokio::time::sleep(RETRY).await;
            }
        }
    }
}

async fn answer(mut stream: TcpStream, scrapes: mpsc::Sender<oneshot::Sender<String>>) -> Option<()> {
    let mut request = Vec::new();
    while !request.windows(4).any(|end| end == b"\r\n\r\n") {
        if request.len() > MOST_REQUEST_BYTES || stream.read_buf(&mut request).await.ok()? == 0 {
            return None;
        }
    }
    let (status, body) = if request.starts_with(b"GET /metrics ") {
        let (reply, page) = oneshot::channel();
        scrapes.send(reply).await.ok()?;
        ("200 OK", page.await.ok()?)
    } else {
        ("404 Not Found", "metrics are at /metrics\n".to_owned())
    };
    let length = body.len();
    let kind = "Content-Type: text/plain; version=0.0.4";
    let head =
        format!("HTTP/1.1 {status}\r\n{kind}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n");
    stream.write_all(head.as_bytes()).await.ok()?;
    stream.write_all(body.as_bytes()).await.ok()?;
    stream.shutdown().await.ok()
}

const MOST_REQUEST_BYTES: usize = 4096;
const PATIENCE: Duration = Duration::from_secs(5);
const RETRY: Duration = Duration::from_millis(100);

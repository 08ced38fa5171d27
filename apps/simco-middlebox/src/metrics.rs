//! Counters, and the page that Prometheus reads (text format 0.0.4).

use std::collections::BTreeMap;
use std::fmt::Write;
use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;

/// The counters of what has happened since the start.
#[derive(Clone, Debug, Default)]
pub(crate) struct Counters {
    /// Changes of rules by their kind.
    pub(crate) changes: BTreeMap<&'static str, u64>,
    /// Refused requests by their code.
    pub(crate) refusals: BTreeMap<u16, u64>,
    /// Connections closed, by the reason.
    pub(crate) closed: BTreeMap<&'static str, u64>,
    pub(crate) sessions_opened: u64,
    pub(crate) authentication_failures: u64,
    pub(crate) filter_failures: u64,
    /// How often the packet filter was damaged by others, by the kind of damage.
    pub(crate) filter_damages: BTreeMap<&'static str, u64>,
    pub(crate) turned_away: u64,
}

/// How things stand.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Gauges {
    pub(crate) rules: usize,
    pub(crate) sessions: usize,
    pub(crate) connections: usize,
    /// The interfaces of the protected network that are not there, in number.
    pub(crate) missing_interfaces: usize,
    /// The packet filter is as we left it.
    pub(crate) is_filter_whole: bool,
    /// Lines of the audit log that were lost.
    pub(crate) audit_lost: u64,
    /// The operator lets everything pass, or no packet is touched.
    pub(crate) is_open: bool,
}

impl Counters {
    /// Returns the page.
    pub(crate) fn page(&self, gauges: Gauges) -> String {
        let mut page = Page(String::new());
        page.plain("simco_rules", "gauge", "Policy rules alive.", gauges.rules);
        page.plain("simco_sessions", "gauge", "Open sessions.", gauges.sessions);
        page.plain(
            "simco_connections",
            "gauge",
            "Connections, with a session or not yet.",
            gauges.connections,
        );
        page.plain(
            "simco_filter_whole",
            "gauge",
            "1 if the packet filter is as the daemon wrote it; 0: nothing is granted.",
            u8::from(gauges.is_filter_whole),
        );
        page.plain(
            "simco_filter_open",
            "gauge",
            "1 if everything passes: the operator wants it, or there is no packet filter.",
            u8::from(gauges.is_open),
        );
        page.plain(
            "simco_inside_missing",
            "gauge",
            "Interfaces of filter.inside that are not there; packets of one that was renamed pass unfiltered.",
            gauges.missing_interfaces,
        );
        let damages = self.filter_damages.iter().map(|(kind, count)| ((*kind).to_owned(), *count));
        page.labelled(
            "simco_filter_damages_total",
            "Times that others have changed the packet filter and it was written anew.",
            "kind",
            damages,
        );
        page.plain("simco_sessions_opened_total", "counter", "Sessions opened.", self.sessions_opened);
        let failures = self.authentication_failures;
        page.plain(
            "simco_authentication_failures_total",
            "counter",
            "Agents that did not prove who they are.",
            failures,
        );
        let failures = self.filter_failures;
        page.plain("simco_filter_failures_total", "counter", "Calls the packet filter refused.", failures);
        let lost = gauges.audit_lost;
        page.plain("simco_audit_lost_total", "counter", "Lines of the audit log that were lost.", lost);
        let away = self.turned_away;
        page.plain("simco_turned_away_total", "counter", "Connections beyond a host's share.", away);
        let refusals = self.refusals.iter().map(|(code, count)| (format!("0x{code:04X}"), *count));
        page.labelled("simco_refusals_total", "Requests refused, by negative reply.", "code", refusals);
        let changes = self.changes.iter().map(|(kind, count)| ((*kind).to_owned(), *count));
        page.labelled("simco_changes_total", "Changes of policy rules.", "kind", changes);
        let closed = self.closed.iter().map(|(reason, count)| ((*reason).to_owned(), *count));
        page.labelled("simco_closed_total", "Connections closed by the middlebox.", "reason", closed);
        page.0
    }
}

struct Page(String);

impl Page {
    fn plain(&mut self, name: &str, kind: &str, help: &str, value: impl std::fmt::Display) {
        self.line(format_args!("# HELP {name} {help}"));
        self.line(format_args!("# TYPE {name} {kind}"));
        self.line(format_args!("{name} {value}"));
    }

    fn labelled(&mut self, name: &str, help: &str, label: &str, values: impl Iterator<Item = (String, u64)>) {
        self.line(format_args!("# HELP {name} {help}"));
        self.line(format_args!("# TYPE {name} counter"));
        for (value, count) in values {
            self.line(format_args!("{name}{{{label}=\"{value}\"}} {count}"));
        }
    }

    fn line(&mut self, line: std::fmt::Arguments<'_>) {
        // Writing to a String does not fail.
        let _ = writeln!(self.0, "{line}");
    }
}

/// Serves the page at an address, which may change.
#[derive(Debug, Default)]
pub(crate) struct Scraping {
    scrapes: Option<mpsc::Sender<oneshot::Sender<String>>>,
    task: Option<JoinHandle<()>>,
}

impl Scraping {
    pub(crate) const fn new(scrapes: mpsc::Sender<oneshot::Sender<String>>) -> Self {
        Self { scrapes: Some(scrapes), task: None }
    }

    /// Serves there from now on, and nowhere else.
    pub(crate) fn begin(&mut self, listener: TcpListener) {
        self.stop();
        self.task = self.scrapes.clone().map(|scrapes| tokio::spawn(serve(listener, scrapes)));
    }

    /// Serves at another address, if that can be had.
    pub(crate) fn move_to(&mut self, address: Option<SocketAddr>) -> io::Result<()> {
        let Some(address) = address else {
            self.stop();
            return Ok(());
        };
        let listener = std::net::TcpListener::bind(address)?;
        listener.set_nonblocking(true)?;
        self.begin(TcpListener::from_std(listener)?);
        Ok(())
    }

    pub(crate) fn stop(&mut self) {
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

//! The daemon at work: what the kernel tells becomes lines.

use std::io;
use std::time::{Duration, SystemTime};

use daemon::{Control, Page, Scraping};
use interface_watch::LiveWatch;
use tokio::sync::{mpsc, oneshot};
use virtual_time::Instant;

use crate::clients::Clients;
use crate::config::Settings;
use crate::socket::{Socket, SocketError};
use crate::view::View;

/// The daemon at work.
#[derive(Debug)]
pub(crate) struct Server {
    settings: Settings,
    clock: Clock,
    view: View,
    watch: LiveWatch,
    socket: Socket,
    clients: Clients,
    scraping: Scraping,
    scrapes: mpsc::Receiver<oneshot::Sender<String>>,
    /// How often everything was read.
    readings: u64,
}

/// The reason why the daemon cannot begin, or go on.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ServeError {
    #[error(transparent)]
    Socket(#[from] SocketError),
    #[error("the interfaces of this host cannot be watched: {0}")]
    Watch(#[from] io::Error),
    #[error("daemon.metrics = {address}: {because}")]
    Metrics { address: std::net::SocketAddr, because: io::Error },
    #[error("a line cannot be written: {0}")]
    Line(#[from] serde_json::Error),
}

impl Server {
    /// Takes the socket, and reads what interfaces there are.
    pub(crate) fn new(settings: Settings) -> Result<Self, ServeError> {
        let socket = Socket::open(&settings.socket)?;
        let clock = Clock::new();
        let (requests, scrapes) = mpsc::channel(1);
        let mut scraping = Scraping::new(requests);
        if let Some(address) = settings.metrics {
            let moved = scraping.move_to(Some(address));
            moved.map_err(|because| ServeError::Metrics { address, because })?;
        }
        let mut server = Self {
            view: View::new(&settings, clock.began_ms()),
            watch: LiveWatch::open()?,
            clients: Clients::new(settings.clients),
            readings: 0,
            settings,
            clock,
            socket,
            scraping,
            scrapes,
        };
        server.read_anew()?;
        server.view.look(server.clock.now());
        server.tell()?;
        Ok(server)
    }

    /// Tells whoever asks, until it is stopped or the kernel fails.
    pub(crate) async fn run(
        mut self,
        mut controls: mpsc::Receiver<Control<Settings>>,
    ) -> Result<(), ServeError> {
        loop {
            let wake = self.clock.reached(self.view.poll_timeout());
            tokio::select! {
                told = self.watch.told() => {
                    if self.view.take_in(self.clock.now(), told?) {
                        self.read_anew()?;
                    }
                }
                accepted = self.socket.listener.accept() => match accepted {
                    Ok((stream, _)) => self.clients.admit(stream),
                    Err(error) => {
                        tracing::warn!(%error, "a client could not be accepted");
                        tokio::time::sleep(RETRY).await;
                    }
                },
                () = self.clients.departure() => {}
                Some(reply) = self.scrapes.recv() => {
                    let _gone = reply.send(self.page());
                }
                control = controls.recv() => match control {
                    Some(Control::Reload(settings)) => self.reload(*settings),
                    Some(Control::Stop) | None => return Ok(()),
                },
                () = wake => {}
            }
            if self.view.look(self.clock.now()) {
                self.tell()?;
                // What comes together is told together: the work is bounded, however fast interfaces change.
                tokio::time::sleep(PAUSE).await;
            }
        }
    }

    fn read_anew(&mut self) -> Result<(), ServeError> {
        let events = self.watch.read_all()?;
        self.readings += 1;
        self.view.read_anew(self.clock.now(), events);
        Ok(())
    }

    fn tell(&self) -> Result<(), ServeError> {
        self.clients.tell(serde_json::to_string(self.view.line())? + "\n");
        Ok(())
    }

    fn reload(&mut self, settings: Settings) {
        if settings.socket != self.settings.socket {
            tracing::warn!("daemon.socket stays as it was until a restart");
        }
        if settings.metrics != self.settings.metrics
            && let Err(error) = self.scraping.move_to(settings.metrics)
        {
            tracing::error!(%error, "daemon.metrics stays as it was");
        }
        self.clients.set_most(settings.clients);
        self.view.configure(&settings);
        self.settings = Settings { socket: self.settings.socket.clone(), ..settings };
        tracing::info!("the configuration was read again");
    }

    fn page(&self) -> String {
        let mut page = Page::default();
        let refused = self.view.refused();
        let dropped = self.clients.dropped.iter().map(|(reason, count)| ((*reason).to_owned(), *count));
        let refused = [
            ("too_fast", refused.too_fast),
            ("too_many_interfaces", refused.too_many_interfaces),
            ("too_many_addresses", refused.too_many_addresses),
        ];
        let refused = refused.map(|(reason, count)| (reason.to_owned(), count));
        page.plain("mobility_clients", "gauge", "Clients that are connected.", self.clients.count());
        let help = "Changes that clients were told of.";
        page.plain("mobility_changes_total", "counter", help, self.view.line().sequence);
        let help = "Readings of all interfaces: at the start, and whenever something was missed.";
        page.plain("mobility_readings_total", "counter", help, self.readings);
        let help = "Clients that were dropped or turned away.";
        page.labelled("mobility_clients_dropped_total", help, "reason", dropped);
        let help = "Facts of the kernel beyond a bound.";
        page.labelled("mobility_facts_refused_total", help, "reason", refused.into_iter());
        page.into_text()
    }
}

/// Time since 1970, which is never set back while the daemon lives.
#[derive(Debug)]
struct Clock {
    began: std::time::Instant,
    began_at: Instant,
}

impl Clock {
    fn new() -> Self {
        let since_1970 = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        Self { began: std::time::Instant::now(), began_at: Instant::EPOCH + since_1970 }
    }

    fn now(&self) -> Instant {
        self.began_at + self.began.elapsed()
    }

    fn began_ms(&self) -> u64 {
        self.began_at.as_nanos() / 1_000_000
    }

    /// Waits until this time; for ever without one.
    fn reached(&self, wake: Option<Instant>) -> impl Future<Output = ()> + use<> {
        let pause = wake.map(|wake| wake.since(self.now()));
        async move {
            match pause {
                Some(pause) => tokio::time::sleep(pause).await,
                None => std::future::pending().await,
            }
        }
    }
}

const RETRY: Duration = Duration::from_millis(100);
const PAUSE: Duration = Duration::from_millis(1);

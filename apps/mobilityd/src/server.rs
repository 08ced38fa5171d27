//! The daemon at work: what the kernel tells becomes lines.

use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::{Duration, SystemTime};

use daemon::{Control, Page, Scraping};
use interface_watch::LiveWatch;
use tokio::net::UdpSocket;
use tokio::sync::{mpsc, oneshot};
use virtual_time::Instant;

use crate::clients::Clients;
use crate::config::Settings;
use crate::names::{HostName, NameSettings};
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
    name: Option<Naming>,
    scraping: Scraping,
    scrapes: mpsc::Receiver<oneshot::Sender<String>>,
    /// How often everything was read.
    readings: u64,
}

/// The host's name, and the socket over which its server is told.
#[derive(Debug)]
struct Naming {
    name: HostName,
    socket: UdpSocket,
}

impl Naming {
    async fn open(settings: NameSettings) -> Result<Self, ServeError> {
        let server = settings.server;
        // Of no address: the host has another one every now and then, and the kernel takes the one that fits.
        let own: SocketAddr = match server {
            SocketAddr::V4(_) => (Ipv4Addr::UNSPECIFIED, 0).into(),
            SocketAddr::V6(_) => (Ipv6Addr::UNSPECIFIED, 0).into(),
        };
        let socket = UdpSocket::bind(own).await.map_err(|because| ServeError::Names { server, because })?;
        let port = socket.local_addr().map_or(0, |own| own.port());
        Ok(Self { name: HostName::new(settings, port), socket })
    }

    /// Waits for an answer of the server, and takes it in.
    async fn answered(&mut self) {
        let mut buffer = [0; LONGEST_ANSWER];
        match self.socket.recv_from(&mut buffer).await {
            Ok((length, from)) if from == self.name.settings().server => {
                self.name.handle_response(&buffer[..length]);
            }
            Ok((_, from)) => tracing::debug!(%from, "nobody was asked there"),
            // What an update met on its way; it is sent again.
            Err(error) => tracing::debug!(%error, "the name server cannot be reached"),
        }
    }

    async fn tell(&mut self, now: Instant) {
        if let Some(octets) = self.name.poll_transmit(now, unix_s())
            && let Err(error) = self.socket.send_to(&octets, self.name.settings().server).await
        {
            tracing::debug!(%error, "the name server cannot be told yet");
        }
    }
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
    #[error("names.server = {server}: {because}")]
    Names { server: std::net::SocketAddr, because: io::Error },
    #[error("a line cannot be written: {0}")]
    Line(#[from] serde_json::Error),
}

impl Server {
    /// Takes the socket, and reads what interfaces there are.
    pub(crate) async fn new(settings: Settings) -> Result<Self, ServeError> {
        let socket = Socket::open(&settings.socket)?;
        let clock = Clock::new();
        let (requests, scrapes) = mpsc::channel(1);
        let mut scraping = Scraping::new(requests);
        if let Some(address) = settings.metrics {
            let moved = scraping.move_to(Some(address));
            moved.map_err(|because| ServeError::Metrics { address, because })?;
        }
        let name = match settings.names.clone() {
            Some(names) => Some(Naming::open(names).await?),
            None => None,
        };
        let mut server = Self {
            name,
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
        server.name_host();
        Ok(server)
    }

    /// Tells whoever asks, until it is stopped or the kernel fails.
    pub(crate) async fn run(
        mut self,
        mut controls: mpsc::Receiver<Control<Settings>>,
    ) -> Result<(), ServeError> {
        loop {
            let due = self.name.as_ref().and_then(|naming| naming.name.poll_timeout());
            let wake = self.clock.reached(self.view.poll_timeout().into_iter().chain(due).min());
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
                () = answered(&mut self.name) => {}
                () = wake => {}
            }
            if self.view.look(self.clock.now()) {
                self.tell()?;
                self.name_host();
                // What comes together is told together: the work is bounded, however fast interfaces change.
                tokio::time::sleep(PAUSE).await;
            }
            if let Some(naming) = &mut self.name {
                naming.tell(self.clock.now()).await;
            }
        }
    }

    /// The name is to have the addresses that the line says.
    fn name_host(&mut self) {
        if let Some(Naming { name, .. }) = &mut self.name {
            let of = self.view.line().state.applications.get(&name.settings().application);
            name.look(self.clock.now(), of);
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
        if settings.names != self.settings.names {
            tracing::warn!("names stays as it was until a restart");
        }
        if settings.metrics != self.settings.metrics
            && let Err(error) = self.scraping.move_to(settings.metrics)
        {
            tracing::error!(%error, "daemon.metrics stays as it was");
        }
        self.clients.set_most(settings.clients);
        self.view.configure(&settings);
        self.settings = settings.after(&self.settings);
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
        if let Some(Naming { name, .. }) = &self.name {
            let counters = name.counters;
            let of = [
                ("sent", counters.sent),
                ("acknowledged", counters.acknowledged),
                ("refused", counters.refused),
                ("ignored", counters.ignored),
            ];
            let help = "Updates of the host's name, and answers to them.";
            let of = of.into_iter().map(|(what, count)| (what.to_owned(), count));
            page.labelled("mobility_name_updates_total", help, "what", of);
        }
        page.into_text()
    }
}

/// Waits for the name server; for ever without a name.
async fn answered(name: &mut Option<Naming>) {
    match name {
        Some(naming) => naming.answered().await,
        None => std::future::pending().await,
    }
}

fn unix_s() -> u64 {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs()
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

/// Octets of an answer to an update.
const LONGEST_ANSWER: usize = 1232;
const RETRY: Duration = Duration::from_millis(100);
const PAUSE: Duration = Duration::from_millis(1);

//! The task that owns all calls: input in, messages, wishes and records out.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use bytes::Bytes;
use call_core::{Calls, Demand, HopAddress, HopName, PinholeId, Refusal};
use daemon::{Control, Scraping};
use sip::{Connection, Endpoint, EndpointConfig, Flow, Transport};
use tokio::net::{TcpListener, UdpSocket};
use tokio::sync::{mpsc, oneshot};
use virtual_time::Instant;

use crate::config::Settings;
use crate::connections::{ConnectionLimits, Opened, Sockets};
use crate::firewall::{Firewall, Wish};
use crate::metrics;
use crate::names::Followers;
use crate::records::Records;

/// Something that happened outside.
#[derive(Debug)]
pub(crate) enum Input {
    /// A whole message came.
    Message(Flow, Bytes),
    /// Somebody has connected.
    Accepted(Opened, SocketAddr),
    /// A connection has ended, or could not be opened.
    Ended(Connection),
    /// A middlebox has decided about a pinhole.
    Verdict(PinholeId, Result<Option<SocketAddr>, Refusal>),
    /// A pinhole is gone.
    Loss(PinholeId),
    /// A name of a next hop was looked up.
    Found(HopName, Vec<HopAddress>),
    /// A session with a middlebox has begun or ended.
    MiddleboxUp(usize, bool),
}

/// The reason why the agent does not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// A socket cannot be had at an address.
    #[error("{key} = {address}: {because}")]
    Bind {
        /// The key of the configuration.
        key: &'static str,
        /// The address that the configuration names.
        address: SocketAddr,
        /// The error that the operating system gave.
        because: io::Error,
    },
    /// The endpoint of SCTP cannot be had.
    #[error("listen.sctp: {0}")]
    Sctp(#[from] sctp::BindError),
    /// The system does not say which servers of DNS it has.
    #[error("dns.servers = []: {0}; name a server, or give routes addresses")]
    Dns(String),
    /// The operating system has no entropy.
    #[error("no entropy from the operating system: {0}")]
    Entropy(#[source] io::Error),
    /// The file for records cannot be opened.
    #[error("records.file = {}: {because}", path.display())]
    Records {
        /// The path of the file for records.
        path: std::path::PathBuf,
        /// The error that the operating system gave.
        because: io::Error,
    },
}

/// An agent that is ready to serve.
#[derive(Debug)]
pub struct Server {
    calls: Calls,
    sockets: Sockets,
    followers: Followers,
    wishes: Vec<mpsc::UnboundedSender<Wish>>,
    are_up: Vec<bool>,
    records: Records,
    scraping: Scraping,
    scrapes: mpsc::Receiver<oneshot::Sender<String>>,
    inputs: mpsc::Receiver<Input>,
    settings: Settings,
    start: tokio::time::Instant,
}

impl Server {
    /// Opens the sockets and begins to connect to the middleboxes.
    ///
    /// # Errors
    ///
    /// See [`StartError`].
    pub async fn new(settings: &Settings) -> Result<Self, StartError> {
        let seed = sctp_io::os_entropy().map_err(StartError::Entropy)?;
        let (sender, inputs) = mpsc::channel(INPUTS);
        let limits = ConnectionLimits {
            connections: settings.connections,
            connections_per_host: settings.connections_per_host,
            messages: settings.endpoint_limits,
        };
        let mut sockets = Sockets::new(sender.clone(), limits);
        sockets.set_tls(settings.tls.clone());
        let addresses = bind(settings, &mut sockets).await?;
        let mut followers = Followers::new(addresses.clone(), sender.clone());
        followers.follow(&settings.dns, settings.calls.names()).map_err(StartError::Dns)?;
        let endpoint = EndpointConfig { limits: settings.endpoint_limits, ..EndpointConfig::new(addresses) };
        let mut wishes = Vec::new();
        for middlebox in &settings.middleboxes {
            let (wish, wanted) = mpsc::unbounded_channel();
            wishes.push(wish);
            tokio::spawn(Firewall::run(middlebox.clone(), sender.clone(), wanted));
        }
        let (scrape, scrapes) = mpsc::channel(1);
        let mut scraping = Scraping::new(scrape);
        if let Some(address) = settings.metrics {
            scraping.move_to(Some(address)).map_err(|because| StartError::Bind {
                key: "metrics.listen",
                address,
                because,
            })?;
        }
        Ok(Self {
            calls: Calls::new(settings.calls.clone(), endpoint, seed),
            sockets,
            followers,
            are_up: vec![false; wishes.len()],
            wishes,
            records: Records::open(settings.records.as_deref())?,
            scraping,
            scrapes,
            inputs,
            settings: settings.clone(),
            start: tokio::time::Instant::now(),
        })
    }

    /// Returns the endpoint, whose addresses are those that were bound.
    #[must_use]
    pub const fn endpoint(&self) -> &Endpoint {
        self.calls.endpoint()
    }

    /// Serves until it is told to stop and the last call has ended, the time for that is over, it is told once more, or nobody can tell
    /// it any more. From the first time on there are no new calls.
    pub async fn run(mut self, mut controls: mpsc::Receiver<Control<Settings>>) {
        let mut ends_at = None;
        loop {
            self.carry_out();
            if ends_at.is_some() && self.calls.is_empty() {
                break;
            }
            let wake = self.calls.poll_timeout().map(|at| self.start + at.since(Instant::EPOCH));
            tokio::select! {
                biased;
                control = controls.recv() => match control {
                    Some(Control::Reload(settings)) => self.reload(*settings),
                    Some(Control::Stop) if ends_at.is_some() => break,
                    Some(Control::Stop) | None => {
                        tracing::info!(calls = self.calls.len(), "no new calls; going down with the last one");
                        self.calls.drain();
                        ends_at = Some(tokio::time::Instant::now() + self.settings.drain);
                    }
                },
                input = self.inputs.recv() => {
                    let Some(input) = input else { break };
                    self.take(input);
                    self.take_more();
                }
                page = self.scrapes.recv() => {
                    if let Some(page) = page {
                        // Whoever asked may have gone.
                        let _gone = page.send(self.page());
                    }
                }
                () = timer(wake) => self.calls.handle_timeout(self.now()),
                () = timer(ends_at) => break,
            }
        }
        self.finish().await;
    }

    /// Ends what is left, and gives pinholes time to be closed.
    async fn finish(mut self) {
        let now = self.now();
        self.calls.end_all(now);
        self.carry_out();
        self.scraping.stop();
        let mut left = self.wishes.len();
        self.wishes.clear();
        let farewell = async {
            while left > 0
                && let Some(input) = self.inputs.recv().await
            {
                left -= usize::from(matches!(input, Input::MiddleboxUp(_, false)));
            }
            // BYEs are on their way.
            tokio::time::sleep(LAST_WORDS).await;
            self.sockets.close().await;
        };
        // What is still open ends with its lifetime.
        let _enough = tokio::time::timeout(FAREWELL, farewell).await;
    }

    /// Takes in what waits already, so that much input needs few turns.
    fn take_more(&mut self) {
        for _ in 0..BATCH {
            let Ok(input) = self.inputs.try_recv() else { return };
            self.take(input);
        }
    }

    fn take(&mut self, input: Input) {
        let now = self.now();
        match input {
            Input::Message(flow, octets) => self.calls.handle_packet(now, flow, &octets),
            Input::Accepted(opened, remote) => self.sockets.serve(opened, remote),
            Input::Ended(connection) => {
                for flow in self.sockets.forget(connection) {
                    self.calls.handle_transport_error(now, flow);
                }
            }
            Input::Verdict(pinhole, verdict) => self.calls.handle_verdict(now, pinhole, verdict),
            Input::Loss(pinhole) => self.calls.handle_loss(now, pinhole),
            Input::Found(name, targets) => {
                self.sockets.set_name(&name.host, targets.iter().map(|target| target.flow.remote));
                self.calls.set_targets(name, targets);
            }
            Input::MiddleboxUp(index, is_up) => self.are_up[index] = is_up,
        }
    }

    /// Carries out everything that the calls want done.
    fn carry_out(&mut self) {
        while let Some(transmit) = self.calls.poll_transmit() {
            self.sockets.send(transmit.flow, transmit.octets);
        }
        while let Some(demand) = self.calls.poll_demand() {
            let (middlebox, wish) = match demand {
                Demand::Open { id, pinhole } => (pinhole.middlebox, Wish::Open(id, pinhole)),
                Demand::Enable { id, pinhole } => (pinhole.middlebox, Wish::Enable(id, pinhole)),
                Demand::Close { id, middlebox } => (middlebox, Wish::Close(id)),
            };
            if let Some(wishes) = self.wishes.get(middlebox) {
                // Its task ends only after us.
                let _over = wishes.send(wish);
            }
        }
        while let Some(record) = self.calls.poll_record() {
            self.records.write(&record);
        }
        self.records.flush();
    }

    fn reload(&mut self, settings: Settings) {
        let needs_a_restart = self.settings.needs_a_restart(&settings).join(", ");
        let mut calls = settings.calls.clone();
        calls.internal.clone_from(&self.settings.calls.internal);
        calls.translators.clone_from(&self.settings.calls.translators);
        self.calls.set_settings(calls);
        self.sockets.set_tls(settings.tls.clone());
        if let Err(error) = self.followers.follow(&settings.dns, settings.calls.names()) {
            tracing::error!(error, "names of next hops cannot be looked up");
        }
        if settings.metrics != self.settings.metrics
            && let Err(error) = self.scraping.move_to(settings.metrics)
        {
            tracing::error!(%error, "metrics.listen cannot be had; metrics stay where they were");
        }
        match Records::open(settings.records.as_deref()) {
            Ok(records) => self.records.go_on_in(records),
            Err(error) => tracing::error!(%error, "records go on where they were"),
        }
        tracing::info!(
            needs_a_restart,
            "the configuration is read again: routes, certificates, limits, records, metrics"
        );
        let internal = std::mem::take(&mut self.settings.calls.internal);
        let translators = self.settings.calls.translators.clone();
        self.settings = settings;
        (self.settings.calls.internal, self.settings.calls.translators) = (internal, translators);
    }

    fn page(&self) -> String {
        let names = self.settings.middleboxes.iter().map(|middlebox| middlebox.name.clone());
        let up: Vec<(String, bool)> = names.zip(self.are_up.iter().copied()).collect();
        metrics::page(&self.calls, &self.sockets, &self.records, &up)
    }

    fn now(&self) -> Instant {
        Instant::EPOCH + self.start.elapsed()
    }
}

/// Opens the sockets; returns the addresses that peers are told.
async fn bind(
    settings: &Settings,
    sockets: &mut Sockets,
) -> Result<Vec<(Transport, SocketAddr)>, StartError> {
    let mut addresses = Vec::new();
    for address in &settings.listen.udp {
        let failed = |because| StartError::Bind { key: "listen.udp", address: *address, because };
        let socket = UdpSocket::bind(address).await.map_err(failed)?;
        let own = socket.local_addr().map_err(failed)?;
        addresses.push((Transport::UDP, own));
        sockets.add_udp(socket, own);
    }
    for address in &settings.listen.tcp {
        let failed = |because| StartError::Bind { key: "listen.tcp", address: *address, because };
        let listener = TcpListener::bind(address).await.map_err(failed)?;
        addresses.push((Transport::TCP, listener.local_addr().map_err(failed)?));
        sockets.add_tcp(listener);
    }
    for address in &settings.listen.tls {
        let failed = |because| StartError::Bind { key: "listen.tls", address: *address, because };
        let listener = TcpListener::bind(address).await.map_err(failed)?;
        addresses.push((Transport::TLS, listener.local_addr().map_err(failed)?));
        sockets.add_tls(listener);
    }
    if let Some(sctp) = &settings.listen.sctp {
        let endpoint = sctp.bind(settings.connections).await?;
        addresses.extend(sctp.told().map(|address| (Transport::SCTP, address)));
        sockets.add_sctp(endpoint, sctp.encapsulation_of_peers());
    }
    Ok(addresses)
}

/// Waits until then; without a time, for ever.
async fn timer(at: Option<tokio::time::Instant>) {
    match at {
        Some(at) => tokio::time::sleep_until(at).await,
        None => std::future::pending().await,
    }
}

/// Inputs that wait; sockets and middleboxes wait with their next until there is room.
const INPUTS: usize = 4096;
/// Inputs taken in before anything is sent.
const BATCH: usize = 64;
/// How long the last messages have.
const FAREWELL: Duration = Duration::from_secs(2);
const LAST_WORDS: Duration = Duration::from_millis(100);

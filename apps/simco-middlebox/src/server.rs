//! The task that owns the middlebox.

mod guard;
mod notes;
mod operate;
mod reload;

use std::collections::BTreeMap;
use std::time::Duration;

use daemon::{Control, Scraping};
use rustix::time::{ClockId, clock_gettime};
use simco::middlebox::{CloseReason, Flow, Middlebox, SessionId};
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::JoinHandle;
use virtual_time::Instant;

use self::guard::Guard;
use self::notes::{Peer, Throttle};
use crate::audit::Audit;
use crate::config::{Settings, TlsIdentity};
use crate::connection::{Hosts, Input, Outgoing, Pace, Writer, over_sctp, over_tcp};
use crate::control::{self, Asked};
use crate::filter::Filter;
use crate::listen::{Opened, StartError};
use crate::metrics::{Counters, Gauges};

/// A middlebox that is ready to serve.
#[derive(Debug)]
pub struct Server {
    middlebox: Middlebox<Filter>,
    writers: BTreeMap<SessionId, Writer>,
    counters: Counters,
    audit: Audit,
    hosts: Hosts,
    /// The identity with which new connections over TCP speak TLS.
    tls: watch::Sender<Option<TlsIdentity>>,
    guard: Guard,
    /// The peers at the other ends, by session.
    peers: BTreeMap<SessionId, Peer>,
    throttle: Throttle,
    /// The clients that metrics are served to.
    scraping: Scraping,
    settings: Settings,
}

impl Server {
    /// Opens the packet filter, which closes the network, and takes over the rules it knows. Whom it serves comes with
    /// [`run`](Self::run).
    ///
    /// # Errors
    ///
    /// See [`StartError`].
    pub fn new(settings: &Settings) -> Result<Self, StartError> {
        let system = |what: &str| {
            let what = what.to_owned();
            move |because| StartError::System { what, because }
        };
        let secret = sctp_io::os_entropy().map_err(system("entropy of the system"))?;
        let now = now();
        settings.filter.check_interfaces()?;
        let kept = daemon::kept(guard::DESCRIPTOR).map_err(system("the descriptor systemd has kept"))?;
        let (filter, rules) = Filter::open(&settings.filter, kept, now)?;
        if let Some(socket) = filter.to_keep()
            && let Err(error) = daemon::keep(guard::DESCRIPTOR, socket)
        {
            tracing::warn!(%error, "systemd keeps no descriptor: killed, the daemon leaves its table to everybody");
        }
        for table in filter.others() {
            tracing::warn!(
                table,
                "another table of a middlebox closes what it closes, and another process may serve it; if it is an old one: nft delete table inet {table}"
            );
        }
        if !filter.is_owner() {
            tracing::warn!(
                "others may change the table: what they do is noticed and mended, but packets pass meanwhile"
            );
        }
        let mut middlebox = Middlebox::new(settings.middlebox.clone(), filter, secret)?;
        // The filter has just brought what stands in line with these.
        let taken_over = middlebox.adopt(now, rules).len();
        tracing::info!(taken_over, "the packet filter is ready");
        let (writers, counters, audit) =
            (BTreeMap::new(), Counters::default(), Audit::new(settings.audit.is_some()));
        let hosts = Hosts::new(settings.connections_per_host);
        let (tls, _) = watch::channel(settings.tls.clone());
        let (peers, throttle, settings) = (BTreeMap::new(), Throttle::default(), settings.clone());
        Ok(Self {
            middlebox,
            writers,
            counters,
            audit,
            hosts,
            tls,
            guard: Guard::new(),
            peers,
            throttle,
            scraping: Scraping::default(),
            settings,
        })
    }

    /// Serves what is opened as soon as it is, until it is told to stop, or nobody can tell it any more: sessions end then with AST, rules
    /// stay. The packet filter is looked after from the beginning. After a reload sessions go on where the agent still may connect.
    pub async fn run(
        mut self,
        opening: impl Future<Output = Opened>,
        mut controls: mpsc::Receiver<Control<Settings>>,
    ) {
        let (sender, mut inputs) = mpsc::channel(INPUTS);
        let (scrape, mut scrapes) = mpsc::channel(1);
        let (asked, mut commands) = mpsc::channel(1);
        let (mut accepting, mut gates) = (Vec::new(), Some((sender, scrape, asked)));
        let mut opening = std::pin::pin!(opening);
        let mut waiting = Vec::with_capacity(INPUTS);
        loop {
            let wait = self.middlebox.poll_timeout().map_or(LONGEST_WAIT, |at| at.since(now()));
            tokio::select! {
                opened = &mut opening, if gates.is_some() => if let Some((sender, scrape, asked)) = gates.take() {
                    accepting = self.accept(opened, sender, scrape, asked);
                },
                _ = inputs.recv_many(&mut waiting, INPUTS) => self.take(&mut waiting),
                () = tokio::time::sleep(wait.min(LONGEST_WAIT)) => self.middlebox.handle_timeout(now()),
                () = self.guard.due(), if self.middlebox.filter().is_watched() => self.look_after_filter(),
                Some(reply) = scrapes.recv() => self.answer(reply),
                Some(asked) = commands.recv() => self.obey(asked),
                control = controls.recv() => match control {
                    Some(Control::Reload(settings)) => self.reload(*settings),
                    Some(Control::Stop) | None => break,
                },
            }
            self.hand_out();
        }
        accepting.iter().for_each(JoinHandle::abort);
        self.scraping.stop();
        drop(gates);
        self.stop(inputs).await;
    }

    /// Begins to take connections.
    fn accept(
        &mut self,
        opened: Opened,
        sender: mpsc::Sender<Input>,
        scrape: mpsc::Sender<oneshot::Sender<String>>,
        asked: mpsc::Sender<Asked>,
    ) -> Vec<JoinHandle<()>> {
        let Opened { listeners, audit, control } = opened;
        self.audit.go_on_in(audit);
        let mut accepting = Vec::new();
        for listener in listeners.tcp {
            let tls = self.tls.subscribe();
            accepting.push(tokio::spawn(over_tcp::accept(listener, tls, self.hosts.clone(), sender.clone())));
        }
        if let Some(endpoint) = listeners.sctp {
            accepting.push(tokio::spawn(over_sctp::accept(endpoint, self.hosts.clone(), sender)));
        }
        self.scraping = Scraping::new(scrape);
        if let Some(listener) = listeners.metrics {
            self.scraping.begin(listener);
        }
        if let Some(socket) = control {
            accepting.push(tokio::spawn(control::serve(socket, asked)));
        }
        accepting
    }

    /// Everything that came in since the last time.
    fn take(&mut self, waiting: &mut Vec<Input>) {
        let now = now();
        for input in waiting.drain(..) {
            match input {
                Input::Opened { connection, writer, number } => {
                    let peer = Peer::new(&connection);
                    let session = self.middlebox.open(now, connection);
                    self.peers.insert(session, peer);
                    self.writers.insert(session, writer);
                    if number.send(session).is_err() {
                        self.lose(now, session);
                    }
                }
                Input::Octets { session, octets } => self.middlebox.handle_octets(now, session, &octets),
                Input::Messages { session, messages } => {
                    for (stream, octets) in messages {
                        self.middlebox.handle_message(now, session, stream, &octets);
                    }
                }
                Input::Drained { session } => self.middlebox.set_flow(session, Flow::Ready),
                Input::Lost { session } => self.lose(now, session),
                Input::TurnedAway { host } => {
                    self.counters.turned_away += 1;
                    if let Some(left_out) = self.throttle.admits("turned_away") {
                        tracing::warn!(%host, left_out, "a host has too many connections");
                    }
                }
            }
        }
    }

    fn lose(&mut self, now: Instant, session: SessionId) {
        self.middlebox.handle_lost(now, session);
        self.writers.remove(&session);
        self.peers.remove(&session);
    }

    /// Everything that has to go out, and what there is to know.
    fn hand_out(&mut self) {
        let now = now();
        while let Some(transmit) = self.middlebox.poll_transmit(now) {
            let Some(writer) = self.writers.get(&transmit.session) else { continue };
            let outgoing = Outgoing { stream: transmit.stream, octets: transmit.octets };
            if writer.send(outgoing) == Pace::LagsBehind {
                self.middlebox.set_flow(transmit.session, Flow::Paused);
            }
        }
        while let Some(event) = self.middlebox.poll_event() {
            self.note(now, event);
        }
        if self.middlebox.filter().damage().is_some() && self.guard.is_first_attempt() {
            self.mend_filter();
        }
        self.audit.flush();
    }

    fn answer(&self, reply: oneshot::Sender<String>) {
        let gauges = Gauges {
            rules: self.middlebox.rule_count(),
            sessions: self.middlebox.open_sessions().count(),
            connections: self.middlebox.connection_count(),
            missing_interfaces: self.guard.missing.len(),
            is_filter_whole: self.middlebox.filter().damage().is_none(),
            audit_lost: self.audit.lost(),
            is_open: self.guard.is_off || self.middlebox.filter().passing() == "everything",
        };
        // Without a receiver the scraper has hung up.
        let _ = reply.send(self.counters.page(gauges));
    }

    /// Ends every session with AST, and waits until the last octets have left: a connection lets go of its end of
    /// `inputs` then.
    async fn stop(mut self, mut inputs: mpsc::Receiver<Input>) {
        let open: Vec<SessionId> = self.middlebox.open_sessions().map(|(session, _)| session).collect();
        for session in open {
            self.middlebox.end_session(now(), session);
        }
        self.hand_out();
        self.writers.clear();
        let all_gone = async { while inputs.recv().await.is_some() {} };
        if tokio::time::timeout(FAREWELL, all_gone).await.is_err() {
            tracing::warn!("some connections were cut before everything had left");
        }
        tracing::info!(
            rules = self.middlebox.rule_count(),
            "stopped; rules live on until their lifetimes end"
        );
    }
}

/// Returns the time since the host's start, on the clock that is never set: after a restart of the daemon it
/// goes on.
fn now() -> Instant {
    let time = clock_gettime(ClockId::Monotonic);
    let (seconds, nanos) = (u64::try_from(time.tv_sec), u32::try_from(time.tv_nsec));
    Instant::EPOCH + Duration::new(seconds.unwrap_or_default(), nanos.unwrap_or_default())
}

const fn name(reason: CloseReason) -> &'static str {
    match reason {
        CloseReason::Terminated => "terminated",
        CloseReason::Refused(_) => "refused",
        CloseReason::BadlyFormed => "badly_formed",
        CloseReason::NotEstablished => "not_established",
        CloseReason::Displaced => "displaced",
        CloseReason::TooSlow => "too_slow",
        CloseReason::Administrative => "administrative",
    }
}

/// Inputs that wait for the server; a connection waits with its next until there is room.
const INPUTS: usize = 256;
const LONGEST_WAIT: Duration = Duration::from_secs(3600);
/// How long the last octets have.
const FAREWELL: Duration = Duration::from_secs(2);

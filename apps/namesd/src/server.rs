//! The server at work: datagrams and connections become messages, and what comes together is kept together.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use daemon::{Control, Page, Scraping};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream, UdpSocket};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, oneshot};
use tokio::task::JoinSet;

use crate::config::Settings;
use crate::journal::Journal;
use crate::service::{Asked, Now, Outcome, Service, Via};
use crate::start::{self, StartError};
use crate::zone::Zone;

/// The server at work.
#[derive(Debug)]
pub(crate) struct Server {
    settings: Settings,
    began: std::time::Instant,
    service: Service,
    journal: Journal,
    sockets: Vec<Arc<UdpSocket>>,
    listeners: Vec<TcpListener>,
    scraping: Scraping,
    scrapes: mpsc::Receiver<oneshot::Sender<String>>,
    /// The time from which on the journal may be made into a snapshot again, after that has failed.
    compact_after: Duration,
}

/// The reason why the server cannot begin, or go on.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ServeError {
    #[error(transparent)]
    Start(#[from] StartError),
    #[error("server.listen = {address}: {because}")]
    Listen { address: SocketAddr, because: io::Error },
    #[error("server.metrics = {address}: {because}")]
    Metrics { address: SocketAddr, because: io::Error },
}

/// A message, and the way back to who sent it.
#[derive(Debug)]
struct Job {
    octets: Vec<u8>,
    peer: SocketAddr,
    back: Back,
}

#[derive(Debug)]
enum Back {
    Udp(Arc<UdpSocket>),
    Tcp(oneshot::Sender<Vec<Vec<u8>>>),
}

impl Back {
    async fn send(self, messages: Vec<Vec<u8>>, peer: SocketAddr) {
        match self {
            Self::Udp(socket) => {
                for message in messages {
                    if let Err(error) = socket.send_to(&message, peer).await {
                        tracing::debug!(%peer, %error, "an answer could not be sent");
                    }
                }
            }
            Self::Tcp(back) => {
                // Whoever closed the connection wants no answer.
                let _gone = back.send(messages);
            }
        }
    }
}

impl Server {
    /// Opens the folder and the sockets.
    pub(crate) fn new(settings: Settings) -> Result<Self, ServeError> {
        let (service, journal) = start::open(&settings, unix_s())?;
        let (mut sockets, mut listeners) = (Vec::new(), Vec::new());
        for address in &settings.listen {
            let (socket, listener) =
                open(*address).map_err(|because| ServeError::Listen { address: *address, because })?;
            sockets.push(Arc::new(socket));
            listeners.push(listener);
        }
        let (requests, scrapes) = mpsc::channel(1);
        let mut scraping = Scraping::new(requests);
        if let Some(address) = settings.metrics {
            let moved = scraping.move_to(Some(address));
            moved.map_err(|because| ServeError::Metrics { address, because })?;
        }
        for zone in service.zones() {
            tracing::info!(zone = %zone.origin(), names = zone.names(), serial = zone.serial(), "served");
        }
        Ok(Self {
            settings,
            began: std::time::Instant::now(),
            service,
            journal,
            sockets,
            listeners,
            scraping,
            scrapes,
            compact_after: Duration::ZERO,
        })
    }

    /// Serves until it is stopped.
    pub(crate) async fn run(
        mut self,
        mut controls: mpsc::Receiver<Control<Settings>>,
    ) -> Result<(), ServeError> {
        let (sender, mut jobs) = mpsc::channel(BATCH);
        let mut tasks = JoinSet::new();
        for socket in &self.sockets {
            tasks.spawn(datagrams(Arc::clone(socket), sender.clone()));
        }
        let places = Places::new(self.settings.connections);
        for listener in core::mem::take(&mut self.listeners) {
            tasks.spawn(connections(listener, sender.clone(), places.clone()));
        }
        // What they have may be older than what this server has kept.
        self.service.notify_all(self.now());
        let mut batch = Vec::with_capacity(BATCH);
        loop {
            let wake = self.service.poll_timeout().map(|at| at.saturating_sub(self.began.elapsed()));
            tokio::select! {
                count = jobs.recv_many(&mut batch, BATCH) => if count > 0 { self.serve(&mut batch).await },
                Some(reply) = self.scrapes.recv() => {
                    let _gone = reply.send(self.page());
                }
                control = controls.recv() => match control {
                    Some(Control::Reload(settings)) => self.reload(*settings),
                    Some(Control::Stop) | None => return Ok(()),
                },
                () = pause(wake) => {}
            }
            for (secondary, message) in self.service.poll_notices(self.now()) {
                let socket = self
                    .sockets
                    .iter()
                    .find(|socket| socket.local_addr().is_ok_and(|own| own.is_ipv4() == secondary.is_ipv4()));
                let Some(socket) = socket else {
                    tracing::warn!(%secondary, "server.listen has no address of its family to tell it from");
                    continue;
                };
                if let Err(error) = socket.send_to(&message, secondary).await {
                    tracing::debug!(%secondary, %error, "a secondary could not be told");
                }
            }
        }
    }

    /// Answers questions, then makes the updates together.
    async fn serve(&mut self, batch: &mut Vec<Job>) {
        let now = self.now();
        let mut updates: Vec<Asked> = Vec::new();
        let mut waiting = Vec::new();
        for Job { octets, peer, back } in batch.drain(..) {
            let via = match back {
                Back::Udp(_) => Via::Udp,
                Back::Tcp(_) => Via::Tcp,
            };
            match self.service.handle(now, &octets, peer, via) {
                Outcome::Answer(messages) => back.send(messages, peer).await,
                Outcome::Update(asked) => {
                    updates.push(*asked);
                    waiting.push((back, peer));
                }
                Outcome::Nothing => {}
            }
        }
        if updates.is_empty() {
            return;
        }
        let answers = self.service.update(now, &updates, &mut self.journal);
        for ((back, peer), answer) in waiting.into_iter().zip(answers) {
            if let Some(answer) = answer {
                back.send(vec![answer], peer).await;
            }
        }
        self.compact();
    }

    fn compact(&mut self) {
        let now = self.began.elapsed();
        if self.journal.length() < self.settings.longest_journal || now < self.compact_after {
            return;
        }
        if let Err(error) = start::compact(&self.service, &mut self.journal) {
            tracing::error!(%error, "no snapshot can be made; the journal grows");
            self.compact_after = now + RETRY_COMPACTION;
        }
    }

    fn reload(&mut self, settings: Settings) {
        self.service.keyring.configure(settings.keys.iter().cloned(), unix_s());
        if settings.metrics != self.settings.metrics
            && let Err(error) = self.scraping.move_to(settings.metrics)
        {
            tracing::error!(%error, "server.metrics stays as it was");
        }
        let Settings { keys, metrics, .. } = settings.clone();
        let after = Settings { keys, metrics, ..self.settings.clone() };
        if after != settings {
            tracing::warn!(
                "listen, folder, connections, journal_mib and zones stay as they were until a restart"
            );
        }
        self.settings = after;
        tracing::info!("the configuration was read again");
    }

    fn now(&self) -> Now {
        Now { unix_s: unix_s(), since_start: self.began.elapsed() }
    }

    fn page(&self) -> String {
        let mut page = Page::default();
        let counters = &self.service.counters;
        let of = |all: &std::collections::BTreeMap<String, u64>| all.clone().into_iter();
        page.labelled(
            "names_questions_total",
            "Questions, by what became of them.",
            "outcome",
            of(&counters.questions),
        );
        page.labelled(
            "names_updates_total",
            "Updates, by what became of them.",
            "outcome",
            of(&counters.updates),
        );
        let help = "Transfers to secondaries: a whole zone, changes, or that there are none.";
        page.labelled("names_transfers_total", help, "of", of(&counters.transfers));
        let help = "Requests for a zone that were refused, by why.";
        page.labelled("names_transfers_refused_total", help, "because", of(&counters.transfers_refused));
        let help = "Notices to secondaries of changes, by what became of them.";
        page.labelled("names_notices_total", help, "outcome", of(&counters.notices));
        let help = "Messages that nobody is answered: too short, or answers to nothing.";
        page.plain("names_ignored_total", "counter", help, counters.ignored);
        page.plain("names_journal_octets", "gauge", "Octets of the journal.", self.journal.length());
        let per_zone = |count: fn(&Zone) -> u64| {
            self.service.zones().map(move |zone| (zone.origin().to_string(), count(zone))).collect::<Vec<_>>()
        };
        let names = per_zone(|zone| u64::try_from(zone.names()).unwrap_or(u64::MAX));
        page.labelled_gauge("names_names", "Names with records.", "zone", names.into_iter());
        let serials = per_zone(|zone| zone.serial().into());
        page.labelled_gauge("names_serial", "The serial number.", "zone", serials.into_iter());
        page.into_text()
    }
}

fn open(address: SocketAddr) -> io::Result<(UdpSocket, TcpListener)> {
    let socket = std::net::UdpSocket::bind(address)?;
    socket.set_nonblocking(true)?;
    // The same port, if the system has chosen one.
    let listener = std::net::TcpListener::bind(SocketAddr::new(address.ip(), socket.local_addr()?.port()))?;
    listener.set_nonblocking(true)?;
    Ok((UdpSocket::from_std(socket)?, TcpListener::from_std(listener)?))
}

/// Receives datagrams for ever.
async fn datagrams(socket: Arc<UdpSocket>, jobs: mpsc::Sender<Job>) {
    let mut buffer = vec![0; usize::from(u16::MAX)];
    loop {
        match socket.recv_from(&mut buffer).await {
            Ok((length, peer)) => {
                let back = Back::Udp(Arc::clone(&socket));
                if jobs.send(Job { octets: buffer[..length].to_vec(), peer, back }).await.is_err() {
                    return;
                }
            }
            // What an earlier answer met on its way; the next datagram is none the worse.
            Err(error) => tracing::debug!(%error, "nothing could be received"),
        }
    }
}

/// The places for connections: a quarter of them for each peer, so that none keeps all others out.
#[derive(Clone, Debug)]
struct Places {
    all: Arc<Semaphore>,
    of_peer: usize,
    taken: Arc<Mutex<HashMap<IpAddr, usize>>>,
}

/// The place of a connection, which is free again when this is dropped.
#[derive(Debug)]
struct Place {
    _one: OwnedSemaphorePermit,
    peer: IpAddr,
    taken: Arc<Mutex<HashMap<IpAddr, usize>>>,
}

impl Places {
    fn new(most: usize) -> Self {
        Self { all: Arc::new(Semaphore::new(most)), of_peer: most.div_ceil(4), taken: Arc::default() }
    }

    /// Returns a place for a peer; `None` if it has its share.
    fn take(&self, one: OwnedSemaphorePermit, peer: IpAddr) -> Option<Place> {
        let peer = peer.to_canonical();
        let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        let count = taken.entry(peer).or_default();
        if *count >= self.of_peer {
            return None;
        }
        *count += 1;
        Some(Place { _one: one, peer, taken: Arc::clone(&self.taken) })
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        if let Entry::Occupied(mut entry) = taken.entry(self.peer) {
            *entry.get_mut() -= 1;
            if *entry.get() == 0 {
                entry.remove();
            }
        }
    }
}

/// Accepts connections for ever, so many at a time; others wait to be accepted.
async fn connections(listener: TcpListener, jobs: mpsc::Sender<Job>, places: Places) {
    while let Ok(one) = Arc::clone(&places.all).acquire_owned().await {
        match listener.accept().await {
            Ok((stream, peer)) => {
                let Some(place) = places.take(one, peer.ip()) else {
                    tracing::debug!(%peer, "it has its share of server.connections");
                    continue;
                };
                let jobs = jobs.clone();
                tokio::spawn(async move {
                    let ended = converse(stream, peer, jobs).await;
                    tracing::debug!(%peer, ?ended, "a connection ended");
                    drop(place);
                });
            }
            Err(error) => {
                tracing::warn!(%error, "a connection could not be accepted");
                tokio::time::sleep(RETRY_ACCEPTING).await;
            }
        }
    }
}

/// Answers the messages of a connection, one after the other (RFC 7766).
async fn converse(mut stream: TcpStream, peer: SocketAddr, jobs: mpsc::Sender<Job>) -> io::Result<()> {
    stream.set_nodelay(true)?;
    loop {
        let read = async {
            let length = stream.read_u16().await?;
            let mut octets = vec![0; length.into()];
            stream.read_exact(&mut octets).await?;
            io::Result::Ok(octets)
        };
        let Ok(octets) = tokio::time::timeout(PATIENCE, read).await else { return Ok(()) };
        let (back, answers) = oneshot::channel();
        let job = Job { octets: octets?, peer, back: Back::Tcp(back) };
        if jobs.send(job).await.is_err() {
            return Ok(());
        }
        let Ok(messages) = answers.await else { return Ok(()) };
        for message in messages {
            let Ok(length) = u16::try_from(message.len()) else { return Ok(()) };
            let framed = [&length.to_be_bytes(), message.as_slice()].concat();
            // A transfer waits for its reader, but not for ever.
            match tokio::time::timeout(PATIENCE, stream.write_all(&framed)).await {
                Ok(written) => written?,
                Err(_elapsed) => return Ok(()),
            }
        }
    }
}

/// Waits so long; for ever without a time.
async fn pause(wait: Option<Duration>) {
    match wait {
        Some(wait) => tokio::time::sleep(wait).await,
        None => std::future::pending().await,
    }
}

fn unix_s() -> u64 {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs()
}

/// Messages that are served together.
const BATCH: usize = 512;
const PATIENCE: Duration = Duration::from_secs(10);
const RETRY_ACCEPTING: Duration = Duration::from_millis(100);
const RETRY_COMPACTION: Duration = Duration::from_secs(60);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_peer_has_a_quarter_of_the_places_and_gets_them_back() {
        let places = Places::new(8);
        let take = |peer: &str| {
            let one = Arc::clone(&places.all).try_acquire_owned().unwrap();
            places.take(one, peer.parse().unwrap())
        };
        let mut held = vec![take("192.0.2.1").unwrap(), take("::ffff:192.0.2.1").unwrap()];
        assert!(take("192.0.2.1").is_none());
        held.push(take("192.0.2.2").unwrap());
        assert_eq!(places.all.available_permits(), 5);
        held.clear();
        assert!(take("192.0.2.1").is_some());
        assert!(places.taken.lock().unwrap().is_empty());
    }
}

//! The workload over the kernel's TCP.

use core::time::Duration;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use bytes::Bytes;
use sctp_io::Clock;
use socket2::SockRef;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::task::JoinSet;
use virtual_time::Instant;
use workload::Lane;

use crate::statistics::TransportCounts;
use crate::traffic::{Framer, Server, ServerPlan, Workload};
use crate::transport::{
    Alarm, Arrived, Between, Errand, Expected, FlowRun, Listener, Listening, Pipes, RealError, Reconnecting,
    Serving, Stop, drive,
};

/// Runs a load over as many connections as it has lanes. Nagle is off, congestion control as named.
pub(super) async fn load(errand: Errand<'_>) -> Result<FlowRun, RealError> {
    let Errand { flow, plan, to, reach, movement, clock, stop, .. } = errand;
    let to = match reach {
        Between::Link(_) => to[0],
        Between::Network => present(to).await?,
    };
    let alarm = Alarm::new(clock).map_err(RealError::socket("cannot open a timer"))?;
    let mut connections = Connections {
        congestion: flow.tcp.congestion().to_owned(),
        leaving: if movement.is_some() { LeavingBy::Reset } else { LeavingBy::Finish },
        lanes: plan.lanes,
        workload: plan.workload,
        clock,
        tasks: JoinSet::new(),
    };
    let pipes = connections.open(to).await?;
    let driven = match movement {
        None => drive(plan, pipes, None, alarm, stop).await,
        Some(movement) => {
            let to = SocketAddr::new(movement.peer, to.port());
            let open = Box::new(|| connections.open_anew(to));
            drive(plan, pipes, Some(Reconnecting { movement, open }), alarm, stop).await
        }
    };
    connections.tasks.shutdown().await;
    Ok(FlowRun::new(driven?, TransportCounts::default()))
}

/// The connections of a client, one for each lane.
struct Connections {
    congestion: String,
    leaving: LeavingBy,
    lanes: u16,
    workload: Workload,
    clock: Clock,
    tasks: JoinSet<()>,
}

/// The way in which a client's connections end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LeavingBy {
    /// The kernel delivers what it has, and closes.
    Finish,
    /// The connection is reset: its data in the kernel is lost, as with a host that leaves its network.
    Reset,
}

impl Connections {
    /// Opens all of them.
    async fn open(&mut self, to: SocketAddr) -> Result<Pipes, RealError> {
        let mut streams = Vec::with_capacity(usize::from(self.lanes));
        for _ in 0..self.lanes {
            streams.push(connect(to, &self.congestion, self.leaving).await?);
        }
        Ok(self.carry(streams.into_iter().map(|stream| std::future::ready(Ok(stream)))))
    }

    /// Leaves those that there are, and has others opened.
    fn open_anew(&mut self, to: SocketAddr) -> Pipes {
        // Whatever reads and writes ends with it, and its connections.
        self.tasks = JoinSet::new();
        let (congestion, leaving) = (self.congestion.clone(), self.leaving);
        self.carry((0..self.lanes).map(|_| {
            let congestion = congestion.clone();
            async move { connect(to, &congestion, leaving).await }
        }))
    }

    /// Carries messages over streams, over each as soon as it is open.
    fn carry<S>(&mut self, streams: impl Iterator<Item = S>) -> Pipes
    where
        S: Future<Output = Result<TcpStream, RealError>> + Send + 'static,
    {
        let (arrived, arrivals) = unbounded_channel();
        let mut outlets = Vec::with_capacity(usize::from(self.lanes));
        for (lane, stream) in (0..).zip(streams) {
            let (outlet, requests) = unbounded_channel();
            let (framer, arrived, clock) = (self.workload.framer(), arrived.clone(), self.clock);
            self.tasks.spawn(async move {
                match stream.await {
                    Ok(stream) => {
                        let (reader, writer) = stream.into_split();
                        let reading = read(reader, Lane(lane), framer, arrived, clock);
                        tokio::join!(reading, write(writer, requests));
                    }
                    Err(error) => {
                        let _finished = arrived.send(Arrived::Ended { because: error.to_string() });
                    }
                }
            });
            outlets.push(outlet);
        }
        Pipes { outlets, arrivals }
    }
}

/// Finds the first address that accepts. A server that is not there is known before the first request is due.
async fn present(all: &[SocketAddr]) -> Result<SocketAddr, RealError> {
    let mut refused = Vec::new();
    for to in all {
        let connected = tokio::time::timeout(CONNECT_TIME, TcpStream::connect(to)).await;
        match connected.unwrap_or_else(|_late| Err(std::io::ErrorKind::TimedOut.into())) {
            Ok(_closed_again) => return Ok(*to),
            Err(error) => refused.push(format!("at {to}: {error}")),
        }
    }
    Err(RealError::nobody("TCP", &refused))
}

async fn connect(to: SocketAddr, congestion: &str, leaving: LeavingBy) -> Result<TcpStream, RealError> {
    let socket = if to.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() };
    let socket = socket.map_err(RealError::socket("cannot open a TCP socket"))?;
    set_tcp_congestion(&socket, congestion)?;
    socket.set_nodelay(true).map_err(RealError::socket("cannot switch Nagle off"))?;
    if leaving == LeavingBy::Reset {
        let set = SockRef::from(&socket).set_linger(Some(Duration::ZERO));
        set.map_err(RealError::socket("cannot have TCP connections reset"))?;
    }
    socket.connect(to).await.map_err(RealError::socket("cannot connect over TCP"))
}

/// Opens a socket for each address.
pub(super) fn listen(at: &Listening<'_>) -> Result<Vec<Listener>, RealError> {
    let (congestion, handover) = match at.expected {
        Expected::Flow { flow, handover } => (flow.tcp.congestion(), handover),
        Expected::Anybody { tcp_congestion, .. } => (tcp_congestion, None),
    };
    let of_all = handover.map(|_| Arc::new(OnceLock::new()));
    let open = |address: &SocketAddr| {
        let listening = listening_socket(*address, congestion);
        let refused = |error: RealError| RealError::Listen { at: *address, because: error.to_string() };
        let (listening, of_all) = (listening.map_err(refused)?, of_all.clone());
        let serving: Serving = Box::new(move |plan, clock, stop| {
            let of_all = of_all.map(|of_all| Arc::clone(of_all.get_or_init(|| answering(plan))));
            Box::pin(answer(
                listening,
                move || of_all.clone().unwrap_or_else(|| answering(plan)),
                clock,
                stop,
            ))
        });
        Ok(Listener { protocol: "tcp", addresses: vec![*address], encap_port: None, serving })
    };
    at.addresses.iter().map(open).collect()
}

/// The server behind one connection, or behind all of a client that moves: what comes again on another connection is known. An answer
/// goes into the queue of its connection.
type Answering = Arc<Mutex<Server<UnboundedSender<Bytes>>>>;

fn answering(plan: ServerPlan) -> Answering {
    Arc::new(Mutex::new(Server::new(plan)))
}

/// Locks a server, also after a connection's task that had it broke: it holds whole messages.
fn lock(server: &Answering) -> MutexGuard<'_, Server<UnboundedSender<Bytes>>> {
    server.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns a listening socket whose connections use this congestion control.
fn listening_socket(at: SocketAddr, congestion: &str) -> Result<TcpListener, RealError> {
    let socket = if at.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() };
    let socket = socket.map_err(RealError::socket("cannot open a TCP socket"))?;
    set_tcp_congestion(&socket, congestion)?;
    socket.set_reuseaddr(true).map_err(RealError::socket("cannot reuse the TCP address"))?;
    socket.set_nodelay(true).map_err(RealError::socket("cannot switch Nagle off"))?;
    socket.bind(at).map_err(RealError::socket("cannot bind the TCP socket"))?;
    socket.listen(1024).map_err(RealError::socket("cannot listen over TCP"))
}

/// Makes connections of this socket use the congestion control of this name.
///
/// # Errors
/// [`RealError::Congestion`]: the kernel does not have it, or not for us.
pub fn set_tcp_congestion(socket: &TcpSocket, name: &str) -> Result<(), RealError> {
    let set = SockRef::from(socket).set_tcp_congestion(name.as_bytes());
    set.map_err(|source| {
        let allowed = std::fs::read_to_string(ALLOWED_CONGESTION).unwrap_or_default().trim().to_owned();
        RealError::Congestion { name: name.to_owned(), allowed, source }
    })
}

async fn write(mut writer: OwnedWriteHalf, mut requests: UnboundedReceiver<Bytes>) {
    while let Some(request) = requests.recv().await {
        if writer.write_all(&request).await.is_err() {
            // The reader reports why the connection ended.
            return;
        }
    }
}

async fn read(
    mut reader: OwnedReadHalf,
    lane: Lane,
    mut framer: Framer,
    arrived: UnboundedSender<Arrived>,
    clock: Clock,
) {
    let mut buffer = vec![0; 64 << 10];
    let because = loop {
        match reader.read(&mut buffer).await {
            Ok(0) => break "the echo server closed a connection".to_owned(),
            Ok(len) => framer.push(&buffer[..len]),
            Err(error) => break error.to_string(),
        }
        let at = clock.now();
        let failed = loop {
            match framer.next_message() {
                Ok(Some(octets)) => {
                    if arrived.send(Arrived::Message { lane, octets, at, blocked: None }).is_err() {
                        return;
                    }
                }
                Ok(None) => break None,
                Err(because) => break Some(because),
            }
        };
        if let Some(because) = failed {
            break because;
        }
    };
    let _finished = arrived.send(Arrived::Ended { because });
}

/// Answers on every connection until `stop` resolves.
async fn answer(
    listener: TcpListener,
    server: impl Fn() -> Answering,
    clock: Clock,
    mut stop: Stop,
) -> Result<TransportCounts, RealError> {
    let mut tasks = JoinSet::new();
    loop {
        tokio::select! {
            () = &mut stop => return Ok(TransportCounts::default()),
            accepted = listener.accept() => if let Ok((stream, _)) = accepted {
                tasks.spawn(serve(stream, server(), clock));
            },
            Some(_ended) = tasks.join_next() => {}
        }
    }
}

/// Answers whole messages of one connection until it ends or breaks the framing.
async fn serve(mut stream: TcpStream, server: Answering, clock: Clock) -> Result<(), RealError> {
    let mut alarm = Alarm::new(clock).map_err(RealError::socket("cannot open a timer"))?;
    let mut framer = lock(&server).workload().framer();
    let (reply, mut replies) = unbounded_channel::<Bytes>();
    let mut buffer = vec![0; 64 << 10];
    loop {
        let mut octets = Vec::new();
        let due = lock(&server).poll_timeout();
        tokio::select! {
            read = stream.read(&mut buffer) => match read {
                Ok(0) | Err(_) => return Ok(()),
                Ok(len) => framer.push(&buffer[..len]),
            },
            // Another connection's task looked at the server, and found an answer of ours ready.
            Some(message) = replies.recv() => octets.extend_from_slice(&message),
            waited = alarm.until(due) => waited.map_err(RealError::socket("cannot wait"))?,
        }
        if !take_in(&mut framer, &server, &reply, alarm.now()) {
            return Ok(());
        }
        while let Ok(message) = replies.try_recv() {
            octets.extend_from_slice(&message);
        }
        if !octets.is_empty() && stream.write_all(&octets).await.is_err() {
            return Ok(());
        }
    }
}

/// Hands whole messages to the server, and answers that are ready to the connections they are for; returns whether the framing holds.
fn take_in(framer: &mut Framer, server: &Answering, reply: &UnboundedSender<Bytes>, now: Instant) -> bool {
    let mut server = lock(server);
    loop {
        match framer.next_message() {
            Ok(Some(octets)) => server.on_message(now, now, reply.clone(), 0, octets),
            Ok(None) => break,
            Err(_broken) => return false,
        }
    }
    while let Some((connection, message)) = server.poll_reply(now) {
        // A connection that has ended takes its answers with it.
        let _ended = connection.send(message);
    }
    true
}

/// How long the server may take to accept a connection.
const CONNECT_TIME: Duration = Duration::from_secs(5);
const ALLOWED_CONGESTION: &str = "/proc/sys/net/ipv4/tcp_allowed_congestion_control";

//! The workload over the kernel's TCP.

use core::time::Duration;
use std::net::SocketAddr;

use bytes::Bytes;
use sctp_io::Clock;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::task::JoinSet;
use workload::Lane;

use crate::statistics::TransportCounts;
use crate::traffic::{Framer, Server, ServerPlan};
use crate::transport::{
    Alarm, Arrived, Between, Errand, Expected, FlowRun, Listener, Listening, RealError, Serving, Stop, drive,
};

/// Runs a load over as many connections as it has lanes. Nagle is off, congestion control as named.
pub(super) async fn load(errand: Errand<'_>) -> Result<FlowRun, RealError> {
    let Errand { flow, plan, to, reach, clock, stop, .. } = errand;
    let to = match reach {
        Between::Link(_) => to[0],
        Between::Network => present(to).await?,
    };
    let alarm = Alarm::new(clock).map_err(RealError::socket("cannot open a timer"))?;
    let (arrived, mut arrivals) = unbounded_channel();
    let mut tasks = JoinSet::new();
    let mut outlets = Vec::with_capacity(usize::from(plan.lanes));
    for lane in 0..plan.lanes {
        let (reader, writer) = connect(to, flow.tcp.congestion()).await?.into_split();
        let (outlet, requests) = unbounded_channel();
        tasks.spawn(write(writer, requests));
        tasks.spawn(read(reader, Lane(lane), plan.workload.framer(), arrived.clone(), clock));
        outlets.push(outlet);
    }
    drop(arrived);
    let driven = drive(plan, &outlets, &mut arrivals, alarm, stop).await;
    tasks.shutdown().await;
    Ok(FlowRun::new(driven?, TransportCounts::default()))
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

async fn connect(to: SocketAddr, congestion: &str) -> Result<TcpStream, RealError> {
    let socket = if to.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() };
    let socket = socket.map_err(RealError::socket("cannot open a TCP socket"))?;
    set_tcp_congestion(&socket, congestion)?;
    socket.set_nodelay(true).map_err(RealError::socket("cannot switch Nagle off"))?;
    socket.connect(to).await.map_err(RealError::socket("cannot connect over TCP"))
}

/// Opens a socket for each address.
pub(super) fn listen(at: &Listening<'_>) -> Result<Vec<Listener>, RealError> {
    let congestion = match at.expected {
        Expected::Flow(flow) => flow.tcp.congestion(),
        Expected::Anybody { tcp_congestion, .. } => tcp_congestion,
    };
    let open = |address: &SocketAddr| {
        let listening = listening_socket(*address, congestion);
        let refused = |error: RealError| RealError::Listen { at: *address, because: error.to_string() };
        let listening = listening.map_err(refused)?;
        let serving: Serving = Box::new(|plan, clock, stop| Box::pin(answer(listening, plan, clock, stop)));
        Ok(Listener { protocol: "tcp", addresses: vec![*address], encap_port: None, serving })
    };
    at.addresses.iter().map(open).collect()
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
    let set = socket2::SockRef::from(socket).set_tcp_congestion(name.as_bytes());
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
    plan: ServerPlan,
    clock: Clock,
    mut stop: Stop,
) -> Result<TransportCounts, RealError> {
    let mut tasks = JoinSet::new();
    loop {
        tokio::select! {
            () = &mut stop => return Ok(TransportCounts::default()),
            accepted = listener.accept() => if let Ok((stream, _)) = accepted {
                tasks.spawn(serve(stream, plan, clock));
            },
            Some(_ended) = tasks.join_next() => {}
        }
    }
}

/// Echoes whole messages of one connection until it ends or breaks the framing.
async fn serve(mut stream: TcpStream, plan: ServerPlan, clock: Clock) -> Result<(), RealError> {
    let mut alarm = Alarm::new(clock).map_err(RealError::socket("cannot open a timer"))?;
    let mut server = Server::new(plan);
    let mut framer = plan.workload.framer();
    let mut buffer = vec![0; 64 << 10];
    loop {
        tokio::select! {
            read = stream.read(&mut buffer) => match read {
                Ok(0) | Err(_) => return Ok(()),
                Ok(len) => framer.push(&buffer[..len]),
            },
            waited = alarm.until(server.poll_timeout()) => waited.map_err(RealError::socket("cannot wait"))?,
        }
        loop {
            match framer.next_message() {
                Ok(Some(octets)) => server.on_message(alarm.now(), alarm.now(), (), 0, octets),
                Ok(None) => break,
                Err(_broken) => return Ok(()),
            }
        }
        let mut replies = Vec::new();
        while let Some(((), message)) = server.poll_reply(alarm.now()) {
            replies.extend_from_slice(&message);
        }
        if !replies.is_empty() && stream.write_all(&replies).await.is_err() {
            return Ok(());
        }
    }
}

/// How long the server may take to accept a connection.
const CONNECT_TIME: Duration = Duration::from_secs(5);
const ALLOWED_CONGESTION: &str = "/proc/sys/net/ipv4/tcp_allowed_congestion_control";

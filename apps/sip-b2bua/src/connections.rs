//! Sockets: datagrams, and connections with a task each, bounded in number and in what waits.

use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use sip::{Connection, Flow, Framer, MessageLimits, Transport};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream, UdpSocket};
use tokio::sync::mpsc;

use crate::server::Input;

/// All sockets, from the sender's point of view.
#[derive(Debug)]
pub(crate) struct Sockets {
    udp: Vec<Arc<UdpSocket>>,
    connections: HashMap<Connection, Open>,
    by_remote: HashMap<SocketAddr, Connection>,
    by_host: HashMap<IpAddr, usize>,
    inputs: mpsc::Sender<Input>,
    limits: ConnectionLimits,
    drawn: u64,
    /// Datagrams and messages that could not be sent.
    pub(crate) unsent: u64,
    /// Connections turned away.
    pub(crate) turned_away: u64,
}

#[derive(Debug)]
struct Open {
    remote: SocketAddr,
    outgoing: mpsc::Sender<Bytes>,
    is_dialled: bool,
}

/// Limits on connections.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct ConnectionLimits {
    pub(crate) connections: usize,
    pub(crate) connections_per_host: usize,
    pub(crate) messages: MessageLimits,
}

impl Sockets {
    pub(crate) fn new(inputs: mpsc::Sender<Input>, limits: ConnectionLimits) -> Self {
        let (connections, by_remote, by_host) = (HashMap::new(), HashMap::new(), HashMap::new());
        Self {
            udp: Vec::new(),
            connections,
            by_remote,
            by_host,
            inputs,
            limits,
            drawn: 0,
            unsent: 0,
            turned_away: 0,
        }
    }

    /// Receives on a datagram socket from now on.
    pub(crate) fn add_udp(&mut self, socket: UdpSocket) {
        let socket = Arc::new(socket);
        self.udp.push(Arc::clone(&socket));
        tokio::spawn(receive(socket, self.inputs.clone()));
    }

    /// Accepts connections from now on.
    pub(crate) fn add_tcp(&self, listener: TcpListener) {
        let inputs = self.inputs.clone();
        tokio::spawn(async move {
            while !inputs.is_closed() {
                match listener.accept().await {
                    Ok((stream, remote)) => {
                        let _over = inputs.send(Input::Accepted(stream, remote)).await;
                    }
                    Err(error) => {
                        tracing::warn!(%error, "a connection could not be accepted");
                        tokio::time::sleep(RETRY).await;
                    }
                }
            }
        });
    }

    /// Serves a connection that was accepted, if there may be one more of its host.
    pub(crate) fn serve(&mut self, stream: TcpStream, remote: SocketAddr) {
        let of_host = self.by_host.get(&remote.ip()).copied().unwrap_or_default();
        if self.connections.len() >= self.limits.connections || of_host >= self.limits.connections_per_host {
            self.turned_away += 1;
            return;
        }
        *self.by_host.entry(remote.ip()).or_default() += 1;
        let (connection, outgoing) = self.enter(remote, false);
        let (inputs, limits) = (self.inputs.clone(), self.limits.messages);
        tokio::spawn(carry(stream, remote, connection, outgoing, inputs, limits));
    }

    /// Sends a message, over a connection that is there or has to be opened first.
    pub(crate) fn send(&mut self, flow: Flow, octets: Bytes) {
        if flow.transport == Transport::UDP {
            let is_family = |socket: &&Arc<UdpSocket>| {
                socket.local_addr().is_ok_and(|own| own.is_ipv4() == flow.remote.is_ipv4())
            };
            let sent = self.udp.iter().find(is_family).map(|socket| socket.try_send_to(&octets, flow.remote));
            if !matches!(sent, Some(Ok(_))) {
                self.unsent += 1;
            }
            return;
        }
        let known = match flow.connection {
            Some(connection) => Some(connection),
            None => self.by_remote.get(&flow.remote).copied(),
        };
        let open = known.and_then(|connection| self.connections.get(&connection));
        let sent = match (open, flow.connection) {
            (Some(open), _) => match open.outgoing.try_send(octets) {
                Ok(()) => true,
                Err(_) => known.is_some_and(|connection| self.give_up(connection)),
            },
            (None, None) => self.dial(flow.remote).try_send(octets).is_ok(),
            // It has gone, and nobody knows where else its peer listens.
            (None, Some(_)) => false,
        };
        if !sent {
            self.unsent += 1;
        }
    }

    /// Gives up a connection whose peer does not read: what waits goes out if it can, then the connection ends. Returns
    /// that nothing was sent.
    fn give_up(&mut self, connection: Connection) -> bool {
        if let Some(open) = self.connections.get_mut(&connection) {
            (open.outgoing, _) = mpsc::channel(1);
        }
        false
    }

    /// Forgets a connection that has ended, and returns the flows that are broken by that.
    pub(crate) fn forget(&mut self, connection: Connection) -> Vec<Flow> {
        let Some(open) = self.connections.remove(&connection) else { return Vec::new() };
        if !open.is_dialled
            && let Some(count) = self.by_host.get_mut(&open.remote.ip())
        {
            *count -= 1;
            if *count == 0 {
                self.by_host.remove(&open.remote.ip());
            }
        }
        let flow = Flow::new(Transport::TCP, open.remote);
        let mut broken = vec![Flow { connection: Some(connection), ..flow }];
        if self.by_remote.get(&open.remote) == Some(&connection) {
            self.by_remote.remove(&open.remote);
            broken.push(flow);
        }
        broken
    }

    pub(crate) fn connections(&self) -> usize {
        self.connections.len()
    }

    fn dial(&mut self, remote: SocketAddr) -> mpsc::Sender<Bytes> {
        let (connection, outgoing) = self.enter(remote, true);
        self.by_remote.insert(remote, connection);
        let (inputs, limits) = (self.inputs.clone(), self.limits.messages);
        tokio::spawn(async move {
            match tokio::time::timeout(PATIENCE, TcpStream::connect(remote)).await {
                Ok(Ok(stream)) => carry(stream, remote, connection, outgoing, inputs, limits).await,
                Ok(Err(_)) | Err(_) => {
                    tracing::info!(%remote, "no connection");
                    let _over = inputs.send(Input::Ended(connection)).await;
                }
            }
        });
        self.connections[&connection].outgoing.clone()
    }

    fn enter(&mut self, remote: SocketAddr, is_dialled: bool) -> (Connection, mpsc::Receiver<Bytes>) {
        self.drawn += 1;
        let connection = Connection(self.drawn);
        let (outgoing, received) = mpsc::channel(OUTGOING);
        self.connections.insert(connection, Open { remote, outgoing, is_dialled });
        (connection, received)
    }
}

async fn receive(socket: Arc<UdpSocket>, inputs: mpsc::Sender<Input>) {
    let mut buffer = vec![0; DATAGRAM_BYTES];
    while !inputs.is_closed() {
        match socket.recv_from(&mut buffer).await {
            Ok((length, remote)) => {
                let octets = Bytes::copy_from_slice(&buffer[..length]);
                let _over = inputs.send(Input::Message(Flow::new(Transport::UDP, remote), octets)).await;
            }
            // An ICMP message about something that was sent; the transaction's timer tells.
            Err(error) => tracing::debug!(%error, "a datagram could not be received"),
        }
    }
}

/// Carries messages both ways until an end of it is reached: the peer's, an error, a stream that cannot be cut, or a message
/// that takes too long to become whole.
async fn carry(
    stream: TcpStream,
    remote: SocketAddr,
    connection: Connection,
    mut outgoing: mpsc::Receiver<Bytes>,
    inputs: mpsc::Sender<Input>,
    limits: MessageLimits,
) {
    let _fine_without = stream.set_nodelay(true);
    let flow = Flow { connection: Some(connection), ..Flow::new(Transport::TCP, remote) };
    let (mut reader, mut writer) = stream.into_split();
    let reading = async {
        let mut framer = Framer::new(limits);
        let mut buffer = vec![0; READ_BYTES];
        loop {
            let patience = if framer.held_bytes() > 0 { PATIENCE } else { IDLE };
            let Ok(Ok(length @ 1..)) = tokio::time::timeout(patience, reader.read(&mut buffer)).await else {
                return;
            };
            framer.push(&buffer[..length]);
            loop {
                match framer.next_message() {
                    Ok(Some(octets)) => {
                        if inputs.send(Input::Message(flow, octets)).await.is_err() {
                            return;
                        }
                    }
                    Ok(None) => break,
                    Err(error) => {
                        tracing::info!(%remote, %error, "a connection is closed");
                        return;
                    }
                }
            }
        }
    };
    let writing = async {
        while let Some(octets) = outgoing.recv().await {
            if !matches!(tokio::time::timeout(PATIENCE, writer.write_all(&octets)).await, Ok(Ok(()))) {
                return;
            }
        }
    };
    tokio::select! {
        () = reading => {}
        () = writing => {}
    }
    let _over = inputs.send(Input::Ended(connection)).await;
}

/// Messages that wait for a slow reader; beyond that they are lost, and transactions see to it.
const OUTGOING: usize = 256;
const DATAGRAM_BYTES: usize = 65_535;
const READ_BYTES: usize = 16_384;
/// How long a connection may take to open, a message to become whole, a write to get through.
const PATIENCE: Duration = Duration::from_secs(20);
/// How long a connection may be silent.
const IDLE: Duration = Duration::from_secs(3_600);
const RETRY: Duration = Duration::from_millis(100);

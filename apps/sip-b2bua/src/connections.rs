//! Sockets: datagrams, and connections with a task each, bounded in number and in what waits.

mod carry;

use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use sctp::{Destination, Encapsulation, Endpoint, SctpPort};
use sip::{Connection, Flow, MessageLimits, Transport};
use tokio::net::{TcpListener, TcpStream, UdpSocket};
use tokio::sync::mpsc;

pub(crate) use self::carry::Opened;
use self::carry::{Carrier, Target};
use crate::config::TlsSettings;
use crate::server::Input;

/// All sockets, from the sender's point of view.
#[derive(Debug)]
pub(crate) struct Sockets {
    /// Datagram sockets by family: whether it is that of IPv4.
    udp: Vec<(bool, Arc<UdpSocket>)>,
    /// The endpoint of SCTP, and how peers are reached whom it connects to.
    sctp: Option<(Endpoint, Encapsulation)>,
    tls: Option<TlsSettings>,
    /// The names of next hops that were looked up, by their addresses: certificates have to be for them.
    tls_names: HashMap<SocketAddr, String>,
    connections: HashMap<Connection, Open>,
    by_remote: HashMap<(Transport, SocketAddr), Connection>,
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
    transport: Transport,
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
            sctp: None,
            tls: None,
            tls_names: HashMap::new(),
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
    pub(crate) fn add_udp(&mut self, socket: UdpSocket, own: SocketAddr) {
        let socket = Arc::new(socket);
        self.udp.push((own.is_ipv4(), Arc::clone(&socket)));
        tokio::spawn(receive(socket, self.inputs.clone()));
    }

    /// Goes by these certificates from now on; connections that are there stay.
    pub(crate) fn set_tls(&mut self, tls: Option<TlsSettings>) {
        self.tls = tls;
    }

    /// Takes note of the addresses of a name, which a certificate there has to be for.
    pub(crate) fn set_name(&mut self, name: &str, addresses: impl Iterator<Item = SocketAddr>) {
        self.tls_names.retain(|_, other| other != name);
        self.tls_names.extend(addresses.map(|address| (address, name.to_owned())));
    }

    /// Accepts connections from now on.
    pub(crate) fn add_tcp(&self, listener: TcpListener) {
        self.accept(listener, Opened::Tcp);
    }

    /// Accepts connections that become TLS from now on.
    pub(crate) fn add_tls(&self, listener: TcpListener) {
        self.accept(listener, |stream| Opened::Tls(stream, None));
    }

    fn accept(&self, listener: TcpListener, opened: fn(TcpStream) -> Opened) {
        let inputs = self.inputs.clone();
        tokio::spawn(async move {
            while !inputs.is_closed() {
                match listener.accept().await {
                    Ok((stream, remote)) => {
                        let _over = inputs.send(Input::Accepted(opened(stream), remote)).await;
                    }
                    Err(error) => {
                        tracing::warn!(%error, "a connection could not be accepted");
                        tokio::time::sleep(RETRY).await;
                    }
                }
            }
        });
    }

    /// Accepts associations, and opens them, from now on. `encapsulation` is that of peers it connects to.
    pub(crate) fn add_sctp(&mut self, endpoint: Endpoint, encapsulation: Encapsulation) {
        self.sctp = Some((endpoint.clone(), encapsulation));
        let inputs = self.inputs.clone();
        tokio::spawn(async move {
            while let Some(association) = endpoint.accept().await {
                let Ok(status) = association.status() else { continue };
                // Other addresses of the peer are its own word alone: whoever lists one does not speak for it.
                let remote = SocketAddr::new(status.path.address, status.peer_port.get());
                let accepted = Input::Accepted(Opened::Sctp(association), remote);
                if inputs.send(accepted).await.is_err() {
                    return;
                }
            }
        });
    }

    /// Serves a connection that was accepted, if there may be one more of its host.
    pub(crate) fn serve(&mut self, opened: Opened, remote: SocketAddr) {
        let of_host = self.by_host.get(&remote.ip()).copied().unwrap_or_default();
        if self.connections.len() >= self.limits.connections || of_host >= self.limits.connections_per_host {
            self.turned_away += 1;
            if let Opened::Sctp(association) = opened {
                association.abort(b"too many connections");
            }
            return;
        }
        // With the certificate of today, and a place among connections before the first octet of TLS.
        let opened = match opened {
            Opened::Tls(stream, _) => {
                Opened::Tls(stream, self.tls.as_ref().map(|tls| tls.identity().clone()))
            }
            Opened::Tcp(_) | Opened::Secured(_) | Opened::Sctp(_) => opened,
        };
        *self.by_host.entry(remote.ip()).or_default() += 1;
        let transport = opened.transport();
        let carrier = self.enter(transport, remote, false);
        // Both sides of an association listen at its ports (RFC 4168 §5.1); a port from which TCP came does not.
        if transport == Transport::SCTP {
            self.by_remote.insert((transport, remote), carrier.connection);
        }
        tokio::spawn(carrier.carry(opened));
    }

    /// Sends a message, over a connection that is there or has to be opened first.
    pub(crate) fn send(&mut self, flow: Flow, octets: Bytes) {
        if flow.transport == Transport::UDP {
            let own = self.udp.iter().find(|(is_ipv4, _)| *is_ipv4 == flow.remote.is_ipv4());
            let sent = own.map(|(_, socket)| socket.try_send_to(&octets, flow.remote));
            if !matches!(sent, Some(Ok(_))) {
                self.unsent += 1;
            }
            return;
        }
        let known = match flow.connection {
            Some(connection) => Some(connection),
            None => self.by_remote.get(&(flow.transport, flow.remote)).copied(),
        };
        let open = known.and_then(|connection| self.connections.get(&connection));
        let sent = match (open, flow.connection) {
            (Some(open), _) => match open.outgoing.try_send(octets) {
                Ok(()) => true,
                Err(_) => known.is_some_and(|connection| self.give_up(connection)),
            },
            (None, None) => self.dial(flow).is_some_and(|outgoing| outgoing.try_send(octets).is_ok()),
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
        let flow = Flow::new(open.transport, open.remote);
        let mut broken = vec![Flow { connection: Some(connection), ..flow }];
        let key = (open.transport, open.remote);
        if self.by_remote.get(&key) == Some(&connection) {
            self.by_remote.remove(&key);
            broken.push(flow);
        }
        broken
    }

    pub(crate) fn connections(&self) -> usize {
        self.connections.len()
    }

    /// Ends associations in good order; everything else ends by being dropped.
    pub(crate) async fn close(self) {
        if let Some((endpoint, _)) = self.sctp {
            endpoint.close();
            endpoint.wait_idle().await;
        }
    }

    /// Begins to open a connection; `None` if there is no socket for it.
    fn dial(&mut self, flow: Flow) -> Option<mpsc::Sender<Bytes>> {
        let looked_up = self.tls_names.get(&flow.remote).map(String::as_str);
        let target = match &self.sctp {
            _ if flow.transport == Transport::TCP => Target::Tcp(flow.remote),
            _ if flow.transport == Transport::TLS => {
                Target::Tls(flow.remote, self.tls.as_ref()?.trust(flow.remote, looked_up)?)
            }
            Some((endpoint, encapsulation)) if flow.transport == Transport::SCTP => {
                let to = Destination { address: flow.remote.ip(), encapsulation: *encapsulation };
                Target::Sctp(endpoint.clone(), to, SctpPort::try_from(flow.remote.port()).ok()?)
            }
            Some(_) | None => return None,
        };
        let carrier = self.enter(flow.transport, flow.remote, true);
        let connection = carrier.connection;
        self.by_remote.insert((flow.transport, flow.remote), connection);
        tokio::spawn(carrier.dial(target));
        self.connections.get(&connection).map(|open| open.outgoing.clone())
    }

    fn enter(&mut self, transport: Transport, remote: SocketAddr, is_dialled: bool) -> Carrier {
        self.drawn += 1;
        let connection = Connection(self.drawn);
        let (sender, outgoing) = mpsc::channel(OUTGOING);
        self.connections.insert(connection, Open { transport, remote, outgoing: sender, is_dialled });
        let flow = Flow { connection: Some(connection), ..Flow::new(transport, remote) };
        Carrier { flow, connection, outgoing, inputs: self.inputs.clone(), limits: self.limits.messages }
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

/// Messages that wait for a slow reader; beyond that they are lost, and transactions see to it.
const OUTGOING: usize = 256;
const DATAGRAM_BYTES: usize = 65_535;
const RETRY: Duration = Duration::from_millis(100);

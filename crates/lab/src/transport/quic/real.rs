//! QUIC over a UDP socket: the cores that are simulated, and a loop that carries their datagrams.

use ::core::time::Duration;
use std::net::{IpAddr, SocketAddr};

use sctp_io::Clock;
use tokio::net::UdpSocket;

use super::client::QuicClient;
use super::core::Core;
use super::peer::Peer;
use super::server::QuicServer;
use super::settings::SettingsError;
use crate::statistics::TransportCounts;
use crate::stop::INTERRUPTED;
use crate::traffic::{Client, Server, ServerPlan};
use crate::transport::{
    Alarm, Between, Driven, Errand, Expected, FlowRun, LOOK_FOR_STOP, Listener, Listening, RealError,
    Serving, Stop, Switching, arrival,
};

/// Runs a load over one connection, with the first of the server's addresses that answers.
pub(super) async fn load(errand: Errand<'_>) -> Result<FlowRun, RealError> {
    let mut refused = Vec::new();
    for to in errand.to {
        let to = match errand.reach {
            Between::Link(_) => *to,
            Between::Network => beside_udp(*to)?,
        };
        match load_at(&errand, to).await? {
            Ok(run) => return Ok(run),
            Err(because) => refused.push(format!("at {to}: {because}")),
        }
    }
    Err(RealError::nobody("QUIC", &refused))
}

/// Runs the load with one of the server's addresses; returns why it does not answer, if so.
async fn load_at(errand: &Errand<'_>, to: SocketAddr) -> Result<Result<FlowRun, String>, RealError> {
    let mut socket = open(errand.reach.local(to), to).await?;
    let mut movement = errand.movement.clone();
    let mut alarm = Alarm::new(errand.clock).map_err(RealError::socket("cannot open a timer"))?;
    let client = Client::new(errand.plan.clone())?;
    let switching = if movement.is_some() { Switching::when_told() } else { Switching::new(None, None) };
    let mut core = QuicClient::new(client, Peer::client(None)?, to, alarm.now(), switching);
    let patience = match errand.reach {
        Between::Link(_) => LINK_HANDSHAKE_TIME,
        Between::Network => HANDSHAKE_TIME,
    };
    let too_late = alarm.now() + patience;
    let mut buffer = vec![0; 64 << 10];
    core.handle_timeout(alarm.now());
    while !core.client().is_finished(alarm.now(), core.client().answered()) {
        if errand.stop.is_raised() {
            core.client_mut().fail(INTERRUPTED);
            break;
        }
        if !core.is_connected() && alarm.now() >= too_late {
            return Ok(Err(format!("no answer within {patience:?}")));
        }
        send(&socket, &mut core, alarm.now()).await;
        let next = core.poll_timeout().into_iter().chain([alarm.now() + LOOK_FOR_STOP]).min();
        tokio::select! {
            biased;
            received = socket.recv(&mut buffer) => match received {
                Ok(len) => {
                    core.handle_datagram(alarm.now(), to, &buffer[..len]);
                    // What came together is answered together.
                    while let Ok(len) = socket.try_recv(&mut buffer) {
                        core.handle_datagram(alarm.now(), to, &buffer[..len]);
                    }
                }
                Err(error) if !core.is_connected() => return Ok(Err(error.to_string())),
                // An ICMP error is as good as a lost packet.
                Err(_) => {}
            },
            () = arrival(movement.as_mut()) => if let Some(movement) = movement.take() {
                // RFC 9000 §9: the connection goes on from another address.
                socket = open(movement.local, to).await?;
                core.tell(alarm.now());
                let _elsewhere = core.goes_elsewhere(alarm.now());
            },
            waited = alarm.until(next) => {
                waited.map_err(RealError::socket("cannot wait"))?;
                core.handle_timeout(alarm.now());
            }
        }
    }
    core.close(alarm.now());
    send(&socket, &mut core, alarm.now()).await;
    let counts = core.counts();
    Ok(Ok(FlowRun::new(Driven::new(core.into_client()), counts)))
}

/// Opens a socket at an address of this host that is for a server alone.
async fn open(local: IpAddr, to: SocketAddr) -> Result<UdpSocket, RealError> {
    let socket = UdpSocket::bind((local, 0)).await;
    let socket = socket.map_err(RealError::socket("cannot open a UDP socket"))?;
    socket.connect(to).await.map_err(RealError::socket("cannot connect the UDP socket"))?;
    Ok(socket)
}

/// Sends what there is to send. A datagram that the socket does not take is lost.
async fn send(socket: &UdpSocket, core: &mut QuicClient, now: virtual_time::Instant) {
    let mut datagram = Vec::new();
    while core.poll_transmit(now, &mut datagram).is_some() {
        let _lost = socket.send(&datagram).await;
        datagram.clear();
    }
}

/// Returns where QUIC is on a host that serves other transports, too: at the port above, since messages in UDP have the
/// port itself.
fn beside_udp(address: SocketAddr) -> Result<SocketAddr, RealError> {
    let port = address.port().checked_add(1);
    let refused = || RealError::Configuration {
        because: format!("{address}: QUIC has the port above, and there is none"),
    };
    Ok(SocketAddr::new(address.ip(), port.ok_or_else(refused)?))
}

/// Opens a socket for each address.
pub(super) async fn listen(at: Listening<'_>) -> Result<Vec<Listener>, RealError> {
    let mut open = Vec::new();
    for address in at.addresses {
        let address = match at.expected {
            Expected::Flow { .. } => *address,
            Expected::Anybody { .. } => beside_udp(*address)?,
        };
        let socket = UdpSocket::bind(address).await;
        let refused = |error: std::io::Error| RealError::Listen { at: address, because: error.to_string() };
        let socket = socket.map_err(refused)?;
        let serving: Serving = Box::new(|plan, clock, stop| Box::pin(answer(socket, plan, clock, stop)));
        open.push(Listener { protocol: "quic", addresses: vec![address], encap_port: None, serving });
    }
    Ok(open)
}

/// Answers on every connection until `stop` resolves.
async fn answer(
    socket: UdpSocket,
    plan: ServerPlan,
    clock: Clock,
    mut stop: Stop,
) -> Result<TransportCounts, RealError> {
    let mut alarm = Alarm::new(clock).map_err(RealError::socket("cannot open a timer"))?;
    let mut core = QuicServer::new(Server::new(plan), Peer::server(None)?);
    let (mut buffer, mut datagram) = (vec![0; 64 << 10], Vec::new());
    loop {
        tokio::select! {
            () = &mut stop => return Ok(core.counts()),
            received = socket.recv_from(&mut buffer) => if let Ok((len, from)) = received {
                core.handle_datagram(alarm.now(), from, &buffer[..len]);
                while let Ok((len, from)) = socket.try_recv_from(&mut buffer) {
                    core.handle_datagram(alarm.now(), from, &buffer[..len]);
                }
            },
            waited = alarm.until(core.poll_timeout()) => {
                waited.map_err(RealError::socket("cannot wait"))?;
                core.handle_timeout(alarm.now());
            }
        }
        while let Some(to) = core.poll_transmit(alarm.now(), &mut datagram) {
            let _lost = socket.send_to(&datagram, to).await;
            datagram.clear();
        }
    }
}

impl From<SettingsError> for RealError {
    fn from(error: SettingsError) -> Self {
        Self::Configuration { because: error.to_string() }
    }
}

/// How long a server on a network may take to answer.
const HANDSHAKE_TIME: Duration = Duration::from_secs(5);
/// The longest time of a handshake over a link that we made, which may lose most of what is sent.
const LINK_HANDSHAKE_TIME: Duration = Duration::from_secs(60);

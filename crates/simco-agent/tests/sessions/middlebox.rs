//! A middlebox core behind real sockets on loopback.

use std::net::SocketAddr;
use std::time::Duration;

use sctp::{Endpoint, EndpointConfig, Message, PayloadProtocolId, SctpPort};
use simco::agent::{AgentSettings, Credentials, Resynchronisation};
use simco::filter::MemoryFilter;
use simco::middlebox::{
    AgentConfig, AgentPolicy, Connection, Framing, Middlebox as Core, MiddleboxConfig, MiddleboxEvent,
    Protection,
};
use simco::{
    AddressTuple, Direction, EnableParameters, EnableParity, EnableRequest, Key, Lifetime, Location, Owner,
    PolicyRequest, PolicyRuleId, StreamNumber, TransportProtocol,
};
use simco_agent::{Carrier, Middlebox, Transport};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::sync::mpsc;
use virtual_time::Instant;

const STREAMS: u16 = 4;

pub(crate) fn core(key: u8) -> Core<MemoryFilter> {
    let mut config = MiddleboxConfig::default();
    let known = AgentConfig { key: Key::new([key; 32]), policy: AgentPolicy::default() };
    config.agents.known.insert(Owner::new(b"b2bua").unwrap(), known);
    Core::new(config, MemoryFilter::new(), [1; 32]).unwrap()
}

pub(crate) fn connection(framing: Framing) -> Connection {
    let peer = Owner::new(b"loopback").unwrap();
    Connection { framing, peer, authenticated: None, protection: Protection::None }
}

pub(crate) fn settings(key: u8) -> AgentSettings {
    let identity = Owner::new(b"b2bua").unwrap();
    let credentials = Some(Credentials { identity, key: Key::new([key; 32]) });
    AgentSettings { credentials, resynchronisation: Resynchronisation::Always, ..AgentSettings::default() }
}

/// What came out of the core for its only connection, and whether it is to be closed.
fn drain(core: &mut Core<MemoryFilter>, now: Instant) -> (Vec<(StreamNumber, Vec<u8>)>, bool) {
    let mut out = Vec::new();
    while let Some(transmit) = core.poll_transmit(now) {
        out.push((transmit.stream, transmit.octets));
    }
    let events = core::iter::from_fn(|| core.poll_event());
    let is_over = events.filter(|event| matches!(event, MiddleboxEvent::Close { .. })).count() > 0;
    (out, is_over)
}

/// Serves one connection after the other over TCP; rules stay. A rule on `breaks` vanishes, and the connection with it.
pub(crate) async fn serve_tcp(
    listener: TcpListener,
    mut core: Core<MemoryFilter>,
    mut breaks: mpsc::UnboundedReceiver<PolicyRuleId>,
) {
    let start = std::time::Instant::now();
    while let Ok((mut stream, _)) = listener.accept().await {
        let now = || Instant::EPOCH + start.elapsed();
        let session = core.open(now(), connection(Framing::Octets));
        let mut buffer = vec![0; 65_536];
        loop {
            let count = tokio::select! {
                Ok(count @ 1..) = stream.read(&mut buffer) => count,
                Some(rule) = breaks.recv() => {
                    core.remove_rule(now(), rule);
                    break;
                }
                else => break,
            };
            core.handle_octets(now(), session, &buffer[..count]);
            let (out, is_over) = drain(&mut core, now());
            for (_, octets) in out {
                stream.write_all(&octets).await.unwrap();
            }
            if is_over {
                break;
            }
        }
        core.handle_lost(now(), session);
        drain(&mut core, now());
    }
}

pub(crate) async fn serve_sctp(endpoint: Endpoint) {
    let mut core = core(9);
    let start = std::time::Instant::now();
    while let Some(association) = endpoint.accept().await {
        let now = || Instant::EPOCH + start.elapsed();
        let session = core.open(now(), connection(Framing::Messages { streams: STREAMS }));
        while let Ok(Some(received)) = association.recv().await {
            let message = received.message;
            assert_eq!(message.ppid, PayloadProtocolId::SIMCO);
            core.handle_message(now(), session, StreamNumber::new(message.stream.get()), &message.payload);
            let (out, is_over) = drain(&mut core, now());
            for (stream, octets) in out {
                let stream = sctp::StreamId::new(stream.get());
                association
                    .send(Message::ordered(stream, octets).with_ppid(PayloadProtocolId::SIMCO))
                    .await
                    .unwrap();
            }
            if is_over {
                break;
            }
        }
        core.handle_lost(now(), session);
    }
}

pub(crate) async fn tcp() -> Middlebox {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let addresses = vec![listener.local_addr().unwrap()];
    tokio::spawn(async move {
        let (_nobody_breaks, breaks) = mpsc::unbounded_channel();
        serve_tcp(listener, core(9), breaks).await;
    });
    Middlebox { addresses, transport: Transport::Tcp, capture: None }
}

pub(crate) async fn sctp() -> Middlebox {
    let endpoint = endpoint().await;
    let remote = endpoint.local_address().port();
    tokio::spawn(serve_sctp(endpoint));
    over_sctp(remote)
}

/// At the port of SIMCO, in UDP at any port.
pub(crate) async fn endpoint() -> Endpoint {
    let mut config = EndpointConfig::new(SctpPort::try_from(simco::PORT).unwrap());
    config.association.streams.outbound = STREAMS;
    config.association.streams.inbound = STREAMS;
    Endpoint::bind(config, "127.0.0.1:0".parse().unwrap()).await.unwrap()
}

/// How to reach a middlebox at this UDP port.
pub(crate) fn over_sctp(remote: u16) -> Middlebox {
    let addresses = vec![SocketAddr::from(([127, 0, 0, 1], simco::PORT))];
    let carrier = Carrier::Udp { local: 0, remote };
    Middlebox { addresses, transport: Transport::Sctp { streams: 6, carrier }, capture: None }
}

pub(crate) fn pinhole(port: u16) -> PolicyRequest {
    let host = |location, address: &str, port| {
        AddressTuple::host(location, TransportProtocol::UDP, address.parse().unwrap(), port, 1)
    };
    PolicyRequest::Enable(EnableRequest {
        parameters: EnableParameters { parity: EnableParity::Any, direction: Direction::Inbound },
        internal: host(Location::INTERNAL, "10.1.8.3", port),
        external: host(Location::EXTERNAL, "203.0.113.9", 0),
        lifetime: Lifetime::from_secs(300),
        group: None,
    })
}

pub(crate) fn within_a_minute(test: impl Future<Output = ()>) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async { tokio::time::timeout(Duration::from_secs(60), test).await.unwrap() });
}

//! An agent and a middlebox core over real sockets on loopback: TCP, and SCTP in UDP.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests; clippy knows only functions marked as such")]

use std::net::SocketAddr;
use std::time::Duration;

use sctp::{Endpoint, EndpointConfig, Message, PayloadProtocolId, SctpPort};
use simco::agent::{
    AgentCloseReason, AgentEvent, AgentSettings, Credentials, PolicyReply, Resynchronisation,
};
use simco::filter::MemoryFilter;
use simco::middlebox::{
    AgentConfig, AgentPolicy, Connection, Framing, Middlebox as Core, MiddleboxConfig, MiddleboxEvent,
    Protection,
};
use simco::{
    AddressTuple, Direction, EnableParameters, EnableParity, EnableRequest, Key, Lifetime, Location,
    NegativeCode, Owner, PolicyRequest, PolicyRuleId, StreamNumber, TransportProtocol,
};
use simco_agent::{Carrier, ConnectError, Middlebox, RequestError, SimcoAgent, Transport};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use virtual_time::Instant;

const STREAMS: u16 = 4;

fn core() -> Core<MemoryFilter> {
    let mut config = MiddleboxConfig::default();
    let known = AgentConfig { key: Key::new([9; 32]), policy: AgentPolicy::default() };
    config.agents.known.insert(Owner::new(b"b2bua").unwrap(), known);
    Core::new(config, MemoryFilter::new(), [1; 32]).unwrap()
}

fn connection(framing: Framing) -> Connection {
    let peer = Owner::new(b"loopback").unwrap();
    Connection { framing, peer, authenticated: None, protection: Protection::None }
}

fn settings(key: u8) -> AgentSettings {
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

/// Serves one connection after the other over TCP; rules stay.
async fn serve_tcp(listener: TcpListener) {
    let mut core = core();
    let start = std::time::Instant::now();
    while let Ok((mut stream, _)) = listener.accept().await {
        let now = || Instant::EPOCH + start.elapsed();
        let session = core.open(now(), connection(Framing::Octets));
        let mut buffer = vec![0; 65_536];
        while let Ok(count @ 1..) = stream.read(&mut buffer).await {
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
    }
}

async fn serve_sctp(endpoint: Endpoint) {
    let mut core = core();
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

async fn tcp() -> Middlebox {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let addresses = vec![listener.local_addr().unwrap()];
    tokio::spawn(serve_tcp(listener));
    Middlebox { addresses, transport: Transport::Tcp, capture: None }
}

async fn sctp() -> Middlebox {
    let mut config = EndpointConfig::new(SctpPort::try_from(simco::PORT).unwrap());
    config.association.streams.outbound = STREAMS;
    config.association.streams.inbound = STREAMS;
    let endpoint = Endpoint::bind(config, "127.0.0.1:0".parse().unwrap()).await.unwrap();
    let remote = endpoint.local_address().port();
    tokio::spawn(serve_sctp(endpoint));
    let addresses = vec![SocketAddr::from(([127, 0, 0, 1], simco::PORT))];
    let carrier = Carrier::Udp { local: 0, remote };
    Middlebox { addresses, transport: Transport::Sctp { streams: 6, carrier }, capture: None }
}

fn pinhole(port: u16) -> PolicyRequest {
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

/// Many requests at once, then their refresh and end; another session finds what is left.
async fn transactions(middlebox: Middlebox) {
    let (agent, mut events) = SimcoAgent::connect(&middlebox, settings(9)).await.unwrap();
    assert!(agent.capabilities().services.is_firewall);
    let mut tasks = tokio::task::JoinSet::new();
    for port in 1..=200 {
        let agent = agent.clone();
        tasks.spawn(async move {
            let reply = agent.request(pinhole(port)).await.unwrap();
            let PolicyReply::Enable(enabled) = reply else { panic!("{reply:?}") };
            let change = |seconds| PolicyRequest::LifetimeChange {
                rule: enabled.rule,
                lifetime: Lifetime::from_secs(seconds),
            };
            agent.request(change(60)).await.unwrap();
            if port > 1 {
                assert_eq!(agent.request(change(0)).await, Ok(PolicyReply::Deletion));
            }
        });
    }
    while let Some(done) = tasks.join_next().await {
        done.unwrap();
    }
    let missing = PolicyRequest::Status { rule: PolicyRuleId::new(9999) };
    assert_eq!(agent.request(missing).await, Err(RequestError::Refused(NegativeCode::NoSuchRule)));
    agent.terminate().await;
    while let Some(event) = events.next().await {
        if let AgentEvent::Closed { reason } = event {
            assert_eq!(reason, AgentCloseReason::Terminated);
        }
    }
    let (agent, mut events) = SimcoAgent::connect(&middlebox, settings(9)).await.unwrap();
    loop {
        if let Some(AgentEvent::Resynchronised { listed }) = events.next().await {
            assert_eq!(listed, 1);
            break;
        }
    }
    drop(agent);
    while events.next().await.is_some() {}
}

async fn wrong_key(middlebox: Middlebox) {
    let refused = SimcoAgent::connect(&middlebox, settings(8)).await;
    assert!(
        matches!(refused, Err(ConnectError::Session(AgentCloseReason::NotAuthenticated))),
        "{:?}",
        refused.err()
    );
}

fn within_a_minute(test: impl Future<Output = ()>) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async { tokio::time::timeout(Duration::from_secs(60), test).await.unwrap() });
}

#[test]
fn requests_are_answered_over_tcp() {
    within_a_minute(async { transactions(tcp().await).await });
}

#[test]
fn requests_are_answered_over_sctp() {
    within_a_minute(async { transactions(sctp().await).await });
}

#[test]
fn wrong_key_is_no_session_over_either() {
    within_a_minute(async {
        wrong_key(tcp().await).await;
        wrong_key(sctp().await).await;
    });
}

#[test]
fn nobody_at_the_address_is_said() {
    within_a_minute(async {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let addresses = vec![listener.local_addr().unwrap()];
        drop(listener);
        let nobody = Middlebox { addresses, transport: Transport::Tcp, capture: None };
        let refused = SimcoAgent::connect(&nobody, settings(9)).await;
        assert!(matches!(refused, Err(ConnectError::Tcp { .. })));
    });
}

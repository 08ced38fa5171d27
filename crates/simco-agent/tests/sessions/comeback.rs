//! The agent comes back by itself.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicU16, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use sctp::SctpPort;
use simco::agent::{AgentCloseReason, AgentEvent, AgentSettings, Loss, PolicyReply, Reconnection};
use simco::{Lifetime, PolicyRequest, PolicyRuleId};
use simco_agent::{AgentEvents, Middlebox, RequestError, SimcoAgent, Transport};
use tokio::net::{TcpListener, UdpSocket};
use tokio::sync::{mpsc, oneshot};

use crate::middlebox::{
    core, endpoint, over_sctp, pinhole, serve_sctp, serve_tcp, settings, within_a_minute,
};

fn lasting(first: Duration) -> AgentSettings {
    let reconnection = Reconnection { first, longest: first * 4, ..Reconnection::default() };
    AgentSettings { reconnection: Some(reconnection), ..settings(9) }
}

const SOON: Duration = Duration::from_millis(20);

/// A middlebox whose connection can be broken.
async fn breakable() -> (Middlebox, mpsc::UnboundedSender<PolicyRuleId>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let addresses = vec![listener.local_addr().unwrap()];
    let (break_it, breaks) = mpsc::unbounded_channel();
    tokio::spawn(serve_tcp(listener, core(9), breaks));
    (Middlebox { addresses, transport: Transport::Tcp, capture: None }, break_it)
}

/// What is told until `is_last`, that included.
async fn told(events: &mut AgentEvents, is_last: impl Fn(&AgentEvent) -> bool) -> Vec<AgentEvent> {
    let mut told = Vec::new();
    loop {
        let event = events.next().await.unwrap();
        told.push(event);
        if told.last().is_some_and(&is_last) {
            return told;
        }
    }
}

fn is_resynchronised(event: &AgentEvent) -> bool {
    matches!(event, AgentEvent::Resynchronised { .. })
}

async fn open(agent: &SimcoAgent, port: u16) -> PolicyRuleId {
    agent.request(pinhole(port)).await.unwrap().rule().unwrap().0
}

#[test]
fn an_agent_comes_back_and_tells_what_it_lost_and_found() {
    within_a_minute(async {
        let (middlebox, break_it) = breakable().await;
        let (agent, mut events) = SimcoAgent::connect(&middlebox, lasting(SOON)).await.unwrap();
        told(&mut events, is_resynchronised).await;
        let mut rules = Vec::new();
        for port in 1..=4 {
            rules.push(open(&agent, port).await);
            agent.hold(rules[0], Lifetime::from_secs(300)).await;
        }
        for _ in 0..2 {
            let lost = rules.pop().unwrap();
            break_it.send(lost).unwrap();
            let told = told(&mut events, is_resynchronised).await;
            assert_eq!(told[0], AgentEvent::Closed { reason: AgentCloseReason::Lost });
            assert!(matches!(told[1], AgentEvent::Reconnecting { .. }), "{told:?}");
            assert!(matches!(told[2], AgentEvent::Opened { .. }), "{told:?}");
            assert!(told.contains(&AgentEvent::RuleLost { rule: lost, loss: Loss::NotListed }), "{told:?}");
            let found = told.iter().filter(|event| matches!(event, AgentEvent::Found { .. }));
            assert_eq!(found.count(), rules.len());
            assert_eq!(agent.request(PolicyRequest::List).await, Ok(PolicyReply::List(rules.clone())));
        }
        agent.terminate().await;
        assert_eq!(events.next().await, Some(AgentEvent::Closed { reason: AgentCloseReason::Terminated }));
        assert_eq!(events.next().await, None);
    });
}

/// A middlebox at an address; aborted, it leaves everybody.
async fn serve_at(address: SocketAddr, key: u8) -> (SocketAddr, tokio::task::JoinHandle<()>) {
    let listener = TcpListener::bind(address).await.unwrap();
    let address = listener.local_addr().unwrap();
    let serving = tokio::spawn(async move {
        let (_nobody_breaks, breaks) = mpsc::unbounded_channel();
        serve_tcp(listener, core(key), breaks).await;
    });
    (address, serving)
}

#[test]
fn attempts_go_on_until_somebody_is_there() {
    within_a_minute(async {
        let any_port = SocketAddr::from(([127, 0, 0, 1], 0));
        let (address, first) = serve_at(any_port, 9).await;
        let middlebox = Middlebox { addresses: vec![address], transport: Transport::Tcp, capture: None };
        let (agent, mut events) = SimcoAgent::connect(&middlebox, lasting(SOON)).await.unwrap();
        told(&mut events, is_resynchronised).await;
        let rule = open(&agent, 1).await;
        first.abort();
        told(&mut events, |event| matches!(event, AgentEvent::Reconnecting { attempt: 4, .. })).await;
        serve_at(address, 9).await;
        // It knows nothing of what was.
        let told = told(&mut events, is_resynchronised).await;
        assert!(told.contains(&AgentEvent::RuleLost { rule, loss: Loss::NotListed }), "{told:?}");
        open(&agent, 2).await;
    });
}

#[test]
fn a_key_that_is_not_right_any_more_is_the_end() {
    within_a_minute(async {
        let any_port = SocketAddr::from(([127, 0, 0, 1], 0));
        let (address, first) = serve_at(any_port, 9).await;
        let middlebox = Middlebox { addresses: vec![address], transport: Transport::Tcp, capture: None };
        let (_agent, mut events) = SimcoAgent::connect(&middlebox, lasting(SOON)).await.unwrap();
        first.abort();
        let _aborted = first.await;
        serve_at(address, 8).await;
        let end = AgentEvent::Closed { reason: AgentCloseReason::NotAuthenticated };
        told(&mut events, |event| *event == end).await;
        assert_eq!(events.next().await, None);
    });
}

/// An agent whose connection has broken and who will wait for an hour.
async fn waiting() -> (SimcoAgent, AgentEvents) {
    let (middlebox, break_it) = breakable().await;
    let an_hour = Duration::from_secs(3600);
    let (agent, mut events) = SimcoAgent::connect(&middlebox, lasting(an_hour)).await.unwrap();
    break_it.send(PolicyRuleId::new(1)).unwrap();
    told(&mut events, |event| matches!(event, AgentEvent::Reconnecting { attempt: 1, .. })).await;
    (agent, events)
}

#[test]
fn requests_made_meanwhile_are_refused_and_a_stop_ends_the_waiting_at_once() {
    within_a_minute(async {
        let terminated = Some(AgentEvent::Closed { reason: AgentCloseReason::Terminated });
        let (agent, mut events) = waiting().await;
        assert_eq!(agent.request(PolicyRequest::List).await, Err(RequestError::NotConnected));
        agent.terminate().await;
        assert_eq!(events.next().await, terminated);
        assert_eq!(events.next().await, None);
        let (agent, mut events) = waiting().await;
        drop(agent);
        assert_eq!(events.next().await, terminated);
    });
}

/// Passes datagrams on between an agent and whichever middlebox there is.
struct Relay {
    front: UdpSocket,
    back: UdpSocket,
    agent: Mutex<Option<SocketAddr>>,
    server: Mutex<SocketAddr>,
    /// The agent's SCTP port, as its packets say.
    agent_port: AtomicU16,
}

impl Relay {
    async fn start(server: SocketAddr) -> Arc<Self> {
        let (front, back) = (UdpSocket::bind("127.0.0.1:0").await, UdpSocket::bind("127.0.0.1:0").await);
        let (agent, server, agent_port) = (Mutex::default(), Mutex::new(server), AtomicU16::new(0));
        let relay = Arc::new(Self { front: front.unwrap(), back: back.unwrap(), agent, server, agent_port });
        tokio::spawn(Arc::clone(&relay).run());
        relay
    }

    async fn run(self: Arc<Self>) {
        let (mut there, mut here) = (vec![0; 65_536], vec![0; 65_536]);
        loop {
            tokio::select! {
                Ok((count, from)) = self.front.recv_from(&mut there) => {
                    *self.agent.lock().unwrap() = Some(from);
                    self.agent_port.store(u16::from_be_bytes([there[0], there[1]]), Ordering::Relaxed);
                    let server = *self.server.lock().unwrap();
                    self.back.send_to(&there[..count], server).await.unwrap();
                }
                Ok((count, _)) = self.back.recv_from(&mut here) => {
                    let agent = *self.agent.lock().unwrap();
                    if let Some(agent) = agent {
                        self.front.send_to(&here[..count], agent).await.unwrap();
                    }
                }
            }
        }
    }
}

/// A middlebox on a thread of its own, which vanishes without a farewell when it is told to. It first connects to whom
/// it is told to.
async fn middlebox_thread(peer: Option<(SocketAddr, u16)>) -> (SocketAddr, oneshot::Sender<()>) {
    let (tell, told) = oneshot::channel();
    let (end, ended) = oneshot::channel::<()>();
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let endpoint = endpoint().await;
            tell.send(endpoint.local_address()).unwrap();
            let begins_anew = async {
                if let Some((to, port)) = peer {
                    let port = SctpPort::try_from(port).unwrap();
                    let association = endpoint.connect(&[sctp::udp(to)], port).await.unwrap();
                    while let Ok(Some(_)) = association.recv().await {}
                }
                std::future::pending::<()>().await;
            };
            tokio::select! {
                () = begins_anew => {}
                () = serve_sctp(endpoint.clone()) => {}
                _ = ended => {}
            }
        });
    });
    (told.await.unwrap(), end)
}

/// The middlebox loses its state and begins anew on the same association (RFC 9260 §5.2.4 action A): it knows of no
/// session, and neither does the agent any more.
#[test]
fn an_association_that_restarts_ends_the_session_and_another_follows() {
    within_a_minute(async {
        let (server, end) = middlebox_thread(None).await;
        let relay = Relay::start(server).await;
        let middlebox = over_sctp(relay.front.local_addr().unwrap().port());
        let (agent, mut events) = SimcoAgent::connect(&middlebox, lasting(SOON)).await.unwrap();
        told(&mut events, is_resynchronised).await;
        let rule = open(&agent, 1).await;
        end.send(()).unwrap();
        let to = relay.back.local_addr().unwrap();
        let peer = Some((to, relay.agent_port.load(Ordering::Relaxed)));
        let (server, _end) = middlebox_thread(peer).await;
        *relay.server.lock().unwrap() = server;
        let told = told(&mut events, is_resynchronised).await;
        assert_eq!(told[0], AgentEvent::Closed { reason: AgentCloseReason::Lost });
        assert!(matches!(told[1], AgentEvent::Reconnecting { attempt: 1, .. }), "{told:?}");
        assert!(told.contains(&AgentEvent::RuleLost { rule, loss: Loss::NotListed }), "{told:?}");
        open(&agent, 2).await;
    });
}

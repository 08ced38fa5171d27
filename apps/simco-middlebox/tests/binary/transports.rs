//! Agents over TCP and over SCTP, without rights, with the filter in memory.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};

use sctp::{BindError, Endpoint, EndpointConfig, PayloadProtocolId, SctpPort};
use simco::agent::{AgentEvent, PolicyReply, Resynchronisation};
use simco::{Lifetime, NegativeCode, PolicyRequest};
use simco_agent::{RequestError, SimcoAgent};

use crate::agent::{alice, found, lifetime, list, make, pinhole, settings, status, time_until, with_agents};
use crate::daemon::{BOSS, Daemon, Folder, Over};

fn rules_come_and_go_over(over: Over) {
    let folder = Folder::new("[audit]\nfile = \"audit\"");
    let daemon = Daemon::start(&folder, None);
    let middlebox = daemon.middlebox(over);
    with_agents(None, async || {
        let (agent, _) = alice(&middlebox).await;
        let (_boss, mut told) = SimcoAgent::connect(&middlebox, settings("boss", BOSS)).await.unwrap();
        assert!(found(&mut told).await.is_empty());
        let rule = make(&agent, pinhole(4000, 0, 60)).await;
        agent.request(lifetime(rule, 120)).await.unwrap();
        let granted = AgentEvent::RuleEvent { rule, lifetime: Lifetime::from_secs(60) };
        let extended = AgentEvent::RuleEvent { rule, lifetime: Lifetime::from_secs(120) };
        let deleted = AgentEvent::RuleEvent { rule, lifetime: Lifetime::ZERO };
        // Over SCTP events go round the streams: they may overtake each other.
        let mut events = vec![told.next().await.unwrap(), told.next().await.unwrap()];
        events.sort_by_key(|event| *event == extended);
        assert_eq!(events, [granted, extended]);
        assert_eq!(list(&agent).await, [rule]);
        assert!(matches!(status(&agent, rule).await, Some(PolicyReply::EnableStatus { .. })));
        assert_eq!(agent.request(lifetime(rule, 0)).await, Ok(PolicyReply::Deletion));
        assert_eq!(told.next().await, Some(deleted));
        let gone = agent.request(PolicyRequest::Status { rule }).await;
        assert_eq!(gone, Err(RequestError::Refused(NegativeCode::NoSuchRule)));
        agent.terminate().await;
    });
    daemon.stop();
    let changes = folder.read("audit");
    let changes: Vec<&str> = changes.lines().filter_map(|line| line.split("\"change\":\"").nth(1)).collect();
    assert_eq!(changes.len(), 3);
    for (line, change) in changes.iter().zip(["inserted", "lifetime", "deleted"]) {
        assert!(line.starts_with(change), "{line}");
    }
}

#[test]
fn rules_come_and_go_over_tcp() {
    rules_come_and_go_over(Over::Tcp);
}

#[test]
fn rules_come_and_go_over_sctp() {
    rules_come_and_go_over(Over::Sctp);
}

#[test]
fn agents_without_a_name_are_known_by_their_address_over_both() {
    let folder = Folder::new("[anonymous]");
    let daemon = Daemon::start(&folder, None);
    let (tcp, sctp) = (daemon.middlebox(Over::Tcp), daemon.middlebox(Over::Sctp));
    with_agents(None, async || {
        let nameless = || simco::agent::AgentSettings {
            resynchronisation: Resynchronisation::Never,
            ..simco::agent::AgentSettings::default()
        };
        let (agent, _events) = SimcoAgent::connect(&sctp, nameless()).await.unwrap();
        let rule = make(&agent, pinhole(4000, 0, 60)).await;
        agent.terminate().await;
        for middlebox in [&sctp, &tcp] {
            let (agent, _events) = SimcoAgent::connect(middlebox, nameless()).await.unwrap();
            assert_eq!(list(&agent).await, [rule]);
            agent.terminate().await;
        }
    });
    daemon.stop();
}

#[test]
fn an_agent_that_vanishes_leaves_rules_that_run_out() {
    let folder = Folder::new("");
    let daemon = Daemon::start(&folder, None);
    for over in [Over::Tcp, Over::Sctp] {
        let middlebox = daemon.middlebox(over);
        // The thread ends, and with it the agent: nobody says farewell.
        let (rule, at) = with_agents(None, async || {
            let (agent, _) = alice(&middlebox).await;
            (make(&agent, pinhole(4000, 0, 2)).await, std::time::Instant::now())
        });
        with_agents(None, async || {
            let (agent, found) = alice(&middlebox).await;
            assert_eq!(found, [rule]);
            time_until(async || status(&agent, rule).await.is_none()).await;
        });
        let lived = at.elapsed().as_secs_f64();
        assert!((1.5..3.0).contains(&lived), "{lived}");
    }
    daemon.stop();
}

/// Establishes a session from these ports and leaves it open.
async fn establish(daemon: &Daemon, local: SocketAddr) {
    let endpoint = bind(local).await;
    let port = SctpPort::try_from(simco::PORT).unwrap();
    let association = endpoint.connect(&[sctp::udp(daemon.sctp)], port).await.unwrap();
    let request = b"\x01\x01\x00\x08\x00\x00\x00\x01\x00\x01\x00\x04\x03\x00\x00\x00";
    let message = sctp::Message::ordered(sctp::StreamId::new(0), request.as_slice());
    association.send(message.with_ppid(PayloadProtocolId::SIMCO)).await.unwrap();
    let reply = association.recv().await.unwrap().unwrap().message.payload;
    assert_eq!(reply[..2], [2, 1], "a session, {reply:02x?}");
    // Whoever holds them vanishes with the runtime.
    tokio::spawn(async move {
        let _kept = (endpoint, association);
        std::future::pending::<()>().await;
    });
}

/// An endpoint there. A process that another test starts has the socket of the one before until it is itself.
async fn bind(local: SocketAddr) -> Endpoint {
    loop {
        let config = EndpointConfig::new(SctpPort::try_from(40_000).unwrap());
        match Endpoint::bind(config, local).await {
            Ok(endpoint) => return endpoint,
            Err(BindError::PortInUse { .. }) => tokio::task::yield_now().await,
            Err(error) => panic!("{error}"),
        }
    }
}

/// An agent that has lost its state begins anew on the association that the middlebox knows (RFC 9260 §5.2.4 action A): its
/// session is over, and it makes another one. In the old one SE would be refused (0x0320).
#[test]
fn an_association_that_restarts_ends_its_session_and_begins_another() {
    let folder = Folder::new("[anonymous]");
    let daemon = Daemon::start(&folder, None);
    let local = std::net::UdpSocket::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    for opened in 1..=3 {
        with_agents(None, async || establish(&daemon, local).await);
        let page = page(&daemon, "/metrics");
        assert!(page.contains(&format!("simco_sessions_opened_total {opened}\n")), "{page}");
        assert!(page.contains("simco_sessions 1\n") && page.contains("simco_connections 1\n"), "{page}");
    }
    daemon.stop();
}

fn page(daemon: &Daemon, path: &str) -> String {
    let mut stream = TcpStream::connect(daemon.metrics).unwrap();
    write!(stream, "GET {path} HTTP/1.1\r\n\r\n").unwrap();
    let mut page = String::new();
    stream.read_to_string(&mut page).unwrap();
    page
}

#[test]
fn metrics_are_served_and_other_paths_are_not() {
    let folder = Folder::new("");
    let daemon = Daemon::start(&folder, None);
    assert!(page(&daemon, "/metrics").contains("simco_rules 0\n"));
    assert!(page(&daemon, "/").starts_with("HTTP/1.1 404"));
    daemon.stop();
}

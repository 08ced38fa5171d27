//! Agents over TCP and over SCTP, without rights, with the filter in memory.

use std::io::{Read, Write};
use std::net::TcpStream;

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
    let changes: Vec<&str> =
        changes.lines().map(|line| line.split("\"change\":\"").nth(1).unwrap()).collect();
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

#[test]
fn metrics_are_served_and_other_paths_are_not() {
    let folder = Folder::new("");
    let daemon = Daemon::start(&folder, None);
    let ask = |path: &str| {
        let mut stream = TcpStream::connect(daemon.metrics).unwrap();
        write!(stream, "GET {path} HTTP/1.1\r\n\r\n").unwrap();
        let mut page = String::new();
        stream.read_to_string(&mut page).unwrap();
        page
    };
    assert!(ask("/metrics").contains("simco_rules 0\n"));
    assert!(ask("/").starts_with("HTTP/1.1 404"));
    daemon.stop();
}

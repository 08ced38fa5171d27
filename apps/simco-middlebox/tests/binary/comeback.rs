//! The daemon is killed and started again, and its agents come back by themselves.

use std::collections::BTreeSet;
use std::sync::{Mutex, mpsc};
use std::time::{Duration, Instant};

use simco::agent::{AgentCloseReason, AgentEvent, AgentSettings, Reconnection};
use simco::{Lifetime, PolicyRequest, PolicyRuleId};
use simco_agent::{AgentEvents, RequestError, SimcoAgent};
use tokio::task::JoinSet;

use crate::agent::{found, list, make, pinhole, settings, time_until, with_agents};
use crate::daemon::{ALICE, Daemon, Folder, NFTABLES, Over};
use crate::namespace::Namespace;
use crate::oracle::assert_agreement;

fn lasting() -> AgentSettings {
    let (first, longest) = (Duration::from_millis(50), Duration::from_millis(500));
    let reconnection = Some(Reconnection { first, longest, ..Reconnection::default() });
    AgentSettings { reconnection, ..settings("alice", ALICE) }
}

/// Opens pinholes until 300 are granted, and kills the daemon while others are under way; what was granted, and what became
/// of the others once the agent knows.
async fn kill_under_load(
    daemon: Daemon,
    agent: &SimcoAgent,
) -> (BTreeSet<PolicyRuleId>, JoinSet<Result<PolicyRuleId, RequestError>>) {
    let (mut under_way, mut granted, mut port) = (JoinSet::new(), BTreeSet::new(), 0);
    while granted.len() < 300 {
        while under_way.len() < 64 {
            port += 1;
            let agent = agent.clone();
            under_way.spawn(async move {
                agent.request(pinhole(port, 0, 60)).await.map(|reply| reply.rule().unwrap().0)
            });
        }
        granted.insert(under_way.join_next().await.unwrap().unwrap().unwrap());
    }
    daemon.kill();
    (granted, under_way)
}

/// What is told from the break on until both sides agree again.
async fn comeback(events: &mut AgentEvents) -> BTreeSet<PolicyRuleId> {
    let lost = AgentEvent::Closed { reason: AgentCloseReason::Lost };
    while events.next().await.unwrap() != lost {}
    let attempt = events.next().await.unwrap();
    assert!(matches!(attempt, AgentEvent::Reconnecting { attempt: 1, .. }), "{attempt:?}");
    found(events).await.into_iter().collect()
}

fn agents_come_back_over(over: Over, filter: &str, namespace: Option<&Namespace>) {
    let folder = Folder::new(filter);
    let daemon = Daemon::start(&folder, namespace);
    folder.keep_addresses(&daemon);
    let middlebox = daemon.middlebox(over);
    let (killed, wait) = mpsc::channel();
    let wait = Mutex::new(wait);
    let has_journal = namespace.is_some();
    std::thread::scope(|scope| {
        let another = scope.spawn(|| {
            wait.lock().unwrap().recv().unwrap();
            Daemon::start(&folder, namespace)
        });
        with_agents(namespace, async || {
            let (agent, mut events) = SimcoAgent::connect(&middlebox, lasting()).await.unwrap();
            found(&mut events).await;
            let held = make(&agent, pinhole(60_000, 0, 5)).await;
            agent.hold(held, Lifetime::from_secs(5)).await;
            let since = Instant::now();
            let (granted, mut under_way) = kill_under_load(daemon, &agent).await;
            killed.send(()).unwrap();
            let found = comeback(&mut events).await;
            while let Some(outcome) = under_way.join_next().await {
                let outcome = outcome.unwrap();
                let is_expected = match outcome {
                    Ok(rule) => !has_journal || found.contains(&rule),
                    Err(error) => error == RequestError::Closed(AgentCloseReason::Lost),
                };
                assert!(is_expected, "{outcome:?}");
            }
            let listed: BTreeSet<_> = list(&agent).await.into_iter().collect();
            assert_eq!(listed, found);
            if let Some(namespace) = namespace {
                assert!(granted.is_subset(&found), "a rule is lost");
                assert_agreement(namespace, &agent).await;
                // Refreshes go on: it lives longer than it was granted.
                time_until(async || {
                    assert!(list(&agent).await.contains(&held));
                    since.elapsed() > Duration::from_secs(8)
                })
                .await;
            } else {
                // The filter in memory began anew, and the agent works on.
                assert!(found.is_empty());
                make(&agent, pinhole(1, 0, 60)).await;
            }
            agent.terminate().await;
        });
        another.join().unwrap().stop();
    });
}

#[test]
fn agents_come_back_to_a_killed_daemon_and_its_rules_over_tcp() {
    let Some(namespace) = Namespace::new() else { return };
    agents_come_back_over(Over::Tcp, NFTABLES, Some(&namespace));
}

#[test]
fn agents_come_back_to_a_killed_daemon_and_its_rules_over_sctp() {
    let Some(namespace) = Namespace::new() else { return };
    agents_come_back_over(Over::Sctp, NFTABLES, Some(&namespace));
}

#[test]
fn agents_come_back_to_a_daemon_that_has_forgotten_everything() {
    for over in [Over::Tcp, Over::Sctp] {
        agents_come_back_over(over, "", None);
    }
}

/// A daemon that says farewell (AST) is waited for, too; a stop of the agent ends that at once.
#[test]
fn agents_wait_for_a_daemon_that_was_stopped_until_they_are_stopped() {
    let folder = Folder::new("");
    for over in [Over::Tcp, Over::Sctp] {
        let daemon = Daemon::start(&folder, None);
        let middlebox = daemon.middlebox(over);
        with_agents(None, async || {
            let (agent, mut events) = SimcoAgent::connect(&middlebox, lasting()).await.unwrap();
            found(&mut events).await;
            tokio::task::spawn_blocking(|| daemon.stop()).await.unwrap();
            let ended = AgentEvent::Closed { reason: AgentCloseReason::TerminatedByMiddlebox };
            assert_eq!(events.next().await, Some(ended));
            loop {
                let event = events.next().await.unwrap();
                if matches!(event, AgentEvent::Reconnecting { attempt: 3, .. }) {
                    break;
                }
            }
            assert_eq!(agent.request(PolicyRequest::List).await, Err(RequestError::NotConnected));
            let begin = Instant::now();
            agent.terminate().await;
            assert!(begin.elapsed() < Duration::from_secs(1));
        });
    }
}

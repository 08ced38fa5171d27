//! Requests and their answers, and sessions that do not open.

use simco::agent::{AgentCloseReason, AgentEvent, PolicyReply};
use simco::{Lifetime, NegativeCode, PolicyRequest, PolicyRuleId};
use simco_agent::{ConnectError, Middlebox, RequestError, SimcoAgent, Transport};
use tokio::net::TcpListener;

use crate::middlebox::{pinhole, sctp, settings, tcp, within_a_minute};

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

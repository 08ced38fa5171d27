//! Agents that ask, on a thread of their own.

use std::time::Duration;

use simco::agent::{AgentEvent, AgentSettings, Credentials, PolicyReply, Resynchronisation};
use simco::{
    AddressTuple, Direction, DisableRequest, EnableParameters, EnableParity, EnableRequest, Key, Lifetime,
    Location, NegativeCode, Owner, PolicyRequest, PolicyRuleId, TransportProtocol, TupleForm,
};
use simco_agent::{AgentEvents, Middlebox, RequestError, SimcoAgent};

use crate::daemon::{ALICE, PATIENCE};
use crate::namespace::Namespace;

/// Runs agents on a thread of their own, in the namespace if there is one. What they leave behind vanishes without a
/// farewell.
pub(crate) fn with_agents<T: Send>(namespace: Option<&Namespace>, work: impl AsyncFnOnce() -> T + Send) -> T {
    std::thread::scope(|scope| {
        let thread = scope.spawn(|| {
            if let Some(namespace) = namespace {
                namespace.enter();
            }
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async { tokio::time::timeout(PATIENCE * 3, work()).await.unwrap() })
        });
        thread.join().unwrap()
    })
}

/// Settings of an agent that looks for its old rules.
pub(crate) fn settings(name: &str, key: u8) -> AgentSettings {
    let identity = Owner::new(name.as_bytes()).unwrap();
    let credentials = Some(Credentials { identity, key: Key::new([key; 32]) });
    AgentSettings { credentials, resynchronisation: Resynchronisation::Always, ..AgentSettings::default() }
}

/// A session of alice; what she found.
pub(crate) async fn alice(middlebox: &Middlebox) -> (SimcoAgent, Vec<PolicyRuleId>) {
    let (agent, mut events) = SimcoAgent::connect(middlebox, settings("alice", ALICE)).await.unwrap();
    let found = found(&mut events).await;
    (agent, found)
}

/// What is told until resynchronisation is over.
pub(crate) async fn found(events: &mut AgentEvents) -> Vec<PolicyRuleId> {
    let mut rules = Vec::new();
    loop {
        let event = events.next().await.unwrap();
        if let AgentEvent::Found { status } = event {
            rules.push(status.rule().unwrap().0);
        } else if let AgentEvent::Resynchronised { .. } = event {
            return rules;
        }
    }
}

/// An inbound pinhole for a port inside and a port outside; 0 is every port.
pub(crate) fn pinhole(port: u16, outside: u16, seconds: u32) -> PolicyRequest {
    let internal = tuple(Location::INTERNAL, "10.1.8.3", 32, port, 1);
    let external = tuple(Location::EXTERNAL, "203.0.113.9", 32, outside, 1);
    enable(internal, external, Direction::Inbound, seconds)
}

pub(crate) fn enable(
    internal: AddressTuple,
    external: AddressTuple,
    direction: Direction,
    seconds: u32,
) -> PolicyRequest {
    PolicyRequest::Enable(EnableRequest {
        parameters: EnableParameters { parity: EnableParity::Any, direction },
        internal,
        external,
        lifetime: Lifetime::from_secs(seconds),
        group: None,
    })
}

pub(crate) fn disable(internal: AddressTuple, external: AddressTuple, seconds: u32) -> PolicyRequest {
    PolicyRequest::Disable(DisableRequest { internal, external, lifetime: Lifetime::from_secs(seconds) })
}

/// Addresses and ports, UDP.
pub(crate) fn tuple(location: Location, address: &str, bits: u8, port: u16, range: u16) -> AddressTuple {
    let form = TupleForm::Full { address: address.parse().unwrap(), port, port_range: range };
    AddressTuple { location, protocol: TransportProtocol::UDP, prefix_length: bits, form }
}

pub(crate) const fn lifetime(rule: PolicyRuleId, seconds: u32) -> PolicyRequest {
    PolicyRequest::LifetimeChange { rule, lifetime: Lifetime::from_secs(seconds) }
}

/// The rule a request makes.
pub(crate) async fn make(agent: &SimcoAgent, request: PolicyRequest) -> PolicyRuleId {
    agent.request(request).await.unwrap().rule().unwrap().0
}

/// PRL.
pub(crate) async fn list(agent: &SimcoAgent) -> Vec<PolicyRuleId> {
    let reply = agent.request(PolicyRequest::List).await.unwrap();
    let PolicyReply::List(rules) = reply else { panic!("{reply:?}") };
    rules
}

/// PRS; `None` if there is no such rule.
pub(crate) async fn status(agent: &SimcoAgent, rule: PolicyRuleId) -> Option<PolicyReply> {
    match agent.request(PolicyRequest::Status { rule }).await {
        Ok(status) => Some(status),
        Err(RequestError::Refused(NegativeCode::NoSuchRule)) => None,
        Err(error) => panic!("{error}"),
    }
}

/// Asks until the answer is yes; how long that took.
pub(crate) async fn time_until(mut asks: impl AsyncFnMut() -> bool) -> Duration {
    let start = std::time::Instant::now();
    while !asks().await {
        assert!(start.elapsed() < PATIENCE, "it does not come to pass");
    }
    start.elapsed()
}

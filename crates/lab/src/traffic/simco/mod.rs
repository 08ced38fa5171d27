//! Study S4: an agent opens, refreshes and deletes pinholes on a middlebox, both the cores that ship. The packet filter is
//! in memory, as the study's was switched off for measurements.

mod calls;
mod framer;
mod service;
mod transactions;

use core::time::Duration;

use ::simco::agent::{Agent, AgentSettings, Resynchronisation};
use ::simco::middlebox::Framing;
use ::simco::{
    AddressTuple, BasicType, Direction, EnableParameters, EnableParity, EnableRequest, HEADER_BYTES, Header,
    Lifetime, Location, PAYLOAD_PROTOCOL, PolicyRequest, StreamNumber, TransportProtocol,
};
use virtual_time::Instant;
use workload::ArrivalsError;

use self::calls::Due;
use self::framer::MessageFramer;
use self::service::Responder;
use self::transactions::Transactions;
use super::{Beginning, Followed, Framer, Headers, Kind, Measure, Script, Service, Terms, WorkloadFacts};
use crate::lanes::Carriage;

/// Firewall control (RFC 4540).
#[derive(Debug)]
pub(super) struct Simco;

static FACTS: WorkloadFacts = WorkloadFacts {
    name: "simco",
    meaning: "pinholes opened, refreshed and closed by SIMCO",
    in_words: "SIMCO",
    unit: "transactions",
    payload_protocol: PAYLOAD_PROTOCOL,
    has_own_lengths: true,
    // The response times of PER.
    ..WorkloadFacts::of_messages("", "", Measure::Responses)
};

impl Kind for Simco {
    fn facts(&self) -> &'static WorkloadFacts {
        &FACTS
    }

    fn framer(&self) -> Framer {
        Box::new(MessageFramer::default())
    }

    fn followed(&self) -> Followed {
        Followed::ByHeader(Headers { octets: HEADER_BYTES, read: beginning })
    }

    fn check(&self, carriage: Carriage, lanes: u16) -> Result<(), &'static str> {
        framing(carriage, lanes).map(drop)
    }

    fn script(&self, terms: &Terms, seed: u64) -> Result<Option<Box<dyn Script>>, ArrivalsError> {
        let Some(plan) = CallPlan::new(terms) else { return Ok(None) };
        Ok(Some(Box::new(Transactions::new(plan, seed)?)))
    }

    fn service(&self, terms: Option<Terms>) -> Box<dyn Service> {
        Box::new(Responder::new(terms.as_ref().and_then(CallPlan::new)))
    }
}

/// The part of the load that both ends know.
#[derive(Clone, Copy, Debug)]
struct CallPlan {
    /// How messages are told apart.
    framing: Framing,
    /// Mean time between two transactions.
    interval: Duration,
    /// Transactions at most.
    most: u32,
}

impl CallPlan {
    /// Returns `None` over a transport that does not carry it, which has been refused before.
    fn new(terms: &Terms) -> Option<Self> {
        let framing = framing(terms.carriage, terms.lanes).ok()?;
        Some(Self { framing, interval: terms.interval, most: terms.most })
    }
}

/// Returns a middlebox that has no pinholes at the beginning.
pub(super) fn empty_middlebox(terms: Option<Terms>) -> Box<dyn Service> {
    let plan = terms.as_ref().and_then(CallPlan::new);
    Box::new(Responder::new(plan.map(|plan| CallPlan { most: 0, ..plan })))
}

/// Returns an agent without identity and connection, which leaves the pinholes that stand to its user.
pub(super) fn agent(seed: u64) -> Agent {
    let mut secret = [0; 32];
    secret[..8].copy_from_slice(&seed.to_be_bytes());
    let settings = AgentSettings { resynchronisation: Resynchronisation::Never, ..AgentSettings::default() };
    Agent::new(settings, secret)
}

/// Returns the request for something that falls due.
fn request(due: Due) -> PolicyRequest {
    let change = |rule, lifetime| PolicyRequest::LifetimeChange { rule, lifetime };
    match due {
        Due::Open => PolicyRequest::Enable(pinhole(LIFETIME)),
        Due::Refresh(rule) => change(rule, LIFETIME),
        Due::Delete(rule) => change(rule, Lifetime::ZERO),
    }
}

/// Returns which request a message is or answers, and how long it is: the agent numbers its transactions one by one, and the first
/// one opens the session.
fn beginning(octets: &[u8]) -> Option<Beginning> {
    let header = Header::decode(octets).ok()?;
    let is_of_a_request = match BasicType::from_value(header.basic_type)? {
        BasicType::Request | BasicType::PositiveReply | BasicType::NegativeReply => true,
        BasicType::Notification => false,
    };
    let number = u64::from(header.transaction.get()).wrapping_sub(2);
    is_of_a_request.then_some(Beginning { number, octets: HEADER_BYTES + header.payload_bytes })
}

/// Gives an agent what came.
pub(super) fn hand_over(agent: &mut Agent, framing: Framing, now: Instant, stream: u16, wire: &[u8]) {
    match framing {
        Framing::Octets => agent.handle_octets(now, wire),
        Framing::Messages { .. } => agent.handle_message(now, StreamNumber::new(stream), wire),
    }
}

/// Returns the way in which a transport tells messages apart, or why firewall control does not run over it.
pub(super) fn framing(carriage: Carriage, lanes: u16) -> Result<Framing, &'static str> {
    match carriage {
        Carriage::Messages => Ok(Framing::Messages { streams: lanes }),
        Carriage::Octets if lanes == 1 => Ok(Framing::Octets),
        Carriage::Octets => Err("a session of SIMCO is one stream of octets"),
        Carriage::Datagrams => Err("SIMCO needs a reliable transport"),
    }
}

/// Returns the pinhole of a call, of study S4 and of `headway simco load`; all are alike, for a firewall takes
/// equal rules.
#[must_use]
pub fn pinhole(lifetime: Lifetime) -> EnableRequest {
    let host = |location, address: [u8; 4], port| {
        AddressTuple::host(location, TransportProtocol::UDP, address.into(), port, 1)
    };
    EnableRequest {
        parameters: EnableParameters { parity: EnableParity::Any, direction: Direction::Inbound },
        internal: host(Location::INTERNAL, [10, 1, 8, 3], 12_345),
        external: host(Location::EXTERNAL, [203, 0, 113, 9], 6000),
        lifetime,
        group: None,
    }
}

/// Twice the refresh period: one refresh may fail.
const LIFETIME: Lifetime = Lifetime::from_secs(240);

#[cfg(test)]
mod tests;

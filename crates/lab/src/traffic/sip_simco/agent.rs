//! The agent between two telephones: its calls and its session with the middlebox are the cores that ship.

use core::net::{IpAddr, Ipv4Addr, SocketAddr};
use core::time::Duration;
use std::collections::BTreeMap;

use ::simco::agent::{Agent, AgentEvent, PolicyReply};
use ::simco::filter::Network;
use ::simco::middlebox::Framing;
use ::simco::{Lifetime, NegativeCode, PolicyRequest, PolicyRuleId, TransactionId};
use ::sip::{Connection, EndpointConfig, Flow, Transport};
use bytes::Bytes;
use call_core::{CallSettings, Calls, Demand, NextHop, PinholeId, Refusal, Route};
use virtual_time::Instant;

use crate::traffic::simco::{agent, hand_over};
use crate::traffic::sip::{CALLEE, CALLER, telephones};
use crate::traffic::{Asked, Greeting, Reaction, Script, Service, Told};

/// A caller, the back-to-back agent and a callee. What they say to each other takes no time; what the agent says to the middlebox is the
/// script.
#[derive(Debug)]
pub(super) struct BackToBack {
    caller: Box<dyn Script>,
    calls: Calls,
    callee: Box<dyn Service>,
    agent: Agent,
    framing: Framing,
    is_begun: bool,
    /// The pinholes that the middlebox was asked for, and when.
    asked: BTreeMap<TransactionId, (PinholeId, Instant)>,
    open: BTreeMap<PinholeId, PolicyRuleId>,
}

impl BackToBack {
    pub(super) fn new(framing: Framing, seed: u64) -> Self {
        let (caller, callee) = telephones(seed);
        let to = NextHop::Address(Flow::new(Transport::TCP, CALLEE));
        let route = Route { prefix: String::new(), domain: None, to };
        let inside = vec![Network::new(CALLER.ip(), 32)];
        let settings = CallSettings {
            // A call waits as long as it takes: what is given up is nowhere in a mean.
            firewall_patience: Duration::from_secs(3600),
            most_calls: usize::MAX,
            calls_per_second: u32::MAX,
            ..CallSettings::new(vec![route], vec![inside])
        };
        let endpoint = EndpointConfig::new(vec![(Transport::TCP, HERE)]);
        let mut secret = [1; 32];
        secret[..8].copy_from_slice(&seed.to_be_bytes());
        Self {
            caller,
            calls: Calls::new(settings, endpoint, secret),
            callee,
            agent: agent(seed),
            framing,
            is_begun: false,
            asked: BTreeMap::new(),
            open: BTreeMap::new(),
        }
    }

    /// Lets everything happen that happens without time; returns what the caller tells: that it has an answer.
    fn settle(&mut self, now: Instant) -> Result<Vec<Told>, String> {
        let mut told = Vec::new();
        loop {
            let mut is_quiet = true;
            while let Some(sent) = self.calls.poll_transmit() {
                is_quiet = false;
                if sent.flow.remote == CALLER {
                    told.extend(self.caller.handle_response(now, 0, &sent.octets, None)?);
                } else if let Reaction::Answers(said) = self.callee.on_message(now, now, 0, sent.octets) {
                    self.hear(now, CALLEE, said.into_iter().map(|(_, octets)| octets));
                }
            }
            while let Some(Asked { octets, .. }) = self.caller.poll_message() {
                is_quiet = false;
                self.hear(now, CALLER, [octets]);
            }
            while let Some(demand) = self.calls.poll_demand() {
                is_quiet = false;
                self.ask_middlebox(now, demand);
            }
            // Nobody reads the records.
            while self.calls.poll_record().is_some() {}
            if is_quiet {
                return Ok(told);
            }
        }
    }

    /// Hands the agent what a telephone says.
    fn hear(&mut self, now: Instant, from: SocketAddr, said: impl IntoIterator<Item = Bytes>) {
        let flow = Flow { connection: Some(Connection(0)), ..Flow::new(Transport::TCP, from) };
        for octets in said {
            self.calls.handle_packet(now, flow, &octets);
        }
    }

    fn ask_middlebox(&mut self, now: Instant, demand: Demand) {
        match demand {
            Demand::Open { id, pinhole } => match self.agent.request(pinhole.request(LIFETIME)) {
                Ok(transaction) => {
                    self.asked.insert(transaction, (id, now));
                }
                Err(_) => self.calls.handle_verdict(now, id, Err(Refusal::Unreachable)),
            },
            // The middlebox is no translator.
            Demand::Enable { id, .. } => self.calls.handle_verdict(now, id, Err(Refusal::OtherKind)),
            Demand::Close { id, .. } => {
                if let Some(rule) = self.open.remove(&id) {
                    let request = PolicyRequest::LifetimeChange { rule, lifetime: Lifetime::ZERO };
                    // Without a session all is over anyway.
                    let _asked = self.agent.request(request);
                }
            }
        }
    }

    /// Takes in the answer of the middlebox about a pinhole, or about one that was deleted. An answer that goes on to the caller by that was
    /// there when the pinhole was asked for.
    fn on_answer(
        &mut self,
        now: Instant,
        transaction: TransactionId,
        outcome: Result<PolicyReply, NegativeCode>,
    ) -> Result<Vec<Told>, String> {
        let Some((id, asked_at)) = self.asked.remove(&transaction) else { return Ok(Vec::new()) };
        let granted = outcome.ok().and_then(|reply| reply.rule());
        if let Some((rule, _)) = granted {
            self.open.insert(id, rule);
        }
        self.calls.handle_verdict(now, id, granted.map(|_| None).ok_or(Refusal::Refused));
        let mut told = self.settle(now)?;
        for told in &mut told {
            if let Told::Done { due, .. } = told {
                *due = asked_at;
            }
        }
        Ok(told)
    }

    /// Returns the message for the middlebox that the agent has written.
    fn collect(&mut self) -> Option<Asked> {
        let (stream, octets) = self.agent.poll_transmit()?;
        Some(Asked { stream: stream.get(), octets: Bytes::from(octets), is_timed: false })
    }
}

impl Script for BackToBack {
    /// Opens the session, once.
    fn begin(&mut self, _now: Instant) -> Greeting {
        if core::mem::replace(&mut self.is_begun, true) {
            return Greeting::Said;
        }
        self.agent.connect(self.framing);
        self.collect().map_or(Greeting::Said, Greeting::Message)
    }

    /// Has the caller call; the message is the request for the first pinhole. `None` without a session.
    fn ask(&mut self, number: u64, due: Instant) -> Option<Asked> {
        let Asked { octets, .. } = self.caller.ask(number, due)?;
        self.hear(due, CALLER, [octets]);
        self.settle(due).ok()?;
        self.collect().map(|asked| Asked { is_timed: true, ..asked })
    }

    /// Takes in a message of the middlebox; an error in words ends it all.
    fn handle_response(
        &mut self,
        now: Instant,
        stream: u16,
        wire: &[u8],
        _blocked: Option<Duration>,
    ) -> Result<Vec<Told>, String> {
        hand_over(&mut self.agent, self.framing, now, stream, wire);
        let mut told = Vec::new();
        while let Some(event) = self.agent.poll_event() {
            if let AgentEvent::Closed { reason } = event {
                return Err(reason.to_string());
            } else if let AgentEvent::Answered { transaction, outcome, .. } = event {
                told.extend(self.on_answer(now, transaction, outcome)?);
            } else if let AgentEvent::Opened { .. } = event {
                told.push(Told::Open);
            }
        }
        Ok(told)
    }

    fn poll_message(&mut self) -> Option<Asked> {
        self.collect()
    }

    fn poll_timeout(&self) -> Option<Instant> {
        let telephones = self.caller.poll_timeout().into_iter().chain(self.callee.poll_timeout());
        telephones.chain(self.calls.poll_timeout()).chain(self.agent.poll_timeout()).min()
    }

    fn handle_timeout(&mut self, now: Instant) -> Result<Vec<Told>, String> {
        self.agent.handle_timeout(now);
        self.calls.handle_timeout(now);
        self.caller.handle_timeout(now)?;
        let said = self.callee.handle_timeout(now);
        self.hear(now, CALLEE, said.into_iter().map(|(_, octets)| octets));
        self.settle(now)
    }
}

/// The address of the agent in its messages (RFC 5737).
const HERE: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::new(192, 0, 2, 3)), 5060);
/// How long a pinhole is asked for; calls end before a refresh would be due.
const LIFETIME: Lifetime = Lifetime::from_secs(180);

#[cfg(test)]
mod tests;

//! The five verbs: messages and times in, messages and events out.
//!
//! ```text
//!  handle_packet ─► parse ─► essentials ─┬─ response ─► client transaction ─► Event::Response
//!                                        ├─ ACK ──────► server transaction, or the answer it is for
//!                                        ├─ CANCEL ───► answered here ──────► Event::Cancelled
//!                                        └─ request ──► server transaction ─► Event::Request
//!  request, respond, acknowledge, cancel ───────────────────────────────────► poll_transmit
//! ```
//!
//! Here: transactions, Via and branches, 2xx and its ACK over and over (RFC 3261 §13.2.2.4, §13.3.1.4), answers to what makes
//! no sense, limits, counters. Not here: dialogs ([`Dialog`](crate::Dialog)) and what a request means, which is its user's.

mod acks;
mod counters;
mod event;
mod incoming;
mod nonces;
mod sending;
mod table;
#[cfg(test)]
mod tests;

use core::net::SocketAddr;
use std::collections::VecDeque;

use bytes::Bytes;
use virtual_time::Instant;

pub use self::counters::Counters;
pub use self::event::{Event, Failure, Transmit};
pub use self::sending::CancelOutcome;
pub use self::table::TransactionId;

use self::nonces::Nonces;
use self::table::{Role, Table};
use crate::limits::MessageLimits;
use crate::message::{Message, ParseError, Response};
use crate::transaction::{Step, Timers};
use crate::transport::{Flow, Transport};

/// All transactions of one side of SIP, over all of its transports.
///
/// The driver's contract is that of every core: *mutate → drain [`poll_transmit`](Self::poll_transmit) → drain
/// [`poll_event`](Self::poll_event) → read [`poll_timeout`](Self::poll_timeout) → wait*. Time never goes back; a call too many
/// does no harm.
#[derive(Debug)]
pub struct Endpoint {
    config: EndpointConfig,
    nonces: Nonces,
    table: Table,
    outbox: VecDeque<Transmit>,
    events: VecDeque<Event>,
    counters: Counters,
}

/// Configuration of an endpoint.
#[derive(Clone, Debug)]
pub struct EndpointConfig {
    /// The addresses that peers are told in Via, one for each transport and family. Without one for a transport nothing can
    /// be sent over it.
    pub addresses: Vec<(Transport, SocketAddr)>,
    /// The timers of transactions.
    pub timers: Timers,
    /// The limits on what a message may hold.
    pub limits: MessageLimits,
    /// Transactions at the same time, of both sides; default 200,000. Requests beyond them are refused with 503 at no cost
    /// in memory.
    pub most_transactions: usize,
    /// The seconds that such a 503 asks the peer to wait; default 5.
    pub retry_after_s: u32,
    /// Extensions that may be required of this side, by their option tags; default none. Others are refused with 420.
    pub extensions: Vec<String>,
    /// A request of more octets goes over TCP instead of UDP where there is an address for it; default 1,300, which RFC 3261
    /// §18.1.1 has for a path of unknown MTU.
    pub datagram_bytes: usize,
}

impl EndpointConfig {
    /// Creates a configuration with the defaults.
    #[must_use]
    pub fn new(addresses: Vec<(Transport, SocketAddr)>) -> Self {
        Self {
            addresses,
            timers: Timers::default(),
            limits: MessageLimits::default(),
            most_transactions: 200_000,
            retry_after_s: 5,
            extensions: Vec::new(),
            datagram_bytes: 1_300,
        }
    }
}

impl Endpoint {
    /// Creates an endpoint. `seed` makes tags and branches that nobody can guess: the operating system's entropy, or the
    /// seed of a simulation.
    #[must_use]
    pub fn new(config: EndpointConfig, seed: [u8; 32]) -> Self {
        Self {
            config,
            nonces: Nonces::new(&seed),
            table: Table::default(),
            outbox: VecDeque::new(),
            events: VecDeque::new(),
            counters: Counters::default(),
        }
    }

    /// Takes in a message that arrived: a datagram, a user message of SCTP, or what a [`Framer`](crate::Framer) has
    /// cut.
    pub fn handle_packet(&mut self, now: Instant, from: Flow, octets: &Bytes) {
        if octets.iter().all(|octet| matches!(octet, b'\r' | b'\n' | b'\0')) {
            // Keeps a binding of a translator alive (RFC 5626 §3.5).
            self.counters.keep_alives += 1;
            return;
        }
        match Message::parse(octets, &self.config.limits) {
            Ok(Message::Request(request)) => self.on_request(now, from, request),
            Ok(Message::Response(response)) => self.on_response(now, from, response),
            Err(ParseError::CutOff { .. }) => self.on_cut_off(from, octets),
            Err(_) => self.counters.unreadable += 1,
        }
    }

    /// Takes note that what was sent to `flow` did not get through, or that the connection has gone. Requests without
    /// an answer end with [`Failure::Transport`] (RFC 3261 §8.1.3.1), but for those that only went over TCP for their
    /// length: they go over UDP.
    pub fn handle_transport_error(&mut self, now: Instant, flow: Flow) {
        for id in self.table.of_flow(flow) {
            if self.fall_back(now, id) {
                continue;
            }
            let step = self.table.on_transport_error(id);
            self.take(now, id, step, Failure::Transport);
        }
    }

    /// Repeats the messages that are due at `now`, and ends the transactions whose time is over.
    pub fn handle_timeout(&mut self, now: Instant) {
        while let Some(id) = self.table.due(now) {
            if self.repeat_answer(now, id) {
                continue;
            }
            let step = self.table.on_timeout(now, id);
            self.take(now, id, step, Failure::Timeout);
        }
    }

    /// Returns the next message to be sent.
    pub fn poll_transmit(&mut self) -> Option<Transmit> {
        self.outbox.pop_front()
    }

    /// Returns what has happened.
    pub fn poll_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    /// Returns when the endpoint wants to be woken at the latest.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Instant> {
        self.table.next_deadline()
    }

    /// Returns the counters of what has happened.
    #[must_use]
    pub const fn counters(&self) -> &Counters {
        &self.counters
    }

    /// Returns how many transactions there are.
    #[must_use]
    pub fn transactions(&self) -> usize {
        self.table.len()
    }

    /// Returns the configuration.
    #[must_use]
    pub const fn config(&self) -> &EndpointConfig {
        &self.config
    }

    /// Creates a tag for a dialog (RFC 3261 §19.3), or anything else that nobody shall guess.
    pub fn tag(&mut self) -> String {
        self.nonces.text()
    }

    /// Draws a number that nobody shall guess, for a choice at random.
    pub fn number(&mut self) -> u64 {
        self.nonces.number()
    }

    /// Carries out the step that a machine wants done without a message at hand, and sets its alarm anew.
    fn take(&mut self, now: Instant, id: TransactionId, step: Step, failure: Failure) {
        match step {
            Step::Send => self.send_last(id),
            Step::End => self.forget(id),
            Step::TimedOut => self.fail(id, failure),
            Step::Nothing | Step::Pass | Step::PassAndAcknowledge | Step::Acknowledge => {}
        }
        self.table.arm(now, id);
    }

    fn send_last(&mut self, id: TransactionId) {
        if let Some((flow, octets)) = self.table.last(id) {
            self.counters.repeated += 1;
            self.transmit(flow, octets);
        }
    }

    fn transmit(&mut self, flow: Flow, octets: Bytes) {
        self.counters.sent += 1;
        self.outbox.push_back(Transmit { flow, octets });
    }

    /// A transaction ends without the answer, or ACK, that it waited for.
    fn fail(&mut self, id: TransactionId, failure: Failure) {
        let Some(role) = self.table.remove(id) else { return };
        match role {
            Role::Client(client) if client.is_internal => {}
            Role::Client(_) => self.events.push_back(Event::Failed { transaction: id, failure }),
            // Nobody acknowledges the failure: there is nothing more to be done about it (RFC 3261 §17.2.1).
            Role::Server(_) => self.counters.unacknowledged += 1,
        }
    }

    /// A transaction has done its duty.
    fn forget(&mut self, id: TransactionId) {
        let Some(Role::Server(server)) = self.table.remove(id) else { return };
        if server.answer.is_some_and(|answer| !answer.is_acknowledged) {
            self.counters.unacknowledged += 1;
            self.events.push_back(Event::Unacknowledged { transaction: id });
        }
    }

    /// Sends a response that no transaction repeats.
    fn send_statelessly(&mut self, to: Flow, response: &Response) {
        self.counters.refused += 1;
        self.transmit(to, response.encode());
    }
}

//! Calls without IO: messages, verdicts of the firewall and times in; messages, demands on the firewall and records out.
//!
//! ```text
//!  A                       here                      firewall                B
//!  │ INVITE, offer          │ open towards A ─────────►│                     │
//!  │───────────────────────►│◄──────────────── granted │                     │
//!  │◄─────────── 100 Trying │ INVITE, offer ───────────┼────────────────────►│
//!  │                        │◄─────────────────────────┼───── 200 OK, answer │
//!  │                        │ ACK ─────────────────────┼────────────────────►│
//!  │                        │ open towards B ─────────►│                     │
//!  │◄─────── 200 OK, answer │◄──────────────── granted │                     │
//!  │ ACK, media, BYE …      │ delete both ────────────►│                     │
//! ```
//!
//! The order is that of study S4: no session description is passed on before the pinholes are open that media towards its
//! sender need.

mod admission;
mod call;
mod crossing;
mod ending;
mod exchange;
mod firewall;
mod forward;
mod hops;
mod record;
mod responses;
mod settings;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::net::SocketAddr;
use std::time::Duration;

use bytes::Bytes;
use sip::{Dialog, Endpoint, EndpointConfig, Event, Flow, Request, TransactionId, Transmit};
use virtual_time::Instant;

pub use self::call::{CallId, PinholeId};
pub use self::firewall::{Demand, Refusal};
pub use self::hops::{HopAddress, HopName, NextHop};
pub use self::record::Record;
pub use self::settings::{AuthenticationSettings, CallSettings, Route};

use self::call::{Call, Side};
use crate::pinhole::Pinhole;

/// The core of the agent: all calls, with their transactions, dialogs and pinholes.
///
/// The driver's contract is that of every core: *mutate → drain [`poll_transmit`](Self::poll_transmit),
/// [`poll_demand`](Self::poll_demand) and [`poll_record`](Self::poll_record) → read [`poll_timeout`](Self::poll_timeout) →
/// wait*.
#[derive(Debug)]
pub struct Calls {
    settings: CallSettings,
    endpoint: Endpoint,
    calls: BTreeMap<CallId, Box<Call>>,
    transactions: BTreeMap<TransactionId, Purpose>,
    dialogs: BTreeMap<(String, String), (CallId, Side)>,
    pinholes: BTreeMap<PinholeId, CallId>,
    hops: hops::Hops,
    deadlines: BTreeSet<(Instant, CallId)>,
    armed: BTreeMap<CallId, Instant>,
    demands: VecDeque<Demand>,
    records: VecDeque<Record>,
    admission: admission::Admission,
    counters: CallCounters,
    drawn: u64,
}

/// The purpose that a transaction serves.
#[derive(Debug)]
enum Purpose {
    /// A request of the peer, or its copy to the other side, in an exchange.
    Exchange(CallId, u32),
    /// The INVITE of a call that is over: a late success is acknowledged and ended.
    Orphan(Box<Request>, Flow),
    /// The INVITE of a call that is over and whose caller has not acknowledged the answer: no BYE before that
    /// (RFC 3261 §15).
    Farewell(Box<Dialog>, Flow, &'static str),
}

/// The counters of calls since the start.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct CallCounters {
    /// INVITEs that began a call.
    pub begun: u64,
    /// Calls that were answered.
    pub answered: u64,
    /// Calls that ended, by their cause.
    pub ended: BTreeMap<&'static str, u64>,
    /// New calls that were refused, by the reason.
    pub refused: BTreeMap<&'static str, u64>,
    /// Pinholes that the firewall granted.
    pub granted: u64,
    /// Pinholes that it refused, or did not answer about in time.
    pub denied: BTreeMap<&'static str, u64>,
    /// Pinholes that were gone and opened again.
    pub reopened: u64,
    /// Provisional responses that were passed on without their session description, which could not be used.
    pub early_media_refused: u64,
    /// Set-up delays of answered calls, by upper bounds in milliseconds.
    pub setup: Histogram,
    /// How long the firewall held back answers, likewise.
    pub firewall: Histogram,
}

/// Durations, counted by upper bounds.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Histogram {
    /// How many were no longer than each bound of [`BOUNDS_MS`], and longer than the one before.
    pub counts: [u64; BOUNDS_MS.len()],
    /// How many there were at all.
    pub count: u64,
    /// The sum of all the durations.
    pub sum: Duration,
}

/// Upper bounds in milliseconds.
pub const BOUNDS_MS: [u64; 12] = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 10_000];

impl Histogram {
    pub(crate) fn add(&mut self, span: Duration) {
        self.count += 1;
        self.sum += span;
        let fits = |bound: &u64| span <= Duration::from_millis(*bound);
        if let Some(at) = BOUNDS_MS.iter().position(fits) {
            self.counts[at] += 1;
        }
    }
}

impl Calls {
    /// Creates an agent without calls. Its endpoint takes the extensions that work through it, whatever the configuration says.
    #[must_use]
    pub fn new(settings: CallSettings, mut endpoint: EndpointConfig, seed: [u8; 32]) -> Self {
        endpoint.extensions = forward::EXTENSIONS.map(str::to_owned).to_vec();
        Self {
            admission: admission::Admission::new(&settings, seed),
            settings,
            endpoint: Endpoint::new(endpoint, seed),
            calls: BTreeMap::new(),
            transactions: BTreeMap::new(),
            dialogs: BTreeMap::new(),
            pinholes: BTreeMap::new(),
            hops: hops::Hops::default(),
            deadlines: BTreeSet::new(),
            armed: BTreeMap::new(),
            demands: VecDeque::new(),
            records: VecDeque::new(),
            counters: CallCounters::default(),
            drawn: 0,
        }
    }

    /// Acts on a message that arrived from a peer.
    pub fn handle_packet(&mut self, now: Instant, from: Flow, octets: &Bytes) {
        self.endpoint.handle_packet(now, from, octets);
        self.settle(now);
    }

    /// Acts on a failure: what was sent to `flow` did not get through, or the connection has gone.
    pub fn handle_transport_error(&mut self, now: Instant, flow: Flow) {
        self.endpoint.handle_transport_error(now, flow);
        self.settle(now);
    }

    /// Acts on everything that is due by now.
    pub fn handle_timeout(&mut self, now: Instant) {
        self.endpoint.handle_timeout(now);
        self.settle(now);
        while let Some((at, id)) = self.deadlines.first().copied()
            && at <= now
        {
            self.with(now, id, |calls, call| calls.on_deadline(now, call));
        }
    }

    /// The firewall has decided about a pinhole, or nobody could ask it. A translator says at which address and first port outside the
    /// listener is reached.
    pub fn handle_verdict(
        &mut self,
        now: Instant,
        pinhole: PinholeId,
        verdict: Result<Option<SocketAddr>, Refusal>,
    ) {
        let Some(id) = self.pinholes.get(&pinhole).copied() else { return };
        self.with(now, id, |calls, call| calls.on_verdict(now, call, pinhole, verdict));
        self.settle(now);
    }

    /// A pinhole that was open is gone without our doing: it is opened again, or the call ends.
    pub fn handle_loss(&mut self, now: Instant, pinhole: PinholeId) {
        let Some(id) = self.pinholes.get(&pinhole).copied() else { return };
        self.with(now, id, |calls, call| calls.on_loss(now, call, pinhole));
    }

    /// Takes no more calls; those that are up go on.
    pub const fn drain(&mut self) {
        self.admission.drain();
    }

    /// Ends every call, with BYE or a refusal.
    pub fn end_all(&mut self, now: Instant) {
        let ids: Vec<CallId> = self.calls.keys().copied().collect();
        for id in ids {
            self.with(now, id, |calls, call| calls.end(now, call, ending::Ending::SHUTDOWN, None));
        }
    }

    /// Goes by other settings from now on. Middleboxes stay those that there were, by their number.
    pub fn set_settings(&mut self, settings: CallSettings) {
        self.admission.set(&settings);
        self.hops.keep(|name| settings.names().any(|other| other == name));
        self.settings = settings;
    }

    /// Sends calls to a next hop with this name to these addresses from now on.
    pub fn set_targets(&mut self, name: HopName, targets: Vec<HopAddress>) {
        self.hops.set(name, targets);
    }

    /// Returns the next message to be sent.
    pub fn poll_transmit(&mut self) -> Option<Transmit> {
        self.endpoint.poll_transmit()
    }

    /// Returns what the firewall is to be asked next.
    pub fn poll_demand(&mut self) -> Option<Demand> {
        self.demands.pop_front()
    }

    /// Returns the record of a call that has ended.
    pub fn poll_record(&mut self) -> Option<Record> {
        self.records.pop_front()
    }

    /// Returns when it wants to be woken at the latest.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Instant> {
        let own = self.deadlines.first().map(|(at, _)| *at);
        self.endpoint.poll_timeout().into_iter().chain(own).min()
    }

    /// Returns how many calls there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.calls.len()
    }

    /// Returns whether there is no call.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.calls.is_empty()
    }

    /// Returns the counters of calls since the start.
    #[must_use]
    pub const fn counters(&self) -> &CallCounters {
        &self.counters
    }

    /// Returns the endpoint, for its counters.
    #[must_use]
    pub const fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    /// Returns how many pinholes calls have, or have asked for.
    #[must_use]
    pub fn pinholes(&self) -> usize {
        self.pinholes.len()
    }

    /// Acts on what the endpoint tells until it has nothing more to tell.
    fn settle(&mut self, now: Instant) {
        while let Some(event) = self.endpoint.poll_event() {
            match event {
                Event::Request { transaction, request, essentials, from } => {
                    self.on_request(now, admission::Asked { server: transaction, request, essentials }, from);
                }
                Event::Response { transaction, response, essentials } => {
                    self.on_response(now, transaction, response, essentials);
                }
                Event::Failed { transaction, failure } => self.on_failed(now, transaction, failure),
                Event::Cancelled { transaction } => {
                    self.on_exchange(now, transaction, |calls, call, _| {
                        calls.end(now, call, ending::Ending::CANCELLED, None);
                    });
                }
                Event::Acknowledged { transaction, ack } => {
                    self.say_farewell(now, transaction);
                    self.on_exchange(now, transaction, |calls, call, number| {
                        calls.on_ack(now, call, number, ack);
                    });
                }
                Event::Unacknowledged { transaction } => {
                    self.say_farewell(now, transaction);
                    self.on_exchange(now, transaction, |calls, call, number| {
                        if let Some(exchange) = call.exchange(number) {
                            exchange.step = call::Step::Done;
                        }
                        calls.end(now, call, ending::Ending::NO_ACK, None);
                    });
                }
            }
        }
    }

    /// Does some work on the exchange that a transaction belongs to.
    fn on_exchange(
        &mut self,
        now: Instant,
        transaction: TransactionId,
        work: impl FnOnce(&mut Self, &mut Call, u32),
    ) {
        if let Some(Purpose::Exchange(id, number)) = self.transactions.get(&transaction) {
            let (id, number) = (*id, *number);
            self.with(now, id, |calls, call| work(calls, call, number));
        }
    }

    /// Lends a call, and sees to its alarm and its end.
    fn with(&mut self, now: Instant, id: CallId, work: impl FnOnce(&mut Self, &mut Call)) {
        let Some(mut call) = self.calls.remove(&id) else { return };
        work(self, &mut call);
        self.keep(now, call);
    }

    /// Puts a call in its place, or away if it is over.
    fn keep(&mut self, now: Instant, call: Box<Call>) {
        let next = call.next_deadline(self.settings.firewall_patience).filter(|_| !call.is_over);
        let next = next.map(|at| at.max(now));
        if self.armed.get(&call.id).copied() != next {
            if let Some(at) = self.armed.remove(&call.id) {
                self.deadlines.remove(&(at, call.id));
            }
            if let Some(at) = next {
                self.deadlines.insert((at, call.id));
                self.armed.insert(call.id, at);
            }
        }
        if call.is_over {
            self.put_away(*call);
        } else {
            self.calls.insert(call.id, call);
        }
    }

    fn draw(&mut self) -> u64 {
        self.drawn += 1;
        self.drawn
    }

    /// Opens the pinholes that are needed and not there; returns whether the exchange has to wait for one.
    fn open(
        &mut self,
        now: Instant,
        call: &mut Call,
        number: u32,
        towards: Side,
        needed: Vec<Pinhole>,
    ) -> bool {
        for pinhole in needed {
            let is_there = call.pinholes.iter().any(|held| held.pinhole.covers(&pinhole));
            if !is_there && !self.open_what_is_reserved(call, number, &pinhole) {
                self.ask(call, Some(number), towards, pinhole);
            }
        }
        let waits = call.waits(number);
        if waits && let Some(exchange) = call.exchange(number) {
            exchange.asked_at.get_or_insert(now);
        }
        waits
    }
}

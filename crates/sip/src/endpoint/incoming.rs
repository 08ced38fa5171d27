//! Messages on their way in: to the transaction they belong to, or to an answer that says what is wrong.

use bytes::Bytes;
use virtual_time::Instant;

use super::acks::Fork;
use super::table::{Cancelling, Key, Machine, Origin, Role, ServerPart};
use super::{Endpoint, Event, TransactionId};
use crate::essentials::{Essentials, Fault};
use crate::message::{HeaderName, Message, Request, Response};
use crate::method::Method;
use crate::status::{Status, StatusClass};
use crate::transaction::{InviteServer, Server, Step};
use crate::transport::Flow;
use crate::via::Via;

impl Endpoint {
    pub(super) fn on_request(&mut self, now: Instant, from: Flow, mut request: Request) {
        let Some(via) = note_source(&mut request, from) else {
            self.counters.unanswerable += 1;
            return;
        };
        let back = way_back(&via, from);
        let essentials = match Essentials::of_request(&request, &self.config.limits) {
            Ok(essentials) => essentials,
            Err(fault) => return self.refuse(back, &request, fault),
        };
        match request.method {
            Method::Ack => self.on_ack(now, request, &essentials),
            Method::Cancel => self.on_cancel(now, back, &request, &essentials),
            Method::Invite
            | Method::Bye
            | Method::Options
            | Method::Register
            | Method::Prack
            | Method::Update
            | Method::Info
            | Method::Message
            | Method::Refer
            | Method::Subscribe
            | Method::Notify
            | Method::Publish
            | Method::Other(_) => self.on_new_request(now, from, back, request, essentials),
        }
    }

    /// Takes in a message whose body was cut off: a request is refused, a response counts for nothing (RFC 3261 §18.3).
    pub(super) fn on_cut_off(&mut self, from: Flow, octets: &Bytes) {
        let Ok(Message::Request(mut request)) = Message::parse_without_body(octets, &self.config.limits)
        else {
            self.counters.unreadable += 1;
            return;
        };
        let Some(via) = note_source(&mut request, from) else {
            self.counters.unanswerable += 1;
            return;
        };
        let fault = Fault { status: Status::BAD_REQUEST, reason: "Body Shorter Than Content-Length" };
        self.refuse(way_back(&via, from), &request, fault);
    }

    fn on_new_request(
        &mut self,
        now: Instant,
        from: Flow,
        back: Flow,
        request: Request,
        essentials: Essentials,
    ) {
        let key = Key::of_request(&request, &essentials, &request.method);
        if let Some(id) = self.table.find(&key) {
            self.counters.repetitions += 1;
            let step = self.table.on_repetition(id);
            return self.take(now, id, step, super::Failure::Timeout);
        }
        let origin = Origin::of_request(&essentials);
        if let Some(fault) = self.reason_to_refuse(&request, &origin) {
            return self.refuse(back, &request, fault);
        }
        if self.table.len() >= self.config.most_transactions {
            return self.overloaded(back, &request);
        }
        let (timers, transport) = (self.config.timers, back.transport);
        let machine = if request.method == Method::Invite {
            Machine::InviteServer(InviteServer::new(timers, transport))
        } else {
            Machine::Server(Server::new(timers, transport))
        };
        let role = Role::Server(ServerPart { origin, answer: None });
        let transaction = self.table.insert(now, key, machine, back, role);
        self.counters.requests += 1;
        let (request, essentials) = (Box::new(request), Box::new(essentials));
        self.events.push_back(Event::Request { transaction, request, essentials, from });
    }

    /// Returns why every user agent would refuse this request: it is merged (RFC 3261 §8.2.2.2), or requires an unknown
    /// extension (§8.2.2.3); `None` if there is no such reason.
    fn reason_to_refuse(&self, request: &Request, origin: &Option<Origin>) -> Option<Fault> {
        if origin.as_ref().is_some_and(|origin| self.table.is_merged(origin)) {
            return Some(Fault { status: Status::LOOP_DETECTED, reason: "Merged Request" });
        }
        if self.unsupported(request).is_empty() {
            return None;
        }
        Some(Fault { status: Status::BAD_EXTENSION, reason: "Bad Extension" })
    }

    fn unsupported<'a>(&self, request: &'a Request) -> Vec<&'a str> {
        let required = [HeaderName::Require, HeaderName::ProxyRequire];
        let tags = required.iter().filter_map(|name| request.headers.list(name)).flatten();
        let knows = |tag: &str| self.config.extensions.iter().any(|known| known.eq_ignore_ascii_case(tag));
        tags.filter(|tag| !knows(tag)).collect()
    }

    fn refuse(&mut self, back: Flow, request: &Request, fault: Fault) {
        // An ACK is never answered (RFC 3261 §17.1.1.3), and whoever cannot name a transaction does not understand the answer.
        let is_answerable = NEEDED.iter().all(|name| request.headers.first(name).is_some());
        if request.method == Method::Ack || !is_answerable {
            self.counters.unanswerable += 1;
            return;
        }
        let tag = self.nonces.text();
        let mut response = Response::to_fault(request, fault, &tag);
        if fault.status == Status::BAD_EXTENSION {
            response.headers.push(HeaderName::Unsupported, self.unsupported(request).join(", "));
        }
        self.send_statelessly(back, &response);
    }

    fn overloaded(&mut self, back: Flow, request: &Request) {
        self.counters.overloaded += 1;
        let tag = self.nonces.text();
        let mut response = Response::to(request, Status::SERVICE_UNAVAILABLE, &tag);
        response.headers.push(HeaderName::RetryAfter, self.config.retry_after_s.to_string());
        self.send_statelessly(back, &response);
    }

    fn on_ack(&mut self, now: Instant, request: Request, essentials: &Essentials) {
        let key = Key::of_request(&request, essentials, &Method::Ack);
        if let Some(id) = self.table.find(&key) {
            let step = match self.table.transaction(id).map(|transaction| &mut transaction.machine) {
                Some(Machine::InviteServer(machine)) => machine.on_ack(now),
                Some(Machine::Server(_) | Machine::InviteClient(_) | Machine::Client(_)) | None => {
                    Step::Nothing
                }
            };
            self.table.arm(now, id);
            if step != Step::Pass {
                return;
            }
        }
        let tag = essentials.to.tag().unwrap_or_default().to_owned();
        let origin = Origin { call_id: essentials.call_id.clone(), tag, number: essentials.cseq.number };
        let Some(id) = self.table.acknowledged_by(&origin) else {
            self.counters.stray_acks += 1;
            return;
        };
        let Some(answer) = self.table.server(id).and_then(|server| server.answer.as_mut()) else { return };
        if !core::mem::replace(&mut answer.is_acknowledged, true) {
            self.events.push_back(Event::Acknowledged { transaction: id, ack: Box::new(request) });
            self.table.arm(now, id);
        }
    }

    /// Answers a CANCEL, as every hop does (RFC 3261 §9.2), and tells the user if the INVITE is still open.
    fn on_cancel(&mut self, now: Instant, back: Flow, request: &Request, essentials: &Essentials) {
        let own = Key::of_request(request, essentials, &Method::Cancel);
        if let Some(id) = self.table.find(&own) {
            self.counters.repetitions += 1;
            let step = self.table.on_repetition(id);
            return self.take(now, id, step, super::Failure::Timeout);
        }
        let invite = Key::of_request(request, essentials, &Method::Invite);
        let Some(id) = self.table.find(&invite) else {
            let reason = "No Transaction to Cancel";
            return self.refuse(back, request, Fault { status: Status::NO_SUCH_CALL, reason });
        };
        let machine = Machine::Server(Server::new(self.config.timers, back.transport));
        let cancel = self.table.insert(now, own, machine, back, Role::Server(ServerPart::default()));
        let tag = self.nonces.text();
        self.respond(now, cancel, &Response::to(request, Status::OK, &tag));
        let is_open = match self.table.transaction(id).map(|transaction| &transaction.machine) {
            Some(Machine::InviteServer(machine)) => machine.is_open(),
            Some(Machine::Server(_) | Machine::InviteClient(_) | Machine::Client(_)) | None => false,
        };
        if is_open {
            self.events.push_back(Event::Cancelled { transaction: id });
        }
    }

    pub(super) fn on_response(&mut self, now: Instant, from: Flow, response: Response) {
        let essentials = match Essentials::of_response(&response, &self.config.limits) {
            // Exactly one Via, and our own address in it (RFC 3261 §8.1.3.3, §18.1.2).
            Ok(essentials) if response.headers.list(&HeaderName::Via).is_some_and(|all| all.len() == 1) => {
                essentials
            }
            Ok(_) | Err(_) => {
                self.counters.stray_responses += 1;
                return;
            }
        };
        let branch = essentials.via.branch().unwrap_or_default().to_ascii_lowercase();
        let key = Key::Client { branch, method: essentials.cseq.method.clone() };
        let found = self.table.find(&key).filter(|id| self.is_expected(*id, from, &essentials));
        let Some(id) = found else {
            self.counters.stray_responses += 1;
            return;
        };
        self.counters.responses += 1;
        let class = response.status.class();
        let step = self.table.on_response(now, id, class);
        match step {
            Step::Pass => self.pass(now, id, response, essentials),
            Step::PassAndAcknowledge => {
                self.acknowledge_failure(id, &response);
                self.pass(now, id, response, essentials);
            }
            Step::Acknowledge => self.acknowledge_failure(id, &response),
            Step::Send | Step::End | Step::TimedOut | Step::Nothing => self.counters.repetitions += 1,
        }
        self.table.arm(now, id);
    }

    /// Returns whether a response has the transport and the Call-ID of the request it claims to answer; its branch
    /// alone proves nothing, for anybody who saw the request knows it.
    fn is_expected(&mut self, id: TransactionId, from: Flow, essentials: &Essentials) -> bool {
        let Some(transaction) = self.table.transaction(id) else { return false };
        let is_same_transport = transaction.flow.transport == from.transport;
        let Role::Client(client) = &transaction.role else { return false };
        let headers = &client.request.headers;
        is_same_transport && headers.first(&HeaderName::CallId) == Some(essentials.call_id.as_str())
    }

    fn pass(&mut self, now: Instant, id: TransactionId, response: Response, essentials: Essentials) {
        let is_invite = essentials.cseq.method == Method::Invite;
        let Some(client) = self.table.client(id) else { return };
        if client.is_internal {
            return;
        }
        if is_invite && response.status.class() == StatusClass::Success {
            match client.acks.fork(essentials.to.tag().unwrap_or_default()) {
                Fork::New => {}
                Fork::Again(flow, octets) => {
                    self.counters.repetitions += 1;
                    return self.transmit(flow, octets);
                }
                Fork::Early => {
                    self.counters.repetitions += 1;
                    return;
                }
                Fork::Surplus => {
                    self.counters.surplus_forks += 1;
                    return;
                }
            }
        }
        let wants_cancel = client.cancelling == Cancelling::Wanted && !response.status.is_final();
        let (response, essentials) = (Box::new(response), Box::new(essentials));
        self.events.push_back(Event::Response { transaction: id, response, essentials });
        if wants_cancel {
            self.send_cancel(now, id);
        }
    }

    fn acknowledge_failure(&mut self, id: TransactionId, response: &Response) {
        let Some(transaction) = self.table.transaction(id) else { return };
        let flow = transaction.flow;
        let Role::Client(client) = &transaction.role else { return };
        let octets = client.request.ack_for(response).encode();
        self.transmit(flow, octets);
    }
}

impl Origin {
    /// Returns the origin of a request outside a dialog; `None` within one, where there is nothing to merge.
    fn of_request(essentials: &Essentials) -> Option<Self> {
        let is_outside = essentials.to.tag().is_none();
        let tag = essentials.from.tag().unwrap_or_default().to_owned();
        is_outside.then(|| Self { call_id: essentials.call_id.clone(), tag, number: essentials.cseq.number })
    }
}

/// Writes into the topmost Via where the request came from; `None` without one that can be read.
fn note_source(request: &mut Request, from: Flow) -> Option<Via> {
    let line = request.headers.first(&HeaderName::Via)?;
    let values = crate::text::split(line, ',')?;
    let mut via = Via::parse(values.first()?)?;
    via.note_source(from.remote);
    let mut line = via.to_string();
    for value in &values[1..] {
        line.push_str(", ");
        line.push_str(value);
    }
    request.headers.replace_first(&HeaderName::Via, line);
    Some(via)
}

/// Returns the flow by which responses go back: the connection of the request, or without one the address that Via
/// gives once the source is noted there.
fn way_back(via: &Via, from: Flow) -> Flow {
    let address = via.response_address(from.transport.default_port()).unwrap_or(from.remote);
    match from.connection {
        Some(_) => from,
        None => Flow { remote: address, ..from },
    }
}

/// The header fields of a request without which a response to it would fit nothing.
const NEEDED: [HeaderName; 4] = [HeaderName::From, HeaderName::To, HeaderName::CallId, HeaderName::CSeq];

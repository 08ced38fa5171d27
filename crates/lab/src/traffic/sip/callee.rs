//! The side that is called: it answers at once, or says that it is there and refuses later.

use std::collections::VecDeque;

use bytes::Bytes;
use sip::{Endpoint, Event, HeaderName, Method, Request, Response, Status, TransactionId};
use virtual_time::Instant;

use super::line::{CALLEE, CALLER, Line, next_message, sound};
use super::{Question, REFUSAL};
use crate::traffic::{Reaction, Service};

/// A callee of any number of calls.
#[derive(Debug)]
pub(super) struct Callee {
    question: Question,
    /// `None`: nobody said what would come, and nothing is answered.
    phone: Option<Phone>,
}

#[derive(Debug)]
struct Phone {
    line: Line,
    endpoint: Endpoint,
    /// The INVITEs that are still to be refused, in the order of their times.
    refusals: VecDeque<(Instant, TransactionId, Box<Request>)>,
}

impl Callee {
    pub(super) fn new(question: Question, line: Option<Line>) -> Self {
        let phone =
            |line: Line| Phone { line, endpoint: line.endpoint(CALLEE, u64::MAX), refusals: VecDeque::new() };
        Self { question, phone: line.map(phone) }
    }
}

impl Phone {
    fn on_events(&mut self, now: Instant, question: Question) {
        while let Some(event) = self.endpoint.poll_event() {
            match event {
                Event::Request { transaction, request, .. } => match (&request.method, question) {
                    (Method::Invite, Question::Trying) => {
                        self.respond(now, transaction, &request, Status::TRYING);
                        self.refusals.push_back((now + REFUSAL, transaction, request));
                    }
                    (Method::Invite, Question::Call) => {
                        self.respond(now, transaction, &request, Status::RINGING);
                        self.respond(now, transaction, &request, Status::OK);
                    }
                    (_, Question::Trying | Question::Call) => {
                        self.respond(now, transaction, &request, Status::OK);
                    }
                },
                // It asks nothing, and whoever does not acknowledge is gone.
                Event::Cancelled { .. }
                | Event::Acknowledged { .. }
                | Event::Unacknowledged { .. }
                | Event::Response { .. }
                | Event::Failed { .. } => {}
            }
        }
    }

    fn respond(&mut self, now: Instant, transaction: TransactionId, request: &Request, status: Status) {
        // Both responses to an INVITE are of one dialog.
        let tag = request.headers.first(&HeaderName::CallId).unwrap_or_default().replace('@', "-");
        let mut response = Response::to(request, status, &tag);
        if request.method == Method::Invite && status != Status::TRYING {
            response.headers.push(HeaderName::Contact, self.line.contact("callee", CALLEE));
        }
        if request.method == Method::Invite && status == Status::OK {
            response.headers.push(HeaderName::ContentType, "application/sdp");
            response.body = sound(CALLEE.ip());
        }
        self.endpoint.respond(now, transaction, &response);
    }

    fn refuse_later_ones(&mut self, now: Instant) {
        while let Some((_, transaction, request)) = self.refusals.pop_front_if(|(at, ..)| *at <= now) {
            self.respond(now, transaction, &request, Status::UNAVAILABLE);
        }
    }

    fn collect(&mut self) -> Vec<(u16, Bytes)> {
        core::iter::from_fn(|| next_message(&mut self.endpoint)).collect()
    }
}

impl Service for Callee {
    fn on_message(&mut self, now: Instant, _arrived: Instant, stream: u16, wire: Bytes) -> Reaction {
        let Some(phone) = &mut self.phone else { return Reaction::Nothing };
        let from = phone.line.flow(CALLER, stream);
        phone.endpoint.handle_packet(now, from, &wire);
        phone.on_events(now, self.question);
        Reaction::Answers(phone.collect())
    }

    /// Takes a copy of a request like any other: that it is one, the transaction knows.
    fn on_datagram(&mut self, now: Instant, wire: Bytes) -> Reaction {
        self.on_message(now, now, 0, wire)
    }

    fn poll_timeout(&self) -> Option<Instant> {
        let phone = self.phone.as_ref()?;
        let next = phone.refusals.front().map(|(at, ..)| *at);
        next.into_iter().chain(phone.endpoint.poll_timeout()).min()
    }

    fn handle_timeout(&mut self, now: Instant) -> Vec<(u16, Bytes)> {
        let Some(phone) = &mut self.phone else { return Vec::new() };
        phone.refuse_later_ones(now);
        phone.endpoint.handle_timeout(now);
        phone.on_events(now, self.question);
        phone.collect()
    }
}

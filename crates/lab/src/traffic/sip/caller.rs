//! The side that calls: an INVITE whenever one falls due, ACK and BYE as they follow.

use core::time::Duration;
use std::collections::{BTreeMap, VecDeque};

use bytes::Bytes;
use sip::{Dialog, Endpoint, Essentials, Event, Method, Response, StatusClass, TransactionId};
use virtual_time::Instant;

use super::line::{CALLEE, CALLER, INVITE, Line, next_message};
use super::{CALL, Question};
use crate::statistics::CallCounts;
use crate::traffic::{Asked, Greeting, Script, Told};

/// A caller of any number of calls.
#[derive(Debug)]
pub(super) struct Caller {
    question: Question,
    line: Line,
    endpoint: Endpoint,
    /// The calls that are being set up, by the transaction of their INVITE.
    calling: BTreeMap<TransactionId, Calling>,
    /// The calls that are up, in the order in which they end.
    up: VecDeque<Up>,
    /// The calls that are being ended, by the transaction of their BYE: whether one was touched before.
    ending: BTreeMap<TransactionId, bool>,
    counts: CallCounts,
}

/// A call that is being set up.
#[derive(Debug)]
struct Calling {
    number: u64,
    lane: u16,
    /// When the INVITE was due, until what is timed has come.
    due: Option<Instant>,
    is_touched: bool,
}

/// A call that is up.
#[derive(Debug)]
struct Up {
    until: Instant,
    lane: u16,
    dialog: Dialog,
    is_touched: bool,
}

impl Caller {
    pub(super) fn new(question: Question, line: Line, seed: u64) -> Self {
        Self {
            question,
            line,
            endpoint: line.endpoint(CALLER, seed),
            calling: BTreeMap::new(),
            up: VecDeque::new(),
            ending: BTreeMap::new(),
            counts: CallCounts::default(),
        }
    }

    /// Takes note that a message of a call waited behind others.
    fn touch(counts: &mut CallCounts, is_touched: &mut bool) {
        if !core::mem::replace(is_touched, true) {
            counts.touched = counts.touched.map(|touched| touched + 1);
        }
    }

    fn on_events(&mut self, now: Instant, is_blocked: bool) -> Vec<Told> {
        let mut told = Vec::new();
        while let Some(event) = self.endpoint.poll_event() {
            match event {
                Event::Response { transaction, response, essentials } => {
                    told.extend(self.on_response(now, transaction, &response, &essentials, is_blocked));
                }
                // The INVITE is not answered, the BYE not missed.
                Event::Failed { transaction, .. } => {
                    self.calling.remove(&transaction);
                    self.ending.remove(&transaction);
                }
                // The callee asks nothing.
                Event::Request { .. }
                | Event::Cancelled { .. }
                | Event::Acknowledged { .. }
                | Event::Unacknowledged { .. } => {}
            }
        }
        told
    }

    fn on_response(
        &mut self,
        now: Instant,
        transaction: TransactionId,
        response: &Response,
        essentials: &Essentials,
        is_blocked: bool,
    ) -> Option<Told> {
        let class = response.status.class();
        if let Some(is_touched) = self.ending.get_mut(&transaction) {
            if is_blocked {
                Self::touch(&mut self.counts, is_touched);
            }
            if response.status.is_final() {
                self.ending.remove(&transaction);
            }
            return None;
        }
        let call = self.calling.get_mut(&transaction)?;
        if is_blocked {
            Self::touch(&mut self.counts, &mut call.is_touched);
        }
        let is_awaited = match self.question {
            Question::Trying => true,
            Question::Call => class == StatusClass::Success,
        };
        let due = if is_awaited { call.due.take() } else { None };
        let told = due.map(|due| Told::Done { number: call.number, due, is_timed: true });
        if response.status.is_final()
            && let Some(call) = self.calling.remove(&transaction)
            && class == StatusClass::Success
        {
            self.confirm(now, transaction, call, response, essentials);
        }
        told
    }

    /// Acknowledges the answer of a call, which is up from now on.
    fn confirm(
        &mut self,
        now: Instant,
        transaction: TransactionId,
        call: Calling,
        response: &Response,
        essentials: &Essentials,
    ) {
        let invite = self.line.invite(call.number);
        let Ok(dialog) = Dialog::of_client(&invite, response, essentials) else { return };
        let to = self.line.flow(CALLEE, call.lane);
        self.endpoint.acknowledge(transaction, dialog.ack(INVITE), to);
        self.counts.up += 1;
        self.up.push_back(Up { until: now + CALL, lane: call.lane, dialog, is_touched: call.is_touched });
    }

    /// Ends the calls whose time is over.
    fn hang_up(&mut self, now: Instant) {
        while let Some(mut call) = self.up.pop_front_if(|call| call.until <= now) {
            let to = self.line.flow(CALLEE, call.lane);
            let bye = self.endpoint.request(now, call.dialog.request(Method::Bye), to);
            self.ending.extend(bye.map(|bye| (bye, call.is_touched)));
        }
    }
}

impl Script for Caller {
    /// Begins at once: SIP has no session before its calls.
    fn begin(&mut self, _now: Instant) -> Greeting {
        Greeting::Needless
    }

    fn ask(&mut self, number: u64, due: Instant) -> Option<Asked> {
        let lane = self.line.lane_of(number);
        let transaction =
            self.endpoint.request(due, self.line.invite(number), self.line.flow(CALLEE, lane))?;
        self.calling.insert(transaction, Calling { number, lane, due: Some(due), is_touched: false });
        self.poll_message().map(|asked| Asked { is_timed: true, ..asked })
    }

    fn handle_response(
        &mut self,
        now: Instant,
        stream: u16,
        wire: &[u8],
        blocked: Option<Duration>,
    ) -> Result<Vec<Told>, String> {
        if blocked.is_some() {
            self.counts.touched.get_or_insert(0);
        }
        let from = self.line.flow(CALLEE, stream);
        self.endpoint.handle_packet(now, from, &Bytes::copy_from_slice(wire));
        Ok(self.on_events(now, blocked.is_some_and(|blocked| !blocked.is_zero())))
    }

    fn poll_message(&mut self) -> Option<Asked> {
        let (stream, octets) = next_message(&mut self.endpoint)?;
        Some(Asked { stream, octets, is_timed: false })
    }

    fn poll_timeout(&self) -> Option<Instant> {
        let next = self.up.front().map(|call| call.until);
        next.into_iter().chain(self.endpoint.poll_timeout()).min()
    }

    fn handle_timeout(&mut self, now: Instant) -> Result<Vec<Told>, String> {
        self.hang_up(now);
        self.endpoint.handle_timeout(now);
        Ok(self.on_events(now, false))
    }

    fn repeated(&self) -> u64 {
        self.endpoint.counters().repeated
    }

    fn calls(&self) -> Option<CallCounts> {
        match self.question {
            Question::Trying => None,
            Question::Call => Some(self.counts),
        }
    }
}

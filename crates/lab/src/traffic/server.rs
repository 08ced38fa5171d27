//! The receiving side of a flow: answers requests, times messages, counts octets.

use core::time::Duration;
use std::collections::VecDeque;

use bytes::Bytes;
use virtual_time::Instant;
use workload::{Message, MessageSize};

use super::{CallPlan, Responder, Workload};
use crate::simulation::{OneWay, Trip};

/// What a server is told: a flow of a scenario says it.
#[derive(Clone, Copy, Debug)]
pub struct ServerPlan {
    pub(crate) workload: Workload,
    pub(crate) lanes: u16,
    pub(crate) processing: Duration,
    pub(crate) discard: u64,
    /// Octets are counted from then on.
    pub(crate) warm_up: Duration,
    pub(crate) keeps_trips: bool,
    /// Of firewall control.
    pub(crate) calls: Option<CallPlan>,
}

impl ServerPlan {
    /// A server that echoes whatever messages come, each after so long.
    #[must_use]
    pub const fn echo(processing: Duration) -> Self {
        Self {
            workload: Workload::Echo,
            lanes: 1,
            processing,
            discard: 0,
            warm_up: Duration::ZERO,
            keeps_trips: false,
            calls: None,
        }
    }
}

/// A server; `L` says where an answer goes.
#[derive(Debug)]
pub(crate) struct Server<L> {
    plan: ServerPlan,
    /// In the order of their times: the processing time is the same for all.
    replies: VecDeque<(Instant, L, Bytes)>,
    /// What the transport did not take.
    refused: VecDeque<(L, Bytes)>,
    one_way: OneWay,
    middlebox: Option<Responder<L>>,
    counted_bytes: u64,
    counted_until: Instant,
}

impl<L: Clone> Server<L> {
    pub(crate) fn new(plan: ServerPlan) -> Self {
        Self {
            plan,
            replies: VecDeque::new(),
            refused: VecDeque::new(),
            one_way: OneWay::new(plan.lanes, plan.discard, plan.keeps_trips),
            middlebox: plan.calls.map(Responder::new),
            counted_bytes: 0,
            counted_until: Instant::EPOCH,
        }
    }

    /// What kind of flow it is.
    pub(crate) fn workload(&self) -> Workload {
        self.plan.workload
    }

    pub(crate) fn is_bulk(&self) -> bool {
        self.plan.workload == Workload::Bulk
    }

    /// Octets of user data.
    pub(crate) fn on_octets(&mut self, now: Instant, octets: usize) {
        if now >= Instant::EPOCH + self.plan.warm_up {
            self.counted_bytes += u64::try_from(octets).unwrap_or(0);
            self.counted_until = now;
        }
    }

    /// A whole message from a stream, complete at `arrived` and delivered now.
    pub(crate) fn on_message(&mut self, now: Instant, arrived: Instant, lane: L, stream: u16, wire: Bytes) {
        self.on_octets(now, wire.len());
        match self.plan.workload {
            Workload::Echo => self.echo(now, lane, wire),
            Workload::Messages => {
                self.note(now, arrived, &wire);
            }
            Workload::Bulk => {}
            Workload::Simco => {
                let Some(middlebox) = &mut self.middlebox else { return };
                let at = now + self.plan.processing;
                let answers = middlebox.answer(now, lane, stream, &wire);
                self.replies.extend(answers.into_iter().map(|(lane, message)| (at, lane, message)));
            }
        }
    }

    /// The same over an unreliable transport, where every copy of a request is answered and only the first one counts.
    pub(crate) fn on_datagram(&mut self, now: Instant, lane: L, wire: Bytes) {
        self.on_octets(now, wire.len());
        let reply = match self.plan.workload {
            Workload::Echo => return self.echo(now, lane, wire),
            Workload::Messages => match self.note(now, now, &wire) {
                Some(message) => Message { size: MessageSize::MIN, ..message }.encode(),
                None => return,
            },
            // Firewall control needs a reliable transport.
            Workload::Bulk | Workload::Simco => return,
        };
        self.replies.push_back((now + self.plan.processing, lane, reply));
    }

    /// Whole messages come back; what is none is not answered.
    fn echo(&mut self, now: Instant, lane: L, wire: Bytes) {
        if Message::decode(&wire).is_ok() {
            self.replies.push_back((now + self.plan.processing, lane, wire));
        }
    }

    fn note(&mut self, now: Instant, arrived: Instant, wire: &[u8]) -> Option<Message> {
        let message = Message::decode(wire).ok()?;
        let due = Instant::from_nanos(message.sent.0);
        self.one_way.record(Trip { number: message.number.0, due, arrived, delivered: now });
        Some(message)
    }

    /// When the next answer is ready.
    pub(crate) fn poll_timeout(&self) -> Option<Instant> {
        self.replies.front().map(|(at, ..)| *at)
    }

    /// The next answer that is ready; [`defer`](Self::defer) gives it back.
    pub(crate) fn poll_reply(&mut self, now: Instant) -> Option<(L, Bytes)> {
        if let Some(refused) = self.refused.pop_front() {
            return Some(refused);
        }
        let (_, lane, wire) = self.replies.pop_front_if(|(at, ..)| *at <= now)?;
        Some((lane, wire))
    }

    pub(crate) fn defer(&mut self, lane: L, wire: Bytes) {
        self.refused.push_front((lane, wire));
    }

    pub(crate) fn delivered(&self) -> u64 {
        self.one_way.messages
    }

    /// What it saw: messages, octets since the warm-up, and until when.
    pub(crate) fn into_parts(self) -> (OneWay, u64, Instant) {
        (self.one_way, self.counted_bytes, self.counted_until)
    }
}

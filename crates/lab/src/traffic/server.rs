//! The receiving side of a flow: answers requests, times messages, counts octets.

use core::time::Duration;
use std::collections::{BTreeMap, VecDeque};

use bytes::Bytes;
use virtual_time::Instant;

use super::{Measure, Reaction, Service, Terms, Workload};
use crate::statistics::OneWay;

/// The orders of a server: a flow of a scenario says it.
#[derive(Clone, Copy, Debug)]
pub struct ServerPlan {
    pub(crate) workload: Workload,
    pub(crate) lanes: u16,
    pub(crate) processing: Duration,
    pub(crate) discard: u64,
    /// Octets are counted from then on.
    pub(crate) warm_up: Duration,
    pub(crate) keeps_trips: bool,
    /// `None`: whoever comes.
    pub(crate) terms: Option<Terms>,
}

impl ServerPlan {
    /// Creates the orders of a server that echoes whatever messages come, each after so long.
    #[must_use]
    pub const fn echo(processing: Duration) -> Self {
        Self {
            workload: Workload::ECHO,
            lanes: 1,
            processing,
            discard: 0,
            warm_up: Duration::ZERO,
            keeps_trips: false,
            terms: None,
        }
    }
}

/// A server; `L` says where an answer goes.
#[derive(Debug)]
pub(crate) struct Server<L> {
    plan: ServerPlan,
    /// The replies in the order of their times: the processing time is the same for all.
    replies: VecDeque<(Instant, L, Bytes)>,
    /// The replies that the transport did not take.
    refused: VecDeque<(L, Bytes)>,
    one_way: OneWay,
    service: Box<dyn Service>,
    /// The lanes on which answers on a stream go; for services that choose streams.
    lanes: BTreeMap<u16, L>,
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
            service: plan.workload.kind().service(plan.terms),
            lanes: BTreeMap::new(),
            counted_bytes: 0,
            counted_until: Instant::EPOCH,
        }
    }

    /// Returns the workload of the flow.
    pub(crate) fn workload(&self) -> Workload {
        self.plan.workload
    }

    pub(crate) fn is_bulk(&self) -> bool {
        self.plan.workload.measure() == Measure::Goodput
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
        let reaction = self.service.on_message(now, arrived, stream, wire);
        self.react(now, lane, stream, reaction);
    }

    /// Takes in a message over an unreliable transport, where every copy of a request is answered and only the first one counts.
    pub(crate) fn on_datagram(&mut self, now: Instant, lane: L, wire: Bytes) {
        self.on_octets(now, wire.len());
        let reaction = self.service.on_datagram(now, wire);
        self.react(now, lane, 0, reaction);
    }

    fn react(&mut self, now: Instant, lane: L, stream: u16, reaction: Reaction) {
        let at = now + self.plan.processing;
        match reaction {
            Reaction::Nothing => {}
            Reaction::Answer(wire) => self.replies.push_back((at, lane, wire)),
            Reaction::Delivered(trip, receipt) => {
                self.one_way.record(trip);
                self.replies.extend(receipt.map(|wire| (at, lane, wire)));
            }
            Reaction::Answers(answers) => {
                self.lanes.insert(stream, lane);
                self.answer_on_streams(at, answers);
            }
        }
    }

    fn answer_on_streams(&mut self, at: Instant, answers: Vec<(u16, Bytes)>) {
        for (stream, wire) in answers {
            if let Some(lane) = self.lanes.get(&stream) {
                self.replies.push_back((at, lane.clone(), wire));
            }
        }
    }

    /// Returns when the next answer is ready, or its service wants to be woken.
    pub(crate) fn poll_timeout(&self) -> Option<Instant> {
        let ready = self.replies.front().map(|(at, ..)| *at);
        ready.into_iter().chain(self.service.poll_timeout()).min()
    }

    /// Returns the next answer that is ready; [`defer`](Self::defer) gives it back.
    pub(crate) fn poll_reply(&mut self, now: Instant) -> Option<(L, Bytes)> {
        if let Some(refused) = self.refused.pop_front() {
            return Some(refused);
        }
        if self.service.poll_timeout().is_some_and(|at| at <= now) {
            let answers = self.service.handle_timeout(now);
            self.answer_on_streams(now + self.plan.processing, answers);
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

    /// Returns what it saw: messages, octets since the warm-up, and until when.
    pub(crate) fn into_parts(self) -> (OneWay, u64, Instant) {
        (self.one_way, self.counted_bytes, self.counted_until)
    }
}

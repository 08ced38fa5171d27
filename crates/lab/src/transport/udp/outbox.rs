//! The way of a client's messages into datagrams: repeated until they are answered, or as they are where the workload sees to that.

use std::collections::VecDeque;

use bytes::Bytes;
use virtual_time::Instant;
use workload::{MessageNumber, ResponseNovelty, RetransmissionConfig, UdpRequester};

use crate::statistics::TransportCounts;
use crate::traffic::Client;

/// The datagrams of a client.
pub(super) enum Outbox {
    /// Requests are repeated until they are answered.
    Repeating(UdpRequester),
    /// The workload repeats by itself what was lost.
    Plain(VecDeque<Bytes>),
}

impl Outbox {
    pub(super) fn new(client: &Client, config: RetransmissionConfig) -> Self {
        if client.workload().kind().facts().repeats_itself {
            Self::Plain(VecDeque::new())
        } else {
            Self::Repeating(UdpRequester::new(config))
        }
    }

    /// Takes the messages of the client that are due.
    pub(super) fn fill(&mut self, now: Instant, client: &mut Client) {
        while let Some(pending) = client.poll_message() {
            let message = client.encode(pending);
            match self {
                Self::Repeating(requester) => requester.request(now, MessageNumber(pending.number), message),
                Self::Plain(waiting) => waiting.push_back(message),
            }
            client.commit(now, pending);
        }
    }

    /// Gives the client a datagram; of several answers to a request that is repeated here only the first one.
    pub(super) fn hand_over(&mut self, now: Instant, client: &mut Client, datagram: &[u8]) {
        let is_new = match self {
            Self::Repeating(requester) => client.workload().kind().number(datagram).is_some_and(|number| {
                requester.handle_answer(now, MessageNumber(number)) == ResponseNovelty::First
            }),
            Self::Plain(_) => true,
        };
        if is_new {
            client.on_response(now, 0, datagram, None);
        }
    }

    pub(super) fn handle_timeout(&mut self, now: Instant) {
        match self {
            Self::Repeating(requester) => requester.handle_timeout(now),
            Self::Plain(_) => {}
        }
    }

    pub(super) fn poll_transmit(&mut self) -> Option<Bytes> {
        match self {
            Self::Repeating(requester) => requester.poll_transmit().map(|datagram| datagram.message),
            Self::Plain(waiting) => waiting.pop_front(),
        }
    }

    pub(super) fn poll_timeout(&self) -> Option<Instant> {
        match self {
            Self::Repeating(requester) => requester.poll_timeout(),
            Self::Plain(_) => None,
        }
    }

    pub(super) fn counts(&self, client: &Client) -> TransportCounts {
        let repeated = match self {
            Self::Repeating(requester) => requester.counters().retransmissions,
            Self::Plain(_) => client.repeated(),
        };
        TransportCounts { timeouts: Some(repeated), retransmissions: Some(repeated), blocked: None }
    }
}

//! Reliability over UDP as SIP has it: the client repeats the request until the response comes.

use core::time::Duration;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

use bytes::Bytes;
use virtual_time::Instant;

use crate::message::{Message, MessageError, MessageNumber};

/// Repeats each request until its response comes, like the INVITE client transaction over an unreliable transport
/// (RFC 3261 §17.1.1.2): first after T1, then each time after twice as long (timer A), given up 64·T1 after the
/// first transmission (timer B). With T1 = 500 ms these are transmissions at 0, 0.5, 1.5, 3.5, 7.5, 15.5 and 31.5 s.
///
/// Contract as for every core of this crate. A datagram that the socket does not take is simply lost: the next
/// retransmission makes good for it.
#[derive(Debug)]
pub struct UdpRequester {
    config: RetransmissionConfig,
    pending: BTreeMap<MessageNumber, Transaction>,
    timers: BTreeSet<(Instant, MessageNumber)>,
    round_trip: RoundTrip,
    to_send: VecDeque<Datagram>,
    counters: RequesterCounters,
}

impl UdpRequester {
    /// Creates a requester without requests.
    #[must_use]
    pub fn new(config: RetransmissionConfig) -> Self {
        Self {
            config,
            pending: BTreeMap::new(),
            timers: BTreeSet::new(),
            round_trip: RoundTrip::default(),
            to_send: VecDeque::new(),
            counters: RequesterCounters::default(),
        }
    }

    /// Takes a request and sends it for the first time. A number that is pending already is ignored.
    pub fn request(&mut self, now: Instant, number: MessageNumber, message: Bytes) {
        if self.pending.contains_key(&number) {
            return;
        }
        self.counters.requests += 1;
        let transaction = Transaction {
            message: message.clone(),
            gives_up_at: now + self.config.timer_b(),
            next_wait: self.first_wait(),
            next_at: now,
            sent_once_at: None,
        };
        self.pending.insert(number, transaction);
        self.transmit(now, number, Transmission::First);
    }

    /// Takes a response. The caller measures with the first one only.
    ///
    /// # Errors
    ///
    /// [`MessageError`] for octets that are not a message.
    pub fn handle_response(&mut self, now: Instant, wire: &[u8]) -> Result<ResponseNovelty, MessageError> {
        Ok(self.handle_answer(now, Message::decode(wire)?.number))
    }

    /// Takes in that a request was answered, by a message of whatever kind.
    pub fn handle_answer(&mut self, now: Instant, number: MessageNumber) -> ResponseNovelty {
        match self.pending.remove(&number) {
            Some(transaction) => {
                // The answer to a request that was repeated may be to any of its copies (RFC 6298 §3).
                if let Some(sent_at) = transaction.sent_once_at {
                    self.round_trip.measure(now.since(sent_at));
                }
                self.timers.remove(&(transaction.next_at, number));
                self.to_send.retain(|datagram| datagram.number != number);
                self.counters.responses += 1;
                ResponseNovelty::First
            }
            None => {
                self.counters.stray_responses += 1;
                ResponseNovelty::Repeated
            }
        }
    }

    /// Returns when the next retransmission or surrender is due.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Instant> {
        self.timers.first().map(|(at, _)| *at)
    }

    /// Repeats and gives up what is due.
    pub fn handle_timeout(&mut self, now: Instant) {
        while let Some((at, number)) = self.timers.first().copied().filter(|(at, _)| *at <= now) {
            self.timers.pop_first();
            let is_over = self.pending.get(&number).is_some_and(|transaction| at >= transaction.gives_up_at);
            if is_over {
                self.pending.remove(&number);
                self.counters.given_up += 1;
            } else {
                self.transmit(now, number, Transmission::Repeated);
            }
        }
    }

    /// Returns the next datagram to send.
    pub fn poll_transmit(&mut self) -> Option<Datagram> {
        let datagram = self.to_send.pop_front()?;
        match datagram.transmission {
            Transmission::First => {}
            Transmission::Repeated => self.counters.retransmissions += 1,
        }
        Some(datagram)
    }

    /// Returns what was counted so far.
    #[must_use]
    pub fn counters(&self) -> &RequesterCounters {
        &self.counters
    }

    /// Returns how long to wait before a request is repeated for the first time.
    fn first_wait(&self) -> Duration {
        match self.config.first_timeout {
            FirstTimeout::T1 => self.config.t1,
            FirstTimeout::Estimated => {
                self.round_trip.timeout().map_or(self.config.t1, |wait| wait.min(self.config.t1))
            }
        }
    }

    /// Queues a datagram and sets the timer for what follows it: the next repetition, or the surrender.
    fn transmit(&mut self, now: Instant, number: MessageNumber, transmission: Transmission) {
        let Some(transaction) = self.pending.get_mut(&number) else { return };
        transaction.next_at = (now + transaction.next_wait).min(transaction.gives_up_at);
        transaction.next_wait = transaction.next_wait.saturating_mul(2);
        transaction.sent_once_at = match transmission {
            Transmission::First => Some(now),
            Transmission::Repeated => None,
        };
        self.timers.insert((transaction.next_at, number));
        self.to_send.push_back(Datagram { number, transmission, message: transaction.message.clone() });
    }
}

/// The timer of a UDP requester.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RetransmissionConfig {
    /// The estimate of the round-trip time and first timeout, T1 of RFC 3261 §17.1.1.1. Default 500 ms, which that section
    /// allows to lower only in closed networks.
    pub t1: Duration,
    /// Whether T1 is the first timeout, or what was measured. Default [`FirstTimeout::T1`].
    pub first_timeout: FirstTimeout,
}

/// The first timeout of a request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FirstTimeout {
    /// T1, whatever the round-trip time is.
    #[default]
    T1,
    /// The smoothed round-trip time and four times its mean deviation, 200 ms at least as in Linux' TCP (RFC 6298 §2.3 has other bounds);
    /// T1 before the first measurement, and at most.
    Estimated,
}

impl RetransmissionConfig {
    /// Returns when a request is given up, after its first transmission: 64·T1 (RFC 3261 §17.1.1.2, timer B).
    #[must_use]
    pub fn timer_b(&self) -> Duration {
        self.t1.saturating_mul(64)
    }
}

impl Default for RetransmissionConfig {
    fn default() -> Self {
        Self { t1: Duration::from_millis(500), first_timeout: FirstTimeout::T1 }
    }
}

/// A datagram for the socket.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Datagram {
    /// The number of the request.
    pub number: MessageNumber,
    /// Whether it was sent before.
    pub transmission: Transmission,
    /// The octets on the wire, the same each time.
    pub message: Bytes,
}

/// Whether a datagram was sent before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transmission {
    /// The request is sent for the first time.
    First,
    /// The request was sent at least once before.
    Repeated,
}

/// Whether a response is news.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResponseNovelty {
    /// The first response to a pending request.
    First,
    /// The request was answered before, given up, or never made.
    Repeated,
}

/// The counters of one requester.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RequesterCounters {
    /// The number of requests taken.
    pub requests: u64,
    /// The number of requests answered.
    pub responses: u64,
    /// Datagrams beyond the first of each request.
    pub retransmissions: u64,
    /// The number of requests given up.
    pub given_up: u64,
    /// Responses to nothing that was pending.
    pub stray_responses: u64,
}

#[derive(Debug)]
struct Transaction {
    message: Bytes,
    gives_up_at: Instant,
    next_wait: Duration,
    /// Key of its timer.
    next_at: Instant,
    /// The time of its only transmission; `None` when there were several.
    sent_once_at: Option<Instant>,
}

/// The estimate of the round-trip time (RFC 6298 §2).
#[derive(Debug, Default)]
struct RoundTrip {
    /// The smoothed value and its mean deviation.
    estimate: Option<[Duration; 2]>,
}

impl RoundTrip {
    fn measure(&mut self, time: Duration) {
        self.estimate = Some(match self.estimate {
            None => [time, time / 2],
            Some([smoothed, deviation]) => {
                [(smoothed * 7 + time) / 8, (deviation * 3 + smoothed.abs_diff(time)) / 4]
            }
        });
    }

    fn timeout(&self) -> Option<Duration> {
        self.estimate.map(|[smoothed, deviation]| smoothed + (deviation * 4).max(LEAST_DEVIATION))
    }
}

/// The least that is waited beyond the smoothed round-trip time, as in Linux' TCP.
const LEAST_DEVIATION: Duration = Duration::from_millis(200);

#[cfg(test)]
mod tests;

//! The open-loop load generator.
//!
//! Owns the arrival process, the requests that wait for the transport and what became of each request. Does not
//! own retransmission (transport, or [`UdpRequester`](crate::UdpRequester)) nor statistics (crate `lab`).

mod config;
mod lanes;

use core::time::Duration;
use std::collections::VecDeque;

use bytes::Bytes;
use thiserror::Error;
use virtual_time::Instant;

pub use config::{ConfigError, LoadConfig};
pub use lanes::Lane;
use lanes::Lanes;

use crate::arrivals::ArrivalProcess;
use crate::message::{Message, MessageError, MessageNumber, SendTime};

/// A send that is later than this after its intended time counts as late: 1 ms, a twentieth of the default
/// round-trip time. Late sends say that the machine could not keep up; their response times are still right,
/// because they run from the intended time.
pub const LATE_SEND_BOUND: Duration = Duration::from_millis(1);

/// Offers requests at times that do not depend on the responses, and notes the response times.
///
/// Contract: `handle_timeout(now)` when `poll_timeout()` is due, then drain [`poll_transmit`](Self::poll_transmit)
/// and [`poll_event`](Self::poll_event), then read [`poll_timeout`](Self::poll_timeout). For a transport that may
/// refuse, [`peek_transmit`](Self::peek_transmit) shows the request and [`commit`](Self::commit) takes it, or
/// [`defer`](Self::defer) closes its lane until [`resume`](Self::resume); the clock of what waits keeps running.
#[derive(Debug)]
pub struct LoadGenerator {
    config: LoadConfig,
    start: Instant,
    arrivals: ArrivalProcess,
    /// The next intended send time within the duration; `None` when all have been released.
    next_intended: Option<Instant>,
    lanes: Lanes,
    /// One per released request, at the index of its number.
    samples: Vec<Sample>,
    counters: LoadCounters,
    events: VecDeque<Event>,
    finished: bool,
}

impl LoadGenerator {
    /// A generator whose run begins at `start`.
    ///
    /// # Errors
    ///
    /// [`ConfigError`] when there is no lane, no duration or no valid arrival process.
    pub fn new(config: LoadConfig, start: Instant) -> Result<Self, ConfigError> {
        config.validate()?;
        let arrivals = ArrivalProcess::new(config.arrivals.clone(), config.interval, config.seed)?;
        let lanes = Lanes::new(config.lanes);
        let mut generator = Self {
            config,
            start,
            arrivals,
            next_intended: None,
            lanes,
            samples: Vec::new(),
            counters: LoadCounters::default(),
            events: VecDeque::new(),
            finished: false,
        };
        generator.draw();
        generator.finish_if_over(start);
        Ok(generator)
    }

    /// When [`handle_timeout`](Self::handle_timeout) is to be called: at the next intended send time, then at the
    /// end of the drain time; `None` when the run is over.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Instant> {
        if self.finished {
            return None;
        }
        Some(self.next_intended.unwrap_or_else(|| self.deadline()))
    }

    /// Releases the requests that are due, and ends the run when its time is up.
    pub fn handle_timeout(&mut self, now: Instant) {
        while let Some(intended) = self.next_intended.filter(|intended| *intended <= now) {
            let number = MessageNumber(u64::try_from(self.samples.len()).unwrap_or(u64::MAX));
            let lane = self.lanes.release(number);
            self.samples.push(Sample { number, lane, intended, sent: None, response: None, blocked: None });
            self.draw();
        }
        self.finish_if_over(now);
    }

    /// The next request for a lane that is open, lowest number first; it counts as sent at `now`.
    ///
    /// For transports that always take what they get. Nothing is handed out after the run.
    pub fn poll_transmit(&mut self, now: Instant) -> Option<Request> {
        let request = self.peek_transmit(now)?;
        self.commit(&request);
        Some(request)
    }

    /// The request that [`poll_transmit`](Self::poll_transmit) would give, left where it is.
    ///
    /// The message carries `now` as its send time, so a request that could not be sent is to be peeked again.
    #[must_use]
    pub fn peek_transmit(&self, now: Instant) -> Option<Request> {
        if self.is_finished(now) {
            return None;
        }
        let number = self.lanes.earliest()?;
        let sample = self.sample(number)?;
        let message = Message { number, sent: SendTime::from(now), size: self.config.message_bytes };
        let Sample { lane, intended, .. } = *sample;
        Some(Request { number, lane, intended, sent: now, message: message.encode() })
    }

    /// The transport has taken the request that [`peek_transmit`](Self::peek_transmit) showed last, wholly or as
    /// far as its buffer went; it is not offered again. Any other request is ignored.
    pub fn commit(&mut self, request: &Request) {
        let Some(taken) = self.lanes.take(request.number) else { return };
        self.counters.requests += 1;
        if taken.held_by_transport {
            self.counters.deferred_sends += 1;
        } else if request.sent.since(request.intended) > LATE_SEND_BOUND {
            self.counters.late_sends += 1;
        }
        if let Some(sample) = self.sample_mut(request.number) {
            sample.sent = Some(request.sent);
        }
    }

    /// The transport cannot take requests of this lane now; other lanes go on.
    pub fn defer(&mut self, lane: Lane) {
        self.lanes.close(lane);
    }

    /// The transport can take requests of this lane again.
    pub fn resume(&mut self, lane: Lane) {
        self.lanes.open(lane);
    }

    /// The transport can take requests of every lane again, as when an association's send buffer has room.
    pub fn resume_all(&mut self) {
        for lane in 0..self.config.lanes {
            self.lanes.open(Lane(lane));
        }
    }

    /// Takes one whole response that came on `lane`.
    ///
    /// `blocked` is how long the receiver held it behind missing predecessors, where the transport knows. The
    /// second response to a request (UDP repeats) is counted and otherwise ignored, and so is one after the run.
    ///
    /// # Errors
    ///
    /// [`WorkloadError`] when the octets do not answer a request that was sent; each is counted, and the run goes on.
    pub fn handle_response(
        &mut self,
        now: Instant,
        lane: Lane,
        wire: &[u8],
        blocked: Option<Duration>,
    ) -> Result<(), WorkloadError> {
        let number = self.check(lane, wire).inspect_err(|error| self.counters.count(error))?;
        if self.is_finished(now) && !self.finished_by_answers() {
            self.counters.late_responses += 1;
            return Ok(());
        }
        let Some(sample) = self.sample_mut(number) else { return Ok(()) };
        if sample.response.is_some() {
            self.counters.duplicates += 1;
            return Ok(());
        }
        let response = now.since(sample.intended);
        sample.response = Some(response);
        sample.blocked = blocked;
        self.counters.responses += 1;
        self.events.push_back(Event::Answered { number, response });
        self.finish_if_over(now);
        Ok(())
    }

    /// The next event, oldest first.
    pub fn poll_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    /// Whether nothing more is to come: all requests are answered, or the drain time is over.
    #[must_use]
    pub fn is_finished(&self, now: Instant) -> bool {
        self.finished || self.finished_by_answers() || now >= self.deadline()
    }

    /// All requests released so far, by number. Those that the transport never took have no `sent`.
    #[must_use]
    pub fn samples(&self) -> &[Sample] {
        &self.samples
    }

    /// The same, for keeping after the run.
    #[must_use]
    pub fn into_samples(self) -> Vec<Sample> {
        self.samples
    }

    /// What was counted so far.
    #[must_use]
    pub fn counters(&self) -> &LoadCounters {
        &self.counters
    }

    /// When the drain time is over: start + duration + drain.
    #[must_use]
    pub fn deadline(&self) -> Instant {
        self.start + self.config.duration + self.config.drain
    }

    /// Draws the next intended send time; those at or after the end of the duration are not sent.
    fn draw(&mut self) {
        let offset = self.arrivals.next_offset().filter(|offset| *offset < self.config.duration);
        self.next_intended = offset.map(|offset| self.start + offset);
    }

    fn finished_by_answers(&self) -> bool {
        self.next_intended.is_none() && self.counters.responses == self.released()
    }

    fn released(&self) -> u64 {
        u64::try_from(self.samples.len()).unwrap_or(u64::MAX)
    }

    fn finish_if_over(&mut self, now: Instant) {
        if !self.finished && self.is_finished(now) {
            self.finished = true;
            self.events.push_back(Event::Finished { unanswered: self.released() - self.counters.responses });
        }
    }

    /// Whether these octets answer a request that was sent on this lane; its number.
    fn check(&self, lane: Lane, wire: &[u8]) -> Result<MessageNumber, WorkloadError> {
        let message = Message::decode(wire).map_err(WorkloadError::NotAMessage)?;
        let number = message.number;
        let sample = self.sample(number).ok_or(WorkloadError::UnknownNumber { number })?;
        let sent = sample.sent.ok_or(WorkloadError::UnknownNumber { number })?;
        let expected = self.config.message_bytes;
        if message.size != expected {
            return Err(WorkloadError::WrongSize {
                number,
                expected: expected.get(),
                got: message.size.get(),
            });
        }
        if message.sent != SendTime::from(sent) {
            return Err(WorkloadError::WrongContent { number });
        }
        if sample.lane != lane {
            return Err(WorkloadError::WrongLane { number, expected: sample.lane, got: lane });
        }
        Ok(number)
    }

    fn sample(&self, number: MessageNumber) -> Option<&Sample> {
        self.samples.get(usize::try_from(number.0).ok()?)
    }

    fn sample_mut(&mut self, number: MessageNumber) -> Option<&mut Sample> {
        self.samples.get_mut(usize::try_from(number.0).ok()?)
    }
}

/// A request for the transport.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// Which one: 0, 1, 2, …
    pub number: MessageNumber,
    /// The stream or connection to use, dealt round robin.
    pub lane: Lane,
    /// When the arrival process wanted it sent.
    pub intended: Instant,
    /// When it was handed out; the send time in the message.
    pub sent: Instant,
    /// The octets on the wire.
    pub message: Bytes,
}

/// What became of one request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sample {
    /// Which one.
    pub number: MessageNumber,
    /// The stream or connection that it was dealt to.
    pub lane: Lane,
    /// When the arrival process wanted it sent.
    pub intended: Instant,
    /// When the transport took it; `None` if it never did.
    pub sent: Option<Instant>,
    /// From the intended send time to the whole response; `None` if there was none before the end of the drain time.
    pub response: Option<Duration>,
    /// How long the response waited at the receiver behind missing predecessors; `None` where it is not known.
    pub blocked: Option<Duration>,
}

/// What happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// The first response to a request came in.
    Answered {
        /// Which request.
        number: MessageNumber,
        /// From its intended send time.
        response: Duration,
    },
    /// The run is over, said once.
    Finished {
        /// Requests without response, those that the transport never took included.
        unanswered: u64,
    },
}

/// Counts of one run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LoadCounters {
    /// Requests handed to the transport.
    pub requests: u64,
    /// Requests answered, each counted once.
    pub responses: u64,
    /// Further responses to answered requests.
    pub duplicates: u64,
    /// Correct responses after the end of the drain time; their requests count as not answered.
    pub late_responses: u64,
    /// Sends later than [`LATE_SEND_BOUND`] after the intended time that no transport had held up: the fault of
    /// the machine or of the driver.
    pub late_sends: u64,
    /// Sends that waited in a lane that the transport had closed.
    pub deferred_sends: u64,
    /// Octets that were no message.
    pub malformed: u64,
    /// Messages with the number of no request that was sent.
    pub unknown_number: u64,
    /// Responses of another size than their request.
    pub wrong_size: u64,
    /// Responses with another send time than their request.
    pub wrong_content: u64,
    /// Responses on another lane than their request.
    pub wrong_lane: u64,
}

impl LoadCounters {
    /// All responses that answered nothing.
    #[must_use]
    pub fn errors(&self) -> u64 {
        self.malformed + self.unknown_number + self.wrong_size + self.wrong_content + self.wrong_lane
    }

    fn count(&mut self, error: &WorkloadError) {
        let counter = match error {
            WorkloadError::NotAMessage(_) => &mut self.malformed,
            WorkloadError::UnknownNumber { .. } => &mut self.unknown_number,
            WorkloadError::WrongSize { .. } => &mut self.wrong_size,
            WorkloadError::WrongContent { .. } => &mut self.wrong_content,
            WorkloadError::WrongLane { .. } => &mut self.wrong_lane,
        };
        *counter += 1;
    }
}

/// Why a response answers no request.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum WorkloadError {
    /// The octets are not a message at all.
    #[error("the response is not a message: {0}")]
    NotAMessage(MessageError),
    /// No request with this number was sent.
    #[error("a response has the number {number}, which was not sent")]
    UnknownNumber {
        /// What the response says.
        number: MessageNumber,
    },
    /// The echo has another size.
    #[error("the response to request {number} has {got} octets instead of {expected}")]
    WrongSize {
        /// Which request.
        number: MessageNumber,
        /// Octets of the request.
        expected: u32,
        /// Octets of the response.
        got: u32,
    },
    /// The echo has another send time.
    #[error("the response to request {number} does not carry the send time of the request")]
    WrongContent {
        /// Which request.
        number: MessageNumber,
    },
    /// The echo came on another stream or connection.
    #[error("the response to request {number} came on lane {got} instead of {expected}")]
    WrongLane {
        /// Which request.
        number: MessageNumber,
        /// Lane of the request.
        expected: Lane,
        /// Lane of the response.
        got: Lane,
    },
}

#[cfg(test)]
mod tests;

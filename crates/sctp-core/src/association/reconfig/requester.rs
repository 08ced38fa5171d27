//! Our own requests: one in flight, the others in a bounded queue (RFC 6525 §5.1, §5.2.7).
//!
//! Knows numbers, answers and what is asked next. Does not know streams or timers: it says what happened and the
//! association acts.

use core::time::Duration;
use std::collections::VecDeque;

use sctp_wire::{
    AddStreams, ChunkBuf, IncomingSsnReset, NextTsns, OutgoingSsnReset, Parameter, ReconfigResponse,
    ReconfigResult, ReconfigSequence, StreamIds, Tsn,
};
use smallvec::SmallVec;
use virtual_time::Instant;

use super::ResetDirection;
use crate::stream_set::StreamSet;

/// One thing to ask the peer for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Request {
    /// Streams begin at SSN 0 again.
    ResetStreams {
        direction: ResetDirection,
        streams: StreamSet,
        /// The peer's incoming reset request that this one answers.
        answers: Option<ReconfigSequence>,
    },
    /// TSNs and all SSNs begin anew.
    ResetAssociation,
    AddStreams {
        outbound: u16,
        inbound: u16,
    },
}

/// The part of a request that an answer is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    OutgoingReset,
    IncomingReset,
    AssociationReset,
    AddOutgoing(u16),
    AddIncoming(u16),
}

/// A part of the request in flight was answered for good.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Completed {
    pub(crate) part: Part,
    /// The streams of a stream reset.
    pub(crate) streams: StreamSet,
    pub(crate) result: ReconfigResult,
    pub(crate) next_tsns: Option<NextTsns>,
}

/// The consequence of a response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ReconfigAnswer {
    /// Nothing waits for it.
    Unexpected,
    /// The peer is at it: the timer starts again (RFC 6525 §5.2.7 (H2)).
    InProgress,
    Completed(Completed),
}

impl Request {
    /// Returns the outgoing streams that have to be still before it is sent.
    pub(crate) fn held_streams(&self) -> Option<&StreamSet> {
        match self {
            Self::ResetStreams { direction, streams, .. } => direction.is_outgoing().then_some(streams),
            Self::ResetAssociation => Some(&EVERY_STREAM),
            Self::AddStreams { .. } => None,
        }
    }

    /// Returns what the peer answers one by one.
    fn parts(&self) -> SmallVec<[Part; 2]> {
        let parts = match *self {
            Self::ResetStreams { direction, .. } => [
                direction.is_outgoing().then_some(Part::OutgoingReset),
                direction.is_incoming().then_some(Part::IncomingReset),
            ],
            Self::ResetAssociation => [Some(Part::AssociationReset), None],
            Self::AddStreams { outbound, inbound } => [
                (outbound > 0).then_some(Part::AddOutgoing(outbound)),
                (inbound > 0).then_some(Part::AddIncoming(inbound)),
            ],
        };
        parts.into_iter().flatten().collect()
    }
}

#[derive(Debug)]
pub(crate) struct Requester {
    next: ReconfigSequence,
    /// The state from the first request on: few associations ever have one.
    begun: Option<Box<RequestQueue>>,
}

/// The state there is once something was asked for.
#[derive(Debug, Default)]
struct RequestQueue {
    waiting: VecDeque<Request>,
    current: Option<Current>,
    association_reset_at: Option<Instant>,
}

/// The request whose turn it is.
#[derive(Debug)]
struct Current {
    request: Request,
    /// Exists once it was sent; before, it waits for its streams to be drained.
    flight: Option<Flight>,
}

#[derive(Debug)]
struct Flight {
    chunk: ChunkBuf,
    unanswered: SmallVec<[(ReconfigSequence, Part); 2]>,
    /// How often the timer ran out.
    expirations: u32,
    /// The peer said that it is at it since the timer ran out last: it is alive, and no error is counted.
    is_in_progress: bool,
}

impl Requester {
    pub(crate) fn new(initial: Tsn) -> Self {
        Self { next: ReconfigSequence::new(initial.get()), begun: None }
    }

    fn current(&self) -> Option<&Current> {
        self.begun.as_ref()?.current.as_ref()
    }

    fn flight(&self) -> Option<&Flight> {
        self.current()?.flight.as_ref()
    }

    fn flight_mut(&mut self) -> Option<&mut Flight> {
        self.begun.as_mut()?.current.as_mut()?.flight.as_mut()
    }

    fn finish(&mut self) {
        if let Some(begun) = &mut self.begun {
            begun.current = None;
        }
    }

    /// Queues a request; false if too many wait already.
    #[must_use]
    pub(crate) fn push(&mut self, request: Request) -> bool {
        let begun = self.begun.get_or_insert_default();
        let has_room = begun.waiting.len() < WAITING_AT_MOST;
        if has_room {
            begun.waiting.push_back(request);
        }
        has_room
    }

    /// Returns how long an association reset has to wait for the one before (RFC 6525 §5.1.4); `None`: not at
    /// all.
    pub(crate) fn association_reset_wait(&self, now: Instant) -> Option<Duration> {
        let elapsed = now.since(self.begun.as_ref()?.association_reset_at?);
        ASSOCIATION_RESET_INTERVAL.checked_sub(elapsed).filter(|wait| !wait.is_zero())
    }

    pub(crate) fn note_association_reset(&mut self, now: Instant) {
        self.begun.get_or_insert_default().association_reset_at = Some(now);
    }

    /// Queues a request before all others; false if too many wait already.
    #[must_use]
    pub(crate) fn push_first(&mut self, request: Request) -> bool {
        let begun = self.begun.get_or_insert_default();
        let has_room = begun.waiting.len() < WAITING_AT_MOST;
        if has_room {
            begun.waiting.push_front(request);
        }
        has_room
    }

    /// Returns whether nothing is in flight or in preparation.
    pub(crate) fn is_idle(&self) -> bool {
        self.current().is_none()
    }

    /// Returns whether anything was ever asked for.
    #[inline]
    pub(crate) fn has_begun(&self) -> bool {
        self.begun.is_some()
    }

    /// Makes the next request the current one, if there is none; gives it out so that its streams can be held.
    pub(crate) fn begin_next(&mut self) -> Option<&Request> {
        let begun = self.begun.as_mut().filter(|begun| begun.current.is_none())?;
        let request = begun.waiting.pop_front()?;
        begun.current = Some(Current { request, flight: None });
        self.preparing()
    }

    /// Returns the current request while it has not been sent.
    pub(crate) fn preparing(&self) -> Option<&Request> {
        self.current().filter(|current| current.flight.is_none()).map(|current| &current.request)
    }

    /// Returns the outgoing streams that a request in flight resets.
    pub(crate) fn resetting(&self) -> Option<&StreamSet> {
        self.current().filter(|current| current.flight.is_some())?.request.held_streams()
    }

    /// Returns whether an incoming reset request of ours is in flight: it is done when the peer has sent a
    /// request of its own.
    pub(crate) fn waits_for_peers_reset(&self) -> bool {
        self.flight()
            .is_some_and(|flight| flight.unanswered.iter().any(|(_, part)| *part == Part::IncomingReset))
    }

    /// Returns whether an SSN/TSN reset request of ours is in flight.
    pub(crate) fn is_resetting_association(&self) -> bool {
        let current = self.current().filter(|current| current.flight.is_some());
        current.is_some_and(|current| current.request == Request::ResetAssociation)
    }

    /// Returns the requests that are not done yet.
    fn open(&self) -> impl Iterator<Item = &Request> {
        let waiting = self.begun.iter().flat_map(|begun| &begun.waiting);
        self.current().into_iter().map(|current| &current.request).chain(waiting)
    }

    /// Returns the number of outgoing streams that requests which are not done yet would add.
    pub(crate) fn adding(&self) -> u16 {
        self.open().fold(0, |sum: u16, request| match request {
            Request::AddStreams { outbound, .. } => sum.saturating_add(*outbound),
            Request::ResetStreams { .. } | Request::ResetAssociation => sum,
        })
    }

    /// Returns whether this incoming reset request of the peer is answered by a request of ours that is not
    /// done yet.
    pub(crate) fn will_answer(&self, number: ReconfigSequence) -> bool {
        self.open().any(|request| answers(request, number))
    }

    /// Encodes the current request and gives it its number. `responded` is the peer's last request (RFC 6525
    /// §5.1.2 (A4)).
    pub(crate) fn launch(&mut self, last_assigned: Tsn, responded: ReconfigSequence) -> Option<ChunkBuf> {
        let current = self.begun.as_mut()?.current.as_mut().filter(|current| current.flight.is_none())?;
        let mut number = || {
            let number = self.next;
            self.next = number.next();
            number
        };
        let listed: Vec<[u8; 2]>;
        let mut unanswered = SmallVec::new();
        let mut parameters: SmallVec<[Parameter<'_>; 2]> = SmallVec::new();
        match &current.request {
            Request::ResetStreams { direction, streams, answers } => {
                listed = streams.listed().iter().map(|stream| stream.to_wire()).collect();
                let streams = StreamIds::new(&listed);
                if direction.is_outgoing() {
                    let (request, response) = (number(), answers.unwrap_or(responded));
                    let reset = OutgoingSsnReset { request, response, last_tsn: last_assigned, streams };
                    unanswered.push((request, Part::OutgoingReset));
                    parameters.push(Parameter::OutgoingSsnReset(reset));
                }
                if direction.is_incoming() {
                    let request = number();
                    unanswered.push((request, Part::IncomingReset));
                    parameters.push(Parameter::IncomingSsnReset(IncomingSsnReset { request, streams }));
                }
            }
            Request::ResetAssociation => {
                let request = number();
                unanswered.push((request, Part::AssociationReset));
                parameters.push(Parameter::SsnTsnReset { request });
            }
            &Request::AddStreams { outbound, inbound } => {
                if outbound > 0 {
                    let request = number();
                    unanswered.push((request, Part::AddOutgoing(outbound)));
                    parameters.push(Parameter::AddOutgoingStreams(AddStreams { request, count: outbound }));
                }
                if inbound > 0 {
                    let request = number();
                    unanswered.push((request, Part::AddIncoming(inbound)));
                    parameters.push(Parameter::AddIncomingStreams(AddStreams { request, count: inbound }));
                }
            }
        }
        let chunk = ChunkBuf::re_config(&parameters).ok()?;
        let flight = Flight { chunk: chunk.clone(), unanswered, expirations: 0, is_in_progress: false };
        current.flight = Some(flight);
        Some(chunk)
    }

    /// Returns the request in flight if it answers this incoming reset request of the peer.
    pub(crate) fn in_flight_answering(&self, number: ReconfigSequence) -> Option<&ChunkBuf> {
        let current = self.current()?;
        let flight = current.flight.as_ref()?;
        answers(&current.request, number).then_some(&flight.chunk)
    }

    /// Takes in a response of the peer, and returns what it led to (RFC 6525 §5.2.7).
    pub(crate) fn on_response(&mut self, response: &ReconfigResponse) -> ReconfigAnswer {
        let Some(flight) = self.flight_mut() else { return ReconfigAnswer::Unexpected };
        let position = flight.unanswered.iter().position(|(number, _)| *number == response.response);
        let Some(position) = position else { return ReconfigAnswer::Unexpected };
        if response.result == ReconfigResult::InProgress {
            flight.is_in_progress = true;
            return ReconfigAnswer::InProgress;
        }
        let (_, part) = flight.unanswered.remove(position);
        let is_done = flight.unanswered.is_empty();
        let streams = self.current().map_or(StreamSet::ALL, |current| match &current.request {
            Request::ResetStreams { streams, .. } => streams.clone(),
            Request::ResetAssociation | Request::AddStreams { .. } => StreamSet::ALL,
        });
        if is_done {
            self.finish();
        }
        let (result, next_tsns) = (response.result, response.next_tsns);
        ReconfigAnswer::Completed(Completed { part, streams, result, next_tsns })
    }

    /// The peer did what a request of ours asked for by a request of its own: an outgoing reset answers an incoming
    /// reset request by its number (§5.2.2 (E1)), added streams answer the wish for them (§5.2.6).
    pub(crate) fn on_answering_request(&mut self, is_answered: impl Fn(ReconfigSequence, Part) -> bool) {
        let Some(flight) = self.flight_mut() else { return };
        flight.unanswered.retain(|(number, part)| !is_answered(*number, *part));
        if flight.unanswered.is_empty() {
            self.finish();
        }
    }

    /// Takes out every part of what the user asked for and the peer has not answered, with the streams of a
    /// reset.
    pub(crate) fn take_all(&mut self) -> Vec<(Part, StreamSet)> {
        let Some(begun) = &mut self.begun else { return Vec::new() };
        let current = begun.current.take();
        let waiting = begun.waiting.drain(..).map(|request| Current { request, flight: None });
        let mut unanswered = Vec::new();
        for Current { request, flight } in current.into_iter().chain(waiting) {
            let parts = flight.map_or_else(
                || request.parts(),
                |flight| flight.unanswered.into_iter().map(|(_, part)| part).collect(),
            );
            // What answers a request of the peer was not asked for by the user.
            if let Request::ResetStreams { streams, answers: None, .. } = request {
                unanswered.extend(parts.into_iter().map(|part| (part, streams.clone())));
            } else if !matches!(request, Request::ResetStreams { .. }) {
                unanswered.extend(parts.into_iter().map(|part| (part, StreamSet::ALL)));
            }
        }
        unanswered
    }

    /// Returns the chunk to send again after the re-configuration timer ran out, and whether that counts as an
    /// error.
    pub(crate) fn on_timer(&mut self) -> Option<(ChunkBuf, Expiry)> {
        let flight = self.flight_mut()?;
        flight.expirations += 1;
        // It holds for this once: a peer that says no more, not even that, may be gone.
        let said_so = core::mem::take(&mut flight.is_in_progress);
        let counts = if said_so { Expiry::PeerIsAtIt } else { Expiry::Unanswered };
        Some((flight.chunk.clone(), counts))
    }

    /// Returns how long to wait for an answer now: the RTO, doubled each time it ran out (RFC 6525 §5.1.1).
    pub(crate) fn patience(&self, rto: Duration, longest: Duration) -> Option<Duration> {
        let flight = self.flight()?;
        let factor = 1_u32.checked_shl(flight.expirations).unwrap_or(u32::MAX);
        Some(rto.saturating_mul(factor).min(longest))
    }
}

fn answers(request: &Request, number: ReconfigSequence) -> bool {
    match request {
        Request::ResetStreams { answers, .. } => *answers == Some(number),
        Request::ResetAssociation | Request::AddStreams { .. } => false,
    }
}

/// The meaning of a re-configuration timer that ran out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Expiry {
    /// An error of path and association.
    Unanswered,
    /// Nothing: the peer said that it takes a while (RFC 6525 §5.2.7 (H2)).
    PeerIsAtIt,
}

static EVERY_STREAM: StreamSet = StreamSet::ALL;

/// Requests that wait for the one in flight.
pub(crate) const WAITING_AT_MOST: usize = 16;
/// The interval in which at most one SSN/TSN reset request is sent (RFC 6525 §5.1.4).
pub(crate) const ASSOCIATION_RESET_INTERVAL: Duration = Duration::from_secs(30);

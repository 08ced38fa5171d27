//! The peer's requests: which one counts, what it gets (RFC 6525 §5.2).

use sctp_wire::{NextTsns, ReconfigResponse, ReconfigResult, ReconfigSequence, StreamIds, Tsn};
use smallvec::SmallVec;

use crate::config::{Acceptance, ReconfigConfig};
use crate::stream_set::{AwaitedReset, StreamSet};

/// Remembers as little as makes every answer repeatable: the peer has one chunk in flight, of two requests at most.
#[derive(Debug)]
pub(crate) struct ReconfigResponder {
    expected: ReconfigSequence,
    /// The latest answers, from the first request on.
    answered: Option<Box<SmallVec<[ReconfigResponse; 2]>>>,
    deferred: Option<Box<Deferred>>,
}

/// The place of a request by its number (RFC 6525 §5.2.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RequestOrder {
    /// The next one.
    New,
    /// Answered before; the answer was this.
    Repeated(ReconfigResponse),
    /// The number is neither the next one nor the last one: the request is refused.
    OutOfSequence,
}

/// A request that is granted and has to wait.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Deferred {
    /// The peer's streams are reset once all before it has arrived (RFC 6525 §5.2.2 (E2)).
    StreamReset { request: ReconfigSequence, reset: AwaitedReset },
    /// Everything starts anew once our own data is acknowledged, so that none of it is lost.
    AssociationReset { request: ReconfigSequence },
}

/// The verdict on a new request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RequestVerdict {
    /// Answer with this and do nothing.
    Answer(ReconfigResult),
    /// Do it now.
    Perform,
    /// Do it later; answer "in progress" now.
    Defer,
}

impl ReconfigResponder {
    pub(crate) fn new(peer_initial: Tsn) -> Self {
        let expected = ReconfigSequence::new(peer_initial.get());
        Self { expected, answered: None, deferred: None }
    }

    /// Returns the peer's last request: what an outgoing reset of ours names when it answers none (RFC 6525
    /// §5.1.2 (A4)).
    pub(crate) fn last(&self) -> ReconfigSequence {
        self.expected.previous()
    }

    pub(crate) fn place(&self, number: ReconfigSequence) -> RequestOrder {
        if number == self.expected {
            return RequestOrder::New;
        }
        let answered =
            self.answered.iter().flat_map(|answers| answers.iter()).find(|answer| answer.response == number);
        answered.map_or(RequestOrder::OutOfSequence, |answer| RequestOrder::Repeated(*answer))
    }

    /// Notes the answer to the request that was expected, or the final one in place of "in progress".
    pub(crate) fn answer(
        &mut self,
        number: ReconfigSequence,
        result: ReconfigResult,
        next_tsns: Option<NextTsns>,
    ) -> ReconfigResponse {
        let response = ReconfigResponse { response: number, result, next_tsns };
        let answered = self.answered.get_or_insert_default();
        if let Some(earlier) = answered.iter_mut().find(|answer| answer.response == number) {
            *earlier = response;
            return response;
        }
        if number == self.expected {
            self.expected = number.next();
            if answered.len() == ANSWERS_KEPT {
                answered.remove(0);
            }
            answered.push(response);
        }
        response
    }

    pub(crate) fn defer(&mut self, deferred: Deferred) {
        self.deferred = Some(Box::new(deferred));
    }

    pub(crate) fn deferred(&self) -> Option<&Deferred> {
        self.deferred.as_deref()
    }

    pub(crate) fn take_deferred(&mut self) -> Option<Deferred> {
        self.deferred.take().map(|deferred| *deferred)
    }

    /// Returns the reset of the peer's streams that waits for data before it.
    #[inline]
    pub(crate) fn awaited_reset(&self) -> Option<&AwaitedReset> {
        match self.deferred.as_deref()? {
            Deferred::StreamReset { reset, .. } => Some(reset),
            Deferred::AssociationReset { .. } => None,
        }
    }
}

/// Judges an Outgoing SSN Reset Request: the peer resets streams it sends on (RFC 6525 §5.2.2).
pub(crate) fn judge_outgoing_reset(
    config: &ReconfigConfig,
    streams: StreamIds<'_>,
    inbound: u16,
    arrived: Arrived,
    deferred: Option<&Deferred>,
) -> RequestVerdict {
    if deferred.is_some() {
        return RequestVerdict::Answer(ReconfigResult::RequestAlreadyInProgress);
    }
    if config.stream_reset == Acceptance::Deny {
        return RequestVerdict::Answer(ReconfigResult::Denied);
    }
    if streams.iter().any(|stream| stream.get() >= inbound) {
        return RequestVerdict::Answer(ReconfigResult::WrongSsn);
    }
    match arrived {
        Arrived::All => RequestVerdict::Perform,
        Arrived::NotAll => RequestVerdict::Defer,
    }
}

/// Whether everything up to the request's last TSN is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Arrived {
    All,
    NotAll,
}

/// Judges an Incoming SSN Reset Request: the peer asks us to reset streams we send on (RFC 6525 §5.2.3).
///
/// `resetting`: the streams that a request of ours in flight resets already.
pub(crate) fn judge_incoming_reset(
    config: &ReconfigConfig,
    streams: StreamIds<'_>,
    outbound: u16,
    resetting: Option<&StreamSet>,
) -> RequestVerdict {
    if config.stream_reset == Acceptance::Deny || streams.iter().len() > ANSWERED_STREAMS {
        return RequestVerdict::Answer(ReconfigResult::Denied);
    }
    if streams.iter().any(|stream| stream.get() >= outbound) {
        return RequestVerdict::Answer(ReconfigResult::WrongSsn);
    }
    if resetting.is_some_and(|ours| ours.covers(&StreamSet::of_list(streams.iter()))) {
        return RequestVerdict::Answer(ReconfigResult::NothingToDo);
    }
    RequestVerdict::Perform
}

/// How far we are when the peer asks for an SSN/TSN reset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Standing {
    /// A request of ours is not done, or one of the peer's.
    Busy,
    /// Data of ours is under way.
    Sending,
    /// Nothing is under way.
    Drained,
}

/// Judges an SSN/TSN Reset Request (RFC 6525 §5.2.4).
pub(crate) fn judge_association_reset(config: &ReconfigConfig, standing: Standing) -> RequestVerdict {
    match (config.association_reset, standing) {
        (Acceptance::Deny, _) => RequestVerdict::Answer(ReconfigResult::Denied),
        (Acceptance::Accept, Standing::Busy) => {
            RequestVerdict::Answer(ReconfigResult::RequestAlreadyInProgress)
        }
        (Acceptance::Accept, Standing::Sending) => RequestVerdict::Defer,
        (Acceptance::Accept, Standing::Drained) => RequestVerdict::Perform,
    }
}

/// Judges an Add Outgoing or Add Incoming Streams Request (RFC 6525 §5.2.5, §5.2.6).
pub(crate) fn judge_added_streams(present: u16, added: u16, most: u16) -> RequestVerdict {
    match present.checked_add(added) {
        _ if added == 0 => RequestVerdict::Answer(ReconfigResult::NothingToDo),
        Some(total) if total <= most => RequestVerdict::Perform,
        Some(_) | None => RequestVerdict::Answer(ReconfigResult::Denied),
    }
}

/// The peer's last chunk has at most this many requests (RFC 6525 §3.1).
const ANSWERS_KEPT: usize = 2;
/// Streams in an incoming reset request at most: the request that answers it has to fit the smallest packet.
pub(crate) const ANSWERED_STREAMS: usize = 240;

//! Re-configuring streams (RFC 6525): resetting and adding them, and starting the whole association anew.
//!
//! `requester` keeps what we ask, `responder` what the peer asks; both are told what arrived and say what it means.
//! Here that is carried to the two halves of the association, to timer and events.
//!
//! An outgoing stream is reset only when nothing of it is under way: its messages are held, what was begun is finished
//! and acknowledged, then the peer is asked. Nothing is ever sent with a number from before the reset.

mod requester;
mod responder;
#[cfg(test)]
mod tests;

use sctp_wire::{
    AddStreams, Cause, ChunkBuf, ChunkType, IncomingSsnReset, NextTsns, OutgoingSsnReset, Parameter,
    ReConfig, ReconfigCombination, ReconfigResponse, ReconfigResult, ReconfigSequence, StreamId, Tsn,
    VerificationTag,
};
use smallvec::SmallVec;
use virtual_time::Instant;

use self::requester::{Answered, Completed, Expiry, Part, Request, Requester};
use self::responder::{
    Arrived, Deferred, Place, Responder, Standing, Verdict, judge_added_streams, judge_association_reset,
    judge_incoming_reset, judge_outgoing_reset,
};
use super::{Association, AssociationState as S, Capability, Timer};
use crate::error::ReconfigError;
use crate::event::{Event, ReconfigOutcome, StreamDirection};
use crate::path::Unanswered;
use crate::seldom::Seldom;
use crate::stats::ReconfigStatistics;
use crate::stream_set::StreamSet;
use crate::trace;
use crate::transmit::PathId;

/// The direction of the streams that a reset is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResetDirection {
    /// The streams on which this side sends.
    Outgoing,
    /// The streams on which the peer sends: it is asked to reset them.
    Incoming,
    /// The streams of both directions, with one request.
    Both,
}

impl ResetDirection {
    const fn is_outgoing(self) -> bool {
        matches!(self, Self::Outgoing | Self::Both)
    }

    const fn is_incoming(self) -> bool {
        matches!(self, Self::Incoming | Self::Both)
    }
}

/// Both roles in the re-configuration of an association.
#[derive(Debug)]
pub(super) struct Reconfig {
    requester: Requester,
    responder: Responder,
    /// The number of the packet that the peer's last chunk with requests came in.
    asked_in_packet: u64,
    /// Whether that chunk had a new request, whose answer may still wait to be sent.
    has_answered: bool,
    statistics: Seldom<ReconfigStatistics>,
}

impl Reconfig {
    /// Creates the state of re-configuration; requests are numbered from the initial TSNs (RFC 6525 §4.1).
    pub(super) fn new(local_initial: Tsn, peer_initial: Tsn) -> Self {
        Self {
            requester: Requester::new(local_initial),
            responder: Responder::new(peer_initial),
            asked_in_packet: 0,
            has_answered: false,
            statistics: Seldom::default(),
        }
    }

    pub(super) fn statistics(&self) -> ReconfigStatistics {
        self.statistics.get()
    }
}

/// What the user may ask for.
impl Association {
    pub(crate) fn reset_streams(
        &mut self,
        now: Instant,
        streams: &[StreamId],
        direction: ResetDirection,
    ) -> Result<(), ReconfigError> {
        self.check_reconfiguration()?;
        let check = |negotiated: u16| {
            let unknown = streams.iter().find(|stream| stream.get() >= negotiated);
            unknown.map_or(Ok(()), |&stream| Err(ReconfigError::UnknownStream { stream, negotiated }))
        };
        if direction.is_outgoing() {
            check(self.peer.agreed.outbound)?;
        }
        if direction.is_incoming() {
            check(self.peer.agreed.inbound)?;
        }
        let streams = StreamSet::of_list(streams.iter().copied());
        let listed = streams.listed().len();
        if listed > LISTED_AT_MOST {
            return Err(ReconfigError::TooManyListed { listed, limit: LISTED_AT_MOST });
        }
        self.request(now, Request::ResetStreams { direction, streams, answers: None })
    }

    pub(crate) fn reset_association(&mut self, now: Instant) -> Result<(), ReconfigError> {
        self.check_reconfiguration()?;
        if let Some(wait) = self.reconfig.requester.association_reset_wait(now) {
            return Err(ReconfigError::TooSoon { wait });
        }
        self.request(now, Request::ResetAssociation)?;
        self.reconfig.requester.note_association_reset(now);
        Ok(())
    }

    pub(crate) fn add_streams(
        &mut self,
        now: Instant,
        outbound: u16,
        inbound: u16,
    ) -> Result<(), ReconfigError> {
        self.check_reconfiguration()?;
        for (present, added) in [(self.peer.agreed.outbound, outbound), (self.peer.agreed.inbound, inbound)] {
            if present.checked_add(added).is_none() {
                return Err(ReconfigError::TooManyStreams { present, added });
            }
        }
        if outbound == 0 && inbound == 0 {
            return Err(ReconfigError::NothingToAdd);
        }
        self.request(now, Request::AddStreams { outbound, inbound })
    }

    fn check_reconfiguration(&self) -> Result<(), ReconfigError> {
        if self.state.name() != S::Established {
            return Err(ReconfigError::NotEstablished);
        }
        if !self.peer.agreed.capabilities.has(Capability::Reconfiguration) {
            return Err(ReconfigError::NotAgreed);
        }
        Ok(())
    }

    fn request(&mut self, now: Instant, request: Request) -> Result<(), ReconfigError> {
        if !self.reconfig.requester.push(request) {
            return Err(ReconfigError::TooManyRequests { limit: requester::WAITING_AT_MOST });
        }
        self.progress_reconfig(now);
        Ok(())
    }
}

/// Our own requests on their way.
impl Association {
    /// Takes whatever step has become possible: after anything that came in, was acknowledged or was asked for.
    pub(super) fn progress_reconfig(&mut self, now: Instant) {
        if !self.may_answer_reconfig() {
            return;
        }
        self.finish_deferred(now);
        if !self.may_reconfigure() {
            return;
        }
        if matches!(self.reconfig.responder.deferred(), Some(Deferred::AssociationReset { .. })) {
            return;
        }
        if let Some(streams) = self.reconfig.requester.begin_next().and_then(Request::held_streams) {
            self.sender.hold_streams(streams.clone());
        }
        let Some(request) = self.reconfig.requester.preparing() else { return };
        if request.held_streams().is_some() && !self.sender.is_drained() {
            return;
        }
        let (last_assigned, responded) = (self.sender.last_assigned_tsn(), self.reconfig.responder.last());
        if let Some(chunk) = self.reconfig.requester.launch(last_assigned, responded) {
            self.reconfig.statistics.note().requests_sent += 1;
            self.push_chunk(self.paths.for_data(), Ok(chunk));
            self.start_reconfig_timer(now);
        }
    }

    fn may_reconfigure(&self) -> bool {
        matches!(self.state.name(), S::Established | S::ShutdownPending | S::ShutdownReceived)
    }

    /// Returns whether requests are answered: as long as data is taken, because the peer may hold back data
    /// until a reset is done, and not end before.
    fn may_answer_reconfig(&self) -> bool {
        self.may_reconfigure() || self.state.name() == S::ShutdownSent
    }

    fn start_reconfig_timer(&mut self, now: Instant) {
        let rto = self.paths.path(self.paths.for_data()).rto.rto();
        let patience = self.reconfig.requester.patience(rto, self.config.rto.max);
        self.timers.apply(Timer::Reconfiguration, patience.map(|patience| now + patience));
    }

    /// Acts on the re-configuration timer, which has run out (RFC 6525 §5.1.1, §5.2.7 (H2)).
    pub(super) fn on_reconfig_timer(&mut self, now: Instant) {
        if !self.may_reconfigure() {
            return;
        }
        let Some((chunk, expiry)) = self.reconfig.requester.on_timer() else { return };
        let path = self.paths.for_data();
        if expiry == Expiry::Unanswered && !self.unanswered(now, path, Unanswered::Transmission) {
            return;
        }
        self.reconfig.statistics.note().retransmissions += 1;
        self.push_chunk(path, Ok(chunk));
        self.start_reconfig_timer(now);
    }

    /// Takes in the peer's response to a request (RFC 6525 §5.2.7).
    fn on_reconfig_response(&mut self, now: Instant, response: &ReconfigResponse) {
        match self.reconfig.requester.on_response(response) {
            Answered::Unexpected => self.reconfig.statistics.note().unexpected_responses += 1,
            Answered::InProgress => self.start_reconfig_timer(now),
            Answered::Completed(completed) => self.on_completed(now, completed),
        }
        self.stop_timer_if_answered();
    }

    fn stop_timer_if_answered(&mut self) {
        if self.reconfig.requester.is_idle() {
            self.timers.stop(Timer::Reconfiguration);
        }
    }

    fn on_completed(&mut self, now: Instant, completed: Completed) {
        let Completed { part, streams, result, next_tsns } = completed;
        let is_performed = result == ReconfigResult::Performed;
        let result = ReconfigOutcome::from(result);
        match part {
            Part::OutgoingReset => {
                if is_performed {
                    self.sender.reset_streams(&streams);
                } else {
                    self.sender.release_streams();
                }
                let direction = StreamDirection::Outgoing;
                self.tell_streams_reset(direction, streams, result);
            }
            // Performed, it is told when the peer's own reset has come.
            Part::IncomingReset if is_performed => {}
            Part::IncomingReset => {
                let direction = StreamDirection::Incoming;
                self.tell_streams_reset(direction, streams, result);
            }
            Part::AssociationReset => {
                match next_tsns.filter(|_| is_performed) {
                    // RFC 6525 §5.2.7 (H5): the peer's view of who is the sender.
                    Some(next) => self.restart_tsns(now, next.receiver, next.sender),
                    None => self.sender.release_streams(),
                }
                let result =
                    if next_tsns.is_none() && is_performed { ReconfigOutcome::Malformed } else { result };
                self.tell_association_reset(result);
            }
            Part::AddOutgoing(count) => {
                if is_performed {
                    self.sender.add_streams(count);
                    self.peer.agreed.outbound = self.peer.agreed.outbound.saturating_add(count);
                }
                self.tell_streams_added(result);
            }
            // Performed, it is told when the peer has added them.
            Part::AddIncoming(_) if is_performed => {}
            Part::AddIncoming(_) => self.tell_streams_added(result),
        }
    }

    /// The peer has begun anew: what was asked will not be answered.
    pub(super) fn give_up_reconfiguration(&mut self) {
        let result = ReconfigOutcome::PeerRestarted;
        for (part, streams) in self.reconfig.requester.take_all() {
            match part {
                Part::OutgoingReset => self.tell_streams_reset(StreamDirection::Outgoing, streams, result),
                Part::IncomingReset => self.tell_streams_reset(StreamDirection::Incoming, streams, result),
                Part::AssociationReset => self.tell_association_reset(result),
                Part::AddOutgoing(_) | Part::AddIncoming(_) => self.tell_streams_added(result),
            }
        }
    }

    fn tell_streams_reset(
        &mut self,
        direction: StreamDirection,
        streams: StreamSet,
        result: ReconfigOutcome,
    ) {
        let streams = streams.into_list();
        trace::streams_reset(direction, streams.len(), result);
        self.events.push(Event::StreamsReset { direction, streams, result });
    }

    fn tell_association_reset(&mut self, result: ReconfigOutcome) {
        trace::association_reset(result);
        self.events.push(Event::AssociationReset { result });
    }

    fn tell_streams_added(&mut self, result: ReconfigOutcome) {
        let agreed = self.peer.agreed;
        trace::streams_added(agreed.outbound, agreed.inbound, result);
        self.events.push(Event::StreamsAdded {
            outbound_streams: agreed.outbound,
            inbound_streams: agreed.inbound,
            result,
        });
    }

    /// Nothing is under way: both directions go on from these TSNs, with SSN 0 in every stream.
    fn restart_tsns(&mut self, now: Instant, ours: Tsn, peers: Tsn) {
        self.sender.restart_tsns(ours);
        self.sender.reset_streams(&StreamSet::ALL);
        let has_new = self.receiver.as_mut().is_some_and(|receiver| receiver.restart_tsns(now, peers));
        if has_new {
            self.tell_message_ready();
        }
    }
}

/// What the peer asks for.
impl Association {
    /// Takes in a RE-CONFIG chunk (RFC 6525 §5.2.1).
    pub(super) fn on_reconfig(&mut self, now: Instant, path: PathId, chunk: &ReConfig<'_>) {
        if !self.may_answer_reconfig() {
            self.reconfig.statistics.note().in_wrong_state += 1;
            return;
        }
        let Some(combination) = chunk.combination() else {
            self.counters.note().discarded.malformed += 1;
            self.push_chunk(path, ChunkBuf::error(&[Cause::ProtocolViolation(NO_SUCH_COMBINATION)]));
            return;
        };
        if asks(combination) && !self.takes_request() {
            self.reconfig.statistics.note().requests_passed_over += 1;
            return;
        }
        let mut responses = SmallVec::<[ReconfigResponse; 2]>::new();
        for parameter in chunk.parameters.iter() {
            match parameter {
                Ok(Parameter::OutgoingSsnReset(reset)) => responses.push(self.on_outgoing_reset(now, &reset)),
                Ok(Parameter::IncomingSsnReset(reset)) => {
                    responses.extend(self.on_incoming_reset(now, path, &reset));
                }
                Ok(Parameter::SsnTsnReset { request }) => {
                    responses.push(self.on_association_reset(now, request));
                }
                Ok(Parameter::AddOutgoingStreams(add)) => responses.push(self.on_streams_announced(add)),
                Ok(Parameter::AddIncomingStreams(add)) => responses.push(self.on_streams_wanted(add)),
                Ok(Parameter::ReconfigResponse(response)) => self.on_reconfig_response(now, &response),
                // Only those make up an allowed combination.
                Ok(_) | Err(_) => self.counters.note().discarded.malformed += 1,
            }
        }
        if responses.is_empty() {
            return;
        }
        self.respond(path, &responses);
        // The SACK may spare the peer a retransmission that the request waits for.
        if let Some(receiver) = self.receiver.as_mut() {
            receiver.on_sack_timer();
        }
    }

    fn respond(&mut self, path: PathId, responses: &[ReconfigResponse]) {
        let parameters: SmallVec<[Parameter<'_>; 2]> =
            responses.iter().map(|response| Parameter::ReconfigResponse(*response)).collect();
        self.push_chunk(path, ChunkBuf::re_config(&parameters));
    }

    /// Returns whether a chunk with requests is looked at. A peer has one in flight (RFC 6525 §5.1.1): there is
    /// no second one in a packet, and the next one does not come before the answer to this one has left. One
    /// that comes all the same counts as lost. So it is by the packets that leave, not by those that arrive,
    /// how often requests make work.
    fn takes_request(&mut self) -> bool {
        let packet = self.counters.packets_received;
        if self.reconfig.asked_in_packet == packet {
            return false;
        }
        self.reconfig.has_answered &= self.control.kinds().any(|kind| kind == ChunkType::RE_CONFIG);
        if self.reconfig.has_answered {
            return false;
        }
        self.reconfig.asked_in_packet = packet;
        true
    }

    /// Returns the answer to a request that need not be looked at any more.
    fn answered_before(&mut self, request: ReconfigSequence) -> Option<ReconfigResponse> {
        match self.reconfig.responder.place(request) {
            Place::New => {
                self.reconfig.has_answered = true;
                self.reconfig.statistics.note().requests_received += 1;
                None
            }
            Place::Repeated(response) => {
                self.reconfig.statistics.note().requests_repeated += 1;
                Some(response)
            }
            Place::OutOfSequence => {
                self.reconfig.statistics.note().requests_refused += 1;
                let result = ReconfigResult::BadSequenceNumber;
                Some(ReconfigResponse { response: request, result, next_tsns: None })
            }
        }
    }

    fn refuse(&mut self, request: ReconfigSequence, result: ReconfigResult) -> ReconfigResponse {
        self.reconfig.statistics.note().requests_refused += 1;
        self.reconfig.responder.answer(request, result, None)
    }

    fn on_outgoing_reset(&mut self, now: Instant, reset: &OutgoingSsnReset<'_>) -> ReconfigResponse {
        if let Some(answer) = self.answered_before(reset.request) {
            return answer;
        }
        // RFC 6525 §5.2.2 (E1): this may be what we asked for.
        let answered = |number, part| part == Part::IncomingReset && number == reset.response;
        self.reconfig.requester.on_answering_request(answered);
        self.stop_timer_if_answered();
        let arrived =
            if self.cumulative_tsn().precedes(reset.last_tsn) { Arrived::NotAll } else { Arrived::All };
        let (config, inbound) = (&self.config.reconfiguration, self.peer.agreed.inbound);
        let deferred = self.reconfig.responder.deferred();
        let verdict = judge_outgoing_reset(config, reset.streams, inbound, arrived, deferred);
        let listed = || StreamSet::of_list(reset.streams.iter());
        match verdict {
            Verdict::Answer(result) => self.refuse(reset.request, result),
            Verdict::Perform => self.reset_incoming(now, reset.request, listed()),
            Verdict::Defer => {
                let (request, last_tsn, streams) = (reset.request, reset.last_tsn, listed());
                self.reconfig.responder.defer(Deferred::StreamReset { request, last_tsn, streams });
                self.reconfig.responder.answer(request, ReconfigResult::InProgress, None)
            }
        }
    }

    /// Resets streams of the peer, whose data up to the request has arrived (RFC 6525 §5.2.2 (E3), (E5)).
    fn reset_incoming(
        &mut self,
        now: Instant,
        request: ReconfigSequence,
        streams: StreamSet,
    ) -> ReconfigResponse {
        let has_new = self.receiver.as_mut().is_some_and(|receiver| receiver.reset_streams(now, &streams));
        if has_new {
            self.tell_message_ready();
        }
        let (direction, result) = (StreamDirection::Incoming, ReconfigOutcome::Performed);
        self.tell_streams_reset(direction, streams, result);
        self.reconfig.responder.answer(request, ReconfigResult::Performed, None)
    }

    /// Answers an incoming reset request by an outgoing reset of ours, or by why not (RFC 6525 §5.2.3). While
    /// that reset has to wait, "in progress" keeps the peer from giving up.
    fn on_incoming_reset(
        &mut self,
        now: Instant,
        path: PathId,
        reset: &IncomingSsnReset<'_>,
    ) -> Option<ReconfigResponse> {
        let request = reset.request;
        if let Some(answer) = self.answered_before(request) {
            return self.repeat_incoming(path, answer);
        }
        let (config, outbound) = (&self.config.reconfiguration, self.peer.agreed.outbound);
        match judge_incoming_reset(config, reset.streams, outbound, self.reconfig.requester.resetting()) {
            Verdict::Answer(result) => return Some(self.refuse(request, result)),
            Verdict::Perform | Verdict::Defer => {}
        }
        // Each of two such requests would wait for the other to be done: the higher tag goes first.
        let goes_first = Some(self.peer.local_tag.get()) > self.peer.peer_tag.map(VerificationTag::get);
        if goes_first && self.reconfig.requester.waits_for_peers_reset() {
            return Some(self.refuse(request, ReconfigResult::RequestAlreadyInProgress));
        }
        let (direction, streams) = (ResetDirection::Outgoing, StreamSet::of_list(reset.streams.iter()));
        let own = Request::ResetStreams { direction, streams, answers: Some(request) };
        if !self.reconfig.requester.push_first(own) {
            return Some(self.refuse(request, ReconfigResult::RequestAlreadyInProgress));
        }
        let in_progress = self.reconfig.responder.answer(request, ReconfigResult::InProgress, None);
        self.progress_reconfig(now);
        self.reconfig.requester.in_flight_answering(request).is_none().then_some(in_progress)
    }

    /// Returns the answer to an incoming reset request that is asked again.
    fn repeat_incoming(&mut self, path: PathId, answer: ReconfigResponse) -> Option<ReconfigResponse> {
        if answer.result != ReconfigResult::InProgress {
            return Some(answer);
        }
        if let Some(chunk) = self.reconfig.requester.in_flight_answering(answer.response).cloned() {
            self.push_chunk(path, Ok(chunk));
            return None;
        }
        if self.reconfig.requester.will_answer(answer.response) {
            return Some(answer);
        }
        Some(self.reconfig.responder.answer(answer.response, ReconfigResult::Performed, None))
    }

    /// Answers an SSN/TSN reset request (RFC 6525 §5.2.4). Data of ours that is under way is waited for: the
    /// reset would count it as received.
    fn on_association_reset(&mut self, now: Instant, request: ReconfigSequence) -> ReconfigResponse {
        if let Some(answer) = self.answered_before(request) {
            return answer;
        }
        // SHUTDOWN has acknowledged what is to be renumbered.
        if self.state.name() == S::ShutdownSent {
            return self.refuse(request, ReconfigResult::Denied);
        }
        let is_busy = !self.reconfig.requester.is_idle() || self.reconfig.responder.deferred().is_some();
        let standing = match (is_busy, self.sender.is_drained()) {
            (true, _) => Standing::Busy,
            (false, false) => Standing::Sending,
            (false, true) => Standing::Drained,
        };
        match judge_association_reset(&self.config.reconfiguration, standing) {
            Verdict::Answer(result) => self.refuse(request, result),
            Verdict::Perform => self.reset_everything(now, request),
            Verdict::Defer => {
                self.sender.hold_streams(StreamSet::ALL);
                self.reconfig.responder.defer(Deferred::AssociationReset { request });
                self.reconfig.responder.answer(request, ReconfigResult::InProgress, None)
            }
        }
    }

    /// Resets both directions (RFC 6525 §5.2.4 (G1) to (G6)), but not from (G2): our TSNs go on behind a gap,
    /// or what overtakes the response would be read by the numbers of before
    /// (docs/decisions/0009-gap-behind-an-association-reset.md).
    fn reset_everything(&mut self, now: Instant, request: ReconfigSequence) -> ReconfigResponse {
        let sender = self.sender.last_assigned_tsn().next().advance(RESET_GAP_TSNS);
        let receiver = self.cumulative_tsn().next().advance(1 << 31);
        self.restart_tsns(now, sender, receiver);
        self.tell_association_reset(ReconfigOutcome::Performed);
        let next_tsns = Some(NextTsns { sender, receiver });
        self.reconfig.responder.answer(request, ReconfigResult::Performed, next_tsns)
    }

    /// Answers an Add Outgoing Streams Request: the peer sends on more streams (RFC 6525 §5.2.5).
    fn on_streams_announced(&mut self, add: AddStreams) -> ReconfigResponse {
        if let Some(answer) = self.answered_before(add.request) {
            return answer;
        }
        self.reconfig.requester.on_answering_request(|_, part| part == Part::AddIncoming(add.count));
        self.stop_timer_if_answered();
        let limit = self.config.reconfiguration.max_inbound_streams;
        match judge_added_streams(self.peer.agreed.inbound, add.count, limit) {
            Verdict::Answer(result) => self.refuse(add.request, result),
            Verdict::Perform | Verdict::Defer => {
                self.peer.agreed.inbound = self.peer.agreed.inbound.saturating_add(add.count);
                if let Some(receiver) = self.receiver.as_mut() {
                    receiver.add_streams(add.count);
                }
                self.tell_streams_added(ReconfigOutcome::Performed);
                self.reconfig.responder.answer(add.request, ReconfigResult::Performed, None)
            }
        }
    }

    /// Answers an Add Incoming Streams Request: the peer would like us to send on more streams; granted, a
    /// request of ours follows (RFC 6525 §5.2.6).
    fn on_streams_wanted(&mut self, add: AddStreams) -> ReconfigResponse {
        if let Some(answer) = self.answered_before(add.request) {
            return answer;
        }
        let limit = self.config.reconfiguration.max_outbound_streams;
        // What was granted before and has not been done counts.
        let granted = self.peer.agreed.outbound.saturating_add(self.reconfig.requester.adding());
        match judge_added_streams(granted, add.count, limit) {
            Verdict::Answer(result) => self.refuse(add.request, result),
            Verdict::Perform | Verdict::Defer => {
                let own = Request::AddStreams { outbound: add.count, inbound: 0 };
                if self.reconfig.requester.push_first(own) {
                    self.reconfig.responder.answer(add.request, ReconfigResult::Performed, None)
                } else {
                    self.refuse(add.request, ReconfigResult::RequestAlreadyInProgress)
                }
            }
        }
    }

    /// Carries out what was granted and had to wait, and answers it for good (RFC 6525 §5.2.2 (E2) to (E6)).
    fn finish_deferred(&mut self, now: Instant) {
        let cumulative = self.cumulative_tsn();
        let is_due = match self.reconfig.responder.deferred() {
            Some(Deferred::StreamReset { last_tsn, .. }) => !cumulative.precedes(*last_tsn),
            Some(Deferred::AssociationReset { .. }) => self.sender.is_drained(),
            None => false,
        };
        if !is_due {
            return;
        }
        let response = match self.reconfig.responder.take_deferred() {
            Some(Deferred::StreamReset { request, streams, .. }) => {
                self.reset_incoming(now, request, streams)
            }
            Some(Deferred::AssociationReset { request }) => self.reset_everything(now, request),
            None => return,
        };
        self.respond(self.paths.for_data(), &[response]);
    }

    /// Returns whether acknowledgments may be by numbers that we do not know yet, those of an association reset
    /// whose answer they have overtaken. Nothing is outstanding meanwhile (RFC 6525 §5.1.4 (C2)): nothing is
    /// missed.
    pub(super) fn is_renumbering(&self) -> bool {
        self.reconfig.requester.is_resetting_association()
    }

    /// Returns whether a reset of streams of the peer waits for data before it.
    pub(super) fn awaits_reset(&self) -> bool {
        self.reconfig.responder.deferred().is_some()
    }

    /// Returns whether DATA belongs behind a reset that has not happened yet. A peer that keeps to RFC 6525
    /// §5.1.2 (A1) sends none; it is not taken, so that it comes again when the reset is done.
    pub(super) fn is_behind_reset(&mut self, stream: StreamId, tsn: Tsn) -> bool {
        if self.reconfig.responder.deferred().is_none() {
            return false;
        }
        let is_behind = self.reconfig.responder.is_behind_reset(stream, tsn);
        if is_behind {
            self.reconfig.statistics.note().data_behind_reset += 1;
        }
        is_behind
    }
}

/// Returns whether a chunk holds a request.
const fn asks(combination: ReconfigCombination) -> bool {
    use ReconfigCombination as C;
    match combination {
        C::Response | C::TwoResponses => false,
        C::OutgoingReset
        | C::IncomingReset
        | C::OutgoingAndIncomingReset
        | C::SsnTsnReset
        | C::AddOutgoing
        | C::AddIncoming
        | C::AddOutgoingAndIncoming
        | C::ResponseAndOutgoingReset => true,
    }
}

/// The text for a peer that puts parameters together which RFC 6525 §3.1 does not.
const NO_SUCH_COMBINATION: &[u8] = b"RE-CONFIG with parameters that do not go together";
/// TSNs passed over by an association reset: the least that no receiver takes for data or a FORWARD TSN that is merely early.
const RESET_GAP_TSNS: u32 = 1 << 16;
/// Streams named in one request of ours: with both directions it fits the smallest packet.
const LISTED_AT_MOST: usize = 100;

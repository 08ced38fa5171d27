//! The peer's requests and their answers (RFC 6525 §5.2).

use sctp_wire::{
    AddStreams, Cause, ChunkBuf, ChunkType, DecodeError, IncomingSsnReset, NextTsns, OutgoingSsnReset,
    Parameter, ReConfig, ReconfigCombination, ReconfigResponse, ReconfigResult, ReconfigSequence,
    VerificationTag,
};
use smallvec::SmallVec;
use virtual_time::Instant;

use super::asking::{restart_tsns, tell_association_reset, tell_streams_added, tell_streams_reset};
use super::requester::{Part, Request};
use super::responder::{
    Arrived, Deferred, RequestOrder, RequestVerdict, Standing, judge_added_streams, judge_association_reset,
    judge_incoming_reset, judge_outgoing_reset,
};
use super::{Reconfig, ResetDirection};
use crate::association::AssociationState;
use crate::association::inbound::Inbound;
use crate::association::outbound::Outbound;
use crate::association::session::Session;
use crate::event::{ReconfigOutcome, StreamDirection};
use crate::stream_set::{AwaitedReset, StreamSet};
use crate::transmit::PathIndex;

impl Reconfig {
    /// Takes in a RE-CONFIG chunk (RFC 6525 §5.2.1).
    pub(super) fn on_chunk(
        &mut self,
        (now, path): (Instant, PathIndex),
        chunk: &ReConfig<'_>,
        session: &mut Session,
        outbound: &mut Outbound,
        inbound: &mut Inbound,
    ) {
        if !session.state.name().answers_reconfiguration() {
            self.statistics.note().in_wrong_state += 1;
            return;
        }
        let Some(combination) = chunk.combination() else {
            session.counters.note().discarded.malformed += 1;
            let error = ChunkBuf::error(&[Cause::ProtocolViolation(NO_SUCH_COMBINATION)]);
            return outbound.push(path, session, error);
        };
        if asks(combination) && !self.takes_request(session, outbound) {
            return;
        }
        let mut answers = SmallVec::<[ReconfigResponse; 2]>::new();
        for parameter in chunk.parameters.iter() {
            answers.extend(self.on_parameter((now, path), parameter, session, outbound, inbound));
        }
        if !answers.is_empty() {
            outbound.push(path, session, responses(&answers));
            // The SACK may spare the peer a retransmission that the request waits for.
            inbound.hurry_sack();
        }
    }

    /// Takes in a request or response, and returns the answer to it.
    fn on_parameter(
        &mut self,
        (now, path): (Instant, PathIndex),
        parameter: Result<Parameter<'_>, DecodeError>,
        session: &mut Session,
        outbound: &mut Outbound,
        inbound: &mut Inbound,
    ) -> Option<ReconfigResponse> {
        match parameter {
            Ok(Parameter::OutgoingSsnReset(reset)) => {
                Some(self.on_outgoing_reset(now, &reset, session, outbound, inbound))
            }
            Ok(Parameter::IncomingSsnReset(reset)) => {
                self.on_incoming_reset((now, path), &reset, session, outbound, inbound)
            }
            Ok(Parameter::SsnTsnReset { request }) => {
                Some(self.on_association_reset(now, request, session, outbound, inbound))
            }
            Ok(Parameter::AddOutgoingStreams(add)) => {
                Some(self.on_streams_announced(add, session, outbound, inbound))
            }
            Ok(Parameter::AddIncomingStreams(add)) => Some(self.on_streams_wanted(add, session)),
            Ok(Parameter::ReconfigResponse(response)) => {
                self.on_response(now, &response, session, outbound, inbound);
                None
            }
            // Only those make up an allowed combination.
            Ok(_) | Err(_) => {
                session.counters.note().discarded.malformed += 1;
                None
            }
        }
    }

    /// Returns whether a chunk with requests is looked at. A peer has one in flight (RFC 6525 §5.1.1): there is
    /// no second one in a packet, and the next one does not come before the answer to this one has left. One
    /// that comes all the same counts as lost. So it is by the packets that leave, not by those that arrive,
    /// how often requests make work.
    fn takes_request(&mut self, session: &Session, outbound: &Outbound) -> bool {
        let packet = session.counters.packets_received;
        let is_second = self.asked_in_packet == packet;
        if !is_second {
            self.has_answered &= outbound.control.kinds().any(|kind| kind == ChunkType::RE_CONFIG);
        }
        if is_second || self.has_answered {
            self.statistics.note().requests_passed_over += 1;
            return false;
        }
        self.asked_in_packet = packet;
        true
    }

    /// Returns the answer to a request that need not be looked at any more.
    fn answered_before(&mut self, request: ReconfigSequence) -> Option<ReconfigResponse> {
        match self.responder.place(request) {
            RequestOrder::New => {
                self.has_answered = true;
                self.statistics.note().requests_received += 1;
                None
            }
            RequestOrder::Repeated(response) => {
                self.statistics.note().requests_repeated += 1;
                Some(response)
            }
            RequestOrder::OutOfSequence => {
                self.statistics.note().requests_refused += 1;
                let result = ReconfigResult::BadSequenceNumber;
                Some(ReconfigResponse { response: request, result, next_tsns: None })
            }
        }
    }

    fn refuse(&mut self, request: ReconfigSequence, result: ReconfigResult) -> ReconfigResponse {
        self.statistics.note().requests_refused += 1;
        self.responder.answer(request, result, None)
    }

    fn on_outgoing_reset(
        &mut self,
        now: Instant,
        reset: &OutgoingSsnReset<'_>,
        session: &mut Session,
        outbound: &mut Outbound,
        inbound: &mut Inbound,
    ) -> ReconfigResponse {
        if let Some(answer) = self.answered_before(reset.request) {
            return answer;
        }
        // RFC 6525 §5.2.2 (E1): this may be what we asked for.
        let answered = |number, part| part == Part::IncomingReset && number == reset.response;
        self.requester.on_answering_request(answered);
        self.stop_timer_if_answered(outbound);
        let arrived =
            if inbound.cumulative_tsn().precedes(reset.last_tsn) { Arrived::NotAll } else { Arrived::All };
        let (config, streams) = (&session.config.reconfiguration, session.peer.agreed.inbound);
        let deferred = self.responder.deferred();
        let verdict = judge_outgoing_reset(config, reset.streams, streams, arrived, deferred);
        let listed = || StreamSet::of_list(reset.streams.iter());
        match verdict {
            RequestVerdict::Answer(result) => self.refuse(reset.request, result),
            RequestVerdict::Perform => self.reset_incoming(now, reset.request, listed(), session, inbound),
            RequestVerdict::Defer => {
                let (request, awaited) =
                    (reset.request, AwaitedReset { last_tsn: reset.last_tsn, streams: listed() });
                self.responder.defer(Deferred::StreamReset { request, reset: awaited });
                self.responder.answer(request, ReconfigResult::InProgress, None)
            }
        }
    }

    /// Resets streams of the peer, whose data up to the request has arrived (RFC 6525 §5.2.2 (E3), (E5)).
    fn reset_incoming(
        &mut self,
        now: Instant,
        request: ReconfigSequence,
        streams: StreamSet,
        session: &mut Session,
        inbound: &mut Inbound,
    ) -> ReconfigResponse {
        let receiver = inbound.receiver.as_mut();
        if receiver.is_some_and(|receiver| receiver.reset_streams(now, &streams)) {
            session.tell_message_ready();
        }
        tell_streams_reset(StreamDirection::Incoming, streams, ReconfigOutcome::Performed, session);
        self.responder.answer(request, ReconfigResult::Performed, None)
    }

    /// Answers an incoming reset request by an outgoing reset of ours, or by why not (RFC 6525 §5.2.3). While
    /// that reset has to wait, "in progress" keeps the peer from giving up.
    fn on_incoming_reset(
        &mut self,
        (now, path): (Instant, PathIndex),
        reset: &IncomingSsnReset<'_>,
        session: &mut Session,
        outbound: &mut Outbound,
        inbound: &mut Inbound,
    ) -> Option<ReconfigResponse> {
        let request = reset.request;
        if let Some(answer) = self.answered_before(request) {
            return self.repeat_incoming(path, answer, session, outbound);
        }
        let (config, streams) = (&session.config.reconfiguration, session.peer.agreed.outbound);
        match judge_incoming_reset(config, reset.streams, streams, self.requester.resetting()) {
            RequestVerdict::Answer(result) => return Some(self.refuse(request, result)),
            RequestVerdict::Perform | RequestVerdict::Defer => {}
        }
        // Each of two such requests would wait for the other to be done: the higher tag goes first.
        let peer = &session.peer;
        let goes_first = Some(peer.local_tag.get()) > peer.peer_tag.map(VerificationTag::get);
        if goes_first && self.requester.waits_for_peers_reset() {
            return Some(self.refuse(request, ReconfigResult::RequestAlreadyInProgress));
        }
        let (direction, streams) = (ResetDirection::Outgoing, StreamSet::of_list(reset.streams.iter()));
        let own = Request::ResetStreams { direction, streams, answers: Some(request) };
        if !self.requester.push_first(own) {
            return Some(self.refuse(request, ReconfigResult::RequestAlreadyInProgress));
        }
        let in_progress = self.responder.answer(request, ReconfigResult::InProgress, None);
        self.progress(now, session, outbound, inbound);
        self.requester.in_flight_answering(request).is_none().then_some(in_progress)
    }

    /// Returns the answer to an incoming reset request that is asked again.
    fn repeat_incoming(
        &mut self,
        path: PathIndex,
        answer: ReconfigResponse,
        session: &mut Session,
        outbound: &mut Outbound,
    ) -> Option<ReconfigResponse> {
        if answer.result != ReconfigResult::InProgress {
            return Some(answer);
        }
        if let Some(chunk) = self.requester.in_flight_answering(answer.response).cloned() {
            outbound.push(path, session, Ok(chunk));
            return None;
        }
        if self.requester.will_answer(answer.response) {
            return Some(answer);
        }
        Some(self.responder.answer(answer.response, ReconfigResult::Performed, None))
    }

    /// Answers an SSN/TSN reset request (RFC 6525 §5.2.4). Data of ours that is under way is waited for: the
    /// reset would count it as received.
    fn on_association_reset(
        &mut self,
        now: Instant,
        request: ReconfigSequence,
        session: &mut Session,
        outbound: &mut Outbound,
        inbound: &mut Inbound,
    ) -> ReconfigResponse {
        if let Some(answer) = self.answered_before(request) {
            return answer;
        }
        // SHUTDOWN has acknowledged what is to be renumbered.
        if session.state.name() == AssociationState::ShutdownSent {
            return self.refuse(request, ReconfigResult::Denied);
        }
        let is_busy = !self.requester.is_idle() || self.responder.deferred().is_some();
        let standing = match (is_busy, outbound.sender.is_drained()) {
            (true, _) => Standing::Busy,
            (false, false) => Standing::Sending,
            (false, true) => Standing::Drained,
        };
        match judge_association_reset(&session.config.reconfiguration, standing) {
            RequestVerdict::Answer(result) => self.refuse(request, result),
            RequestVerdict::Perform => self.reset_everything(now, request, session, outbound, inbound),
            RequestVerdict::Defer => {
                outbound.sender.hold_streams(StreamSet::ALL);
                self.responder.defer(Deferred::AssociationReset { request });
                self.responder.answer(request, ReconfigResult::InProgress, None)
            }
        }
    }

    /// Resets both directions (RFC 6525 §5.2.4 (G1) to (G6)), but not from (G2): our TSNs go on behind a gap,
    /// or what overtakes the response would be read by the numbers of before
    /// (docs/decisions/0009-gap-behind-an-association-reset.md).
    fn reset_everything(
        &mut self,
        now: Instant,
        request: ReconfigSequence,
        session: &mut Session,
        outbound: &mut Outbound,
        inbound: &mut Inbound,
    ) -> ReconfigResponse {
        let sender = outbound.sender.last_assigned_tsn().next().advance(RESET_GAP_TSNS);
        let receiver = inbound.cumulative_tsn().next().advance(1 << 31);
        restart_tsns(now, (sender, receiver), session, outbound, inbound);
        tell_association_reset(ReconfigOutcome::Performed, session);
        let next_tsns = Some(NextTsns { sender, receiver });
        self.responder.answer(request, ReconfigResult::Performed, next_tsns)
    }

    /// Answers an Add Outgoing Streams Request: the peer sends on more streams (RFC 6525 §5.2.5).
    fn on_streams_announced(
        &mut self,
        add: AddStreams,
        session: &mut Session,
        outbound: &mut Outbound,
        inbound: &mut Inbound,
    ) -> ReconfigResponse {
        if let Some(answer) = self.answered_before(add.request) {
            return answer;
        }
        self.requester.on_answering_request(|_, part| part == Part::AddIncoming(add.count));
        self.stop_timer_if_answered(outbound);
        let limit = session.config.reconfiguration.max_inbound_streams;
        match judge_added_streams(session.peer.agreed.inbound, add.count, limit) {
            RequestVerdict::Answer(result) => self.refuse(add.request, result),
            RequestVerdict::Perform | RequestVerdict::Defer => {
                let agreed = &mut session.peer.agreed;
                agreed.inbound = agreed.inbound.saturating_add(add.count);
                if let Some(receiver) = inbound.receiver.as_mut() {
                    receiver.add_streams(add.count);
                }
                tell_streams_added(ReconfigOutcome::Performed, session);
                self.responder.answer(add.request, ReconfigResult::Performed, None)
            }
        }
    }

    /// Answers an Add Incoming Streams Request: the peer would like us to send on more streams; granted, a
    /// request of ours follows (RFC 6525 §5.2.6).
    fn on_streams_wanted(&mut self, add: AddStreams, session: &Session) -> ReconfigResponse {
        if let Some(answer) = self.answered_before(add.request) {
            return answer;
        }
        let limit = session.config.reconfiguration.max_outbound_streams;
        // What was granted before and has not been done counts.
        let granted = session.peer.agreed.outbound.saturating_add(self.requester.adding());
        match judge_added_streams(granted, add.count, limit) {
            RequestVerdict::Answer(result) => self.refuse(add.request, result),
            RequestVerdict::Perform | RequestVerdict::Defer => {
                let own = Request::AddStreams { outbound: add.count, inbound: 0 };
                if self.requester.push_first(own) {
                    self.responder.answer(add.request, ReconfigResult::Performed, None)
                } else {
                    self.refuse(add.request, ReconfigResult::RequestAlreadyInProgress)
                }
            }
        }
    }

    /// Carries out what was granted and had to wait, and answers it for good (RFC 6525 §5.2.2 (E2) to (E6)).
    pub(super) fn finish_deferred(
        &mut self,
        now: Instant,
        session: &mut Session,
        outbound: &mut Outbound,
        inbound: &mut Inbound,
    ) {
        let cumulative = inbound.cumulative_tsn();
        let is_due = match self.responder.deferred() {
            Some(Deferred::StreamReset { reset, .. }) => !cumulative.precedes(reset.last_tsn),
            Some(Deferred::AssociationReset { .. }) => outbound.sender.is_drained(),
            None => false,
        };
        if !is_due {
            return;
        }
        let response = match self.responder.take_deferred() {
            Some(Deferred::StreamReset { request, reset }) => {
                self.reset_incoming(now, request, reset.streams, session, inbound)
            }
            Some(Deferred::AssociationReset { request }) => {
                self.reset_everything(now, request, session, outbound, inbound)
            }
            None => return,
        };
        let path = outbound.paths.for_data();
        outbound.push(path, session, responses(&[response]));
    }
}

/// Returns the chunk with these responses.
fn responses(responses: &[ReconfigResponse]) -> Result<ChunkBuf, sctp_wire::Full> {
    let parameters: SmallVec<[Parameter<'_>; 2]> =
        responses.iter().map(|response| Parameter::ReconfigResponse(*response)).collect();
    ChunkBuf::re_config(&parameters)
}

/// TSNs passed over by an association reset: the least that no receiver takes for data or a FORWARD TSN that is merely early.
const RESET_GAP_TSNS: u32 = 1 << 16;

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

//! Our own requests on their way, and what their answers change (RFC 6525 §5.1, §5.2.7).

use sctp_wire::{ChunkBuf, ReconfigResponse, ReconfigResult, StreamId, Tsn};
use virtual_time::Instant;

use super::requester::{self, Completed, Expiry, Part, ReconfigAnswer, Request};
use super::responder::Deferred;
use super::{Reconfig, ResetDirection};
use crate::association::inbound::Inbound;
use crate::association::outbound::Outbound;
use crate::association::session::Session;
use crate::association::timers::Timer;
use crate::association::{AssociationState, Capability};
use crate::error::ReconfigError;
use crate::event::{Event, ReconfigOutcome, StreamDirection};
use crate::stream_set::StreamSet;
use crate::trace;

impl Reconfig {
    /// Notes that streams are to be reset.
    pub(super) fn ask_stream_reset(
        &mut self,
        streams: &[StreamId],
        direction: ResetDirection,
        session: &Session,
    ) -> Result<(), ReconfigError> {
        check_agreed(session)?;
        let check = |negotiated: u16| {
            let unknown = streams.iter().find(|stream| stream.get() >= negotiated);
            unknown.map_or(Ok(()), |&stream| Err(ReconfigError::UnknownStream { stream, negotiated }))
        };
        if direction.is_outgoing() {
            check(session.peer.agreed.outbound)?;
        }
        if direction.is_incoming() {
            check(session.peer.agreed.inbound)?;
        }
        let streams = StreamSet::of_list(streams.iter().copied());
        let listed = streams.listed().len();
        if listed > LISTED_AT_MOST {
            return Err(ReconfigError::TooManyListed { listed, limit: LISTED_AT_MOST });
        }
        self.ask(Request::ResetStreams { direction, streams, answers: None })
    }

    /// Notes that TSNs and all streams are to begin anew.
    pub(super) fn ask_association_reset(
        &mut self,
        now: Instant,
        session: &Session,
    ) -> Result<(), ReconfigError> {
        check_agreed(session)?;
        if let Some(wait) = self.requester.association_reset_wait(now) {
            return Err(ReconfigError::TooSoon { wait });
        }
        self.ask(Request::ResetAssociation)?;
        self.requester.note_association_reset(now);
        Ok(())
    }

    /// Notes that there are to be more streams.
    pub(super) fn ask_more_streams(
        &mut self,
        outbound: u16,
        inbound: u16,
        session: &Session,
    ) -> Result<(), ReconfigError> {
        check_agreed(session)?;
        let agreed = &session.peer.agreed;
        for (present, added) in [(agreed.outbound, outbound), (agreed.inbound, inbound)] {
            if present.checked_add(added).is_none() {
                return Err(ReconfigError::TooManyStreams { present, added });
            }
        }
        if outbound == 0 && inbound == 0 {
            return Err(ReconfigError::NothingToAdd);
        }
        self.ask(Request::AddStreams { outbound, inbound })
    }

    fn ask(&mut self, request: Request) -> Result<(), ReconfigError> {
        if self.requester.push(request) {
            Ok(())
        } else {
            Err(ReconfigError::TooManyRequests { limit: requester::WAITING_AT_MOST })
        }
    }

    /// Takes whatever step has become possible: after anything that came in, was acknowledged or was asked for.
    #[inline]
    pub(in crate::association) fn progress(
        &mut self,
        now: Instant,
        session: &mut Session,
        outbound: &mut Outbound,
        inbound: &mut Inbound,
    ) {
        if self.responder.deferred().is_some() || self.requester.has_begun() {
            self.progress_begun(now, session, outbound, inbound);
        }
    }

    #[inline(never)]
    fn progress_begun(
        &mut self,
        now: Instant,
        session: &mut Session,
        outbound: &mut Outbound,
        inbound: &mut Inbound,
    ) {
        if !session.state.name().answers_reconfiguration() {
            return;
        }
        self.finish_deferred(now, session, outbound, inbound);
        if session.state.name().reconfigures() {
            self.progress_requests(now, session, outbound);
        }
    }

    pub(super) fn progress_requests(&mut self, now: Instant, session: &mut Session, outbound: &mut Outbound) {
        if matches!(self.responder.deferred(), Some(Deferred::AssociationReset { .. })) {
            return;
        }
        if let Some(streams) = self.requester.begin_next().and_then(Request::held_streams) {
            outbound.sender.hold_streams(streams.clone());
        }
        let Some(request) = self.requester.preparing() else { return };
        if request.held_streams().is_some() && !outbound.sender.is_drained() {
            return;
        }
        let (last_assigned, responded) = (outbound.sender.last_assigned_tsn(), self.responder.last());
        if let Some(chunk) = self.requester.launch(last_assigned, responded) {
            self.statistics.note().requests_sent += 1;
            let path = outbound.paths.for_data();
            outbound.push(path, session, Ok(chunk));
            self.start_timer(now, session, outbound);
        }
    }

    fn start_timer(&self, now: Instant, session: &Session, outbound: &mut Outbound) {
        let rto = outbound.paths.path(outbound.paths.for_data()).rto.rto();
        let patience = self.requester.patience(rto, session.config.rto.max);
        outbound.timers.apply(Timer::Reconfiguration, patience.map(|patience| now + patience));
    }

    /// Returns the request to send again after its timer has run out, and whether that counts as an error (RFC 6525 §5.1.1, §5.2.7
    /// (H2)).
    pub(super) fn expire(&mut self) -> Option<(ChunkBuf, Expiry)> {
        self.requester.on_timer()
    }

    /// Sends the request in flight again.
    pub(super) fn repeat(
        &mut self,
        now: Instant,
        chunk: ChunkBuf,
        session: &mut Session,
        outbound: &mut Outbound,
    ) {
        self.statistics.note().retransmissions += 1;
        let path = outbound.paths.for_data();
        outbound.push(path, session, Ok(chunk));
        self.start_timer(now, session, outbound);
    }

    /// Takes in the peer's response to a request (RFC 6525 §5.2.7).
    pub(super) fn on_response(
        &mut self,
        now: Instant,
        response: &ReconfigResponse,
        session: &mut Session,
        outbound: &mut Outbound,
        inbound: &mut Inbound,
    ) {
        match self.requester.on_response(response) {
            ReconfigAnswer::Unexpected => self.statistics.note().unexpected_responses += 1,
            ReconfigAnswer::InProgress => self.start_timer(now, session, outbound),
            ReconfigAnswer::Completed(completed) => {
                on_completed(now, completed, session, outbound, inbound);
            }
        }
        self.stop_timer_if_answered(outbound);
    }

    pub(super) fn stop_timer_if_answered(&self, outbound: &mut Outbound) {
        if self.requester.is_idle() {
            outbound.timers.stop(Timer::Reconfiguration);
        }
    }

    /// The peer has begun anew: what was asked will not be answered.
    pub(in crate::association) fn give_up(&mut self, session: &mut Session) {
        let result = ReconfigOutcome::PeerRestarted;
        for (part, streams) in self.requester.take_all() {
            match part {
                Part::OutgoingReset => {
                    tell_streams_reset(StreamDirection::Outgoing, streams, result, session);
                }
                Part::IncomingReset => {
                    tell_streams_reset(StreamDirection::Incoming, streams, result, session);
                }
                Part::AssociationReset => tell_association_reset(result, session),
                Part::AddOutgoing(_) | Part::AddIncoming(_) => tell_streams_added(result, session),
            }
        }
    }
}

fn check_agreed(session: &Session) -> Result<(), ReconfigError> {
    if session.state.name() != AssociationState::Established {
        return Err(ReconfigError::NotEstablished);
    }
    if !session.peer.agreed.capabilities.has(Capability::Reconfiguration) {
        return Err(ReconfigError::NotAgreed);
    }
    Ok(())
}

fn on_completed(
    now: Instant,
    completed: Completed,
    session: &mut Session,
    outbound: &mut Outbound,
    inbound: &mut Inbound,
) {
    let Completed { part, streams, result, next_tsns } = completed;
    let is_performed = result == ReconfigResult::Performed;
    let result = ReconfigOutcome::from(result);
    match part {
        Part::OutgoingReset => {
            if is_performed {
                outbound.sender.reset_streams(&streams);
            } else {
                outbound.sender.release_streams();
            }
            tell_streams_reset(StreamDirection::Outgoing, streams, result, session);
        }
        // Performed, it is told when the peer's own reset has come.
        Part::IncomingReset if is_performed => {}
        Part::IncomingReset => tell_streams_reset(StreamDirection::Incoming, streams, result, session),
        Part::AssociationReset => {
            match next_tsns.filter(|_| is_performed) {
                // RFC 6525 §5.2.7 (H5): the peer's view of who is the sender.
                Some(next) => restart_tsns(now, (next.receiver, next.sender), session, outbound, inbound),
                None => outbound.sender.release_streams(),
            }
            let result =
                if next_tsns.is_none() && is_performed { ReconfigOutcome::Malformed } else { result };
            tell_association_reset(result, session);
        }
        Part::AddOutgoing(count) => {
            if is_performed {
                outbound.sender.add_streams(count);
                let agreed = &mut session.peer.agreed;
                agreed.outbound = agreed.outbound.saturating_add(count);
            }
            tell_streams_added(result, session);
        }
        // Performed, it is told when the peer has added them.
        Part::AddIncoming(_) if is_performed => {}
        Part::AddIncoming(_) => tell_streams_added(result, session),
    }
}

/// Nothing is under way: both directions go on from these TSNs, ours and the peer's, with SSN 0 in every stream.
pub(super) fn restart_tsns(
    now: Instant,
    (ours, peers): (Tsn, Tsn),
    session: &mut Session,
    outbound: &mut Outbound,
    inbound: &mut Inbound,
) {
    outbound.sender.restart_tsns(ours);
    outbound.sender.reset_streams(&StreamSet::ALL);
    let has_new = inbound.receiver.as_mut().is_some_and(|receiver| receiver.restart_tsns(now, peers));
    if has_new {
        session.tell_message_ready();
    }
}

pub(super) fn tell_streams_reset(
    direction: StreamDirection,
    streams: StreamSet,
    result: ReconfigOutcome,
    session: &mut Session,
) {
    let streams = streams.into_list();
    trace::streams_reset(direction, streams.len(), result);
    session.tell(Event::StreamsReset { direction, streams, result });
}

pub(super) fn tell_association_reset(result: ReconfigOutcome, session: &mut Session) {
    trace::association_reset(result);
    session.tell(Event::AssociationReset { result });
}

pub(super) fn tell_streams_added(result: ReconfigOutcome, session: &mut Session) {
    let agreed = session.peer.agreed;
    trace::streams_added(agreed.outbound, agreed.inbound, result);
    session.tell(Event::StreamsAdded {
        outbound_streams: agreed.outbound,
        inbound_streams: agreed.inbound,
        result,
    });
}

/// Streams named in one request of ours: with both directions it fits the smallest packet.
const LISTED_AT_MOST: usize = 100;

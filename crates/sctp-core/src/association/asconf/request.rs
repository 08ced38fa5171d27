//! The requests to the peer in ASCONF, one chunk at a time (RFC 5061 §5.1).

use core::net::IpAddr;
use core::time::Duration;
use std::collections::VecDeque;

use sctp_wire::{
    AddressRequest, AsconfAck, AsconfSerial, CauseCode, ChunkBuf, CorrelationId, Parameter, Parameters,
};
use smallvec::SmallVec;
use virtual_time::Instant;

use super::prospect::Prospect;
use super::{AddressChange, AddressOutcome};
use crate::transmit::PathIndex;

/// The requests that wait, and those that were sent.
#[derive(Debug)]
pub(crate) struct Requests {
    next_serial: AsconfSerial,
    next_correlation: u32,
    waiting: VecDeque<AddressChange>,
    outstanding: Option<OutstandingAsconf>,
    /// The peer did not understand ASCONF, or adding and deleting (A9, F3a): it is not asked again.
    is_refused: bool,
    /// The peer did not understand Set Primary (F3b).
    is_primary_refused: bool,
}

/// One ASCONF on its way. It is sent again as it is (B4).
#[derive(Debug)]
pub(crate) struct OutstandingAsconf {
    serial: AsconfSerial,
    pub(crate) chunk: ChunkBuf,
    asked: SmallVec<[(CorrelationId, AddressChange); 4]>,
    /// The path on which it went last.
    pub(crate) path: PathIndex,
    /// How often it was sent again.
    repetitions: u32,
    /// When it was sent, as long as that was once: an answer to one that went again does not say which it answers (RFC 9260
    /// §6.3.1 (C5)).
    timed: Option<Instant>,
}

/// The kind of answer that an ASCONF-ACK is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum AsconfAnswer {
    /// The answer to each request of the outstanding ASCONF.
    Outstanding(SmallVec<[(AddressChange, AddressOutcome); 4]>),
    /// An old one.
    Stray,
    /// The ASCONF-ACK answers an ASCONF that was never sent (RFC 5061 §5.3 (F0)).
    Illegal,
}

impl Requests {
    /// Creates the requests; serial numbers begin at the initial TSN (RFC 5061 §5.1 (A2)).
    pub(crate) fn new(first: AsconfSerial) -> Self {
        Self {
            next_serial: first,
            next_correlation: 1,
            waiting: VecDeque::new(),
            outstanding: None,
            is_refused: false,
            is_primary_refused: false,
        }
    }

    /// Queues a request; false if too many wait.
    #[must_use]
    pub(crate) fn push(&mut self, change: AddressChange) -> bool {
        let has_room = self.waiting.len() < WAITING_MAX;
        if has_room {
            self.waiting.push_back(change);
        }
        has_room
    }

    /// Returns whether the peer has said that it does not understand such a request.
    pub(crate) fn is_refused(&self, change: AddressChange) -> bool {
        match change {
            AddressChange::Add(_) | AddressChange::Delete(_) => self.is_refused,
            AddressChange::SetPrimary(_) => self.is_refused || self.is_primary_refused,
        }
    }

    pub(crate) fn outstanding(&self) -> Option<&OutstandingAsconf> {
        self.outstanding.as_ref()
    }

    /// Sends the outstanding ASCONF again, another way (RFC 5061 §5.1 (B4)); returns false if it went so often
    /// without an answer that there will be none.
    pub(crate) fn repeat(&mut self, path: PathIndex, most: u32) -> bool {
        let Some(outstanding) = &mut self.outstanding else { return true };
        outstanding.path = path;
        outstanding.timed = None;
        outstanding.repetitions += 1;
        outstanding.repetitions <= most
    }

    /// The outstanding ASCONF goes once more somewhere else: its answer measures no round trip.
    pub(crate) fn forget_time(&mut self) {
        if let Some(outstanding) = &mut self.outstanding {
            outstanding.timed = None;
        }
    }

    /// Returns the path of the outstanding ASCONF, if this answers it, and how long it has taken.
    pub(crate) fn round_trip(&self, now: Instant, serial: AsconfSerial) -> Option<(PathIndex, Duration)> {
        let answered = self.outstanding.as_ref().filter(|outstanding| outstanding.serial == serial)?;
        Some((answered.path, now.since(answered.timed?)))
    }

    /// Returns the addresses that are left when the peer, which knows these, has done all that it is asked for.
    pub(crate) fn prospect(&self, told: &[IpAddr]) -> Prospect {
        let asked = self.outstanding.iter().flat_map(|outstanding| &outstanding.asked);
        let mut prospect = Prospect::of(told);
        asked.map(|(_, change)| change).chain(&self.waiting).for_each(|change| prospect.apply(*change));
        prospect
    }

    /// Takes back what waits and would delete the last address, of those that the peer knows; none while an ASCONF is
    /// outstanding.
    pub(crate) fn drop_impossible(&mut self, told: &[IpAddr]) -> SmallVec<[AddressChange; 1]> {
        let mut dropped = SmallVec::new();
        if self.outstanding.is_some() || self.waiting.is_empty() {
            return dropped;
        }
        let mut prospect = Prospect::of(told);
        self.waiting.retain(|change| {
            let is_possible = prospect.allows(*change);
            if is_possible {
                prospect.apply(*change);
            } else {
                dropped.push(*change);
            }
            is_possible
        });
        dropped
    }

    /// Returns the first address that the outstanding ASCONF adds.
    pub(crate) fn being_added(&self) -> Option<IpAddr> {
        let mut asked = self.outstanding.iter().flat_map(|outstanding| &outstanding.asked);
        asked.find_map(|(_, change)| match change {
            AddressChange::Add(address) => Some(*address),
            AddressChange::Delete(_) | AddressChange::SetPrimary(_) => None,
        })
    }

    /// Returns the addresses that the outstanding ASCONF deletes.
    pub(crate) fn being_deleted(&self) -> SmallVec<[IpAddr; 1]> {
        let asked = self.outstanding.iter().flat_map(|outstanding| &outstanding.asked);
        let deleted = asked.filter_map(|(_, change)| match change {
            AddressChange::Delete(address) => Some(*address),
            AddressChange::Add(_) | AddressChange::SetPrimary(_) => None,
        });
        deleted.collect()
    }

    /// Makes the next ASCONF of what waits, if none is outstanding (A1 to A3); `lookup` is the address by which the peer
    /// finds the association.
    pub(crate) fn next(&mut self, now: Instant, lookup: IpAddr, path: PathIndex) -> Option<ChunkBuf> {
        if self.outstanding.is_some() || self.waiting.is_empty() {
            return None;
        }
        let count = self.waiting.len().min(REQUESTS_MAX);
        let first = self.next_correlation;
        let numbered = (first..).zip(self.waiting.drain(..count));
        let asked: SmallVec<[_; 4]> =
            numbered.map(|(correlation, change)| (CorrelationId::new(correlation), change)).collect();
        self.next_correlation = first.wrapping_add(u32::try_from(count).unwrap_or(0));
        let parameters: SmallVec<[Parameter<'_>; 4]> =
            asked.iter().map(|(correlation, change)| change.parameter(*correlation)).collect();
        let serial = self.next_serial;
        let chunk = ChunkBuf::asconf(serial, lookup, &parameters).ok()?;
        self.next_serial = serial.next();
        let (repetitions, timed) = (0, Some(now));
        self.outstanding =
            Some(OutstandingAsconf { serial, chunk: chunk.clone(), asked, path, repetitions, timed });
        Some(chunk)
    }

    /// Takes in an ASCONF-ACK, and returns what its answers mean for the requests (RFC 5061 §5.1 (A5) to (A8),
    /// §5.3 (F0)).
    pub(crate) fn on_ack(&mut self, ack: &AsconfAck<'_>) -> AsconfAnswer {
        match self.outstanding.take_if(|outstanding| outstanding.serial == ack.serial) {
            Some(outstanding) => {
                let outcomes = outcomes(&outstanding.asked, ack.responses);
                for (change, outcome) in &outcomes {
                    self.note_refusal(*change, *outcome);
                }
                AsconfAnswer::Outstanding(outcomes)
            }
            None if self.outstanding.is_none() && !ack.serial.precedes(self.next_serial) => {
                AsconfAnswer::Illegal
            }
            None => AsconfAnswer::Stray,
        }
    }

    /// Takes note that the peer does not know ASCONF at all (RFC 5061 §5.1 (A9)): nothing is sent any more.
    /// Returns what will not be done.
    pub(crate) fn on_not_understood(&mut self) -> SmallVec<[AddressChange; 4]> {
        self.is_refused = true;
        self.take_all()
    }

    /// Takes out what was asked, or waits to be.
    pub(crate) fn take_all(&mut self) -> SmallVec<[AddressChange; 4]> {
        let asked = self.outstanding.take().into_iter().flat_map(|outstanding| outstanding.asked);
        asked.map(|(_, change)| change).chain(self.waiting.drain(..)).collect()
    }

    fn note_refusal(&mut self, change: AddressChange, outcome: AddressOutcome) {
        if outcome != (AddressOutcome::Refused { cause: CauseCode::UNRECOGNIZED_PARAMETERS.get() }) {
            return;
        }
        match change {
            AddressChange::Add(_) | AddressChange::Delete(_) => self.is_refused = true,
            AddressChange::SetPrimary(_) => self.is_primary_refused = true,
        }
    }
}

impl AddressChange {
    fn parameter(self, correlation: CorrelationId) -> Parameter<'static> {
        match self {
            Self::Add(address) => Parameter::AddIpAddress(AddressRequest { correlation, address }),
            Self::Delete(address) => Parameter::DeleteIpAddress(AddressRequest { correlation, address }),
            Self::SetPrimary(address) => {
                Parameter::SetPrimaryAddress(AddressRequest { correlation, address })
            }
        }
    }
}

/// Returns the outcome of each request (RFC 5061 §5.1 (A7), (A8)): what is not mentioned has been done, up to
/// the first failure; what comes behind that only if it is said.
fn outcomes(
    asked: &[(CorrelationId, AddressChange)],
    responses: Parameters<'_>,
) -> SmallVec<[(AddressChange, AddressOutcome); 4]> {
    let mut has_failed = None;
    let mut outcomes = SmallVec::new();
    for (correlation, change) in asked {
        let said = responses.iter().flatten().find_map(|response| said_of(*correlation, &response));
        let outcome = said.or(has_failed).unwrap_or(AddressOutcome::Done);
        if let AddressOutcome::Refused { .. } = outcome {
            has_failed.get_or_insert(outcome);
        }
        outcomes.push((*change, outcome));
    }
    outcomes
}

/// Returns what a response says of the request with this identifier.
fn said_of(request: CorrelationId, response: &Parameter<'_>) -> Option<AddressOutcome> {
    if let Parameter::SuccessIndication(done) = response {
        return (*done == request).then_some(AddressOutcome::Done);
    }
    let Parameter::ErrorCauseIndication(failed) = response else { return None };
    let cause = failed.causes.iter().flatten().next().map_or(0, |cause| cause.code().get());
    (failed.correlation == request).then_some(AddressOutcome::Refused { cause })
}

/// Requests that may wait.
const WAITING_MAX: usize = 16;

/// Requests in one chunk: they fit the smallest packet.
const REQUESTS_MAX: usize = 8;

#[cfg(test)]
mod tests;

//! The messages that the peer gave up: FORWARD TSN with DATA (RFC 3758 §3.6), I-FORWARD-TSN with I-DATA (RFC
//! 8260 §2.3.1).
//!
//! The cumulative TSN moves, messages that waited for one given up are delivered, and what can never be
//! completed is thrown away. Fragments of messages given up may still be under way with a TSN above the new
//! cumulative one; they are acknowledged and thrown away too.

use sctp_wire::{ForwardTsn, IForwardTsn, StreamId, Tsn};
use virtual_time::Instant;

use super::fragment::{DataChunk, Numbering, Sequence};
use super::reassembly::Discarded;
use super::tsn_map::{Forward, Position};
use super::{Arrival, Receiver, ReceiverViolation};

/// The effect of a FORWARD TSN or I-FORWARD-TSN; a SACK is owed at once in any case.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ForwardOutcome {
    /// The cumulative TSN moved; `message_ready` says whether the application has something new to read.
    Moved { message_ready: bool },
    /// Overtaken by what has arrived: nothing changed.
    Old,
    /// Further than any chunk in flight could be: nothing changed.
    OutOfReach,
    /// The form that does not go with the data chunks agreed on; answer with ABORT (RFC 8260 §2.3.1).
    Violation(ReceiverViolation),
}

/// The last message skipped in a stream.
#[derive(Clone, Copy, Debug)]
pub(super) struct Skipped {
    pub(super) stream: StreamId,
    pub(super) unordered: bool,
    pub(super) last: Sequence,
}

impl Receiver {
    /// Takes in a FORWARD TSN chunk.
    pub(crate) fn on_forward_tsn(&mut self, now: Instant, forward: &ForwardTsn<'_>) -> ForwardOutcome {
        let tsn = forward.new_cumulative_tsn;
        let skipped = forward.skipped();
        let skipped =
            skipped.map(|one| Skipped { stream: one.stream, unordered: false, last: one.ssn.into() });
        match self.rules.numbering {
            Numbering::Ssn => self.forward(now, tsn, skipped),
            Numbering::Mid => ForwardOutcome::Violation(ReceiverViolation::ForwardTsnWithIData(tsn)),
        }
    }

    /// Takes in an I-FORWARD-TSN chunk.
    pub(crate) fn on_i_forward_tsn(&mut self, now: Instant, forward: &IForwardTsn<'_>) -> ForwardOutcome {
        let tsn = forward.new_cumulative_tsn;
        let skipped = forward.skipped();
        let skipped =
            skipped.map(|one| Skipped { stream: one.stream, unordered: one.unordered, last: one.mid.into() });
        match self.rules.numbering {
            Numbering::Mid => self.forward(now, tsn, skipped),
            Numbering::Ssn => ForwardOutcome::Violation(ReceiverViolation::IForwardTsnWithData(tsn)),
        }
    }

    /// Takes in either form, once it is known to be the right one.
    pub(super) fn forward(
        &mut self,
        now: Instant,
        new_cumulative: Tsn,
        skipped: impl Iterator<Item = Skipped>,
    ) -> ForwardOutcome {
        self.sack.on_forward_tsn();
        let through = match self.arrived.forward(new_cumulative) {
            Forward::Old => {
                self.counters.note().given_up.old_forward_tsns += 1;
                return ForwardOutcome::Old;
            }
            Forward::OutOfReach => {
                self.counters.note().given_up.dropped_forward_tsns += 1;
                return ForwardOutcome::OutOfReach;
            }
            Forward::Through(position) => position,
        };
        self.counters.note().given_up.forward_tsns += 1;
        let mut message_ready = false;
        let mut passed = Vec::new();
        for one in skipped {
            message_ready |= self.skip(now, one);
            if self.rules.partial_delivery_point().is_some() {
                passed.push(one.stream);
            }
        }
        let ordering = &self.ordering;
        let has_passed = |stream, order| ordering.has_passed(stream, order);
        let (discarded, end) = self.reassembly.forward(through, has_passed);
        self.given_up_through = Some(end);
        self.discard(&discarded);
        if let Some(point) = self.rules.partial_delivery_point() {
            // With DATA it is the cumulative TSN that counts, whatever the stream.
            passed.push(StreamId::new(0));
            for stream in passed {
                message_ready |= self.deliver_piece(now, point, stream, None);
            }
        }
        ForwardOutcome::Moved { message_ready }
    }

    /// Passes over the messages of a stream up to one; says whether others became ready because of it.
    fn skip(&mut self, now: Instant, skipped: Skipped) -> bool {
        let Skipped { stream, unordered, last } = skipped;
        if stream.get() >= self.rules.inbound_streams {
            self.counters.note().given_up.invalid_streams += 1;
            return false;
        }
        let discarded = self.reassembly.skip(stream, unordered, last);
        self.discard(&discarded);
        if unordered {
            self.counters.note().given_up.messages += discarded.messages;
            return false;
        }
        let passed = self.ordering.skip(now, stream, last);
        self.counters.note().given_up.messages += passed.undelivered;
        passed.message_ready
    }

    /// Returns whether a chunk belongs to a message that was given up, though its TSN is new.
    pub(super) fn is_given_up(&self, position: Position, data: &DataChunk<'_>) -> bool {
        self.given_up_through.is_some_and(|through| {
            let continues = position == through.next() && self.continues(data);
            continues || data.order().is_some_and(|order| self.ordering.has_passed(data.stream, order))
        })
    }

    /// Acknowledges such a chunk, and throws it away.
    pub(super) fn on_given_up(&mut self, position: Position, data: &DataChunk<'_>) -> Arrival {
        self.counters.note().given_up.late_chunks += 1;
        self.arrived.insert(position);
        self.sack.on_new(data.flags.immediate);
        if self.given_up_through == Some(position.previous()) && self.continues(data) && !data.flags.ending {
            self.given_up_through = Some(position);
        }
        Arrival::GivenUp
    }

    /// A message that begins right above what was given up: whoever was cut off there gets no ending.
    pub(super) fn cut_off_below(&mut self, position: Position, data: &DataChunk<'_>) {
        if data.flags.beginning && self.given_up_through == Some(position.previous()) {
            let discarded = self.reassembly.cut_off_below(position);
            self.discard(&discarded);
        }
    }

    /// Returns whether a chunk of DATA without B bit continues the message of the TSN below.
    fn continues(&self, data: &DataChunk<'_>) -> bool {
        self.rules.numbering == Numbering::Ssn && !data.flags.beginning
    }

    /// Frees the room of what was thrown away.
    pub(super) fn discard(&mut self, discarded: &Discarded) {
        self.window.release(discarded.bytes);
        self.count_held();
    }
}

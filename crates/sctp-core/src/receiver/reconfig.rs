//! Streams that start again, or are added (RFC 6525).

use sctp_wire::Tsn;
use virtual_time::Instant;

use super::Receiver;
use super::sack::SackSchedule;
use super::tsn_map::TsnMap;
use crate::stream_set::StreamSet;

impl Receiver {
    /// Lets these streams begin at their first message again, ordered and unordered (RFC 6525 §5.2.2 (E3), RFC
    /// 8260 §2.3.2); returns whether that lets the application read something.
    ///
    /// To be called when everything up to the last TSN of the request has arrived. Then nothing is incomplete or
    /// blocked in these streams, unless the peer left out a number or never ended a message: what is complete is
    /// delivered in its order, what is not is thrown away where it could be taken for a later message (I-DATA).
    pub(crate) fn reset_streams(&mut self, now: Instant, streams: &StreamSet) -> bool {
        let discarded = self.reassembly.reset(streams);
        let has_new = self.ordering.reset(now, streams);
        self.discard(&discarded);
        has_new
    }

    /// The peer may send on this many more streams, numbered from their first message on (RFC 6525 §5.2.5).
    pub(crate) fn add_streams(&mut self, count: u16) {
        self.rules.inbound_streams = self.rules.inbound_streams.saturating_add(count);
    }

    /// Goes on from this TSN of the peer, with the first message in every stream (RFC 6525 §5.2.4 (G4), (G5)).
    /// What is complete stays readable; a message of which a part is missing is given up. Returns whether that
    /// lets the application read something.
    pub(crate) fn restart_tsns(&mut self, now: Instant, next: Tsn) -> bool {
        let has_new = self.ordering.reset(now, &StreamSet::ALL);
        let discarded = self.reassembly.clear();
        self.discard(&discarded);
        self.arrived = TsnMap::new(next);
        self.sack = SackSchedule::new(self.rules.sack_every_packets);
        self.given_up_through = None;
        has_new
    }
}

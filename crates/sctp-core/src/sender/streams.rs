//! The state of single streams: their shares, and what re-configuration does to them (RFC 6525).
//!
//! To reset streams: [`hold_streams`](Sender::hold_streams), wait until [`is_drained`](Sender::is_drained), ask the
//! peer, and when it has agreed [`reset_streams`](Sender::reset_streams); if it has not,
//! [`release_streams`](Sender::release_streams). Messages for held streams are accepted and wait meanwhile.

use sctp_wire::{StreamId, Tsn};
use smallvec::SmallVec;

use super::outstanding::Outstanding;
use super::rack::Rack;
use super::recovery::Recoveries;
use super::{Sender, WindowProbe};
use crate::config::StreamShare;
use crate::error::StreamError;
use crate::path::PerPath;
use crate::seldom::Seldom;
use crate::stats::StreamStatistics;
use crate::steps::step;
use crate::stream_set::StreamSet;

impl Sender {
    /// Changes what a stream gets beside others.
    pub(crate) fn set_stream_share(
        &mut self,
        stream: StreamId,
        change: impl FnOnce(&mut StreamShare),
    ) -> Result<(), StreamError> {
        let negotiated = self.options.outbound_streams;
        if stream.get() >= negotiated {
            return Err(StreamError::UnknownStream { stream, negotiated });
        }
        self.queue.set_share(stream, change);
        Ok(())
    }

    /// Takes over the shares that the user gave streams, which are still wanted after the peer has restarted.
    pub(crate) fn adopt_shares(&mut self, predecessor: &Self) {
        for (stream, share) in predecessor.queue.shares() {
            // One that does not exist any more needs no share.
            let _adopted = self.set_stream_share(stream, |own| *own = share);
        }
    }

    pub(crate) fn stream_statistics(&self, stream: StreamId) -> StreamStatistics {
        self.queue.stream_statistics(stream)
    }
}

/// For stream re-configuration.
impl Sender {
    /// Holds back what is handed in from now on for these streams; what was handed in before still goes out
    /// (RFC 6525 §5.1.2). Streams that do not exist are passed over.
    pub(crate) fn hold_streams(&mut self, streams: StreamSet) {
        self.queue.hold(streams);
    }

    /// Returns whether no message of the held streams is under way: none that is still to go out, no chunk
    /// unacknowledged. Once true it stays true until they are released. Where none is held: of all streams.
    pub(crate) fn is_drained(&mut self) -> bool {
        if !self.queue.has_left() {
            return false;
        }
        let outstanding = &self.outstanding;
        let last = self.queue.last_tsn_of_held(|streams| {
            let mut newest_first = outstanding.iter().rev().inspect(|_| step());
            let last = newest_first.find(|(_, chunk)| streams.contains(chunk.fragment.stream));
            last.map_or(outstanding.cumulative_ack(), |(index, _)| outstanding.tsn_at(index))
        });
        let is_acknowledged = |last: Tsn| !outstanding.cumulative_ack().precedes(last);
        last.map_or(outstanding.is_empty(), is_acknowledged)
    }

    /// The peer agreed to a reset: the streams start again with SSN or MID 0, and what is held goes on.
    pub(crate) fn reset_streams(&mut self, streams: &StreamSet) {
        self.queue.reset(streams);
        self.queue.release();
    }

    /// Held streams go on as if nothing had been.
    pub(crate) fn release_streams(&mut self) {
        self.queue.release();
    }

    /// The peer takes `count` more streams (RFC 6525 §5.2.5); at most 65,535 there are.
    pub(crate) fn add_streams(&mut self, count: u16) {
        self.options.outbound_streams = self.options.outbound_streams.saturating_add(count);
    }

    /// Returns the Sender's Last Assigned TSN of a request (RFC 6525 §4.1).
    pub(crate) fn last_assigned_tsn(&self) -> Tsn {
        self.outstanding.next_tsn().previous()
    }

    /// TSNs go on from `next` (RFC 6525 §5.2.4, §5.2.7 (H5)); nothing is outstanding.
    pub(crate) fn restart_tsns(&mut self, next: Tsn) {
        let point = self.outstanding.cumulative_ack();
        if next != point.next() {
            let points = self.before_restarts.get_or_insert_default();
            if points.len() == REMEMBERED_RESTARTS {
                points.remove(0);
            }
            points.push(point);
        }
        self.outstanding = Outstanding::new(next);
        self.rack = Rack::default();
        self.rtt_samples = PerPath::default();
        self.probes.clear();
        self.forwarding = Seldom::default();
        self.recoveries = Recoveries::default();
        self.window_probe = WindowProbe::Idle;
    }

    /// Returns whether a SACK speaks of TSNs from before they were restarted, now or some times ago. Serial
    /// arithmetic may take it for one of the future. Whatever TSNs are outstanding, a SACK that speaks of them
    /// is one of the present.
    pub(super) fn is_from_before_restart(&self, cumulative: Tsn) -> bool {
        let Some(points) = self.before_restarts.as_deref() else { return false };
        let acknowledged = self.outstanding.cumulative_ack();
        let is_current = acknowledged.distance(cumulative) <= acknowledged.distance(self.last_assigned_tsn());
        !is_current && points.iter().any(|before| cumulative.distance(*before) < REMEMBERED_TSNS)
    }
}

/// SACKs this far behind a restart are recognised.
const REMEMBERED_TSNS: u32 = 1 << 20;
/// The TSNs acknowledged when they were restarted, the oldest first.
pub(super) type RestartPoints = SmallVec<[Tsn; REMEMBERED_RESTARTS]>;

/// The number of restarts remembered: as many as both sides may have in the longest life of a packet, two
/// minutes (RFC 9293 §3.4.2), for each may ask for one in 30 seconds (RFC 6525 §5.1.4).
const REMEMBERED_RESTARTS: usize = 10;

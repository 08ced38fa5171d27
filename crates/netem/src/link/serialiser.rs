//! The sending side of a link with a rate: one packet on the wire, the others in a drop-tail queue.

use std::collections::VecDeque;

use virtual_time::Instant;

use crate::impairments::Impairments;
use crate::units::QueueLimit;

/// When the link is free again, and who waits for it.
#[derive(Clone, Debug, Default)]
pub(super) struct Serialiser {
    busy_until: Instant,
    /// Start of transmission and octets of the packets that wait, in order. Kept only with a queue limit.
    waiting: VecDeque<(Instant, u64)>,
    waiting_bytes: u64,
}

impl Serialiser {
    /// When the last bit of the packet has left, or `None` when the queue has no room for it.
    pub(super) fn admit(
        &mut self,
        now: Instant,
        wire_bytes: u64,
        impairments: &Impairments,
    ) -> Option<Instant> {
        let Some(rate) = impairments.rate else { return Some(now) };
        self.forget_started(now);
        let start = self.busy_until.max(now);
        if let Some(limit) = impairments.queue
            && start > now
        {
            if !self.has_room(wire_bytes, limit) {
                return None;
            }
            self.waiting.push_back((start, wire_bytes));
            self.waiting_bytes = self.waiting_bytes.saturating_add(wire_bytes);
        }
        self.busy_until = start + rate.serialisation_time(wire_bytes);
        Some(self.busy_until)
    }

    fn forget_started(&mut self, now: Instant) {
        while let Some((_, wire_bytes)) = self.waiting.pop_front_if(|(start, _)| *start <= now) {
            self.waiting_bytes = self.waiting_bytes.saturating_sub(wire_bytes);
        }
    }

    fn has_room(&self, wire_bytes: u64, limit: QueueLimit) -> bool {
        match limit {
            QueueLimit::Packets(most) => {
                u32::try_from(self.waiting.len()).is_ok_and(|waiting| waiting < most)
            }
            QueueLimit::Bytes(most) => self.waiting_bytes.saturating_add(wire_bytes) <= most,
        }
    }
}

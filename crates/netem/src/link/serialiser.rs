//! The sending side of a link with a rate: one packet on the wire, the others in a queue.

use std::collections::VecDeque;
use std::time::Duration;

use virtual_time::Instant;

use super::aqm::{CoDelState, RedState};
use crate::impairments::Impairments;
use crate::units::{CoDel, QueueLimit, Red};

/// The transmitter of a link: when it is free again, and who waits for it.
#[derive(Clone, Debug, Default)]
pub(super) struct Serialiser {
    busy_until: Instant,
    /// Start of transmission and octets of the packets that wait, in order. Kept only with a queue limit.
    waiting: VecDeque<(Instant, u64)>,
    waiting_bytes: u64,
    red: RedState,
    codel: CoDelState,
}

impl Serialiser {
    /// Returns when the last bit of the packet has left, or `None` when the queue has no room for it. `draw` is asked where a
    /// discipline drops at random.
    pub(super) fn admit(
        &mut self,
        now: Instant,
        wire_bytes: u64,
        impairments: &Impairments,
        draw: impl FnOnce() -> u64,
    ) -> Option<Instant> {
        let Some(rate) = impairments.rate else { return Some(now) };
        self.forget_started(now);
        let start = self.busy_until.max(now);
        let service = rate.serialisation_time(wire_bytes);
        if let Some(limit) = impairments.queue {
            if self.drops_early(now, start, service, limit, draw) {
                return None;
            }
            if start > now && !self.has_room(wire_bytes, limit) {
                return None;
            }
        }
        if impairments.queue.is_some() && start > now {
            self.waiting.push_back((start, wire_bytes));
            self.waiting_bytes = self.waiting_bytes.saturating_add(wire_bytes);
        }
        self.busy_until = start + service;
        Some(self.busy_until)
    }

    fn forget_started(&mut self, now: Instant) {
        while let Some((_, wire_bytes)) = self.waiting.pop_front_if(|(start, _)| *start <= now) {
            self.waiting_bytes = self.waiting_bytes.saturating_sub(wire_bytes);
        }
    }

    /// Returns whether the discipline of the queue takes the packet before there is no room.
    fn drops_early(
        &mut self,
        now: Instant,
        start: Instant,
        service: Duration,
        limit: QueueLimit,
        draw: impl FnOnce() -> u64,
    ) -> bool {
        let waiting = u32::try_from(self.waiting.len()).unwrap_or(u32::MAX);
        match limit {
            QueueLimit::Packets(_) | QueueLimit::Bytes(_) => false,
            QueueLimit::Red(red) => {
                let idle = now.since(self.busy_until.min(now));
                self.red.drops(red, waiting, idle, service, draw())
            }
            QueueLimit::CoDel(codel) => self.codel.drops(codel, start, start.since(now), waiting),
        }
    }

    fn has_room(&self, wire_bytes: u64, limit: QueueLimit) -> bool {
        match limit {
            QueueLimit::Packets(most)
            | QueueLimit::Red(Red { limit_packets: most, .. })
            | QueueLimit::CoDel(CoDel { limit_packets: most, .. }) => {
                u32::try_from(self.waiting.len()).is_ok_and(|waiting| waiting < most)
            }
            QueueLimit::Bytes(most) => self.waiting_bytes.saturating_add(wire_bytes) <= most,
        }
    }
}

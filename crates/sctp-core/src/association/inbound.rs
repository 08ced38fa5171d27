//! What comes from the peer: the receiver, and when and where its SACKs go.

use core::time::Duration;

use sctp_wire::{PacketWriter, Tsn};
use virtual_time::Instant;

use super::outbound::Outbound;
use super::session::Session;
use super::timers::{Timer, Timers};
use crate::path::PathSet;
use crate::receiver::{Receiver, SackDemand};
use crate::transmit::PathIndex;

/// The receiver, and where its SACKs go.
#[derive(Debug)]
pub(super) struct Inbound {
    /// Exists once the peer's initial TSN is known.
    pub(super) receiver: Option<Receiver>,
    /// The path data last came in on: SACKs go back there (RFC 9260 §6.4).
    pub(super) sack_path: PathIndex,
    /// The path the last SACK was sent on.
    sacked_on: PathIndex,
    /// Data came twice in the packet being read: SACKs may be lost on their way.
    had_duplicate: bool,
}

impl Inbound {
    pub(super) fn new(receiver: Option<Receiver>) -> Self {
        Self { receiver, sack_path: PathIndex::FIRST, sacked_on: PathIndex::FIRST, had_duplicate: false }
    }

    /// Returns the last TSN below which nothing is missing.
    pub(super) fn cumulative_tsn(&self) -> Tsn {
        self.receiver.as_ref().map_or(Tsn::new(0), Receiver::cumulative_tsn)
    }

    /// Takes note that a chunk came twice: the SACK for this packet takes another path.
    pub(super) fn on_duplicate(&mut self) {
        self.had_duplicate = true;
    }

    /// A packet with data has been read: says where its SACK goes, and whether it must go at once.
    pub(super) fn on_packet_end(&mut self, path: PathIndex, outbound: &mut Outbound) {
        self.sack_path = self.path_for_sack(path, outbound);
        let demand = self.receiver.as_mut().map_or(SackDemand::None, Receiver::on_packet_end);
        if demand == SackDemand::Immediate {
            outbound.timers.stop(Timer::SackDelay);
        }
    }

    /// Returns the path for a SACK: the one the data came on; when data comes twice, which SACKs may cause by
    /// getting lost, the active paths in turn (RFC 9260 §6.4).
    fn path_for_sack(&mut self, source: PathIndex, outbound: &Outbound) -> PathIndex {
        let had_duplicate = core::mem::take(&mut self.had_duplicate);
        if had_duplicate { outbound.paths.next_active(self.sacked_on) } else { outbound.permitted(source) }
    }

    /// A SACK that may wait has a timer, which is started when all packets that came together are read: most of them bring
    /// one about that may not.
    #[inline]
    pub(super) fn watch_sack_delay(&self, now: Instant, delay: Duration, timers: &mut Timers) {
        if self.receiver.as_ref().is_some_and(Receiver::is_sack_delayed) {
            timers.start_if_stopped(Timer::SackDelay, now + delay);
        }
    }

    /// A SACK that is owed goes with the next packet.
    pub(super) fn hurry_sack(&mut self) {
        if let Some(receiver) = self.receiver.as_mut() {
            receiver.hurry_sack();
        }
    }

    /// The SACKs for what came on this path may have gone where the peer is not: the last one goes again.
    pub(super) fn repeat_sack(&mut self, path: PathIndex) {
        if let Some(receiver) = self.receiver.as_mut().filter(|_| path == self.sack_path) {
            receiver.repeat_sack();
        }
    }

    /// Returns the path of a SACK that must go now.
    #[inline(always)]
    pub(super) fn sack_due(&self, paths: &PathSet) -> Option<PathIndex> {
        let is_due = self.receiver.as_ref().is_some_and(Receiver::wants_sack);
        (is_due && !paths.path(self.sack_path).source.is_stranded()).then_some(self.sack_path)
    }

    /// Writes a SACK when it must go, or along with data (RFC 9260 §6.1); always where the data came from (§6.4).
    #[inline]
    pub(super) fn write_sack(
        &mut self,
        path: PathIndex,
        goes_along: bool,
        writer: &mut PacketWriter<'_>,
        timers: &mut Timers,
    ) {
        if path != self.sack_path {
            return;
        }
        let Some(receiver) = self.receiver.as_mut().filter(|receiver| receiver.is_sack_pending()) else {
            return;
        };
        let is_due = goes_along || receiver.wants_sack();
        if is_due && receiver.write_sack(writer).is_ok() {
            if !receiver.is_sack_delayed() {
                timers.stop(Timer::SackDelay);
            }
            self.sacked_on = path;
        }
    }

    /// What came on a path that no address of this host leads to any more is acknowledged where data goes.
    pub(super) fn leave_stranded(&mut self, outbound: &Outbound) {
        if outbound.paths.path(self.sack_path).source.is_stranded() {
            self.sack_path = outbound.paths.for_data();
        }
    }

    /// Tells of what the peer gave up after some of it was delivered.
    #[inline]
    pub(super) fn report_aborted(&mut self, session: &mut Session) {
        if let Some(receiver) = &mut self.receiver
            && receiver.has_aborted()
        {
            session.tell_aborted(receiver.take_aborted());
        }
    }

    /// No more data comes: tells of what was delivered in part and will stay so.
    pub(super) fn abort_partial(&mut self, session: &mut Session) {
        if let Some(receiver) = &mut self.receiver {
            session.tell_aborted(receiver.abort_partial());
        }
    }

    /// SACKs for what came on `path` go to `other` from now on.
    pub(super) fn redirect(&mut self, path: PathIndex, other: PathIndex) {
        if self.sack_path == path {
            self.sack_path = other;
        }
    }
}

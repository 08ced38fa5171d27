//! Trains of packets that measure what a path carries: when they go, what their answers change, and who is told of the peer's.

use virtual_time::Instant;

use super::Outbound;
use crate::association::AssociationState;
use crate::association::session::Session;
use crate::event::{Event, PathState};
use crate::transmit::PathIndex;

/// A packet of HEARTBEAT and PAD that is to be sent on a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::association) enum ProbeDue {
    /// It belongs to a train that measures what the path carries.
    Train(PathIndex),
    /// It tries whether the path carries packets of its size.
    Mtu(PathIndex),
}

impl Outbound {
    /// A path works (again) to which data may move: what it carries is measured, if a start-up asks for that and data is carried
    /// elsewhere.
    pub(super) fn measure_before_use(&mut self, now: Instant, path: PathIndex) {
        let current = self.paths.for_data();
        let is_carrying = self.paths.path(current).congestion.usage().is_some_and(|usage| usage.is_any());
        if path != current && is_carrying {
            self.paths.path_mut(path).congestion.measure(now);
        }
    }

    /// Returns the probe that is to be sent now, when nothing else wants to go: trains come first, where any are sent.
    #[inline]
    pub(in crate::association) fn probe_due(
        &self,
        now: Instant,
        state: AssociationState,
        measures: bool,
    ) -> Option<ProbeDue> {
        if !state.sends_data() || state.is_setting_up() {
            return None;
        }
        if measures && let Some(path) = self.train_path(now) {
            return Some(ProbeDue::Train(path));
        }
        let mut active = self.paths.iter().filter(|path| path.state == PathState::Active);
        active.find(|path| path.mtu.wants_probe()).map(|path| ProbeDue::Mtu(path.index))
    }

    fn train_path(&self, now: Instant) -> Option<PathIndex> {
        let mut active = self.paths.iter().filter(|path| path.state == PathState::Active);
        active.find(|path| path.congestion.wants_train(now)).map(|path| path.index)
    }

    /// Returns the octets and the nonce of the next packet of a train on a path; the first has the fresh nonce.
    pub(in crate::association) fn next_of_train(
        &mut self,
        now: Instant,
        path: PathIndex,
        fresh_nonce: u64,
    ) -> Option<(usize, u64)> {
        let entry = self.paths.path_mut(path);
        let (size, patience) = (entry.packet_bytes(), entry.rto.without_back_off());
        entry.congestion.next_of_train(now, fresh_nonce, size, patience)
    }

    /// A packet of the peer was filled up with so much padding: if a train of them has come to an address of this host that data
    /// may move to, the user is told.
    pub(in crate::association) fn on_padding(
        &mut self,
        (now, path): (Instant, PathIndex),
        padding_bytes: usize,
        session: &mut Session,
    ) {
        if let Some(local) = self.paths.path_mut(path).source.on_padding(now, padding_bytes) {
            session.tell(Event::TrainReceived { local });
        }
    }

    /// Takes in the nonce of a HEARTBEAT ACK; returns whether it answers a packet of a train.
    pub(super) fn on_train_answer(&mut self, now: Instant, path: PathIndex, nonce: u64) -> bool {
        let flight = self.sender.flight(path);
        let entry = self.paths.path_mut(path);
        let (srtt, mut is_answer) = (entry.rto.srtt(), false);
        entry.change_window("path measured", |congestion| {
            is_answer = congestion.on_train_answer(now, nonce, (srtt, flight));
        });
        is_answer
    }
}

//! Which of the user's data is to be sent now, and on which path.

use sctp_wire::COMMON_HEADER_BYTES;
use virtual_time::Instant;

use super::Outbound;
use crate::association::AssociationState;
use crate::transmit::PathIndex;

/// The user's data that wants to be sent, and its path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::association) enum DataDue {
    /// Chunks that were lost (RFC 9260 §6.3.3, §7.2.4).
    Lost(PathIndex),
    /// A tail-loss probe for what is in flight on one path, sent on the same or another.
    Probe { of: PathIndex, on: PathIndex },
    /// New data is to be sent on this path.
    New(PathIndex),
}

impl DataDue {
    pub(in crate::association) fn path(self) -> PathIndex {
        match self {
            Self::Lost(path) | Self::Probe { on: path, .. } | Self::New(path) => path,
        }
    }
}

impl Outbound {
    /// Returns the path of a FORWARD TSN that is due: it goes where data goes.
    #[inline]
    pub(in crate::association) fn forward_due(&self, state: AssociationState) -> Option<PathIndex> {
        let is_due = self.sender.forward_is_due() && state.sends_data() && self.paths.is_open();
        is_due.then(|| self.paths.for_data())
    }

    /// Returns what of the user's data is to be sent, and where.
    #[inline]
    pub(in crate::association) fn data_due(&self, now: Instant, state: AssociationState) -> Option<DataDue> {
        let may_be = self.sender.has_waiting() || self.paths.iter().any(|path| path.probe_is_due);
        if may_be { self.waiting_data_due(now, state) } else { None }
    }

    #[inline(never)]
    fn waiting_data_due(&self, now: Instant, state: AssociationState) -> Option<DataDue> {
        self.data_wanted(state).filter(|data| match data {
            DataDue::Lost(path) => self.fast_retransmit || self.burst_allows(now, *path),
            DataDue::Probe { .. } => true,
            DataDue::New(path) => self.burst_allows(now, *path),
        })
    }

    /// Returns what of the user's data would be sent if it were for windows and states alone.
    #[inline(always)]
    pub(super) fn data_wanted(&self, state: AssociationState) -> Option<DataDue> {
        let probed = self.paths.iter().find(|path| path.probe_is_due);
        if !(self.sender.has_waiting() || probed.is_some()) || !state.sends_data() || !self.paths.is_open() {
            return None;
        }
        if self.sender.has_lost()
            && let Some(path) = self.sender.path_of_lost(&self.paths)
        {
            let may_go = self.fast_retransmit || self.sender.has_window(self.paths.path(path));
            return may_go.then_some(DataDue::Lost(path));
        }
        if let Some(probed) = probed {
            let of = probed.index;
            return Some(DataDue::Probe { of, on: self.path_for_probe(of) });
        }
        let path = self.paths.for_data();
        self.sender.wants_to_send(self.paths.path(path)).then_some(DataDue::New(path))
    }

    /// Returns how much may leave on one occasion: the pacer says it or, while there is none, Max.Burst (RFC
    /// 9260 §6.1 (D)).
    pub(super) fn burst_allows(&self, now: Instant, path: PathIndex) -> bool {
        let congestion = &self.paths.path(path).congestion;
        if congestion.is_paced() {
            congestion.paced_until(now).is_none()
        } else {
            self.burst.is_open(self.sender.flight(path))
        }
    }

    /// Returns the path for a tail-loss probe. A second one in a row takes another path, if one is active and
    /// wide enough: the first may have been lost for the same reason as what it probes for.
    fn path_for_probe(&self, of: PathIndex) -> PathIndex {
        let is_first = self.sender.probes_unanswered(of) == 0;
        let other = if is_first { None } else { self.paths.alternate(of) };
        let packet_bytes = COMMON_HEADER_BYTES + self.sender.probe_bytes(of);
        other.filter(|other| packet_bytes <= self.paths.path(*other).packet_bytes()).unwrap_or(of)
    }
}

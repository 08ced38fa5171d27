//! The congestion window of one path as the rest of the association sees it.
//!
//! Owns the controller and what holds for every one of them: the first window, idleness, one packet after a timeout.

#[cfg(test)]
mod tests;

use core::time::Duration;

use virtual_time::Instant;

use super::rfc9260::Rfc9260;
use super::{Acknowledged, CongestionControl, Window};
use crate::config::{CongestionAlgorithm, CongestionConfig, InitialWindow};

/// What a path carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PathCapacity {
    /// Octets of DATA chunks that fit one packet on this path (PMDCS, RFC 9260 §1.3).
    pub(crate) pmdcs: usize,
    /// Octets that may be in flight before anything was acknowledged.
    pub(crate) initial_window: usize,
}

impl PathCapacity {
    /// RFC 9260 §7.2.1: min(4·PMDCS, max(2·PMDCS, 4404)), with 4344 instead over IPv6. RFC 4960 §7.2.1 had the same
    /// with the path MTU in place of PMDCS and 4380 for both.
    pub(crate) fn new(rule: InitialWindow, pmdcs: usize, mtu_bytes: usize, is_ipv4: bool) -> Self {
        let (unit, floor) = match rule {
            InitialWindow::Rfc9260 => (pmdcs, if is_ipv4 { 4404 } else { 4344 }),
            InitialWindow::Rfc4960 => (mtu_bytes, 4380),
        };
        Self { pmdcs, initial_window: (4 * unit).min(floor.max(2 * unit)) }
    }
}

/// The congestion control of one path.
#[derive(Clone, Debug)]
pub(crate) struct Congestion {
    config: CongestionConfig,
    capacity: PathCapacity,
    controller: Controller,
    /// T3-rtx expired and nothing was acknowledged since: one packet at a time (RFC 9260 §7.2.3).
    is_probing: bool,
    /// When data was last sent, and how many idle RTOs have been charged since.
    last_sent: Option<Instant>,
}

/// The algorithms: an enum, so that a path needs no allocation for its own.
#[derive(Clone, Debug)]
enum Controller {
    Rfc9260(Rfc9260),
}

impl Controller {
    fn new(algorithm: CongestionAlgorithm, capacity: PathCapacity) -> Self {
        match algorithm {
            CongestionAlgorithm::Rfc9260 => Self::Rfc9260(Rfc9260::new(capacity)),
        }
    }

    fn get(&self) -> &dyn CongestionControl {
        match self {
            Self::Rfc9260(controller) => controller,
        }
    }

    fn get_mut(&mut self) -> &mut dyn CongestionControl {
        match self {
            Self::Rfc9260(controller) => controller,
        }
    }
}

impl Congestion {
    pub(crate) fn new(config: CongestionConfig, capacity: PathCapacity) -> Self {
        let controller = Controller::new(config.algorithm, capacity);
        Self { config, capacity, controller, is_probing: false, last_sent: None }
    }

    /// The network behind the path is another one: nothing known holds any more (RFC 9260 §7.2.5).
    pub(crate) fn reinitialise(&mut self) {
        *self = Self::new(self.config, self.capacity);
    }

    pub(crate) fn cwnd(&self) -> usize {
        self.window().cwnd
    }

    pub(crate) fn window(&self) -> Window {
        self.controller.get().window()
    }

    /// Whether one more packet may go out with this much in flight. The last one may exceed the window
    /// (RFC 9260 §6.1 (B)); after a timeout there is only one until it is acknowledged (§7.2.3).
    pub(crate) fn admits(&self, flight: usize) -> bool {
        if self.is_probing { flight == 0 } else { flight < self.cwnd() }
    }

    /// Before data is sent: an idle window shrinks once per RTO (RFC 9260 §7.2.1, last point).
    pub(crate) fn on_send(&mut self, now: Instant, rto: Duration, flight: usize) {
        let idle = self.last_sent.replace(now).map_or(Duration::ZERO, |sent| now.since(sent));
        let window = self.window();
        let floor = 4 * self.capacity.pmdcs;
        // A window that is smaller already, after a timeout, is not raised by having been idle.
        if flight > 0 || idle < rto || window.cwnd <= floor {
            return;
        }
        let periods = idle.as_nanos() / rto.as_nanos().max(1);
        let halvings = u32::try_from(periods).unwrap_or(u32::MAX);
        let cwnd = window.cwnd.checked_shr(halvings).unwrap_or(0).max(floor);
        self.controller.get_mut().on_unused(Window { cwnd, ssthresh: window.cwnd });
    }

    pub(crate) fn on_acknowledged(&mut self, acked: &Acknowledged) {
        self.is_probing = false;
        self.controller.get_mut().on_acknowledged(acked);
    }

    /// Losses found through SACKs. The caller makes sure it happens once per Fast Recovery.
    pub(crate) fn on_loss(&mut self) {
        self.controller.get_mut().on_loss();
    }

    pub(crate) fn on_timeout(&mut self) {
        self.is_probing = true;
        self.controller.get_mut().on_timeout();
    }
}

//! What goes to the peer: the sender and the paths meet here, with the control chunks and the timers, what lets chunks go and what
//! notices that they are lost.
//!
//! | module | owns |
//! |---|---|
//! | `due` | which data is due, and where it goes |
//! | `chunks` | control chunks, queued for where they may go |
//! | `burst` | how many packets leave on one occasion |
//! | `write` | data in a packet, and what follows from its leaving |
//! | `acknowledged` | what SACKs and losses do to windows and T3-rtx |
//! | `watch` | the timers of what waits and what is in flight |
//! | `progress` | whether the peer takes what waits for it |
//! | `addresses` | paths that go and come with the addresses of both ends |
//! | `rebinding` | the peer's UDP port, which NATs change |
//! | `mtu` | probing for the largest packets a path carries |
//! | `train` | measuring what a path carries, before data moves there |
//! | `supervision`, `autoclose` | whether paths and peer are still there (RFC 9260 §8), and anybody uses them (RFC 6458 §8.1.8) |
//!
//! Does not know the state machine: whoever calls says in which state the association is.

mod acknowledged;
mod addresses;
mod autoclose;
mod burst;
mod chunks;
mod due;
mod mtu;
mod progress;
mod rebinding;
mod supervision;
#[cfg(test)]
mod tests;
mod train;
mod watch;
mod write;

use std::net::IpAddr;

use sctp_wire::Tsn;
use virtual_time::Instant;

use self::burst::Burst;
pub(super) use self::due::DataDue;
use self::progress::Progress;
pub(super) use self::rebinding::Whereabouts;
use self::supervision::Supervision;
pub(super) use self::train::ProbeDue;
pub(super) use self::write::DataWritten;
use super::control::ControlQueue;
use super::session::Session;
use super::timers::Timers;
use crate::config::{AssociationConfig, Exposure};
use crate::error::SetPrimaryError;
use crate::path::{Path, PathSet};
use crate::sender::Sender;
use crate::stats::PathStatistics;
use crate::transmit::{Destination, PathId, PathIndex};

/// The sender, the paths, control chunks and timers, and what lets data go.
#[derive(Debug)]
pub(super) struct Outbound {
    pub(super) sender: Sender,
    pub(super) paths: PathSet,
    /// Control chunks that wait for a packet.
    pub(super) control: ControlQueue,
    /// All timers of the association: but for two they wait for what the peer does about what was sent.
    pub(super) timers: Timers,
    burst: Burst,
    /// The next packet of retransmissions ignores cwnd (RFC 9260 §7.2.4 (3)).
    fast_retransmit: bool,
    /// The peer's SACKs arrived since the last window probe.
    peer_is_alive: bool,
    progress: Progress,
    pub(super) supervision: Supervision,
    /// The ways that SACKs go, for tests which compare them.
    #[cfg(test)]
    ways: tests::Ways,
}

impl Outbound {
    /// Creates what sends to the first address of a peer from those of this host. Not inlined, so that half
    /// of it is made in its place instead of copied there.
    #[inline(never)]
    pub(super) fn new(
        initial_tsn: Tsn,
        first: Destination,
        locals: &[IpAddr],
        config: &AssociationConfig,
    ) -> Self {
        Self {
            sender: Sender::new(config, initial_tsn),
            paths: PathSet::new(first, locals, config),
            control: ControlQueue::default(),
            timers: Timers::default(),
            burst: Burst::new(config.transmission.max_burst_packets, config.congestion.initial_window),
            fast_retransmit: false,
            peer_is_alive: false,
            progress: Progress::NONE,
            supervision: Supervision::new(),
            #[cfg(test)]
            ways: tests::Ways::default(),
        }
    }

    /// Returns `path`, or another one if only HEARTBEATs and their answers may go there, because its address is
    /// unconfirmed (RFC 9260 §5.4), and there is another one: a peer that deleted all it had before by ASCONF
    /// has no other.
    pub(super) fn permitted(&self, path: PathIndex) -> PathIndex {
        let is_needless = self.paths.path(path).is_confirmed() || !self.paths.is_open();
        if is_needless { path } else { self.paths.for_data() }
    }

    /// Returns the statistics of all paths, with states as the user wants to see them.
    pub(super) fn path_statistics(&self, exposure: Exposure) -> Vec<PathStatistics> {
        self.paths.iter().map(|path| self.statistics_of(path, exposure)).collect()
    }

    /// Returns the statistics of the path for new data.
    pub(super) fn data_path_statistics(&self, exposure: Exposure) -> PathStatistics {
        self.statistics_of(self.paths.path(self.paths.for_data()), exposure)
    }

    fn statistics_of(&self, path: &Path, exposure: Exposure) -> PathStatistics {
        let of = path.statistics(self.paths.primary(), self.sender.flight(path.index));
        PathStatistics { state: of.state.shown(exposure), ..of }
    }

    /// Makes a path the primary one, as the user wants.
    pub(super) fn set_primary(&mut self, id: PathId) -> Result<(), SetPrimaryError> {
        let path = self.paths.by_id(id).ok_or(SetPrimaryError::UnknownPath(id))?;
        if self.paths.set_primary(path) { Ok(()) } else { Err(SetPrimaryError::Unconfirmed(id)) }
    }

    /// Returns the path to who wrote from there; the one for data if it is none of the peer's addresses.
    pub(super) fn path_of(&self, source: Destination) -> PathIndex {
        self.paths.by_address(source.address).unwrap_or_else(|| self.paths.for_data())
    }

    /// Gives up messages that are not to be sent (again) by now (RFC 3758 §3.5, RFC 7496 §3).
    #[inline]
    pub(super) fn give_up(&mut self, now: Instant, session: &mut Session) {
        if self.sender.gives_up() {
            self.give_up_due(now, session);
        }
    }

    #[inline(never)]
    fn give_up_due(&mut self, now: Instant, session: &mut Session) {
        let abandonment = self.sender.abandon_due(now);
        let any = !abandonment.failed.is_empty();
        session.tell_failed(abandonment.failed);
        if abandonment.buffer_available {
            session.tell_buffer_available();
        }
        if any {
            self.tell_if_dry(session);
        }
    }

    pub(super) fn tell_if_dry(&self, session: &mut Session) {
        if self.sender.is_dry() {
            session.tell_dry();
        }
    }
}

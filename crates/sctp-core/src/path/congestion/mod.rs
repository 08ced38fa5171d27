//! Congestion control of one path: how much may be in flight.
//!
//! | module | decides |
//! |---|---|
//! | `rfc9260`, `cubic`, `westwood`, `bbr` | how the window grows, and what a loss costs: a [`CongestionControl`] each |
//! | `delivery` | how fast a path has carried data of late |
//! | `validation` | what becomes of a window that is not used (RFC 7661) |
//! | `resume` | the start-up of a path that data moves to |
//! | `train` | what such a path carries, by a train of packets |
//! | `pacer` | when the next packet may leave |
//! | `window` | what the rest of an association sees: [`Congestion`], one per path |
//!
//! Sizes are octets of DATA chunks, chunk header and padding included, as RFC 9260 §7.2 counts them. What is in
//! flight is the sender's knowledge; a controller is told.

mod bbr;
mod cubic;
mod delivery;
mod pacer;
mod resume;
mod rfc9260;
mod standing;
pub(crate) mod train;
mod validation;
mod westwood;
mod window;

use core::fmt;
use core::time::Duration;

use virtual_time::Instant;

pub(crate) use self::window::{Congestion, PathCapacity};

/// An algorithm: it hears what happened and answers with a window.
///
/// The contract: events come in the order in which they happened and time never goes back. A loss found by
/// acknowledgments is reported once per recovery (RFC 9260 §7.2.4 (2)), after the acknowledgment that revealed it; a
/// timeout may come at any time. A window is never zero. Nothing is allocated and nothing waits: an algorithm has no
/// timers. One that has a model of the path ([`bbr`]) hears, beyond this, of each packet that leaves and each chunk that is lost, keeps a bounded record of
/// departures, and says itself at which rate packets leave.
pub(crate) trait CongestionControl: fmt::Debug {
    /// Returns the window as it stands.
    fn window(&self) -> CongestionWindow;

    /// A SACK acknowledged something new on this path. The window grows only if it was used fully.
    fn on_acknowledged(&mut self, acked: &Acknowledged);

    /// The peer reports chunks of this many octets as received again: they have left the network too, before what else
    /// its SACK acknowledges.
    fn on_duplicates(&mut self, bytes: usize);

    /// A recovery begins: chunks were found lost through SACKs.
    fn on_loss(&mut self);

    /// T3-rtx expired: start over with one packet.
    fn on_timeout(&mut self);

    /// Takes the last reduction back, because its loss or timeout was none: the window is at least what it was
    /// before (RFC 4015 §3.2).
    fn on_spurious(&mut self);

    /// Packets of the path carry this many octets of DATA chunks from now on (RFC 9260 §7.3).
    fn on_packet_size(&mut self, pmdcs: usize);

    /// The window was not used, or less than it allowed: this is the window from now on.
    fn on_unused(&mut self, window: CongestionWindow);
}

/// A congestion window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CongestionWindow {
    /// Octets that may be in flight.
    pub(crate) cwnd: usize,
    /// Slow-start threshold; [`CongestionWindow::NO_THRESHOLD`] while nothing was ever lost.
    pub(crate) ssthresh: usize,
}

impl CongestionWindow {
    /// RFC 9260 §7.2.1: arbitrarily high at first.
    pub(crate) const NO_THRESHOLD: usize = usize::MAX;

    pub(crate) fn is_slow_start(self) -> bool {
        self.cwnd <= self.ssthresh
    }
}

/// The amount that a SACK acknowledged on one path.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Acknowledged {
    pub(crate) now: Instant,
    /// Octets acknowledged for the first time, cumulatively or by gap ack blocks.
    pub(crate) bytes: usize,
    /// Octets in flight on the path before this SACK.
    pub(crate) flight_before: usize,
    /// Whether nothing is outstanding any more.
    pub(crate) all_acknowledged: bool,
    /// Whether the association is in Fast Recovery.
    pub(crate) in_recovery: bool,
    /// Smoothed round-trip time of the path; zero before the first measurement.
    pub(crate) srtt: Duration,
    /// The time at which that chunk was last sent which was sent last of those that are acknowledged for the first time.
    pub(crate) newest_sent_at: Instant,
    /// The round trip that this SACK measured.
    pub(crate) rtt: Option<Duration>,
    /// The round trip of what was sent last of all that has arrived, where losses are found by time.
    pub(crate) latest_rtt: Option<Duration>,
    /// The shortest round trip of the path lately; zero before the first measurement.
    pub(crate) min_rtt: Duration,
    /// Whether packets are spread over the round trip.
    pub(crate) is_paced: bool,
    /// Whether data waits for the pacer, which only [`Congestion`] knows: it fills that in for the control.
    pub(crate) is_held: bool,
}

impl Acknowledged {
    /// Returns the round trip as it is now. One measurement for each round trip, an eighth of which counts (RFC 9260 §6.3.1 (C3),
    /// (C4)), leaves the smoothed one far behind while a queue builds up.
    #[inline]
    pub(crate) fn present_rtt(&self) -> Duration {
        self.latest_rtt.map_or(self.srtt, |latest| latest.max(self.srtt))
    }

    /// Returns by how many octets slow start enlarges the window where not SACKs are counted but what they
    /// acknowledge: a peer may answer many packets with one SACK. Without pacing it is at most
    /// [`UNPACED_PACKETS`] (RFC 9406 §4.2).
    #[inline]
    pub(crate) fn slow_start_bytes(&self, pmdcs: usize) -> usize {
        if self.is_paced { self.bytes } else { self.bytes.min(UNPACED_PACKETS * pmdcs) }
    }
}

/// Packets by which one SACK enlarges the window in slow start at most where nothing spreads them over the round trip.
const UNPACED_PACKETS: usize = 8;

/// Returns `octets` · `part` / `whole`: no more than all of them, and none where the whole is no time.
#[inline]
pub(crate) fn share(octets: usize, part: Duration, whole: Duration) -> usize {
    if part >= whole {
        return if part.is_zero() { 0 } else { octets };
    }
    // The quotient is below `octets`, so it fits.
    let share = part.as_nanos() * octets as u128 / whole.as_nanos();
    usize::try_from(share).unwrap_or(octets)
}

/// Returns a number of octets as the controls of the crate `congestion` count them.
fn octets(len: usize) -> u64 {
    u64::try_from(len).unwrap_or(u64::MAX)
}

/// Returns a number of octets as this crate counts them.
fn length(octets: u64) -> usize {
    usize::try_from(octets).unwrap_or(usize::MAX)
}

//! How much may be in flight.

use core::time::Duration;

use super::{LossDetection, at_least, at_most};
use crate::error::ConfigError;

/// Congestion control (RFC 9260 §7.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(default, deny_unknown_fields))]
#[non_exhaustive]
pub struct CongestionConfig {
    /// The algorithm by which the congestion window grows and shrinks. Default [`CongestionAlgorithm::Cubic`]
    /// by `signalling` and `webrtc`; [`CongestionAlgorithm::Rfc9260`] by the others (docs/decisions/0014).
    pub algorithm: CongestionAlgorithm,
    /// How large it is at first. Default [`InitialWindow::Rfc9260`].
    pub initial_window: InitialWindow,
    /// The rule for a window that is not used. Default [`WindowValidation::Rfc7661`] by `signalling`, whose
    /// users send in bursts; [`WindowValidation::Rfc9260`] by the others.
    pub window_validation: WindowValidation,
    /// Whether packets are spread over the round trip. Default [`Pacing::On`] by `signalling` and `webrtc`, [`Pacing::Off`] by the
    /// others; switch it on for bulk.
    pub pacing: Pacing,
    /// How long a queue this association may keep on its paths. Default [`StandingQueue::Unbounded`]; bound it where
    /// messages of priority travel beside bulk.
    pub standing_queue: StandingQueue,
    /// How data begins on a path that it moves to. Default [`StartUp::SlowStart`]; [`StartUp::RESUME`] and
    /// [`StartUp::PROBE`] are for mobile hosts that carry a stream of messages, such as pictures or speech, from network to network.
    pub start_up: StartUp,
    /// The amount that may be sent after a timeout until something is acknowledged. Default
    /// [`AfterTimeout::OnePacket`]; [`AfterTimeout::Window`] is for comparisons with older stacks.
    pub after_timeout: AfterTimeout,
    /// The window that is left at least when packets are lost. Default [`LeastWindow::FourPackets`]; [`LeastWindow::TwoPackets`] is for many
    /// bulk flows beside TCP over short queues, where the least window is the share.
    pub least_window: LeastWindow,
}

impl CongestionConfig {
    /// Returns whether packets are spread: where it is wanted, and by a control that sets their rate.
    pub(crate) fn paces(&self) -> bool {
        self.pacing == Pacing::On || self.algorithm == CongestionAlgorithm::Bbr
    }

    /// Returns these rules where losses are found so: less than four packets are left only where that is by time.
    pub(crate) fn with_losses_found_by(self, detection: LossDetection) -> Self {
        match detection {
            LossDetection::Rack => self,
            LossDetection::MissingReports | LossDetection::RepeatedMissingReports { .. } => {
                Self { least_window: LeastWindow::FourPackets, ..self }
            }
        }
    }

    pub(super) fn validate(&self) -> Result<(), ConfigError> {
        let (StartUp::Resume { most_bytes } | StartUp::Probe { most_bytes }) = self.start_up else {
            return Ok(());
        };
        at_least("congestion.start_up.most_bytes", most_bytes as usize, 1)?;
        at_most("congestion.start_up.most_bytes", most_bytes as usize, 16 << 20)?;
        if self.paces() { Ok(()) } else { Err(ConfigError::NeedsPacing) }
    }
}

/// The amount that may be sent after T3-rtx has expired, until something is acknowledged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
pub enum AfterTimeout {
    /// One packet at a time (RFC 9260 §7.2.3).
    OnePacket,
    /// The window of one packet's size may be filled, so that small messages go on: Linux of 2006.
    Window,
}

/// The congestion window that a loss leaves at least, of the algorithms [`Rfc9260`](CongestionAlgorithm::Rfc9260) and
/// [`Westwood`](CongestionAlgorithm::Westwood). [`Cubic`](CongestionAlgorithm::Cubic) has two packets in any case (RFC 9438 §4.6), and
/// [`Bbr`](CongestionAlgorithm::Bbr) four.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
#[non_exhaustive]
pub enum LeastWindow {
    /// Four packets (RFC 9260 §7.2.3): losses are found by three reports of later packets, so fewer would leave it to T3-rtx.
    FourPackets,
    /// Two packets, as TCP has them (RFC 5681 §3.1), where losses are found by time ([`LossDetection::Rack`](crate::LossDetection::Rack)), which needs
    /// no three reports; four elsewhere.
    TwoPackets,
}

impl LeastWindow {
    pub(crate) const fn packets(self) -> usize {
        match self {
            Self::FourPackets => 4,
            Self::TwoPackets => 2,
        }
    }
}

/// An algorithm by which the congestion window grows and shrinks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
#[non_exhaustive]
pub enum CongestionAlgorithm {
    /// Slow start, one packet more per round trip, half of it after a loss (RFC 9260 §7.2). Slow start adds at most a packet
    /// for each SACK: towards a peer that answers many packets with one SACK it is slow indeed.
    Rfc9260,
    /// Grows with the time since the last loss, whatever the round trip, and shrinks to seven tenths (RFC 9438), as
    /// today's TCP does. RFC 9260 §7.2 asks senders to be no more aggressive than its own rules: this is, over long fat
    /// paths. Who has to go by the letter chooses [`Rfc9260`](Self::Rfc9260).
    Cubic,
    /// The window of Westwood+ (Mascolo et al. 2004), for paths that lose packets without being full, such as
    /// radio, whose operator you are: it grows as [`Rfc9260`](Self::Rfc9260), but by what SACKs acknowledge
    /// instead of by their number, and a loss leaves as much as the path was seen to carry without a queue, the
    /// rate of delivery times the smallest round trip, and half the window at least. Where queues are short it
    /// may take more than its share (docs/decisions/0014): not for the Internet at large (RFC 9743 §5).
    Westwood,
    /// A model of the path instead of losses, BBRv3 (draft-ietf-ccwg-bbr, experimental): packets leave at the rate that the path was seen to
    /// deliver, and twice of what that is in the shortest round trip is in flight at most; it looks for more every two to three seconds, and losses bound it
    /// where they exceed 2 %. For bulk over long paths that lose packets without being full; a flow that sends little has nothing of it.
    /// Packets are spread and a window that is not used is halved, whatever [`pacing`](CongestionConfig::pacing) and
    /// [`window_validation`](CongestionConfig::window_validation) say. What it does to others: docs/decisions/0073.
    Bbr,
}

/// The rule for a congestion window that is not used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
#[non_exhaustive]
pub enum WindowValidation {
    /// Halved once per RTO in which nothing is sent (RFC 9260 §7.2.1): the first burst after a pause is slow.
    Rfc9260,
    /// Kept for five minutes while less than half of it is used, but a loss then leaves half of what was in use, and
    /// not of what was allowed (RFC 7661, experimental): bursts after a pause are fast, and harmless.
    Rfc7661,
}

/// Whether packets are spread over the round trip.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
pub enum Pacing {
    /// The packets that the window allows leave at once, Max.Burst of them on one occasion (RFC 9260 §6.1 (D)).
    Off,
    /// The packets are spread once a round trip is known: as much as an initial window or Max.Burst packets
    /// leaves at once, the rest at 1.25 windows per round trip, at two in slow start (in the manner of RFC 9002
    /// §7.7). This takes the place of Max.Burst. Whoever sends little never waits, and where a round trip takes
    /// 2 ms or less nobody does: a whole window leaves at once.
    On,
}

/// How long a queue an association may keep on its paths, in their buffers or at the peer's socket: what has left waits in
/// it whatever its priority, behind what left before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
#[non_exhaustive]
pub enum StandingQueue {
    /// The congestion window decides: where nothing is lost it grows until the peer's receive buffer is what bounds it.
    Unbounded,
    /// No more is in flight than leaves the round trip that much above the shortest of the last half to whole minute, in
    /// the manner of TCP Vegas and FAST TCP; four packets always may be. Less than the window allows, so it is never
    /// unfair to others, but beside flows that fill queues it gets less than its share. A few times the shortest round
    /// trip leaves the rate as it is; less costs some.
    Within(Duration),
}

/// How data begins on a path that it moves to, such as the new network of a mobile host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
#[non_exhaustive]
pub enum StartUp {
    /// From the initial window, in slow start (RFC 9260 §7.2.5.2): messages wait for it some round trips long.
    SlowStart,
    /// From as much as was acknowledged within any such round trip of the last 1.6 s on the path that data leaves, spread over a round
    /// trip; from half of that if the window was what held data back there. What comes back of it is the window from then on,
    /// and a loss leaves half of it (after Careful Resume, draft-ietf-tsvwg-careful-resume). A round trip has to be known, by
    /// a HEARTBEAT before or by the first acknowledgment, and [`Pacing::On`] is needed.
    ///
    /// It takes for granted that the new path carries what the application sends. Where it does not, one round trip of data
    /// meets a queue that is too short for it, and others there feel that: choose it where you know your networks.
    Resume {
        /// Octets that the window has at most by this. At least 1, at most 16 MiB.
        most_bytes: u32,
    },
    /// As [`Resume`](Self::Resume), but from no more than the path was seen to carry within a round trip: a train of ten packets
    /// (HEARTBEAT with PAD, 14,600 octets at most) goes there when its address is confirmed while data is carried elsewhere, and
    /// again when data moves there more than ten seconds later; one a second at most. Where data has moved before its answers
    /// are there, it begins in slow start and goes on with them; where half of them are missing, it stays there.
    ///
    /// For mobile hosts in networks that nobody knows.
    Probe {
        /// Octets that the window has at most by this. At least 1, at most 16 MiB.
        most_bytes: u32,
    },
}

impl StartUp {
    /// From what was used before, and from 512 KiB at most.
    pub const RESUME: Self = Self::Resume { most_bytes: 512 << 10 };
    /// From what was used before and what the path was seen to carry, and from 512 KiB at most.
    pub const PROBE: Self = Self::Probe { most_bytes: 512 << 10 };
}

/// The congestion window before anything was acknowledged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
#[non_exhaustive]
pub enum InitialWindow {
    /// RFC 9260 §7.2.1: three full packets over Ethernet, at least two and at most four of any size.
    Rfc9260,
    /// The old rule, which counted whole packets instead of the chunks they carry: 4380 octets over Ethernet.
    /// For comparisons with older stacks.
    Rfc4960,
    /// Ten full packets over Ethernet, 14,600 octets, as today's TCP has it (RFC 6928, experimental): short answers need one round
    /// trip less. RFC 9260 §7.2.1 allows a third of it, so it is for paths that carry TCP anyway. All of them
    /// may leave at once while nothing has been acknowledged; later bursts are those of
    /// [`max_burst_packets`](crate::TransmissionConfig::max_burst_packets).
    TenPackets,
}

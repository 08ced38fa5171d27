//! The report of the emulator after its end.

use std::time::Duration;

use netem::{DropReason, LinkStats};
use serde::Serialize;
use workload::Spread;

use super::device::DeviceKind;

/// The report of an emulator: counters and delays of all its links.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct EmulatorReport {
    /// How long the emulator ran, in seconds.
    pub duration_s: f64,
    /// Whether the kernel ran the emulator's thread before all ordinary ones.
    pub is_real_time: bool,
    /// The kind of device in which the links ended.
    pub device: DeviceKind,
    /// The reports of the links, in the order in which these were given.
    pub links: Vec<LinkReport>,
    /// The reason why the capture is incomplete, if it is.
    pub capture_error: Option<String>,
}

/// The report of one link: counters and delays of both directions.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct LinkReport {
    /// The index that the link was given.
    pub index: u8,
    /// The seed of the link's random numbers.
    pub seed: u64,
    /// The direction from the client's end to the server's.
    pub request: DirectionReport,
    /// The direction from the server's end to the client's.
    pub response: DirectionReport,
}

/// The report of one direction of a link.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct DirectionReport {
    /// Counters of the numbered packets.
    pub stats: LinkStats,
    /// Every dropped packet, in order.
    pub dropped: Vec<DroppedPacket>,
    /// The delay that packets really got, from being read to being written.
    pub delay: DelaySummary,
    /// How long after its due time a packet was written.
    pub lateness: DelaySummary,
    /// Packets written more than [`LATE_SEND`] after their due time.
    pub late_sends: u64,
    /// ICMP errors, which crossed unnumbered.
    pub passed: u64,
    /// Packets of the kernel's own that were swallowed.
    pub swallowed: u64,
    /// Packets that came to the link while it was down, or were under way then.
    pub lost_while_down: u64,
    /// Packets the receiving device refused; a flipped bit in the IP version does that.
    pub refused: u64,
    /// Packets the emulator did not read in time, which nobody numbered; at least so many. `None` for TUN devices,
    /// whose queue holds 10,000 packets and does not tell.
    pub missed: Option<u64>,
    /// The largest packet, in octets. Above the MTU it would mean that segmentation was offloaded.
    pub largest_packet_bytes: u64,
    /// The IP packets that did not arrive whole, as they were sent; empty unless
    /// [`EmulatorOptions::keeps_lost_packets`](super::EmulatorOptions::keeps_lost_packets).
    #[serde(skip)]
    pub lost_packets: Vec<Vec<u8>>,
    /// The first IP packets, with which streams begin; empty unless lost packets are kept.
    #[serde(skip)]
    pub first_packets: Vec<Vec<u8>>,
}

/// A packet that the link dropped.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub struct DroppedPacket {
    /// The number of the packet, from 1.
    pub number: u64,
    /// The reason why it was dropped.
    pub reason: DropReason,
}

/// Percentiles of a delay, in milliseconds; `None` with fewer than five packets beyond, and without any.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize)]
pub struct DelaySummary {
    /// The median delay, in milliseconds.
    pub p50_ms: Option<f64>,
    /// The 99th percentile of the delays, in milliseconds.
    pub p99_ms: Option<f64>,
    /// The longest delay, in milliseconds.
    pub max_ms: Option<f64>,
}

impl DelaySummary {
    pub(super) fn of(delays: &Spread) -> Self {
        Self {
            p50_ms: delays.told_quantile_ms(0.5, 0),
            p99_ms: delays.told_quantile_ms(0.99, 0),
            max_ms: (delays.count() > 0).then(|| delays.max().as_secs_f64() * 1e3),
        }
    }
}

/// A packet written later than this after its due time counts as late: 0.2 ms, a hundredth of the usual 20 ms
/// round trip.
pub const LATE_SEND: Duration = Duration::from_micros(200);

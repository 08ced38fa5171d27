//! The options by which a plan changes a profile of SCTP.

use sctp_core::AssociationConfig;
use serde::Deserialize;

use crate::text::Span;
use crate::transport::StudyRules;

/// SCTP parameters a plan may change.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SctpOptions {
    /// The least retransmission timeout, RTO.Min.
    pub rto_min: Option<Span>,
    /// The first retransmission timeout, RTO.Initial.
    pub rto_initial: Option<Span>,
    /// The largest retransmission timeout, RTO.Max. Where it is RTO.Min the timeout stays what it is, however
    /// often it expires.
    pub rto_max: Option<Span>,
    /// SACK.Delay; `0ms` acknowledges every packet at once.
    pub sack_delay: Option<Span>,
    /// Several messages in one packet. Default they are.
    pub bundling: Option<bool>,
    /// The rules of the congestion window.
    pub congestion: Option<CongestionName>,
    /// Hold small packets while data is in flight.
    pub nagle: Option<bool>,
    /// The size of packets, and the rules by which a path counts as failed.
    #[serde(default)]
    pub paths: PathOptions,
    /// The rules by which the congestion window begins, and by which one is treated that is not used.
    #[serde(default)]
    pub window: WindowOptions,
    /// Octets the receiver offers.
    pub receive_window: Option<usize>,
    /// Octets of memory that what the sender keeps takes, in flight or not.
    pub send_buffer: Option<usize>,
    /// Octets of user data that the sender keeps, whatever holds them: as many messages of the flow's length as they come to.
    pub send_payload: Option<usize>,
    /// How messages share packets and the association. Default as the profile has it.
    #[serde(default)]
    pub messages: MessageOptions,
    /// The carrier of the packets. Default IP itself.
    pub carrier: Option<CarrierName>,
    /// The parts that study S2 leaves open of the rules that the transport `s2` has in place of all these.
    #[serde(default)]
    pub s2: StudyRules,
}

/// The options of how messages share packets and an association.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MessageOptions {
    /// Packets are filled by cutting messages in two: always, or never. Default as the profile has it.
    pub filled: Option<bool>,
    /// Messages go as I-DATA, so that those of several streams interleave (RFC 8260). Default as the profile has it.
    pub interleaving: Option<bool>,
    /// The order in which streams send. Default as the profile has it.
    pub scheduler: Option<SchedulerName>,
    /// The priorities of the client's first streams under the scheduler `priority`: lower goes first. Default 256 for each.
    #[serde(default)]
    pub priorities: Vec<u16>,
}

impl MessageOptions {
    fn apply(&self, config: &mut AssociationConfig) {
        if let Some(is_on) = self.interleaving {
            config.extensions.interleaving = if is_on { sctp_core::Offer::On } else { sctp_core::Offer::Off };
        }
        if let Some(name) = self.scheduler {
            config.transmission.scheduler = name.scheduler();
        }
    }
}

/// The options of paths: how large packets are, and when a path counts as failed.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PathOptions {
    /// Octets of an IP packet at most. Default 1500.
    pub mtu: Option<usize>,
    /// The largest packets are searched for by probes (RFC 8899), and IP may not cut any. Default as the profile has it.
    pub mtu_discovery: Option<bool>,
    /// The errors after which a path counts as potentially failed, PotentiallyFailed.Max.Retrans (RFC 7829). Default as the profile has it.
    pub potentially_failed: Option<u32>,
    /// The interval of HEARTBEATs, HB.interval. Default as the profile has it.
    pub heartbeat: Option<Span>,
    /// The time at which the client makes the path to the server's next address the primary one: the association goes on over another
    /// network, and both go on working. What the server sends keeps to the server's own primary path. Default never.
    pub moves_at: Option<Span>,
}

impl PathOptions {
    fn apply(&self, config: &mut AssociationConfig) {
        if let Some(is_on) = self.mtu_discovery {
            config.path_mtu.discovery =
                if is_on { sctp_core::Discovery::On } else { sctp_core::Discovery::Off };
        }
        if self.potentially_failed.is_some() {
            config.paths.potentially_failed = self.potentially_failed;
        }
        if let Some(interval) = self.heartbeat {
            config.heartbeat.interval = Some(interval.0);
        }
    }
}

/// The options of the congestion window: its beginning, and what becomes of one that is not used.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WindowOptions {
    /// The congestion window at first. Default as the profile has it.
    pub initial: Option<InitialWindowName>,
    /// The rule for a window that is not used. Default as the profile has it.
    pub validation: Option<ValidationName>,
    /// Packets are spread over the round trip. Default as the profile has it.
    pub pacing: Option<bool>,
    /// How data begins on a path that it moves to. Default as the profile has it.
    pub start_up: Option<StartUpName>,
}

impl WindowOptions {
    fn apply(&self, config: &mut AssociationConfig) {
        match self.initial {
            Some(InitialWindowName::Rfc9260) => {
                config.congestion.initial_window = sctp_core::InitialWindow::Rfc9260;
            }
            Some(InitialWindowName::Rfc6928) => {
                config.congestion.initial_window = sctp_core::InitialWindow::TenPackets;
            }
            Some(InitialWindowName::Rfc4960) => {
                config.congestion.initial_window = sctp_core::InitialWindow::Rfc4960;
            }
            None => {}
        }
        match self.validation {
            Some(ValidationName::Rfc9260) => {
                config.congestion.window_validation = sctp_core::WindowValidation::Rfc9260;
            }
            Some(ValidationName::Rfc7661) => {
                config.congestion.window_validation = sctp_core::WindowValidation::Rfc7661;
            }
            None => {}
        }
        if let Some(is_on) = self.pacing {
            config.congestion.pacing = if is_on { sctp_core::Pacing::On } else { sctp_core::Pacing::Off };
        }
        config.congestion.start_up = match self.start_up {
            Some(StartUpName::SlowStart) => sctp_core::StartUp::SlowStart,
            Some(StartUpName::Resume) => sctp_core::StartUp::RESUME,
            Some(StartUpName::Probe) => sctp_core::StartUp::PROBE,
            None => config.congestion.start_up,
        };
    }
}

/// How data begins on a path that it moves to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StartUpName {
    /// Data begins with the initial window, in slow start.
    SlowStart,
    /// Data begins with what was used on the path before, of 512 KiB at most.
    Resume,
    /// As by `resume`, but with no more than a train of packets has shown the path to carry.
    Probe,
}

/// The rule for a congestion window that is not used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ValidationName {
    /// Halved for each timeout of silence (RFC 9260 §7.2.1).
    Rfc9260,
    /// Kept, and cut to what was used by a loss (RFC 7661).
    Rfc7661,
}

/// The name of a carrier of SCTP packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CarrierName {
    /// IP itself carries them, as protocol 132.
    Ip,
    /// UDP (RFC 6951), as between the namespaces of `headway compare`.
    Udp,
}

/// The congestion window of SCTP before anything was acknowledged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum InitialWindowName {
    /// The initial window of RFC 9260 §7.2.1.
    Rfc9260,
    /// Ten packets, as TCP has it (RFC 6928).
    Rfc6928,
    /// The older rule: 4380 octets over Ethernet.
    Rfc4960,
}

/// The congestion control of SCTP.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CongestionName {
    /// The congestion control of RFC 9260 §7.2.
    Rfc9260,
    /// The congestion control of RFC 9438, CUBIC.
    Cubic,
    /// The congestion control of Westwood+.
    Westwood,
    /// The congestion control BBRv3, by a model of the path.
    Bbr,
}

/// The scheduler of streams (RFC 8260 §3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SchedulerName {
    /// Messages in the order in which they were handed in.
    FirstComeFirstServed,
    /// Streams take turns, a message each; with interleaving a chunk each.
    RoundRobin,
    /// Streams take turns, a packet each.
    RoundRobinPerPacket,
    /// The stream with the least number in `priorities` first; the others wait.
    Priority,
    /// Every stream gets the same octets.
    FairCapacity,
}

impl SchedulerName {
    const fn scheduler(self) -> sctp_core::StreamScheduler {
        match self {
            Self::FirstComeFirstServed => sctp_core::StreamScheduler::FirstComeFirstServed,
            Self::RoundRobin => sctp_core::StreamScheduler::RoundRobin,
            Self::RoundRobinPerPacket => sctp_core::StreamScheduler::RoundRobinPerPacket,
            Self::Priority => sctp_core::StreamScheduler::Priority,
            Self::FairCapacity => sctp_core::StreamScheduler::FairCapacity,
        }
    }
}

impl SctpOptions {
    pub(super) fn apply(&self, config: &mut AssociationConfig) {
        if let Some(min) = self.rto_min {
            config.rto.min = min.0;
            config.rto.initial = config.rto.initial.max(min.0);
        }
        if let Some(initial) = self.rto_initial {
            config.rto.initial = initial.0;
        }
        if let Some(max) = self.rto_max {
            config.rto.max = max.0;
            config.rto.initial = config.rto.initial.min(max.0);
        }
        if let Some(delay) = self.sack_delay {
            config.sack.delay = delay.0;
            if delay.0.is_zero() {
                config.sack.every_packets = 1;
            }
        }
        config.transmission.bundling = match (self.bundling, self.messages.filled) {
            (Some(false), _) => sctp_core::MessageBundling::Off,
            (_, Some(true)) => sctp_core::MessageBundling::Filled,
            (_, Some(false)) => sctp_core::MessageBundling::On,
            (Some(true) | None, None) => config.transmission.bundling,
        };
        config.congestion.algorithm = match self.congestion {
            Some(CongestionName::Rfc9260) => sctp_core::CongestionAlgorithm::Rfc9260,
            Some(CongestionName::Cubic) => sctp_core::CongestionAlgorithm::Cubic,
            Some(CongestionName::Westwood) => sctp_core::CongestionAlgorithm::Westwood,
            Some(CongestionName::Bbr) => sctp_core::CongestionAlgorithm::Bbr,
            None => config.congestion.algorithm,
        };
        self.messages.apply(config);
        if let Some(is_on) = self.nagle {
            config.transmission.nagle = if is_on { sctp_core::Nagle::On } else { sctp_core::Nagle::Off };
        }
        self.paths.apply(config);
        self.window.apply(config);
        config.buffers.receive_bytes = self.receive_window.unwrap_or(config.buffers.receive_bytes);
        config.buffers.send_bytes = self.send_buffer.unwrap_or(config.buffers.send_bytes);
    }
}

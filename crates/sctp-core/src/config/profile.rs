//! Named sets of parameters.

use core::fmt;
use core::str::FromStr;
use core::time::Duration;

use super::{
    AfterTimeout, AnnouncedPrimary, AssociationConfig, Attempts, AuthConfig, AutomaticAddresses, Buffers,
    CongestionAlgorithm, CongestionConfig, EventLimits, Exposure, Extensions, HeartbeatConfig, ImmediateSack,
    InitialWindow, LeastWindow, LossDetection, MessageBundling, Nagle, Offer, Pacing, PathMtuConfig,
    PathsConfig, ReconfigConfig, RecoveryConfig, RedundancyConfig, RtoConfig, SackConfig, StandingQueue,
    StartUp, StreamScheduler, Streams, TransmissionConfig, WindowValidation,
};
use crate::transmit::Dscp;

/// A named set of parameters to start from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "lowercase"))]
#[non_exhaustive]
pub enum Profile {
    /// The letter of RFC 9260: three missing reports, RTO.Min 1 s. A retransmission that is lost again waits for
    /// the timer, one second at least.
    Rfc9260,
    /// A profile for request/response traffic that cannot wait: time-based loss detection with probes, RTO.Min
    /// 200 ms, immediate acknowledgment of the last chunk. The congestion window is CUBIC's (RFC 9438), is
    /// spread over the round trip, and outlives pauses (RFC 7661).
    #[default]
    Signalling,
    /// A profile that recovers as the models of the published studies say, under the old rules (S1, S4):
    /// RTO.Initial 3 s, RTO.Min 1 s, the initial window of the old rule, fast retransmission of a chunk as
    /// often as three reports ask for it, packets as large as Ethernet carries, no extensions. For comparing
    /// with what they predict; not for use. No Linux ever had this rule.
    Studies,
    /// A profile for data channels (RFC 8831) over DTLS: the recovery of `signalling`, 65,535 streams,
    /// re-configuration and zero checksums, packets that fit what browsers use, no HEARTBEATs (ICE watches the
    /// path). Meant for [`Encapsulation::Datagrams`](crate::Encapsulation::Datagrams).
    WebRtc,
    /// The profile [`Studies`](Self::Studies) but for the rule of Linux 2.6.15, the host of S1: fast retransmission after four
    /// reports, and again as often as four more ask for it. For comparing with what that study measured; not for use.
    Linux2615,
    /// The profile [`Studies`](Self::Studies) but for the rule of Linux from 2.6.16-rc3 on, the host of S4: fast retransmission after
    /// three reports, once per chunk. For comparing with what that study measured; not for use.
    Linux2616,
    /// The profile [`Signalling`](Self::Signalling) with [`RecoveryConfig::redundancy`]: short messages travel twice, so that most losses cost
    /// nothing but the time until the next message.
    SignallingRedundant,
}

impl Profile {
    /// Every profile, in the order in which they are documented.
    pub const ALL: [Self; 7] = [
        Self::Rfc9260,
        Self::Signalling,
        Self::SignallingRedundant,
        Self::Studies,
        Self::WebRtc,
        Self::Linux2615,
        Self::Linux2616,
    ];
}

impl fmt::Display for Profile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Rfc9260 => "rfc9260",
            Self::Signalling => "signalling",
            Self::SignallingRedundant => "signalling-redundant",
            Self::Studies => "studies",
            Self::WebRtc => "webrtc",
            Self::Linux2615 => "linux-2.6.15",
            Self::Linux2616 => "linux-2.6.16",
        })
    }
}

/// A profile name that does not exist.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "there is no profile `{0}`; use rfc9260, signalling, signalling-redundant, studies, webrtc, linux-2.6.15 or linux-2.6.16"
)]
pub struct UnknownProfile(String);

impl FromStr for Profile {
    type Err = UnknownProfile;

    fn from_str(name: &str) -> Result<Self, UnknownProfile> {
        let wanted = |profile: &Self| profile.to_string() == name;
        Self::ALL.into_iter().find(wanted).ok_or_else(|| UnknownProfile(name.to_owned()))
    }
}

impl AssociationConfig {
    /// Creates the parameters that belong to a profile.
    #[must_use]
    pub fn profile(profile: Profile) -> Self {
        match profile {
            Profile::Rfc9260 => Self::rfc9260(),
            Profile::Signalling => Self::signalling(),
            Profile::SignallingRedundant => Self::signalling_redundant(),
            Profile::Studies => Self::old_rules(LossDetection::RepeatedMissingReports { reports: 3 }),
            Profile::WebRtc => Self::webrtc(),
            Profile::Linux2615 => Self::old_rules(LossDetection::RepeatedMissingReports { reports: 4 }),
            Profile::Linux2616 => Self::old_rules(LossDetection::MissingReports),
        }
    }

    fn rfc9260() -> Self {
        Self {
            streams: Streams { outbound: 64, inbound: 2048 },
            extensions: Extensions { reconfiguration: Offer::On, ..Extensions::NONE },
            authentication: AuthConfig::default(),
            buffers: Buffers {
                send_bytes: 1 << 20,
                receive_bytes: 1 << 20,
                grown_bytes: None,
                message_bytes: 256 << 10,
                partial_delivery_point_bytes: None,
                events: EventLimits::default(),
            },
            rto: RtoConfig {
                initial: Duration::from_secs(1),
                min: Duration::from_secs(1),
                max: Duration::from_secs(60),
            },
            sack: SackConfig { delay: Duration::from_millis(200), every_packets: 2 },
            congestion: CongestionConfig {
                algorithm: CongestionAlgorithm::Rfc9260,
                initial_window: InitialWindow::Rfc9260,
                window_validation: WindowValidation::Rfc9260,
                pacing: Pacing::Off,
                standing_queue: StandingQueue::Unbounded,
                start_up: StartUp::SlowStart,
                after_timeout: AfterTimeout::OnePacket,
                least_window: LeastWindow::FourPackets,
            },
            recovery: RecoveryConfig {
                loss_detection: LossDetection::MissingReports,
                immediate_sack: ImmediateSack::WhenShuttingDown,
                redundancy: None,
            },
            heartbeat: HeartbeatConfig {
                interval: Some(Duration::from_secs(30)),
                untried: None,
                max_burst: 1,
                nat_keepalive: Some(Duration::from_secs(15)),
            },
            autoclose: None,
            attempts: Attempts { init: 8, path: 5, association: 10, untried: 2, persist: None },
            paths: PathsConfig {
                potentially_failed: None,
                potentially_failed_state: Exposure::Exposed,
                primary_switchover: None,
                automatic_addresses: AutomaticAddresses::Off,
                announced_primary: AnnouncedPrimary::Nothing,
            },
            transmission: TransmissionConfig {
                nagle: Nagle::Off,
                bundling: MessageBundling::On,
                scheduler: StreamScheduler::FirstComeFirstServed,
                max_burst_packets: 4,
                dscp: Dscp::CS0,
            },
            reconfiguration: ReconfigConfig::default(),
            path_mtu: PathMtuConfig::default(),
        }
    }

    fn signalling() -> Self {
        let base = Self::rfc9260();
        Self {
            extensions: Extensions {
                authentication: Offer::On,
                partial_reliability: Offer::On,
                ..base.extensions
            },
            rto: RtoConfig { min: Duration::from_millis(200), ..base.rto },
            congestion: CongestionConfig {
                algorithm: CongestionAlgorithm::Cubic,
                window_validation: WindowValidation::Rfc7661,
                pacing: Pacing::On,
                ..base.congestion
            },
            recovery: RecoveryConfig {
                loss_detection: LossDetection::Rack,
                immediate_sack: ImmediateSack::WhenSenderDry,
                ..base.recovery
            },
            heartbeat: HeartbeatConfig { untried: Some(Duration::from_secs(5)), ..base.heartbeat },
            paths: PathsConfig { potentially_failed: Some(0), ..base.paths },
            transmission: TransmissionConfig {
                bundling: MessageBundling::FilledWhenLimited,
                ..base.transmission
            },
            ..base
        }
    }

    fn signalling_redundant() -> Self {
        let base = Self::signalling();
        let redundancy = Some(RedundancyConfig::default());
        Self { recovery: RecoveryConfig { redundancy, ..base.recovery }, ..base }
    }

    fn old_rules(loss_detection: LossDetection) -> Self {
        let base = Self::rfc9260();
        Self {
            extensions: Extensions::NONE,
            rto: RtoConfig { initial: Duration::from_secs(3), ..base.rto },
            congestion: CongestionConfig {
                initial_window: InitialWindow::Rfc4960,
                after_timeout: AfterTimeout::Window,
                ..base.congestion
            },
            recovery: RecoveryConfig { loss_detection, ..base.recovery },
            path_mtu: PathMtuConfig { bytes: 1500, ..base.path_mtu },
            ..base
        }
    }

    fn webrtc() -> Self {
        let base = Self::signalling();
        let most = u16::MAX;
        Self {
            streams: Streams { outbound: most, inbound: most },
            extensions: Extensions { zero_checksum: Offer::On, interleaving: Offer::On, ..base.extensions },
            reconfiguration: ReconfigConfig {
                max_inbound_streams: most,
                max_outbound_streams: most,
                ..base.reconfiguration
            },
            heartbeat: HeartbeatConfig { interval: None, untried: None, ..base.heartbeat },
            // What IPv6 packets of 1280 octets leave below IP, UDP and DTLS.
            path_mtu: PathMtuConfig { bytes: 1191, ..base.path_mtu },
            ..base
        }
    }
}

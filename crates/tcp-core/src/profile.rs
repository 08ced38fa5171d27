//! Sets of parameters that stand for a stack.

use core::fmt;
use core::str::FromStr;
use core::time::Duration;

use crate::config::{
    Acknowledge, Boundaries, ByteCounting, CongestionAlgorithm, LossDetection, Nagle, Reduction, RtoFloor,
    SegmentRules, SlowStartEnd, TcpConfig, TimerRules, Timestamps, WindowRules, WindowUnit, WindowValidation,
};

/// A stack whose parameters a connection shall have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Profile {
    /// Today's: CUBIC, RACK-TLP, initial window 10, timestamps, a 250 Hz clock. For comparisons with a kernel.
    #[default]
    Linux,
    /// 2.6.16 as studies S1 and S4 measured it: timeouts of a round trip plus 200 ms, byte counting on. BIC is Reno below 14
    /// segments, which these studies do not exceed; so it is Reno here.
    Linux2006,
    /// Linux of 2006 with byte counting off (`tcp_abc` 0), as in figure 16 of S4.
    Linux2006WithoutByteCounting,
    /// The one-way SACK agent of ns-2 as study S2 had it: a segment for each message, every segment acknowledged at once,
    /// windows in packets that grow without need, no less than 1 s of timeout. Set [`WindowRules::cap_segments`] to 20 for the
    /// simulator's own default.
    Ns2Sack,
    /// Solaris 10 as study S1 measured it: timeouts of 500 ms at least.
    Solaris10,
    /// TCP as the models of studies S1 and S4 see it: SCTP with one stream. Three reports, again after three
    /// more, 1 s of timeout at least, and a window that small messages do not fill.
    Studies,
}

impl Profile {
    /// All profiles, in the order of their documentation.
    pub const ALL: [Self; 6] = [
        Self::Linux,
        Self::Linux2006,
        Self::Linux2006WithoutByteCounting,
        Self::Ns2Sack,
        Self::Solaris10,
        Self::Studies,
    ];

    /// Returns the name of the profile in a plan.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Linux => "linux",
            Self::Linux2006 => "linux-2006",
            Self::Linux2006WithoutByteCounting => "linux-2006-no-abc",
            Self::Ns2Sack => "ns2-sack",
            Self::Solaris10 => "solaris-10",
            Self::Studies => "studies",
        }
    }
}

impl fmt::Display for Profile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Profile {
    type Err = UnknownProfile;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let named = Self::ALL.into_iter().find(|profile| profile.name() == text);
        named.ok_or_else(|| UnknownProfile(text.to_owned()))
    }
}

/// A name that no profile has.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is no TCP profile: use linux, linux-2006, linux-2006-no-abc (without byte counting), ns2-sack, solaris-10 or studies"
)]
pub struct UnknownProfile(pub String);

impl TcpConfig {
    /// Creates the parameters of a stack. Each differs from the defaults where its own source does.
    #[must_use]
    pub fn profile(profile: Profile) -> Self {
        match profile {
            Profile::Linux => LINUX,
            Profile::Linux2006 => linux_2006(ByteCounting::OctetsInSlowStart { limit_segments: 1 }),
            Profile::Linux2006WithoutByteCounting => linux_2006(ByteCounting::Off),
            Profile::Ns2Sack => NS2_SACK,
            Profile::Solaris10 => SOLARIS_10,
            Profile::Studies => STUDIES,
        }
    }
}

impl Default for TcpConfig {
    fn default() -> Self {
        LINUX
    }
}

const LINUX: TcpConfig = TcpConfig {
    mss: 1460,
    send_bytes: 1 << 20,
    receive_bytes: 1 << 20,
    congestion: CongestionAlgorithm::LinuxCubic,
    initial_window_segments: 10,
    ack_delay: Duration::from_millis(40),
    nagle: Nagle::Off,
    rto_min: Duration::from_millis(200),
    rto_initial: Duration::from_secs(1),
    rto_max: Duration::from_secs(120),
    timeouts: 15,
    window: WindowRules {
        unit: WindowUnit::Segments,
        byte_counting: ByteCounting::Segments,
        reduction: Reduction::OfWindow,
        slow_start: SlowStartEnd::AtThreshold,
        validation: WindowValidation::Linux,
        cap_segments: None,
    },
    detection: LossDetection::RackTlp,
    timers: TimerRules { floor: RtoFloor::Variation, tick: Duration::from_millis(4) },
    segments: SegmentRules {
        boundaries: Boundaries::Stream,
        timestamps: Timestamps::On,
        acknowledge: Acknowledge::EverySecondFullSegment,
    },
};

/// Returns the parameters of Linux 2.6.16: initial window after RFC 3390, first timeout 3 s, losses found by
/// three reports, lost retransmissions too.
const fn linux_2006(byte_counting: ByteCounting) -> TcpConfig {
    TcpConfig {
        congestion: CongestionAlgorithm::NewReno,
        initial_window_segments: 3,
        rto_initial: Duration::from_secs(3),
        window: WindowRules {
            byte_counting,
            slow_start: SlowStartEnd::BeyondThreshold,
            validation: WindowValidation::Linux2006,
            ..LINUX.window
        },
        detection: LossDetection::RepeatedReports(3),
        ..LINUX
    }
}

/// ns-2's `Agent/TCP/Sack1` with `Agent/TCPSink/Sack1`: segments of up to 1000 octets there; here a write is a segment.
const NS2_SACK: TcpConfig = TcpConfig {
    congestion: CongestionAlgorithm::NewReno,
    initial_window_segments: 2,
    ack_delay: Duration::ZERO,
    rto_min: Duration::from_secs(1),
    rto_initial: Duration::from_secs(3),
    rto_max: Duration::from_secs(64),
    window: WindowRules {
        byte_counting: ByteCounting::Off,
        validation: WindowValidation::Never,
        ..LINUX.window
    },
    detection: LossDetection::Reports(3),
    timers: TimerRules { floor: RtoFloor::Timeout, tick: Duration::ZERO },
    segments: SegmentRules {
        boundaries: Boundaries::Writes,
        timestamps: Timestamps::Off,
        acknowledge: Acknowledge::EverySecondSegment,
    },
    ..LINUX
};

/// The parameters of Solaris 10 by its tunables: initial window 4, acknowledgments delayed by 100 ms, a clock
/// of 100 Hz. The least timeout is the 500 ms that S1 measured; the tunable itself says 400 ms.
const SOLARIS_10: TcpConfig = TcpConfig {
    congestion: CongestionAlgorithm::NewReno,
    initial_window_segments: 4,
    ack_delay: Duration::from_millis(100),
    rto_min: Duration::from_millis(500),
    rto_initial: Duration::from_secs(3),
    rto_max: Duration::from_secs(60),
    window: WindowRules {
        unit: WindowUnit::Octets,
        byte_counting: ByteCounting::Off,
        reduction: Reduction::OfFlight,
        slow_start: SlowStartEnd::AtThreshold,
        validation: WindowValidation::Restart,
        cap_segments: None,
    },
    detection: LossDetection::Reports(3),
    timers: TimerRules { floor: RtoFloor::Timeout, tick: Duration::from_millis(10) },
    segments: SegmentRules {
        boundaries: Boundaries::Stream,
        timestamps: Timestamps::Off,
        acknowledge: Acknowledge::EverySecondSegment,
    },
    ..LINUX
};

/// RFC 5681 with windows in octets, which messages of 64 octets never fill; losses found as SCTP's were.
const STUDIES: TcpConfig = TcpConfig {
    congestion: CongestionAlgorithm::NewReno,
    initial_window_segments: 3,
    rto_min: Duration::from_secs(1),
    rto_initial: Duration::from_secs(3),
    rto_max: Duration::from_secs(60),
    window: WindowRules {
        unit: WindowUnit::Octets,
        byte_counting: ByteCounting::Off,
        reduction: Reduction::OfWindow,
        slow_start: SlowStartEnd::AtThreshold,
        validation: WindowValidation::Never,
        cap_segments: None,
    },
    detection: LossDetection::RepeatedReports(3),
    timers: TimerRules { floor: RtoFloor::Timeout, tick: Duration::ZERO },
    segments: SegmentRules {
        boundaries: Boundaries::Writes,
        timestamps: Timestamps::Off,
        acknowledge: Acknowledge::EverySecondSegment,
    },
    ..LINUX
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn profiles_are_found_by_their_names_and_differ() {
        for (index, profile) in Profile::ALL.into_iter().enumerate() {
            assert_eq!(profile.to_string().parse(), Ok(profile));
            let same = Profile::ALL
                .into_iter()
                .filter(|other| TcpConfig::profile(*other) == TcpConfig::profile(profile));
            assert_eq!(same.count(), 1, "profile {index}");
        }
        let error = "vegas".parse::<Profile>().map_err(|error| error.to_string());
        assert!(error.is_err_and(|text| text.starts_with("`vegas` is no TCP profile: use linux,")));
    }
}

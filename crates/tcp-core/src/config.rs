//! Parameters of a connection.

use core::time::Duration;

/// Parameters of one connection. The defaults are those of a present-day Linux ([`Profile::Linux`](crate::Profile)).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TcpConfig {
    /// The largest payload of a segment without options, in octets. Default 1460: Ethernet less IPv4 and TCP headers
    /// (RFC 9293 §3.7.1). To change for links of another MTU.
    pub mss: u16,
    /// Octets written and not yet acknowledged at most. Default 1 MiB. To raise where rate × round trip is more.
    pub send_bytes: usize,
    /// Octets received and not yet read at most: the window that is advertised (RFC 9293 §3.8.6). Default 1 MiB. To lower for studies
    /// of old receivers.
    pub receive_bytes: usize,
    /// How the congestion window grows and shrinks. Default CUBIC as Linux has it.
    pub congestion: CongestionAlgorithm,
    /// Segments that may be in flight at first. Default 10 (RFC 6928); 3 before 2011 (RFC 3390).
    pub initial_window_segments: u16,
    /// How long an acknowledgment may wait for company. Default 40 ms, Linux's minimum; RFC 9293 §3.8.6.3 allows 500 ms.
    /// Zero acknowledges every segment at once.
    pub ack_delay: Duration,
    /// Whether small segments wait while data is in flight (RFC 9293 §3.7.4). Default: they do not. To switch on for those
    /// who measure what it costs.
    pub nagle: Nagle,
    /// The least retransmission timeout. Default 200 ms (Linux); RFC 6298 §2.4 has 1 s. Of what it is the least,
    /// [`TimerRules::floor`] says.
    pub rto_min: Duration,
    /// The retransmission timeout before the first measurement. Default 1 s (RFC 6298 §2.1); 3 s before 2011.
    pub rto_initial: Duration,
    /// The largest retransmission timeout. Default 120 s (RFC 6298 §2.5 allows 60 s and more).
    pub rto_max: Duration,
    /// Timeouts in a row after which the connection is given up. Default 15 (Linux).
    pub timeouts: u32,
    /// What the congestion window counts and when it may grow.
    pub window: WindowRules,
    /// How losses are found. Default RACK-TLP (RFC 8985).
    pub detection: LossDetection,
    /// How timers are rounded, and what the least timeout means.
    pub timers: TimerRules,
    /// How the stream is cut into segments, and what they carry.
    pub segments: SegmentRules,
}

/// How the congestion window grows and shrinks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CongestionAlgorithm {
    /// One segment more per round trip, half of it after a loss (RFC 5681, RFC 6582).
    NewReno,
    /// RFC 9438.
    Cubic,
    /// The same as Linux computes it: in whole segments, one of them behind Reno where that is faster. For comparisons with a kernel,
    /// whose windows are a fifth smaller than the RFC's at 1 % loss and 20 ms.
    LinuxCubic,
}

/// The Nagle algorithm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Nagle {
    /// Small segments leave at once.
    Off,
    /// A small segment waits until everything before it was acknowledged.
    On,
}

/// What the congestion window counts, and when it may grow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WindowRules {
    /// Default segments, as Linux; it matters for small messages only.
    pub unit: WindowUnit,
    /// What an acknowledgment adds. Default a segment for each that it covers, as Linux. To switch on for studies of RFC 3465;
    /// CUBIC counts by itself in congestion avoidance.
    pub byte_counting: ByteCounting,
    /// What is halved after a loss. Default the window, as Linux. NewReno only.
    pub reduction: Reduction,
    /// Where slow start ends. Default at ssthresh, as Linux since 4.3. NewReno only.
    pub slow_start: SlowStartEnd,
    /// When a flow that does not need its window may enlarge it. Default as Linux.
    pub validation: WindowValidation,
    /// The window in segments at most; `None`, the default, for no bound of its own. To set for studies with ns-2, whose default is 20.
    pub cap_segments: Option<u16>,
}

/// What the congestion window counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WindowUnit {
    /// Octets of payload (RFC 5681 §2): many small segments fit one full one.
    Octets,
    /// Segments of whatever size, as Linux and ns-2.
    Segments,
}

/// Appropriate byte counting (RFC 3465).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ByteCounting {
    /// Each acknowledgment of new data counts as one segment, whatever it covers (RFC 5681 §3.1 allows it): Linux of 2006 with
    /// `tcp_abc` at 0, and ns-2.
    Off,
    /// Each acknowledged segment counts as one: today's Linux.
    Segments,
    /// Acknowledged octets count, in slow start this many segments at most per acknowledgment: L of RFC 3465 §2.2.
    Octets {
        /// 1 (cautious) or 2.
        limit_segments: u16,
    },
    /// As `Octets` in slow start, as `Off` beyond it: Linux of 2006, whose BIC has a congestion avoidance of its own.
    OctetsInSlowStart {
        /// 1 (cautious) or 2.
        limit_segments: u16,
    },
}

/// What a loss reduces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reduction {
    /// ssthresh is half of what is in flight (RFC 5681 §3.1, equation 4).
    OfFlight,
    /// ssthresh is half of the window, used or not: Linux and ns-2.
    OfWindow,
}

/// Where slow start ends; RFC 5681 §3.1 allows both where the window is ssthresh.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SlowStartEnd {
    /// At ssthresh congestion avoidance begins.
    AtThreshold,
    /// At ssthresh it is still slow start: Linux until 4.3. With byte counting small segments are long in leaving it.
    BeyondThreshold,
}

/// What becomes of a congestion window that its flow does not use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WindowValidation {
    /// It grows all the same, and idleness leaves it as it is: ns-2, and the finding of study S2.
    Never,
    /// It grows when it was full, and begins anew after an idle timeout (RFC 5681 §4.1).
    Restart,
    /// As Linux: in slow start it grows to twice what was used, then only when it limits; after a timeout of not being the
    /// limit it shrinks half way to what was used; each idle timeout halves it, not below the initial window (after RFC 2861).
    Linux,
    /// The same, but it grows, in slow start too, only by what is acknowledged while it is full: Linux of 2006.
    Linux2006,
}

/// How losses are found, apart from the retransmission timer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LossDetection {
    /// A segment is lost once so many segments sent after it were reported (RFC 6675 §4 with DupThresh 3). A lost
    /// retransmission waits for the timer. Each reported segment counts, also a small one.
    Reports(u8),
    /// The same, and a retransmission is lost again once so many segments sent after it were reported: as Linux of 2006 found
    /// lost retransmissions (with forward acknowledgment, after one report), and as SCTP did in studies S1 and S4.
    RepeatedReports(u8),
    /// By time (RFC 8985 §6), and the last segment is sent again as a probe after two round trips (§7).
    RackTlp,
}

/// How timers behave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimerRules {
    /// What `rto_min` bounds. Default the variation.
    pub floor: RtoFloor,
    /// Timers expire at multiples of this; zero: exactly. Default 4 ms, the 250 Hz of Linux distributions. To set to zero
    /// for a TCP without a kernel's clock.
    pub tick: Duration,
}

/// What the least retransmission timeout bounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RtoFloor {
    /// The timeout itself (RFC 6298 §2.4).
    Timeout,
    /// Its variation term: the timeout is never below the round trip plus `rto_min`, as in Linux.
    Variation,
}

/// How the stream is cut into segments, and what they carry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SegmentRules {
    /// Default as the stream comes.
    pub boundaries: Boundaries,
    /// Whether each segment carries the timestamps option of RFC 7323 §3: twelve octets less payload, and round trips
    /// measured on retransmissions too. Default: it does, as Linux.
    pub timestamps: Timestamps,
    /// How much may arrive before it is acknowledged at once. Default two full segments, as Linux.
    pub acknowledge: Acknowledge,
}

/// Where segments end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Boundaries {
    /// Wherever they are full: what waits for the window leaves together, and retransmissions take neighbours along.
    Stream,
    /// Also where each write ended: a message is a packet, as in ns-2.
    Writes,
}

/// RFC 7323 §3.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Timestamps {
    /// In every segment.
    On,
    /// In none.
    Off,
}

/// When an acknowledgment does not wait for its delay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Acknowledge {
    /// Every second segment, small or not (RFC 1122 §4.2.3.2 as it is often read).
    EverySecondSegment,
    /// Every second *full* segment (RFC 9293 §3.8.6.3): small ones wait for company.
    EverySecondFullSegment,
}

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
    /// The algorithm by which the congestion window grows and shrinks. Default CUBIC as Linux has it.
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
    /// The rules about what the congestion window counts and when it may grow.
    pub window: WindowRules,
    /// How losses are found. Default RACK-TLP (RFC 8985).
    pub detection: LossDetection,
    /// How timers are rounded, and what the least timeout means.
    pub timers: TimerRules,
    /// The rules by which the stream is cut into segments, and what they carry.
    pub segments: SegmentRules,
}

/// An algorithm by which the congestion window grows and shrinks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CongestionAlgorithm {
    /// One segment more per round trip, half of it after a loss (RFC 5681, RFC 6582).
    NewReno,
    /// CUBIC as RFC 9438 has it.
    Cubic,
    /// CUBIC as Linux computes it: in whole segments, one of them behind Reno where that is faster. For
    /// comparisons with a kernel, whose windows are a fifth smaller than the RFC's at 1 % loss and 20 ms.
    LinuxCubic,
    /// A model of the path, BBRv3 (draft-ietf-ccwg-bbr), which also says at which rate segments leave. Its window counts octets, whatever
    /// [`WindowRules::unit`] says, and is not validated: half of it is in use, as it is meant.
    Bbr,
}

/// The Nagle algorithm: whether small segments wait while others are in flight (RFC 1122 §4.2.3.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Nagle {
    /// Small segments leave at once.
    Off,
    /// A small segment waits until everything before it was acknowledged.
    On,
}

/// The rules about what the congestion window counts, and when it may grow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WindowRules {
    /// Default segments, as Linux; it matters for small messages only.
    pub unit: WindowUnit,
    /// The amount that an acknowledgment adds. Default a segment for each that it covers, as Linux. To switch
    /// on for studies of RFC 3465; CUBIC counts by itself in congestion avoidance.
    pub byte_counting: ByteCounting,
    /// The quantity that is halved after a loss. Default the window, as Linux. NewReno only.
    pub reduction: Reduction,
    /// The end of slow start. Default at ssthresh, as Linux since 4.3. NewReno only.
    pub slow_start: SlowStartEnd,
    /// The rule for flows that do not need their window. Default as Linux.
    pub validation: WindowValidation,
    /// The window in segments at most; `None`, the default, for no bound of its own. To set for studies with ns-2, whose default is 20.
    pub cap_segments: Option<u16>,
}

/// The unit of the congestion window.
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
        /// The limit in segments: 1 (cautious) or 2.
        limit_segments: u16,
    },
    /// Octets count in slow start, as with `Octets`, and acknowledgments beyond it, as with `Off`: Linux of
    /// 2006, whose BIC has a congestion avoidance of its own.
    OctetsInSlowStart {
        /// The limit in segments: 1 (cautious) or 2.
        limit_segments: u16,
    },
}

/// The quantity that is halved after a loss.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reduction {
    /// ssthresh is half of what is in flight (RFC 5681 §3.1, equation 4).
    OfFlight,
    /// ssthresh is half of the window, used or not: Linux and ns-2.
    OfWindow,
}

/// The end of slow start; RFC 5681 §3.1 allows both where the window is ssthresh.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SlowStartEnd {
    /// Congestion avoidance begins when the window reaches ssthresh.
    AtThreshold,
    /// Slow start goes on while the window equals ssthresh: Linux until 4.3. With byte counting small segments
    /// are long in leaving it.
    BeyondThreshold,
}

/// The rule for a congestion window that its flow does not use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WindowValidation {
    /// The window grows all the same, and idleness leaves it as it is: ns-2, and the finding of study S2.
    Never,
    /// The window grows when it was full, and begins anew after an idle timeout (RFC 5681 §4.1).
    Restart,
    /// Today's Linux: in slow start the window grows to twice what was used, then only when it limits; after a
    /// timeout of not being the limit it shrinks half way to what was used; each idle timeout halves it, not
    /// below the initial window (after RFC 2861).
    Linux,
    /// Linux of 2006: the rule of today's Linux, but the window grows, in slow start too, only by what is
    /// acknowledged while it is full.
    Linux2006,
}

/// How losses are found, apart from the retransmission timer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LossDetection {
    /// A segment is lost once so many segments sent after it were reported (RFC 6675 §4 with DupThresh 3). A lost
    /// retransmission waits for the timer. Each reported segment counts, also a small one.
    Reports(u8),
    /// Segments are lost after three reports, and a retransmission is lost again once so many segments sent
    /// after it were reported: as Linux of 2006 found lost retransmissions (with forward acknowledgment, after
    /// one report), and as SCTP did in studies S1 and S4.
    RepeatedReports(u8),
    /// Segments are lost by time (RFC 8985 §6), and the last one is sent again as a probe after two round trips
    /// (§7).
    RackTlp,
}

/// The rules by which timers expire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimerRules {
    /// The part of the timeout that `rto_min` bounds. Default the variation.
    pub floor: RtoFloor,
    /// Timers expire at multiples of this; zero: exactly. Default 4 ms, the 250 Hz of Linux distributions. To set to zero
    /// for a TCP without a kernel's clock.
    pub tick: Duration,
}

/// The part of the timeout that the least retransmission timeout bounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RtoFloor {
    /// The timeout itself (RFC 6298 §2.4).
    Timeout,
    /// The variation term is bounded: the timeout is never below the round trip plus `rto_min`, as in Linux.
    Variation,
}

/// The rules by which the stream is cut into segments, and what they carry.
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

/// The places where segments end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Boundaries {
    /// Wherever they are full: what waits for the window leaves together, and retransmissions take neighbours along.
    Stream,
    /// Segments also end where a write ended: a message is a packet, as in ns-2.
    Writes,
}

/// The timestamps option (RFC 7323 §3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Timestamps {
    /// Every segment carries timestamps.
    On,
    /// No segment carries timestamps.
    Off,
}

/// The occasions on which an acknowledgment does not wait for its delay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Acknowledge {
    /// Every second segment, small or not (RFC 1122 §4.2.3.2 as it is often read).
    EverySecondSegment,
    /// Every second *full* segment (RFC 9293 §3.8.6.3): small ones wait for company.
    EverySecondFullSegment,
}

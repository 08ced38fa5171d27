//! Parameters of a connection.

use core::time::Duration;

/// Parameters of one connection. The defaults are those of a present-day Linux where they differ from the RFCs'.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TcpConfig {
    /// The largest payload of a segment, in octets. Default 1460: Ethernet less IPv4 and TCP headers.
    pub mss: u16,
    /// Octets written and not yet acknowledged at most. Default 1 MiB.
    pub send_bytes: usize,
    /// Octets received and not yet read at most: the window that is advertised. Default 1 MiB.
    pub receive_bytes: usize,
    /// How the congestion window grows. Default CUBIC (RFC 9438).
    pub congestion: CongestionAlgorithm,
    /// Segments that may be in flight at first. Default 10 (RFC 6928).
    pub initial_window_segments: u16,
    /// How long an acknowledgment may wait for company. Default 40 ms; RFC 9293 §3.8.6.3 allows 500 ms.
    pub ack_delay: Duration,
    /// Whether small segments wait while data is in flight (RFC 9293 §3.7.4). Default: they do not.
    pub nagle: Nagle,
    /// The least retransmission timeout. Default 200 ms; RFC 6298 §2.4 has 1 s.
    pub rto_min: Duration,
    /// The retransmission timeout before the first measurement. Default 1 s (RFC 6298 §2.1).
    pub rto_initial: Duration,
    /// The largest retransmission timeout. Default 120 s (RFC 6298 §2.5 allows 60 s and more).
    pub rto_max: Duration,
    /// Timeouts in a row after which the connection is given up. Default 15.
    pub timeouts: u32,
}

/// How the congestion window grows and shrinks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CongestionAlgorithm {
    /// One segment more per round trip, half of it after a loss (RFC 5681).
    NewReno,
    /// RFC 9438.
    Cubic,
}

/// The Nagle algorithm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Nagle {
    /// Small segments leave at once.
    Off,
    /// A small segment waits until everything before it was acknowledged.
    On,
}

impl Default for TcpConfig {
    fn default() -> Self {
        Self {
            mss: 1460,
            send_bytes: 1 << 20,
            receive_bytes: 1 << 20,
            congestion: CongestionAlgorithm::Cubic,
            initial_window_segments: 10,
            ack_delay: Duration::from_millis(40),
            nagle: Nagle::Off,
            rto_min: Duration::from_millis(200),
            rto_initial: Duration::from_secs(1),
            rto_max: Duration::from_secs(120),
            timeouts: 15,
        }
    }
}

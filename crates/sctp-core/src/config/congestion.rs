//! How much may be in flight.

/// Congestion control (RFC 9260 §7.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CongestionConfig {
    /// How the congestion window grows and shrinks. Default [`CongestionAlgorithm::Rfc9260`].
    pub algorithm: CongestionAlgorithm,
    /// How large it is at first. Default [`InitialWindow::Rfc9260`].
    pub initial_window: InitialWindow,
}

/// How the congestion window grows and shrinks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CongestionAlgorithm {
    /// Slow start, one packet more per round trip, half of it after a loss (RFC 9260 §7.2).
    Rfc9260,
}

/// The congestion window before anything was acknowledged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InitialWindow {
    /// RFC 9260 §7.2.1: three full packets over Ethernet, at least two and at most four of any size.
    Rfc9260,
    /// RFC 4960 §7.2.1, which counted whole packets instead of the chunks they carry: 4380 octets over Ethernet.
    /// For comparisons with older stacks.
    Rfc4960,
}

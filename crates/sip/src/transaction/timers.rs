//! The timers of RFC 3261 §17 as data: three values, from which all others follow (table 4 there, RFC 6026 §8.4).

use core::time::Duration;

use crate::transport::Transport;

/// The three values; all peers of a network should have about the same.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Timers {
    /// T1, an estimate of the round-trip time; default 500 ms. Larger on slow links, smaller only in closed networks.
    pub t1: Duration,
    /// T2, the longest interval between repetitions of all but INVITE; default 4 s.
    pub t2: Duration,
    /// T4, how long a message stays in the network; default 5 s.
    pub t4: Duration,
}

impl Default for Timers {
    fn default() -> Self {
        Self { t1: Duration::from_millis(500), t2: Duration::from_secs(4), t4: Duration::from_secs(5) }
    }
}

impl Timers {
    /// Returns 64·T1: timers B, F, H, and L and M of RFC 6026, whatever the transport.
    #[must_use]
    pub const fn patience(&self) -> Duration {
        self.t1.saturating_mul(64)
    }

    /// Returns timer D: how long repetitions of a failure are acknowledged; 32 s at least over an unreliable transport.
    #[must_use]
    pub fn d(&self, transport: Transport) -> Duration {
        if transport.is_reliable() { Duration::ZERO } else { self.patience().max(Duration::from_secs(32)) }
    }

    /// Returns timers I and K: how long the last repetitions are absorbed.
    #[must_use]
    pub const fn absorb(&self, transport: Transport) -> Duration {
        if transport.is_reliable() { Duration::ZERO } else { self.t4 }
    }

    /// Returns timer J: how long requests are answered again.
    #[must_use]
    pub const fn j(&self, transport: Transport) -> Duration {
        if transport.is_reliable() { Duration::ZERO } else { self.patience() }
    }
}

//! The timers of a connection, and the clock they go by.

use core::time::Duration;

use virtual_time::Instant;

/// The timers of a connection: the time at which each is due.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Timers {
    pub(crate) retransmission: Option<Instant>,
    /// Tail loss probe (RFC 8985 §7).
    pub(crate) probe: Option<Instant>,
    /// The timer of RACK for reordered segments (RFC 8985 §6.2, step 5).
    pub(crate) reordering: Option<Instant>,
    pub(crate) acknowledgment: Option<Instant>,
    /// The time at which congestion control lets the next segment leave.
    pub(crate) pacing: Option<Instant>,
    pub(crate) time_wait: Option<Instant>,
}

impl Timers {
    pub(crate) fn next(&self) -> Option<Instant> {
        let Self { retransmission, probe, reordering, acknowledgment, pacing, time_wait } = *self;
        [retransmission, probe, reordering, acknowledgment, pacing, time_wait].into_iter().flatten().min()
    }
}

/// Returns the time `wait` later, on a clock that advances in ticks: counted from the last tick, and rounded
/// up. Zero ticks are exact.
pub(crate) fn later(now: Instant, wait: Duration, tick: Duration) -> Instant {
    let tick = u64::try_from(tick.as_nanos()).unwrap_or(u64::MAX);
    if tick == 0 {
        return now + wait;
    }
    let since_tick = now.as_nanos() % tick;
    let wait = u64::try_from(wait.as_nanos()).unwrap_or(u64::MAX);
    let ticks = wait.div_ceil(tick).saturating_mul(tick);
    now + Duration::from_nanos(ticks.saturating_sub(since_tick))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timers_expire_at_ticks_and_never_in_the_past() {
        let ms = Duration::from_millis;
        let at = Instant::from_millis;
        assert_eq!(later(at(9), ms(200), Duration::ZERO), at(209));
        assert_eq!(later(at(9), ms(200), ms(4)), at(208));
        assert_eq!(later(at(9), ms(201), ms(4)), at(212));
        assert_eq!(later(at(9), Duration::ZERO, ms(4)), at(9));
    }
}

//! Memory of the path: the best rate of two probing cycles, the shortest round trip of ten seconds, and how far acknowledgments
//! come in heaps.

use core::time::Duration;

use virtual_time::Instant;

use super::arithmetic::octets;

/// The best delivery rate of this cycle of probing and the one before.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct MaxBandwidth {
    /// Octets per second: the cycle before, and this one.
    cycles: [u64; 2],
}

impl MaxBandwidth {
    pub(crate) fn rate(&self) -> u64 {
        self.cycles[0].max(self.cycles[1])
    }

    pub(crate) fn on_sample(&mut self, rate: u64) {
        self.cycles[1] = self.cycles[1].max(rate);
    }

    /// A cycle is over: what was measured before it is forgotten, unless nothing was measured in it.
    pub(crate) fn advance(&mut self) {
        if self.cycles[1] > 0 {
            self.cycles = [self.cycles[1], 0];
        }
    }
}

/// The shortest round trip, and when it has to be looked for.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct RoundTrip {
    shortest: Option<(Duration, Instant)>,
    /// The shortest since the queue was last drained to measure it.
    candidate: Option<(Duration, Instant)>,
}

impl RoundTrip {
    pub(crate) fn shortest(&self) -> Option<Duration> {
        self.shortest.map(|(rtt, _)| rtt)
    }

    /// Takes in a round trip, if one was measured; returns whether none so short as the shortest was seen for five seconds.
    pub(crate) fn on_measured(&mut self, now: Instant, rtt: Option<Duration>) -> bool {
        let is_due = self.candidate.is_some_and(|(_, at)| now.since(at) > PROBE_INTERVAL);
        if let Some(rtt) = rtt
            && (is_due || self.candidate.is_none_or(|(least, _)| rtt < least))
        {
            self.candidate = Some((rtt, now));
        }
        let is_old = self.shortest.is_none_or(|(_, at)| now.since(at) > MEMORY);
        if let Some((rtt, at)) = self.candidate
            && (is_old || self.shortest.is_none_or(|(least, _)| rtt < least))
        {
            self.shortest = Some((rtt, at));
        }
        is_due
    }

    /// The queue was drained: nothing has to be looked for again soon.
    pub(crate) fn on_probed(&mut self, now: Instant) {
        if let Some((_, at)) = &mut self.candidate {
            *at = now;
        }
    }
}

/// Octets that come acknowledged in excess of what the rate explains: links and receivers that heap acknowledgments need as much more in flight.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Aggregation {
    begun: Instant,
    delivered: u64,
    /// The greatest excess of the last rounds and of those before, and in which round the first of these were counted.
    greatest: [u64; 2],
    since_round: u64,
}

impl Aggregation {
    /// Returns how much more than the rate explains came at once of late.
    pub(crate) fn octets(&self) -> u64 {
        self.greatest[0].max(self.greatest[1])
    }

    pub(crate) fn restart(&mut self, now: Instant) {
        (self.begun, self.delivered) = (now, 0);
    }

    /// Takes in what is acknowledged, in a round of this number; remembers the excess for `rounds` to twice as many.
    pub(crate) fn on_acknowledged(
        &mut self,
        (now, bytes): (Instant, u64),
        (rate, cwnd): (u64, u64),
        (round, rounds): (u64, u64),
    ) {
        let expected = octets(rate, now.since(self.begun));
        if self.delivered <= expected {
            self.restart(now);
        }
        self.delivered = self.delivered.saturating_add(bytes);
        let expected = octets(rate, now.since(self.begun));
        let excess = self.delivered.saturating_sub(expected).min(cwnd);
        if round.saturating_sub(self.since_round) >= rounds {
            self.greatest = [self.greatest[1], 0];
            self.since_round = round;
        }
        self.greatest[1] = self.greatest[1].max(excess);
    }
}

/// A round trip is remembered for so long (MinRTTFilterLen).
const MEMORY: Duration = Duration::from_secs(10);
/// The queue is drained when the shortest round trip was not seen for so long (ProbeRTTInterval).
const PROBE_INTERVAL: Duration = Duration::from_secs(5);

#[cfg(test)]
mod tests {
    use super::*;

    const fn ms(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    #[test]
    fn best_rate_lasts_for_two_cycles_and_a_cycle_without_samples_forgets_nothing() {
        let mut best = MaxBandwidth::default();
        best.on_sample(900);
        best.advance();
        best.on_sample(500);
        assert_eq!(best.rate(), 900);
        best.advance();
        assert_eq!(best.rate(), 500);
        best.advance();
        best.advance();
        assert_eq!(best.rate(), 500);
    }

    #[test]
    fn shortest_round_trip_is_looked_for_after_five_seconds_and_forgotten_after_ten() {
        let mut trip = RoundTrip::default();
        assert!(!trip.on_measured(Instant::from_millis(0), Some(ms(20))));
        assert!(!trip.on_measured(Instant::from_millis(5_000), Some(ms(30))));
        assert!(trip.on_measured(Instant::from_millis(5_001), Some(ms(30))));
        assert_eq!(trip.shortest(), Some(ms(20)));
        assert!(!trip.on_measured(Instant::from_millis(10_000), Some(ms(40))));
        assert_eq!(trip.shortest(), Some(ms(20)));
        trip.on_measured(Instant::from_millis(10_001), Some(ms(40)));
        assert_eq!(trip.shortest(), Some(ms(30)), "the shortest of the last five seconds takes its place");
    }

    /// By hand: 100 octets a millisecond, acknowledged 1000 at a time every 10 ms: a heap is in excess when it comes.
    #[test]
    fn heaps_count_as_far_as_the_rate_does_not_explain_them() {
        let mut heaps = Aggregation::default();
        for n in 0..50 {
            heaps.on_acknowledged((Instant::from_millis(10 * n), 1000), (100_000, 50_000), (n, 10));
        }
        assert_eq!(heaps.octets(), 1000);
        for n in 500..1000 {
            heaps.on_acknowledged((Instant::from_millis(n), 100), (100_000, 50_000), (n, 10));
        }
        assert_eq!(heaps.octets(), 100, "heaps that are over are forgotten");
    }
}

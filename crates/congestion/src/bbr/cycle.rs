//! The times at which the path is probed for more: every two to three seconds, and sooner where a flow of Reno would have grown back by then.

use core::time::Duration;

use virtual_time::Instant;

use super::random::Random;

/// The cycle of probing: drain, cruise, refill, probe.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cycle {
    /// The time at which this cycle began, with what the last probing left.
    begun: Instant,
    /// The time that passes before it probes.
    wait: Duration,
    /// Rounds since the last probing.
    rounds: u64,
    answers: Answers,
    /// Whether losses of what left while probing still say something about what the path holds.
    is_judged: bool,
    precaution: Precaution,
    /// Rounds of this probing.
    probing_rounds: u32,
    /// Octets by which the bound grows per window acknowledged.
    growth: u64,
    /// Growth not yet worth an octet: so many times 1/cwnd.
    credit: u64,
    random: Random,
}

/// The packets that acknowledgments answer now, as far as probing goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Answers {
    /// Nothing in particular.
    Any,
    /// Packets that left before the pipe was refilled.
    Refilling,
    /// Packets that left before the probing.
    Starting,
    /// Packets that left while probing.
    Feedback,
    /// Packets that left while probing, which is over.
    Stopping,
}

/// The lesson of the last probing for the next ("Precautionary Bandwidth Probing").
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Precaution {
    /// None: the next probing stays as long as it finds more.
    None,
    /// Too much was lost: the next one ends where the bound is reached.
    Due,
    /// The last probing ended there. Unless its answers tell of too much loss after all, the next one follows at once, without precaution.
    Taken,
}

impl Cycle {
    pub(crate) fn new(seed: u64) -> Self {
        Self {
            begun: Instant::EPOCH,
            wait: Duration::ZERO,
            rounds: 0,
            answers: Answers::Any,
            is_judged: false,
            precaution: Precaution::None,
            probing_rounds: 0,
            growth: 0,
            credit: 0,
            random: Random::new(seed),
        }
    }

    /// A round begins.
    pub(crate) fn on_round(&mut self) {
        self.rounds = self.rounds.saturating_add(1);
    }

    /// Probing is over, and the next is waited for: two to three seconds, and a round more or less.
    pub(crate) fn begin(&mut self, now: Instant) {
        self.rounds = self.random.below(now, 2);
        let millis = LEAST_WAIT_MS + self.random.below(now, SPREAD_MS + 1);
        (self.begun, self.wait) = (now, Duration::from_millis(millis));
        self.stop();
    }

    /// Packets that leave are no probes any more; those on their way still say something.
    pub(crate) fn stop(&mut self) {
        self.answers = Answers::Stopping;
    }

    /// Returns whether it is time to probe: the wait is over, or so many rounds have gone by in which a flow of Reno with `bdp_segments`
    /// in flight would have regained half of its window (at most 63).
    pub(crate) fn is_due(&self, now: Instant, bdp_segments: u64) -> bool {
        now.since(self.begun) > self.wait || self.rounds >= bdp_segments.min(RENO_ROUNDS_MAX)
    }

    /// The pipe is filled again, for a round, before it is probed.
    pub(crate) fn refill(&mut self) {
        self.answers = Answers::Refilling;
        if self.precaution == Precaution::Taken {
            self.precaution = Precaution::None;
        }
        (self.probing_rounds, self.credit) = (0, 0);
    }

    /// Probing begins, with this window.
    pub(crate) fn probe(&mut self, segment: u64) {
        self.answers = Answers::Starting;
        self.is_judged = true;
        self.accelerate(segment);
    }

    /// A round begins: returns whether all that left while probing has been answered for, so that a cycle of measurements is over.
    pub(crate) fn answered(&mut self) -> bool {
        match self.answers {
            Answers::Starting => {
                self.answers = Answers::Feedback;
                false
            }
            Answers::Stopping => {
                (self.answers, self.is_judged) = (Answers::Any, false);
                true
            }
            Answers::Any | Answers::Refilling | Answers::Feedback => false,
        }
    }

    /// Returns whether losses tell what the path holds.
    pub(crate) fn is_judged(&self) -> bool {
        self.is_judged
    }

    /// Too much was lost, so the path's room is known: further losses of this probing say the same.
    pub(crate) fn judged(&mut self) {
        (self.is_judged, self.precaution) = (false, Precaution::Due);
    }

    /// Returns whether this probing is not to stay where the one before lost too much.
    pub(crate) fn is_cautious(&self) -> bool {
        self.precaution == Precaution::Due
    }

    /// This probing has found all there is without too much loss, as far as is known.
    pub(crate) fn passed(&mut self) {
        self.precaution = Precaution::None;
    }

    /// This probing has reached the bound and does not stay.
    pub(crate) fn stopped_short(&mut self) {
        self.precaution = Precaution::Taken;
    }

    /// Returns whether precaution was needless, as is known once all that left while probing is answered for.
    pub(crate) fn goes_on(&self) -> bool {
        self.precaution == Precaution::Taken
    }

    /// Returns by how much the bound grows, of a window that is used, for so many octets acknowledged.
    pub(crate) fn grow(&mut self, bytes: u64, cwnd: u64) -> u64 {
        let cwnd = cwnd.max(1);
        let credit = self.credit.saturating_add(bytes.saturating_mul(self.growth.min(cwnd)));
        self.credit = credit % cwnd;
        credit / cwnd
    }

    /// The bound grows twice as fast in each round of a probing.
    pub(crate) fn accelerate(&mut self, segment: u64) {
        self.growth = segment.saturating_mul(1 << self.probing_rounds);
        self.probing_rounds = (self.probing_rounds + 1).min(DOUBLINGS_MAX);
    }
}

/// The shortest time between two probings, in milliseconds, and by how much more it is at most.
const LEAST_WAIT_MS: u64 = 2000;
const SPREAD_MS: u64 = 1000;
/// A flow of Reno that needs more rounds to regain its window is not waited for (25 Mbit/s at 30 ms).
const RENO_ROUNDS_MAX: u64 = 63;
const DOUBLINGS_MAX: u32 = 30;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn probing_is_due_after_two_to_three_seconds_or_the_rounds_of_reno() {
        let mut cycle = Cycle::new(1);
        let mut waits = Vec::new();
        for n in 0..1000 {
            cycle.begin(Instant::from_millis(n));
            waits.push(cycle.wait.as_millis());
            assert!(!cycle.is_due(Instant::from_millis(n + 1999), 3));
            assert!(cycle.is_due(Instant::from_millis(n + 3001), 3));
        }
        let (least, most) = (waits.iter().min().unwrap(), waits.iter().max().unwrap());
        assert!((2000..2020).contains(least) && (2981..=3000).contains(most), "{least} {most}");
        (0..63).for_each(|_| cycle.on_round());
        assert!(cycle.is_due(cycle.begun, 1_000_000), "63 rounds are the most");
    }

    #[test]
    fn bound_grows_by_a_segment_in_the_first_round_and_by_twice_as_much_in_each_further_one() {
        let mut cycle = Cycle::new(1);
        cycle.refill();
        cycle.probe(1000);
        for expected in [1000, 2000, 4000] {
            let grown: u64 = (0..100).map(|_| cycle.grow(1000, 100_000)).sum();
            assert_eq!(grown, expected);
            cycle.accelerate(1000);
        }
    }

    #[test]
    fn probing_after_one_that_lost_too_much_is_cautious_and_goes_on_only_if_it_lost_little() {
        let mut cycle = Cycle::new(1);
        cycle.probe(1000);
        assert!(!cycle.is_cautious());
        cycle.judged();
        assert!(cycle.is_cautious() && !cycle.goes_on());
        cycle.refill();
        assert!(cycle.is_cautious(), "the wait for the next one forgets nothing");
        cycle.stopped_short();
        assert!(!cycle.is_cautious() && cycle.goes_on());
        let mut late = cycle;
        late.judged();
        assert!(late.is_cautious() && !late.goes_on(), "its losses showed after its end");
        cycle.refill();
        assert!(!cycle.is_cautious() && !cycle.goes_on());
        cycle.passed();
        assert!(!cycle.goes_on());
    }

    #[test]
    fn answers_are_those_of_a_probing_from_the_second_round_to_the_one_after_it() {
        let mut cycle = Cycle::new(1);
        cycle.refill();
        assert!(!cycle.answered() && !cycle.is_judged());
        cycle.probe(1000);
        assert!(!cycle.answered() && cycle.is_judged());
        cycle.begin(Instant::EPOCH);
        assert!(cycle.is_judged() && cycle.answered() && !cycle.is_judged());
        assert!(!cycle.answered());
    }
}

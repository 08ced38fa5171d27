//! The random decisions about a packet: functions of the link's seed and of the packet's number alone.

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use std::time::Duration;
use virtual_time::Instant;

use crate::impairments::Impairments;
use crate::loss::{BurstChannel, ChannelState, Loss};
use crate::seed::{derive_seed, mix};

/// One random stream per purpose.
#[derive(Clone, Debug)]
pub(crate) struct Dice {
    loss: NumberedStream,
    transition: NumberedStream,
    jitter: NumberedStream,
    reorder: NumberedStream,
    duplicate: NumberedStream,
    corrupt: NumberedStream,
    queue: u64,
    channel: ChannelState,
    bursts: BurstChannel,
}

impl Dice {
    pub(crate) fn new(seed: u64) -> Self {
        let stream = |purpose| NumberedStream::new(derive_seed(seed, purpose));
        Self {
            loss: stream("loss"),
            transition: stream("transition"),
            jitter: stream("jitter"),
            reorder: stream("reorder"),
            duplicate: stream("duplicate"),
            corrupt: stream("corrupt"),
            queue: derive_seed(seed, "queue"),
            channel: ChannelState::default(),
            bursts: BurstChannel::new(derive_seed(seed, "bursts")),
        }
    }

    /// Returns whether packet `number`, offered at `now`, is lost.
    pub(crate) fn loses(&mut self, now: Instant, number: u64, model: &Loss) -> bool {
        match model {
            Loss::None => false,
            Loss::Bernoulli(p) => p.hits(self.loss.draw(number)),
            Loss::Bursts(model) => self.bursts.loses(now, *model, self.loss.draw(number)),
            Loss::GilbertElliott(chain) => {
                let draws = (self.loss.draw(number), self.transition.draw(number));
                let (is_lost, next) = chain.step(self.channel, draws.0, draws.1);
                self.channel = next;
                is_lost
            }
        }
    }

    /// Returns whether packet `number` is followed by a copy.
    pub(crate) fn duplicates(&mut self, number: u64, impairments: &Impairments) -> bool {
        impairments.duplicate.is_possible() && impairments.duplicate.hits(self.duplicate.draw(number))
    }

    /// Returns what a queue draws that drops at random.
    pub(crate) fn queue(&self, number: u64) -> u64 {
        mix(self.queue ^ mix(number))
    }

    /// Returns the number that a random queue draws for the copy of a packet.
    pub(crate) fn queue_copy(&self, number: u64) -> u64 {
        mix(self.queue(number))
    }

    /// Returns the random position of the bit that flips in packet `number`, if one does.
    pub(crate) fn corrupts(&mut self, number: u64, impairments: &Impairments) -> Option<u64> {
        if !impairments.corrupt.is_possible() {
            return None;
        }
        let draw = self.corrupt.draw(number);
        impairments.corrupt.hits(draw).then(|| mix(draw))
    }

    /// Returns whether packet `number` skips the delay.
    pub(crate) fn reorders(&mut self, number: u64, impairments: &Impairments) -> bool {
        impairments.reorder.is_possible() && impairments.reorder.hits(self.reorder.draw(number))
    }

    /// Returns the delay of packet `number`: uniform in `delay ± jitter`, to the nanosecond.
    pub(crate) fn delay(&mut self, number: u64, impairments: &Impairments) -> Duration {
        if impairments.jitter.is_zero() {
            return impairments.delay;
        }
        let spread = 2 * impairments.jitter.as_nanos() + 1;
        let share = (u128::from(self.jitter.draw(number)) * spread) >> 64;
        let earliest = impairments.delay.saturating_sub(impairments.jitter);
        earliest + Duration::from_nanos(u64::try_from(share).unwrap_or(u64::MAX))
    }
}

/// A random stream whose `n`-th number belongs to packet `n`.
///
/// It draws only when asked and then catches up, so that an impairment that is off costs nothing, and one that is
/// switched on in the middle of a run decides as if it had been on all the time.
#[derive(Clone, Debug)]
struct NumberedStream {
    rng: Xoshiro256PlusPlus,
    drawn: u64,
}

impl NumberedStream {
    fn new(seed: u64) -> Self {
        Self { rng: Xoshiro256PlusPlus::seed_from_u64(seed), drawn: 0 }
    }

    /// Returns the number of packet `number`, which must be larger than that of the call before.
    fn draw(&mut self, number: u64) -> u64 {
        debug_assert!(number > self.drawn, "a packet draws once");
        while self.drawn.saturating_add(1) < number {
            self.rng.next_u64();
            self.drawn += 1;
        }
        self.drawn = number;
        self.rng.next_u64()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_asked_late_has_caught_up() {
        let (mut early, mut late) = (NumberedStream::new(7), NumberedStream::new(7));
        let all: Vec<u64> = (1..=10).map(|number| early.draw(number)).collect();
        assert_eq!([late.draw(3), late.draw(4), late.draw(10)], [all[2], all[3], all[9]]);
    }

    #[test]
    fn jitter_covers_exactly_the_interval() {
        let millis = Duration::from_millis;
        let wan = Impairments { delay: millis(10), jitter: millis(10), ..Impairments::default() };
        let mut dice = Dice::new(1);
        let delays: Vec<Duration> = (1..=20_000).map(|number| dice.delay(number, &wan)).collect();
        let mean = delays.iter().sum::<Duration>() / 20_000;
        assert!(delays.iter().all(|delay| *delay <= millis(20)));
        assert!(
            delays.iter().any(|delay| *delay < millis(1)) && delays.iter().any(|delay| *delay > millis(19))
        );
        assert!(mean > Duration::from_micros(9_900) && mean < Duration::from_micros(10_100), "{mean:?}");
    }
}

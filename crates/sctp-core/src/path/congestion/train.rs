//! A train of packets that measures what a path carries, before data moves there or in its first round trip.
//!
//! ```text
//!   HEARTBEAT + PAD, ten at most, at once          HEARTBEAT ACKs, small
//!   ▮▮▮▮▮▮▮▮▮▮ ─────► bottleneck ─────► ▮ ▮ ▮ ▮ … ─────► peer ─────► │ │ │ │ …
//!                                                  rate = octets between the first and the last ÷ time between them
//! ```
//!
//! What others send at the same time makes it slower, and answers that come together make it faster than the path is: a window
//! from it is still one to be validated. A train is an initial window of RFC 6928 in number and octets; one path sends one a
//! second at most. Lost packets are neither errors of the path nor repeated.

use core::time::Duration;

use virtual_time::Instant;

/// The measurement of one path.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Train {
    stage: Stage,
    /// The time before which the next one does not go.
    rests_until: Instant,
}

/// What is known of a path by its train.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Measured {
    /// Nothing: none was sent, or too little came back.
    #[default]
    Nothing,
    /// Its answers are waited for.
    Soon,
    /// The rate at which packets came through, in octets per second; `u64::MAX` where they came at once.
    Rate(u64),
}

#[derive(Clone, Copy, Debug, Default)]
enum Stage {
    #[default]
    None,
    Due,
    Sent(Answers),
    Known {
        rate: Option<u64>,
        at: Instant,
    },
}

/// The answers to a train that is on its way.
#[derive(Clone, Copy, Debug)]
struct Answers {
    /// The nonce of the first packet; each other one has the next.
    first_nonce: u64,
    packets: u32,
    /// How many of them have left.
    sent: u32,
    packet_bytes: usize,
    /// A bit for each packet that was answered.
    answered: u32,
    /// When the first and the last answer came.
    between: Option<[Instant; 2]>,
    given_up_at: Instant,
}

impl Train {
    /// What the path carries is to be known, unless that is under way or was measured a moment before.
    pub(super) fn want(&mut self, now: Instant) {
        let is_needed = match self.stage {
            Stage::None => true,
            Stage::Known { at, .. } => now.since(at) > VALID,
            Stage::Sent(answers) => now >= answers.given_up_at,
            Stage::Due => false,
        };
        if is_needed {
            self.stage = Stage::Due;
        }
    }

    /// The network behind the path is another one: what was measured does not hold for it.
    pub(super) fn want_anew(&mut self) {
        self.stage = Stage::Due;
    }

    /// Returns whether a train, or what is left of it, is to leave now.
    #[inline]
    pub(super) fn is_due(&self, now: Instant) -> bool {
        match self.stage {
            Stage::None | Stage::Known { .. } => false,
            Stage::Due => now >= self.rests_until,
            Stage::Sent(answers) => answers.sent < answers.packets,
        }
    }

    /// Begins a train of packets of this size, unless one is leaving; returns whether it did. What has not come back after
    /// `patience` is lost.
    pub(super) fn begin(
        &mut self,
        now: Instant,
        first_nonce: u64,
        packet_bytes: usize,
        patience: Duration,
    ) -> bool {
        if !matches!(self.stage, Stage::Due) {
            return false;
        }
        let packets = packets_of(packet_bytes);
        let given_up_at = now + patience;
        self.rests_until = now + REST;
        self.stage = Stage::Sent(Answers {
            first_nonce,
            packets,
            sent: 0,
            packet_bytes,
            answered: 0,
            between: None,
            given_up_at,
        });
        true
    }

    /// The next packet leaves: returns its size and nonce.
    pub(super) fn next(&mut self) -> Option<(usize, u64)> {
        let Stage::Sent(answers) = &mut self.stage else { return None };
        let number = answers.sent;
        if number == answers.packets {
            return None;
        }
        answers.sent += 1;
        Some((answers.packet_bytes, answers.first_nonce.wrapping_add(u64::from(number))))
    }

    /// Takes in the nonce of a HEARTBEAT ACK; returns whether it answers a packet of the train that was not answered before.
    pub(super) fn on_answer(&mut self, now: Instant, nonce: u64) -> bool {
        let Stage::Sent(answers) = &mut self.stage else { return false };
        let place = nonce.wrapping_sub(answers.first_nonce);
        let is_new = place < u64::from(answers.sent) && answers.answered & (1 << place) == 0;
        if !is_new {
            return false;
        }
        answers.answered |= 1 << place;
        let first = answers.between.map_or(now, |[first, _]| first);
        answers.between = Some([first, now]);
        if answers.answered.count_ones() == answers.packets {
            self.stage = Stage::Known { rate: answers.rate(), at: now };
        }
        true
    }

    /// Returns what is known of the path by now.
    pub(super) fn measured(&self, now: Instant) -> Measured {
        let rate = match self.stage {
            Stage::None => None,
            Stage::Due => return Measured::Soon,
            Stage::Sent(answers) if now < answers.given_up_at => return Measured::Soon,
            Stage::Sent(answers) => answers.rate(),
            Stage::Known { at, .. } if now.since(at) > VALID => None,
            Stage::Known { rate, .. } => rate,
        };
        rate.map_or(Measured::Nothing, Measured::Rate)
    }
}

impl Answers {
    /// Returns the rate at which what was answered came through; `None` if that is less than half of what was sent.
    fn rate(&self) -> Option<u64> {
        let answered = self.answered.count_ones();
        let [first, last] = self.between.filter(|_| 2 * answered >= self.packets && answered > 1)?;
        let octets = u128::from(answered - 1) * self.packet_bytes as u128;
        let rate = (octets * 1_000_000_000).checked_div(last.since(first).as_nanos());
        Some(rate.and_then(|rate| u64::try_from(rate).ok()).unwrap_or(u64::MAX))
    }
}

/// Returns the number of packets of this size in a train.
pub(crate) fn packets_of(packet_bytes: usize) -> u32 {
    let fitting = u32::try_from(MOST_BYTES / packet_bytes.max(1)).unwrap_or(MOST_PACKETS);
    fitting.clamp(2, MOST_PACKETS)
}

/// The packets of a train, and their octets, at most: those of an initial window by RFC 6928 §2.
const MOST_PACKETS: u32 = 10;
const MOST_BYTES: usize = 14_600;
/// The time from one train of a path to the next, at least.
pub(crate) const REST: Duration = Duration::from_secs(1);
/// How long a measurement holds.
const VALID: Duration = Duration::from_secs(10);

#[cfg(test)]
mod tests {
    use super::*;

    const PATIENCE: Duration = Duration::from_millis(1000);
    const PACKET: usize = 1460;

    fn ms(ms: u64) -> Instant {
        Instant::from_millis(ms)
    }

    /// Sends what is due of a train whose packets have this size; returns how many those are.
    fn send(train: &mut Train, now: Instant, packet_bytes: usize) -> usize {
        let _is_new = train.begin(now, u64::MAX - 1, packet_bytes, PATIENCE);
        core::iter::from_fn(|| train.next()).count()
    }

    /// A train that left at 1000 ms.
    fn sent() -> Train {
        let mut train = Train::default();
        train.want(ms(1000));
        assert!(train.is_due(ms(1000)));
        assert_eq!(send(&mut train, ms(1000), PACKET), 10);
        assert!(!train.is_due(ms(1000)));
        train
    }

    /// Answers to these packets, ten milliseconds from place to place.
    fn answered(places: impl IntoIterator<Item = u64>) -> Train {
        let mut train = sent();
        for place in places {
            assert!(train.on_answer(ms(1200 + 10 * place), (u64::MAX - 1).wrapping_add(place)));
        }
        train
    }

    #[test]
    fn rate_is_what_came_between_the_first_answer_and_the_last() {
        let train = answered(0..10);
        assert_eq!(train.measured(ms(1300)), Measured::Rate(146_000));
        assert_eq!(train.measured(ms(1290) + VALID), Measured::Rate(146_000));
        assert_eq!(train.measured(ms(1291) + VALID), Measured::Nothing, "paths change");
    }

    #[test]
    fn answers_are_waited_for_and_what_is_lost_makes_the_path_slower() {
        assert_eq!(answered(0..9).measured(ms(1999)), Measured::Soon);
        assert_eq!(answered(0..9).measured(ms(2000)), Measured::Rate(146_000));
        assert_eq!(answered([0, 2, 4, 6, 8]).measured(ms(2000)), Measured::Rate(73_000));
        assert_eq!(answered([0, 2, 4, 6]).measured(ms(2000)), Measured::Nothing);
        assert_eq!(Train::default().measured(ms(2000)), Measured::Nothing);
    }

    #[test]
    fn only_its_own_packets_are_answered_and_each_once() {
        let mut train = sent();
        assert!(!train.on_answer(ms(1200), u64::MAX - 2));
        let mut leaving = Train::default();
        leaving.want(ms(1000));
        assert!(leaving.begin(ms(1000), 0, PACKET, PATIENCE));
        assert_eq!(leaving.next(), Some((PACKET, 0)));
        assert!(leaving.is_due(ms(1000)) && !leaving.begin(ms(1000), 0, PACKET, PATIENCE));
        assert!(!leaving.on_answer(ms(1000), 1), "it has not left yet");
        assert!(!train.on_answer(ms(1200), 8));
        assert!(train.on_answer(ms(1200), 7));
        assert!(!train.on_answer(ms(1200), 7));
        assert!(!Train::default().on_answer(ms(1200), 0));
    }

    #[test]
    fn answers_that_come_at_once_bound_nothing() {
        let mut train = sent();
        for place in 0..10 {
            assert!(train.on_answer(ms(1200), (u64::MAX - 1).wrapping_add(place)));
        }
        assert_eq!(train.measured(ms(1200)), Measured::Rate(u64::MAX));
    }

    #[test]
    fn trains_are_bounded_in_octets_and_one_goes_a_second_however_often_networks_change() {
        let mut train = Train::default();
        train.want_anew();
        assert_eq!(send(&mut train, ms(0), 9000), 2);
        let mut trains = 0;
        for tenth in 0..100 {
            let now = ms(tenth * 100);
            train.want_anew();
            if train.is_due(now) {
                assert_eq!(send(&mut train, now, PACKET), 10);
                trains += 1;
            }
        }
        assert_eq!(trains, 9);
        let mut known = answered(0..10);
        known.want(ms(3000));
        assert!(!known.is_due(ms(3000)), "it was measured a moment ago");
    }
}

//! The start-up of a path that data moves to, from what the application was carried elsewhere (after Careful Resume,
//! draft-ietf-tsvwg-careful-resume).
//!
//! | phase | begins when | the window |
//! |---|---|---|
//! | reconnaissance | data moves here | as slow start has it, until a round trip of this path is known |
//! | unvalidated | a round trip is known | as much as the application used within one, spread over it |
//! | validating | something sent since was acknowledged | what was in flight then, and what that brings |
//! | safe retreat | something of it is lost, or marked | half of what was acknowledged |
//!
//! What the path would have got from slow start it gets in any case: no window here is below the initial one. A path of
//! which data was acknowledged within the last seconds keeps the window it has. With a [`Train`] reconnaissance lasts until
//! what the path carries is known, too, and the window is that of a round trip at most; without an answer it is slow start.

use core::time::Duration;

use virtual_time::Instant;

use super::Acknowledged;
use super::train::{Measured, Train};

/// The octets that a path carried of late, in slots of time: how much an application uses.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Carried {
    /// Octets acknowledged in a slot, at the slot's number modulo their number.
    slots: [u32; SLOTS],
    /// The number of the last slot in which anything was acknowledged.
    last: u64,
    /// A bit for each slot, as above, in which the window held data back.
    limited: u32,
}

impl Carried {
    const NONE: Self = Self { slots: [0; SLOTS], last: 0, limited: 0 };

    fn add(&mut self, acked: &Acknowledged, is_limited: bool) {
        let number = slot(acked.now);
        let passed = number.saturating_sub(self.last).min(SLOTS as u64);
        for gone in 0..passed {
            self.slots[place(number - gone)] = 0;
            self.limited &= !bit(number - gone);
        }
        self.last = self.last.max(number);
        let bytes = u32::try_from(acked.bytes).unwrap_or(u32::MAX);
        let octets = &mut self.slots[place(self.last)];
        *octets = octets.saturating_add(bytes);
        if is_limited {
            self.limited |= bit(self.last);
        }
    }

    /// Returns the most octets that were acknowledged within any stretch of a round trip, to the next slot; half of that if the
    /// window held data back most of the time: such a sender would take whatever it gets.
    fn within(&self, round_trip: Duration) -> usize {
        let stretch = round_trip.as_nanos().div_ceil(u128::from(SLOT_NANOS)) + 1;
        let stretch = usize::try_from(stretch).unwrap_or(SLOTS).min(SLOTS);
        let in_order = |nth: usize| self.slots[(place(self.last) + 1 + nth) % SLOTS] as usize;
        let mut sum: usize = (0..stretch).map(in_order).sum();
        let mut most = sum;
        for next in stretch..SLOTS {
            sum = sum + in_order(next) - in_order(next - stretch);
            most = most.max(sum);
        }
        let used_slots = self.slots.iter().filter(|octets| **octets > 0).count();
        let is_limited = 2 * self.limited.count_ones() as usize > used_slots;
        if is_limited { most / 2 } else { most }
    }

    /// Returns when anything was carried last, to the slot.
    fn until(&self) -> Instant {
        Instant::EPOCH + Duration::from_nanos(self.last.saturating_mul(SLOT_NANOS))
    }

    /// Returns whether anything was carried.
    pub(crate) fn is_any(&self) -> bool {
        self.last > 0
    }

    /// Returns whether this path was in use until shortly before another one was last.
    fn is_as_recent_as(&self, other: &Self) -> bool {
        self.last > 0 && other.last.saturating_sub(self.last) < SLOTS as u64
    }
}

/// The start-up of one path.
#[derive(Clone, Debug)]
pub(super) struct Resume {
    most_bytes: usize,
    /// The measurement of the path, if one is asked for.
    train: Option<Train>,
    usage: Carried,
    /// What a start-up goes by.
    wanted: Carried,
    phase: Phase,
}

/// The phase of a start-up.
#[derive(Clone, Copy, Debug)]
enum Phase {
    /// The window is as the controller has it.
    Normal,
    /// A round trip of this path is not known, or not what it carries.
    Reconnaissance,
    /// Octets that were in flight when the window was enlarged: they say nothing about it.
    Unvalidated { before: usize },
    /// Octets acknowledged since the window was enlarged, and those of its flight that are still to be.
    Validating { acked: usize, left: usize },
}

impl Resume {
    pub(super) fn new(most_bytes: usize) -> Self {
        Self { most_bytes, train: None, usage: Carried::NONE, wanted: Carried::NONE, phase: Phase::Normal }
    }

    /// Creates the start-up of a path that is measured by a train before.
    pub(super) fn measured(most_bytes: usize) -> Self {
        Self { train: Some(Train::default()), ..Self::new(most_bytes) }
    }

    /// Returns the measurement of the path, if one is asked for.
    #[inline]
    pub(super) fn train(&self) -> Option<&Train> {
        self.train.as_ref()
    }

    pub(super) fn train_mut(&mut self) -> Option<&mut Train> {
        self.train.as_mut()
    }

    /// Returns what is wanted of the path: what it carried or, as long as a start-up is under way, what was carried before that.
    pub(super) fn usage(&self) -> &Carried {
        match self.phase {
            Phase::Normal => &self.usage,
            Phase::Reconnaissance | Phase::Unvalidated { .. } | Phase::Validating { .. } => &self.wanted,
        }
    }

    /// Data moves here from a path that was used like this; returns the window it begins with, if a round trip is known.
    pub(super) fn begin(&mut self, used: &Carried, srtt: Option<Duration>, cwnd: usize) -> Option<usize> {
        if !used.is_any() || self.usage.is_as_recent_as(used) {
            return None;
        }
        self.wanted = *used;
        self.phase = Phase::Reconnaissance;
        let now = used.until();
        if let Some(train) = &mut self.train {
            train.want(now);
        }
        self.resume(now, srtt?, (cwnd, 0))
    }

    /// The network behind the path is another one: what it carried before says what is wanted of it now.
    pub(super) fn begin_anew(&mut self) {
        self.wanted = *self.usage();
        self.usage = Carried::NONE;
        self.phase = Phase::Reconnaissance;
        if let Some(train) = self.train.as_mut().filter(|_| self.wanted.is_any()) {
            train.want_anew();
        }
    }

    /// A round trip of this path is known, and may be what it carries. A window that is large enough already is one as any.
    pub(super) fn resume(
        &mut self,
        now: Instant,
        srtt: Duration,
        (cwnd, flight): (usize, usize),
    ) -> Option<usize> {
        if !matches!(self.phase, Phase::Reconnaissance) || srtt.is_zero() {
            return None;
        }
        let carried = match self.train.map(|train| train.measured(now)) {
            None => usize::MAX,
            Some(Measured::Soon) => return None,
            Some(Measured::Nothing) => 0,
            Some(Measured::Rate(rate)) => octets_in(rate, srtt),
        };
        let octets = self.wanted.within(srtt).min(self.most_bytes).min(carried);
        let is_more = octets > cwnd;
        self.phase = if is_more { Phase::Unvalidated { before: flight } } else { Phase::Normal };
        is_more.then_some(octets)
    }

    /// A SACK acknowledged something; returns what becomes of the window.
    pub(super) fn on_acknowledged(
        &mut self,
        acked: &Acknowledged,
        is_limited: bool,
        cwnd: usize,
    ) -> Option<Step> {
        self.usage.add(acked, is_limited);
        match &mut self.phase {
            Phase::Normal => None,
            Phase::Reconnaissance if acked.in_recovery => {
                self.phase = Phase::Normal;
                None
            }
            Phase::Reconnaissance => {
                let flight = acked.flight_before.saturating_sub(acked.bytes);
                self.resume(acked.now, acked.srtt, (cwnd, flight)).map(Step::AtLeast)
            }
            Phase::Unvalidated { before } if acked.bytes <= *before => {
                *before -= acked.bytes;
                None
            }
            Phase::Unvalidated { before } => {
                let left = acked.flight_before.saturating_sub(acked.bytes);
                self.phase = Phase::Validating { acked: acked.bytes - *before, left };
                Some(Step::AtMost(acked.flight_before))
            }
            Phase::Validating { acked: so_far, left } => {
                *so_far += acked.bytes;
                *left = left.saturating_sub(acked.bytes);
                if *left == 0 {
                    self.phase = Phase::Normal;
                }
                None
            }
        }
    }

    /// Something was lost: returns the octets to retreat to, if the window may be more than the path carries.
    pub(super) fn on_loss(&mut self) -> Option<usize> {
        let acked = match core::mem::replace(&mut self.phase, Phase::Normal) {
            Phase::Normal | Phase::Reconnaissance => return None,
            Phase::Unvalidated { .. } => 0,
            Phase::Validating { acked, .. } => acked,
        };
        Some(acked / 2)
    }

    /// Returns whether nothing has come back of the enlarged window yet.
    #[inline]
    pub(super) fn is_unvalidated(&self) -> bool {
        matches!(self.phase, Phase::Unvalidated { .. })
    }
}

/// The change of the window that a start-up makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    AtLeast(usize),
    AtMost(usize),
}

/// Returns the octets that such a rate, in octets per second, brings within a time.
fn octets_in(rate: u64, time: Duration) -> usize {
    let octets = u128::from(rate) * time.as_nanos() / 1_000_000_000;
    usize::try_from(octets).unwrap_or(usize::MAX)
}

/// Returns the number of the slot that a time belongs to.
fn slot(now: Instant) -> u64 {
    now.as_nanos() / SLOT_NANOS
}

fn place(number: u64) -> usize {
    usize::try_from(number % SLOTS as u64).unwrap_or(0)
}

fn bit(number: u64) -> u32 {
    1 << place(number)
}

/// The stretch of time that a path's use is counted in: 50 ms.
const SLOT_NANOS: u64 = 50_000_000;
/// 1.6 s: round trips that are longer get what was used in this time.
const SLOTS: usize = 32;

#[cfg(test)]
mod tests {
    use super::*;

    const RTT: Duration = Duration::from_millis(200);
    /// 30 pictures a second of 30,000 octets.
    const PICTURE: usize = 30_000;
    /// The time at which data moves to the path.
    const MOVED: Instant = Instant::from_millis(4500);
    /// The window that the path has by itself.
    const WINDOW: usize = 4_380;

    fn acked(millis: u64, bytes: usize, flight_before: usize) -> Acknowledged {
        let now = Instant::from_millis(millis);
        Acknowledged { now, bytes, flight_before, srtt: RTT, ..Acknowledged::default() }
    }

    /// A path that carried pictures for three seconds.
    fn used(is_limited: bool) -> Resume {
        let mut resume = Resume::new(512 << 10);
        for picture in 0..90 {
            let step = resume.on_acknowledged(
                &acked(1000 + picture * 100 / 3, PICTURE, PICTURE),
                is_limited,
                WINDOW,
            );
            assert_eq!(step, None);
        }
        resume
    }

    /// A path that data has moved to, with the window it begins with.
    fn moved(most_bytes: usize) -> (Resume, Option<usize>) {
        let mut resume = Resume::new(most_bytes);
        let octets = resume.begin(used(false).usage(), Some(RTT), WINDOW);
        (resume, octets)
    }

    #[test]
    fn window_is_what_a_round_trip_used_and_a_slot_more() {
        let usage = *used(false).usage();
        // 250 ms of pictures, whenever they are cut off.
        assert_eq!(usage.within(RTT), 8 * PICTURE);
        assert_eq!(usage.within(Duration::from_millis(1)), 3 * PICTURE);
        assert_eq!(usage.within(Duration::from_secs(60)), 48 * PICTURE, "no more than is remembered");
        assert_eq!(used(true).usage().within(RTT), 4 * PICTURE);
        assert_eq!(moved(100_000).1, Some(100_000));
    }

    #[test]
    fn what_comes_back_first_bounds_the_window_to_what_was_in_flight() {
        let (mut resume, octets) = moved(512 << 10);
        assert_eq!(octets, Some(8 * PICTURE));
        assert!(resume.is_unvalidated());
        assert_eq!(
            resume.on_acknowledged(&acked(5000, 1000, 6 * PICTURE), false, WINDOW),
            Some(Step::AtMost(6 * PICTURE))
        );
        assert!(!resume.is_unvalidated());
        assert_eq!(
            resume.on_acknowledged(&acked(5010, 6 * PICTURE - 1000, 6 * PICTURE), false, WINDOW),
            None
        );
        assert_eq!(resume.on_loss(), None, "all of it has come back: a loss is one as any");
    }

    #[test]
    fn loss_leaves_half_of_what_came_back_once() {
        let (mut resume, _) = moved(512 << 10);
        let _bounded = resume.on_acknowledged(&acked(5000, 10_000, 6 * PICTURE), false, WINDOW);
        let _none = resume.on_acknowledged(&acked(5010, 10_000, 6 * PICTURE), false, WINDOW);
        assert_eq!(resume.on_loss(), Some(10_000));
        assert_eq!(resume.on_loss(), None);
        assert_eq!(moved(512 << 10).0.on_loss(), Some(0), "nothing came back");
    }

    #[test]
    fn path_whose_round_trip_is_not_known_begins_in_slow_start_and_goes_on_with_the_first_answer() {
        let mut resume = Resume::new(512 << 10);
        assert_eq!(resume.begin(used(false).usage(), None, WINDOW), None);
        assert_eq!(
            resume.on_acknowledged(&acked(5000, 1000, 4000), true, WINDOW),
            Some(Step::AtLeast(8 * PICTURE))
        );
        assert_eq!(
            resume.on_acknowledged(&acked(5001, 3000, 5000), true, 8 * PICTURE),
            None,
            "what was in flight before says nothing"
        );
        assert!(resume.is_unvalidated());
        assert_eq!(
            resume.on_acknowledged(&acked(5200, 1000, PICTURE), true, 8 * PICTURE),
            Some(Step::AtMost(PICTURE))
        );
        let mut lossy = Resume::new(512 << 10);
        let _unknown = lossy.begin(used(false).usage(), None, WINDOW);
        let recovering = Acknowledged { in_recovery: true, ..acked(5000, 1000, 4000) };
        assert_eq!(lossy.on_acknowledged(&recovering, true, WINDOW), None);
        assert_eq!(lossy.on_acknowledged(&acked(5010, 1000, 4000), true, WINDOW), None);
    }

    #[test]
    fn paths_of_which_nothing_or_enough_is_known_begin_with_what_they_have() {
        let mut unused = Resume::new(512 << 10);
        assert_eq!(unused.begin(Resume::new(1).usage(), Some(RTT), WINDOW), None);
        assert_eq!(
            used(false).begin(used(false).usage(), Some(RTT), WINDOW),
            None,
            "it was in use a moment ago"
        );
        let mut again = used(false);
        again.begin_anew();
        assert_eq!(
            again.on_acknowledged(&acked(5000, 1000, 4000), false, WINDOW),
            Some(Step::AtLeast(8 * PICTURE))
        );
    }

    #[test]
    fn window_that_is_large_enough_already_is_neither_bounded_nor_retreated_from() {
        let (mut resume, used) = (Resume::new(512 << 10), used(false));
        assert_eq!(resume.begin(used.usage(), Some(RTT), 8 * PICTURE), None);
        assert_eq!(resume.on_acknowledged(&acked(5000, 1000, 2000), false, 8 * PICTURE), None);
        assert_eq!(resume.on_loss(), None);
        let mut idle = Resume::new(512 << 10);
        idle.begin_anew();
        assert_eq!(idle.on_acknowledged(&acked(5000, 1000, 2000), false, WINDOW), None);
        assert_eq!(idle.on_loss(), None, "nothing was resumed");
    }

    /// A path that is measured and that data has moved to, whose train came back in so many milliseconds.
    fn measured_in(ms: u64) -> (Resume, Option<usize>) {
        let mut resume = Resume::measured(512 << 10);
        resume.train_mut().unwrap().want(Instant::from_millis(4000));
        let sent = Instant::from_millis(4000);
        assert!(resume.train_mut().unwrap().begin(sent, 7, 1460, Duration::from_secs(1)));
        for place in 0..10 {
            assert_eq!(resume.train_mut().unwrap().next(), Some((1460, 7 + place)));
        }
        for place in 0..10 {
            let now = Instant::from_millis(4200 + place * ms / 9);
            assert!(resume.train_mut().unwrap().on_answer(now, 7 + place));
        }
        let octets = resume.begin(used(false).usage(), Some(RTT), WINDOW);
        (resume, octets)
    }

    #[test]
    fn measured_path_begins_with_what_it_carries_and_no_more_than_is_wanted() {
        assert_eq!(measured_in(9).1, Some(8 * PICTURE));
        assert_eq!(measured_in(36).1, Some(73_000), "4 ms for a packet: 365 kB/s");
        let (mut narrow, octets) = measured_in(900);
        assert_eq!(octets, None, "2,920 octets in a round trip are less than the window");
        assert_eq!(narrow.on_loss(), None, "slow start is by its own rules");
    }

    #[test]
    fn path_whose_measurement_is_under_way_goes_on_with_it_and_without_answers_in_slow_start() {
        let mut resume = Resume::measured(512 << 10);
        assert_eq!(resume.begin(used(false).usage(), Some(RTT), WINDOW), None);
        assert!(resume.train().unwrap().is_due(MOVED));
        assert!(resume.train_mut().unwrap().begin(MOVED, 7, 1460, Duration::from_millis(300)));
        while resume.train_mut().unwrap().next().is_some() {}
        assert_eq!(resume.on_acknowledged(&acked(4700, 1000, 4000), true, WINDOW), None);
        let mut lost = resume.clone();
        assert_eq!(lost.on_acknowledged(&acked(4800, 1000, 4000), true, WINDOW), None);
        assert!(matches!(lost.phase, Phase::Normal));
        for place in 0..10 {
            let now = Instant::from_millis(4700 + place);
            assert!(resume.train_mut().unwrap().on_answer(now, 7 + place));
        }
        assert_eq!(resume.resume(Instant::from_millis(4709), RTT, (WINDOW, 0)), Some(8 * PICTURE));
    }
}

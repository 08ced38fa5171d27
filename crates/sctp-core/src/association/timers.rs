//! The timers of an association: which are running, which ran out.

use smallvec::SmallVec;
use virtual_time::Instant;

use crate::transmit::PathIndex;

/// Every reason for which an association wakes up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Timer {
    /// T1-init: INIT unanswered (RFC 9260 §5.1).
    T1Init,
    /// T1-cookie: COOKIE ECHO unanswered.
    T1Cookie,
    /// T2-shutdown: SHUTDOWN or SHUTDOWN ACK unanswered (RFC 9260 §9.2).
    T2Shutdown,
    /// T4-rto: ASCONF unanswered (RFC 5061 §5.1).
    T4Asconf,
    /// T5-shutdown-guard: the peer takes too little of what waits, or the shutdown takes too long (RFC 9260 §9.2).
    T5ShutdownGuard,
    /// SACK.Delay (RFC 9260 §6.2).
    SackDelay,
    /// The peer's window is closed: probe it (RFC 9260 §6.1 (A)).
    WindowProbe,
    /// A message that waits to be sent expires (RFC 3758 §4.1).
    Lifetime,
    /// A FORWARD TSN was not confirmed (RFC 3758 §3.5 (F3)).
    ForwardTsn,
    /// A chunk's reordering window runs out (RFC 8985 §6.2).
    Reordering,
    /// A RE-CONFIG request is unanswered (RFC 6525 §5.1.1).
    Reconfiguration,
    /// T3-rtx of a path.
    T3Rtx(PathIndex),
    /// Nothing heard on a path: tail-loss probe (RFC 8985 §7).
    TailLossProbe(PathIndex),
    /// A probe of the path MTU is unanswered, or the next search is due (RFC 8899 §5.1.1).
    PathMtu(PathIndex),
    /// Data that the windows allow waits for the packets before it to drain (RFC 9002 §7.7).
    Pacing(PathIndex),
    /// A path is idle: HEARTBEAT (RFC 9260 §8.3).
    Heartbeat(PathIndex),
    /// The association may be idle: close it (RFC 6458 §8.1.8).
    Autoclose,
    /// The peer may have acknowledged nothing for as long as the user allows.
    Persist,
}

impl Timer {
    /// Returns the place that the timer has of its own, if it is one of [`FREQUENT`].
    #[inline]
    const fn place(self) -> Option<usize> {
        match self {
            Self::SackDelay => Some(0),
            Self::Reordering => Some(1),
            Self::T3Rtx(PathIndex::FIRST) => Some(2),
            Self::TailLossProbe(PathIndex::FIRST) => Some(3),
            Self::T1Init
            | Self::T1Cookie
            | Self::T2Shutdown
            | Self::T4Asconf
            | Self::T5ShutdownGuard
            | Self::WindowProbe
            | Self::Lifetime
            | Self::ForwardTsn
            | Self::Reconfiguration
            | Self::T3Rtx(_)
            | Self::TailLossProbe(_)
            | Self::PathMtu(_)
            | Self::Pacing(_)
            | Self::Heartbeat(_)
            | Self::Autoclose
            | Self::Persist => None,
        }
    }

    /// Returns a bit for each kind, the same for all paths.
    #[inline]
    const fn kind(self) -> u32 {
        let number = match self {
            Self::T1Init => 0,
            Self::T1Cookie => 1,
            Self::T2Shutdown => 2,
            Self::T4Asconf => 3,
            Self::T5ShutdownGuard => 4,
            Self::SackDelay => 5,
            Self::WindowProbe => 6,
            Self::Lifetime => 7,
            Self::ForwardTsn => 8,
            Self::Reordering => 9,
            Self::Reconfiguration => 10,
            Self::T3Rtx(_) => 11,
            Self::TailLossProbe(_) => 12,
            Self::PathMtu(_) => 13,
            Self::Pacing(_) => 14,
            Self::Heartbeat(_) => 15,
            Self::Autoclose => 16,
            Self::Persist => 17,
        };
        1 << number
    }
}

/// The running timers. Few at a time, so a list beats a heap: nothing is allocated and nothing sorted. Those that packets of
/// data start and stop on the first path, which mostly is the only one, have places of their own, and are not looked for.
#[derive(Debug, Default)]
pub(crate) struct Timers {
    frequent: [Option<Instant>; FREQUENT.len()],
    others: SmallVec<[(Timer, Instant); 2]>,
    /// The kinds of the others, one bit each: most timers that are stopped or asked for do not run.
    kinds: u32,
    /// The earliest time a timer was started for or moved closer to: the time to wake up may have to be moved.
    closest: Option<Instant>,
}

/// The timers that have places of their own.
const FREQUENT: [Timer; 4] = [
    Timer::SackDelay,
    Timer::Reordering,
    Timer::T3Rtx(PathIndex::FIRST),
    Timer::TailLossProbe(PathIndex::FIRST),
];

impl Timers {
    /// Starts a timer, or sets it to another time.
    pub(crate) fn set(&mut self, timer: Timer, at: Instant) {
        match self.running_mut(timer) {
            Some(running) => {
                let before = core::mem::replace(running, at);
                if at < before {
                    self.note_closer(at);
                }
            }
            None => self.start(timer, at),
        }
    }

    #[inline]
    pub(crate) fn start_if_stopped(&mut self, timer: Timer, at: Instant) {
        if !self.is_running(timer) {
            self.start(timer, at);
        }
    }

    fn start(&mut self, timer: Timer, at: Instant) {
        match timer.place() {
            Some(place) => self.frequent[place] = Some(at),
            None => {
                self.others.push((timer, at));
                self.kinds |= timer.kind();
            }
        }
        self.note_closer(at);
    }

    #[inline]
    fn note_closer(&mut self, at: Instant) {
        self.closest = Some(self.closest.map_or(at, |closest| closest.min(at)));
    }

    #[inline]
    fn running_mut(&mut self, timer: Timer) -> Option<&mut Instant> {
        match timer.place() {
            Some(place) => self.frequent[place].as_mut(),
            None => self.position(timer).map(|index| &mut self.others[index].1),
        }
    }

    /// Returns where one stands that has no place of its own.
    #[inline]
    fn position(&self, timer: Timer) -> Option<usize> {
        if self.kinds & timer.kind() == 0 {
            return None;
        }
        self.others.iter().position(|(other, _)| *other == timer)
    }

    /// Returns the earliest time that a timer was started for or moved closer to since the last call. The timer
    /// may have been stopped since.
    #[inline]
    pub(crate) fn take_closest(&mut self) -> Option<Instant> {
        self.closest.take()
    }

    /// Sets or stops.
    #[inline]
    pub(crate) fn apply(&mut self, timer: Timer, at: Option<Instant>) {
        match at {
            Some(at) => self.set(timer, at),
            None => self.stop(timer),
        }
    }

    #[inline]
    pub(crate) fn stop(&mut self, timer: Timer) {
        if let Some(place) = timer.place() {
            self.frequent[place] = None;
        } else if let Some(index) = self.position(timer) {
            self.remove(index);
        }
    }

    fn remove(&mut self, index: usize) {
        self.others.swap_remove(index);
        self.kinds = self.others.iter().fold(0, |kinds, (timer, _)| kinds | timer.kind());
    }

    pub(crate) fn stop_all(&mut self) {
        self.frequent = Default::default();
        self.others.clear();
        self.kinds = 0;
    }

    #[inline]
    pub(crate) fn is_running(&self, timer: Timer) -> bool {
        self.at(timer).is_some()
    }

    #[inline]
    pub(crate) fn at(&self, timer: Timer) -> Option<Instant> {
        match timer.place() {
            Some(place) => self.frequent[place],
            None => self.position(timer).map(|index| self.others[index].1),
        }
    }

    fn running(&self) -> impl Iterator<Item = (Timer, Instant)> {
        let frequent = FREQUENT.into_iter().zip(self.frequent);
        frequent.filter_map(|(timer, at)| Some((timer, at?))).chain(self.others.iter().copied())
    }

    pub(crate) fn next(&self) -> Option<Instant> {
        let frequent =
            self.frequent.iter().map(|at| at.unwrap_or(Instant::MAX)).fold(Instant::MAX, Instant::min);
        let earliest = self.others.iter().map(|(_, at)| *at).fold(frequent, Instant::min);
        (earliest != Instant::MAX).then_some(earliest)
    }

    /// Takes the timer that ran out first; equal times in the order of [`Timer`], so that runs repeat.
    pub(crate) fn take_expired(&mut self, now: Instant) -> Option<Timer> {
        let expired = self.running().filter(|(_, at)| *at <= now).min_by_key(|(timer, at)| (*at, *timer));
        let timer = expired.map(|(timer, _)| timer)?;
        self.stop(timer);
        Some(timer)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    const PATH: PathIndex = PathIndex::FIRST;

    fn at(millis: u64) -> Instant {
        Instant::from_millis(millis)
    }

    #[test]
    fn timers_run_out_by_time_and_at_equal_times_in_a_fixed_order() {
        let mut timers = Timers::default();
        timers.set(Timer::Heartbeat(PATH), at(5));
        timers.set(Timer::T3Rtx(PATH), at(10));
        timers.set(Timer::T1Cookie, at(10));
        timers.set(Timer::SackDelay, at(11));
        assert_eq!(timers.next(), Some(at(5)));
        let expired: Vec<Timer> = core::iter::from_fn(|| timers.take_expired(at(10))).collect();
        assert_eq!(expired, [Timer::Heartbeat(PATH), Timer::T1Cookie, Timer::T3Rtx(PATH)]);
        assert_eq!(timers.next(), Some(at(11)));
    }

    #[test]
    fn each_frequent_timer_has_its_own_place() {
        let places = FREQUENT.map(Timer::place);
        assert_eq!(places, [Some(0), Some(1), Some(2), Some(3)]);
    }

    #[test]
    fn setting_moves_a_timer_and_starting_leaves_a_running_one_alone() {
        let mut timers = Timers::default();
        timers.start_if_stopped(Timer::SackDelay, at(10));
        timers.start_if_stopped(Timer::SackDelay, at(20));
        assert_eq!(timers.at(Timer::SackDelay), Some(at(10)));
        timers.set(Timer::SackDelay, at(30));
        assert_eq!(timers.next(), Some(at(30)));
        timers.apply(Timer::SackDelay, None);
        assert!(!timers.is_running(Timer::SackDelay) && timers.next().is_none());
    }

    #[test]
    fn only_what_is_due_earlier_than_before_is_told_of() {
        let mut timers = Timers::default();
        assert_eq!(timers.take_closest(), None);
        timers.set(Timer::T3Rtx(PATH), at(20));
        assert_eq!([timers.take_closest(), timers.take_closest()], [Some(at(20)), None]);
        timers.set(Timer::T3Rtx(PATH), at(30));
        timers.start_if_stopped(Timer::T3Rtx(PATH), at(10));
        timers.stop(Timer::SackDelay);
        assert_eq!(timers.take_closest(), None);
        timers.set(Timer::T3Rtx(PATH), at(29));
        timers.set(Timer::SackDelay, at(31));
        assert_eq!(timers.take_closest(), Some(at(29)));
    }

    const SOME: [Timer; 8] = [
        Timer::T2Shutdown,
        Timer::SackDelay,
        Timer::Reordering,
        Timer::T3Rtx(PATH),
        Timer::T3Rtx(PathIndex::new(1)),
        Timer::TailLossProbe(PATH),
        Timer::TailLossProbe(PathIndex::new(1)),
        Timer::Heartbeat(PATH),
    ];

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn timers_with_and_without_places_of_their_own_are_as_entries_of_a_map(
            calls in prop::collection::vec((0..5, prop::sample::select(&SOME[..]), 0..20_u64), 1..60),
        ) {
            let (mut timers, mut model) = (Timers::default(), BTreeMap::new());
            for (call, timer, millis) in calls {
                let (time, before) = (at(millis), model.get(&timer).copied());
                let mut closest = before.is_none_or(|before| time < before).then_some(time);
                match call {
                    0 => {
                        timers.set(timer, time);
                        model.insert(timer, time);
                    }
                    1 => {
                        timers.start_if_stopped(timer, time);
                        model.entry(timer).or_insert(time);
                        closest = closest.filter(|_| before.is_none());
                    }
                    2 | 3 => {
                        timers.apply(timer, None);
                        model.remove(&timer);
                        closest = None;
                    }
                    _ => {
                        let first = model.iter().map(|(timer, at)| (*at, *timer)).min();
                        let expired = first.filter(|(at, _)| *at <= time).map(|(_, timer)| timer);
                        prop_assert_eq!(timers.take_expired(time), expired);
                        expired.map(|timer| model.remove(&timer));
                        closest = None;
                    }
                }
                prop_assert_eq!(timers.take_closest(), closest);
                prop_assert_eq!(timers.next(), model.values().min().copied());
                prop_assert_eq!(SOME.map(|timer| timers.at(timer)), SOME.map(|timer| model.get(&timer).copied()));
            }
        }
    }

    #[test]
    fn timers_of_different_paths_are_different_timers() {
        let mut timers = Timers::default();
        timers.set(Timer::T3Rtx(PATH), at(10));
        timers.set(Timer::T3Rtx(PathIndex::new(1)), at(20));
        timers.stop(Timer::T3Rtx(PATH));
        assert_eq!(timers.take_expired(at(20)), Some(Timer::T3Rtx(PathIndex::new(1))));
        timers.set(Timer::T2Shutdown, at(1));
        timers.stop_all();
        assert_eq!(timers.take_expired(at(100)), None);
    }
}

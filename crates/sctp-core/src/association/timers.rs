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

/// The running timers. Few at a time, so a list beats a heap: nothing is allocated and nothing sorted.
#[derive(Debug, Default)]
pub(crate) struct Timers {
    running: SmallVec<[(Timer, Instant); 4]>,
    /// The kinds of those, one bit each: most timers that are stopped or asked for do not run.
    kinds: u32,
    /// The earliest time a timer was started for or moved closer to: the time to wake up may have to be moved.
    closest: Option<Instant>,
}

impl Timers {
    /// Starts a timer, or sets it to another time.
    pub(crate) fn set(&mut self, timer: Timer, at: Instant) {
        match self.position(timer) {
            Some(index) => {
                let before = core::mem::replace(&mut self.running[index].1, at);
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
        self.running.push((timer, at));
        self.kinds |= timer.kind();
        self.note_closer(at);
    }

    #[inline]
    fn note_closer(&mut self, at: Instant) {
        self.closest = Some(self.closest.map_or(at, |closest| closest.min(at)));
    }

    #[inline]
    fn position(&self, timer: Timer) -> Option<usize> {
        if self.kinds & timer.kind() == 0 {
            return None;
        }
        self.running.iter().position(|(running, _)| *running == timer)
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
        if let Some(index) = self.position(timer) {
            self.remove(index);
        }
    }

    fn remove(&mut self, index: usize) {
        self.running.swap_remove(index);
        self.kinds = self.running.iter().fold(0, |kinds, (timer, _)| kinds | timer.kind());
    }

    pub(crate) fn stop_all(&mut self) {
        self.running.clear();
        self.kinds = 0;
    }

    #[inline]
    pub(crate) fn is_running(&self, timer: Timer) -> bool {
        self.position(timer).is_some()
    }

    #[inline]
    pub(crate) fn at(&self, timer: Timer) -> Option<Instant> {
        self.position(timer).map(|index| self.running[index].1)
    }

    pub(crate) fn next(&self) -> Option<Instant> {
        self.running.iter().map(|(_, at)| *at).min()
    }

    /// Takes the timer that ran out first; equal times in the order of [`Timer`], so that runs repeat.
    pub(crate) fn take_expired(&mut self, now: Instant) -> Option<Timer> {
        let expired =
            self.running.iter().filter(|(_, at)| *at <= now).min_by_key(|(timer, at)| (*at, *timer));
        let timer = expired.map(|(timer, _)| *timer)?;
        self.stop(timer);
        Some(timer)
    }
}

#[cfg(test)]
mod tests {
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

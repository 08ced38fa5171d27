//! A watchdog: it wakes a thread when those whom it watches have not fed it for a while.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use rustix::time::{TimerfdClockId, TimerfdFlags, timerfd_create};
use virtual_time::Instant;

use crate::clock::Clock;
use crate::timer::fire_at;

/// A timer of the kernel's for which one thread waits, and which others put off.
///
/// Feeding it is a comparison; the timer is set anew only when most of the patience is over. So whoever feeds it often pays for few
/// system calls, and the thread that waits sleeps meanwhile. Once it has fired it rests until it is started or fed again.
#[derive(Debug)]
pub struct Watchdog {
    descriptor: OwnedFd,
    clock: Clock,
    patience: Duration,
    /// The time from which on feeding sets the timer anew, in nanoseconds of the clock.
    hungry_from: AtomicU64,
}

impl Watchdog {
    /// Creates a watchdog that rests; once started or fed it fires after `patience`.
    ///
    /// # Errors
    ///
    /// If the process has no file descriptors left.
    pub fn new(clock: Clock, patience: Duration) -> io::Result<Self> {
        let descriptor = timerfd_create(TimerfdClockId::Monotonic, TimerfdFlags::CLOEXEC)?;
        Ok(Self { descriptor, clock, patience, hungry_from: AtomicU64::new(0) })
    }

    /// Fires after the patience from now on.
    pub fn start(&self) {
        self.start_at(self.clock.now());
    }

    /// Puts it off, because somebody was at work at this time.
    #[inline]
    pub fn feed(&self, at: Instant) {
        if at.as_nanos() >= self.hungry_from.load(Ordering::Relaxed) {
            self.start_at(at);
        }
    }

    #[cold]
    fn start_at(&self, now: Instant) {
        let hungry_from = now + self.patience / 5 * 4;
        self.hungry_from.store(hungry_from.as_nanos(), Ordering::Relaxed);
        // Fails only if the descriptor were not a timer.
        let _ = fire_at(&self.descriptor, self.clock.kernel_time(now + self.patience));
    }

    /// Blocks until it fires; may return sooner.
    pub fn wait(&self) {
        // Fails only if a signal came.
        let _ = rustix::io::read(&self.descriptor, &mut [0; 8]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATIENCE: Duration = Duration::from_millis(5);

    /// Returns how long it takes to fire from now on.
    fn until_fired(clock: Clock, watchdog: &Watchdog) -> Duration {
        let before = clock.now();
        watchdog.wait();
        clock.now().since(before)
    }

    #[test]
    fn a_watchdog_fires_when_its_patience_is_over() {
        let clock = Clock::start();
        let watchdog = Watchdog::new(clock, PATIENCE).unwrap();
        for _ in 0..3 {
            let started = clock.now();
            watchdog.start();
            watchdog.wait();
            assert!(clock.now().since(started) >= PATIENCE);
        }
    }

    #[test]
    fn one_that_was_fed_is_put_off_only_when_most_of_its_patience_is_over() {
        let clock = Clock::start();
        let watchdog = Watchdog::new(clock, Duration::from_secs(3_600)).unwrap();
        watchdog.start();
        let hungry_from = || watchdog.hungry_from.load(Ordering::Relaxed);
        let before = hungry_from();
        watchdog.feed(Instant::from_nanos(before - 1));
        assert_eq!(hungry_from(), before);
        watchdog.feed(Instant::from_nanos(before));
        assert!(hungry_from() > before);
    }

    #[test]
    fn one_that_rests_fires_after_it_was_fed() {
        let clock = Clock::start();
        let watchdog = Watchdog::new(clock, PATIENCE).unwrap();
        watchdog.feed(clock.now() + PATIENCE);
        assert!(until_fired(clock, &watchdog) >= PATIENCE);
    }
}

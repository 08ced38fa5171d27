use rustix::event::{PollFd, PollFlags, poll};

use super::*;

/// Blocks until `timer` is readable; false after five seconds.
fn wait(timer: &Timer) -> bool {
    let five_seconds = Timespec { tv_sec: 5, tv_nsec: 0 };
    poll(&mut [PollFd::new(timer, PollFlags::IN)], Some(&five_seconds)).unwrap() == 1
}

#[test]
fn fires_after_its_deadline_and_within_a_fraction_of_a_millisecond() {
    let clock = Clock::start();
    let mut timer = Timer::new(clock).unwrap();
    let mut best = Duration::MAX;
    for _ in 0..20 {
        let deadline = clock.now() + Duration::from_micros(1_300);
        timer.arm(deadline).unwrap();
        assert!(wait(&timer));
        let fired = clock.now();
        assert!(fired >= deadline);
        assert!(timer.acknowledge().unwrap());
        best = best.min(fired.since(deadline));
    }
    // The best of twenty, because other programs may hold the processor during any one of them.
    assert!(best < Duration::from_micros(500), "late by {best:?}");
}

#[test]
fn an_earlier_deadline_replaces_a_later_one() {
    let clock = Clock::start();
    let mut timer = Timer::new(clock).unwrap();
    timer.arm(clock.now() + Duration::from_secs(3_600)).unwrap();
    timer.arm(clock.now() + Duration::from_micros(100)).unwrap();
    assert!(wait(&timer));
}

#[test]
fn a_later_deadline_fires_early_once() {
    let clock = Clock::start();
    let mut timer = Timer::new(clock).unwrap();
    let early = clock.now() + Duration::from_millis(1);
    timer.arm(early).unwrap();
    timer.arm(early + Duration::from_secs(3_600)).unwrap();
    assert!(wait(&timer));
    assert!(timer.acknowledge().unwrap());
    assert!(!timer.acknowledge().unwrap());
}

#[test]
fn a_deadline_in_the_past_fires_at_once() {
    let clock = Clock::start();
    let mut timer = Timer::new(clock).unwrap();
    timer.arm(Instant::EPOCH).unwrap();
    assert!(wait(&timer));
}

#[test]
fn one_that_is_set_anew_does_not_fire_for_the_time_before() {
    let clock = Clock::start();
    let mut timer = Timer::new(clock).unwrap();
    timer.arm(clock.now()).unwrap();
    assert!(wait(&timer));
    timer.set(clock.now() + Duration::from_secs(3_600)).unwrap();
    let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
    assert_eq!(poll(&mut [PollFd::new(&timer, PollFlags::IN)], Some(&at_once)).unwrap(), 0);
    assert!(!timer.acknowledge().unwrap());
    timer.arm(clock.now()).unwrap();
    assert!(wait(&timer));
}

//! A timer that wakes an event loop to the nanosecond the kernel can.
//!
//! Event loops round their own timers to a millisecond, which is longer than a round trip in a data centre and
//! coarse beside a delayed SACK. A timerfd has the resolution of the kernel's clock.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;

use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create, timerfd_settime,
};
use virtual_time::Instant;

use crate::clock::Clock;

/// A file descriptor that becomes readable at a deadline.
///
/// To [`arm`](Self::arm) it costs a system call only for an *earlier* deadline. Protocol deadlines mostly move later — every SACK
/// pushes the retransmission timer out — and then the timer is left alone: it fires once too early, the driver finds
/// nothing due and arms it again. So expect readiness before the deadline and check the clock. A driver that works shortly
/// before that [sets](Self::set) it anew instead, which is less work than being woken.
#[derive(Debug)]
pub struct Timer {
    descriptor: OwnedFd,
    clock: Clock,
    /// The time when the kernel will fire; `None` if it will not.
    fires_at: Option<Instant>,
}

impl Timer {
    /// Creates a timer that is not armed, for deadlines on `clock`.
    ///
    /// # Errors
    ///
    /// If the process has no file descriptors left.
    pub fn new(clock: Clock) -> io::Result<Self> {
        let flags = TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC;
        Ok(Self { descriptor: timerfd_create(TimerfdClockId::Monotonic, flags)?, clock, fires_at: None })
    }

    /// Makes the descriptor readable at `deadline` at the latest; a deadline in the past fires at once.
    ///
    /// # Errors
    ///
    /// None in practice; what the kernel says otherwise.
    pub fn arm(&mut self, deadline: Instant) -> io::Result<()> {
        if self.fires_at.is_some_and(|fires_at| fires_at <= deadline) {
            return Ok(());
        }
        self.set(deadline)
    }

    /// Makes the descriptor readable at `deadline` and not before, whatever it was armed for; it need not be acknowledged if it was
    /// readable already.
    ///
    /// # Errors
    ///
    /// None in practice; what the kernel says otherwise.
    pub fn set(&mut self, deadline: Instant) -> io::Result<()> {
        fire_at(&self.descriptor, self.clock.kernel_time(deadline))?;
        self.fires_at = Some(deadline);
        Ok(())
    }

    /// Makes the descriptor unreadable again after it became readable; returns whether the timer had fired.
    ///
    /// # Errors
    ///
    /// None in practice; what the kernel says otherwise.
    pub fn acknowledge(&mut self) -> io::Result<bool> {
        let mut expirations = [0; 8];
        match rustix::io::read(&self.descriptor, &mut expirations) {
            Ok(_) => {
                self.fires_at = None;
                Ok(true)
            }
            Err(rustix::io::Errno::AGAIN | rustix::io::Errno::INTR) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }
}

impl AsFd for Timer {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.descriptor.as_fd()
    }
}

/// Makes the descriptor of a timer readable at a time of the kernel's clock, and not before.
pub(crate) fn fire_at(descriptor: &OwnedFd, kernel_time: Duration) -> rustix::io::Result<()> {
    let value = Itimerspec {
        it_interval: Timespec { tv_sec: 0, tv_nsec: 0 },
        it_value: Timespec {
            tv_sec: i64::try_from(kernel_time.as_secs()).unwrap_or(i64::MAX),
            tv_nsec: i64::from(kernel_time.subsec_nanos()),
        },
    };
    timerfd_settime(descriptor, TimerfdTimerFlags::ABSTIME, &value).map(drop)
}

#[cfg(test)]
mod tests;

//! Waiting in nanoseconds under tokio, whose own timers round to a millisecond.

use std::io;
use std::os::fd::{AsFd, OwnedFd};

use sctp_io::{Clock, Timer};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use virtual_time::Instant;

/// An alarm clock for one task.
#[derive(Debug)]
pub(crate) struct Alarm {
    clock: Clock,
    timer: Timer,
    readiness: AsyncFd<OwnedFd>,
}

impl Alarm {
    /// Creates an alarm on this clock.
    ///
    /// # Errors
    /// The process has no file descriptors left.
    pub(crate) fn new(clock: Clock) -> io::Result<Self> {
        let timer = Timer::new(clock)?;
        let descriptor = timer.as_fd().try_clone_to_owned()?;
        // Deprecated for types whose descriptor may close behind tokio's back; an `OwnedFd` cannot do that.
        #[allow(deprecated)]
        let readiness = AsyncFd::with_interest(descriptor, Interest::READABLE)?;
        Ok(Self { clock, timer, readiness })
    }

    /// Returns the time on the clock.
    pub(crate) fn now(&self) -> Instant {
        self.clock.now()
    }

    /// Waits until `deadline`; for ever without one. May be dropped and called again.
    ///
    /// # Errors
    /// None in practice; what the kernel says otherwise.
    pub(crate) async fn until(&mut self, deadline: Option<Instant>) -> io::Result<()> {
        let Some(deadline) = deadline else { return std::future::pending().await };
        while self.clock.now() < deadline {
            self.timer.arm(deadline)?;
            let mut guard = self.readiness.readable().await?;
            self.timer.acknowledge()?;
            guard.clear_ready();
        }
        Ok(())
    }
}

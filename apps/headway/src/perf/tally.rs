//! Counting at the receiver, while several connections deliver.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use super::control::{Arrived, Interval};

/// The count of what has arrived so far, and when.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    begun_at: OnceLock<Instant>,
    messages: AtomicU64,
    octets: AtomicU64,
    wrong_length: AtomicU64,
    /// Nanoseconds from the beginning to the last message.
    last_ns: AtomicU64,
}

impl Tally {
    /// The first connection with messages is there; later calls change nothing.
    pub(crate) fn begin(&self) {
        self.begun_at.get_or_init(Instant::now);
    }

    /// Returns the time since the beginning; `None` before it.
    pub(crate) fn elapsed(&self) -> Option<Duration> {
        self.begun_at.get().map(Instant::elapsed)
    }

    /// Notes what one look at a connection brought.
    pub(crate) fn add(&self, arrived: Arrived, wrong_length: u64) {
        self.messages.fetch_add(arrived.messages, Ordering::Relaxed);
        self.octets.fetch_add(arrived.octets, Ordering::Relaxed);
        if wrong_length > 0 {
            self.wrong_length.fetch_add(wrong_length, Ordering::Relaxed);
        }
        let now = self.elapsed().map_or(0, |elapsed| u64::try_from(elapsed.as_nanos()).unwrap_or(u64::MAX));
        self.last_ns.fetch_max(now, Ordering::Relaxed);
    }

    pub(crate) fn arrived(&self) -> Arrived {
        Arrived {
            messages: self.messages.load(Ordering::Relaxed),
            octets: self.octets.load(Ordering::Relaxed),
        }
    }

    /// Returns the number of messages of another length than planned.
    pub(crate) fn wrong_length(&self) -> u64 {
        self.wrong_length.load(Ordering::Relaxed)
    }

    /// Returns the time from the beginning to the last message.
    pub(crate) fn duration(&self) -> Duration {
        Duration::from_nanos(self.last_ns.load(Ordering::Relaxed))
    }
}

/// Cuts a run into intervals.
#[derive(Debug, Default)]
pub(crate) struct Intervals {
    until: Duration,
    arrived: Arrived,
}

impl Intervals {
    /// Returns what arrived from the end of the last interval until `now`.
    pub(crate) fn cut(&mut self, now: Duration, arrived: Arrived) -> Interval {
        let interval = Interval::new(self.until, now, arrived.since(self.arrived));
        (self.until, self.arrived) = (now, arrived);
        interval
    }

    /// Returns the time at which the next interval begins.
    pub(crate) const fn until(&self) -> Duration {
        self.until
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_join_without_gap_or_overlap() {
        let mut intervals = Intervals::default();
        let first = intervals.cut(Duration::from_secs(1), Arrived { messages: 10, octets: 1_000 });
        let second = intervals.cut(Duration::from_secs(3), Arrived { messages: 14, octets: 1_400 });
        assert_eq!((first.start_s, first.end_s, first.messages_per_s), (0.0, 1.0, 10.0));
        assert_eq!((second.start_s, second.end_s, second.messages_per_s), (1.0, 3.0, 2.0));
    }

    #[test]
    fn nothing_is_counted_before_the_beginning_but_all_after_it() {
        let tally = Tally::default();
        assert_eq!(tally.elapsed(), None);
        tally.begin();
        tally.add(Arrived { messages: 2, octets: 20 }, 1);
        tally.add(Arrived { messages: 1, octets: 10 }, 0);
        assert_eq!(tally.arrived(), Arrived { messages: 3, octets: 30 });
        assert_eq!(tally.wrong_length(), 1);
        assert!(tally.elapsed().unwrap() >= tally.duration());
    }
}

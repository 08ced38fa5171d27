//! Counts questions and their answers: what is lost, what comes twice, what comes out of place, and how long nothing came.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

/// Numbered questions, of which each is to be answered once, in their order.
#[derive(Debug)]
pub(crate) struct Tally {
    asked: u32,
    /// The number of the answer that is due.
    due: u32,
    /// The numbers that were passed over, and have not come since.
    missing: BTreeSet<u32>,
    twice: u32,
    out_of_place: u32,
    last: Instant,
    /// The longest time without an answer, since the last [`take_gap`](Self::take_gap).
    gap: Duration,
}

impl Tally {
    pub(crate) fn new(now: Instant) -> Self {
        Self {
            asked: 0,
            due: 0,
            missing: BTreeSet::new(),
            twice: 0,
            out_of_place: 0,
            last: now,
            gap: Duration::ZERO,
        }
    }

    /// Returns the number of the next question.
    pub(crate) fn ask(&mut self) -> u32 {
        let number = self.asked;
        self.asked += 1;
        number
    }

    /// An answer has come. One to a question that was never asked counts as one that comes twice.
    pub(crate) fn answer(&mut self, now: Instant, number: u32) {
        self.gap = self.gap.max(now.duration_since(self.last));
        self.last = now;
        if self.missing.remove(&number) {
            self.out_of_place += 1;
        } else if (self.due..self.asked).contains(&number) {
            self.missing.extend(self.due..number);
            self.due = number + 1;
        } else {
            self.twice += 1;
        }
    }

    /// Returns the longest time without an answer, and begins to measure anew. A gap belongs to the time in which it ended.
    pub(crate) fn take_gap(&mut self) -> Duration {
        std::mem::take(&mut self.gap)
    }

    pub(crate) fn asked(&self) -> u32 {
        self.asked
    }

    pub(crate) fn answered(&self) -> u32 {
        self.asked - self.lost()
    }

    /// Returns how many questions have no answer, which is final at the end only.
    pub(crate) fn lost(&self) -> u32 {
        let passed_over = u32::try_from(self.missing.len()).unwrap_or(u32::MAX);
        (self.asked - self.due).saturating_add(passed_over)
    }

    pub(crate) fn twice(&self) -> u32 {
        self.twice
    }

    pub(crate) fn out_of_place(&self) -> u32 {
        self.out_of_place
    }
}

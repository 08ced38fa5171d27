//! The times at which pinholes open, are refreshed, and end (S4): openings and call durations exponential, a
//! refresh every period.

use core::time::Duration;
use std::collections::BTreeMap;

use simco::PolicyRuleId;
use virtual_time::Instant;
use workload::{ArrivalsError, ExponentialSpans};

use crate::numbers::whole;

/// The request on a pinhole that falls due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Due {
    Open,
    Refresh(PolicyRuleId),
    Delete(PolicyRuleId),
}

/// The load of study S4 in its long run: as many pinholes stand at the beginning as there are in the mean.
#[derive(Debug)]
pub(super) struct Calls {
    openings: ExponentialSpans,
    durations: ExponentialSpans,
    ages: ExponentialSpans,
    standing: u32,
    /// The largest number of standing pinholes that are played: those that fall due first.
    most: usize,
    schedule: BTreeMap<(Instant, u64), Due>,
    /// The times at which calls end, by pinhole.
    ends: BTreeMap<PolicyRuleId, Instant>,
    newest: u64,
    until: Instant,
}

impl Calls {
    /// Creates the calls with `interval` between two transactions in the mean.
    pub(super) fn new(interval: Duration, seed: u64) -> Result<Self, ArrivalsError> {
        let part = |label| netem::derive_seed(seed, label);
        Ok(Self {
            openings: ExponentialSpans::new(opening_interval(interval), part("openings"))?,
            durations: ExponentialSpans::new(CALL, part("durations"))?,
            ages: ExponentialSpans::new(CALL, part("ages"))?,
            standing: standing(interval),
            most: usize::MAX,
            schedule: BTreeMap::new(),
            ends: BTreeMap::new(),
            newest: 0,
            until: Instant::EPOCH,
        })
    }

    /// Returns the calls of a run of so many transactions, which touches no more pinholes than that: the rest
    /// is left out.
    pub(super) fn at_most(mut self, pinholes: u32) -> Self {
        self.most = usize::try_from(pinholes).unwrap_or(usize::MAX);
        self
    }

    /// Calls go on from `start`; none opens after `duration`.
    pub(super) fn begin(&mut self, start: Instant, duration: Duration) {
        self.until = start + duration;
        // An exponential life has no memory: what is left of one is as long as a new one, and so is what has passed, from
        // which refreshes count.
        let drawn = (0..self.standing).map(|_| {
            let end = start + self.durations.next_span();
            let since_refresh = self.ages.next_span().as_secs_f64() % REFRESH.as_secs_f64();
            (start + REFRESH.saturating_sub(Duration::from_secs_f64(since_refresh)), end)
        });
        let mut drawn: Vec<(Instant, Instant)> = drawn.collect();
        if drawn.len() > self.most {
            let due = |(refresh, end): &(Instant, Instant)| *refresh.min(end);
            drawn.select_nth_unstable_by_key(self.most, due);
            drawn.truncate(self.most);
            drawn.sort_unstable_by_key(due);
        }
        for (number, (refresh, end)) in (1..).zip(drawn) {
            let rule = PolicyRuleId::new(number);
            self.ends.insert(rule, end);
            self.refresh_or_delete(rule, refresh);
        }
        self.next_opening(start);
    }

    /// Returns the next thing that is due, and when.
    pub(super) fn pop(&mut self) -> Option<(Instant, Due)> {
        let ((at, _), due) = self.schedule.pop_first()?;
        match due {
            Due::Open => self.next_opening(at),
            Due::Refresh(rule) => self.refresh_or_delete(rule, at + REFRESH),
            Due::Delete(rule) => {
                self.ends.remove(&rule);
            }
        }
        Some((at, due))
    }

    /// A pinhole that was to be opened `at` is there.
    pub(super) fn opened(&mut self, at: Instant, rule: PolicyRuleId) {
        self.ends.insert(rule, at + self.durations.next_span());
        self.refresh_or_delete(rule, at + REFRESH);
    }

    fn next_opening(&mut self, after: Instant) {
        let at = after + self.openings.next_span();
        if at < self.until {
            self.put(at, Due::Open);
        }
    }

    fn refresh_or_delete(&mut self, rule: PolicyRuleId, refresh: Instant) {
        let Some(end) = self.ends.get(&rule).copied() else { return };
        let (at, due) = if refresh < end { (refresh, Due::Refresh(rule)) } else { (end, Due::Delete(rule)) };
        if at < self.until {
            self.put(at, due);
        }
    }

    fn put(&mut self, at: Instant, due: Due) {
        self.newest += 1;
        self.schedule.insert((at, self.newest), due);
    }
}

/// Returns the number of pinholes in the long run: openings per second times the mean call duration.
pub(super) fn standing(interval: Duration) -> u32 {
    let mean = CALL.as_secs_f64() / opening_interval(interval).as_secs_f64();
    whole(mean.round())
}

/// Returns the time between two openings: a pinhole takes an opening, a deletion, and as many refreshes as
/// periods fit in its call, 1/(exp(L/h) − 1) in the mean (S4 (2) has h/L − 1/2, its first terms).
fn opening_interval(interval: Duration) -> Duration {
    let refreshes = 1.0 / (REFRESH.as_secs_f64() / CALL.as_secs_f64()).exp_m1();
    interval.mul_f64(2.0 + refreshes)
}

/// h: the mean call of S4.
const CALL: Duration = Duration::from_secs(180);
/// L: the refresh period of S4.
const REFRESH: Duration = Duration::from_secs(120);

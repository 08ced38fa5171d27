//! The times at which to connect anew: waits that double, shortened at random so that agents of one middlebox
//! do not come all at once.

use core::time::Duration;

use virtual_time::Instant;

use super::Agent;
use super::event::{AgentCloseReason, AgentEvent};
use crate::codepoints::NegativeCode;

/// How an agent comes back when its session is over without its doing.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Reconnection {
    /// The wait before the first attempt; each further wait is twice as long. Default 0.5 s.
    pub first: Duration,
    /// No wait is longer, and a session that lasted as long lets the next outage begin with `first` again. Default 30 s.
    pub longest: Duration,
    /// The largest share by which a wait is shortened at random. Default 0.5.
    pub jitter: f64,
    /// How long an attempt may take until its session is open. Default 10 s.
    pub patience: Duration,
}

impl Default for Reconnection {
    fn default() -> Self {
        Self {
            first: Duration::from_millis(500),
            longest: Duration::from_secs(30),
            jitter: 0.5,
            patience: Duration::from_secs(10),
        }
    }
}

impl Reconnection {
    /// Returns the wait before an attempt, counted from 1; `dice` is from 0 to 1.
    fn wait(&self, attempt: u32, dice: f64) -> Duration {
        let doubled = 1_u32.checked_shl(attempt.saturating_sub(1)).unwrap_or(u32::MAX);
        let wait = self.first.saturating_mul(doubled).min(self.longest);
        wait.mul_f64((1.0 - self.jitter.clamp(0.0, 1.0) * dice).clamp(0.0, 1.0))
    }
}

/// The agent's attempts to connect anew.
#[derive(Debug, Default)]
pub(super) struct Attempts {
    /// The number of attempts since a session lasted.
    made: u32,
    opened_at: Option<Instant>,
    ended: Option<AgentCloseReason>,
}

impl Attempts {
    pub(super) fn opened(&mut self, now: Instant) {
        self.opened_at = Some(now);
    }

    pub(super) fn ended(&mut self, reason: AgentCloseReason) {
        self.ended = Some(reason);
    }
}

impl Agent {
    /// Returns how long to wait before connecting anew: to be asked after [`AgentEvent::Closed`], and after
    /// each attempt to connect that failed; [`AgentEvent::Reconnecting`] tells it, too. `None` if there is to
    /// be no further attempt: none are wanted, the user has ended the session, or its end is none that time
    /// mends.
    pub fn next_attempt(&mut self, now: Instant) -> Option<Duration> {
        let reconnection = self.settings.reconnection?;
        if !self.attempts.ended.is_some_and(may_pass) {
            return None;
        }
        let lasted = self.attempts.opened_at.take().map(|at| now.since(at));
        if lasted.is_some_and(|span| span >= reconnection.longest) {
            self.attempts.made = 0;
        }
        self.attempts.made = self.attempts.made.saturating_add(1);
        let (attempt, dice) = (self.attempts.made, self.nonces.fraction());
        let after = reconnection.wait(attempt, dice);
        self.events.push_back(AgentEvent::Reconnecting { attempt, after });
        Some(after)
    }
}

/// Returns whether another attempt can end otherwise.
const fn may_pass(reason: AgentCloseReason) -> bool {
    match reason {
        AgentCloseReason::Lost
        | AgentCloseReason::TerminatedByMiddlebox
        | AgentCloseReason::BadlyFormed(_)
        | AgentCloseReason::OutOfPlace => true,
        // Resources come back; rights, versions and streams do not.
        AgentCloseReason::Refused(code) => matches!(code, NegativeCode::LackOfResources),
        AgentCloseReason::Terminated
        | AgentCloseReason::OtherVersion(_)
        | AgentCloseReason::NotAuthenticated
        | AgentCloseReason::NoCredentials => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_up_to_the_longest_and_are_shortened_by_the_dice() {
        let reconnection = Reconnection::default();
        let waits =
            |dice| [1, 2, 6, 7, 40, u32::MAX].map(|attempt| reconnection.wait(attempt, dice).as_millis());
        assert_eq!(waits(0.0), [500, 1000, 16_000, 30_000, 30_000, 30_000]);
        assert_eq!(waits(1.0), [250, 500, 8000, 15_000, 15_000, 15_000]);
    }
}

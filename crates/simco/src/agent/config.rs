//! The settings of an agent, which its user decides.

use core::time::Duration;

use super::reconnection::Reconnection;
use crate::auth::Key;
use crate::rule::Owner;

/// Configuration of an agent.
#[derive(Clone, Debug, Default)]
pub struct AgentSettings {
    /// The identity and key of the agent; `None`, the default, for middleboxes that do not ask. With
    /// credentials the middlebox has to prove that it has the key, too.
    pub credentials: Option<Credentials>,
    /// The time at which rules that are held are refreshed.
    pub refresh: Refresh,
    /// Whether to ask for rules of earlier sessions when a session opens. Default: if some are known.
    pub resynchronisation: Resynchronisation,
    /// How to come back when a session is over without the agent's doing. Default `None`: its end is the end.
    pub reconnection: Option<Reconnection>,
}

/// An identity and the key that proves it.
#[derive(Clone, Debug)]
pub struct Credentials {
    /// The identity the middlebox knows.
    pub identity: Owner,
    /// The key it shares with the middlebox.
    pub key: Key,
}

/// The time at which a rule that is held is refreshed by a lifetime change (PLC).
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Refresh {
    /// How often; `None`, the default, goes by the lifetime alone.
    pub period: Option<Duration>,
    /// The latest moment, as a share of the lifetime granted. Default 0.5: one refresh may get lost.
    pub latest: f64,
    /// The share of the span by which a refresh may come earlier, at random, so that rules made together are
    /// not refreshed together. Default 0.1.
    pub jitter: f64,
}

impl Default for Refresh {
    fn default() -> Self {
        Self { period: None, latest: 0.5, jitter: 0.1 }
    }
}

impl Refresh {
    /// Returns how long to wait with a rule that has `lifetime` left; `dice` is from 0 to 1.
    pub(crate) fn wait(&self, lifetime: Duration, dice: f64) -> Duration {
        let latest = lifetime.mul_f64(self.latest.clamp(0.0, 1.0));
        let span = self.period.map_or(latest, |period| period.min(latest));
        span.mul_f64((1.0 - self.jitter.clamp(0.0, 1.0) * dice).clamp(0.0, 1.0))
    }
}

/// Whether to ask for rules of earlier sessions when a session opens.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Resynchronisation {
    /// The agent asks only if it knows rules of an earlier session.
    #[default]
    IfRulesAreKnown,
    /// Always: an agent that has been restarted.
    Always,
    /// The agent never asks which rules there are.
    Never,
}

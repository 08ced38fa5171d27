//! The record of a call: who, when, how long, why it ended. A line of JSON each.

use std::time::Duration;

use serde_json::{Value, json};
use virtual_time::Instant;

/// The record of one call, which is written down when the call has ended.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Record {
    /// The URI of the caller, as it says.
    pub from: String,
    /// The URI that the caller has called.
    pub to: String,
    /// The Call-ID of the caller's leg.
    pub call_id: String,
    /// The time at which the INVITE came.
    pub began: Instant,
    /// The time at which the answer was passed on.
    pub answered: Option<Instant>,
    /// The time at which the call ended.
    pub ended: Option<Instant>,
    /// The status that the caller was told; 0 if none.
    pub status: u16,
    /// The reason why the call ended, in a word or two.
    pub cause: &'static str,
    /// Pinholes that were opened.
    pub pinholes: u32,
    /// How long the firewall held back the answer (study S4's R).
    pub firewall_delay: Duration,
    /// The time from the INVITE to the answer, as the caller sees it.
    pub setup: Option<Duration>,
}

impl Record {
    /// Creates the record of a call that begins.
    #[must_use]
    pub const fn new(now: Instant, from: String, to: String, call_id: String) -> Self {
        Self {
            from,
            to,
            call_id,
            began: now,
            answered: None,
            ended: None,
            status: 0,
            cause: "",
            pinholes: 0,
            firewall_delay: Duration::ZERO,
            setup: None,
        }
    }

    /// Returns the line of the record; `unix_s` is the time of the wall clock at the end, for people.
    #[must_use]
    pub fn line(&self, unix_s: f64) -> Value {
        let ended = self.ended.unwrap_or(self.began);
        let talked = self.answered.map(|answered| ended.since(answered).as_secs_f64());
        json!({
            "unix_s": unix_s,
            "call_id": self.call_id,
            "from": self.from,
            "to": self.to,
            "status": self.status,
            "cause": self.cause,
            "duration_s": ended.since(self.began).as_secs_f64(),
            "talked_s": talked,
            "setup_s": self.setup.map(|setup| setup.as_secs_f64()),
            "firewall_ms": self.firewall_delay.as_secs_f64() * 1e3,
            "pinholes": self.pinholes,
        })
    }
}

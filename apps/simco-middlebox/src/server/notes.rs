//! The notes on what happens, in log, metrics and audit log: who, from where, in which session; and not without
//! end.

use std::collections::BTreeMap;
use std::time::{Duration, Instant as SystemInstant};

use serde_json::json;
use simco::middlebox::{Connection, MiddleboxEvent, SessionId};
use virtual_time::Instant;

use super::{Server, name};
use crate::audit;

/// An agent at the far end of a connection.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Peer {
    address: String,
    /// The name of the agent, once there is a session.
    agent: Option<String>,
}

impl Peer {
    pub(super) fn new(connection: &Connection) -> Self {
        Self { address: connection.peer.to_string(), agent: None }
    }
}

/// Bounds the lines of each kind: some a second, and the next one tells how many were left out.
#[derive(Debug, Default)]
pub(super) struct Throttle(BTreeMap<&'static str, Lines>);

#[derive(Debug)]
struct Lines {
    since: SystemInstant,
    count: u32,
    left_out: u64,
}

impl Throttle {
    /// Returns whether a line may be written: how many of its kind were left out before it.
    pub(super) fn admits(&mut self, kind: &'static str) -> Option<u64> {
        self.admits_at(SystemInstant::now(), kind)
    }

    fn admits_at(&mut self, now: SystemInstant, kind: &'static str) -> Option<u64> {
        let lines = self.0.entry(kind).or_insert(Lines { since: now, count: 0, left_out: 0 });
        if now.saturating_duration_since(lines.since) >= PERIOD {
            (lines.since, lines.count) = (now, 0);
        }
        if lines.count >= LINES {
            lines.left_out += 1;
            return None;
        }
        lines.count += 1;
        Some(std::mem::take(&mut lines.left_out))
    }
}

impl Server {
    pub(super) fn note(&mut self, now: Instant, event: MiddleboxEvent) {
        match event {
            MiddleboxEvent::Opened { session, agent } => {
                self.counters.sessions_opened += 1;
                if let Some(peer) = self.peers.get_mut(&session) {
                    peer.agent = Some(agent.to_string());
                }
                self.say("session_opened", session, "");
            }
            MiddleboxEvent::AuthenticationFailed { session, claimed } => {
                self.counters.authentication_failures += 1;
                let claimed = claimed.map(|owner| owner.to_string()).unwrap_or_default();
                self.say("authentication_failed", session, &claimed);
            }
            MiddleboxEvent::Refused { session, request, code } => {
                let number = 0x0300 | u16::from(code.get());
                *self.counters.refusals.entry(number).or_default() += 1;
                self.say("refused", session, &format!("{request:?}: 0x{number:04X} {code:?}"));
            }
            MiddleboxEvent::Changed { by, change } => {
                *self.counters.changes.entry(audit::kind(&change)).or_default() += 1;
                let address = by.as_ref().and_then(|(session, _)| self.peers.get(session));
                self.audit.note(now, by.as_ref(), address.map(|peer| peer.address.as_str()), &change);
            }
            MiddleboxEvent::FilterFailed { error } => {
                self.counters.filter_failures += 1;
                if let Some(left_out) = self.throttle.admits("filter_failed") {
                    tracing::error!(%error, left_out, "the packet filter failed; nothing was changed");
                }
            }
            MiddleboxEvent::Close { session, reason } => {
                *self.counters.closed.entry(name(reason)).or_default() += 1;
                self.say("connection_closed", session, name(reason));
                // What is queued still leaves.
                self.writers.remove(&session);
                self.peers.remove(&session);
            }
        }
    }

    /// A line in the log and in the audit log.
    fn say(&mut self, event: &'static str, session: SessionId, detail: &str) {
        let Some(left_out) = self.throttle.admits(event) else { return };
        let peer = self.peers.get(&session);
        let address = peer.map(|peer| peer.address.as_str());
        let agent = peer.and_then(|peer| peer.agent.as_deref());
        let session = session.get();
        let (words, some) = (event.replace('_', " "), (left_out > 0).then_some(left_out));
        match detail {
            "" => tracing::info!(session, address, agent, left_out = some, "{words}"),
            detail => tracing::info!(session, address, agent, left_out = some, "{words}: {detail}"),
        }
        let detail = json!({
            "session": session, "address": address, "agent": agent, "what": detail, "left_out": left_out,
        });
        self.audit.note_event(event, &detail);
    }
}

const PERIOD: Duration = Duration::from_secs(1);
/// The most lines of a kind, in a period.
const LINES: u32 = 50;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_beyond_the_bound_are_left_out_and_counted() {
        let (mut throttle, start) = (Throttle::default(), SystemInstant::now());
        for _ in 0..LINES {
            assert_eq!(throttle.admits_at(start, "refused"), Some(0));
        }
        for _ in 0..7 {
            assert_eq!(throttle.admits_at(start, "refused"), None);
        }
        assert_eq!(throttle.admits_at(start, "closed"), Some(0));
        assert_eq!(throttle.admits_at(start + PERIOD, "refused"), Some(7));
        assert_eq!(throttle.admits_at(start + PERIOD, "refused"), Some(0));
    }
}

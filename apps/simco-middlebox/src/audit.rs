//! The audit log: who changed what, and when; a line of JSON each.

use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::json;
use simco::filter::{Change, RemovalCause};
use simco::middlebox::SessionId;
use simco::{Direction, Owner, Pinhole, PolicyRule, RuleKind};
use virtual_time::Instant;

/// An audit log, or none.
#[derive(Debug)]
pub(crate) struct Audit(Option<BufWriter<File>>);

impl Audit {
    /// Creates the audit that writes nothing.
    pub(crate) const fn none() -> Self {
        Self(None)
    }

    /// Appends to a file.
    pub(crate) fn open(path: Option<&Path>) -> io::Result<Self> {
        let open = |path: &Path| OpenOptions::new().create(true).append(true).open(path);
        Ok(Self(path.map(open).transpose()?.map(BufWriter::new)))
    }

    /// Writes a change down. The wall clock is for people; nothing is decided by it.
    pub(crate) fn note(
        &mut self,
        now: Instant,
        by: Option<&(SessionId, Owner)>,
        address: Option<&str>,
        change: &Change,
    ) {
        if self.0.is_none() {
            return;
        }
        let Some(rule) = change.after().or_else(|| change.before()) else { return };
        self.write(&json!({
            "unix_s": unix_s(),
            "agent": by.map(|(_, agent)| agent.to_string()),
            "address": address,
            "session": by.map(|(session, _)| session.get()),
            "change": kind(change),
            "pid": rule.id.get(),
            "owner": rule.owner.to_string(),
            "lifetime_s": rule.remaining(now).as_secs(),
            "rule": purpose(rule),
        }));
    }

    /// Writes down what became of the packet filter, or of the daemon.
    pub(crate) fn note_event(&mut self, event: &str, detail: &serde_json::Value) {
        self.write(&json!({ "unix_s": unix_s(), "event": event, "detail": detail }));
    }

    fn write(&mut self, line: &serde_json::Value) {
        let Some(file) = &mut self.0 else { return };
        if let Err(error) = writeln!(file, "{line}") {
            tracing::error!(%error, "the audit log cannot be written");
        }
    }

    /// Hands what is written to the system.
    pub(crate) fn flush(&mut self) {
        let Some(file) = &mut self.0 else { return };
        if let Err(error) = file.flush() {
            tracing::error!(%error, "the audit log cannot be written");
        }
    }
}

/// Returns the word for a change, in the audit log and in the metrics.
pub(crate) const fn kind(change: &Change) -> &'static str {
    match change {
        Change::Insert(_) => "inserted",
        Change::Replace { .. } => "enabled",
        Change::Lifetime { .. } => "lifetime",
        Change::Remove { cause: RemovalCause::Deleted, .. } => "deleted",
        Change::Remove { cause: RemovalCause::Expired, .. } => "expired",
        Change::Remove { cause: RemovalCause::Disabled, .. } => "disabled",
        Change::Remove { cause: RemovalCause::Administrative, .. } => "removed",
    }
}

fn unix_s() -> f64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0.0, |since| since.as_secs_f64())
}

/// Returns what a rule does: `203.0.113.9:*/udp -> 10.1.8.3:12345/udp`.
pub(crate) fn purpose(rule: &PolicyRule) -> String {
    match &rule.kind {
        RuleKind::Reserve(reservation) => format!("reserves {}", reservation.outside),
        RuleKind::Enable(Pinhole { internal, external, outside, translation, parameters, .. }) => {
            let way = match parameters.direction {
                Direction::Inbound => format!("{external} -> {internal}"),
                Direction::Outbound => format!("{internal} -> {external}"),
                Direction::BiDirectional => format!("{internal} <-> {external}"),
            };
            if translation.is_some() { format!("{way} as {outside}") } else { way }
        }
        RuleKind::Disable(blockade) => format!("blocks {} <-> {}", blockade.internal, blockade.external),
    }
}

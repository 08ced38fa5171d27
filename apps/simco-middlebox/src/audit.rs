//! The audit log: who changed what, and when; a line of JSON each.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::json;
use simco::filter::{Change, RemovalCause};
use simco::middlebox::SessionId;
use simco::{Direction, Owner, Pinhole, PolicyRule, RuleKind};
use virtual_time::Instant;

/// The audit log: lines that wait, and the file they go to once it is open. What cannot be written, on a full disk
/// for instance, waits within a bound; lines beyond it are lost whole, counted, and the first line behind them says how many.
#[derive(Debug)]
pub(crate) struct Audit {
    file: Option<File>,
    /// Lines are kept, if only for a file that is not open yet.
    is_wanted: bool,
    /// Whole lines, but for the first one, part of which may have been written.
    waiting: Vec<u8>,
    /// Lines lost since a line could be kept.
    gap: u64,
    /// Lines lost since the start.
    lost: u64,
    is_failing: bool,
}

/// Opens a file to append to; `None` stays none.
pub(crate) fn open(path: Option<&Path>) -> io::Result<Option<File>> {
    path.map(|path| OpenOptions::new().create(true).append(true).open(path)).transpose()
}

impl Audit {
    /// Creates an audit log without a file yet, which keeps its lines if it is wanted.
    pub(crate) const fn new(is_wanted: bool) -> Self {
        Self { file: None, is_wanted, waiting: Vec::new(), gap: 0, lost: 0, is_failing: false }
    }

    /// Goes on in another file, or nowhere; what waits is written to the old file if it can be, else to the new one.
    pub(crate) fn go_on_in(&mut self, file: Option<File>) {
        self.flush();
        if file.is_none() {
            self.waiting.clear();
        }
        (self.is_wanted, self.file) = (file.is_some(), file);
        self.flush();
    }

    /// Returns the number of lines lost since the start.
    pub(crate) const fn lost(&self) -> u64 {
        self.lost
    }

    /// Writes a change down. The wall clock is for people; nothing is decided by it.
    pub(crate) fn note(
        &mut self,
        now: Instant,
        by: Option<&(SessionId, Owner)>,
        address: Option<&str>,
        change: &Change,
    ) {
        if !self.is_wanted {
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
        if !self.is_wanted {
            return;
        }
        if self.waiting.len() >= MOST_WAITING {
            self.flush();
        }
        if self.waiting.len() >= MOST_WAITING {
            (self.gap, self.lost) = (self.gap + 1, self.lost + 1);
            return;
        }
        if self.gap > 0 {
            let gap =
                json!({ "unix_s": unix_s(), "event": "audit_lines_lost", "detail": { "lines": self.gap } });
            self.waiting.extend(format!("{gap}\n").bytes());
            self.gap = 0;
        }
        self.waiting.extend(format!("{line}\n").bytes());
    }

    /// Hands what is written to the system. The first failure is said, and the end of it.
    pub(crate) fn flush(&mut self) {
        let Some(file) = &mut self.file else { return };
        while !self.waiting.is_empty() {
            match file.write(&self.waiting) {
                Ok(written) => drop(self.waiting.drain(..written)),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => {
                    if !self.is_failing {
                        tracing::error!(%error, "the audit log cannot be written; lines wait, and some may be lost");
                    }
                    self.is_failing = true;
                    return;
                }
            }
        }
        if self.is_failing {
            self.is_failing = false;
            tracing::warn!(lost = self.lost, "the audit log is written again");
        }
    }
}

/// The octets of lines that may wait for the file.
const MOST_WAITING: usize = 1 << 20;

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

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;

    /// A file of a test, which goes with it.
    struct Place(PathBuf);

    impl Place {
        fn new(name: &str) -> Self {
            Self(std::env::temp_dir().join(format!("simco-audit-{name}-{}", std::process::id())))
        }

        fn open(&self) -> Option<File> {
            open(Some(&self.0)).unwrap()
        }

        fn lines(&self) -> Vec<serde_json::Value> {
            let text = std::fs::read_to_string(&self.0).unwrap();
            text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
        }
    }

    impl Drop for Place {
        fn drop(&mut self) {
            let _ = std::fs::remove_file(&self.0);
        }
    }

    #[test]
    fn lines_wait_while_the_disk_is_full_and_those_beyond_the_bound_are_counted() {
        let place = Place::new("full");
        let mut audit = Audit::new(true);
        audit.note_event("before", &json!(null));
        audit.go_on_in(open(Some(Path::new("/dev/full"))).unwrap());
        for number in 0..20_000 {
            audit.note_event("tried", &json!({ "number": number, "padding": "x".repeat(60) }));
            audit.flush();
        }
        assert!(audit.waiting.len() < MOST_WAITING + 200);
        let lost = audit.lost();
        assert!((1..20_000).contains(&lost), "{lost}");
        audit.go_on_in(place.open());
        audit.note_event("after", &json!(null));
        audit.flush();
        let lines = place.lines();
        assert_eq!(lines.len() as u64, 1 + 20_000 - lost + 2);
        assert_eq!(lines[0]["event"], "before");
        let [gap, after] = &lines[lines.len() - 2..] else { panic!() };
        assert_eq!((&gap["event"], &gap["detail"]["lines"]), (&json!("audit_lines_lost"), &json!(lost)));
        assert_eq!(after["event"], "after");
    }

    #[test]
    fn without_a_file_nothing_is_kept() {
        let mut audit = Audit::new(false);
        audit.note_event("before", &json!(null));
        assert!(audit.waiting.is_empty());
        let place = Place::new("none");
        audit.go_on_in(place.open());
        audit.note_event("now", &json!(null));
        audit.go_on_in(None);
        audit.note_event("no more", &json!(null));
        audit.flush();
        assert_eq!(place.lines().len(), 1);
    }
}

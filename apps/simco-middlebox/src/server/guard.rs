//! Looking after the packet filter: what others do to it is noticed, said and mended; interfaces that it names and that
//! are gone are noticed and said.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use nft_filter::Damage;
use serde_json::json;
use tokio::time::{Interval, MissedTickBehavior, interval};

use super::{Server, now};

/// The time at which to look next, and what is wrong.
#[derive(Debug)]
pub(super) struct Guard {
    due: Interval,
    /// Attempts to mend that have failed since the damage was found.
    failures: u32,
    /// The operator has taken the table away: nothing is mended.
    pub(super) is_off: bool,
    /// The interfaces of the protected network that were not there when last looked for.
    pub(super) missing: BTreeSet<String>,
    /// Looks until interfaces are looked for again.
    looks: u32,
}

impl Guard {
    pub(super) fn new() -> Self {
        let mut due = interval(PERIOD);
        due.set_missed_tick_behavior(MissedTickBehavior::Delay);
        Self { due, failures: 0, is_off: false, missing: BTreeSet::new(), looks: 0 }
    }

    /// Waits until it is time to look.
    pub(super) async fn due(&mut self) {
        self.due.tick().await;
    }

    /// Returns whether nobody has tried to mend what is damaged; what has failed once is tried again when it is
    /// time to look.
    pub(super) const fn is_first_attempt(&self) -> bool {
        self.failures == 0
    }
}

impl Server {
    /// Looks whether the packet filter is as we left it, and now and then whether the interfaces it names are there.
    pub(super) fn look_after_filter(&mut self) {
        match self.guard.looks.checked_sub(1) {
            Some(left) => self.guard.looks = left,
            None => {
                self.guard.looks = LOOKS_TO_INTERFACES;
                self.look_for_interfaces();
            }
        }
        if self.guard.is_off {
            return;
        }
        match self.middlebox.filter_mut().inspect() {
            Ok(None) => {}
            Ok(Some(_)) => self.mend_filter(),
            Err(error) => tracing::warn!(%error, "whether the packet filter is whole cannot be known"),
        }
    }

    /// Says which interfaces of the protected network have gone and come since the last time: the table filters by
    /// name, so nothing is filtered on one that was renamed.
    fn look_for_interfaces(&mut self) {
        let Ok(missing) = self.settings.filter.missing_interfaces() else { return };
        let missing: BTreeSet<String> = missing.into_iter().map(str::to_owned).collect();
        for name in missing.difference(&self.guard.missing) {
            tracing::error!(
                interface = name,
                "an interface of filter.inside is not there: if it was renamed, its packets pass unfiltered"
            );
            self.audit.note_event("interface_missing", &json!({ "interface": name }));
        }
        for name in self.guard.missing.difference(&missing) {
            tracing::warn!(interface = name, "an interface of filter.inside is there again, and filtered");
            self.audit.note_event("interface_back", &json!({ "interface": name }));
        }
        self.guard.missing = missing;
        self.audit.flush();
    }

    /// Writes the packet filter anew.
    pub(super) fn mend_filter(&mut self) {
        let Some(damage) = self.middlebox.filter().damage().filter(|_| !self.guard.is_off) else { return };
        if self.guard.failures == 0 {
            *self.counters.filter_damages.entry(name(damage)).or_default() += 1;
            tracing::error!("the packet filter was changed by somebody else: {damage}; it is written anew");
            self.audit.note_event("filter_damaged", &json!(damage.to_string()));
        }
        let rules: Vec<_> = self.middlebox.rules().map(Arc::clone).collect();
        match self.middlebox.filter_mut().rewrite(now(), &rules) {
            Ok(()) => {
                self.guard.failures = 0;
                tracing::warn!(rules = rules.len(), "the packet filter is written anew");
                self.audit.note_event("filter_rewritten", &json!({ "rules": rules.len() }));
            }
            Err(error) => {
                if self.guard.failures.is_multiple_of(FAILURES_TO_A_LINE) {
                    let failures = self.guard.failures + 1;
                    tracing::error!(%error, failures, "the packet filter cannot be written anew; it is tried again");
                }
                self.guard.failures = self.guard.failures.saturating_add(1);
            }
        }
        self.audit.flush();
    }
}

const fn name(damage: Damage) -> &'static str {
    match damage {
        Damage::Missing => "missing",
        Damage::Changed => "changed",
        Damage::Incomplete => "incomplete",
    }
}

/// The name under which systemd keeps the socket that owns the table.
pub(super) const DESCRIPTOR: &str = "table";
/// The period of looks: what others do is mended within a tenth of a second; looking costs the kernel some
/// microseconds.
const PERIOD: Duration = Duration::from_millis(25);
/// The number of looks at the filter for one at the interfaces: a second.
const LOOKS_TO_INTERFACES: u32 = 40;
/// The number of failures for a line in the log: ten seconds.
const FAILURES_TO_A_LINE: u32 = 400;

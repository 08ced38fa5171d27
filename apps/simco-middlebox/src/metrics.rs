//! Counters, and the page that Prometheus reads (text format 0.0.4).

use std::collections::BTreeMap;

use daemon::Page;

/// The counters of what has happened since the start.
#[derive(Clone, Debug, Default)]
pub(crate) struct Counters {
    /// Changes of rules by their kind.
    pub(crate) changes: BTreeMap<&'static str, u64>,
    /// Refused requests by their code.
    pub(crate) refusals: BTreeMap<u16, u64>,
    /// Connections closed, by the reason.
    pub(crate) closed: BTreeMap<&'static str, u64>,
    pub(crate) sessions_opened: u64,
    pub(crate) authentication_failures: u64,
    pub(crate) filter_failures: u64,
    /// How often the packet filter was damaged by others, by the kind of damage.
    pub(crate) filter_damages: BTreeMap<&'static str, u64>,
    pub(crate) turned_away: u64,
}

/// How things stand.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Gauges {
    pub(crate) rules: usize,
    pub(crate) sessions: usize,
    pub(crate) connections: usize,
    /// The interfaces of the protected network that are not there, in number.
    pub(crate) missing_interfaces: usize,
    /// The packet filter is as we left it.
    pub(crate) is_filter_whole: bool,
    /// Lines of the audit log that were lost.
    pub(crate) audit_lost: u64,
    /// The operator lets everything pass, or no packet is touched.
    pub(crate) is_open: bool,
}

impl Counters {
    /// Returns the page.
    pub(crate) fn page(&self, gauges: Gauges) -> String {
        let mut page = Page::default();
        page.plain("simco_rules", "gauge", "Policy rules alive.", gauges.rules);
        page.plain("simco_sessions", "gauge", "Open sessions.", gauges.sessions);
        page.plain(
            "simco_connections",
            "gauge",
            "Connections, with a session or not yet.",
            gauges.connections,
        );
        page.plain(
            "simco_filter_whole",
            "gauge",
            "1 if the packet filter is as the daemon wrote it; 0: nothing is granted.",
            u8::from(gauges.is_filter_whole),
        );
        page.plain(
            "simco_filter_open",
            "gauge",
            "1 if everything passes: the operator wants it, or there is no packet filter.",
            u8::from(gauges.is_open),
        );
        page.plain(
            "simco_inside_missing",
            "gauge",
            "Interfaces of filter.inside that are not there; packets of one that was renamed pass unfiltered.",
            gauges.missing_interfaces,
        );
        let damages = self.filter_damages.iter().map(|(kind, count)| ((*kind).to_owned(), *count));
        page.labelled(
            "simco_filter_damages_total",
            "Times that others have changed the packet filter and it was written anew.",
            "kind",
            damages,
        );
        page.plain("simco_sessions_opened_total", "counter", "Sessions opened.", self.sessions_opened);
        let failures = self.authentication_failures;
        page.plain(
            "simco_authentication_failures_total",
            "counter",
            "Agents that did not prove who they are.",
            failures,
        );
        let failures = self.filter_failures;
        page.plain("simco_filter_failures_total", "counter", "Calls the packet filter refused.", failures);
        let lost = gauges.audit_lost;
        page.plain("simco_audit_lost_total", "counter", "Lines of the audit log that were lost.", lost);
        let away = self.turned_away;
        page.plain("simco_turned_away_total", "counter", "Connections beyond a host's share.", away);
        let refusals = self.refusals.iter().map(|(code, count)| (format!("0x{code:04X}"), *count));
        page.labelled("simco_refusals_total", "Requests refused, by negative reply.", "code", refusals);
        let changes = self.changes.iter().map(|(kind, count)| ((*kind).to_owned(), *count));
        page.labelled("simco_changes_total", "Changes of policy rules.", "kind", changes);
        let closed = self.closed.iter().map(|(reason, count)| ((*reason).to_owned(), *count));
        page.labelled("simco_closed_total", "Connections closed by the middlebox.", "reason", closed);
        page.into_text()
    }
}

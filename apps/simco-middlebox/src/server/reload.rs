//! SIGHUP: what of a configuration holds from now on, and what needs a restart.

use serde_json::json;

use super::{Server, now};
use crate::audit;
use crate::config::Settings;

impl Server {
    /// Applies agents, limits, the audit log, the TLS identity, the address of metrics and realms; says what it did, and what needs a restart.
    pub(super) fn reload(&mut self, mut settings: Settings) {
        let agents = settings.middlebox.agents.known.len();
        self.middlebox.set_agents(now(), settings.middlebox.agents.clone());
        self.middlebox.set_limits(settings.middlebox.limits, settings.middlebox.demands);
        self.hosts.set_most(settings.connections_per_host);
        self.tls.send_replace(settings.tls.clone());
        let audit = match audit::open(settings.audit.as_deref()) {
            Ok(file) => {
                self.audit.go_on_in(file);
                if settings.audit.is_some() { "opened again" } else { "none" }
            }
            Err(error) => {
                tracing::error!(%error, "audit.file cannot be opened; the audit log goes on where it was");
                "as it was"
            }
        };
        let tls = if settings.tls.is_some() { "read again" } else { "none" };
        let metrics = self.move_metrics(&mut settings);
        let realms = self.change_realms(&mut settings);
        let restart = self.needs_a_restart(&settings).join(", ");
        tracing::info!(
            agents,
            audit,
            tls,
            metrics,
            realms,
            restart,
            "the configuration is read again: agents, limits, audit log, TLS identity, metrics, realms"
        );
        self.audit.note_event(
            "reloaded",
            &json!({ "agents": agents, "metrics": metrics, "realms": realms, "needs_a_restart": restart }),
        );
        self.settings = settings;
    }

    /// Serves metrics where the configuration says; where that cannot be, where they were.
    fn move_metrics(&mut self, settings: &mut Settings) -> &'static str {
        if settings.metrics == self.settings.metrics {
            return "as they were";
        }
        match self.scraping.move_to(settings.metrics) {
            Ok(()) => "elsewhere",
            Err(error) => {
                tracing::error!(%error, "metrics.listen cannot be had; metrics stay where they were");
                settings.metrics = self.settings.metrics;
                "as they were"
            }
        }
    }

    /// Changes the realms, in the packet filter first, which closes what is closed; rules that there are stay.
    fn change_realms(&mut self, settings: &mut Settings) -> &'static str {
        let (old, new) = (&self.settings.middlebox.realms, &settings.middlebox.realms);
        if old == new {
            return "as they were";
        }
        if let Err(error) = self.middlebox.filter_mut().set_closed(new.closed.clone()) {
            tracing::error!(%error, "realms.closed cannot be changed; realms stay as they were");
            settings.middlebox.realms = old.clone();
            return "as they were";
        }
        self.middlebox.set_realms(new.clone());
        "changed"
    }

    /// Returns the tables of the configuration that have changed and do not hold yet.
    fn needs_a_restart(&self, new: &Settings) -> Vec<&'static str> {
        let old = &self.settings;
        let tables = [
            ("listen", old.listen != new.listen),
            ("filter", old.filter.needs_a_restart(&new.filter)),
            ("control", old.control != new.control),
            (
                "service",
                old.middlebox.service != new.middlebox.service
                    || old.middlebox.protocols != new.middlebox.protocols
                    || old.middlebox.longest_lifetime != new.middlebox.longest_lifetime
                    || old.middlebox.longest_age != new.middlebox.longest_age
                    || old.middlebox.disable_rules != new.middlebox.disable_rules,
            ),
        ];
        tables.into_iter().filter_map(|(table, has_changed)| has_changed.then_some(table)).collect()
    }
}

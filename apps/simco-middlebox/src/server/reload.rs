//! SIGHUP: what of a configuration holds from now on, and what needs a restart.

use serde_json::json;

use super::{Server, now};
use crate::audit::Audit;
use crate::config::Settings;

impl Server {
    /// Applies agents, limits, the audit log and the TLS identity; says what it did, and what needs a restart.
    pub(super) fn reload(&mut self, settings: Settings) {
        let agents = settings.middlebox.agents.known.len();
        self.middlebox.set_agents(now(), settings.middlebox.agents.clone());
        self.middlebox.set_limits(settings.middlebox.limits, settings.middlebox.demands);
        self.hosts.set_most(settings.connections_per_host);
        self.tls.send_replace(settings.tls.clone());
        let audit = match Audit::open(settings.audit.as_deref()) {
            Ok(audit) => {
                self.audit.flush();
                self.audit = audit;
                if settings.audit.is_some() { "opened again" } else { "none" }
            }
            Err(error) => {
                tracing::error!(%error, "audit.file cannot be opened; the audit log goes on where it was");
                "as it was"
            }
        };
        let tls = if settings.tls.is_some() { "read again" } else { "none" };
        let restart = self.needs_a_restart(&settings).join(", ");
        tracing::info!(
            agents,
            audit,
            tls,
            restart,
            "the configuration is read again: agents, limits, audit log, TLS identity"
        );
        self.audit.note_event("reloaded", &json!({ "agents": agents, "needs_a_restart": restart }));
        self.settings = settings;
    }

    /// The tables of the configuration that have changed and do not hold yet.
    fn needs_a_restart(&self, new: &Settings) -> Vec<&'static str> {
        let old = &self.settings;
        let tables = [
            ("listen", old.listen != new.listen),
            ("filter", old.filter != new.filter),
            ("metrics", old.metrics != new.metrics),
            ("realms", old.middlebox.realms != new.middlebox.realms),
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

//! The commands that an operator on this host may give.

use nft_filter::{NftError, Passing};
use serde_json::{Value, json};
use simco::PolicyRuleId;

use super::{Server, now};
use crate::audit::purpose;
use crate::control::{self, Asked, Command};
use crate::filter::Filter;

impl Server {
    /// Carries out a command, says so, and answers.
    pub(super) fn obey(&mut self, asked: Asked) {
        let Asked { command, user, reply } = asked;
        let answer = self.done(&command);
        let only_looks = matches!(command, Command::Status | Command::Rules);
        if !only_looks {
            let outcome = answer.get("error").map_or("done".to_owned(), Value::to_string);
            tracing::warn!(user, ?command, outcome, "the operator");
            let what = format!("{command:?}");
            self.audit.note_event("operator", &json!({ "user": user, "what": what, "outcome": outcome }));
        }
        // Without a receiver the operator has hung up.
        let _ = reply.send(answer);
    }

    fn done(&mut self, command: &Command) -> Value {
        match command {
            Command::Status => self.status(),
            Command::Rules => self.described_rules(),
            Command::Remove { pid } => match self.middlebox.remove_rule(now(), PolicyRuleId::new(*pid)) {
                true => json!({ "removed": 1 }),
                false => json!({ "error": format!("there is no rule {pid}") }),
            },
            Command::RemoveOf { agent } => {
                let is_theirs = |rule: &simco::PolicyRule| rule.owner.octets() == agent.as_bytes();
                json!({ "removed": self.middlebox.remove_rules(now(), is_theirs) })
            }
            Command::RemoveAll => json!({ "removed": self.middlebox.remove_rules(now(), |_| true) }),
            Command::Pass { what } => {
                let passing = match what {
                    control::Passing::Pinholes => Passing::Pinholes,
                    control::Passing::Everything => Passing::Everything,
                    control::Passing::Nothing => Passing::Nothing,
                };
                self.outcome(|server| server.middlebox.filter_mut().set_passing(passing))
            }
            Command::RemoveTable => self.outcome(|server| {
                server.middlebox.filter_mut().remove_table()?;
                server.guard.is_off = true;
                Ok(())
            }),
            Command::RestoreTable => self.outcome(|server| {
                server.guard.is_off = false;
                let rules: Vec<_> = server.middlebox.rules().cloned().collect();
                server.middlebox.filter_mut().rewrite(now(), &rules)
            }),
        }
    }

    fn outcome(&mut self, change: impl FnOnce(&mut Self) -> Result<(), NftError>) -> Value {
        if matches!(self.middlebox.filter(), Filter::Memory(_)) {
            return json!({ "error": "filter.kind is memory, which touches no packet" });
        }
        match change(self) {
            Ok(()) => self.status(),
            Err(error) => json!({ "error": error.to_string() }),
        }
    }

    fn status(&self) -> Value {
        let filter = self.middlebox.filter();
        let table = match filter {
            Filter::Memory(_) => "none, no packet is touched".to_owned(),
            Filter::Nftables(_) if self.guard.is_off => {
                "removed by the operator, the network is open".to_owned()
            }
            Filter::Nftables(_) => match (filter.damage(), filter.is_owner()) {
                (Some(damage), _) => damage.to_string(),
                (None, true) => "stands, nobody else may change it".to_owned(),
                (None, false) => "stands, others may change it".to_owned(),
            },
        };
        json!({
            "table": table,
            "interfaces": self.interfaces(),
            "passing": filter.passing(),
            "rules": self.middlebox.rule_count(),
            "sessions": self.middlebox.open_sessions().count(),
            "connections": self.middlebox.connection_count(),
        })
    }

    fn interfaces(&self) -> String {
        let missing: Vec<&str> = self.guard.missing.iter().map(String::as_str).collect();
        match (self.middlebox.filter(), missing.as_slice()) {
            (Filter::Memory(_), _) => "none".to_owned(),
            (Filter::Nftables(_), []) => "all there".to_owned(),
            (Filter::Nftables(_), missing) => format!("not filtered, for not there: {}", missing.join(", ")),
        }
    }

    fn described_rules(&self) -> Value {
        let now = now();
        let rules = self.middlebox.rules().map(|rule| {
            json!({
                "pid": rule.id.get(),
                "owner": rule.owner.to_string(),
                "lifetime_s": rule.remaining(now).as_secs(),
                "rule": purpose(rule),
            })
        });
        json!({ "rules": rules.collect::<Vec<_>>() })
    }
}

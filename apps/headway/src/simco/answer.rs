//! Replies as text and JSON.

use serde::Serialize;
use simco::agent::{AgentEvent, Loss, PolicyReply};
use simco::{AddressTuple, Direction, EnableParity, NegativeCode, PolicyRequest};

/// The content of a reply; what does not belong to it is left out.
#[derive(Debug, Default, Serialize)]
pub(super) struct Answer {
    #[serde(skip_serializing_if = "Option::is_none")]
    kind: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pid: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    gid: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    lifetime_s: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    internal: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    inside: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    outside: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    external: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    direction: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    parity: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    owner: Option<String>,
}

impl Answer {
    pub(super) fn new(request: &PolicyRequest, reply: &PolicyReply) -> Self {
        let tuple = |tuple: &AddressTuple| Some(tuple.to_string());
        let (pid, lifetime_s) = match (reply.rule(), request) {
            (Some((rule, lifetime)), _) => (Some(rule.get()), Some(lifetime.as_secs())),
            (None, _) => (request.rule().map(simco::PolicyRuleId::get), None),
        };
        let base = Self { pid, lifetime_s, ..Self::default() };
        match reply {
            PolicyReply::Reserve(reserved) => Self {
                gid: Some(reserved.group.get()),
                outside: tuple(&reserved.outside),
                inside: reserved.inside.as_ref().and_then(tuple),
                ..base
            },
            PolicyReply::Enable(enabled) => Self {
                gid: Some(enabled.group.get()),
                outside: tuple(&enabled.outside),
                inside: enabled.inside.as_ref().and_then(tuple),
                ..base
            },
            PolicyReply::Disable { .. } => base,
            PolicyReply::LifetimeChange { lifetime } => Self { lifetime_s: Some(lifetime.as_secs()), ..base },
            PolicyReply::Deletion => Self { lifetime_s: Some(0), ..base },
            PolicyReply::ReserveStatus { reserved, owner } => Self {
                kind: Some("reserve"),
                owner: Some(owner.to_string()),
                ..Self::new(request, &PolicyReply::Reserve(*reserved))
            },
            PolicyReply::EnableStatus { parameters, internal, external, enabled, owner } => Self {
                kind: Some("enable"),
                internal: tuple(internal),
                external: tuple(external),
                direction: Some(direction(parameters.direction)),
                parity: Some(parity(parameters.parity)),
                owner: Some(owner.to_string()),
                ..Self::new(request, &PolicyReply::Enable(*enabled))
            },
            PolicyReply::DisableStatus { internal, external, owner, .. } => Self {
                kind: Some("disable"),
                internal: tuple(internal),
                external: tuple(external),
                owner: Some(owner.to_string()),
                ..base
            },
            PolicyReply::List(_) => base,
        }
    }

    /// Returns what a rule does: `203.0.113.9:*/udp -> 10.1.8.3:12345/udp`.
    fn purpose(&self) -> String {
        let word = |text: &Option<String>| text.clone().unwrap_or_default();
        let (internal, external) = (word(&self.internal), word(&self.external));
        match (self.kind, self.direction) {
            (Some("reserve"), _) => format!("reserves {}", word(&self.outside)),
            (Some("disable"), _) => format!("blocks {internal} <-> {external}"),
            (_, direction) => {
                let way = match direction {
                    Some("inbound") => format!("{external} -> {internal}"),
                    Some("outbound") => format!("{internal} -> {external}"),
                    _ => format!("{internal} <-> {external}"),
                };
                // A firewall translates nothing.
                match &self.outside {
                    Some(outside) if *outside != internal => format!("{way} as {outside}"),
                    _ => way,
                }
            }
        }
    }

    /// Returns one line for each thing known.
    pub(super) fn text(&self) -> String {
        let number = |name: &str, value: Option<u32>| value.map(|value| format!("{name} {value}\n"));
        let word = |name: &str, value: Option<&str>| value.map(|value| format!("{name} {value}\n"));
        let lifetime = self.lifetime_s.map(|seconds| match seconds {
            0 => "deleted\n".to_owned(),
            seconds => format!("lifetime {seconds}s\n"),
        });
        let lines = [
            word("kind", self.kind),
            number("rule", self.pid),
            number("group", self.gid),
            lifetime,
            word("internal", self.internal.as_deref()),
            word("inside", self.inside.as_deref()),
            word("outside", self.outside.as_deref()),
            word("external", self.external.as_deref()),
            word("direction", self.direction),
            word("parity", self.parity),
            word("owner", self.owner.as_deref()),
        ];
        lines.into_iter().flatten().collect()
    }
}

/// The list that `prl` prints: rules, and what each of them is.
#[derive(Debug, Serialize)]
pub(super) struct Listing {
    pids: Vec<u32>,
    rules: Vec<Answer>,
}

impl Listing {
    /// Creates the list of the rules there are by their status; who only wants numbers asks for none.
    pub(super) const fn new(pids: Vec<u32>, rules: Vec<Answer>) -> Self {
        Self { pids, rules }
    }

    /// Returns a line for each rule.
    pub(super) fn text(&self) -> String {
        if self.pids.is_empty() {
            return "no rules\n".to_owned();
        }
        if self.rules.is_empty() {
            return self.pids.iter().map(|pid| format!("{pid}\n")).collect();
        }
        let line = |rule: &Answer| {
            let (pid, left) = (rule.pid.unwrap_or_default(), rule.lifetime_s.unwrap_or_default());
            (pid.to_string(), format!("{left}s"), rule.owner.clone().unwrap_or_default(), rule.purpose())
        };
        table(self.rules.iter().map(line))
    }
}

/// Returns lines with number, time left, owner and purpose below a heading.
pub(super) fn table(rules: impl Iterator<Item = (String, String, String, String)>) -> String {
    let heading = ["RULE", "LEFT", "OWNER", "WHAT"].map(str::to_owned);
    let rows: Vec<_> = std::iter::once(heading.into()).chain(rules).collect();
    let width = |of: fn(&(String, String, String, String)) -> &String| {
        rows.iter().map(|row| of(row).chars().count()).max().unwrap_or_default()
    };
    let (first, second, third) = (width(|row| &row.0), width(|row| &row.1), width(|row| &row.2));
    let line = |(rule, left, owner, what): &(String, String, String, String)| {
        format!("{rule:>first$}  {left:>second$}  {owner:<third$}  {what}\n")
    };
    rows.iter().map(line).collect()
}

/// `{"error": {"code": "0x0350", "meaning": …}}`
#[derive(Debug, Serialize)]
pub(super) struct Refusal {
    error: RefusalBody,
}

#[derive(Debug, Serialize)]
struct RefusalBody {
    code: String,
    meaning: &'static str,
}

impl Refusal {
    pub(super) fn new(code: NegativeCode) -> Self {
        Self { error: RefusalBody { code: format!("{:#06x}", code.code()), meaning: code.meaning() } }
    }
}

/// The lines that `watch` prints.
#[derive(Debug, Serialize)]
pub(super) struct Watched {
    event: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pid: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    lifetime_s: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    because: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    attempt: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    after_s: Option<f64>,
}

impl Watched {
    /// Creates the line for an event; `None` for what an agent that only watches does not see, and for the
    /// first session.
    pub(super) fn new(event: &AgentEvent) -> Option<Self> {
        let session =
            |event| Self { event, pid: None, lifetime_s: None, because: None, attempt: None, after_s: None };
        let (name, pid, lifetime, because) = match event {
            AgentEvent::RuleEvent { rule, lifetime } => ("rule", Some(*rule), Some(lifetime.as_secs()), None),
            // ARE has told it.
            AgentEvent::RuleLost { loss: Loss::Notified, .. } => return None,
            AgentEvent::RuleLost { rule, loss } => ("lost", Some(*rule), None, Some(loss_text(*loss))),
            AgentEvent::Found { status } => {
                let (rule, lifetime) = status.rule()?;
                ("found", Some(rule), Some(lifetime.as_secs()), None)
            }
            AgentEvent::NotUnderstood => ("not understood", None, None, None),
            AgentEvent::Closed { reason } => {
                return Some(Self { because: Some(reason.to_string()), ..session("closed") });
            }
            AgentEvent::Reconnecting { attempt, after } => {
                let (attempt, after_s) = (Some(*attempt), Some(after.as_secs_f64()));
                return Some(Self { attempt, after_s, ..session("reconnecting") });
            }
            AgentEvent::Opened { .. } => return Some(session("opened")),
            AgentEvent::Answered { .. }
            | AgentEvent::RefreshRefused { .. }
            | AgentEvent::Resynchronised { .. } => return None,
        };
        let pid = pid.map(simco::PolicyRuleId::get);
        Some(Self { pid, lifetime_s: lifetime, because: because.map(str::to_owned), ..session(name) })
    }

    pub(super) fn text(&self) -> String {
        let pid = self.pid.map(|pid| format!(" {pid}")).unwrap_or_default();
        if let (Some(attempt), Some(after)) = (self.attempt, self.after_s) {
            return format!("{}: attempt {attempt} in {after:.1}s\n", self.event);
        }
        let rest = match (self.lifetime_s, &self.because) {
            (Some(0), _) => ": gone".to_owned(),
            (Some(seconds), _) => format!(": {seconds}s left"),
            (None, Some(because)) => format!(": {because}"),
            (None, None) => String::new(),
        };
        format!("{}{pid}{rest}\n", self.event)
    }
}

fn loss_text(loss: Loss) -> &'static str {
    match loss {
        Loss::Notified => "ended by others or time",
        Loss::NotFound => "not found",
        Loss::Expired => "expired",
        Loss::NotListed => "not listed",
    }
}

fn direction(direction: Direction) -> &'static str {
    match direction {
        Direction::Inbound => "inbound",
        Direction::Outbound => "outbound",
        Direction::BiDirectional => "bi-directional",
    }
}

fn parity(parity: EnableParity) -> &'static str {
    match parity {
        EnableParity::Any => "any",
        EnableParity::Same => "same",
    }
}

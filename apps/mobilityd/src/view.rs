//! The host as it stands, and what is decided for whoever asks.

use std::io;

use interface_watch::{InterfaceWatch, Told};
use mobility::{Action, Answer, Decision, Handover, Host, Judgement};
use serde::Serialize;
use virtual_time::Instant;

use crate::config::Settings;

/// The facts and the decision that holds.
#[derive(Debug)]
pub(crate) struct View {
    host: Host,
    handover: Handover,
    decision: Option<Decision>,
    found: Vec<Judgement>,
    sequence: u64,
}

/// A line that clients are told: all that is found, and the decision that holds.
#[derive(Debug, Serialize)]
struct Line<'a> {
    sequence: u64,
    decision: Option<&'a Decision>,
    reason: Option<&'static str>,
    found: &'a [Judgement],
}

impl View {
    pub(crate) fn new(settings: &Settings) -> Self {
        Self {
            host: Host::new(settings.damping),
            handover: Handover::new(settings.policy.clone(), [], None),
            decision: None,
            found: Vec::new(),
            sequence: 0,
        }
    }

    /// Takes in what the kernel has told; `None` reads everything.
    pub(crate) fn take_in(
        &mut self,
        now: Instant,
        told: Option<Told>,
        watch: &mut InterfaceWatch,
    ) -> io::Result<()> {
        let is_whole = match told {
            Some(Told::Events(events)) => {
                for event in events {
                    // At a bound it is counted, and made up for by reading anew.
                    let _refused = self.host.handle_event(now, event);
                }
                !self.host.needs_reading()
            }
            Some(Told::Missed) | None => false,
        };
        if !is_whole {
            self.host.read_anew(now, watch.read_all()?);
        }
        Ok(())
    }

    /// Closes the instant; returns whether there is something to tell. No peer is asked here, so that every action is done at once.
    pub(crate) fn look(&mut self, now: Instant) -> bool {
        let host = self.host.settle(now);
        self.handover.handle_host(&host);
        let mut is_new = false;
        while let Some(decision) = self.handover.poll_decision() {
            let action = decision.action;
            if matches!(action, Action::SetPrimary(_) | Action::Hold { .. }) {
                is_new |= self.decision.as_ref() != Some(&decision);
                self.decision = Some(decision);
            }
            if matches!(action, Action::Add(_) | Action::SetPrimary(_) | Action::Delete(_)) {
                self.handover.handle_answer(&host, action, Answer::Done);
            }
        }
        let found = self.handover.judge(&host);
        is_new |= found != self.found;
        self.found = found;
        self.sequence += u64::from(is_new);
        is_new
    }

    /// Returns when it is to be looked at again.
    pub(crate) fn poll_timeout(&self) -> Option<Instant> {
        [self.host.poll_timeout(), self.handover.poll_timeout()].into_iter().flatten().min()
    }

    /// Returns how things stand, as a line.
    pub(crate) fn line(&self) -> serde_json::Result<String> {
        let decision = self.decision.as_ref();
        let reason = decision.map(|decision| decision.rule.reason());
        let line = Line { sequence: self.sequence, decision, reason, found: &self.found };
        serde_json::to_string(&line).map(|line| line + "\n")
    }
}

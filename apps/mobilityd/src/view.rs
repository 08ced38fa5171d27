//! The host as it stands, and what is decided for each application.

use std::collections::BTreeMap;

use interface_watch::Told;
use mobility::{Action, Answer, Decision, Handover, Host, RefusedEvents, Settled, Verdict};
use virtual_time::Instant;

use crate::config::Settings;
use crate::line::{ForApplication, Found, Line, State};

/// The facts about the host, and the decisions that follow.
#[derive(Debug)]
pub(crate) struct View {
    host: Host,
    applications: BTreeMap<String, Application>,
    line: Line,
}

#[derive(Debug)]
struct Application {
    handover: Handover,
    decision: Option<Decision>,
}

impl View {
    /// Creates the view of a host of which nothing is known; `began` is the daemon's own name, in milliseconds since 1970.
    pub(crate) fn new(settings: &Settings, began: u64) -> Self {
        let line = Line { daemon: began, sequence: 0, state: State::default() };
        let mut view = Self { host: Host::default(), applications: BTreeMap::new(), line };
        view.configure(settings);
        view
    }

    /// Takes other policies. An application that stays keeps its address until its policy wants another.
    pub(crate) fn configure(&mut self, settings: &Settings) {
        self.host.set_damping(settings.damping);
        self.applications.retain(|name, _| settings.applications.contains_key(name));
        for (name, policy) in &settings.applications {
            match self.applications.get_mut(name) {
                Some(known) => known.handover.set_policy(policy.clone()),
                None => {
                    let handover = Handover::new(policy.clone(), [], None);
                    self.applications.insert(name.clone(), Application { handover, decision: None });
                }
            }
        }
    }

    /// Takes in what the kernel has told; returns whether everything has to be read.
    pub(crate) fn take_in(&mut self, now: Instant, told: Told) -> bool {
        let Told::Events(events) = told else { return true };
        for event in events {
            // At a bound it is counted, and made up for by reading anew.
            let _refused = self.host.handle_event(now, event);
        }
        self.host.needs_reading()
    }

    pub(crate) fn read_anew(&mut self, now: Instant, events: Vec<mobility::Event>) {
        self.host.read_anew(now, events);
    }

    /// Closes the instant; returns whether there is something to tell.
    pub(crate) fn look(&mut self, now: Instant) -> bool {
        let host = self.host.settle(now);
        let interfaces =
            host.states().map(|(interface, name, state)| Found { interface, name: name.cloned(), state });
        let of = |(name, application): (&String, &mut Application)| (name.clone(), application.look(&host));
        let applications = self.applications.iter_mut().map(of).collect();
        let state = State { interfaces: interfaces.collect(), applications };
        let has_changed = state != self.line.state;
        self.line.state = state;
        self.line.sequence += u64::from(has_changed);
        has_changed
    }

    /// Returns when it is to be looked at again without any event.
    pub(crate) fn poll_timeout(&self) -> Option<Instant> {
        let of = |application: &Application| application.handover.poll_timeout();
        self.applications.values().filter_map(of).chain(self.host.poll_timeout()).min()
    }

    pub(crate) fn refused(&self) -> RefusedEvents {
        self.host.refused()
    }

    pub(crate) fn line(&self) -> &Line {
        &self.line
    }
}

impl Application {
    /// Looks at the host and decides. No peer is asked here, so that everything is done at once.
    fn look(&mut self, host: &Settled<'_>) -> ForApplication {
        self.handover.handle_host(host);
        while let Some(decision) = self.handover.poll_decision() {
            let action = decision.action;
            match action {
                Action::SetPrimary(_) | Action::Hold { .. } => self.decision = Some(decision),
                Action::Add(_) | Action::Delete(_) | Action::Probe(_) => {}
            }
            match action {
                Action::Add(_) | Action::SetPrimary(_) | Action::Delete(_) => {
                    self.handover.handle_answer(host, action, Answer::Done);
                }
                Action::Hold { .. } | Action::Probe(_) => {}
            }
        }
        let addresses = self.handover.judge(host);
        let can_be_used = |address| {
            let is_it = |found: &&mobility::Judgement| found.address == address;
            addresses.iter().find(is_it).is_some_and(|found| found.verdict != Verdict::Unusable)
        };
        let primary = self.handover.primary().filter(|address| can_be_used(*address));
        ForApplication { primary, decision: self.decision.clone(), addresses }
    }
}

#[cfg(test)]
mod tests {
    use mobility::{Event, InterfaceId, LinkState, Usability};

    use super::*;

    const NEAR: InterfaceId = InterfaceId::new(2);

    fn at(millis: u64) -> Instant {
        Instant::from_millis(millis)
    }

    fn link(state: LinkState) -> Event {
        Event::Link { interface: NEAR, name: "near".parse().unwrap(), state }
    }

    fn address() -> Event {
        let address = "10.0.0.1".parse().unwrap();
        Event::Address { interface: NEAR, address, usability: Usability::Preferred }
    }

    fn view() -> View {
        let text = "[[applications.radio.prefer]]\ninterface = \"wlan*\"\n";
        View::new(&Settings::parse(text).unwrap(), 7)
    }

    #[test]
    fn an_address_is_told_to_those_whose_policy_wants_it() {
        let mut view = view();
        view.look(at(1));
        assert!(!view.take_in(at(5), Told::Events(vec![address(), link(LinkState::Operational)])));
        assert!(view.look(at(5)));
        let applications = &view.line().state.applications;
        assert_eq!(applications["default"].primary, "10.0.0.1".parse().ok());
        assert_eq!(applications["radio"].primary, None);
        assert!(
            applications["default"].to_string().starts_with("use 10.0.0.1\ndecided: set primary 10.0.0.1:")
        );
        assert!(applications["radio"].to_string().contains("no preference fits"));
        let sequence = view.line().sequence;
        assert!(!view.look(at(6)), "nothing has changed");
        assert_eq!(view.line().sequence, sequence);
    }

    #[test]
    fn what_cannot_be_sent_from_is_not_to_be_used() {
        let mut view = view();
        view.read_anew(at(5), vec![link(LinkState::Operational), address()]);
        view.look(at(5));
        view.take_in(at(9), Told::Events(vec![link(LinkState::Down)]));
        assert!(view.look(at(9)));
        let state = &view.line().state;
        assert_eq!(state.applications["default"].primary, None);
        assert_eq!(state.interfaces[0].state, mobility::InterfaceState::Down);
        assert!(view.take_in(at(10), Told::Missed), "what was missed has to be read");
    }

    #[test]
    fn a_line_can_be_read_again() {
        let mut view = view();
        view.read_anew(at(5), vec![link(LinkState::Operational), address()]);
        view.look(at(5));
        let line: Line = serde_json::from_str(&serde_json::to_string(view.line()).unwrap()).unwrap();
        assert_eq!((line.daemon, line.sequence, &line.state), (7, 1, &view.line().state));
    }

    #[test]
    fn policies_that_are_read_again_hold_at_once_and_those_that_are_gone_do_not() {
        let mut view = view();
        view.read_anew(at(5), vec![link(LinkState::Operational), address()]);
        view.look(at(5));
        let text = "[[applications.default.prefer]]\ninterface = \"wlan*\"\n[applications.video]\n";
        view.configure(&Settings::parse(text).unwrap());
        assert!(view.look(at(6)));
        let applications = &view.line().state.applications;
        assert_eq!(applications.keys().collect::<Vec<_>>(), ["default", "video"]);
        assert_eq!(applications["video"].primary, "10.0.0.1".parse().ok());
    }
}

//! The network of a scenario with a handover: two access links of the client, and the server in both networks.
//!
//! ```text
//!            ┌── the scenario's link ── left ── core ────────┐
//!   client ──┤                           │ core-between      ├── server
//!            └── handover ───────────── right ─ core-handover┘
//! ```

use core::time::Duration;
use std::borrow::Cow;

use netem::Impairments;

use super::error::SimulationError;
use super::scenario::{LinkChange, LinkPlan, Scenario, SwitchState};
use crate::handover::Handover;
use crate::text::Span;

impl Scenario {
    /// Returns the scenario with both networks of its handover: two access links of the client, and the server in both networks.
    pub(super) fn with_both_networks(&self) -> Result<Cow<'_, Self>, SimulationError> {
        let Some(handover) = &self.handover else { return Ok(Cow::Borrowed(self)) };
        let (name, link) = self.moving_link(handover)?;
        let [client, server] = link.between.clone();
        let (name, mut old) = (name.to_owned(), link.clone());
        let [left, right] = ["left", "right"].map(str::to_owned);
        old.between[1].clone_from(&left);
        old.changes.push(state(handover.leaves_at(), SwitchState::Down));
        let mut new = LinkPlan::new([client, right.clone()], &handover.link, &handover.link);
        // Nor is the peer to be met in the new network from the old one: the path there is not confirmed before the client is there.
        let arrival =
            vec![state(Duration::ZERO, SwitchState::Down), state(there_at(handover), SwitchState::Up)];
        new.changes.clone_from(&arrival);
        let wire = |one: &String, other: &String| {
            let nothing = Impairments::default();
            LinkPlan::new([one.clone(), other.clone()], &nothing, &nothing)
        };
        let mut between = wire(&left, &right);
        between.changes = arrival;
        let core = [
            ("core", wire(&left, &server)),
            ("core-handover", wire(&right, &server)),
            ("core-between", between),
        ];
        let mut moving = self.clone();
        let all = [(name, old), (NEW_LINK.to_owned(), new)].into_iter();
        moving.links = all.chain(core.map(|(name, link)| (name.to_owned(), link))).collect();
        moving.routers = vec![left, right];
        // What a handover costs is told from the messages around it.
        moving.flows.iter_mut().for_each(|(_, flow)| flow.samples = true);
        Ok(Cow::Owned(moving))
    }

    /// Checks what a handover goes with, in every world.
    ///
    /// # Errors
    /// The first thing that it does not go with, by its key in the plan.
    pub(crate) fn check_handover(&self) -> Result<(), SimulationError> {
        let Some(handover) = &self.handover else { return Ok(()) };
        self.moving_link(handover)?;
        for (name, flow) in self.flows.iter() {
            flow.check_switching().map_err(|error| {
                SimulationError::new(format!("flows.{name}.{}", error.key), error.because)
            })?;
        }
        Ok(())
    }

    /// Returns the one link of a scenario that goes with a handover.
    fn moving_link(&self, handover: &Handover) -> Result<(&str, &LinkPlan), SimulationError> {
        let refuse = |key: &str, because: &str| Err(SimulationError::new(key, because));
        let mut links = self.links.iter();
        let (Some((name, link)), None) = (links.next(), links.next()) else {
            return refuse(
                "links",
                "with `handover` there is one link, the one that is left: the new one follows",
            );
        };
        if !self.routers.is_empty() {
            return refuse("routers", "with `handover` one link joins both hosts: leave routers out");
        }
        if self.switch_after.is_some() {
            return refuse("switch_after", "with `handover` the client knows when to go: leave it out");
        }
        for (flow, plan) in self.flows.iter() {
            let refuse_flow = |key: &str, because: &str| refuse(&format!("flows.{flow}.{key}"), because);
            if [&plan.from, &plan.to] != [&link.between[0], &link.between[1]] {
                return refuse_flow(
                    "from",
                    "with `handover` flows go from the first end of the link, which moves, to the second",
                );
            }
            if plan.start.0 >= handover.at {
                return refuse_flow("start", "the handover comes before: let the flow begin earlier");
            }
            if plan.sctp.paths.moves_at.is_some() {
                return refuse_flow(
                    "sctp.paths.moves_at",
                    "`handover` says when the client moves: leave one of them out",
                );
            }
            if !plan.transport.0.transport().facts().can_move {
                return refuse_flow(
                    "transport",
                    "it does not go on in another network: with `handover` use sctp, tcp or quic",
                );
            }
        }
        Ok((name, link))
    }
}

/// Returns when the new network is there: just before the client is told, which sends into it at once.
fn there_at(handover: &Handover) -> Duration {
    handover.arrives_at().saturating_sub(Duration::from_nanos(1))
}

fn state(at: Duration, state: SwitchState) -> LinkChange {
    LinkChange { at: Span(at), delay: None, loss: None, rate: None, mtu: None, state: Some(state) }
}

/// The name of the new access link in results.
pub(crate) const NEW_LINK: &str = "handover";

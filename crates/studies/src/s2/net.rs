//! The study's network, `plans/studies/s2-rules.toml`, under the settings of one cell.

use core::time::Duration;

use netem::{Loss, Probability, QueueLimit};
use workload::MessageSize;

use crate::effort::Effort;
use lab::plan::Plan;
use lab::simulation::OneWay;
use lab::simulation::StudyRules;
use lab::simulation::{Scenario, SimulationError};
use lab::simulation::{Span, Text};

/// One cell of the study.
#[derive(Clone, Debug)]
pub(super) struct Setting {
    /// Rules of the SIP flow, its headers among them.
    pub(super) rules: StudyRules,
    /// How many flows compete, and their rules.
    pub(super) competing: (usize, StudyRules),
    /// Packets that may wait at the middle link.
    pub(super) buffer: u32,
    /// Share of the middle link that the SIP flow takes, headers included.
    pub(super) load: f64,
    /// Random loss at the middle link.
    pub(super) loss: f64,
    /// Packets of the SIP flow to drop at the middle link, from 1.
    pub(super) drop: Option<u64>,
    pub(super) messages: u64,
    pub(super) discard: u64,
    pub(super) keeps_trips: bool,
}

/// The outcome of a run.
#[derive(Debug)]
pub(super) struct Outcome {
    pub(super) one_way: OneWay,
    /// Packets dropped at the middle link on the way to the server.
    pub(super) dropped: u64,
    /// Packets offered to it on that way.
    pub(super) offered: u64,
}

/// Runs the setting once, with this seed.
pub(super) fn run(setting: &Setting, seed: u64, effort: &Effort) -> Result<Outcome, SimulationError> {
    let run = effort.simulate(&setting.scenario()?, seed)?;
    let middle = run.links.iter().find(|link| link.name == MIDDLE).ok_or_else(|| missing("links"))?;
    let (dropped, offered) = (middle.ways[0].dropped(), middle.ways[0].offered);
    let one_way = run.flows.into_iter().find_map(|flow| flow.one_way);
    let one_way = one_way.ok_or_else(|| missing("flows"))?;
    Ok(Outcome { one_way, dropped, offered })
}

impl Setting {
    /// Returns the plan's network with what this setting says in it.
    fn scenario(&self) -> Result<Scenario, SimulationError> {
        let plan = Plan::parse(PLAN).map_err(|error| SimulationError::new("S2", error.to_string()))?;
        let mut scenario = plan.cells.into_iter().next().ok_or_else(|| missing("cells"))?.scenario;
        let middle = scenario.links.get_mut(MIDDLE).ok_or_else(|| missing("links"))?;
        let loss =
            Probability::new(self.loss).map_err(|error| SimulationError::new("S2", error.to_string()))?;
        middle.loss = (self.loss > 0.0).then_some(Text(Loss::Bernoulli(loss)));
        middle.queue = Some(Text(QueueLimit::Packets(self.buffer)));
        middle.drop.extend(self.drop);
        let rate = middle.rate.ok_or_else(|| missing("rate"))?.0.bits_per_second();
        let sip = scenario.flows.get_mut("sip").ok_or_else(|| missing("flows"))?;
        let octets =
            MessageSize::new(sip.message_bytes()).map_or(0, MessageSize::octets) + self.rules.headers;
        let wire_bits = 8.0 * f64::from(u32::try_from(octets).unwrap_or(u32::MAX));
        #[allow(clippy::cast_precision_loss, reason = "a rate of a few Mbit/s")]
        let interval = Duration::try_from_secs_f64(wire_bits / (self.load * rate as f64));
        (sip.rate, sip.interval) = (None, interval.ok().map(Span));
        (sip.sctp.s2, sip.samples) = (self.rules, self.keeps_trips);
        for name in COMPETING.iter().take(self.competing.0) {
            let flow = scenario.flows.get_mut(name).ok_or_else(|| missing("flows"))?;
            let StudyRules { headers, begin_within, .. } = flow.sctp.s2;
            flow.start = Span::default();
            flow.sctp.s2 = StudyRules { headers, begin_within, ..self.competing.1 };
        }
        (scenario.stop.messages, scenario.stop.discard) = (Some(self.messages), self.discard);
        Ok(scenario)
    }
}

fn missing(what: &str) -> SimulationError {
    SimulationError::new("S2", format!("the plan has no {what}"))
}

const MIDDLE: &str = "middle";
const COMPETING: [&str; 2] = ["ftp-1", "ftp-2"];
const PLAN: &str = include_str!("../../../../plans/studies/s2-rules.toml");

//! The emulated links of a batch: one for every run, and a second one for each whose client moves; and what happens to them, in its order.
//!
//! ```text
//!  client's namespace                                   server's namespace
//!  10.77.n.1     headwayN ──── the scenario's link ──── headwayN     10.77.n.2
//!  10.77.64+n.1  headway64+N ────── handover ────────── headway64+N  10.77.64+n.2
//! ```

use std::time::{Duration, Instant};

use emulator::{
    Direction, EmulatedLink, EmulatorError, EmulatorReport, LinkReport, LinkState, RunningEmulator, Side,
    SideLink,
};
use netem::derive_seed;
use tokio::sync::mpsc::UnboundedSender;

use super::{MOST_LINKS, ScenarioRun};
use crate::simulation::{NEW_LINK, SwitchState, changes};

/// The numbers of a run's links.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Links {
    /// The link that the scenario has.
    pub(super) own: u8,
    /// The link that its client moves to.
    pub(super) new: Option<u8>,
}

impl Links {
    /// Returns the links of each run of a batch.
    pub(super) fn of(batch: &[ScenarioRun]) -> Vec<Self> {
        let links = |(own, run): (u8, &ScenarioRun)| Self {
            own,
            new: run.scenario.handover.as_ref().map(|_| own + MOST_LINKS),
        };
        (1..).zip(batch).map(links).collect()
    }

    /// Returns the links as an end of them sees them: the scenario's, and the one that its client moves to.
    pub(super) fn among(self, side: &[SideLink]) -> Option<(&SideLink, Option<&SideLink>)> {
        let link = |index: u8| side.iter().find(|link| link.end.link == index);
        Some((link(self.own)?, self.new.and_then(link)))
    }

    /// Returns what the emulator reports of them, each with its name.
    pub(super) fn reports(self, run: &ScenarioRun, report: &EmulatorReport) -> Vec<(String, LinkReport)> {
        let of = |index: u8| report.links.iter().find(|link| link.index == index).cloned();
        let name = run.link().map(|(name, _)| name).unwrap_or_default();
        let named = [(name, Some(self.own)), (NEW_LINK, self.new)];
        named.into_iter().filter_map(|(name, index)| Some((name.to_owned(), of(index?)?))).collect()
    }
}

/// Returns what the links of a batch do to packets before anything changes.
pub(super) fn emulated(batch: &[ScenarioRun]) -> Vec<EmulatedLink> {
    let of_run = |(links, run): (Links, &ScenarioRun)| {
        let own = run.link().map(|(_, link)| EmulatedLink {
            index: links.own,
            request: link.request(),
            response: link.response(),
            seed: run.seed,
        });
        let new = links.new.zip(run.scenario.handover.as_ref()).map(|(index, handover)| {
            EmulatedLink::symmetric(index, handover.link.clone(), derive_seed(run.seed, NEW_LINK))
        });
        own.into_iter().chain(new)
    };
    Links::of(batch).into_iter().zip(batch).flat_map(of_run).collect()
}

/// An order to the host of a run's client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct HostOrder {
    /// The number of the run in its batch, from 0.
    pub(super) run: usize,
    pub(super) step: Step,
}

/// A step of a host that moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// The host loses the network that it began in.
    Leave,
    /// The host finds its new network.
    Arrive,
}

/// Something that happens to a run's links.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Happening {
    /// A change of the scenario's link, by its number in the plan.
    Change(usize),
    Step(Step),
}

/// Changes links, and has hosts move, when scenarios say so, until all clients have finished.
pub(super) fn change<T>(
    emulator: &RunningEmulator,
    batch: &[ScenarioRun],
    orders: &UnboundedSender<HostOrder>,
    client: &Side<T>,
    begin: Instant,
) -> Result<(), EmulatorError> {
    let links = Links::of(batch);
    for new in links.iter().filter_map(|links| links.new) {
        emulator.set_link_state(new, LinkState::Down)?;
    }
    for (at, run, happening) in in_order(batch) {
        while begin.elapsed() < at {
            if client.is_finished() {
                return Ok(());
            }
            std::thread::sleep(LOOK.min(at.saturating_sub(begin.elapsed())));
        }
        match happening {
            Happening::Change(change) => alter(emulator, links[run].own, &batch[run], change)?,
            Happening::Step(step) => {
                // A link carries packets before its host is there, and loses what is under way before the host is gone.
                match (step, links[run].new) {
                    (Step::Leave, _) => emulator.set_link_state(links[run].own, LinkState::Down)?,
                    (Step::Arrive, Some(new)) => emulator.set_link_state(new, LinkState::Up)?,
                    (Step::Arrive, None) => {}
                }
                // The client may have finished.
                let _unheard = orders.send(HostOrder { run, step });
            }
        }
    }
    Ok(())
}

/// Returns what happens in a batch, in the order of time.
fn in_order(batch: &[ScenarioRun]) -> Vec<(Duration, usize, Happening)> {
    let of_run = |(run, it): (usize, &ScenarioRun)| {
        let changes = changes(&it.scenario)
            .into_iter()
            .map(move |(at, _, change)| (at, run, Happening::Change(change)));
        let steps = it.scenario.handover.iter().flat_map(move |handover| {
            let (leaves, arrives) = (handover.leaves_at(), handover.arrives_at());
            [(leaves, run, Happening::Step(Step::Leave)), (arrives, run, Happening::Step(Step::Arrive))]
        });
        changes.chain(steps).collect::<Vec<_>>()
    };
    let mut all: Vec<_> = batch.iter().enumerate().flat_map(of_run).collect();
    all.sort_by_key(|(at, ..)| *at);
    all
}

/// Makes one change of a scenario's link.
fn alter(
    emulator: &RunningEmulator,
    index: u8,
    run: &ScenarioRun,
    change: usize,
) -> Result<(), EmulatorError> {
    let Some((_, plan)) = run.link() else { return Ok(()) };
    let [request, response] = plan.changed(change);
    emulator.set_impairments(index, Direction::Request, request)?;
    emulator.set_impairments(index, Direction::Response, response)?;
    match plan.changes[change].state {
        Some(SwitchState::Up) => emulator.set_link_state(index, LinkState::Up),
        Some(SwitchState::Down) => emulator.set_link_state(index, LinkState::Down),
        None => Ok(()),
    }
}

/// How often somebody looks whether the clients have finished.
const LOOK: Duration = Duration::from_millis(20);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::Plan;

    const PLAN: &str = r#"
        title = "a handover"
        hosts = ["mobile", "server"]
        [links.access]
        between = ["mobile", "server"]
        changes = [{ at = "4s", delay = "1ms" }]
        [handover]
        at = "3s"
        COVERAGE
        rtt = "30ms"
        [flows.video]
        from = "mobile"
        to = "server"
        transport = "sctp:1"
        workload = "video"
        [stop]
        duration = "9s"
    "#;

    fn run(coverage: &str) -> ScenarioRun {
        let plan = Plan::parse(&PLAN.replace("COVERAGE", coverage)).unwrap();
        ScenarioRun::new(&plan.cells[0].scenario, 7)
    }

    #[test]
    fn what_happens_in_a_batch_does_so_in_the_order_of_time() {
        let [leave, arrive] = [Step::Leave, Step::Arrive].map(Happening::Step);
        let batch = [run("gap = \"2s\""), run("overlap = \"3s\"")];
        let of = |run| in_order(&batch).into_iter().filter(move |it| it.1 == run).map(|it| it.2);
        assert!(of(0).eq([leave, Happening::Change(0), arrive]));
        assert!(of(1).eq([arrive, Happening::Change(0), leave]));
        assert!(in_order(&batch).is_sorted_by_key(|(at, ..)| *at));
    }

    #[test]
    fn the_second_link_of_a_run_is_the_handovers_with_chance_of_its_own() {
        let links = emulated(&[run("gap = \"1s\""), run("overlap = \"1s\"")]);
        assert_eq!(links.iter().map(|link| link.index).collect::<Vec<_>>(), [1, 65, 2, 66]);
        assert_eq!(links[1].request.delay, Duration::from_millis(15));
        assert_eq!((links[0].seed, links[2].seed), (7, 7));
        assert_ne!(links[1].seed, 7);
    }
}

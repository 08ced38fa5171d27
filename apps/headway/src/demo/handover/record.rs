//! What happened so far, and what follows from it: delays, gaps, movements.

use std::time::Duration;

use emulator::LinkState;
use handover::Report;
use mobility::{Action, Rule};

use super::hosts::{DEADLINE, Happening, PathFacts, Told};
use super::network::Network;

/// Everything that happened, in the order of time.
#[derive(Debug, Default)]
pub(super) struct Record {
    /// By number.
    pub(super) frames: Vec<Frame>,
    /// The times at which frames arrived.
    pub(super) arrivals: Vec<Duration>,
    /// Frames that arrived once more.
    pub(super) duplicates: u64,
    pub(super) movements: Vec<Movement>,
    pub(super) switches: Vec<(Duration, Network, LinkState)>,
    pub(super) log: Vec<(Duration, String)>,
    pub(super) paths: PathFacts,
    /// The last decision to move data.
    decided: Option<(Network, Rule)>,
}

/// A frame; each part is known when the host has told it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Frame {
    pub(super) due: Option<Duration>,
    pub(super) arrived: Option<Duration>,
    /// The network in use when the frame was sent.
    pub(super) by: Option<Network>,
}

/// Data has gone over another network from a time on.
#[derive(Clone, Copy, Debug)]
pub(super) struct Movement {
    pub(super) at: Duration,
    pub(super) from: Network,
    pub(super) to: Network,
    /// The rule by which the mobile host wanted it; `None` where the fixed host found by itself that its path was dead.
    pub(super) rule: Option<Rule>,
}

/// The numbers of frames.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Counts {
    pub(super) sent: usize,
    pub(super) arrived: usize,
    pub(super) late: usize,
}

impl Frame {
    /// Returns how long after it was due the frame arrived.
    pub(super) fn delay(&self) -> Option<Duration> {
        Some(self.arrived?.saturating_sub(self.due?))
    }

    pub(super) fn is_late(&self) -> bool {
        self.delay().is_some_and(|delay| delay > DEADLINE)
    }
}

impl Record {
    /// Takes in what was told; returns the words for it, if it is worth a line.
    pub(super) fn take_in(&mut self, told: Told) -> Vec<String> {
        let at = told.at;
        let words = match told.what {
            Happening::Sent { number, due, by } => {
                let frame = self.frame(number);
                (frame.due, frame.by) = (Some(due), by);
                Vec::new()
            }
            Happening::Arrived { number } => {
                self.arrive(number, at);
                Vec::new()
            }
            Happening::Switched(network, state) => {
                self.switches.push((at, network, state));
                let state = if state == LinkState::Up { "on" } else { "off" };
                vec![format!("{} is switched {state}", network.name())]
            }
            Happening::Moved(report) => self.hear(&report),
            Happening::Paths(facts) => self.look(at, facts).into_iter().collect(),
            Happening::Over => Vec::new(),
        };
        self.log.extend(words.iter().map(|line| (at, line.clone())));
        words
    }

    pub(super) fn counts(&self) -> Counts {
        let count = |is: fn(&Frame) -> bool| self.frames.iter().filter(|frame| is(frame)).count();
        Counts {
            sent: count(|frame| frame.due.is_some()),
            arrived: count(|frame| frame.arrived.is_some()),
            late: count(Frame::is_late),
        }
    }

    /// Returns whether the interface of a network is on.
    pub(super) fn is_on(&self, network: Network) -> bool {
        let last = self.switches.iter().rev().find(|(_, switched, _)| *switched == network);
        last.map_or(network == Network::Mobile, |(_, _, state)| *state == LinkState::Up)
    }

    /// Returns the longest time between two frames.
    pub(super) fn longest_gap(&self) -> Option<Duration> {
        gaps(&self.arrivals).map(|(_, gap)| gap).max()
    }

    /// Returns the longest time without a frame that a movement is answerable for: of those that had begun, or began within a second,
    /// before the next movement.
    pub(super) fn gap_of(&self, movement: usize) -> Option<Duration> {
        let (from, until) = self.span_of(movement)?;
        let within = gaps(&self.arrivals).filter(|(begin, gap)| *begin < until && *begin + *gap > from);
        within.map(|(_, gap)| gap).max()
    }

    /// Returns the number of late frames among those that arrived in that time, or after it because they had waited.
    pub(super) fn late_of(&self, movement: usize) -> usize {
        let Some((from, until)) = self.span_of(movement) else { return 0 };
        let counts = |frame: &&Frame| {
            frame.is_late()
                && frame.arrived.is_some_and(|at| at >= from)
                && frame.due.is_some_and(|due| due < until)
        };
        self.frames.iter().filter(counts).count()
    }

    fn span_of(&self, movement: usize) -> Option<(Duration, Duration)> {
        let from = self.movements.get(movement)?.at;
        let next = self.movements.get(movement + 1).map_or(Duration::MAX, |next| next.at);
        Some((from, next.min(from + AFTER)))
    }

    fn frame(&mut self, number: u64) -> &mut Frame {
        let index = usize::try_from(number).unwrap_or(usize::MAX);
        if self.frames.len() <= index {
            self.frames.resize(index.saturating_add(1), Frame::default());
        }
        &mut self.frames[index]
    }

    fn arrive(&mut self, number: u64, at: Duration) {
        let frame = self.frame(number);
        if frame.arrived.is_some() {
            self.duplicates += 1;
        } else {
            frame.arrived = Some(at);
            self.arrivals.push(at);
        }
    }

    fn hear(&mut self, report: &Report) -> Vec<String> {
        match report {
            Report::Decided(decision) => {
                if let Action::SetPrimary(to) = decision.action
                    && let Some(network) = Network::of(to)
                {
                    self.decided = Some((network, decision.rule));
                }
                decision.to_string().lines().map(str::to_owned).collect()
            }
            Report::Association(_) => Vec::new(),
            other @ (Report::Answered { .. } | Report::NotAsked { .. } | Report::Blind { .. } | _) => {
                vec![other.to_string()]
            }
        }
    }

    fn look(&mut self, at: Duration, facts: PathFacts) -> Option<String> {
        let before = std::mem::replace(&mut self.paths, facts).in_use;
        let to = facts.in_use.filter(|to| before != Some(*to))?;
        let Some(from) = before else { return Some(format!("frames come by {}", to.name())) };
        let rule = self.decided.take().filter(|(network, _)| *network == to).map(|(_, rule)| rule);
        self.movements.push(Movement { at, from, to, rule });
        Some(format!("frames come by {} now, no longer by {}", to.name(), from.name()))
    }
}

/// Returns the times between frames that came one after the other, with their beginnings.
fn gaps(arrivals: &[Duration]) -> impl Iterator<Item = (Duration, Duration)> {
    arrivals.windows(2).map(|pair| (pair[0], pair[1].saturating_sub(pair[0])))
}

/// How long after a movement what happens is put down to it.
const AFTER: Duration = Duration::from_secs(1);

//! Which cells of the table are wanted, and how long and how often each is run.

use std::time::Duration;

use sctp_core::{InitialWindow, LeastWindow};

use crate::bottleneck::{Cell, Obstacle};
use crate::flow::{Algorithm, Messages};

/// What the command line asks for.
pub(crate) struct Selection {
    /// The time of each run that is measured.
    pub(crate) measured: Duration,
    /// The number of runs of each cell, with seeds of their own.
    pub(crate) runs: u64,
    /// The window that SCTP begins with.
    initial_window: InitialWindow,
    /// The window that a loss leaves it at least.
    least_window: LeastWindow,
    /// What SCTP sends.
    messages: Messages,
    /// All of these stand in the name of a row.
    parts: Vec<String>,
}

impl Selection {
    /// Reads seconds, then, in any order, `runs=N`, `ten` (packets at first), `two` (packets that a loss leaves at least),
    /// `short` or `copies` (messages of 100 octets, once or redundantly) and parts of the names of rows. Without arguments all rows, for a minute each.
    pub(crate) fn parse(arguments: &[String]) -> Result<Self, Box<dyn std::error::Error>> {
        let seconds = arguments.first().map_or(Ok(SECONDS), |seconds| seconds.parse())?;
        let mut selection = Self {
            measured: Duration::from_secs(seconds),
            runs: RUNS,
            initial_window: InitialWindow::Rfc9260,
            least_window: LeastWindow::FourPackets,
            messages: Messages::OfOnePacket,
            parts: Vec::new(),
        };
        for argument in arguments.iter().skip(1) {
            match argument.strip_prefix("runs=") {
                Some(runs) => selection.runs = runs.parse()?,
                None if argument == "ten" => selection.initial_window = InitialWindow::TenPackets,
                None if argument == "two" => selection.least_window = LeastWindow::TwoPackets,
                None if argument == "short" => selection.messages = Messages::Of100,
                None if argument == "copies" => selection.messages = Messages::Of100Redundant,
                None => selection.parts.push(argument.clone()),
            }
        }
        if selection.runs < 2 {
            return Err("runs=N: a mean with an interval needs two runs at least".into());
        }
        Ok(selection)
    }

    /// Returns whether all parts that were asked for stand in this name of a row.
    pub(crate) fn wants(&self, name: &str) -> bool {
        self.parts.iter().all(|part| name.contains(part.as_str()))
    }

    pub(crate) fn cells(&self) -> Vec<Cell> {
        let all = all().into_iter().filter(|cell| self.wants(&name(cell)));
        let Self { initial_window, least_window, messages, .. } = *self;
        all.map(|cell| Cell { initial_window, least_window, messages, ..cell }).collect()
    }
}

fn all() -> Vec<Cell> {
    let mut cells = Vec::new();
    for algorithm in [Algorithm::Halving, Algorithm::Cubic, Algorithm::Westwood] {
        for millis in [20, 100] {
            for obstacle in OBSTACLES {
                for flows in [1, 2, 8] {
                    cells.push(Cell::shared(algorithm, Duration::from_millis(millis), obstacle, flows));
                }
            }
        }
    }
    cells
}

/// Returns the first columns of a cell's row.
pub(crate) fn name(cell: &Cell) -> String {
    let window = match cell.algorithm {
        Algorithm::Halving => "RFC 9260 / NewReno",
        Algorithm::Cubic => "CUBIC / CUBIC",
        Algorithm::Linux => "CUBIC / Linux",
        Algorithm::Westwood => "Westwood+ / CUBIC",
        Algorithm::Bbr => "BBR / CUBIC",
        Algorithm::BbrAlike => "BBR / BBR",
    };
    let bottleneck = match cell.obstacle {
        Obstacle::Queue(packets) | Obstacle::Path { queue: packets, .. } => format!("queue of {packets}"),
        Obstacle::Loss(share) | Obstacle::LossAlone(share) => format!("{} % loss", share * 100.0),
    };
    let [sctp, tcp] = cell.flows;
    format!("{window} | {} ms | {bottleneck} | {sctp} + {tcp}", cell.rtt.as_millis())
}

const SECONDS: u64 = 60;
const RUNS: u64 = 10;
const OBSTACLES: [Obstacle; 5] = [
    Obstacle::Queue(50),
    Obstacle::Queue(10),
    Obstacle::Loss(0.0),
    Obstacle::Loss(0.001),
    Obstacle::Loss(0.01),
];

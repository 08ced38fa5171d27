//! The cells of pages that are measured.

use super::MeasuredAt;
use crate::error::StudyError;
use crate::now::NOW_TCP;
use lab::Workload;
use lab::{TransportList, TransportSpec};

/// The measured cells of one figure.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MeasuredCells {
    pub(crate) page: &'static str,
    pub(crate) figure: &'static str,
    /// The workload, which the page simulates as well.
    pub(crate) workload: Workload,
    /// The figure's abscissa.
    pub(crate) over: Over,
    pub(crate) transports: &'static [&'static str],
    /// Name of the simulated curve of one TCP connection.
    pub(crate) tcp: &'static str,
}

/// The quantity that varies along the abscissa.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Over {
    Loss,
    Rate,
    /// The rate of each connection.
    RateEach,
    Streams,
}

impl MeasuredCells {
    pub(crate) fn conditions(&self) -> Vec<MeasuredAt> {
        let cell = |loss_permille, rate| MeasuredAt { workload: self.workload, loss_permille, rate };
        match self.over {
            Over::Loss => LOSSES_PERMILLE.map(|loss| cell(loss, 100)).to_vec(),
            Over::Rate | Over::RateEach => RATES.map(|rate| cell(10, rate)).to_vec(),
            Over::Streams => vec![cell(10, 100)],
        }
    }

    pub(crate) fn x(&self, conditions: MeasuredAt, transport: TransportSpec) -> f64 {
        match self.over {
            Over::Loss => conditions.loss() * 100.0,
            Over::Rate => f64::from(conditions.rate),
            Over::RateEach => f64::from(conditions.rate) / f64::from(transport.lanes()),
            Over::Streams => f64::from(transport.lanes()),
        }
    }

    /// Returns the conditions in words, for a page that has no values.
    pub(crate) fn in_words(&self, conditions: MeasuredAt) -> String {
        format!(
            "the measured values at {} % loss and {} {} a second ({})",
            conditions.loss() * 100.0,
            conditions.rate,
            conditions.sent(),
            self.transports.join(", ")
        )
    }
}

/// Returns all transports that some figure wants under these conditions: they are measured at the same time.
pub(super) fn transports(conditions: MeasuredAt) -> Result<TransportList, StudyError> {
    let mut names: Vec<&str> = Vec::new();
    for cells in CELLS.iter().filter(|cells| cells.conditions().contains(&conditions)) {
        names.extend(cells.transports.iter().filter(|name| !names.contains(name)).collect::<Vec<_>>());
    }
    names.join(",").parse().map_err(StudyError::Transport)
}

pub(crate) const CELLS: [MeasuredCells; 8] = [
    MeasuredCells { over: Over::Loss, transports: OVER_LOSS, ..echoed("S1-fig4", "fig4") },
    MeasuredCells {
        over: Over::Loss,
        transports: &["tcp"],
        tcp: "TCP, Linux 2.6",
        ..echoed("S1-fig5", "fig5")
    },
    MeasuredCells { over: Over::Rate, transports: OVER_RATE, ..echoed("S1-fig7", "fig7") },
    MeasuredCells {
        over: Over::RateEach,
        transports: &["tcp", "tcp:4"],
        tcp: "TCP",
        ..echoed("S1-fig8", "fig8")
    },
    MeasuredCells {
        over: Over::Loss,
        transports: &["sctp:1", "sctp:6", "tcp"],
        tcp: "TCP, Linux 2.6, byte counting",
        ..simco("S4-fig16", "fig16")
    },
    MeasuredCells { over: Over::Streams, transports: OVER_STREAMS, ..simco("S4-fig17", "fig17") },
    MeasuredCells { over: Over::Rate, transports: OVER_RATE, ..simco("S4-fig19", "fig19") },
    // The timer page's first figure, whose name is its transport.
    MeasuredCells { over: Over::Rate, transports: &["tcp"], tcp: NOW_TCP, ..echoed("now-timer", "sctp:1") },
];

const fn echoed(page: &'static str, figure: &'static str) -> MeasuredCells {
    MeasuredCells { page, figure, workload: Workload::ECHO, over: Over::Loss, transports: &[], tcp: "" }
}

const fn simco(page: &'static str, figure: &'static str) -> MeasuredCells {
    MeasuredCells { workload: Workload::SIMCO, ..echoed(page, figure) }
}

const OVER_LOSS: &[&str] = &["sctp:1", "sctp:3", "sctp:6", "sctp:unordered"];
const OVER_STREAMS: &[&str] = &["sctp:1", "sctp:2", "sctp:3", "sctp:6", "sctp:12"];
const OVER_RATE: &[&str] = &["sctp:1", "sctp:6", "sctp:unordered"];
const LOSSES_PERMILLE: [u32; 3] = [10, 20, 40];
const RATES: [u32; 3] = [10, 100, 1000];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_of_equal_conditions_are_measured_together_and_once() {
        let names = |workload| -> Vec<String> {
            let list = transports(MeasuredAt { workload, loss_permille: 10, rate: 1000 });
            list.expect("transports of ours").as_slice().iter().map(ToString::to_string).collect()
        };
        assert_eq!(names(Workload::ECHO), ["sctp:1", "sctp:6", "sctp:unordered", "tcp", "tcp:4"]);
        assert_eq!(names(Workload::SIMCO), OVER_RATE);
    }
}

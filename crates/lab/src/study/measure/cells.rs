//! Which cells of which pages are measured.

use super::Conditions;
use crate::study::effort::StudyError;
use crate::transport::{TransportList, TransportSpec};

/// The measured cells of one figure.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cells {
    pub(super) page: &'static str,
    pub(super) figure: &'static str,
    /// The figure's abscissa.
    pub(super) over: Over,
    pub(super) transports: &'static [&'static str],
    /// Name of the simulated curve of one TCP connection.
    pub(super) tcp: &'static str,
}

/// What varies along the abscissa.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Over {
    Loss,
    Rate,
    Streams,
}

impl Cells {
    pub(super) fn conditions(&self) -> Vec<Conditions> {
        let of_loss = |loss_permille: &u32| Conditions { loss_permille: *loss_permille, rate: 100 };
        match self.over {
            Over::Loss => LOSSES_PERMILLE.iter().map(of_loss).collect(),
            Over::Rate => RATES.iter().map(|rate| Conditions { loss_permille: 10, rate: *rate }).collect(),
            Over::Streams => vec![of_loss(&10)],
        }
    }

    pub(super) fn x(&self, conditions: Conditions, transport: TransportSpec) -> f64 {
        match self.over {
            Over::Loss => conditions.loss() * 100.0,
            Over::Rate => f64::from(conditions.rate),
            Over::Streams => f64::from(transport.lanes()),
        }
    }

    /// In words, for a page that has no values.
    pub(super) fn in_words(&self, conditions: Conditions) -> String {
        format!(
            "the measured values at {} % loss and {} messages a second ({})",
            conditions.loss() * 100.0,
            conditions.rate,
            self.transports.join(", ")
        )
    }
}

/// All transports that some figure wants under these conditions: they are measured at the same time.
pub(super) fn transports(conditions: Conditions) -> Result<TransportList, StudyError> {
    let mut names: Vec<&str> = Vec::new();
    for cells in CELLS.iter().filter(|cells| cells.conditions().contains(&conditions)) {
        names.extend(cells.transports.iter().filter(|name| !names.contains(name)).collect::<Vec<_>>());
    }
    names.join(",").parse().map_err(StudyError::Transport)
}

pub(super) const CELLS: [Cells; 7] = [
    Cells { page: "S1-fig4", figure: "fig4", over: Over::Loss, transports: OVER_LOSS, tcp: "" },
    Cells { page: "S1-fig5", figure: "fig5", over: Over::Loss, transports: &["tcp"], tcp: "TCP, Linux 2.6" },
    Cells { page: "S1-fig7", figure: "fig7", over: Over::Rate, transports: OVER_RATE, tcp: "" },
    Cells { page: "S1-fig8", figure: "fig8", over: Over::Rate, transports: &["tcp", "tcp:4"], tcp: "TCP" },
    Cells {
        page: "S4-fig16",
        figure: "fig16",
        over: Over::Loss,
        transports: &["sctp:1", "sctp:6", "tcp"],
        tcp: "TCP, Linux 2.6, byte counting",
    },
    Cells {
        page: "S4-fig17",
        figure: "fig17",
        over: Over::Streams,
        transports: &["sctp:1", "sctp:2", "sctp:3", "sctp:6", "sctp:12"],
        tcp: "",
    },
    Cells { page: "S4-fig19", figure: "fig19", over: Over::Rate, transports: OVER_RATE, tcp: "" },
];

const OVER_LOSS: &[&str] = &["sctp:1", "sctp:3", "sctp:6", "sctp:unordered"];
const OVER_RATE: &[&str] = &["sctp:1", "sctp:6", "sctp:unordered"];
const LOSSES_PERMILLE: [u32; 3] = [10, 20, 40];
const RATES: [u32; 3] = [10, 100, 1000];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_of_equal_conditions_are_measured_together_and_once() {
        let list = transports(Conditions { loss_permille: 10, rate: 1000 }).expect("transports of ours");
        let names: Vec<String> = list.as_slice().iter().map(ToString::to_string).collect();
        assert_eq!(names, ["sctp:1", "sctp:6", "sctp:unordered", "tcp", "tcp:4"]);
    }
}

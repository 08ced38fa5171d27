//! Response times over the SCTP of a Linux kernel, as `interop/response-times` has recorded them.

use serde::Deserialize;

use super::timer;
use crate::cells::Cells;
use crate::error::StudyError;
use lab::report::{Estimate, Evidence, Mark, Series, Table};

/// The record of a run of `interop/response-times`.
#[derive(Deserialize)]
pub(super) struct Recorded {
    /// The kernel and its version.
    kernel: String,
    /// The day of the run.
    date: String,
    /// How long each cell ran.
    seconds: u32,
    cells: Vec<Cell>,
}

/// One stream under one load.
#[derive(Deserialize)]
struct Cell {
    rto_min_ms: u32,
    rate: f64,
    associations: u32,
    requests: u64,
    mean_ms: f64,
    /// Half of the 95 % interval over the associations.
    half_width_ms: f64,
    /// The mean without loss: the path, and what the guests themselves take.
    lossless_ms: f64,
}

impl Recorded {
    /// Reads the record that this crate carries.
    pub(super) fn of_linux() -> Result<Self, StudyError> {
        serde_json::from_str(RECORD)
            .map_err(|error| StudyError::Recorded { file: "kernel.json", error: error.to_string() })
    }

    /// Returns the curves, one for each RTO.Min, as they were measured.
    pub(super) fn series(&self, figure: &'static str) -> Vec<Series> {
        let of = |rto_min: u32| {
            let mut series = Series::new(
                figure,
                format!("{}, RTO.Min {rto_min} ms, measured", self.kernel),
                Mark::Points,
                [],
            );
            for cell in self.cells.iter().filter(|cell| cell.rto_min_ms == rto_min) {
                series.points.push(vec![cell.rate, cell.mean_ms]);
                series.ci95.push(cell.estimate().interval());
            }
            series
        };
        RTO_MINS.map(of).into()
    }

    /// Returns by how many per cent requests took longer than the simulated rule of three reports says, less what the guests themselves take.
    pub(super) fn beside(&self, simulated: &Cells) -> Result<Evidence, StudyError> {
        let mut offsets = Vec::new();
        for cell in &self.cells {
            let ran =
                timer::at(simulated, "sctp:1", &format!("reports-{}", case(cell.rto_min_ms)), cell.rate)?;
            let Some(mean) = ran.mean() else { return Ok(ran.evidence()) };
            let own = timer::LOSSLESS_MS - cell.lossless_ms;
            let [low, high] = mean.interval().unwrap_or([mean.value(); 2]);
            let percent = |measured: f64, simulated: f64| ((measured + own) / simulated - 1.0) * 100.0;
            let interval = [
                percent(cell.mean_ms - cell.half_width_ms, high),
                percent(cell.mean_ms + cell.half_width_ms, low),
            ];
            let offset = Estimate::new(percent(cell.mean_ms, mean.value()), Some(interval));
            offsets.push((format!("RTO.Min {} ms, {} a second", cell.rto_min_ms, cell.rate), offset));
        }
        Ok(Evidence::Several(offsets))
    }

    /// Returns what was measured, with its conditions.
    pub(super) fn table(&self) -> Table {
        let title = format!(
            "The SCTP of {} between two guests, {} s a cell, recorded on {} by interop/response-times",
            self.kernel, self.seconds, self.date
        );
        let row = |cell: &Cell| {
            vec![
                cell.rto_min_ms.to_string(),
                cell.rate.to_string(),
                cell.associations.to_string(),
                cell.requests.to_string(),
                format!("{:.2} ± {:.2}", cell.mean_ms, cell.half_width_ms),
                format!("{:.2}", cell.lossless_ms),
            ]
        };
        let head =
            ["RTO.Min in ms", "requests a second", "associations", "requests", "mean in ms", "without loss"];
        Table::new(&title, &head, self.cells.iter().map(row).collect())
    }
}

impl Cell {
    const fn estimate(&self) -> Estimate {
        let interval = [self.mean_ms - self.half_width_ms, self.mean_ms + self.half_width_ms];
        Estimate::new(self.mean_ms, Some(interval))
    }
}

/// Returns how the plan's case calls an RTO.Min.
fn case(rto_min_ms: u32) -> String {
    if rto_min_ms == 1000 { "1s".to_owned() } else { format!("{rto_min_ms}ms") }
}

const RTO_MINS: [u32; 3] = [1000, 200, 100];
const RECORD: &str = include_str!("kernel.json");

//! What the study names as its next step: a start-up on the new path that knows what is wanted, and what it costs others.

use core::time::Duration;

use lab::milliseconds;
use lab::plan::{Cell, Plan, spread};
use lab::report::{Axis, Criterion, Estimate, Figure, Mark, Page, Series, Table};
use lab::simulation::{RunOutcome, Scenario, SimulationError};
use virtual_time::Instant;

use super::{NEAR_1S, greatest};
use crate::effort::Effort;
use crate::error::StudyError;

/// Makes the page of start-ups with what was used before.
pub(crate) fn resumed(effort: &Effort) -> Result<Page, StudyError> {
    let mut page = Page { conditions: vec![CONDITIONS.to_owned()], ..Page::default() };
    let longest = waits(effort, &mut page)?;
    let text = "in slow start pictures of 30 kB, 30 a second, wait near a second over an RTT of 200 ms";
    page.statements.push(NEAR_1S.judge(text, Estimate::exact(longest.at("30kB-200ms", SLOW)?)));
    for (case, criterion, text) in [
        ("30kB-200ms", WITHIN_60, "with what was used before they wait 60 ms at most"),
        ("10kB-115ms", WITHIN_30, "pictures of 10 kB over an RTT of 115 ms wait 30 ms at most"),
    ] {
        page.statements.push(criterion.judge(text, Estimate::exact(longest.at(case, RESUME)?)));
    }
    beside_tcp(effort, &mut page)?;
    page.notes.push(NOTE.to_owned());
    Ok(page)
}

/// The longest waits in ms, by case and start-up.
struct Longest(Vec<([String; 2], f64)>);

impl Longest {
    fn at(&self, case: &str, start_up: &str) -> Result<f64, StudyError> {
        let found = self.0.iter().find(|(key, _)| key[0] == case && key[1] == start_up);
        let key = format!("{case}, {start_up}");
        found.map(|(_, longest)| *longest).ok_or(StudyError::Cell { page: ID, key, count: 0 })
    }
}

/// Draws how long pictures take from the movement on; returns the longest waits beyond the time to the server.
fn waits(effort: &Effort, page: &mut Page) -> Result<Longest, StudyError> {
    let axis = Axis::linear("number of the picture, from the movement on").between(0.0, 60.0);
    let title = "How long a picture takes";
    page.figures.push(Figure::new("pictures", title, axis, Axis::linear("transfer time in ms")));
    let (mut rows, mut longest) = (Vec::new(), Vec::new());
    for cell in plan(PICTURES)?.cells {
        let levels: Vec<String> =
            cell.factors.iter().filter_map(|(_, level)| level.as_str().map(str::to_owned)).collect();
        let is_case = |level: &&String| CASES.iter().any(|(case, _)| case == level);
        let case = levels.iter().find(is_case).cloned().unwrap_or_default();
        let start_up = levels.into_iter().find(|level| *level != case).unwrap_or_default();
        let one_way = CASES.iter().find(|(name, _)| *name == case).map_or(0.0, |(_, rtt)| rtt / 2.0);
        let times = times(&effort.simulate(&cell.scenario, 1)?);
        let wait = greatest(&times) - one_way;
        rows.push(vec![case.clone(), start_up.clone(), format!("{wait:.1}"), times.len().to_string()]);
        let numbered = (1_u32..).map(f64::from).zip(times.iter().copied());
        page.series.push(Series::new("pictures", format!("{case}, {start_up}"), Mark::Points, numbered));
        longest.push(([case, start_up], wait));
    }
    let head = ["picture, RTT", "start-up", "longest wait in ms", "pictures after the movement"];
    page.tables.push(Table::new("On a network that carries what is wanted", &head, rows));
    Ok(Longest(longest))
}

/// Returns the transfer times in ms of the pictures that fall due after the movement, in their order.
fn times(run: &RunOutcome) -> Vec<f64> {
    let one_way = run.flows.iter().find_map(|flow| flow.one_way.as_ref());
    let mut trips = one_way.map(|one_way| one_way.trips.clone()).unwrap_or_default();
    trips.sort_by_key(|trip| trip.number);
    let after = trips.iter().filter(|trip| trip.due >= Instant::EPOCH + MOVED_AFTER);
    after.map(|trip| milliseconds(trip.delivered.since(trip.due))).collect()
}

/// Compares what a TCP transfer has left in the ten seconds after the pictures came, run by run.
fn beside_tcp(effort: &Effort, page: &mut Page) -> Result<(), StudyError> {
    let cells = plan(BESIDE)?.cells;
    // A run is short: also an impression has as many as say something.
    let seeds = usize::try_from(effort.seeds).unwrap_or(1).max(LEAST_RUNS);
    let rates = |start_up: &str| {
        let is_it = |cell: &&Cell| cell.factors.iter().any(|(_, level)| level.as_str() == Some(start_up));
        let missing = |what: &str| StudyError::Cell { page: ID, key: format!("{start_up}{what}"), count: 0 };
        let cell = cells.iter().find(is_it).ok_or_else(|| missing(""))?;
        let rates = spread(&effort.options, seeds, |index| goodput(effort, &cell.scenario, index))?;
        rates.into_iter().collect::<Option<Vec<f64>>>().ok_or_else(|| missing(", goodput"))
    };
    let (slow, resumed) = (rates(SLOW)?, rates(RESUME)?);
    let lost: Vec<f64> =
        slow.iter().zip(&resumed).map(|(slow, resumed)| (1.0 - resumed / slow) * 100.0).collect();
    let text = "on a network with a tenth of what is wanted, a TCP transfer has at most 5 % less in the ten seconds from then on than beside slow start";
    page.statements.push(LITTLE_LESS.judge(text, Estimate::of_runs(&lost)));
    let row = |name: &str, rates: &[f64]| {
        let rate = Estimate::of_runs(rates).map(|rate| rate.scaled(1e-3, 0.0).to_string());
        vec![name.to_owned(), rate.unwrap_or_default()]
    };
    let rows = vec![row(SLOW, &slow), row(RESUME, &resumed)];
    let head = ["start-up of the pictures", "what TCP carries in kbit/s"];
    page.tables.push(Table::new("Beside a TCP transfer on a link of 720 kbit/s", &head, rows));
    Ok(())
}

/// Returns what the TCP transfer carried after the movement, in bit/s.
fn goodput(effort: &Effort, scenario: &Scenario, index: usize) -> Result<Option<f64>, SimulationError> {
    let run = effort.simulate(scenario, super::seed_of(index))?;
    Ok(run.flows.iter().find_map(|flow| flow.goodput_bits_per_s))
}

fn plan(text: &str) -> Result<Plan, StudyError> {
    Plan::parse(text).map_err(|error| StudyError::Plan { page: ID, error })
}

const ID: &str = "S5-resumed";
const SLOW: &str = "slow-start";
const RESUME: &str = "resume";
/// The cases of the plan, with their round trips in ms.
const CASES: [(&str, f64); 2] = [("30kB-200ms", 200.0), ("10kB-115ms", 115.0)];
/// Criteria of the statements, fixed before any run.
const WITHIN_60: Criterion = Criterion::less_than(60.0, "ms");
const WITHIN_30: Criterion = Criterion::less_than(30.0, "ms");
const LITTLE_LESS: Criterion = Criterion::less_than(5.0, "%");
const LEAST_RUNS: usize = 10;
/// The time at which the plan has the client move.
const MOVED_AFTER: Duration = Duration::from_secs(3);
const CONDITIONS: &str = "Pictures at 30 a second over the first of two networks; then the second one becomes the primary path, of which HEARTBEATs have told the round trip. Profile signalling, \
                          nothing lost. Beside TCP: the second network carries 720 kbit/s through a queue of 20 packets, where the pictures would need 7.2 Mbit/s, and a TCP transfer has had it \
                          for 12 s; RTT 200 ms for both, 0.2 % loss before the transfer's bottleneck, so that runs differ; the same seeds with both start-ups";
const NOTE: &str = "The start-up is congestion.start_up of SCTP as it ships: the window on the new path is what was acknowledged within one of its round trips on the old one, spread over a round \
                    trip, and half of what came back when something of it is lost (docs/decisions/0059). It is off by default: it takes for granted that the new path carries the stream.";
const PICTURES: &str = include_str!("../../../../plans/studies/s5-resumed.toml");
const BESIDE: &str = include_str!("../../../../plans/studies/s5-beside.toml");

#[cfg(test)]
mod tests {
    use lab::report::Verdict;

    use super::*;

    #[test]
    fn statements_about_pictures_turn_when_the_start_ups_change_places() {
        let mut page = Page::default();
        let longest = waits(&Effort::quick(), &mut page).unwrap();
        let [slow, resumed] =
            [SLOW, RESUME].map(|start_up| Estimate::exact(longest.at("30kB-200ms", start_up).unwrap()));
        let verdicts = |near: Estimate, within: Estimate| {
            [NEAR_1S.judge("", near), WITHIN_60.judge("", within)].map(|statement| statement.verdict())
        };
        assert_eq!(verdicts(slow, resumed), [Verdict::Reproduced; 2]);
        assert_eq!(verdicts(resumed, slow), [Verdict::NotReproduced; 2]);
        assert!(longest.at("30kB-200ms", "off").is_err());
    }
}

//! Saved results of comparisons and of plans, in the form in which they are laid side by side.

use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::{Map, Value};
use thiserror::Error;

use crate::page::Axis;
use crate::plan::{SimulationResult, plain};
use crate::summary::{CompareResult, ResponseResult, SCHEMA};

/// The numbers of a result that can be laid beside those of another.
#[derive(Clone, Debug)]
pub struct Saved {
    /// The world in which the result was obtained, by its name.
    pub(crate) world: String,
    /// The kind of thing that a row stands for: a transport, or a cell.
    pub(crate) of: &'static str,
    /// The conditions that bear on the numbers, by name.
    pub(super) conditions: Vec<(String, String)>,
    /// The axis along which the rows have their abscissas.
    pub(crate) axis: Axis,
    /// The mean times of a transport, or of a cell and flow.
    pub(crate) rows: Vec<SavedRow>,
}

/// The response times or delays of one transport, or of one flow of a cell.
#[derive(Clone, Debug)]
pub(crate) struct SavedRow {
    pub(crate) id: String,
    /// The curve that it is a point of; empty: there is one.
    pub(crate) curve: String,
    pub(crate) x: f64,
    pub(crate) times: ResponseResult,
    pub(super) by_others_loss: Option<f64>,
}

/// A file that is not a result which can be compared.
#[derive(Debug, Error)]
pub enum ResultFileError {
    /// The file of a result cannot be read.
    #[error("'{}' cannot be read: {error}; name a results.json or its folder", path.display())]
    Unreadable {
        /// The file that was to be read.
        path: PathBuf,
        /// The error that the system returned.
        error: std::io::Error,
    },
    /// The file holds something else.
    #[error("'{}' is no result of headway compare, load or simulate: {because}; name a results.json or its folder", path.display())]
    NotAResult {
        /// The path of the file that was read.
        path: PathBuf,
        /// The place in it that does not fit, and why.
        because: String,
    },
    /// The file was written by a later version.
    #[error("'{}' has the form {schema} of results, this program knows those up to {SCHEMA}: use the later program", path.display())]
    Later {
        /// The path of the file that was read.
        path: PathBuf,
        /// The number of the form it has.
        schema: u32,
    },
}

impl Saved {
    /// Reads a result from `results.json`, or from the folder that holds it.
    ///
    /// # Errors
    /// [`ResultFileError`] when the file cannot be read, is no result, or a later program wrote it.
    pub fn read(path: &Path) -> Result<Self, ResultFileError> {
        let path = if path.is_dir() { path.join("results.json") } else { path.to_owned() };
        let text = match std::fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) => return Err(ResultFileError::Unreadable { path, error }),
        };
        let read = serde_json::from_str::<Value>(&text).and_then(|value| {
            let schema = value["schema"].as_u64().and_then(|schema| u32::try_from(schema).ok()).unwrap_or(0);
            if schema > SCHEMA {
                return Ok(Err(schema));
            }
            let saved = match value.get("plan") {
                Some(_) => Self::from(&SimulationResult::deserialize(value)?),
                None => Self::from(&CompareResult::deserialize(value)?),
            };
            Ok(Ok(saved))
        });
        match read {
            Ok(Ok(saved)) => Ok(saved),
            Ok(Err(schema)) => Err(ResultFileError::Later { path, schema }),
            Err(error) => Err(ResultFileError::NotAResult { path, because: error.to_string() }),
        }
    }
}

impl From<&CompareResult> for Saved {
    fn from(result: &CompareResult) -> Self {
        let (path, workload) = (&result.path, &result.workload);
        let rtt = path.rtt_ms.map_or_else(|| "of the network".to_owned(), |rtt| format!("{rtt} ms"));
        let mut conditions = vec![
            ("version", format!("{} {}", result.headway, result.commit).trim_end().to_owned()),
            ("world", path.backend.to_string()),
            ("round trip", rtt),
            ("path, request direction", path.impairments.request.clone()),
            ("path, response direction", path.impairments.response.clone()),
            ("workload", workload.kind.clone()),
            ("arrivals", workload.arrivals.clone()),
            ("interval", format!("{} ms", workload.interval_ms)),
            ("message", workload.message_bytes.map_or_else(|| "of its own length".to_owned(), octets)),
            ("deadline", workload.deadline_ms.map_or_else(|| "none".to_owned(), |ms| format!("{ms} ms"))),
            ("duration", format!("{} s", workload.duration_s)),
            ("seed", workload.seed.to_string()),
        ];
        let profile = result.runs.iter().find_map(|run| run.profile.clone());
        conditions.push(("profile", profile.unwrap_or_default()));
        for name in HOST {
            conditions.push((name, result.host.get(name).cloned().unwrap_or_default()));
        }
        let rows = (0..).map(f64::from).zip(&result.runs).map(|(x, run)| SavedRow {
            id: run.id.clone(),
            curve: String::new(),
            x,
            times: run.response_ms,
            by_others_loss: run.late.as_ref().and_then(|late| Some(late.losses?.by_others_loss)),
        });
        Self {
            world: path.backend.to_string(),
            of: "transport",
            conditions: conditions.into_iter().map(|(name, value)| (name.to_owned(), value)).collect(),
            axis: Axis::of_names("transport", result.runs.iter().map(|run| run.id.clone()).collect()),
            rows: rows.collect(),
        }
    }
}

impl From<&SimulationResult> for Saved {
    fn from(result: &SimulationResult) -> Self {
        let factor = abscissa(result);
        let mut rows = Vec::new();
        for cell in &result.cells {
            let (mut x, mut levels, mut others) = (None, Vec::new(), Vec::new());
            for (name, level) in &cell.factors {
                let text = plain(level);
                if factor.as_ref().is_some_and(|(factor, _)| *factor == name) {
                    x = number(&text).map(|(number, _)| number);
                } else {
                    others.push(text.clone());
                }
                levels.push(text);
            }
            for (flow, metrics) in cell.by_flow() {
                let Some(times) = times(metrics) else { continue };
                let name = |levels: &[String]| {
                    let flow = Some(flow).filter(|flow| !flow.is_empty());
                    levels.iter().map(String::as_str).chain(flow).collect::<Vec<_>>().join(", ")
                };
                let position = u32::try_from(rows.len()).map_or(f64::NAN, f64::from);
                let curve = if x.is_some() { name(&others) } else { String::new() };
                rows.push(SavedRow {
                    id: name(&levels),
                    curve,
                    x: x.unwrap_or(position),
                    times,
                    by_others_loss: None,
                });
            }
        }
        let named = || rows.iter().map(|row: &SavedRow| row.id.clone()).collect();
        let axis = match factor {
            Some((name, unit)) => {
                let name = name.rsplit('.').next().unwrap_or(name);
                Axis::linear(&if unit.is_empty() { name.to_owned() } else { format!("{name} in {unit}") })
            }
            None => Axis::of_names("cell", named()),
        };
        let seeds =
            format!("{} from {}", result.seeds.len(), result.seeds.first().copied().unwrap_or_default());
        let conditions = [
            ("version", result.headway.clone()),
            ("world", result.world.clone()),
            ("plan", result.plan.clone()),
            ("seeds", seeds),
            ("messages sent more than 1 ms late", result.late_sends().0.to_string()),
        ];
        let conditions = conditions.map(|(name, value)| (name.to_owned(), value)).into();
        Self { world: result.world.clone(), of: "cell", conditions, axis, rows }
    }
}

fn octets(count: u32) -> String {
    format!("{count} octets")
}

/// Returns the first factor whose levels are numbers, all of the same unit, and that unit.
fn abscissa(result: &SimulationResult) -> Option<(&String, String)> {
    let unit = |name: &String| {
        let mut units = result.cells.iter().map(|cell| Some(number(&plain(cell.factors.get(name)?))?.1));
        let first = units.next()??;
        units.all(|unit| unit.as_ref() == Some(&first)).then_some(first)
    };
    result.cells.first()?.factors.keys().find_map(|name| Some((name, unit(name)?)))
}

/// Returns the number that a level begins with, and its unit.
fn number(level: &str) -> Option<(f64, String)> {
    let digits = level.trim_end_matches(|last: char| !last.is_ascii_digit());
    Some((digits.parse().ok()?, level[digits.len()..].to_owned()))
}

fn times(metrics: &Map<String, Value>) -> Option<ResponseResult> {
    let times = metrics.get("response_ms").or_else(|| metrics.get("delay_ms"))?;
    ResponseResult::deserialize(times).ok()
}

/// The facts about a host that bear on the numbers.
pub(super) const HOST: [&str; 5] = ["cpu", "cores", "kernel", "memory", "system"];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::CompareConfig;
    use crate::conditions::Conditions;
    use crate::plan::{Plan, RunOptions};
    use crate::testing::{answered, outcome, run};

    #[test]
    fn files_that_are_no_results_are_refused_by_what_they_are() {
        let file = std::env::temp_dir().join(format!("headway-difference-{}.json", std::process::id()));
        let read = |text: &str| {
            std::fs::write(&file, text).unwrap();
            Saved::read(&file)
        };
        let (config, raw) = (CompareConfig::default(), outcome(vec![run("tcp", &answered(20))]));
        let unknown = |_| Err("no".to_owned());
        let good = crate::summary::Comparison::new(&config, &raw, Conditions::default(), unknown).result;
        let text = serde_json::to_string(&good).unwrap();
        assert_eq!(read(&text).unwrap().rows[0].times, good.runs[0].response_ms);
        assert!(matches!(read("{}"), Err(ResultFileError::NotAResult { .. })));
        let later = text.replacen(&format!("\"schema\":{SCHEMA}"), "\"schema\":99", 1);
        assert!(matches!(read(&later), Err(ResultFileError::Later { schema: 99, .. })));
        std::fs::remove_file(&file).unwrap();
        assert!(matches!(Saved::read(&file), Err(ResultFileError::Unreadable { .. })));
    }

    #[test]
    fn the_cells_of_a_plan_are_points_of_curves_over_its_factor_of_numbers() {
        let text = "title = \"t\"\nhosts = [\"a\", \"b\"]\n[links.l]\nbetween = [\"a\", \"b\"]\n[flows.f]\nfrom = \"a\"\nto = \"b\"\n\
                    transport = \"udp\"\ninterval = \"10ms\"\n[stop]\nmessages = 20\n[factors]\n\"links.l.loss\" = [\"0%\", \"1%\"]\n\
                    \"flows.f.transport\" = [\"tcp\", \"udp\"]\n";
        let plan = Plan::parse(text).unwrap();
        let result = SimulationResult::new(&plan, &plan.run(&RunOptions::default()).unwrap());
        let read: SimulationResult = serde_json::from_str(&serde_json::to_string(&result).unwrap()).unwrap();
        let saved = Saved::from(&read);
        let rows: Vec<_> =
            saved.rows.iter().map(|row| (row.id.as_str(), row.curve.as_str(), row.x)).collect();
        assert_eq!(rows[0], ("tcp, 0%", "tcp", 0.0));
        assert_eq!(rows[3], ("udp, 1%", "udp", 1.0));
        assert_eq!(saved.axis.label, "loss in %");
    }
}

//! Two results side by side: what was alike, what was not, and which differences are beyond their intervals.

use std::path::{Path, PathBuf};

use serde::Serialize;
use thiserror::Error;

use super::result::{CompareResult, RunResult};
use super::{SCHEMA, to_nanoseconds};

/// The differences between two results.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ResultDifference {
    /// Conditions that were not the same, by name; the same ones are left out.
    pub conditions: Vec<ConditionDifference>,
    /// Transports that both have, in the order of the first.
    pub transports: Vec<TransportDifference>,
    /// Transports that only the first has.
    pub only_first: Vec<String>,
    /// Transports that only the second has.
    pub only_second: Vec<String>,
}

/// A condition that two results do not share.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ConditionDifference {
    /// The name of the condition.
    pub name: String,
    /// The value of the first result, and that of the second.
    pub values: [String; 2],
}

/// A transport in two results. Each pair of values is of the first and of the second result.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TransportDifference {
    /// The name of the transport on the command line.
    pub id: String,
    /// Means of the response times in ms.
    pub mean_ms: [Option<f64>; 2],
    /// Requests that were not answered.
    pub unanswered: [u64; 2],
    /// The second mean less the first one.
    pub difference_ms: Option<f64>,
    /// The 95 % confidence interval of the difference.
    pub ci95: Option<[f64; 2]>,
    /// Medians in ms.
    pub p50: [Option<f64>; 2],
    /// 90th percentiles in ms.
    pub p90: [Option<f64>; 2],
    /// 99th percentiles in ms.
    pub p99: [Option<f64>; 2],
    /// Shares of requests that somebody else's loss delayed.
    pub by_others_loss: [Option<f64>; 2],
    /// Whether the means differ beyond the interval.
    pub verdict: DifferenceVerdict,
}

/// Whether the second mean differs from the first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum DifferenceVerdict {
    /// The second is shorter.
    Shorter,
    /// The second is longer.
    Longer,
    /// There is no difference beyond the intervals.
    None,
    /// One of them has too few requests for an interval, or no answer at all.
    Unknown,
}

/// A file that is not a result which can be compared.
#[derive(Debug, Error)]
pub enum ResultFileError {
    /// The file cannot be read.
    #[error("'{}' cannot be read: {error}", path.display())]
    Unreadable {
        /// The file that was to be read.
        path: PathBuf,
        /// The error of the system.
        error: std::io::Error,
    },
    /// The file holds something else.
    #[error("'{}' is no result of headway compare or load: {because}; name a results.json or its folder", path.display())]
    NotAResult {
        /// The file that was read.
        path: PathBuf,
        /// The place in it that does not fit, and why.
        because: String,
    },
    /// The file was written by a later version.
    #[error("'{}' has the form {schema} of results, this program knows those up to {SCHEMA}: use the later program", path.display())]
    Later {
        /// The file that was read.
        path: PathBuf,
        /// The number of its form.
        schema: u32,
    },
}

impl CompareResult {
    /// Reads a result from `results.json`, or from the folder that holds it.
    ///
    /// # Errors
    /// [`ResultFileError`] when the file cannot be read, is no result of a comparison, or a later program wrote it.
    pub fn read(path: &Path) -> Result<Self, ResultFileError> {
        let path = if path.is_dir() { path.join("results.json") } else { path.to_owned() };
        let text = match std::fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) => return Err(ResultFileError::Unreadable { path, error }),
        };
        match serde_json::from_str::<Self>(&text) {
            Ok(result) if result.schema > SCHEMA => {
                Err(ResultFileError::Later { path, schema: result.schema })
            }
            Ok(result) => Ok(result),
            Err(error) => Err(ResultFileError::NotAResult { path, because: error.to_string() }),
        }
    }
}

impl ResultDifference {
    /// Compares two results.
    #[must_use]
    pub fn new(first: &CompareResult, second: &CompareResult) -> Self {
        let run = |result: &CompareResult, id: &str| result.runs.iter().position(|run| run.id == id);
        let both = first.runs.iter().filter_map(|one| Some((one, &second.runs[run(second, &one.id)?])));
        let only = |here: &CompareResult, there: &CompareResult| {
            here.runs.iter().filter(|one| run(there, &one.id).is_none()).map(|one| one.id.clone()).collect()
        };
        Self {
            conditions: conditions(first, second),
            transports: both.map(|(one, other)| TransportDifference::new(one, other)).collect(),
            only_first: only(first, second),
            only_second: only(second, first),
        }
    }
}

impl TransportDifference {
    fn new(one: &RunResult, other: &RunResult) -> Self {
        let pair = |value: fn(&RunResult) -> Option<f64>| [value(one), value(other)];
        let mean_ms = pair(|run| run.response_ms.mean);
        let difference = mean_ms[0].zip(mean_ms[1]).map(|(one, other)| other - one);
        let half = |run: &RunResult| run.response_ms.ci95.map(|[low, high]| (high - low) / 2.0);
        let half = half(one).zip(half(other)).map(|(one, other)| one.hypot(other));
        let ci95 = difference.zip(half).map(|(by, half)| [by - half, by + half]);
        let verdict = match ci95 {
            None => DifferenceVerdict::Unknown,
            Some([_, high]) if high < 0.0 => DifferenceVerdict::Shorter,
            Some([low, _]) if low > 0.0 => DifferenceVerdict::Longer,
            Some(_) => DifferenceVerdict::None,
        };
        Self {
            id: one.id.clone(),
            mean_ms,
            unanswered: [one, other].map(|run| run.response_ms.unanswered),
            difference_ms: difference.map(to_nanoseconds),
            ci95: ci95.map(|bounds| bounds.map(to_nanoseconds)),
            p50: pair(|run| run.response_ms.p50),
            p90: pair(|run| run.response_ms.p90),
            p99: pair(|run| run.response_ms.p99),
            by_others_loss: pair(|run| Some(run.late?.losses?.by_others_loss)),
            verdict,
        }
    }
}

/// What bears on the numbers and differs.
fn conditions(first: &CompareResult, second: &CompareResult) -> Vec<ConditionDifference> {
    let of = |result: &CompareResult| {
        let (path, workload) = (&result.path, &result.workload);
        let rtt = path.rtt_ms.map_or_else(|| "of the network".to_owned(), |rtt| format!("{rtt} ms"));
        let mut all = vec![
            ("version", format!("{} {}", result.headway, result.commit).trim_end().to_owned()),
            ("world", path.backend.to_string()),
            ("round trip", rtt),
            ("path, request direction", path.impairments.request.clone()),
            ("path, response direction", path.impairments.response.clone()),
            ("workload", workload.kind.clone()),
            ("arrivals", workload.arrivals.clone()),
            ("interval", format!("{} ms", workload.interval_ms)),
            ("message", format!("{} octets", workload.message_bytes)),
            ("duration", format!("{} s", workload.duration_s)),
            ("seed", workload.seed.to_string()),
        ];
        let profiles = result.runs.iter().filter_map(|run| run.profile.clone()).next();
        all.push(("profile", profiles.unwrap_or_default()));
        for name in ["cpu", "cores", "kernel", "memory", "system"] {
            all.push((name, result.host.get(name).cloned().unwrap_or_default()));
        }
        all
    };
    let pairs = of(first).into_iter().zip(of(second)).filter(|(one, other)| one.1 != other.1);
    let named = pairs
        .map(|((name, one), (_, other))| ConditionDifference { name: name.to_owned(), values: [one, other] });
    named.collect()
}

#[cfg(test)]
mod tests {
    use core::time::Duration;

    use super::*;
    use crate::compare::{CompareConfig, RawRun};
    use crate::conditions::Conditions;
    use crate::testing::{answered, outcome, run};

    fn result(runs: Vec<RawRun>, seed: u64) -> CompareResult {
        let config = CompareConfig { seed, ..CompareConfig::default() };
        super::super::Comparison::new(
            &config,
            &outcome(runs),
            Conditions::default(),
            |_| Err("no".to_owned()),
        )
        .result
    }

    fn slower(id: &str, by: u64) -> RawRun {
        let responses =
            answered(500).into_iter().map(|time| time.map(|time| time + Duration::from_millis(by)));
        run(id, &responses.collect::<Vec<_>>())
    }

    #[test]
    fn means_that_differ_beyond_their_intervals_are_told_from_those_that_do_not() {
        let first = result(vec![slower("tcp", 0), slower("sctp:6", 0), slower("udp", 0)], 1);
        let second = result(vec![slower("udp", 0), slower("sctp:6", 4), slower("sctp:1", 0)], 2);
        let difference = ResultDifference::new(&first, &second);
        let verdicts: Vec<_> = difference
            .transports
            .iter()
            .map(|transport| (transport.id.as_str(), transport.verdict))
            .collect();
        assert_eq!(verdicts, [("sctp:6", DifferenceVerdict::Longer), ("udp", DifferenceVerdict::None)]);
        assert_eq!(difference.transports[0].difference_ms, Some(4.0));
        assert_eq!(
            (difference.only_first, difference.only_second),
            (vec!["tcp".to_owned()], vec!["sctp:1".to_owned()])
        );
        let expected =
            ConditionDifference { name: "seed".to_owned(), values: ["1".to_owned(), "2".to_owned()] };
        assert_eq!(difference.conditions, [expected]);
    }

    #[test]
    fn too_few_requests_tell_nothing() {
        let few = || result(vec![run("tcp", &answered(20))], 1);
        assert_eq!(ResultDifference::new(&few(), &few()).transports[0].verdict, DifferenceVerdict::Unknown);
    }

    #[test]
    fn files_that_are_no_results_are_refused_by_what_they_are() {
        let file = std::env::temp_dir().join(format!("headway-difference-{}.json", std::process::id()));
        let read = |text: &str| {
            std::fs::write(&file, text).unwrap();
            CompareResult::read(&file)
        };
        let good = result(vec![run("tcp", &answered(20))], 1);
        let text = serde_json::to_string(&good).unwrap();
        assert_eq!(read(&text).unwrap(), good);
        assert!(matches!(read("{}"), Err(ResultFileError::NotAResult { .. })));
        let later = text.replacen(&format!("\"schema\":{SCHEMA}"), "\"schema\":99", 1);
        assert!(matches!(read(&later), Err(ResultFileError::Later { schema: 99, .. })));
        std::fs::remove_file(&file).unwrap();
        assert!(matches!(CompareResult::read(&file), Err(ResultFileError::Unreadable { .. })));
    }
}

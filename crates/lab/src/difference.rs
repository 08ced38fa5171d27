//! Two results side by side: what was alike, what was not, and which differences are beyond their intervals.

mod saved;

use serde::Serialize;

use saved::{HOST, SavedRow};
pub use saved::{ResultFileError, Saved};

use crate::summary::{ResponseResult, to_nanoseconds};

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
    /// The medians of both in ms.
    pub p50: [Option<f64>; 2],
    /// The 90th percentiles of both in ms.
    pub p90: [Option<f64>; 2],
    /// The 99th percentiles of both in ms.
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
    /// The second result is shorter.
    Shorter,
    /// The second result is longer.
    Longer,
    /// There is no difference beyond the intervals.
    None,
    /// One of them has too few requests for an interval, or no answer at all.
    Unknown,
}

impl ResultDifference {
    /// Compares two results of comparisons.
    #[must_use]
    pub fn new(first: &Saved, second: &Saved) -> Self {
        let find = |result: &Saved, id: &str| result.rows.iter().position(|row| row.id == id);
        let both = first.rows.iter().filter_map(|one| Some((one, &second.rows[find(second, &one.id)?])));
        let only = |here: &Saved, there: &Saved| {
            here.rows.iter().filter(|one| find(there, &one.id).is_none()).map(|one| one.id.clone()).collect()
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
    fn new(one: &SavedRow, other: &SavedRow) -> Self {
        let pair = |value: fn(&ResponseResult) -> Option<f64>| [value(&one.times), value(&other.times)];
        let mean_ms = pair(|times| times.mean);
        let difference = mean_ms[0].zip(mean_ms[1]).map(|(one, other)| other - one);
        let half = |row: &SavedRow| row.times.ci95.map(|[low, high]| (high - low) / 2.0);
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
            unanswered: [one, other].map(|row| row.times.unanswered),
            difference_ms: difference.map(to_nanoseconds),
            ci95: ci95.map(|bounds| bounds.map(to_nanoseconds)),
            p50: pair(|times| times.p50),
            p90: pair(|times| times.p90),
            p99: pair(|times| times.p99),
            by_others_loss: [one.by_others_loss, other.by_others_loss],
            verdict,
        }
    }
}

/// Returns what bears on the numbers and differs; what only one of them tells is no difference.
fn conditions(first: &Saved, second: &Saved) -> Vec<ConditionDifference> {
    let other = |name: &str| {
        second.conditions.iter().find(|(known, _)| known == name).map(|(_, value)| value.clone())
    };
    let pairs = first.conditions.iter().filter_map(|(name, one)| Some((name, [one.clone(), other(name)?])));
    let differing = pairs.filter(|(_, values)| values[0] != values[1]);
    differing.map(|(name, values)| ConditionDifference { name: name.clone(), values }).collect()
}

/// Returns what bears on the numbers and is the same, but for the hosts: what both results are about.
pub(crate) fn in_common(first: &Saved, second: &Saved) -> Vec<String> {
    let is_told = |(name, value): &&(String, String)| !HOST.contains(&name.as_str()) && !value.is_empty();
    let same = first.conditions.iter().filter(|condition| second.conditions.contains(condition));
    same.filter(is_told).map(|(name, value)| format!("{name} {value}")).collect()
}

#[cfg(test)]
mod tests {
    use core::time::Duration;

    use super::*;
    use crate::compare::{CompareConfig, RawRun};
    use crate::conditions::Conditions;
    use crate::summary::CompareResult;
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
        let difference = ResultDifference::new(&Saved::from(&first), &Saved::from(&second));
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
        let few = Saved::from(&result(vec![run("tcp", &answered(20))], 1));
        assert_eq!(ResultDifference::new(&few, &few).transports[0].verdict, DifferenceVerdict::Unknown);
    }
}

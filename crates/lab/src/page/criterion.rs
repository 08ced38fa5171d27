//! The criterion that decides a statement: a rule that is chosen before the run, and alone says the verdict. Nobody can
//! change either afterwards.

use core::fmt;

use statrs::distribution::{ContinuousCDF, StudentsT};

use super::evidence::{Estimate, Evidence};
use super::statement::{Statement, Verdict};
use crate::statistics::MIN_BATCHES;

/// A rule that says from data alone whether they bear a statement out.
///
/// Uncertainty counts both ways: a value inside the bar whose interval reaches beyond it is as undecided as one outside whose interval
/// reaches in.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Criterion {
    rule: Rule,
    published: Option<f64>,
    unit: &'static str,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Rule {
    /// The whole interval lies within a share of the published value.
    Within(f64),
    /// The whole interval lies between two bounds.
    Between([f64; 2]),
    /// The published value lies in the prediction interval of a further run, which has this level.
    Predicted(f64),
    /// Every one of several intervals lies between two bounds.
    Each([f64; 2]),
    /// Each value is less than the one before, or more, but for a share.
    Ordered(Direction, f64),
    /// The fact that the statement speaks of is so.
    Holds,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Direction {
    Falling,
    Rising,
}

impl Criterion {
    /// Demands that ours be equivalent to the value that the study printed: the whole interval within `share` of it.
    #[must_use]
    pub const fn within(published: f64, share: f64, unit: &'static str) -> Self {
        Self { rule: Rule::Within(share), published: Some(published), unit }
    }

    /// Demands that the whole interval be between two bounds.
    #[must_use]
    pub const fn equivalent(bounds: [f64; 2], unit: &'static str) -> Self {
        Self { rule: Rule::Between(bounds), published: None, unit }
    }

    /// Demands that the whole interval be above a bound; what is equal to it is not.
    #[must_use]
    pub const fn more_than(bound: f64, unit: &'static str) -> Self {
        Self::equivalent([bound, f64::INFINITY], unit)
    }

    /// Demands that the whole interval be below a bound; what is equal to it is not.
    #[must_use]
    pub const fn less_than(bound: f64, unit: &'static str) -> Self {
        Self::equivalent([f64::NEG_INFINITY, bound], unit)
    }

    /// Demands that the printed value lie where a further run would, with a probability of `level`: more runs do not make that easier.
    #[must_use]
    pub const fn one_of_the_runs(published: f64, level: f64, unit: &'static str) -> Self {
        Self { rule: Rule::Predicted(level), published: Some(published), unit }
    }

    /// Demands that each value be less than the one before it, but for a share of it.
    #[must_use]
    pub const fn falling(but_for: f64, unit: &'static str) -> Self {
        Self { rule: Rule::Ordered(Direction::Falling, but_for), published: None, unit }
    }

    /// Demands that each value be more than the one before it, but for a share of it.
    #[must_use]
    pub const fn rising(but_for: f64, unit: &'static str) -> Self {
        Self { rule: Rule::Ordered(Direction::Rising, but_for), published: None, unit }
    }

    /// Demands that the whole interval of each of several values be between two bounds.
    #[must_use]
    pub const fn each(bounds: [f64; 2], unit: &'static str) -> Self {
        Self { rule: Rule::Each(bounds), published: None, unit }
    }

    /// Demands that a fact be so, with no bound for a value.
    #[must_use]
    pub const fn holds() -> Self {
        Self { rule: Rule::Holds, published: None, unit: "" }
    }

    /// Returns the criterion with the value that the study printed, to stand beside ours.
    #[must_use]
    pub const fn beside(self, published: f64) -> Self {
        Self { published: Some(published), ..self }
    }

    /// Judges a statement by what was found out about it.
    #[must_use]
    pub fn judge(&self, text: impl Into<String>, evidence: impl Into<Evidence>) -> Statement {
        let found = self.look(&evidence.into());
        Statement {
            text: text.into(),
            published: self.published,
            ours: found.ours,
            unit: self.unit.to_owned(),
            ci95: found.interval,
            criterion: self.to_string(),
            verdict: found.verdict,
            because: found.because,
            evidence: None,
        }
    }

    /// Returns the statement, explained if it was not reproduced and a second run, in which only the named cause is different, bears it
    /// out by this same criterion. `evidence` says where on the page the second run is.
    ///
    /// A statement that another criterion judged stays as it is.
    #[must_use]
    pub fn explain(
        &self,
        mut statement: Statement,
        cause: &str,
        evidence: &str,
        second: impl Into<Evidence>,
    ) -> Statement {
        if statement.verdict != Verdict::NotReproduced || statement.criterion != self.to_string() {
            return statement;
        }
        let found = self.look(&second.into());
        let does = found.verdict == Verdict::Reproduced;
        if does {
            statement.verdict = Verdict::Explained;
        }
        statement.evidence = Some(evidence.to_owned());
        let tells = if does { "gives what was published" } else { "does not give what was published either" };
        statement.because += &format!("; {cause} {tells}: {}", found.because);
        statement
    }

    fn look(&self, evidence: &Evidence) -> Found {
        match (self.rule, evidence) {
            (_, Evidence::Missing(because)) => Found::nothing(because),
            (Rule::Within(share), Evidence::Estimate(estimate)) => self.look_within(share, *estimate),
            (Rule::Between(bounds), Evidence::Estimate(estimate)) => {
                Found::of(*estimate, bounds, format!("{estimate} {}", self.unit))
            }
            (Rule::Predicted(level), Evidence::Runs(runs)) => self.look_among(runs, level),
            (Rule::Each(bounds), Evidence::Several(values)) => self.look_at_each(values, bounds),
            (Rule::Ordered(direction, share), Evidence::Several(values)) => {
                self.look_along(values, direction, share)
            }
            (Rule::Holds, Evidence::Fact(does, because)) => Found {
                verdict: if *does { Verdict::Reproduced } else { Verdict::NotReproduced },
                because: because.clone(),
                ..Found::default()
            },
            (
                Rule::Within(_)
                | Rule::Between(_)
                | Rule::Predicted(_)
                | Rule::Each(_)
                | Rule::Ordered(..)
                | Rule::Holds,
                Evidence::Estimate(_) | Evidence::Runs(_) | Evidence::Several(_) | Evidence::Fact(..),
            ) => Found::nothing("what was measured is not of the kind that the criterion asks for"),
        }
    }

    fn look_within(&self, share: f64, estimate: Estimate) -> Found {
        let published = self.published.unwrap_or(f64::NAN);
        let bar = (published * share).abs();
        let off = Estimate::new(estimate.value(), estimate.interval()).scaled(100.0 / published, -100.0);
        let half = off.half_width().map(|half| format!(" ± {:.1}", half.abs())).unwrap_or_default();
        Found::of(estimate, [published - bar, published + bar], format!("{:+.1}{half} % off", off.value()))
    }

    fn look_among(&self, runs: &[f64], level: f64) -> Found {
        let published = self.published.unwrap_or(f64::NAN);
        let count = runs.len() as f64;
        let Some((estimate, student)) = Estimate::of_runs(runs)
            .filter(|estimate| runs.len() >= MIN_BATCHES && estimate.is_finite())
            .zip(StudentsT::new(0.0, 1.0, count - 1.0).ok())
        else {
            return Found::nothing("a prediction interval takes ten runs at least");
        };
        let middle = estimate.value();
        let variance = runs.iter().map(|run| (run - middle).powi(2)).sum::<f64>() / (count - 1.0);
        let half = student.inverse_cdf(0.5 + level / 2.0) * (variance * (1.0 + 1.0 / count)).sqrt();
        let is_inside = (published - middle).abs() <= half;
        let (verdict, tells) = match (is_inside, half > WIDEST * published.abs()) {
            (true, true) => (Verdict::Undecided, ", too wide to tell anything"),
            (true, false) => (Verdict::Reproduced, ""),
            (false, _) => (Verdict::NotReproduced, ""),
        };
        let because = format!(
            "a further run would give {:.1} to {:.1} {}{tells}",
            middle - half,
            middle + half,
            self.unit
        );
        Found { verdict, ours: Some(middle), interval: estimate.interval(), because }
    }

    /// Judges several values, and tells of the one whose interval reaches farthest beyond the bounds, or nearest to
    /// them.
    fn look_at_each(&self, values: &[(String, Estimate)], bounds: [f64; 2]) -> Found {
        let reach = |estimate: &Estimate| {
            let [low, high] = estimate.interval().unwrap_or([f64::NEG_INFINITY, f64::INFINITY]);
            (bounds[0] - low).max(high - bounds[1])
        };
        let farthest = values.iter().max_by(|one, other| reach(&one.1).total_cmp(&reach(&other.1)));
        let Some((name, estimate)) = farthest else { return Found::nothing("there is no value") };
        let verdicts = values.iter().map(|(_, value)| Found::of(*value, bounds, String::new()).verdict);
        Found {
            verdict: weakest(verdicts),
            ours: Some(estimate.value()),
            interval: estimate.interval(),
            because: format!("of {} values the farthest is {estimate} {}, {name}", values.len(), self.unit),
        }
    }

    fn look_along(&self, values: &[(String, Estimate)], direction: Direction, share: f64) -> Found {
        let (least, most) = match direction {
            Direction::Falling => (f64::NEG_INFINITY, share),
            Direction::Rising => (-share, f64::INFINITY),
        };
        let steps = values.windows(2).map(|pair| pair[1].1.beyond(pair[0].1));
        let told = values.iter().map(|(name, value)| format!("{name}: {value}"));
        Found {
            verdict: weakest(steps.map(|step| Found::of(step, [least, most], String::new()).verdict)),
            because: format!("{} {}", told.collect::<Vec<_>>().join(", "), self.unit),
            ..Found::default()
        }
    }
}

/// Returns the verdict on something that takes all of its parts; of none it is undecided.
fn weakest(parts: impl Iterator<Item = Verdict>) -> Verdict {
    let parts: Vec<Verdict> = parts.collect();
    let not = [Verdict::NotReproduced, Verdict::Undecided].into_iter().find(|one| parts.contains(one));
    not.unwrap_or(if parts.is_empty() { Verdict::Undecided } else { Verdict::Reproduced })
}

impl fmt::Display for Criterion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let unit = self.unit;
        match self.rule {
            Rule::Within(share) => write!(f, "within {} %", crate::numbers::short(share * 100.0)),
            Rule::Between([f64::NEG_INFINITY, high]) => write!(f, "less than {high} {unit}"),
            Rule::Between([low, f64::INFINITY]) => write!(f, "more than {low} {unit}"),
            Rule::Between([low, high]) => write!(f, "between {low} and {high} {unit}"),
            Rule::Each([f64::NEG_INFINITY, high]) => write!(f, "each less than {high} {unit}"),
            Rule::Each([low, f64::INFINITY]) => write!(f, "each more than {low} {unit}"),
            Rule::Each([low, high]) => write!(f, "each between {low} and {high} {unit}"),
            Rule::Predicted(level) => {
                write!(f, "in the {} % prediction interval", crate::numbers::short(level * 100.0))
            }
            Rule::Ordered(direction, share) => {
                let word = match direction {
                    Direction::Falling => "falling",
                    Direction::Rising => "rising",
                };
                write!(f, "{word}, but for {} %", crate::numbers::short(share * 100.0))
            }
            Rule::Holds => f.write_str("it is so"),
        }
    }
}

/// The outcome of a look at the evidence.
#[derive(Debug, Default)]
struct Found {
    verdict: Verdict,
    ours: Option<f64>,
    interval: Option<[f64; 2]>,
    because: String,
}

impl Found {
    fn nothing(because: &str) -> Self {
        Self { because: because.to_owned(), ..Self::default() }
    }

    /// Compares the whole interval with two bounds.
    fn of(estimate: Estimate, [least, most]: [f64; 2], because: String) -> Self {
        if !estimate.is_finite() {
            return Self::nothing("there is no value");
        }
        // One bound alone separates less from more, and what is equal is neither; two bounds belong to what lies between them.
        let is_one_sided = least.is_infinite() || most.is_infinite();
        let verdict = match estimate.interval() {
            Some([low, high]) if is_one_sided && (high <= least || low >= most) => Verdict::NotReproduced,
            Some([low, high]) if high < least || low > most => Verdict::NotReproduced,
            Some([low, high]) if is_one_sided && least < low && high < most => Verdict::Reproduced,
            Some([low, high]) if !is_one_sided && least <= low && high <= most => Verdict::Reproduced,
            Some(_) | None => Verdict::Undecided,
        };
        let tells = match (verdict, estimate.interval()) {
            (Verdict::Undecided, Some(_)) => {
                ", and the interval reaches across the bar: more runs would tell"
            }
            (Verdict::Undecided, None) => ", and there are too few runs for an interval",
            (Verdict::Reproduced | Verdict::NotReproduced | Verdict::Explained, _) => "",
        };
        Self {
            verdict,
            ours: Some(estimate.value()),
            interval: estimate.interval(),
            because: because + tells,
        }
    }
}

/// A prediction interval that is wider than this share of the published value, each way, would take in almost anything.
const WIDEST: f64 = 0.5;

#[cfg(test)]
mod tests;

//! The cells of a plan that was run, found by what their factors say. Not by position: a plan whose factors are in another order has the
//! same cells, and one that lacks a cell is an error and no number.

use lab::plan::CellTally;
use lab::report::{Estimate, Evidence};

use crate::error::StudyError;

/// All cells of a plan, run.
#[derive(Clone, Debug)]
pub(crate) struct Cells {
    page: &'static str,
    cells: Vec<Ran>,
}

/// One cell: the levels of its factors, and what its runs gave.
#[derive(Clone, Debug)]
pub(crate) struct Ran {
    page: &'static str,
    factors: Vec<(String, String)>,
    /// The results of the runs of the cell.
    pub(crate) tally: CellTally,
}

/// A factor, by the last word of its dotted name, and its level.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Key<'a>(&'a str, Level<'a>);

#[derive(Clone, Copy, Debug, PartialEq)]
enum Level<'a> {
    Text(&'a str),
    Number(f64),
}

/// Returns the key of a level that is a word.
pub(crate) const fn text<'a>(factor: &'a str, level: &'a str) -> Key<'a> {
    Key(factor, Level::Text(level))
}

/// Returns the key of a level that is a number; a probability of 1 % is 0.01.
pub(crate) const fn number(factor: &str, level: f64) -> Key<'_> {
    Key(factor, Level::Number(level))
}

impl Cells {
    pub(crate) fn new(page: &'static str, cells: Vec<(Vec<(String, String)>, CellTally)>) -> Self {
        let cells = cells.into_iter().map(|(factors, tally)| Ran { page, factors, tally });
        Self { page, cells: cells.collect() }
    }

    /// Returns all cells in the order of the plan.
    pub(crate) fn iter(&self) -> core::slice::Iter<'_, Ran> {
        self.cells.iter()
    }

    /// Returns the one cell with these levels.
    ///
    /// # Errors
    /// When there is none, or more than one.
    pub(crate) fn get(&self, key: &[Key<'_>]) -> Result<&Ran, StudyError> {
        match self.with(key)[..] {
            [cell] => Ok(cell),
            ref several => Err(self.error(key, several.len())),
        }
    }

    /// Returns the cells with these levels, in the order of the plan.
    ///
    /// # Errors
    /// When there is none.
    pub(crate) fn all(&self, key: &[Key<'_>]) -> Result<Vec<&Ran>, StudyError> {
        let cells = self.with(key);
        if cells.is_empty() { Err(self.error(key, 0)) } else { Ok(cells) }
    }

    fn with(&self, key: &[Key<'_>]) -> Vec<&Ran> {
        self.cells.iter().filter(|cell| key.iter().all(|key| cell.has(*key))).collect()
    }

    fn error(&self, key: &[Key<'_>], count: usize) -> StudyError {
        let key = key.iter().map(|Key(factor, level)| match level {
            Level::Text(level) => format!("{factor} = {level}"),
            Level::Number(level) => format!("{factor} = {level}"),
        });
        StudyError::Cell { page: self.page, key: key.collect::<Vec<_>>().join(", "), count }
    }
}

impl Ran {
    fn has(&self, Key(factor, wanted): Key<'_>) -> bool {
        let level = self.factors.iter().find(|(name, _)| name == factor).map(|(_, level)| level.as_str());
        match wanted {
            Level::Text(wanted) => level == Some(wanted),
            Level::Number(wanted) => level
                .and_then(of_text)
                .is_some_and(|level| (level - wanted).abs() <= 1e-9 * wanted.abs().max(1.0)),
        }
    }

    /// Returns the level of a factor as the plan writes it.
    ///
    /// # Errors
    /// When the plan has no such factor.
    pub(crate) fn level(&self, factor: &str) -> Result<&str, StudyError> {
        let level = self.factors.iter().find(|(name, _)| name == factor).map(|(_, level)| level.as_str());
        level.ok_or_else(|| self.missing(factor))
    }

    /// Returns the level of a factor as a number; of 1 % it is 0.01, of 50ms it is 50.
    ///
    /// # Errors
    /// When the plan has no such factor, or its level is none.
    pub(crate) fn number(&self, factor: &str) -> Result<f64, StudyError> {
        of_text(self.level(factor)?).ok_or_else(|| self.missing(factor))
    }

    pub(crate) fn missing(&self, factor: &str) -> StudyError {
        StudyError::Cell { page: self.page, key: factor.to_owned(), count: 0 }
    }

    /// Returns the mean as tables show it; nothing where there is none.
    pub(crate) fn mean_text(&self) -> String {
        self.mean().map(|mean| mean.to_string()).unwrap_or_default()
    }

    /// Returns a quantile as tables show it, a dash where there is none.
    pub(crate) fn quantile_text(&self, share: f64, digits: usize) -> String {
        self.quantile(share).map_or_else(|| "–".to_owned(), |value| format!("{:.digits$}", value.value()))
    }

    /// Returns the times of the first flow: of responses, or of deliveries where nothing is answered.
    pub(crate) fn times(&self) -> Option<&lab::Distribution> {
        let flow = self.tally.flows.first()?;
        let is_answered = flow.responses.count() + flow.responses.unanswered() > 0;
        Some(if is_answered { &flow.responses } else { &flow.delivered })
    }

    /// Returns the mean time in ms of the first flow; `None` without any response, and where the cell is overloaded, because
    /// such a mean says how long the run was.
    pub(crate) fn mean(&self) -> Option<Estimate> {
        if self.is_overloaded() { None } else { self.mean_of_answered() }
    }

    /// Returns the mean of what was answered, whether or not there is a steady state.
    pub(crate) fn mean_of_answered(&self) -> Option<Estimate> {
        let times = self.times()?;
        Some(Estimate::new(times.mean()?, times.ci95()))
    }

    /// Returns the mean as evidence, which says what it is if there is none.
    pub(crate) fn evidence(&self) -> Evidence {
        match self.mean() {
            Some(mean) => mean.into(),
            None if self.is_overloaded() => Evidence::Missing(
                "the cell is overloaded: its mean grows with the length of the run".to_owned(),
            ),
            None => Evidence::Missing("nothing was answered".to_owned()),
        }
    }

    /// Returns whether the times grow as long as the run lasts, or requests are left over at its end: there is no steady state.
    pub(crate) fn is_overloaded(&self) -> bool {
        let Some(times) = self.times() else { return false };
        let (answered, unanswered) = (times.count(), times.unanswered());
        if unanswered.saturating_mul(100) > answered.saturating_add(unanswered) {
            return true;
        }
        let growth: Vec<[f64; 3]> = times.batch_means().into_iter().filter_map(by_thirds).collect();
        let [first, middle, last] = [0, 1, 2].map(|third| growth.iter().map(|run| run[third]).sum::<f64>());
        let differences: Vec<f64> = growth.iter().map(|[first, _, last]| last - first).collect();
        let every_run_grows = || growth.iter().all(|run| run.is_sorted());
        let is_clear = Estimate::of_runs(&differences)
            .and_then(Estimate::interval)
            .map_or_else(every_run_grows, |[low, _]| low > 0.0);
        !growth.is_empty() && is_clear && first < middle && middle < last && last > GROWTH * first
    }

    /// Returns how many requests were answered, of how many.
    pub(crate) fn answered(&self) -> (u64, u64) {
        let times = self.times();
        let answered = times.map_or(0, lab::Distribution::count);
        (answered, answered + times.map_or(0, lab::Distribution::unanswered))
    }

    /// Returns the quantile in ms, to which what was not answered is longer than everything; `None` where luck would decide it.
    pub(crate) fn quantile(&self, share: f64) -> Option<Estimate> {
        let responses = self.times()?;
        let half = 1.96 * (share * (1.0 - share) * CLUSTER / responses.count() as f64).sqrt();
        let [low, high] = [share - half, share + half].map(|share| responses.quantile(share));
        Some(Estimate::new(responses.quantile(share)?, low.zip(high).map(|(low, high)| [low, high])))
    }

    /// Returns the share of requests, in per cent, that take longer.
    pub(crate) fn percent_longer(&self, ms: f64) -> Option<Estimate> {
        let responses = self.times()?;
        let steps = responses.ccdf();
        let share = steps.iter().rev().find(|(value, _)| *value <= ms).map_or(1.0, |(_, share)| *share);
        Some(Estimate::of_share(share, responses.count(), CLUSTER)?.scaled(100.0, 0.0))
    }
}

/// Returns the level as a number; a per cent sign divides by a hundred, a unit is left out.
fn of_text(level: &str) -> Option<f64> {
    match level.strip_suffix('%') {
        Some(digits) => digits.parse::<f64>().ok().map(|percent| percent / 100.0),
        None => level.trim_end_matches(|last: char| last.is_ascii_lowercase()).parse().ok(),
    }
}

/// Returns the means of the first, the middle and the last third of a run.
fn by_thirds(batches: &[f64]) -> Option<[f64; 3]> {
    let third = batches.len() / 3;
    let (first, rest) = batches.split_at(third);
    let (middle, last) = rest.split_at(rest.len() - third);
    Some([lab::mean(first)?, lab::mean(middle)?, lab::mean(last)?])
}

/// Messages that one loss delays together, so that they count as one.
const CLUSTER: f64 = 10.0;
/// How many times as long the last third of a run takes where there is no steady state.
const GROWTH: f64 = 1.5;

#[cfg(test)]
mod tests;

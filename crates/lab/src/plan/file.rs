//! The way from the text of a plan to its cells, with the line and the key of whatever is wrong.

mod precision;
mod written;

use std::collections::BTreeMap;

pub use precision::Precision;
use serde::Deserialize;
use serde::de::IntoDeserializer;
use toml::Spanned;
use toml::de::{DeTable, DeValue, Deserializer};

use self::written::written;
use crate::simulation::{Scenario, check};

/// A plan of simulations: one scenario per combination of levels, each with every seed.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The title of the plan in one line.
    pub title: String,
    /// The description of the plan, which may be long.
    pub description: String,
    /// One run of every cell for each. Default 1 to 10.
    pub seeds: Vec<u64>,
    /// The precision at which a cell of a campaign ends before its last seed. Default: every seed is run.
    pub precision: Option<Precision>,
    /// The cells of the plan, at least one.
    pub cells: Vec<Cell>,
}

/// One combination of levels.
#[derive(Clone, Debug)]
pub struct Cell {
    /// The level of each factor, as the plan writes it.
    pub factors: Vec<(String, serde_json::Value)>,
    /// The scenario that the cell describes.
    pub scenario: Scenario,
    /// The scenario as the text of a plan, but for its title; equal for cells that say the same in the same words.
    pub text: String,
}

/// A mistake in a plan, and its place.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}, `{key}`: {because}")]
pub struct PlanError {
    /// The number of the line, from 1.
    pub line: usize,
    /// Dotted name of the value; empty for the whole plan.
    pub key: String,
    /// The mistake, and its remedy.
    pub because: String,
}

type Table<'i> = Spanned<DeTable<'i>>;
type Value<'i> = Spanned<DeValue<'i>>;

impl Plan {
    /// Reads a plan and checks every cell of it.
    ///
    /// # Errors
    /// The first thing that is wrong.
    pub fn parse(text: &str) -> Result<Self, PlanError> {
        let source = Source { text };
        let mut root = DeTable::parse(text).map_err(|error| source.toml_error(&error, None))?;
        let title = source.take::<String>(&mut root, "title")?;
        let title = title.ok_or_else(|| source.error(0, "title", "a plan needs a title: title = \"…\""))?;
        let description = source.take::<String>(&mut root, "description")?.unwrap_or_default();
        let seeds_at = root.get_ref().get("seeds").map_or(0, |seeds| seeds.span().start);
        let seeds = source.take::<Seeds>(&mut root, "seeds")?.unwrap_or(Seeds::Count(DEFAULT_SEEDS)).list();
        if seeds.is_empty() {
            return Err(source.error(seeds_at, "seeds", "there must be at least one seed"));
        }
        let precision = source.precision(&mut root)?;
        let mut factors = source.factors(&mut root)?;
        factors.extend(source.cases(&mut root)?);
        let cells = combinations(&factors)
            .iter()
            .map(|levels| source.cell(&root, levels))
            .collect::<Result<_, _>>()?;
        Ok(Self { title, description, seeds, precision, cells })
    }
}

/// `seeds = 30` or `seeds = [3, 5]`.
#[derive(Deserialize)]
#[serde(untagged)]
enum Seeds {
    Count(u64),
    List(Vec<u64>),
}

impl Seeds {
    fn list(self) -> Vec<u64> {
        match self {
            Self::Count(count) => (1..=count).collect(),
            Self::List(list) => list,
        }
    }
}

/// Something that varies: its name in results, and what each level sets.
struct Factor<'i> {
    name: String,
    levels: Vec<Level<'i>>,
}

/// A level: what it is called, and the values it puts where.
#[derive(Clone)]
struct Level<'i> {
    shown: serde_json::Value,
    settings: Vec<(String, Value<'i>)>,
}

/// Returns every combination of levels, the last factor changing fastest.
fn combinations<'f, 'i>(factors: &'f [Factor<'i>]) -> Vec<Vec<(&'f str, &'f Level<'i>)>> {
    factors.iter().fold(vec![Vec::new()], |cells, factor| {
        let with = |cell: &Vec<(&'f str, &'f Level<'i>)>, level: &'f Level<'i>| {
            cell.iter().copied().chain([(factor.name.as_str(), level)]).collect()
        };
        cells.iter().flat_map(|cell| factor.levels.iter().map(move |level| with(cell, level))).collect()
    })
}

/// The text of a plan, to say where in it something is.
#[derive(Clone, Copy)]
struct Source<'i> {
    text: &'i str,
}

impl<'i> Source<'i> {
    fn error(self, offset: usize, key: impl Into<String>, because: impl Into<String>) -> PlanError {
        let before = self.text.as_bytes().iter().take(offset);
        let line = 1 + before.filter(|octet| **octet == b'\n').count();
        PlanError { line, key: key.into(), because: because.into() }
    }

    fn toml_error(self, error: &toml::de::Error, root: Option<&Table<'i>>) -> PlanError {
        let offset = error.span().map_or(0, |span| span.start);
        let key =
            root.and_then(|root| key_at(root.get_ref(), offset)).unwrap_or_else(|| self.word_at(offset));
        self.error(offset, key, error.message())
    }

    /// Returns the word in front of the equals sign of the line, for where there is no table yet.
    fn word_at(self, offset: usize) -> String {
        let start = self.text[..offset.min(self.text.len())].rfind('\n').map_or(0, |at| at + 1);
        let line = self.text[start..].lines().next().unwrap_or_default();
        line.split('=').next().unwrap_or_default().trim().to_owned()
    }

    /// Takes a value of the plan itself out of the table; the rest is the scenario.
    fn take<T: Deserialize<'i>>(self, root: &mut Table<'i>, key: &str) -> Result<Option<T>, PlanError> {
        let Some(value) = root.get_mut().remove(key) else { return Ok(None) };
        let offset = value.span().start;
        let read = T::deserialize(value.into_deserializer());
        read.map(Some).map_err(|error| self.error(offset, key, error.message()))
    }

    fn precision(self, root: &mut Table<'i>) -> Result<Option<Precision>, PlanError> {
        let place = root.get_ref().get("campaign").map_or(0, |campaign| campaign.span().start);
        let precision = self.take::<Precision>(root, "campaign")?;
        match precision.as_ref().and_then(Precision::mistake) {
            Some((key, because)) => Err(self.error(place, key, because)),
            None => Ok(precision),
        }
    }

    fn factors(self, root: &mut Table<'i>) -> Result<Vec<Factor<'i>>, PlanError> {
        let Some(value) = root.get_mut().remove("factors") else { return Ok(Vec::new()) };
        let mut settings = Vec::new();
        flatten("", &value, &mut settings);
        settings.sort_by_key(|(_, value)| value.span().start);
        let factor = |(name, value): (String, Value<'i>)| {
            let needs = "a factor is a list of at least one level: \"links.wan.loss\" = [\"0%\", \"1%\"]";
            let levels = value.get_ref().as_array().filter(|levels| !levels.is_empty());
            let levels =
                levels.ok_or_else(|| self.error(value.span().start, format!("factors.{name}"), needs))?;
            let level = |level: &Value<'i>| Level {
                shown: shown(level.get_ref()),
                settings: vec![(name.clone(), level.clone())],
            };
            Ok(Factor { levels: levels.iter().map(level).collect(), name })
        };
        settings.into_iter().map(factor).collect()
    }

    /// Reads `[cases.NAME]`: named levels that change several values at once.
    fn cases(self, root: &mut Table<'i>) -> Result<Option<Factor<'i>>, PlanError> {
        let Some(value) = root.get_mut().remove("cases") else { return Ok(None) };
        let needs = "cases are named tables of values: [cases.night] with \"flows.sip.rate\" = 10 in it";
        let cases = value.get_ref().as_table();
        let cases = cases.ok_or_else(|| self.error(value.span().start, "cases", needs))?;
        let mut levels = Vec::new();
        for (name, case) in cases.iter() {
            if !case.get_ref().is_table() {
                return Err(self.error(case.span().start, format!("cases.{}", name.get_ref()), needs));
            }
            let mut settings = Vec::new();
            flatten("", case, &mut settings);
            levels.push((name.span().start, Level { shown: name.get_ref().as_ref().into(), settings }));
        }
        levels.sort_by_key(|(start, _)| *start);
        Ok(Some(Factor {
            name: "case".to_owned(),
            levels: levels.into_iter().map(|(_, level)| level).collect(),
        }))
    }

    fn cell(self, root: &Table<'i>, levels: &[(&str, &Level<'i>)]) -> Result<Cell, PlanError> {
        let mut root = root.clone();
        for (key, value) in levels.iter().flat_map(|(_, level)| &level.settings) {
            let offset = value.span().start;
            if !set(root.get_mut(), key, value.clone()) {
                let because = format!("there is no table in the plan that `{key}` could be put into");
                return Err(self.error(offset, key.as_str(), because));
            }
        }
        let scenario = Scenario::deserialize(Deserializer::from(root.clone()));
        let scenario = scenario.map_err(|error| self.toml_error(&error, Some(&root)))?;
        check(&scenario).map_err(|error| {
            let (key, because) = error.parts();
            self.error(offset_of(root.get_ref(), &key).unwrap_or(0), key, because)
        })?;
        let factors = levels.iter().map(|(name, level)| ((*name).to_owned(), level.shown.clone())).collect();
        Ok(Cell { factors, scenario, text: written(root.get_ref()) })
    }
}

/// Dotted names of all values that are no tables.
fn flatten<'i>(prefix: &str, value: &Value<'i>, settings: &mut Vec<(String, Value<'i>)>) {
    let Some(table) = value.get_ref().as_table() else {
        settings.push((prefix.to_owned(), value.clone()));
        return;
    };
    for (key, value) in table.iter() {
        let key = key.get_ref();
        let name = if prefix.is_empty() { key.to_string() } else { format!("{prefix}.{key}") };
        flatten(&name, value, settings);
    }
}

/// Puts a value at a dotted name whose tables are there; a missing last table is made.
fn set<'i>(table: &mut DeTable<'i>, key: &str, value: Value<'i>) -> bool {
    let Some((first, rest)) = key.split_once('.') else {
        table.remove(key);
        let span = value.span();
        table.insert(Spanned::new(span, key.to_owned().into()), value);
        return true;
    };
    let span = value.span();
    match table.get_mut(first) {
        Some(next) => match next.get_mut() {
            DeValue::Table(next) => set(next, rest, value),
            DeValue::String(_)
            | DeValue::Integer(_)
            | DeValue::Float(_)
            | DeValue::Boolean(_)
            | DeValue::Datetime(_)
            | DeValue::Array(_) => false,
        },
        None if !rest.contains('.') => {
            let mut next = DeTable::new();
            set(&mut next, rest, value);
            table.insert(
                Spanned::new(span.clone(), first.to_owned().into()),
                Spanned::new(span, DeValue::Table(next)),
            );
            true
        }
        None => false,
    }
}

/// Returns the dotted name of the smallest value or key around an offset.
fn key_at(table: &DeTable<'_>, offset: usize) -> Option<String> {
    let mut found = Vec::new();
    walk(table, "", &mut |name, key, value| {
        for span in [key, value] {
            if span.contains(&offset) {
                found.push((span.len(), name.to_owned()));
            }
        }
    });
    found.into_iter().min().map(|(_, name)| name)
}

/// Returns the offset of the value with a dotted name, or of the nearest table around it.
fn offset_of(table: &DeTable<'_>, key: &str) -> Option<usize> {
    let mut starts = BTreeMap::new();
    walk(table, "", &mut |name, key, _| {
        starts.insert(name.to_owned(), key.start);
    });
    let mut name = key;
    loop {
        if let Some(start) = starts.get(name) {
            return Some(*start);
        }
        name = name.rsplit_once('.')?.0;
    }
}

fn walk(
    table: &DeTable<'_>,
    prefix: &str,
    visit: &mut impl FnMut(&str, core::ops::Range<usize>, core::ops::Range<usize>),
) {
    for (key, value) in table.iter() {
        let name =
            if prefix.is_empty() { key.get_ref().to_string() } else { format!("{prefix}.{}", key.get_ref()) };
        visit(&name, key.span(), value.span());
        if let Some(table) = value.get_ref().as_table() {
            walk(table, &name, visit);
        }
    }
}

/// Returns a level in the form in which results show it.
fn shown(value: &DeValue<'_>) -> serde_json::Value {
    match value {
        DeValue::String(text) => text.as_ref().into(),
        DeValue::Integer(number) => {
            number.as_str().parse::<i64>().map_or_else(|_| number.as_str().into(), Into::into)
        }
        DeValue::Float(number) => {
            number.as_str().parse::<f64>().map_or_else(|_| number.as_str().into(), Into::into)
        }
        DeValue::Boolean(is_so) => (*is_so).into(),
        DeValue::Datetime(time) => time.to_string().into(),
        DeValue::Array(list) => list.iter().map(|value| shown(value.get_ref())).collect::<Vec<_>>().into(),
        DeValue::Table(table) => {
            let entry = |(key, value): (&Spanned<toml::de::DeString<'_>>, &Value<'_>)| {
                (key.get_ref().to_string(), shown(value.get_ref()))
            };
            table.iter().map(entry).collect::<serde_json::Map<_, _>>().into()
        }
    }
}

/// Enough for an interval of the mean.
const DEFAULT_SEEDS: u64 = 10;

#[cfg(test)]
mod tests;

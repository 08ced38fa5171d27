//! Pages in a folder: one JSON file each, from which everything else is drawn; a page that is there is not made again.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::page::{Page, Table};
use super::render;

/// A page with what it was made from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Stored {
    /// The version of the program that made the page.
    pub headway: String,
    /// The page itself, as it was stored.
    pub page: Page,
}

/// A folder of results that cannot be read or written.
#[derive(Debug, thiserror::Error)]
#[error("{}: {error}", path.display())]
pub struct StoreError {
    /// The path of the file or folder.
    pub path: PathBuf,
    /// The error that the system returned.
    pub error: std::io::Error,
}

impl Stored {
    /// Reads the page in `folder` that was made by this version with the same effort; `None` if there is none.
    #[must_use]
    pub fn find(folder: &Path, id: &str, effort: &str) -> Option<Self> {
        let stored = Self::load(folder, id)?;
        (stored.headway == VERSION && stored.page.effort == effort && stored.page.id == id).then_some(stored)
    }

    /// Returns the page in `folder`, whatever made it; `None` if there is none.
    #[must_use]
    pub fn read(folder: &Path, id: &str) -> Option<Page> {
        Self::load(folder, id).map(|stored| stored.page).filter(|page| page.id == id)
    }

    fn load(folder: &Path, id: &str) -> Option<Self> {
        let text = std::fs::read_to_string(file(folder, id)).ok()?;
        serde_json::from_str(&text).ok()
    }

    /// Writes a page, so that an interrupted reproduction can go on.
    ///
    /// # Errors
    /// When the folder is not writable.
    pub fn write(folder: &Path, page: &Page) -> Result<(), StoreError> {
        let stored = Self { headway: VERSION.to_owned(), page: page.clone() };
        let mut text =
            serde_json::to_string_pretty(&stored).map_err(|error| refused(folder, error.into()))?;
        text.push('\n');
        write(&file(folder, &page.id), &text)
    }
}

/// Writes the HTML pages of all studies, the summary page, and the numbers of every page as CSV: of its series, its statements, and each
/// of its tables.
///
/// # Errors
/// When the folder is not writable.
pub fn write_all(folder: &Path, pages: &[Page]) -> Result<(), StoreError> {
    let mut studies: BTreeMap<&str, Vec<&Page>> = BTreeMap::new();
    for page in pages {
        studies.entry(render::study_of(&page.id)).or_default().push(page);
        write(&folder.join(format!("{}.csv", page.id)), &csv(page))?;
        write(&folder.join(format!("{}-statements.csv", page.id)), &statements_csv(page))?;
        for (number, table) in (1..).zip(&page.tables) {
            write(&folder.join(format!("{}-table-{number}.csv", page.id)), &table_csv(table))?;
        }
    }
    for (study, pages) in &studies {
        write(&folder.join(format!("{study}.html")), &render::study_page(study, pages))?;
    }
    write(&folder.join("index.html"), &render::summary_page(&studies))
}

fn csv(page: &Page) -> String {
    let mut text = String::from("figure,series,x,y,z,low,high\n");
    let shown = |value: Option<f64>| value.map(|value| value.to_string()).unwrap_or_default();
    for series in &page.series {
        for (index, point) in series.points.iter().enumerate() {
            let ci95 = series.ci95.get(index).copied().flatten();
            // Writing to a string cannot fail.
            let _ = writeln!(
                text,
                "{},\"{}\",{},{},{},{},{}",
                series.figure,
                series.name,
                shown(point.first().copied()),
                shown(point.get(1).copied()),
                shown(point.get(2).copied()),
                shown(ci95.map(|[low, _]| low)),
                shown(ci95.map(|[_, high]| high)),
            );
        }
    }
    text
}

fn statements_csv(page: &Page) -> String {
    let mut text = String::from("statement,published,ours,unit,low,high,verdict,because\n");
    let shown = |value: Option<f64>| value.map(|value| value.to_string()).unwrap_or_default();
    for statement in &page.statements {
        line(
            &mut text,
            &[
                statement.text.clone(),
                shown(statement.published),
                shown(statement.ours),
                statement.unit.clone(),
                shown(statement.ci95.map(|[low, _]| low)),
                shown(statement.ci95.map(|[_, high]| high)),
                statement.verdict.name().to_owned(),
                statement.because.clone(),
            ],
        );
    }
    text
}

fn table_csv(table: &Table) -> String {
    let mut text = String::new();
    line(&mut text, &table.head);
    table.rows.iter().for_each(|row| line(&mut text, row));
    text
}

/// Each value in quotes, those within doubled (RFC 4180 §2).
fn line(text: &mut String, values: &[String]) {
    let quoted = values.iter().map(|value| format!("\"{}\"", value.replace('"', "\"\"")));
    text.push_str(&quoted.collect::<Vec<_>>().join(","));
    text.push('\n');
}

fn file(folder: &Path, id: &str) -> PathBuf {
    folder.join(format!("{id}.json"))
}

fn write(path: &Path, text: &str) -> Result<(), StoreError> {
    std::fs::write(path, text).map_err(|error| refused(path, error))
}

fn refused(path: &Path, error: std::io::Error) -> StoreError {
    StoreError { path: path.to_owned(), error }
}

const VERSION: &str = env!("CARGO_PKG_VERSION");

#[cfg(test)]
mod tests {
    use super::*;
    use crate::study::page::Statement;

    #[test]
    fn statements_and_tables_are_csv_whatever_is_in_them() {
        let mut page = Page::default();
        page.statements.push(Statement::within("a \"mean\", of four", 40.0, 41.0, 0.03, "ms"));
        let text = statements_csv(&page);
        let expected = "\"a \"\"mean\"\", of four\",\"40\",\"41\",\"ms\",\"\",\"\",\"reproduced\",\"+2.5 % off; the bar is 3 %\"";
        assert_eq!(text.lines().nth(1), Some(expected));
        let head = ["transport", "ms"].map(str::to_owned).to_vec();
        let rows = vec![vec!["SCTP, 1 stream".to_owned(), "40.5".to_owned()]];
        let table = Table { title: "S4".to_owned(), head, rows };
        assert_eq!(table_csv(&table), "\"transport\",\"ms\"\n\"SCTP, 1 stream\",\"40.5\"\n");
    }
}

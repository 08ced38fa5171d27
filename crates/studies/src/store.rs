//! Pages in a folder: one JSON file each, from which everything else is drawn; a page that is there is not made again.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::source;
use lab::report::Page;
use lab::report::{Overview, ReportError, index_html, series_csv, statements_csv, study_html, table_csv};

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

/// Writes the HTML pages of all studies, the index, and the numbers of every page as CSV: of its series, its statements, and each of
/// its tables.
///
/// # Errors
/// When the folder is not writable.
pub fn write_all(folder: &Path, pages: &[Page]) -> Result<(), StoreError> {
    let mut studies: Vec<Overview<'_>> = Vec::new();
    for page in pages {
        let name = page.id.split('-').next().unwrap_or_default();
        match studies.iter_mut().find(|study| study.name == name) {
            Some(study) => study.pages.push(page),
            None => studies.push(Overview { name, source: source(name), pages: vec![page] }),
        }
        write(&folder.join(format!("{}.csv", page.id)), &series_csv(page))?;
        write(&folder.join(format!("{}-statements.csv", page.id)), &statements_csv(page))?;
        for (number, table) in (1..).zip(&page.tables) {
            write(&folder.join(format!("{}-table-{number}.csv", page.id)), &table_csv(table))?;
        }
    }
    let drawn = |path: PathBuf, html: Result<String, ReportError>| {
        let html = html.map_err(|error| refused(&path, std::io::Error::other(error)))?;
        write(&path, &html)
    };
    for study in &studies {
        let title = format!("{} — {}", study.name, study.source);
        drawn(folder.join(format!("{}.html", study.name)), study_html(&title, &study.pages))?;
    }
    drawn(folder.join("index.html"), index_html(&studies, FINDINGS))
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

/// The findings that an attentive reader of the studies makes, each with the page that shows it.
const FINDINGS: &[(&str, &str)] = &[
    (
        "S1's and S4's kernels found losses by other rules than their model, and than each other: Linux 2.6.15 sent again after four reports, as often as it took; from 2.6.16-rc3 on after \
         three, once per chunk. The model's rule, three and again three, was in no Linux. That S4's measurement agrees with it is not explained.",
        "S1-fig4",
    ),
    (
        "S2's five intervals are those of two independent samples, but both come from one trace of packets: paired, order costs something in every cell, and not significant was the test.",
        "S2-table1",
    ),
    (
        "S2's condition for induced loss, that 50 % load loses nothing, does not hold with the buffer that fits its table 1 best.",
        "S2-table2",
    ),
    (
        "The values for one stream and TCP in S4's table are those of S1's formula; S4's own gives 23.573 ms and not 23.5.",
        "S4-table1",
    ),
    (
        "By the study's own unpaired test three of S2's five cells come out as printed, and two do not.",
        "S2-table3",
    ),
    (
        "What order costs needs no fit: p·λ·R²/2, a loss times the messages behind it times half of the time until it is repaired.",
        "S2-order",
    ),
    (
        "The steps of 4 ms in S4's figure 18 are those of a generator that its kernel wakes by ticks; timers that end with ticks make none.",
        "S4-fig18",
    ),
    (
        "That TCP does not carry 100 messages a second above 7 % loss follows from PFTK, if each message is a segment.",
        "S1-fig5",
    ),
];
const VERSION: &str = env!("CARGO_PKG_VERSION");

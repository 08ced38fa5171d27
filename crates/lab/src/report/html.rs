//! Pages as HTML files that need no network and no script.

use askama::Template;

use super::ReportError;
use super::figure::{self, Entry, Meaning};
use super::scale::rounded;
use crate::page::{Figure, Page, Statement, Table, Verdict};

/// Returns the file with these pages, one below the other.
///
/// # Errors
/// [`ReportError`] when the template cannot be filled in.
pub fn html(title: &str, pages: &[&Page]) -> Result<String, ReportError> {
    Ok(Pages { title, is_study: false, is_alone: false, pages }.render()?)
}

/// Returns the file with one page that has no numbers beside it.
///
/// # Errors
/// [`ReportError`] when the template cannot be filled in.
pub fn lone_html(title: &str, page: &Page) -> Result<String, ReportError> {
    Ok(Pages { title, is_study: false, is_alone: true, pages: &[page] }.render()?)
}

/// Returns the file with the pages of one study, which leads back to the index.
///
/// # Errors
/// [`ReportError`] when the template cannot be filled in.
pub fn study_html(title: &str, pages: &[&Page]) -> Result<String, ReportError> {
    Ok(Pages { title, is_study: true, is_alone: false, pages }.render()?)
}

/// Returns the file that shows the verdict on every statement of all studies, below the most important findings: sentences, each with
/// the id of the page that shows it. Those whose page is not there are left out.
///
/// # Errors
/// [`ReportError`] when the template cannot be filled in.
pub fn index_html(studies: &[Overview<'_>], findings: &[(&str, &str)]) -> Result<String, ReportError> {
    let all = || studies.iter().flat_map(|study| &study.pages).flat_map(|page| &page.statements);
    let with = |verdict| all().filter(|statement| statement.verdict() == verdict).count();
    let counts = VERDICTS.map(|verdict| (verdict, with(verdict)));
    let is_there = |id: &str| studies.iter().flat_map(|study| &study.pages).any(|page| page.id == id);
    let findings = findings.iter().copied().filter(|(_, id)| is_there(id));
    let findings = findings.map(|(text, id)| (text, id.split('-').next().unwrap_or_default(), id)).collect();
    let count = all().count();
    Ok(Index { title: "the studies rebuilt", is_study: false, studies, findings, count, counts }.render()?)
}

/// The pages of one study, as its overview shows them.
#[derive(Clone, Debug)]
pub struct Overview<'a> {
    /// The short name of the study, which is also that of its file.
    pub name: &'a str,
    /// The publication in which the study appeared.
    pub source: &'a str,
    /// The pages, in the order in which the overview shows them.
    pub pages: Vec<&'a Page>,
}

#[derive(Template)]
#[template(path = "pages.html")]
struct Pages<'a> {
    title: &'a str,
    is_study: bool,
    /// Whether the numbers are not beside the file.
    is_alone: bool,
    pages: &'a [&'a Page],
}

#[derive(Template)]
#[template(path = "index.html")]
struct Index<'a> {
    title: &'a str,
    is_study: bool,
    studies: &'a [Overview<'a>],
    /// Sentence, file and page.
    findings: Vec<(&'a str, &'a str, &'a str)>,
    count: usize,
    counts: [(Verdict, usize); 4],
}

/// A figure and what its signs mean.
struct Drawn {
    svg: String,
    entries: Vec<Entry>,
    keys: Vec<Meaning>,
}

impl Page {
    /// Returns the title, after the name of a page that has one on the command line; `None` where the file has it already.
    fn heading(&self, title: &str) -> Option<String> {
        let is_of_study = !self.statements.is_empty();
        let heading = if is_of_study { format!("{}: {}", self.id, self.title) } else { self.title.clone() };
        (!heading.is_empty() && heading != title).then_some(heading)
    }

    fn drawn(&self, figure: &Figure) -> Drawn {
        let series = self.series_of(figure);
        let (entries, keys) = figure::legend(figure, &series);
        Drawn { svg: figure::figure(figure, &series), entries, keys }
    }

    /// Returns the colour that a row has in the figures, if it is drawn there.
    fn swatch(&self, name: &str) -> String {
        let colour = self.series.iter().find(|series| series.name == name).and_then(|series| series.colour);
        colour.map(|colour| format!("<i class=\"k{colour}\"></i>")).unwrap_or_default()
    }
}

impl Table {
    /// Returns the cells of a row, each with the class of its column.
    fn classed<'a>(&self, row: &'a [String]) -> Vec<(&'a str, &'static str)> {
        let class = |column| if self.is_numeric(column) { "number" } else { "" };
        row.iter().enumerate().map(|(column, cell)| (cell.as_str(), class(column))).collect()
    }
}

impl Verdict {
    fn class(self) -> &'static str {
        match self {
            Self::Reproduced => "yes",
            Self::NotReproduced => "no",
            Self::Explained => "explained",
            Self::Undecided => "undecided",
        }
    }

    fn sign(self) -> &'static str {
        match self {
            Self::Reproduced => "✓",
            Self::NotReproduced => "✗",
            Self::Explained => "≈",
            Self::Undecided => "?",
        }
    }
}

impl Statement {
    fn theirs(&self) -> String {
        self.published().map(|value| format!("{} {}", rounded(value), self.unit())).unwrap_or_default()
    }

    fn own(&self) -> String {
        self.ours().map(|value| format!("{} {}", rounded(value), self.unit())).unwrap_or_default()
    }

    fn interval(&self) -> String {
        self.ci95().map(|[low, high]| format!("{} … {}", rounded(low), rounded(high))).unwrap_or_default()
    }
}

const VERDICTS: [Verdict; 4] = Verdict::ALL;
const STYLE: &str = include_str!("../../assets/report.css");
const VERSION: &str = env!("CARGO_PKG_VERSION");

//! The table of RFCs in README.md: what is implemented, by which tests it is shown, and with whom it was spoken.
//!
//! `docs/rfcs.toml` names the tests and the rows of `docs/interop.md`, which the interop runs write. A test that does
//! not exist, a row that is not there or did not pass, or a table that differs from its sources is a finding.

use std::collections::BTreeSet;
use std::path::Path;

use serde::Deserialize;

use crate::finding::Finding;
use crate::sources::Sources;

const SOURCE: &str = "docs/rfcs.toml";
const INTEROP: &str = "docs/interop.md";
const README: &str = "README.md";
const BEGIN: &str =
    "<!-- RFC table: written by `cargo xtask rfc-table` from docs/rfcs.toml and docs/interop.md -->\n";
const END: &str = "<!-- end of the RFC table -->\n";

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    rfc: Vec<Rfc>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Rfc {
    number: u32,
    title: String,
    /// The part that is not there; absent if nothing is missing.
    lacks: Option<String>,
    /// Names of test functions.
    tests: Vec<String>,
    /// The beginnings of first cells of rows of the interop tables.
    #[serde(default)]
    interop: Vec<String>,
}

/// Compares README.md with what its table is made of.
pub(crate) fn check(sources: &Sources) -> Vec<Finding> {
    let table = match read(sources) {
        Ok(table) => table,
        Err(what) => return vec![Finding::error(Path::new(SOURCE), 1, what, "mend the file")],
    };
    let mut findings = missing(&table, sources);
    let readme = text(sources, README);
    if block(readme) != Some(render(&table, text(sources, INTEROP)).as_str()) {
        let what = "the table of RFCs is not what its sources say".to_owned();
        findings.push(Finding::error(Path::new(README), 1, what, "run `cargo xtask rfc-table`"));
    }
    findings
}

/// Writes the table into README.md below `root`.
pub(crate) fn write(root: &Path, sources: &Sources) -> Vec<Finding> {
    let written = rewritten(sources)
        .and_then(|readme| std::fs::write(root.join(README), readme).map_err(|error| error.to_string()));
    let finding = |what| Finding::error(Path::new(README), 1, what, "mend it and write the table again");
    written.err().map(finding).into_iter().collect()
}

/// Returns README.md with the table as it is now, or what is wrong if there is none.
fn rewritten(sources: &Sources) -> Result<String, String> {
    let table = read(sources)?;
    let readme = text(sources, README);
    let parts = readme.split_once(BEGIN).and_then(|(head, rest)| Some((head, rest.split_once(END)?.1)));
    let (head, tail) = parts.ok_or_else(|| format!("{README} has no place for the table: {BEGIN}"))?;
    Ok(format!("{head}{BEGIN}{}{END}{tail}", render(&table, text(sources, INTEROP))))
}

fn read(sources: &Sources) -> Result<Table, String> {
    toml::from_str(text(sources, SOURCE)).map_err(|error| error.to_string())
}

fn text<'a>(sources: &'a Sources, path: &str) -> &'a str {
    sources.find(Path::new(path)).map_or("", |source| source.text.as_str())
}

/// Returns the text between the two marks.
fn block(readme: &str) -> Option<&str> {
    let (_, after) = readme.split_once(BEGIN)?;
    after.split_once(END).map(|(block, _)| block)
}

/// Tests and interop rows that do not exist.
fn missing(table: &Table, sources: &Sources) -> Vec<Finding> {
    let interop = text(sources, INTEROP);
    let rust = || sources.files.iter().filter(|file| file.path.extension().is_some_and(|kind| kind == "rs"));
    let mut findings = Vec::new();
    for rfc in &table.rfc {
        for test in &rfc.tests {
            let function = format!("fn {test}(");
            if !rust().any(|file| file.text.contains(&function)) {
                let what = format!("RFC {}: there is no test `{test}`", rfc.number);
                findings.push(Finding::error(Path::new(SOURCE), 1, what, "name one that exists"));
            }
        }
        for row in &rfc.interop {
            if peers(interop, row).is_empty() {
                let what = format!("RFC {}: no peer passed `{row}` in {INTEROP}", rfc.number);
                findings.push(Finding::error(Path::new(SOURCE), 1, what, "run interop/run, or take it out"));
            }
        }
        if rfc.tests.is_empty() && rfc.lacks.is_none() {
            let what = format!("RFC {}: done, and no test shows it", rfc.number);
            findings.push(Finding::error(Path::new(SOURCE), 1, what, "name tests, or say what it lacks"));
        }
    }
    findings
}

fn render(table: &Table, interop: &str) -> String {
    let mut lines =
        vec!["| RFC | | state | tests | spoken with |".to_owned(), "|---|---|---|---|---|".to_owned()];
    for Rfc { number, title, lacks, tests, interop: rows } in &table.rfc {
        let state = lacks.as_ref().map_or_else(|| "done".to_owned(), |lacks| format!("lacks {lacks}"));
        let spoken: BTreeSet<String> = rows.iter().flat_map(|row| peers(interop, row)).collect();
        let spoken = if spoken.is_empty() { "–".to_owned() } else { Vec::from_iter(spoken).join(", ") };
        let link = format!("[{number}](https://www.rfc-editor.org/rfc/rfc{number})");
        lines.push(format!("| {link} | {title} | {state} | {} | {spoken} |", tests.len()));
    }
    lines.join("\n") + "\n"
}

/// Returns the peers that passed a row of any table whose first cell begins with `row`: the peer named last in
/// the head of the column, "client, Linux" being Linux.
fn peers(interop: &str, row: &str) -> BTreeSet<String> {
    let mut head: Vec<&str> = Vec::new();
    let mut found = BTreeSet::new();
    for line in interop.lines() {
        let Some(line) = line.strip_prefix('|') else {
            head.clear();
            continue;
        };
        let cells: Vec<&str> = line.trim_end_matches('|').split('|').map(str::trim).collect();
        if head.is_empty() {
            head = cells;
        } else if cells.first().is_some_and(|first| first.starts_with(row)) {
            let passed = cells.iter().zip(&head).skip(1).filter(|(cell, _)| cell.contains("passes"));
            found.extend(passed.filter_map(|(_, head)| head.rsplit(", ").next()).map(str::to_owned));
        }
    }
    found
}

#[cfg(test)]
mod tests;

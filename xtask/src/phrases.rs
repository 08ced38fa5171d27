//! Words that must not be in the repository: promises in shipped code, obsolete citations, paths of one machine, options of the
//! command line below it, and files of the architecture that are not there.
//!
//! The words are put together here from pieces, so that this file does not find itself.

use std::ops::RangeInclusive;
use std::path::Path;

use crate::finding::Finding;
use crate::sources::{Source, Sources};

/// The words that are promises. The macros are also clippy lints; the words are not.
const PROMISES: [&str; 5] = [
    concat!("to", "do!("),
    concat!("unimpl", "emented!("),
    concat!("FIX", "ME"),
    concat!("X", "XX"),
    concat!("TO", "DO"),
];
/// RFCs that RFC 9260 replaced, with the one on the old checksum.
const OBSOLETE_RFCS: [&str; 3] = ["4960", "2960", "3309"];
/// The marks that git writes around the two sides of a conflict.
const CONFLICT_MARKERS: [&str; 2] = [concat!("<<<<", "<<< "), concat!(">>>>", ">>> ")];
/// Options of other programs, which remedies and examples of a library may name.
const FOREIGN_OPTIONS: [&str; 6] = ["cap-add", "device", "example", "map-root-user", "net", "user"];
/// First folders of absolute paths that exist on one machine only.
const MACHINE_FOLDERS: [&str; 5] = ["work", "farm", "home", "root", "Users"];
/// The document that leads through the code file by file.
const ARCHITECTURE: &str = "ARCHITECTURE.md";
/// Files with code or prose of ours.
const EXTENSIONS: [&str; 12] = ["rs", "md", "toml", "c", "h", "py", "html", "js", "css", "sh", "json", "svg"];

/// Reads every text file.
pub(crate) fn check(sources: &Sources) -> Vec<Finding> {
    let architecture = sources.find(Path::new(ARCHITECTURE)).map(|source| missing_files(source, sources));
    sources.files.iter().flat_map(check_file).chain(architecture.into_iter().flatten()).collect()
}

/// Returns a finding for each file that the document names and nobody has. A name is the end of a path, from a folder on.
fn missing_files(document: &Source, sources: &Sources) -> Vec<Finding> {
    let is_file =
        |name: &&str| name.contains('/') && Path::new(name).extension().is_some() && is_ours(Path::new(name));
    let mut findings = Vec::new();
    for (line, text) in (1..).zip(document.text.lines()) {
        for name in text.split('`').skip(1).step_by(2).filter(is_file) {
            if !sources.files.iter().any(|source| source.path.ends_with(name)) {
                let remedy = "follow the way through the code again, and name the files that it takes now";
                findings.push(Finding::error(
                    &document.path,
                    line,
                    format!("there is no file `{name}`"),
                    remedy,
                ));
            }
        }
    }
    findings
}

fn check_file(source: &Source) -> Vec<Finding> {
    let mut findings = Vec::new();
    let test_lines = source.test_lines();
    for (line, text) in (1..).zip(source.text.lines()) {
        findings.extend(machine_path(&source.path, line, text));
        findings.extend(conflict(&source.path, line, text));
        if !is_ours(&source.path) {
            continue;
        }
        findings.extend(obsolete(&source.path, line, text));
        if is_code(&source.path) && !source.is_test() && !is_within(line, &test_lines) {
            findings.extend(promise(&source.path, line, text));
            findings.extend(option(&source.path, line, text));
        }
        if is_code(&source.path) && (source.is_test() || is_within(line, &test_lines)) {
            findings.extend(ignored_or_asleep(&source.path, line, text));
        }
    }
    findings
}

/// Returns a finding for a mark that a merge left behind which was not finished.
fn conflict(path: &Path, line: usize, text: &str) -> Option<Finding> {
    let is_marker = CONFLICT_MARKERS.iter().any(|marker| text.starts_with(marker));
    let remedy = "keep what both sides meant, and delete the markers";
    is_marker.then(|| Finding::error(path, line, "a marker of a merge conflict".to_owned(), remedy))
}

fn is_ours(path: &Path) -> bool {
    let known = |extension: &std::ffi::OsStr| EXTENSIONS.iter().any(|each| extension == *each);
    path.extension().is_none_or(known)
}

fn is_code(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "rs" || extension == "c")
}

fn is_within(line: usize, ranges: &[RangeInclusive<usize>]) -> bool {
    ranges.iter().any(|range| range.contains(&line))
}

/// Returns a finding for work that was promised instead of done.
fn promise(path: &Path, line: usize, text: &str) -> Option<Finding> {
    let word = PROMISES.iter().find(|word| has_word(text, word))?;
    let what = format!("`{word}` in shipped code");
    Some(Finding::error(
        path,
        line,
        what,
        "do it, or return a clear error and list what is missing in the README",
    ))
}

/// Returns a finding for an option of the command line in a library: only the program that has it knows its name.
fn option(path: &Path, line: usize, text: &str) -> Option<Finding> {
    let named = |(at, _): (usize, &str)| {
        let is_joined = text[..at].ends_with(|c: char| c.is_alphanumeric() || c == '-');
        let rest = &text[at + 2..];
        let name = &rest[..rest.find(|c: char| !c.is_ascii_lowercase() && c != '-').unwrap_or(rest.len())];
        let is_option = name.starts_with(|c: char| c.is_ascii_lowercase());
        (is_option && !is_joined && !FOREIGN_OPTIONS.contains(&name)).then(|| name.to_owned())
    };
    let name = text.match_indices("--").find_map(named).filter(|_| path.starts_with("crates"))?;
    let what = format!("a library knows the option `--{name}`");
    Some(Finding::error(path, line, what, "name the field and its bound; the program adds its option"))
}

/// Returns a finding for a test that nobody runs, or that waits in real time.
fn ignored_or_asleep(path: &Path, line: usize, text: &str) -> Option<Finding> {
    if text.trim_start().starts_with(concat!("#[ign", "ore")) {
        let remedy = "run it always; what a machine may refuse is asked at run time (CONTRIBUTING.md, tests that need rights)";
        return Some(Finding::error(path, line, "an ignored test".to_owned(), remedy));
    }
    text.contains(concat!("thread::", "sleep(")).then(|| {
        let what = "a test that waits in real time".to_owned();
        Finding::error(
            path,
            line,
            what,
            "use virtual time; what needs a real clock belongs to interop or benches",
        )
    })
}

/// Returns a citation of an RFC that has been replaced, unless the line is about what a study used.
fn obsolete(path: &Path, line: usize, text: &str) -> Option<Finding> {
    if names_a_study(text) {
        return None;
    }
    let number = OBSOLETE_RFCS
        .iter()
        .find(|number| ["RFC ", "RFC", "rfc"].iter().any(|rfc| has_word(text, &format!("{rfc}{number}"))))?;
    let what = format!("RFC {number} is obsolete");
    Some(Finding::error(
        path,
        line,
        what,
        "cite RFC 9260; where a study's rule is meant, name the study (S1 to S5) or say `old rule` on that line",
    ))
}

fn names_a_study(text: &str) -> bool {
    text.contains("old rule") || ["S1", "S2", "S3", "S4", "S5"].iter().any(|study| has_word(text, study))
}

/// Returns an absolute path into somebody's own folders.
fn machine_path(path: &Path, line: usize, text: &str) -> Option<Finding> {
    let found = MACHINE_FOLDERS.iter().find(|folder| {
        let pattern = format!("/{folder}/");
        text.match_indices(&pattern).any(|(at, _)| {
            let before = text.get(..at).and_then(|before| before.chars().next_back());
            !before.is_some_and(|before| before.is_ascii_alphanumeric() || "_./-}~".contains(before))
        })
    })?;
    let what = format!("a path below /{found} exists on one machine only");
    Some(Finding::error(path, line, what, "use a path relative to the repository, or a variable"))
}

/// Returns whether `word` stands in `text` with no letter or digit directly before or after it.
fn has_word(text: &str, word: &str) -> bool {
    text.match_indices(word).any(|(at, _)| {
        let before = text.get(..at).and_then(|before| before.chars().next_back());
        let after = text.get(at + word.len()..).and_then(|after| after.chars().next());
        let joins = |neighbour: Option<char>| neighbour.is_some_and(|c| c.is_alphanumeric() || c == '_');
        !joins(before) && (word.ends_with('(') || !joins(after))
    })
}

#[cfg(test)]
mod tests;

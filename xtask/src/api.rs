//! The public API of the published libraries, held against what it was at a commit: the baseline.
//!
//! Before the first release there is no version to compare with. The baseline is a commit of this history instead, `api-baseline`
//! in the metadata of the workspace. Whatever `cargo semver-checks` calls a break since then fails, so that none comes unnoticed. One
//! that is meant moves the baseline: it is said in CHANGELOG.md, committed, and `cargo xtask api-baseline` writes that commit down.
//!
//! Nothing is passed over for want of something: a commit that this clone does not hold, a baseline off the line of history, a
//! build that did not come about are errors, each by a sentence of its own.

use std::path::Path;
use std::process::{Command, Output, Stdio};

use crate::finding::Finding;
use crate::sources::Sources;
use crate::tools::{absent, is_installed};
use crate::workspace::WorkspaceError;

/// The manifest that names the baseline.
const MANIFEST: &str = "Cargo.toml";
/// The key of the baseline there, in `[workspace.metadata]`.
const KEY: &str = "api-baseline";
/// The file in which a break is said.
const CHANGELOG: &str = "CHANGELOG.md";
/// The packages that others build on, lowest first; `.ci/run` has the same ones in `published`.
const PACKAGES: [&str; 6] =
    ["headway-virtual-time", "headway-cubic", "sctp-wire", "sctp-core", "sctp-io", "headway-sctp"];
/// The exit status of `cargo semver-checks` that tells a break; others tell that it could not look.
const BROKEN: i32 = 100;

/// Runs `cargo semver-checks` for all published packages against the baseline.
pub(crate) fn check(root: &Path, sources: &Sources) -> Result<Vec<Finding>, WorkspaceError> {
    let fault = |what: String, remedy: &str| Ok(vec![Finding::error(Path::new(MANIFEST), 1, what, remedy)]);
    if !is_installed("cargo-semver-checks") {
        let remedy = "cargo install cargo-semver-checks --locked";
        return Ok(vec![absent(MANIFEST, "cargo-semver-checks", remedy)]);
    }
    let Some(baseline) = baseline(sources) else {
        let what = format!("`[workspace.metadata]` names no `{KEY}` of 40 hexadecimal digits");
        return fault(what, MOVE);
    };
    let git = |arguments: &[&str]| git(root, arguments);
    match standing(&baseline, git)? {
        Standing::Known => {}
        Standing::Missing => {
            let what = format!("`{KEY}` is {baseline}, which this clone does not hold");
            return fault(what, "fetch the whole history: `git fetch --unshallow`");
        }
        Standing::Elsewhere => {
            let what = format!("`{KEY}` is {baseline}, from which HEAD does not descend");
            return fault(what, MOVE);
        }
    }
    let status = semver_checks(root, &baseline)?;
    match status {
        Some(0) => Ok(Vec::new()),
        Some(BROKEN) => {
            let what = format!("the public API breaks programs written for {}", &baseline[..12]);
            fault(what, MOVE)
        }
        Some(_) | None => {
            let what = "`cargo semver-checks` could not compare, as it says above".to_owned();
            let remedy = "mend what does not build; without a network, fetch what the baseline needs before: `cargo fetch --locked`";
            fault(what, remedy)
        }
    }
}

/// Writes HEAD down as the baseline.
pub(crate) fn write(root: &Path, sources: &Sources) -> Result<Vec<Finding>, WorkspaceError> {
    let fault =
        |path: &str, what: String, remedy: &str| Ok(vec![Finding::error(Path::new(path), 1, what, remedy)]);
    let git = |arguments: &[&str]| git(root, arguments);
    let head = said(&git(&["rev-parse", "HEAD"])?);
    let uncommitted = said(&git(&["status", "--porcelain", "--untracked-files=no"])?);
    if !is_commit(&head) || !uncommitted.is_empty() {
        let what = "the API that is to be the baseline is not committed".to_owned();
        return fault(
            MANIFEST,
            what,
            "commit the change with its line in CHANGELOG.md, then move the baseline",
        );
    }
    let before = baseline(sources);
    if let Some(before) = before.filter(|before| *before != head)
        && standing(&before, git)? == Standing::Known
        && git(&["diff", "--quiet", &before, &head, "--", CHANGELOG])?.status.success()
    {
        let what = format!("nothing was said since the baseline {}", &before[..12]);
        return fault(CHANGELOG, what, "say there what breaks, and what to write instead");
    }
    let Some(manifest) = sources.find(Path::new(MANIFEST)).and_then(|source| moved(&source.text, &head))
    else {
        let what = format!("there is no line `{KEY} = \"…\"` in `[workspace.metadata]`");
        return fault(MANIFEST, what, "add the line with any value");
    };
    std::fs::write(root.join(MANIFEST), manifest)
        .map_err(|source| WorkspaceError::Start { program: format!("writing {MANIFEST}"), source })?;
    Ok(Vec::new())
}

/// Whether the baseline can be compared with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Standing {
    Known,
    /// The clone does not hold it.
    Missing,
    /// HEAD does not descend from it: it never was on this line of history, or a rebase has left it.
    Elsewhere,
}

fn standing<E>(baseline: &str, git: impl Fn(&[&str]) -> Result<Output, E>) -> Result<Standing, E> {
    let object = format!("{baseline}^{{commit}}");
    if !git(&["cat-file", "-e", &object])?.status.success() {
        return Ok(Standing::Missing);
    }
    let is_ancestor = git(&["merge-base", "--is-ancestor", baseline, "HEAD"])?.status.success();
    Ok(if is_ancestor { Standing::Known } else { Standing::Elsewhere })
}

/// Returns the baseline that the manifest of the workspace names.
fn baseline(sources: &Sources) -> Option<String> {
    let manifest: toml::Table = sources.find(Path::new(MANIFEST))?.text.parse().ok()?;
    let named = manifest.get("workspace")?.get("metadata")?.get(KEY)?.as_str()?;
    is_commit(named).then(|| named.to_owned())
}

fn is_commit(name: &str) -> bool {
    name.len() == 40 && name.bytes().all(|octet| octet.is_ascii_hexdigit())
}

/// Returns the manifest with another baseline; `None` if it has no line for one.
fn moved(manifest: &str, baseline: &str) -> Option<String> {
    let start = manifest.find(&format!("\n{KEY} = "))? + 1;
    let end = start + manifest[start..].find('\n')?;
    Some(format!("{}{KEY} = \"{baseline}\"{}", &manifest[..start], &manifest[end..]))
}

/// Compares; returns the exit status. Before 1.0 every addition is a patch as well, so that only breaks are looked for.
fn semver_checks(root: &Path, baseline: &str) -> Result<Option<i32>, WorkspaceError> {
    let mut command = Command::new("cargo");
    command.args(["semver-checks", "check-release", "--release-type", "minor", "--baseline-rev", baseline]);
    command.args(PACKAGES.iter().flat_map(|package| ["--package", package]));
    let status = command.current_dir(root).stdin(Stdio::null()).status();
    let status = status
        .map_err(|source| WorkspaceError::Start { program: "cargo semver-checks".to_owned(), source })?;
    Ok(status.code())
}

fn git(root: &Path, arguments: &[&str]) -> Result<Output, WorkspaceError> {
    let output = Command::new("git").current_dir(root).args(arguments).stdin(Stdio::null()).output();
    output.map_err(|source| WorkspaceError::Start { program: "git".to_owned(), source })
}

/// Returns what a program said, without the end of the line.
fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

/// The remedy for a break that is meant.
const MOVE: &str = "take the break back; or, if it is meant, say it in CHANGELOG.md, commit, run `cargo xtask api-baseline`, and commit that";

#[cfg(test)]
mod tests;

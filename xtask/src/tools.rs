//! Tools that check for us, always called with the same flags. A tool that is not installed is an error where
//! `CI=true`, elsewhere a note that says how to get it: nothing is left out silently.

use std::path::Path;
use std::process::{Command, Stdio};

use crate::finding::Finding;
use crate::workspace::WorkspaceError;

/// Runs `cargo fmt --check`.
pub(crate) fn fmt(root: &Path) -> Result<Vec<Finding>, WorkspaceError> {
    cargo(root, &["fmt", "--all", "--check"], "run `cargo fmt --all`")
}

/// Runs `cargo clippy`, with warnings as errors.
pub(crate) fn clippy(root: &Path) -> Result<Vec<Finding>, WorkspaceError> {
    let arguments = ["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"];
    cargo(root, &arguments, "mend what clippy says above")
}

/// Runs `cargo doc`, with warnings as errors.
pub(crate) fn docs(root: &Path) -> Result<Vec<Finding>, WorkspaceError> {
    let mut command = Command::new("cargo");
    command.args(["doc", "--workspace", "--no-deps"]).env("RUSTDOCFLAGS", "-D warnings");
    run(root, command, "mend what rustdoc says above")
}

/// Runs `cargo deny` without the advisories, which live in a database that has to be fetched.
pub(crate) fn deny(root: &Path) -> Result<Vec<Finding>, WorkspaceError> {
    if !is_installed("cargo-deny") {
        return Ok(vec![absent("deny.toml", "cargo-deny", "cargo install cargo-deny --locked")]);
    }
    let arguments = ["deny", "--log-level", "error", "check", "bans", "licenses", "sources"];
    cargo(root, &arguments, "see deny.toml; a new licence or source needs a decision")
}

/// Runs `typos` over all files.
pub(crate) fn typos(root: &Path) -> Result<Vec<Finding>, WorkspaceError> {
    if !is_installed("typos") {
        return Ok(vec![absent("typos.toml", "typos", "cargo install typos-cli --locked")]);
    }
    let mut command = Command::new("typos");
    command.args(["--format", "brief"]);
    run(root, command, "mend the word, or add it to typos.toml if it is right")
}

fn cargo(root: &Path, arguments: &[&str], remedy: &str) -> Result<Vec<Finding>, WorkspaceError> {
    let mut command = Command::new("cargo");
    command.args(arguments);
    run(root, command, remedy)
}

/// Runs `command` in the repository, its output to ours; a finding if it fails.
fn run(root: &Path, mut command: Command, remedy: &str) -> Result<Vec<Finding>, WorkspaceError> {
    let program = command.get_program().to_string_lossy().into_owned();
    let words = command.get_args().map(std::ffi::OsStr::to_string_lossy).collect::<Vec<_>>().join(" ");
    let status = command
        .current_dir(root)
        .stdin(Stdio::null())
        .status()
        .map_err(|source| WorkspaceError::Start { program: program.clone(), source })?;
    if status.success() {
        return Ok(Vec::new());
    }
    let what = format!("`{program} {words}` failed ({status})");
    Ok(vec![Finding::error(Path::new("Cargo.toml"), 1, what, remedy)])
}

fn is_installed(program: &str) -> bool {
    let quiet = Command::new(program).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
    quiet.is_ok_and(|status| status.success())
}

fn absent(configuration: &str, program: &str, remedy: &str) -> Finding {
    let what = format!("`{program}` is not installed: not checked");
    let make = if std::env::var("CI").is_ok_and(|ci| ci == "true") { Finding::error } else { Finding::note };
    make(Path::new(configuration), 1, what, remedy)
}

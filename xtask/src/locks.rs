//! Lock files of the workspaces beside the main one: cargo reads the main one at every build, the others only where something of theirs is built, which is
//! late in `.ci/run`. A new dependency of a crate that they use makes them old.

use std::path::Path;
use std::process::Command;

use crate::finding::Finding;
use crate::sources::Sources;
use crate::workspace::WorkspaceError;

/// The file name of a lock file.
const LOCK: &str = "Cargo.lock";

/// Returns a finding for each lock file outside the main workspace that its manifests have left behind.
pub(crate) fn check(root: &Path, sources: &Sources) -> Result<Vec<Finding>, WorkspaceError> {
    let mut findings = Vec::new();
    for source in &sources.files {
        if source.path.ends_with(LOCK) && source.path != Path::new(LOCK) {
            findings.extend(compared(root, &source.path)?);
        }
    }
    Ok(findings)
}

/// Compares the lock file at `lock` with its manifests, with what cargo has on this machine where that is enough.
fn compared(root: &Path, lock: &Path) -> Result<Option<Finding>, WorkspaceError> {
    let manifest = lock.with_file_name("Cargo.toml");
    let Some(offline) = complaint(root, &manifest, &["--offline"])? else { return Ok(None) };
    if offline.contains("--locked") {
        return Ok(Some(finding(lock, &manifest, &offline)));
    }
    Ok(complaint(root, &manifest, &[])?.map(|online| finding(lock, &manifest, &online)))
}

/// Returns what cargo says against the lock file beside `manifest`, if anything.
fn complaint(root: &Path, manifest: &Path, more: &[&str]) -> Result<Option<String>, WorkspaceError> {
    let output = Command::new("cargo")
        .current_dir(root)
        .args(["metadata", "--quiet", "--locked", "--format-version", "1", "--manifest-path"])
        .arg(manifest)
        .args(more)
        .output()
        .map_err(|source| WorkspaceError::Start { program: "cargo metadata".to_owned(), source })?;
    Ok((!output.status.success()).then(|| String::from_utf8_lossy(&output.stderr).trim().to_owned()))
}

/// Says what is wrong with `lock`: it is old, or cargo could not tell.
fn finding(lock: &Path, manifest: &Path, complaint: &str) -> Finding {
    if complaint.contains("--locked") {
        let what = "the lock file is older than the manifests that it stands for".to_owned();
        let remedy = format!("run `cargo update --workspace --manifest-path {}`", manifest.display());
        return Finding::error(lock, 1, what, &remedy);
    }
    let what = format!("cargo cannot compare the lock file with its manifests: {complaint}");
    Finding::error(lock, 1, what, "mend what cargo says")
}

#[cfg(test)]
mod tests;

//! A promise of an older Rust must not be broken unseen: each `rust-version` is the channel of rust-toolchain.toml, which
//! everything is built and tested with, or, for the libraries, the older release that `.ci/run` checks them with, which is
//! `oldest-rust` in the metadata of the workspace.

use std::path::Path;

use crate::finding::Finding;
use crate::sources::Sources;

/// The file that names the toolchain of every build.
const TOOLCHAIN: &str = "rust-toolchain.toml";

/// The manifest of the workspace.
const WORKSPACE: &str = "Cargo.toml";

/// Returns a finding for each manifest that promises a Rust that nothing is built with.
pub(crate) fn check(sources: &Sources) -> Vec<Finding> {
    let toolchain = |table: &toml::Table| Some(table.get("toolchain")?.get("channel")?.as_str()?.to_owned());
    let Some(channel) = table(sources, Path::new(TOOLCHAIN)).as_ref().and_then(toolchain) else {
        let what = "no channel is named".to_owned();
        return vec![Finding::error(
            Path::new(TOOLCHAIN),
            1,
            what,
            "name a release of Rust, such as \"1.95.0\"",
        )];
    };
    let oldest = table(sources, Path::new(WORKSPACE)).as_ref().and_then(oldest);
    let manifests = sources
        .files
        .iter()
        .filter(|source| source.path.file_name().is_some_and(|name| name == "Cargo.toml"));
    manifests
        .filter_map(|source| {
            let promised = promised(&table(sources, &source.path)?)?;
            let agrees = channel == promised
                || channel.strip_prefix(&promised).is_some_and(|rest| rest.starts_with('.'))
                || oldest.as_ref() == Some(&promised);
            let what = format!("rust-version is {promised}, but {TOOLCHAIN} has {channel}");
            let remedy = "let both name the same release, or a library the `oldest-rust` of the workspace: what is promised is what is built with";
            (!agrees).then(|| Finding::error(&source.path, 1, what, remedy))
        })
        .collect()
}

fn table(sources: &Sources, path: &Path) -> Option<toml::Table> {
    sources.find(path)?.text.parse().ok()
}

/// Returns the oldest Rust that libraries are checked with.
fn oldest(workspace: &toml::Table) -> Option<String> {
    let metadata = workspace.get("workspace")?.get("metadata")?;
    Some(metadata.get("oldest-rust")?.as_str()?.to_owned())
}

/// Returns the version that a manifest promises itself; one that is inherited is looked at where it is written.
fn promised(manifest: &toml::Table) -> Option<String> {
    let of_workspace = || manifest.get("workspace")?.get("package")?.get("rust-version")?.as_str();
    let of_package = || manifest.get("package")?.get("rust-version")?.as_str();
    of_workspace().or_else(of_package).map(str::to_owned)
}

#[cfg(test)]
mod tests;

//! Every dependency on a stranger has its reason written down. Not: whether the reason is good.

use std::path::Path;

use crate::finding::Finding;
use crate::sources::Sources;

const MANIFEST: &str = "Cargo.toml";
const SECTION: &str = "[workspace.dependencies]";
const DECISION: &str = "docs/decisions/0002-dependencies.md";

/// Compares the workspace's dependencies with the table of reasons.
pub(crate) fn check(sources: &Sources) -> Vec<Finding> {
    let text = |path: &str| sources.find(Path::new(path)).map_or("", |source| source.text.as_str());
    missing(text(MANIFEST), text(DECISION))
}

fn missing(manifest: &str, decision: &str) -> Vec<Finding> {
    strangers(manifest)
        .filter(|(_, name)| !decision.contains(&format!("`{name}`")))
        .map(|(line, name)| {
            let what = format!("`{name}` has no reason to be here");
            Finding::error(Path::new(MANIFEST), line, what, &format!("say in {DECISION} what it does for us"))
        })
        .collect()
}

/// Returns line and name of every workspace dependency that is not a crate of ours.
fn strangers(manifest: &str) -> impl Iterator<Item = (usize, &str)> {
    (1..)
        .zip(manifest.lines())
        .skip_while(|(_, line)| *line != SECTION)
        .skip(1)
        .take_while(|(_, line)| !line.starts_with('['))
        .filter(|(_, line)| !line.contains("path = "))
        .filter_map(|(number, line)| Some((number, line.split_once(" = ")?.0)))
        .filter(|(_, name)| !name.starts_with(['#', ' ']))
}

#[cfg(test)]
mod tests;

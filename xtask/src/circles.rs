//! Circles in a crate: rooms, or files, of which each takes something from the next and the last from the first.
//!
//! A room is a file or folder directly below `src`. Among files, one and the folder module above it do not count: a folder
//! may show what is in it, and hold what its files share.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::path::Path;

use crate::finding::Finding;
use crate::imports::{Import, Module, imports};
use crate::sources::Sources;

/// The crates that have no circles.
const WITHOUT_CIRCLES: [&str; 1] = ["crates/lab"];

/// What depends on what, each with where it says so.
type Edges<'a> = BTreeMap<Module, BTreeMap<Module, (usize, &'a Path)>>;

/// Returns an error for each circle.
pub(crate) fn check(sources: &Sources) -> Vec<Finding> {
    WITHOUT_CIRCLES.iter().flat_map(|folder| check_crate(sources, Path::new(folder))).collect()
}

fn check_crate(sources: &Sources, folder: &Path) -> Vec<Finding> {
    let (mut rooms, mut files) = (Edges::new(), Edges::new());
    for Import { from, path, line, to, name: _ } in imports(sources, folder) {
        if let ([room, ..], [other, ..]) = (&*from, &*to)
            && room != other
        {
            rooms.entry(vec![room.clone()]).or_default().entry(vec![other.clone()]).or_insert((line, path));
        }
        if !from.starts_with(&to) && !to.starts_with(&from) {
            files.entry(from).or_default().entry(to).or_insert((line, path));
        }
    }
    circles("rooms", &rooms).into_iter().chain(circles("files", &files)).collect()
}

/// Returns an error for each set of modules that reach each other, with the shortest way round.
fn circles(what: &str, edges: &Edges<'_>) -> Vec<Finding> {
    let mut told = BTreeSet::new();
    let mut findings = Vec::new();
    for (from, (to, (line, path))) in edges.iter().flat_map(|(from, to)| to.iter().map(move |to| (from, to)))
    {
        let Some(way) = way(edges, to, from).filter(|_| !told.contains(from)) else { continue };
        told.extend(way.iter().cloned());
        let names: Vec<String> = [from].into_iter().chain(&way).map(|module| module.join("/")).collect();
        let remedy = "move a value type that both need below both, or return an outcome";
        findings.push(Finding::error(
            path,
            *line,
            format!("a circle of {what}: {}", names.join(" ─► ")),
            remedy,
        ));
    }
    findings
}

/// Returns the shortest way from one module to another, both included.
fn way(edges: &Edges<'_>, from: &Module, to: &Module) -> Option<Vec<Module>> {
    let mut ways = VecDeque::from([vec![from.clone()]]);
    let mut seen = BTreeSet::new();
    while let Some(way) = ways.pop_front() {
        let last = way.last()?;
        if last == to {
            return Some(way);
        }
        for next in edges.get(last).into_iter().flat_map(BTreeMap::keys) {
            if seen.insert(next.clone()) {
                ways.push_back([&way[..], std::slice::from_ref(next)].concat());
            }
        }
    }
    None
}

#[cfg(test)]
mod tests;

//! One direction between the rooms of a crate, as between crates: what a room takes from the rooms above it.
//!
//! A room is a file or folder directly below `src`. Where a name is re-exported by the crate's root, the room that
//! exports it counts.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path};

use syn::visit::{self, Visit};

use crate::finding::Finding;
use crate::sources::{Rust, Source, Sources};

/// The rooms of crates that are checked, lowest first.
const ROOMS: [(&str, &[&str]); 1] = [(
    "crates/sctp-core",
    &[
        "steps",
        "rng",
        "seldom",
        "stream_set",
        "transmit",
        "message",
        "error",
        "config",
        "capabilities",
        "event",
        "stats",
        "trace",
        "path",
        "receiver",
        "sender",
        "association",
        "endpoint",
    ],
)];

/// An import that runs back up: the lower room, the upper one, and the name it takes from there.
type Import = (String, String, String);

/// Returns an error for each import that runs back up, and for each room that has no place in the order.
pub(crate) fn check(sources: &Sources) -> Vec<Finding> {
    ROOMS.iter().flat_map(|&(folder, rooms)| check_crate(sources, Path::new(folder), rooms)).collect()
}

fn check_crate(sources: &Sources, folder: &Path, rooms: &[&str]) -> Vec<Finding> {
    let exports = sources.find(&folder.join("src/lib.rs")).map(exports).unwrap_or_default();
    let mut places: BTreeMap<Import, (usize, &Path)> = BTreeMap::new();
    let mut strangers: BTreeMap<String, &Path> = BTreeMap::new();
    for source in sources.files.iter().filter(|source| source.path.starts_with(folder) && !source.is_test()) {
        let Some(from) = room(folder, &source.path).filter(|from| from != "lib") else { continue };
        if !rooms.contains(&from.as_str()) {
            strangers.entry(from).or_insert(&source.path);
            continue;
        }
        for (line, to, name) in imports(source, &exports) {
            if height(rooms, &to) > height(rooms, &from) {
                places.entry((from.clone(), to, name)).or_insert((line, &source.path));
            }
        }
    }
    let back_up = places.iter().map(|((from, to, name), (line, path))| {
        let what = format!("`{from}` takes `{name}` from `{to}`, which is above it");
        let remedy = "move a value type that both rooms need into a room below them, or return an outcome";
        Finding::error(path, *line, what, remedy)
    });
    let unplaced = strangers.iter().map(|(room, path)| {
        let what = format!("the room `{room}` has no place in the order of rooms");
        Finding::error(
            path,
            1,
            what,
            "put it into `ROOMS` of xtask/src/rooms.rs, above all that it takes from",
        )
    });
    back_up.chain(unplaced).collect()
}

/// Returns how high a room stands; names that are no room stand below all.
fn height(rooms: &[&str], room: &str) -> Option<usize> {
    rooms.iter().position(|each| *each == room)
}

/// Returns the room that a file belongs to.
fn room(folder: &Path, path: &Path) -> Option<String> {
    let inside = path.strip_prefix(folder.join("src")).ok()?;
    let Component::Normal(first) = inside.components().next()? else { return None };
    Path::new(first).file_stem().map(|stem| stem.to_string_lossy().into_owned())
}

/// Returns the names that a crate's root re-exports, with the room that each comes from.
fn exports(root: &Source) -> BTreeMap<String, String> {
    let Rust::Parsed(file) = &root.rust else { return BTreeMap::new() };
    let mut names = BTreeMap::new();
    for item in &file.items {
        if let syn::Item::Use(item) = item {
            let mut paths = Vec::new();
            flatten(&item.tree, &mut Vec::new(), &mut paths);
            for path in paths.iter().filter(|path| path.len() > 1) {
                names.extend(path.last().cloned().zip(path.first().cloned()));
            }
        }
    }
    names
}

/// Returns what a file takes from other rooms: line, room and name.
fn imports(source: &Source, exports: &BTreeMap<String, String>) -> BTreeSet<(usize, String, String)> {
    let Rust::Parsed(file) = &source.rust else { return BTreeSet::new() };
    let mut walk = PathWalk { paths: Vec::new() };
    walk.visit_file(file);
    let resolved = walk.paths.into_iter().filter_map(|(line, path)| {
        let mut names = path.into_iter().skip_while(|name| name == "crate");
        let first = names.next()?;
        Some(match exports.get(&first) {
            Some(room) => (line, room.clone(), first),
            None => (line, first, names.next().unwrap_or_default()),
        })
    });
    resolved.collect()
}

/// Collects paths that begin with `crate`, those of tests left out.
struct PathWalk {
    paths: Vec<(usize, Vec<String>)>,
}

impl<'ast> Visit<'ast> for PathWalk {
    fn visit_item_mod(&mut self, item: &'ast syn::ItemMod) {
        if !item.attrs.iter().any(crate::sources::is_cfg_test) {
            visit::visit_item_mod(self, item);
        }
    }

    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        use syn::spanned::Spanned;
        let mut paths = Vec::new();
        flatten(&item.tree, &mut Vec::new(), &mut paths);
        let line = item.span().start().line;
        self.paths.extend(
            paths
                .into_iter()
                .filter(|path| path.first().is_some_and(|name| name == "crate"))
                .map(|path| (line, path)),
        );
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let names: Vec<String> = path.segments.iter().map(|segment| segment.ident.to_string()).collect();
        if names.len() > 1 && names.first().is_some_and(|name| name == "crate") {
            let line = path.segments.first().map_or(1, |segment| segment.ident.span().start().line);
            self.paths.push((line, names));
        }
        visit::visit_path(self, path);
    }
}

/// Writes out a tree of imports as whole paths.
fn flatten(tree: &syn::UseTree, before: &mut Vec<String>, paths: &mut Vec<Vec<String>>) {
    match tree {
        syn::UseTree::Path(path) => {
            before.push(path.ident.to_string());
            flatten(&path.tree, before, paths);
            before.pop();
        }
        syn::UseTree::Name(name) => paths.push([before.as_slice(), &[name.ident.to_string()]].concat()),
        syn::UseTree::Rename(name) => paths.push([before.as_slice(), &[name.ident.to_string()]].concat()),
        syn::UseTree::Glob(_) => paths.push([before.as_slice(), &["*".to_owned()]].concat()),
        syn::UseTree::Group(group) => group.items.iter().for_each(|tree| flatten(tree, before, paths)),
    }
}

#[cfg(test)]
mod tests;

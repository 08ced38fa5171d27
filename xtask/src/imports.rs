//! What the files of a crate take from each other. Where a name is re-exported, the file that defines it counts.

use std::collections::BTreeMap;
use std::path::{Component, Path};

use syn::spanned::Spanned;
use syn::visit::{self, Visit};

use crate::sources::{Rust, Source, Sources};

/// A module by its path from the crate's root: `["transport", "spec"]`.
pub(crate) type Module = Vec<String>;

/// A name that one module takes from another one.
pub(crate) struct Import<'a> {
    /// The module that takes it, and its file.
    pub(crate) from: Module,
    pub(crate) path: &'a Path,
    pub(crate) line: usize,
    /// The module that defines it.
    pub(crate) to: Module,
    /// The name; `*` for the whole module.
    pub(crate) name: String,
}

/// Returns everything that files below `folder` take from each other, tests left out.
pub(crate) fn imports<'a>(sources: &'a Sources, folder: &Path) -> Vec<Import<'a>> {
    let files = sources.files.iter().filter(|source| source.path.starts_with(folder) && !source.is_test());
    let modules: BTreeMap<Module, &Source> =
        files.filter_map(|source| Some((module(folder, &source.path)?, source))).collect();
    let (mut exports, mut all) = (BTreeMap::new(), Vec::new());
    for (from, source) in &modules {
        let Rust::Parsed(file) = &source.rust else { continue };
        let mut walk = PathWalk { module: from, modules: &modules, taken: Vec::new(), exported: Vec::new() };
        walk.visit_file(file);
        exports.extend(walk.exported.into_iter().map(|(name, whole)| ([from, &[name][..]].concat(), whole)));
        all.extend(walk.taken.into_iter().map(|(line, whole)| (from, source.path.as_path(), line, whole)));
    }
    let import = |(from, path, line, whole): (&Module, &'a Path, usize, Module)| {
        let (to, name) = owner(&whole, &modules, &exports, MOST_EXPORTS)?;
        (to != *from).then(|| Import { from: from.clone(), path, line, to, name })
    };
    all.into_iter().filter_map(import).collect()
}

/// Returns the module that a file is.
pub(crate) fn module(folder: &Path, path: &Path) -> Option<Module> {
    let inside = path.strip_prefix(folder.join("src")).ok()?.with_extension("");
    let names = inside.components().filter_map(|component| match component {
        Component::Normal(name) => Some(name.to_string_lossy().into_owned()),
        Component::Prefix(_) | Component::RootDir | Component::CurDir | Component::ParentDir => None,
    });
    let mut names: Module = names.collect();
    if names.last().is_some_and(|last| last == "mod") || names == ["lib"] || names == ["main"] {
        names.pop();
    }
    Some(names)
}

/// Returns the module that defines what a path leads to, through at most `most` re-exports, and the name there.
fn owner<T>(
    whole: &[String],
    modules: &BTreeMap<Module, T>,
    exports: &BTreeMap<Module, Module>,
    most: usize,
) -> Option<(Module, String)> {
    let inside = (0..=whole.len()).rev().find(|end| modules.contains_key(&whole[..*end]))?;
    let named = whole.get(..=inside).and_then(|named| exports.get(named));
    match named.filter(|_| most > 0) {
        Some(other) => owner(&[other, &whole[inside + 1..]].concat(), modules, exports, most - 1),
        None => Some((whole[..inside].to_vec(), whole.get(inside).map_or("*", String::as_str).to_owned())),
    }
}

/// Collects the paths that lead to modules of the crate, those of tests left out.
struct PathWalk<'a> {
    module: &'a Module,
    modules: &'a BTreeMap<Module, &'a Source>,
    /// What the module takes: line, and whole path.
    taken: Vec<(usize, Module)>,
    /// What the module re-exports: its name there, and the whole path.
    exported: Vec<(String, Module)>,
}

impl PathWalk<'_> {
    /// Returns a path from the crate's root; `None` where it leads elsewhere.
    fn whole(&self, path: &[String]) -> Option<Module> {
        let ups = path.iter().take_while(|name| *name == "super").count();
        let first = path.first()?;
        match first.as_str() {
            "crate" => Some(path[1..].to_vec()),
            "self" => Some([self.module, &path[1..]].concat()),
            "super" => Some([self.module.get(..self.module.len().checked_sub(ups)?)?, &path[ups..]].concat()),
            _ => {
                let child = [self.module, &[first.clone()][..]].concat();
                self.modules.contains_key(&child).then(|| [self.module, path].concat())
            }
        }
    }
}

impl<'ast> Visit<'ast> for PathWalk<'_> {
    fn visit_item_mod(&mut self, item: &'ast syn::ItemMod) {
        if !item.attrs.iter().any(crate::sources::is_cfg_test) {
            visit::visit_item_mod(self, item);
        }
    }

    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        let mut paths = Vec::new();
        flatten(&item.tree, &mut Vec::new(), &mut paths);
        for whole in paths.iter().filter_map(|path| self.whole(path)).collect::<Vec<_>>() {
            if let (false, Some(name)) = (matches!(item.vis, syn::Visibility::Inherited), whole.last()) {
                self.exported.push((name.clone(), whole.clone()));
            }
            self.taken.push((item.span().start().line, whole));
        }
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let names: Vec<String> = path.segments.iter().map(|segment| segment.ident.to_string()).collect();
        if let Some(whole) = self.whole(&names).filter(|_| names.len() > 1) {
            self.taken.push((path.span().start().line, whole));
        }
        visit::visit_path(self, path);
    }
}

/// A name goes through no more re-exports.
const MOST_EXPORTS: usize = 8;

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

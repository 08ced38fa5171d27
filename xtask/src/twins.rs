//! Names of types that stand twice in a crate (house rule 1): a reader who searches for one finds the other.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use syn::visit::{self, Visit};

use crate::finding::Finding;
use crate::sources::{Rust, Source, Sources};

/// Names that stand in several modules of a crate on purpose, because the modules are alike: a command and its
/// arguments, an API that waits and one that blocks, hosts for either transport; or because one build has only one of them, by
/// its features or its system.
const ALIKE: &[(&str, &[&str])] = &[
    ("apps/headway", &["Answer", "Arguments", "Command"]),
    ("crates/netsim", &["Application"]),
    (
        "crates/sctp",
        &[
            "Association",
            "Capture",
            "Connecting",
            "Descriptors",
            "Endpoint",
            "Incoming",
            "Readiness",
            "Stream",
        ],
    ),
    ("crates/sctp-io", &["Descriptor", "DualStackRawIp", "RawIp", "Timer", "UdpEncapsulation"]),
];
/// The places where each name of a type is defined.
type Places<'a> = BTreeMap<String, Vec<(&'a Path, usize)>>;

/// Returns an error for each name that stands twice in a crate.
pub(crate) fn check(sources: &Sources) -> Vec<Finding> {
    let mut crates: BTreeMap<PathBuf, Places<'_>> = BTreeMap::new();
    for source in sources.files.iter().filter(|source| !source.is_test()) {
        let Some(folder) = source.crate_folder() else { continue };
        let places = crates.entry(folder).or_default();
        for (name, line) in types(source) {
            places.entry(name).or_default().push((&source.path, line));
        }
    }
    crates.iter().flat_map(|(folder, places)| check_crate(folder, places)).collect()
}

fn check_crate(folder: &Path, places: &Places<'_>) -> Vec<Finding> {
    let alike = ALIKE.iter().find(|(name, _)| folder == Path::new(name)).map_or(&[][..], |(_, names)| names);
    let twins = places.iter().filter(|(name, places)| places.len() > 1 && !alike.contains(&name.as_str()));
    let finding = |(name, places): (&String, &Vec<(&Path, usize)>)| {
        let (path, line) = places.first()?;
        let others: Vec<String> =
            places.iter().skip(1).map(|(path, line)| format!("{}:{line}", path.display())).collect();
        let what = format!("`{name}` stands also in {}", others.join(", "));
        Some(Finding::error(path, *line, what, "say in the name what sets it apart"))
    };
    twins.filter_map(finding).collect()
}

/// Returns the names of the types that a file defines, those of tests left out.
fn types(source: &Source) -> Vec<(String, usize)> {
    let Rust::Parsed(file) = &source.rust else { return Vec::new() };
    let mut walk = TypeWalk { types: Vec::new() };
    walk.visit_file(file);
    walk.types
}

/// Collects the names of types.
struct TypeWalk {
    types: Vec<(String, usize)>,
}

impl TypeWalk {
    fn note(&mut self, name: &syn::Ident) {
        self.types.push((name.to_string(), name.span().start().line));
    }
}

impl<'ast> Visit<'ast> for TypeWalk {
    fn visit_item_mod(&mut self, item: &'ast syn::ItemMod) {
        if !item.attrs.iter().any(crate::sources::is_cfg_test) {
            visit::visit_item_mod(self, item);
        }
    }

    fn visit_item_struct(&mut self, item: &'ast syn::ItemStruct) {
        self.note(&item.ident);
    }

    fn visit_item_enum(&mut self, item: &'ast syn::ItemEnum) {
        self.note(&item.ident);
    }

    fn visit_item_trait(&mut self, item: &'ast syn::ItemTrait) {
        self.note(&item.ident);
        visit::visit_item_trait(self, item);
    }

    fn visit_item_fn(&mut self, _: &'ast syn::ItemFn) {}
}

#[cfg(test)]
mod tests;

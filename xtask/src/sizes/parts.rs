//! How many parts of a type that only routes between its parts each of its files touches.
//!
//! Such a type is small by its lines and still hard to follow when each of its files reaches into every part. Counted are the
//! fields that an `impl` block names as `self.FIELD`, each once for a file, over all files with an `impl` block of the type.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use syn::visit::{self, Visit};

use crate::finding::Finding;
use crate::sources::{Rust, Source, Sources};

/// The types that route between their fields, and how many of these a file may touch in the mean, in tenths of one.
const ROUTERS: &[(&str, &str, usize)] = &[("crates/sctp-core", "Association", 38)];

/// Returns an error for each router that is beyond its bound, and a note with the figure for each that is not.
pub(super) fn check(sources: &Sources) -> Vec<Finding> {
    let judge = |&(folder, name, bound): &(&str, &str, usize)| judge(sources, Path::new(folder), name, bound);
    ROUTERS.iter().filter_map(judge).collect()
}

fn judge(sources: &Sources, folder: &Path, name: &str, bound: usize) -> Option<Finding> {
    let files = sources
        .files
        .iter()
        .filter(|source| !source.is_test() && source.crate_folder().is_some_and(|of| of == folder));
    let touched = touched(files, name);
    let (place, most) = touched.iter().max_by_key(|(_, fields)| fields.len())?;
    let sum: usize = touched.values().map(BTreeSet::len).sum();
    let (files, allowed) = (touched.len(), bound * touched.len());
    let mean = format!("{}.{:02}", sum / files, sum * 100 / files % 100);
    let what = format!(
        "the {files} files of `{name}` touch {mean} of its fields in the mean, {}.{} are allowed",
        bound / 10,
        bound % 10
    );
    let remedy = format!(
        "give what looks at one part alone to that part; most fields ({}) are touched here",
        most.len()
    );
    let make = if 10 * sum > allowed { Finding::error } else { Finding::note };
    Some(make(place, 1, what, &remedy))
}

/// Returns the fields of `self` that each file with an `impl` block of the type names.
fn touched<'a>(
    sources: impl Iterator<Item = &'a Source>,
    name: &str,
) -> BTreeMap<&'a PathBuf, BTreeSet<String>> {
    let mut touched = BTreeMap::new();
    for source in sources {
        let Rust::Parsed(file) = &source.rust else { continue };
        let mut walk = Impls { name, fields: None };
        walk.visit_file(file);
        touched.extend(walk.fields.map(|fields| (&source.path, fields)));
    }
    touched
}

/// Collects the fields that are named in the `impl` blocks of a type; nothing where there is no such block.
struct Impls<'a> {
    name: &'a str,
    fields: Option<BTreeSet<String>>,
}

impl<'ast> Visit<'ast> for Impls<'_> {
    fn visit_item_impl(&mut self, item: &'ast syn::ItemImpl) {
        let is_tests = item.attrs.iter().any(crate::sources::is_cfg_test);
        if item.trait_.is_none() && !is_tests && super::types::held(&item.self_ty) == self.name {
            let mut named = Named(self.fields.take().unwrap_or_default());
            named.visit_item_impl(item);
            self.fields = Some(named.0);
        }
    }

    fn visit_item_mod(&mut self, item: &'ast syn::ItemMod) {
        if !item.attrs.iter().any(crate::sources::is_cfg_test) {
            visit::visit_item_mod(self, item);
        }
    }
}

/// The fields that are named as `self.FIELD`.
struct Named(BTreeSet<String>);

impl<'ast> Visit<'ast> for Named {
    fn visit_expr_field(&mut self, field: &'ast syn::ExprField) {
        if let (syn::Expr::Path(base), syn::Member::Named(member)) = (&*field.base, &field.member)
            && base.path.is_ident("self")
        {
            self.0.insert(member.to_string());
        }
        visit::visit_expr_field(self, field);
    }
}

#[cfg(test)]
mod tests;

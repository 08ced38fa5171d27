//! How large a type is over all its files: lines and functions of all its `impl` blocks together, and its fields
//! counted through the structs that only take its overflow.
//!
//! A type that is cut into sixteen files is still one type, and sixteen fields of which four stand in a struct of
//! their own are still sixteen. A struct takes overflow if it is not public, one field of one struct holds it, as it is
//! or in a `Box` or an `Option`, and it has no methods of its own: nothing but its holder guards what is in it, so its
//! fields count as the holder's. A struct with methods is a component, and counts as one field; so does each group of
//! a record, which has no methods either.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use syn::spanned::Spanned;
use syn::visit::{self, Visit};

use super::STRUCT_FIELDS;
use crate::finding::Finding;
use crate::sources::{Rust, Source, Sources};

/// The most lines that all `impl` blocks of a type may have together.
const TYPE_LINES: usize = 1800;
/// The number of lines at which a type is worth a look.
const TYPE_REVIEW_LINES: usize = 800;
/// The most functions that all `impl` blocks of a type may have together.
const TYPE_FUNCTIONS: usize = 120;
/// The types that are beyond a bound today. A type that is within all of them has to leave the list.
const STILL_TOO_LARGE: &[(&str, &str)] = &[
    ("apps/headway", "ImpairmentArguments"),
    ("crates/lab", "Client"),
    ("crates/simco", "Agent"),
    ("crates/tcp-core", "Connection"),
    ("crates/tcp-core", "Sender"),
    ("interop/dcsctp", "Options"),
];

/// Everything that is counted of one type.
#[derive(Debug, Default)]
struct TypeSize {
    place: Option<(PathBuf, usize)>,
    lines: usize,
    functions: usize,
    files: BTreeSet<PathBuf>,
    is_public: bool,
    has_methods: bool,
    /// The types of its fields, where they are types of the crate or anything else.
    fields: Option<Vec<String>>,
}

/// The types of a crate by name.
type Types = BTreeMap<String, TypeSize>;

/// Measures the types of all crates, those of tests left out.
pub(crate) fn check(sources: &Sources) -> Vec<Finding> {
    check_types(sources, STILL_TOO_LARGE)
}

fn check_types(sources: &Sources, listed: &[(&str, &str)]) -> Vec<Finding> {
    let mut crates: BTreeMap<PathBuf, Types> = BTreeMap::new();
    for source in sources.files.iter().filter(|source| !source.is_test()) {
        if let (Some(folder), Rust::Parsed(file)) = (source.crate_folder(), &source.rust) {
            Walk { source, types: crates.entry(folder).or_default() }.visit_file(file);
        }
    }
    crates.iter().flat_map(|(folder, types)| check_crate(folder, types, listed)).collect()
}

fn check_crate(folder: &Path, types: &Types, listed: &[(&str, &str)]) -> Vec<Finding> {
    let holders = holders(types);
    let mut findings = Vec::new();
    for (name, size) in types {
        let Some((path, line)) = &size.place else { continue };
        let is_listed = listed.contains(&(folder.to_str().unwrap_or_default(), name));
        let width = if size.has_methods { fields(name, types, &holders) } else { 0 };
        let faults = faults(name, size, width);
        let remedy = "give a part of it that has rules of its own a type of its own, with methods";
        if is_listed && faults.is_empty() {
            let what = format!("`{name}` is within all bounds");
            findings.push(Finding::error(path, *line, what, "take it off `STILL_TOO_LARGE`"));
        }
        let finding = if is_listed { Finding::note } else { Finding::error };
        findings.extend(faults.into_iter().map(|what| finding(path, *line, what, remedy)));
        if (TYPE_REVIEW_LINES + 1..=TYPE_LINES).contains(&size.lines) {
            let TypeSize { lines, functions, files, .. } = size;
            let what =
                format!("`{name}`: {lines} lines, {functions} functions in {} files of `impl`", files.len());
            findings.push(Finding::note(path, *line, what, remedy));
        }
    }
    findings
}

/// Returns what is beyond a bound, with numbers.
fn faults(name: &str, size: &TypeSize, fields: usize) -> Vec<String> {
    let TypeSize { lines, functions, files, .. } = size;
    let own = size.fields.as_ref().map_or(0, Vec::len);
    let mut faults = Vec::new();
    if *lines > TYPE_LINES {
        faults.push(format!(
            "all `impl` blocks of `{name}` have {lines} lines in {} files, {TYPE_LINES} are allowed",
            files.len()
        ));
    }
    if *functions > TYPE_FUNCTIONS {
        faults.push(format!("`{name}` has {functions} functions, {TYPE_FUNCTIONS} are allowed"));
    }
    // A struct that is too wide by itself is found where it stands.
    if own <= STRUCT_FIELDS && fields > STRUCT_FIELDS {
        faults.push(format!(
            "`{name}` has {fields} fields, counted through structs without methods of their own, {STRUCT_FIELDS} are allowed"
        ));
    }
    faults
}

/// Returns how often each type is held as a field.
fn holders(types: &Types) -> BTreeMap<&str, usize> {
    let mut holders = BTreeMap::new();
    for held in types.values().filter_map(|size| size.fields.as_ref()).flatten() {
        *holders.entry(held.as_str()).or_default() += 1;
    }
    holders
}

/// Returns the number of fields of a struct, those of structs that only take its overflow included.
fn fields(name: &str, types: &Types, holders: &BTreeMap<&str, usize>) -> usize {
    let Some(size) = types.get(name) else { return 0 };
    let Some(held) = size.fields.as_ref() else { return 0 };
    let width = |held: &String| {
        let takes_overflow = holders.get(held.as_str()) == Some(&1)
            && held != name
            && types
                .get(held)
                .is_some_and(|size| size.fields.is_some() && !size.is_public && !size.has_methods);
        if takes_overflow { fields(held, types, holders).max(1) } else { 1 }
    };
    held.iter().map(width).sum()
}

/// Collects the types of a file and what is implemented for them.
struct Walk<'a> {
    source: &'a Source,
    types: &'a mut Types,
}

impl<'ast> Visit<'ast> for Walk<'_> {
    fn visit_item_mod(&mut self, item: &'ast syn::ItemMod) {
        if !item.attrs.iter().any(crate::sources::is_cfg_test) {
            visit::visit_item_mod(self, item);
        }
    }

    fn visit_item_struct(&mut self, item: &'ast syn::ItemStruct) {
        let size = self.types.entry(item.ident.to_string()).or_default();
        size.place = Some((self.source.path.clone(), item.ident.span().start().line));
        size.is_public = matches!(item.vis, syn::Visibility::Public(_));
        size.fields = Some(item.fields.iter().map(|field| held(&field.ty)).collect());
    }

    fn visit_item_enum(&mut self, item: &'ast syn::ItemEnum) {
        let size = self.types.entry(item.ident.to_string()).or_default();
        size.place = Some((self.source.path.clone(), item.ident.span().start().line));
    }

    fn visit_item_impl(&mut self, item: &'ast syn::ItemImpl) {
        if item.attrs.iter().any(crate::sources::is_cfg_test) {
            return;
        }
        let functions = item.items.iter().filter_map(|item| match item {
            syn::ImplItem::Fn(function) if !function.attrs.iter().any(crate::sources::is_cfg_test) => {
                Some(function)
            }
            syn::ImplItem::Fn(_) | _ => None,
        });
        let size = self.types.entry(held(&item.self_ty)).or_default();
        size.lines += item.span().end().line + 1 - item.impl_token.span().start().line;
        size.files.insert(self.source.path.clone());
        for function in functions {
            size.functions += 1;
            size.has_methods |= item.trait_.is_none() && function.sig.receiver().is_some();
        }
    }

    fn visit_item_fn(&mut self, _: &'ast syn::ItemFn) {}
}

/// Returns the name of a type, without what it is wrapped in: `Box` and `Option`.
pub(super) fn held(of: &syn::Type) -> String {
    let syn::Type::Path(path) = of else { return String::new() };
    let Some(last) = path.path.segments.last() else { return String::new() };
    if let ("Box" | "Option", syn::PathArguments::AngleBracketed(inner)) =
        (last.ident.to_string().as_str(), &last.arguments)
        && let Some(syn::GenericArgument::Type(inner)) = inner.args.first()
    {
        return held(inner);
    }
    last.ident.to_string()
}

#[cfg(test)]
mod tests;

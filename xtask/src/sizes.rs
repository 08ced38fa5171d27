//! How long files and functions and how wide structs may grow (house style: aim lower, this is the end).
//!
//! A function is counted from `fn` to its closing brace, comments and blank lines included; clippy warns
//! earlier, at 60 lines of code.

use std::path::Path;

use syn::spanned::Spanned;
use syn::visit::{self, Visit};

use crate::finding::Finding;
use crate::sources::{Rust, Source, Sources};

mod parts;
mod types;

const FILE_LINES: usize = 800;
const FILE_REVIEW_LINES: usize = 500;
const FUNCTION_LINES: usize = 100;
const STRUCT_FIELDS: usize = 15;
/// The one file that must stay a router.
const ROUTER: (&str, usize) = ("association/mod.rs", 500);
/// The lint nobody may switch off.
const LINE_LINT: &str = "too_many_lines";

/// Measures every Rust file, every type over all its files, and how many fields the files of a router touch.
pub(crate) fn check(sources: &Sources) -> Vec<Finding> {
    let files = sources.files.iter().flat_map(check_file);
    files.chain(types::check(sources)).chain(parts::check(sources)).collect()
}

fn check_file(source: &Source) -> Vec<Finding> {
    let mut measure = Measure { path: &source.path, findings: Vec::new() };
    match &source.rust {
        Rust::No => return Vec::new(),
        Rust::Broken(line, message) => {
            let what = format!("does not parse: {message}");
            return vec![Finding::error(&source.path, *line, what, "mend the syntax")];
        }
        Rust::Parsed(file) => measure.visit_file(file),
    }
    let mut findings = measure.findings;
    findings.extend(length(&source.path, source.text.lines().count()));
    findings
}

/// Judges a file's number of lines.
fn length(path: &Path, lines: usize) -> Option<Finding> {
    let (router, router_lines) = ROUTER;
    if path.ends_with(router) && lines > router_lines {
        let what = format!("{lines} lines, {router_lines} are allowed for the module that only routes");
        return Some(Finding::error(path, 1, what, "move decisions into the component they belong to"));
    }
    let remedy = "give one of its concerns a file of its own, tests theirs in `tests.rs`";
    if lines > FILE_LINES {
        let what = format!("{lines} lines, {FILE_LINES} are allowed");
        return Some(Finding::error(path, 1, what, remedy));
    }
    (lines > FILE_REVIEW_LINES)
        .then(|| Finding::note(path, 1, format!("{lines} lines, review at {FILE_REVIEW_LINES}"), remedy))
}

/// Walks through a file and measures what it meets.
struct Measure<'a> {
    path: &'a Path,
    findings: Vec<Finding>,
}

impl Measure<'_> {
    fn function(&mut self, signature: &syn::Signature, block: &syn::Block) {
        let first = signature.span().start().line;
        let lines = block.span().end().line + 1 - first;
        if lines > FUNCTION_LINES {
            let what = format!("`{}` has {lines} lines, {FUNCTION_LINES} are allowed", signature.ident);
            self.findings.push(Finding::error(self.path, first, what, "split it where it changes subject"));
        }
    }
}

impl<'ast> Visit<'ast> for Measure<'_> {
    fn visit_item_fn(&mut self, item: &'ast syn::ItemFn) {
        self.function(&item.sig, &item.block);
        visit::visit_item_fn(self, item);
    }

    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        self.function(&item.sig, &item.block);
        visit::visit_impl_item_fn(self, item);
    }

    fn visit_trait_item_fn(&mut self, item: &'ast syn::TraitItemFn) {
        if let Some(block) = &item.default {
            self.function(&item.sig, block);
        }
        visit::visit_trait_item_fn(self, item);
    }

    fn visit_item_struct(&mut self, item: &'ast syn::ItemStruct) {
        let fields = item.fields.len();
        if fields > STRUCT_FIELDS {
            let what = format!("struct `{}` has {fields} fields, {STRUCT_FIELDS} are allowed", item.ident);
            let remedy = "group the fields that change together into a struct of their own";
            self.findings.push(Finding::error(self.path, item.ident.span().start().line, what, remedy));
        }
        visit::visit_item_struct(self, item);
    }

    fn visit_attribute(&mut self, attribute: &'ast syn::Attribute) {
        let loosens = attribute.path().is_ident("allow") || attribute.path().is_ident("expect");
        if let (true, syn::Meta::List(list)) = (loosens, &attribute.meta)
            && list.tokens.to_string().contains(LINE_LINT)
        {
            let what = format!("switches `clippy::{LINE_LINT}` off");
            let line = attribute.span().start().line;
            self.findings.push(Finding::error(self.path, line, what, "split the function instead"));
        }
    }
}

#[cfg(test)]
mod tests;

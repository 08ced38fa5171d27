//! The repository's text files, read once; Rust files also parsed. Nothing that `.gitignore` names is looked at.

use std::ops::RangeInclusive;
use std::path::{Component, Path, PathBuf};

use ignore::WalkBuilder;
use syn::spanned::Spanned;

/// Every text file of the repository, in path order.
pub(crate) struct Sources {
    /// The files, in path order.
    pub(crate) files: Vec<Source>,
}

/// One text file.
pub(crate) struct Source {
    /// Relative to the repository.
    pub(crate) path: PathBuf,
    /// The text of the file.
    pub(crate) text: String,
    /// The kind of file for Rust.
    pub(crate) rust: Rust,
}

/// The kind of a file for Rust.
pub(crate) enum Rust {
    /// A file in another language.
    No,
    /// Rust that parses.
    Parsed(syn::File),
    /// A `.rs` file that does not parse: line and the parser's message.
    Broken(usize, String),
}

impl Sources {
    /// Reads all text files below `root`. Files that are not UTF-8 are no text and are left out.
    pub(crate) fn load(root: &Path) -> Self {
        let mut files: Vec<Source> = WalkBuilder::new(root)
            .hidden(false)
            .require_git(false)
            .filter_entry(|entry| entry.file_name() != ".git")
            .build()
            .filter_map(Result::ok)
            .filter(|entry| entry.file_type().is_some_and(|kind| kind.is_file()))
            .filter_map(|entry| {
                let text = std::fs::read_to_string(entry.path()).ok()?;
                Some(Source::new(entry.path().strip_prefix(root).ok()?, text))
            })
            .collect();
        files.sort_by(|a, b| a.path.cmp(&b.path));
        Self { files }
    }

    /// Returns the file at `path`, relative to the repository.
    pub(crate) fn find(&self, path: &Path) -> Option<&Source> {
        self.files.iter().find(|source| source.path == path)
    }
}

impl Source {
    /// Takes `text` as the content of the file at `path` (relative to the repository).
    pub(crate) fn new(path: &Path, text: String) -> Self {
        let rust = if path.extension().is_some_and(|extension| extension == "rs") {
            match syn::parse_file(&text) {
                Ok(file) => Rust::Parsed(file),
                Err(error) => Rust::Broken(error.span().start().line, error.to_string()),
            }
        } else {
            Rust::No
        };
        Self { path: path.to_owned(), text, rust }
    }

    /// Returns whether the whole file is test, bench, fuzz or example code.
    pub(crate) fn is_test(&self) -> bool {
        const FOLDERS: [&str; 4] = ["tests", "benches", "fuzz", "examples"];
        self.path.file_name().is_some_and(|name| name == "tests.rs")
            || self.path.components().any(|component| match component {
                Component::Normal(name) => FOLDERS.iter().any(|folder| name == *folder),
                Component::Prefix(_) | Component::RootDir | Component::CurDir | Component::ParentDir => false,
            })
    }

    /// Returns the folder of the crate that a file below `src` belongs to.
    pub(crate) fn crate_folder(&self) -> Option<PathBuf> {
        let is_source_folder = |component| component == Component::Normal("src".as_ref());
        let source_folder = self.path.components().position(is_source_folder)?;
        Some(self.path.components().take(source_folder).collect())
    }

    /// Returns the lines of items that only exist in tests (`#[cfg(test)]`).
    pub(crate) fn test_lines(&self) -> Vec<RangeInclusive<usize>> {
        let Rust::Parsed(file) = &self.rust else { return Vec::new() };
        file.items
            .iter()
            .filter(|item| is_test_item(item))
            .map(|item| item.span().start().line..=item.span().end().line)
            .collect()
    }
}

/// Returns whether an item of a kind that tests are put into is compiled for tests only.
fn is_test_item(item: &syn::Item) -> bool {
    let attributes = if let syn::Item::Mod(item) = item {
        &item.attrs
    } else if let syn::Item::Fn(item) = item {
        &item.attrs
    } else if let syn::Item::Impl(item) = item {
        &item.attrs
    } else {
        return false;
    };
    attributes.iter().any(is_cfg_test)
}

/// Returns whether an attribute is `#[cfg(test)]`.
pub(crate) fn is_cfg_test(attribute: &syn::Attribute) -> bool {
    attribute.path().is_ident("cfg")
        && attribute.parse_args::<syn::Path>().is_ok_and(|path| path.is_ident("test"))
}

//! The book is whole: its list of chapters, its links, and what it quotes from programs.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::fs;
use std::path::{Path, PathBuf};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src")
}

/// All pages but the list of them, by their file names.
fn pages() -> Vec<(String, String)> {
    let files = fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap().path());
    let pages = files.map(|path| {
        (path.file_name().unwrap().to_str().unwrap().to_owned(), fs::read_to_string(path).unwrap())
    });
    let mut pages: Vec<_> = pages.filter(|(name, _)| name != "SUMMARY.md").collect();
    pages.sort();
    pages
}

/// The fenced blocks of a page: what stands behind the fence, and the lines within.
fn blocks(text: &str) -> Vec<(&str, String)> {
    let (mut blocks, mut lines) = (Vec::new(), text.lines());
    while let Some(line) = lines.next() {
        if let Some(kind) = line.strip_prefix("```") {
            let body: Vec<&str> = lines.by_ref().take_while(|line| *line != "```").collect();
            blocks.push((kind, body.join("\n")));
        }
    }
    blocks
}

/// The targets of a page's links.
fn links(text: &str) -> Vec<&str> {
    text.split("](").skip(1).filter_map(|rest| rest.split_once(')').map(|(target, _)| target)).collect()
}

#[test]
fn every_page_is_a_chapter_and_a_module_and_every_chapter_a_page() {
    let summary = fs::read_to_string(folder().join("SUMMARY.md")).unwrap();
    let library = fs::read_to_string(folder().with_file_name("lib.rs")).unwrap();
    let mut chapters = links(&summary);
    chapters.sort_unstable();
    let pages = pages();
    assert_eq!(chapters, pages.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>());
    for (name, _) in &pages {
        assert!(library.contains(&format!("include_str!(\"src/{name}\")")), "{name} is not compiled");
    }
}

#[test]
fn links_between_pages_lead_somewhere() {
    for (name, text) in pages() {
        for target in links(&text).into_iter().filter(|target| !target.starts_with("https://")) {
            assert!(!target.starts_with("../"), "{name} links to {target}, which a book elsewhere has not");
            let file = target.split('#').next().unwrap();
            assert!(folder().join(file).exists(), "{name} links to {target}");
        }
    }
}

#[test]
fn every_block_of_rust_is_compiled_or_stands_in_a_program_that_is() {
    let top = folder().join("../../..");
    for (name, text) in pages() {
        for (kind, body) in blocks(&text) {
            match kind {
                "rust" | "toml" | "text" | "sh" => {}
                _ => {
                    let program = kind.strip_prefix("rust,ignore,from:");
                    let program =
                        program.unwrap_or_else(|| panic!("{name}: a block of `{kind}` is tested by nobody"));
                    let source = fs::read_to_string(top.join(program)).unwrap();
                    assert!(source.contains(&body), "{name}: the quotation differs from {program}");
                }
            }
        }
    }
}

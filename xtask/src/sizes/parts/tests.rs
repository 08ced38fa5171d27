use std::path::Path;

use super::judge;
use crate::finding::{Finding, Weight};
use crate::sources::{Source, Sources};

/// Judges a type `Router` whose files are these, with a bound in tenths.
fn judged(texts: &[&str], bound: usize) -> Option<Finding> {
    let files = texts.iter().enumerate().map(|(number, text)| {
        let path = format!("crates/x/src/router/file{number}.rs");
        Source::new(Path::new(&path), (*text).to_owned())
    });
    judge(&Sources { files: files.collect() }, Path::new("crates/x"), "Router", bound)
}

#[test]
fn fields_of_each_file_count_once_and_their_mean_is_judged() {
    let one = "impl Router { fn f(&self) { self.a.go(self.a.b); self.go() } }";
    let three = "impl Router { fn f(&mut self) { self.a.go(&mut self.b, || self.c.d) } }";
    let found = judged(&[one, three], 20).unwrap();
    assert_eq!(found.weight, Weight::Note);
    assert!(found.what.contains("2 files of `Router` touch 2.00"), "{}", found.what);
    assert_eq!(found.path, Path::new("crates/x/src/router/file1.rs"));
    assert_eq!(judged(&[one, three], 19).map(|finding| finding.weight), Some(Weight::Error));
}

#[test]
fn other_types_tests_and_files_without_it_do_not_count() {
    let beside = "impl Other { fn f(&self) { self.a; self.b } } impl Drop for Router { fn drop(&mut self) { self.c } }";
    let with_tests = "impl Router { fn f(&self) { self.a } } #[cfg(test)] mod tests { impl Router { fn t(&self) { self.z } } }";
    let found = judged(&[beside, with_tests], 10).unwrap();
    assert!(found.what.contains("the 1 files of `Router` touch 1.00"), "{}", found.what);
    assert_eq!(judged(&[beside], 10), None);
}

use std::path::Path;

use super::check;
use crate::sources::{Source, Sources};

fn found(files: &[(&str, &str)]) -> Vec<String> {
    let files = files.iter().map(|(path, text)| Source::new(Path::new(path), (*text).to_owned())).collect();
    check(&Sources { files }).into_iter().map(|finding| finding.what).collect()
}

#[test]
fn a_name_that_stands_twice_in_a_crate_is_found() {
    let files = [("crates/x/src/a.rs", "struct Place;\n"), ("crates/x/src/b.rs", "\nenum Place { A }\n")];
    assert_eq!(found(&files), ["`Place` stands also in crates/x/src/b.rs:2"]);
}

#[test]
fn other_crates_and_tests_may_have_the_name_too() {
    let test = "#[cfg(test)]\nmod tests {\nstruct Place;\n}\n";
    let files = [
        ("crates/x/src/a.rs", "struct Place;\n"),
        ("crates/y/src/a.rs", "struct Place;\n"),
        ("crates/x/src/b.rs", test),
        ("crates/x/src/tests.rs", "struct Place;\n"),
    ];
    assert!(found(&files).is_empty());
}

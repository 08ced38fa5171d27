use std::path::Path;

use super::check_crate;
use crate::sources::{Source, Sources};

fn found(files: &[(&str, &str)]) -> Vec<String> {
    let source =
        |(path, text): &(&str, &str)| Source::new(&Path::new("crates/x/src").join(path), (*text).to_owned());
    let sources = Sources { files: files.iter().map(source).collect() };
    check_crate(&sources, Path::new("crates/x"), &["low", "high"])
        .into_iter()
        .map(|finding| finding.what)
        .collect()
}

#[test]
fn imports_that_run_back_up_are_found_once_for_each_name() {
    let low = "use crate::high::{A, B};\nfn f() -> crate::high::A { crate::high::A }\n";
    let expected =
        ["`low` takes `A` from `high`, which is above it", "`low` takes `B` from `high`, which is above it"];
    assert_eq!(found(&[("low.rs", low), ("high.rs", "use crate::low::C;\n")]), expected);
}

#[test]
fn names_that_the_root_exports_belong_to_their_room() {
    let files = [
        ("lib.rs", "pub use high::A;\n"),
        ("low/part.rs", "use crate::A;\n"),
        ("high.rs", "pub struct A;\n"),
    ];
    assert_eq!(found(&files)[0], "`low` takes `A` from `high`, which is above it");
}

#[test]
fn tests_may_look_up() {
    let tests = "#[cfg(test)]\nmod tests {\nuse crate::high::A;\n}\n";
    assert!(found(&[("low.rs", tests), ("low/tests.rs", "use crate::high::A;\n")]).is_empty());
}

#[test]
fn a_room_without_a_place_in_the_order_is_found() {
    let files = [("lib.rs", "mod new;\n"), ("new/part.rs", "use crate::high::A;\n")];
    assert_eq!(found(&files), ["the room `new` has no place in the order of rooms"]);
}

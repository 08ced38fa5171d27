use std::path::Path;

use super::check_crate;
use crate::sources::{Source, Sources};

fn found(files: &[(&str, &str)]) -> Vec<String> {
    let source =
        |(path, text): &(&str, &str)| Source::new(&Path::new("crates/x/src").join(path), (*text).to_owned());
    let sources = Sources { files: files.iter().map(source).collect() };
    check_crate(&sources, Path::new("crates/x")).into_iter().map(|finding| finding.what).collect()
}

#[test]
fn rooms_that_take_from_each_other_through_any_of_their_files_are_found() {
    let files = [
        ("lib.rs", "mod one;\nmod two;\n"),
        ("one/mod.rs", "mod a;\nmod b;\n"),
        ("one/a.rs", "use crate::two::T;\n"),
        ("one/b.rs", "pub struct B;\n"),
        ("two.rs", "pub struct T(crate::one::b::B);\n"),
    ];
    assert_eq!(found(&files), ["a circle of rooms: one ─► two ─► one"]);
}

#[test]
fn files_of_a_room_that_take_from_each_other_are_found_behind_re_exports() {
    let files = [
        ("lib.rs", "mod room;\n"),
        ("room/mod.rs", "mod a;\nmod b;\nmod c;\npub use a::A;\npub(crate) use b::B;\n"),
        ("room/a.rs", "use super::B;\npub struct A;\n"),
        ("room/b.rs", "use super::c::C;\npub struct B;\n"),
        ("room/c.rs", "pub struct C(crate::room::A);\n"),
    ];
    assert_eq!(found(&files), ["a circle of files: room/a ─► room/b ─► room/c ─► room/a"]);
}

#[test]
fn a_folder_and_its_files_are_one_and_tests_may_look_anywhere() {
    let files = [
        ("lib.rs", "mod room;\nmod low;\n"),
        ("room/mod.rs", "mod a;\npub use a::A;\npub trait Of {}\n"),
        (
            "room/a.rs",
            "use super::Of;\nuse crate::low::L;\n#[cfg(test)]\nmod tests {\nuse crate::high::H;\n}\n",
        ),
        ("low.rs", "pub struct L;\n#[cfg(test)]\nmod tests {\nuse crate::room::A;\n}\n"),
        ("low/tests.rs", "use crate::room::A;\n"),
    ];
    assert!(found(&files).is_empty());
}

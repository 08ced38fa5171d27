use std::path::Path;

use super::{check_file, length};
use crate::finding::{Finding, Weight};
use crate::sources::Source;

fn measured(text: &str) -> Vec<Finding> {
    check_file(&Source::new(Path::new("crates/x/src/lib.rs"), text.to_owned()))
}

/// A function of `lines` lines that starts on line 3.
fn function(lines: usize) -> String {
    format!("struct S;\nimpl S {{\nfn f() {{\n{}}}\n}}\n", "// said\n".repeat(lines - 2))
}

#[test]
fn function_of_a_hundred_lines_passes_and_one_more_does_not() {
    assert_eq!(measured(&function(100)), []);
    let found = measured(&function(101));
    assert_eq!((found.len(), found[0].line), (1, 3));
    assert_eq!(found[0].what, "`f` has 101 lines, 100 are allowed");
}

#[test]
fn functions_inside_test_modules_and_traits_are_measured_too() {
    let inner = format!("mod tests {{ {} }}", function(200));
    assert_eq!(measured(&inner).len(), 1);
    let default = format!("trait T {{ fn f() {{\n{}}} }}", "\n".repeat(100));
    assert_eq!(measured(&default).len(), 1);
}

#[test]
fn doc_comments_before_a_function_do_not_count() {
    assert_eq!(measured(&format!("{}fn f() {{}}\n", "/// Said.\n".repeat(150))), []);
}

#[test]
fn struct_of_sixteen_fields_is_found() {
    let fields = |n: usize| (0..n).map(|i| format!("f{i}: u8,")).collect::<String>();
    assert_eq!(measured(&format!("struct Wide {{ {} }}", fields(15))), []);
    assert_eq!(measured(&format!("struct Wide {{ {} }}", fields(16))).len(), 1);
}

#[test]
fn switching_the_line_lint_off_is_found_in_every_spelling() {
    for attribute in
        ["#[allow(clippy::too_many_lines)]", "#[expect(clippy::too_many_lines, reason = \"long\")]"]
    {
        assert_eq!(measured(&format!("{attribute}\nfn f() {{}}\n")).len(), 1, "{attribute}");
    }
    assert_eq!(measured("#[allow(clippy::cast_lossless)]\nfn f() {}\n"), []);
}

#[test]
fn file_lengths_are_noted_then_refused() {
    let path = Path::new("crates/x/src/lib.rs");
    assert_eq!(length(path, 500), None);
    assert_eq!(length(path, 501).map(|finding| finding.weight), Some(Weight::Note));
    assert_eq!(length(path, 801).map(|finding| finding.weight), Some(Weight::Error));
}

#[test]
fn association_router_is_refused_where_other_files_are_noted() {
    let router = Path::new("crates/sctp-core/src/association/mod.rs");
    assert_eq!(length(router, 500), None);
    assert_eq!(length(router, 501).map(|finding| finding.weight), Some(Weight::Error));
}

#[test]
fn rust_that_does_not_parse_is_found_with_its_line() {
    let found = measured("fn f() {}\nfn g( {}\n");
    assert_eq!((found.len(), found[0].line), (1, 2));
}

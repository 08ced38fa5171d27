use std::path::Path;

use super::{TYPE_FUNCTIONS, TYPE_LINES, check_types};
use crate::finding::Weight;
use crate::sources::{Source, Sources};

fn found(files: &[&str], listed: &[(&str, &str)]) -> Vec<(Weight, String)> {
    let source = |(number, text): (usize, &&str)| {
        Source::new(Path::new(&format!("crates/x/src/f{number}.rs")), (*text).to_owned())
    };
    let sources = Sources { files: files.iter().enumerate().map(source).collect() };
    let findings = check_types(&sources, listed);
    findings.into_iter().map(|finding| (finding.weight, finding.what)).collect()
}

/// An `impl` of `S` of so many lines.
fn lines(lines: usize) -> String {
    format!("impl S {{\n{}}}\n", "// said\n".repeat(lines - 2))
}

#[test]
fn lines_of_all_files_of_a_type_count_together() {
    let half = lines(TYPE_LINES / 2);
    let what = format!(
        "all `impl` blocks of `S` have {} lines in 2 files, {TYPE_LINES} are allowed",
        TYPE_LINES + 2
    );
    let more = lines(TYPE_LINES / 2 + 2);
    assert_eq!(found(&["struct S;", &half, &more], &[]), [(Weight::Error, what.clone())]);
    assert_eq!(found(&["struct S;", &half, &more], &[("crates/x", "S")]), [(Weight::Note, what)]);
    assert_eq!(found(&["struct S;", &half, &half], &[]).len(), 1, "a note that it is worth a look");
}

#[test]
fn functions_of_a_type_count_those_of_tests_do_not() {
    let functions = "fn f() {}".repeat(TYPE_FUNCTIONS);
    let fine = format!("struct S; impl S {{ {functions} #[cfg(test)] fn more() {{}} }}");
    assert!(found(&[&fine], &[]).is_empty());
    assert_eq!(found(&[&fine, "impl Clone for S { fn clone(&self) -> S { S } }"], &[]).len(), 1);
}

#[test]
fn a_struct_without_methods_counts_with_the_fields_of_its_only_holder() {
    let wide: String = (0..14).map(|field| format!("f{field}: u8,")).collect();
    let record = format!("struct S {{ {wide} rest: Option<Box<Rest>> }}");
    let holder = format!("{record} impl S {{ fn f(&self) {{}} }}");
    let rest = "struct Rest { a: u8, b: u8 }";
    assert_eq!(found(&[&holder, rest], &[]).len(), 1);
    let methods = "impl Rest { fn sum(&self) -> u8 { self.a + self.b } }";
    assert!(found(&[&holder, rest, methods], &[]).is_empty(), "a component");
    assert!(found(&[&holder, rest, "struct Other { rest: Rest }"], &[]).is_empty(), "two holders");
    assert!(found(&[&record, rest], &[]).is_empty(), "a record with a group");
    assert!(found(&[&holder, "pub struct Rest { a: u8, b: u8 }"], &[]).is_empty(), "a part of the API");
}

#[test]
fn a_type_that_has_become_small_leaves_the_list() {
    let what = "`S` is within all bounds".to_owned();
    assert_eq!(found(&["struct S;"], &[("crates/x", "S")]), [(Weight::Error, what)]);
}

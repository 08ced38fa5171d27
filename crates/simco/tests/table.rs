//! The tables of docs/simco.md: every code has a row, every test that is named is there, and it is about that code.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests; clippy knows only functions marked as such")]

use std::path::PathBuf;

use simco::NegativeCode;

/// Below the repository: where tests are that tables name.
const PLACES: [&str; 3] =
    ["crates/simco/tests/middlebox", "crates/simco/tests/pair", "apps/simco-middlebox/tests/binary"];

fn repository() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// What a row says: its first cell, and the tests in its last one, `module::test`.
struct Row {
    head: String,
    tests: Vec<String>,
}

fn rows() -> Vec<Row> {
    let page = std::fs::read_to_string(repository().join("docs/simco.md")).unwrap();
    let row = |line: &str| {
        let cells: Vec<&str> = line.strip_prefix("| ")?.strip_suffix(" |")?.split(" | ").collect();
        let quoted = cells.last()?.split('`').skip(1).step_by(2);
        let tests: Vec<String> = quoted.filter(|name| name.contains("::")).map(str::to_owned).collect();
        let head = cells[0].to_owned();
        (!tests.is_empty()).then_some(Row { head, tests })
    };
    page.lines().filter_map(row).collect()
}

/// From the name of a test to its end; `None` if there is no such test.
fn body(name: &str) -> Option<String> {
    let (module, function) = name.split_once("::")?;
    PLACES.iter().find_map(|place| {
        let text = std::fs::read_to_string(repository().join(place).join(format!("{module}.rs"))).ok()?;
        let (_, after) = text.split_once(&format!("#[test]\nfn {function}() {{"))?;
        Some(after.split("\n}").next()?.to_owned())
    })
}

#[test]
fn tests_that_tables_name_are_there() {
    let rows = rows();
    assert!(rows.len() > 50, "{}: is this the page?", rows.len());
    let names = rows.iter().flat_map(|row| &row.tests);
    let missing: Vec<_> = names.filter(|name| body(name).is_none()).collect();
    assert!(missing.is_empty(), "docs/simco.md names tests that are not there: {missing:?}");
}

#[test]
fn every_negative_reply_has_a_row_whose_tests_name_it() {
    let rows = rows();
    for code in NegativeCode::ALL {
        let number = format!("0x{:04X}", code.code());
        let of_code: Vec<_> =
            rows.iter().filter(|row| row.head.starts_with("0x03") && row.head.contains(&number)).collect();
        assert!(!of_code.is_empty(), "docs/simco.md has no row for {number}");
        // As a number, as a variant, or all of them.
        let names =
            [number.to_lowercase(), format!("NegativeCode::{code:?}"), "NegativeCode::ALL".to_owned()];
        for name in of_code.iter().flat_map(|row| &row.tests) {
            let body = body(name).unwrap();
            assert!(names.iter().any(|what| body.contains(what)), "{name} is not about {number}");
        }
    }
}

#[test]
fn every_notification_has_a_row_whose_tests_name_it() {
    let rows = rows();
    let marks_by_name: [(&str, &[&str]); 3] =
        [("BFM", &["0x0401"]), ("AST", &["0x0402"]), ("ARE", &["0x0403", "rule_events"])];
    for (name, marks) in marks_by_name {
        let row = rows.iter().find(|row| row.head == name).unwrap_or_else(|| panic!("no row for {name}"));
        for test in &row.tests {
            let body = body(test).unwrap();
            assert!(marks.iter().any(|mark| body.contains(mark)), "{test} is not about {name}");
        }
    }
}

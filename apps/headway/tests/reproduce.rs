//! `headway reproduce`: the list, one quick page, its files, and that nothing is made twice.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on ends here")]

use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

fn reproduce(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_headway")).arg("reproduce").args(arguments).output().unwrap()
}

fn json(arguments: &[&str]) -> Value {
    let output = reproduce(&[arguments, &["--json", "-"]].concat());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn the_list_has_pages_of_the_studies() {
    let list = json(&["--list"]);
    let ids: Vec<&str> = list.as_array().unwrap().iter().map(|id| id.as_str().unwrap()).collect();
    for id in ["S1-fig4", "S4-table1", "S5-fig4"] {
        assert!(ids.contains(&id), "{id} is not in {ids:?}");
    }
}

#[test]
fn a_page_has_statements_and_is_drawn_again_from_its_json() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("reproduced");
    let _not_there = std::fs::remove_dir_all(&folder);
    let out = folder.to_str().unwrap();
    let first = json(&["s5-FIG4", "--quick", "--out", out]);
    let statements = first["pages"][0]["statements"].as_array().unwrap();
    assert_eq!(statements.len(), 3);
    for statement in statements {
        assert!(
            ["reproduced", "not reproduced", "differs"].contains(&statement["verdict"].as_str().unwrap())
        );
        assert!(!statement["because"].as_str().unwrap().is_empty());
    }
    let html = std::fs::read_to_string(folder.join("S5.html")).unwrap();
    assert!(html.contains("<svg") && !html.contains("http://") && !html.contains("<script"));
    std::fs::remove_file(folder.join("S5.html")).unwrap();
    // Made from the JSON alone: even the wall time is the one of then.
    assert_eq!(json(&["S5-fig4", "--quick", "--out", out]), first);
    assert_eq!(std::fs::read_to_string(folder.join("S5.html")).unwrap(), html);
    assert!(std::fs::read_to_string(folder.join("index.html")).unwrap().contains("S5-fig4"));
}

#[test]
fn an_unknown_page_is_refused() {
    let output = reproduce(&["S9-fig1"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("--list"));
}

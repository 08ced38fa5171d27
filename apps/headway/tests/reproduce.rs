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
    for id in ["S1-fig4", "S4-table1", "S5-fig4", "now-streams"] {
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
            ["reproduced", "not reproduced", "explained", "undecided"]
                .contains(&statement["verdict"].as_str().unwrap())
        );
        assert!(!statement["because"].as_str().unwrap().is_empty());
        assert!(!statement["criterion"].as_str().unwrap().is_empty());
        assert!((statement["verdict"] != "explained") || statement["evidence"].is_string());
    }
    let html = std::fs::read_to_string(folder.join("S5.html")).unwrap();
    assert!(html.contains("<svg") && !html.contains("http://") && !html.contains("<script"));
    std::fs::remove_file(folder.join("S5.html")).unwrap();
    // Made from the JSON alone: even the wall time is the one of then.
    assert_eq!(json(&["S5-fig4", "--quick", "--out", out]), first);
    assert_eq!(std::fs::read_to_string(folder.join("S5.html")).unwrap(), html);
    assert!(std::fs::read_to_string(folder.join("index.html")).unwrap().contains("S5-fig4"));
    std::fs::remove_file(folder.join("S5.html")).unwrap();
    assert_eq!(json(&["--redraw", "--out", out]), first);
    assert_eq!(std::fs::read_to_string(folder.join("S5.html")).unwrap(), html);
}

/// All but the wall time is a function of page, effort and program, however the runs were spread.
#[test]
fn two_reproductions_are_equal_to_the_octet_but_for_the_wall_time() {
    let folder = |name: &str| Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let made = [("equal-1", "1"), ("equal-2", "2")].map(|(name, jobs)| {
        let _not_there = std::fs::remove_dir_all(folder(name));
        let out = folder(name);
        let arguments = ["S2-fig6", "S2-fig5", "--quick", "--jobs", jobs, "--out", out.to_str().unwrap()];
        assert!(reproduce(&arguments).status.success());
        let files = ["S2-fig5.json", "S2-fig6.json", "S2-fig5.csv", "S2-fig6.csv", "S2.html", "index.html"];
        files.map(|file| {
            let text = std::fs::read_to_string(out.join(file)).unwrap();
            text.lines().filter(|line| !line.contains("wall_s")).collect::<Vec<_>>().join("\n")
        })
    });
    assert_eq!(made[0], made[1]);
}

/// What an interrupted reproduction has made stays, and only the rest is made.
#[test]
fn a_reproduction_goes_on_where_it_was_interrupted() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("resumed");
    let _not_there = std::fs::remove_dir_all(&folder);
    let out = folder.to_str().unwrap();
    let first = json(&["S2-fig6", "--quick", "--out", out]);
    let both = json(&["S2-fig5", "S2-fig6", "--quick", "--out", out]);
    assert_eq!(
        both["pages"][1], first["pages"][0],
        "the wall time of the first is kept: it was not made again"
    );
    assert_eq!(both["pages"][0]["id"], "S2-fig5");
}

/// A page made later stands beside those made before: in the index, in its study, and in the files of numbers.
#[test]
fn a_page_does_not_make_the_others_of_the_folder_disappear() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("added");
    let _not_there = std::fs::remove_dir_all(&folder);
    let out = folder.to_str().unwrap();
    for page in ["S5-fig4", "S2-fig6", "S2-fig5"] {
        let made = json(&[page, "--quick", "--out", out]);
        assert_eq!(made["pages"].as_array().unwrap().len(), 1, "what is printed is what was asked for");
    }
    let read = |file: &str| std::fs::read_to_string(folder.join(file)).unwrap();
    for page in ["S5-fig4", "S2-fig6", "S2-fig5"] {
        assert!(read("index.html").contains(page), "{page}");
    }
    assert!(read("S2.html").contains("S2-fig5") && read("S2.html").contains("S2-fig6"));
}

#[test]
fn an_unknown_page_is_refused() {
    let output = reproduce(&["S9-fig1"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("--list"));
}

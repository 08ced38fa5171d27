use std::path::Path;

use super::{OBSOLETE_RFCS, check, check_file};
use crate::sources::{Source, Sources};

fn found(path: &str, text: &str) -> Vec<usize> {
    let source = Source::new(Path::new(path), text.to_owned());
    check_file(&source).iter().map(|finding| finding.line).collect()
}

#[test]
fn promises_in_shipped_code_are_found_with_their_line() {
    for promise in ["// TODO: later", "// FIXME", "fn f() { todo!() }", "fn f() { unimplemented!(\"x\") }"] {
        assert_eq!(found("crates/x/src/lib.rs", &format!("\n{promise}\n")), [2], "{promise}");
    }
}

#[test]
fn conflicts_left_in_any_file_are_found() {
    let text = format!("a\n{} main\nb\n{} other\n", "<".repeat(7), ">".repeat(7));
    for path in ["fuzz/README.md", "crates/x/src/lib.rs", "docs/table"] {
        assert_eq!(found(path, &text), [2, 4], "{path}");
    }
}

#[test]
fn words_that_only_contain_a_promise_are_fine() {
    assert!(found("crates/x/src/lib.rs", "const MASTODON: u8 = 1; // TODOS, XXXL\n").is_empty());
}

#[test]
fn options_belong_to_programs() {
    let text =
        "/// As `--device` says, a--b.\nconst REMEDY: &str = \"leave it out, or use --world simulator\";\n";
    assert_eq!(found("crates/x/src/lib.rs", text), [2]);
    assert!(found("apps/x/src/main.rs", text).is_empty() && found("crates/x/tests/a.rs", text).is_empty());
}

#[test]
fn tests_may_promise() {
    assert!(found("crates/x/tests/pair.rs", "// TODO\n").is_empty());
    assert!(found("crates/x/src/lib.rs", "#[cfg(test)]\nmod tests {\n// TODO\n}\n").is_empty());
    assert_eq!(found("crates/x/src/lib.rs", "#[cfg(test)]\nmod tests {}\n// TODO\n"), [3]);
}

#[test]
fn obsolete_rfcs_are_found_in_code_and_prose() {
    for number in OBSOLETE_RFCS {
        assert_eq!(found("crates/x/src/lib.rs", &format!("// RFC {number} §6\n")), [1]);
        assert_eq!(found("docs/x.md", &format!("see RFC{number}\n")), [1]);
        assert!(found("docs/x.md", &format!("see RFC 9260 and RFC {number}1\n")).is_empty());
    }
}

#[test]
fn obsolete_rfc_of_a_study_or_an_old_rule_is_fine() {
    let [number, ..] = OBSOLETE_RFCS;
    assert!(found("docs/x.md", &format!("S4 measured an RFC {number} stack\n")).is_empty());
    assert!(found("docs/x.md", &format!("the old rule of RFC {number}: four reports\n")).is_empty());
    assert_eq!(found("docs/x.md", &format!("IS45 RFC {number}\n")), [1]);
}

#[test]
fn paths_of_one_machine_are_found_and_addresses_are_not() {
    for folder in ["work", "home", "Users"] {
        assert_eq!(found("README.md", &format!("run \"/{folder}/me/headway\"\n")), [1], "{folder}");
    }
    let fine = ["https://example.org", "docs", "$HOME", "~"].map(|start| format!("{start}/{}/x\n", "work"));
    assert!(fine.iter().all(|text| found("README.md", text).is_empty()));
}

#[test]
fn ignored_and_sleeping_tests_are_found() {
    assert_eq!(found("crates/x/tests/a.rs", concat!("#[", "ignore = \"slow\"]\n#[test]\nfn f() {}\n")), [1]);
    assert_eq!(found("crates/x/src/a/tests.rs", concat!("fn f() { std::thread::", "sleep", "(D); }\n")), [1]);
}

#[test]
fn architecture_names_files_that_there_are() {
    let source = |path: &str, text: &str| Source::new(Path::new(path), text.to_owned());
    let architecture =
        source("ARCHITECTURE.md", "`src/a.rs`, then\n`x/src/a.rs` and `src/b.rs`, by `sender/mod`\n");
    let sources = Sources { files: vec![architecture, source("crates/x/src/a.rs", "")] };
    let findings = check(&sources);
    assert_eq!(
        findings.iter().map(|each| (each.line, each.what.as_str())).collect::<Vec<_>>(),
        [(2, "there is no file `src/b.rs`")]
    );
}

//! `headway campaign` and `headway simulate --store`: what the Python package is asked for, and what is said where there is none.
#![allow(clippy::unwrap_used, reason = "tests")]

use std::process::{Command, Output};

fn headway(arguments: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_headway"));
    command.args(arguments.split_whitespace()).env("PATH", "/nowhere").output().unwrap()
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn the_package_gets_everything_that_was_asked_for() {
    // A program that prints what it is asked for stands for Python.
    let output = headway(
        "campaign plan.toml --store out --scheduler tcp://192.0.2.1:8786 --seeds 4 --seed 3 --jobs 2 --json - --quiet --python /bin/echo",
    );
    assert!(output.status.success(), "{}", said(&output));
    let asked = String::from_utf8(output.stdout).unwrap();
    assert_eq!(
        asked.trim(),
        "-m headway.campaign plan.toml --store out --scheduler tcp://192.0.2.1:8786 --seed 3 --seeds 4 --jobs 2 --json - --quiet"
    );
}

#[test]
fn a_python_without_the_package_is_told_how_to_get_it() {
    let output = headway("campaign plan.toml --store out --python /bin/false");
    assert_eq!(output.status.code(), Some(1));
    assert!(
        said(&output).contains("/bin/false -m pip install './bindings/python[dask]'"),
        "{}",
        said(&output)
    );
}

#[test]
fn a_store_needs_python_and_goes_with_neither_real_packets_nor_reports() {
    let output = headway("simulate plan.toml --store out");
    assert_eq!(output.status.code(), Some(1));
    assert!(said(&output).contains("'python3' cannot be run"), "{}", said(&output));
    for other in ["--world namespaces", "--out report", "--check"] {
        let output = headway(&format!("simulate plan.toml --store out {other}"));
        assert_eq!(output.status.code(), Some(2), "{other}");
    }
    assert_eq!(headway("campaign plan.toml").status.code(), Some(2));
}

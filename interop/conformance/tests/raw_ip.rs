//! The cases that no clock decides over protocol 132, each in a network namespace of its own, against a process with the
//! stack that ships.
//!
//! Needs root and `ip`. Where they are missing the tests say so and pass, unless `CI=true`.
#![allow(clippy::print_stdout, reason = "a harness prints")]

use std::path::Path;
use std::process::ExitCode;

use conformance::case::{Case, Over, all};
use conformance::raw_ip::{RawWire, enter_namespace};
use libtest_mimic::{Arguments, Failed, Trial};

fn main() -> ExitCode {
    let rights = std::thread::spawn(enter_namespace).join().map_err(|_| "the thread panicked".to_owned());
    if let Err(missing) = rights.and_then(|entered| entered.map_err(|error| error.to_string())) {
        println!("skipped: no network namespace of its own: {missing}; run it as root");
        let is_mandatory = std::env::var("CI").is_ok_and(|value| value == "true");
        return if is_mandatory { ExitCode::FAILURE } else { ExitCode::SUCCESS };
    }
    let cases = all().into_iter().filter(|case| case.over == Over::Both);
    let trial = |case: Case| Trial::test(format!("raw_ip::{}", case.name), move || run(&case));
    libtest_mimic::run(&Arguments::from_args(), cases.map(trial).collect()).exit_code()
}

/// A thread of its own, for the namespace goes with the thread.
fn run(case: &Case) -> Result<(), Failed> {
    let case = *case;
    let thread = std::thread::spawn(move || -> Result<(), String> {
        enter_namespace().map_err(|error| error.to_string())?;
        let program = Path::new(env!("CARGO_BIN_EXE_conformance"));
        let wire = RawWire::new(program, case.settings).map_err(|error| error.to_string())?;
        case.run(Box::new(wire)).map_err(|mismatch| mismatch.to_string())
    });
    Ok(thread.join().map_err(|_| "the thread panicked")??)
}

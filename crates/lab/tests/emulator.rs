//! Real packets through the emulator, in namespaces of this process.
//!
//! Not the usual harness: a user namespace can only be entered before any thread exists. Where namespaces are
//! refused the tests say why and pass, unless `CI=true`.

#![allow(clippy::print_stdout, reason = "a harness prints")]

mod cases;

use std::process::ExitCode;

use lab::emulator::enter_user_namespace;
use libtest_mimic::{Arguments, Trial};

fn main() -> ExitCode {
    if let Err(refused) = enter_user_namespace() {
        println!("skipped: {refused}");
        let is_mandatory = std::env::var("CI").is_ok_and(|value| value == "true");
        return if is_mandatory { ExitCode::FAILURE } else { ExitCode::SUCCESS };
    }
    if let Some(role) = cases::child::role() {
        return role.play();
    }
    // One after the other: several of them measure time.
    let arguments = Arguments { test_threads: Some(1), ..Arguments::from_args() };
    let trials = cases::ALL.iter().map(|(name, case)| {
        Trial::test(*name, || {
            case();
            Ok(())
        })
    });
    libtest_mimic::run(&arguments, trials.collect()).exit_code()
}

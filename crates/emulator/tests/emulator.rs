//! Real packets through the emulator, in namespaces of this process.
//!
//! Not the usual harness: a user namespace can only be entered before any thread exists. Where namespaces are
//! refused the tests say why and pass, unless `CI=true`.
//!
//! Every case runs with the device that is preferred here and, in a process of its own, with pairs of virtual Ethernet
//! devices (`veth::…`).

#![allow(clippy::print_stdout, reason = "a harness prints")]

mod cases;

use std::process::ExitCode;

use emulator::enter_user_namespace;
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
    let mut trials: Vec<Trial> = cases::ALL.iter().map(|(name, case)| here(name, *case)).collect();
    if std::env::var_os(cases::child::DEVICE).is_none() {
        trials.extend(cases::ALL.iter().map(|(name, _)| with_veth(name)));
    }
    libtest_mimic::run(&arguments, trials).exit_code()
}

fn here(name: &str, case: cases::Case) -> Trial {
    Trial::test(name, move || {
        case();
        Ok(())
    })
}

fn with_veth(name: &'static str) -> Trial {
    Trial::test(format!("veth::{name}"), move || {
        let status = cases::child::run_case_with_veth(name).status()?;
        if status.success() { Ok(()) } else { Err("it failed with veth devices".into()) }
    })
}

//! The filter really filters: real packets through inside – middlebox – outside, in namespaces of these tests.
//!
//! Needs root, `ip` and `nft`. Where they are missing the tests say so and pass, unless `CI=true`.

#![allow(clippy::print_stdout, reason = "a harness prints")]
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "tests may; the harness hides from the lint that they are"
)]

mod cases;

use std::process::ExitCode;

use libtest_mimic::{Arguments, Trial};

fn main() -> ExitCode {
    if let Err(missing) = cases::network::rights() {
        println!("skipped: {missing}");
        let is_mandatory = std::env::var("CI").is_ok_and(|value| value == "true");
        return if is_mandatory { ExitCode::FAILURE } else { ExitCode::SUCCESS };
    }
    let trial = |(name, case): &(&str, fn())| {
        let case = *case;
        Trial::test(*name, move || {
            case();
            Ok(())
        })
    };
    libtest_mimic::run(&Arguments::from_args(), cases::ALL.iter().map(trial).collect()).exit_code()
}

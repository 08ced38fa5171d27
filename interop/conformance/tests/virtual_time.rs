//! Every case over the core in virtual time.

use std::process::ExitCode;

use conformance::case::{Case, all};
use conformance::virtual_time::VirtualWire;
use libtest_mimic::{Arguments, Failed, Trial};

fn main() -> ExitCode {
    let trial = |case: Case| Trial::test(format!("virtual_time::{}", case.name), move || run(&case));
    libtest_mimic::run(&Arguments::from_args(), all().into_iter().map(trial).collect()).exit_code()
}

fn run(case: &Case) -> Result<(), Failed> {
    Ok(case.run(Box::new(VirtualWire::new(case.settings)?))?)
}

//! Every case over the core in virtual time, and the page that says what they give.

use std::path::Path;
use std::process::ExitCode;

use conformance::case::{Case, all};
use conformance::table;
use conformance::virtual_time::VirtualWire;
use libtest_mimic::{Arguments, Failed, Trial};

fn main() -> ExitCode {
    let trial = |case: Case| Trial::test(format!("virtual_time::{}", case.name), move || run(&case));
    let page = Trial::test("page_says_what_the_cases_give", compare_page);
    let trials = all().into_iter().map(trial).chain([page]).collect();
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}

fn run(case: &Case) -> Result<(), Failed> {
    Ok(case.run(Box::new(VirtualWire::new(case.settings)?))?)
}

fn compare_page() -> Result<(), Failed> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/conformance.md");
    if std::fs::read_to_string(path)?.trim_end() == table::page()?.trim_end() {
        return Ok(());
    }
    Err("docs/conformance.md is not what the cases give: `cargo xtask conformance-table` writes it".into())
}

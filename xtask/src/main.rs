//! The repository's own checks: `cargo xtask check`.
//!
//! What rustfmt, clippy and rustdoc do not know — which crate may use which, how many strangers a crate may
//! bring along, how long a file may grow, which words promise work that was not done — is checked here, and
//! the tools that do know are run with the same flags everywhere. A check returns [`Finding`]s; each prints as
//! `file:line: what` with the remedy below it, and any finding that is not a note makes the run fail.
//!
//! ```text
//! cargo xtask check                  everything; what a change must pass
//! cargo xtask layers                 one check alone
//! cargo xtask stress PACKAGE TEST    one test, many rounds, on a busy machine
//! ```
#![forbid(unsafe_code)]

use std::process::ExitCode;
use std::time::Instant;

use clap::{Parser, Subcommand};

use crate::finding::{Finding, Weight};
use crate::sources::Sources;
use crate::workspace::{Workspace, WorkspaceError};

mod circles;
mod comments;
mod conformance;
mod finding;
mod imports;
mod layers;
mod locks;
mod msrv;
mod phrases;
mod reasons;
mod rfcs;
mod rooms;
mod sizes;
mod sources;
mod stress;
mod tools;
mod twins;
mod workspace;

/// The repository's own checks.
#[derive(Parser)]
#[command(name = "cargo xtask", version)]
struct Arguments {
    #[command(subcommand)]
    request: Request,
}

/// The requests that can be made on the command line.
#[derive(Subcommand, Clone, Debug)]
enum Request {
    #[command(flatten)]
    Look(Task),
    /// Runs a test many times beside busy loops and processes that come and go, and stops and continues it meanwhile
    Stress(stress::Options),
}

/// The tasks that look at the repository.
#[derive(Subcommand, Clone, Copy, PartialEq, Eq, Debug)]
enum Task {
    /// All checks below
    Check,
    /// Dependencies point down, stay within their budgets, and the cores stay free of clocks and IO
    Layers,
    /// Every dependency has a reason in docs/decisions/0002-dependencies.md
    Reasons,
    /// The table of RFCs in README.md says what tests and interop runs show
    Rfcs,
    /// Write the table of RFCs into README.md
    RfcTable,
    /// Write the table docs/conformance.md
    ConformanceTable,
    /// Files, functions and structs stay readable
    Sizes,
    /// No promises in shipped code, no obsolete citations, no paths of one machine
    Phrases,
    /// The Rust that manifests promise is the one that everything is built with
    Msrv,
    /// The lock files outside the workspace agree with their manifests
    Locks,
    /// Run cargo fmt --check
    Fmt,
    /// Run cargo clippy on every target, warnings are errors
    Clippy,
    /// Run cargo doc, warnings are errors
    Docs,
    /// Run cargo deny: licences, duplicates, sources
    Deny,
    /// Run typos, which checks the spelling
    Typos,
}

/// Cheap checks first, so that a mistake shows before the compiler has run.
const ALL: [Task; 12] = [
    Task::Fmt,
    Task::Layers,
    Task::Reasons,
    Task::Rfcs,
    Task::Sizes,
    Task::Phrases,
    Task::Msrv,
    Task::Locks,
    Task::Typos,
    Task::Deny,
    Task::Clippy,
    Task::Docs,
];

fn main() -> ExitCode {
    let done = match Arguments::parse().request {
        Request::Look(Task::Check) => looked(&ALL),
        Request::Look(task) => looked(&[task]),
        Request::Stress(options) => stress::run(&options).map_err(|error| error.to_string()),
    };
    match done {
        Ok(0) => ExitCode::SUCCESS,
        Ok(_) => ExitCode::FAILURE,
        Err(error) => {
            finding::print_line(&format!("error: {error}"));
            ExitCode::FAILURE
        }
    }
}

/// Runs `tasks` and says how many findings have to be mended.
fn looked(tasks: &[Task]) -> Result<usize, String> {
    let errors = run(tasks).map_err(|error| error.to_string())?;
    if errors > 0 {
        finding::print_line(&format!("{errors} finding(s) to mend"));
    }
    Ok(errors)
}

/// Runs `tasks`, prints what they found and returns the number of errors.
fn run(tasks: &[Task]) -> Result<usize, WorkspaceError> {
    let workspace = Workspace::load()?;
    let sources = Sources::load(&workspace.root);
    let mut errors = 0;
    for &task in tasks {
        let start = Instant::now();
        let findings = look(task, &workspace, &sources)?;
        let failed = findings.iter().filter(|finding| finding.weight == Weight::Error).count();
        for finding in &findings {
            finding::print_line(&finding.to_string());
        }
        let verdict = if failed == 0 { "ok" } else { "FAILED" };
        let seconds = start.elapsed().as_secs_f64();
        let name = format!("{task:?}").to_lowercase();
        finding::print_line(&format!("{name}: {verdict} ({seconds:.1} s)"));
        errors += failed;
    }
    Ok(errors)
}

fn look(task: Task, workspace: &Workspace, sources: &Sources) -> Result<Vec<Finding>, WorkspaceError> {
    Ok(match task {
        Task::Check => Vec::new(), // expanded to `ALL` before
        Task::Layers => [
            layers::check(workspace, sources)?,
            rooms::check(sources),
            circles::check(sources),
            twins::check(sources),
        ]
        .concat(),
        Task::Reasons => reasons::check(sources),
        Task::Rfcs => rfcs::check(sources),
        Task::RfcTable => rfcs::write(&workspace.root, sources),
        Task::ConformanceTable => conformance::write(&workspace.root)?,
        Task::Sizes => sizes::check(sources),
        Task::Phrases => [phrases::check(sources), comments::check(sources)].concat(),
        Task::Msrv => msrv::check(sources),
        Task::Locks => locks::check(&workspace.root, sources)?,
        Task::Fmt => tools::fmt(&workspace.root)?,
        Task::Clippy => tools::clippy(&workspace.root)?,
        Task::Docs => tools::docs(&workspace.root)?,
        Task::Deny => tools::deny(&workspace.root)?,
        Task::Typos => tools::typos(&workspace.root)?,
    })
}

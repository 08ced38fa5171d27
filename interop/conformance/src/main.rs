//! The conformance cases from the command line.
#![forbid(unsafe_code)]

use std::process::ExitCode;

use clap::{Parser, Subcommand, ValueEnum};
use conformance::case::all;
use conformance::virtual_time::VirtualWire;
use conformance::wire::Settings;
use conformance::{stack, table};

/// RFC 9260 packet by packet.
#[derive(Parser)]
struct Arguments {
    #[command(subcommand)]
    task: Task,
}

#[derive(Subcommand)]
enum Task {
    /// Runs all cases in virtual time and prints the table for docs/conformance.md
    Table,
    /// Names the cases
    List,
    /// Runs the cases with this in their names in virtual time
    Run {
        /// A part of the name
        name: String,
    },
    /// The stack under test, for scripts over raw IP: does what standard input says
    Stack {
        /// The configuration of the stack
        settings: Choice,
    },
}

/// Settings by their names.
#[derive(Clone, Copy, ValueEnum)]
enum Choice {
    Plain,
    Heartbeats,
    #[value(name = "smallbuffer")]
    SmallBuffer,
    #[value(name = "largebuffer")]
    LargeBuffer,
    Pieces,
    Listed,
}

fn main() -> ExitCode {
    match run(Arguments::parse().task) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            say(&format!("error: {error}"));
            ExitCode::FAILURE
        }
    }
}

fn run(task: Task) -> Result<(), Box<dyn std::error::Error>> {
    match task {
        Task::Table => say(table::page()?.trim_end()),
        Task::List => all().iter().for_each(|case| say(&format!("{:10} {}", case.section, case.name))),
        Task::Run { name } => {
            for case in all().iter().filter(|case| case.name.contains(&name)) {
                case.run(Box::new(VirtualWire::new(case.settings)?))
                    .map_err(|error| format!("{}: {error}", case.name))?;
                say(&format!("{}: passes", case.name));
            }
        }
        Task::Stack { settings } => {
            let settings = match settings {
                Choice::Plain => Settings::Plain,
                Choice::Heartbeats => Settings::Heartbeats,
                Choice::SmallBuffer => Settings::SmallBuffer,
                Choice::LargeBuffer => Settings::LargeBuffer,
                Choice::Pieces => Settings::Pieces,
                Choice::Listed => Settings::Listed,
            };
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
            runtime.block_on(stack::serve(settings, say))?;
        }
    }
    Ok(())
}

/// The one place of this program that prints.
#[expect(clippy::print_stdout, reason = "a command-line tool reports on standard output")]
fn say(line: &str) {
    println!("{line}");
}

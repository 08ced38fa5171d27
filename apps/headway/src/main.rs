//! `headway`: signalling transport without head-of-line blocking — measure, simulate and predict.
//!
//! This file knows the commands and the exit status, nothing else. Each command is a module with its own
//! arguments; what several commands take is in [`arguments`]. Exit status: 0 done, 1 the run failed, 2 wrong
//! usage, 130 interrupted.
#![forbid(unsafe_code)]

mod arguments;
mod campaign;
mod compare;
mod demo;
mod diff;
mod documents;
mod echo;
mod emulate;
mod failure;
mod interrupt;
mod load;
mod origin;
mod output;
mod perf;
mod predict;
mod progress;
mod reproduce;
mod rights;
mod simco;
mod simulate;
mod terminal;

use std::io::Write;
use std::process::ExitCode;

use clap::{Arg, CommandFactory, FromArgMatches, Parser, Subcommand, ValueHint};

use failure::CommandError;
use rights::Rights;

/// Signalling transport without head-of-line blocking: measure, simulate and predict.
#[derive(Debug, Parser)]
#[command(
    name = "headway",
    version,
    propagate_version = true,
    after_help = "Example:\n  headway compare --duration 5s --backend simulator --no-report"
)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

/// The commands of `headway`.
#[derive(Debug, Subcommand)]
enum Command {
    Compare(Box<compare::Arguments>),
    Diff(diff::Arguments),
    Load(load::Arguments),
    Echo(echo::Arguments),
    Emulate(emulate::Arguments),
    Predict(predict::Arguments),
    Perf(perf::Arguments),
    Simulate(simulate::Arguments),
    Campaign(campaign::Arguments),
    Reproduce(reproduce::Arguments),
    Simco(simco::Arguments),
    Demo(demo::Arguments),
    Completions(documents::CompletionsArguments),
    Man(documents::ManArguments),
}

impl Command {
    /// Rights have to be obtained before any thread exists.
    fn rights(&self) -> Rights {
        match self {
            Self::Compare(arguments) if arguments.wants_namespaces() => Rights::obtain(),
            Self::Demo(_) => Rights::obtain(),
            Self::Emulate(arguments) if arguments.makes_namespace() => Rights::obtain(),
            Self::Reproduce(arguments) if arguments.wants_namespaces() => Rights::obtain(),
            Self::Simulate(arguments) if arguments.wants_namespaces() => Rights::obtain(),
            Self::Compare(_)
            | Self::Diff(_)
            | Self::Load(_)
            | Self::Echo(_)
            | Self::Emulate(_)
            | Self::Predict(_)
            | Self::Perf(_)
            | Self::Simulate(_)
            | Self::Campaign(_)
            | Self::Reproduce(_)
            | Self::Simco(_)
            | Self::Completions(_)
            | Self::Man(_) => Rights::not_wanted(),
        }
    }

    fn run(&self, rights: Rights) -> Result<(), Box<dyn CommandError>> {
        match self {
            Self::Compare(arguments) => Ok(compare::run(arguments, rights)?),
            Self::Diff(arguments) => Ok(diff::run(arguments)?),
            Self::Load(arguments) => Ok(load::run(arguments)?),
            Self::Echo(arguments) => Ok(echo::run(arguments)?),
            Self::Emulate(arguments) => Ok(emulate::run(arguments, rights)?),
            Self::Predict(arguments) => Ok(predict::run(arguments)?),
            Self::Perf(arguments) => Ok(perf::run(arguments)?),
            Self::Simulate(arguments) => Ok(simulate::run(arguments, rights)?),
            Self::Campaign(arguments) => Ok(campaign::run(arguments)?),
            Self::Reproduce(arguments) => Ok(reproduce::run(arguments, rights)?),
            Self::Simco(arguments) => Ok(simco::run(arguments)?),
            Self::Demo(arguments) => Ok(demo::run(arguments, rights)?),
            Self::Completions(arguments) => Ok(documents::completions(arguments, definitions())?),
            Self::Man(arguments) => Ok(documents::man(arguments, definitions())?),
        }
    }
}

/// Returns the commands and their options. The argument after an option is its value even if it starts with
/// `-`: `--loss -1` is a loss out of range, not an unknown option.
fn definitions() -> clap::Command {
    let definitions = Cli::command().mut_subcommands(|command| {
        command.mut_args(|argument| {
            let takes_several = argument.get_num_args().is_some_and(|number| number.max_values() > 1);
            let takes_value =
                argument.get_action().takes_values() && argument.get_long().is_some() && !takes_several;
            if takes_value { argument.allow_hyphen_values(true) } else { argument }
        })
    });
    with_hints(definitions)
}

/// Keeps the options that all commands of `simco` share out of the help of each; they are taken all the same.
fn with_brief_help(definitions: clap::Command) -> clap::Command {
    definitions.mut_subcommand("simco", |simco| {
        let shared = simco.get_arguments().filter(|argument| argument.is_global_set());
        let hidden: Vec<Arg> = shared.map(|argument| argument.clone().hide(true)).collect();
        simco.mut_subcommands(|command| {
            let has_more = command.get_after_help().is_some();
            let command = command.args(hidden.iter().cloned());
            if has_more { command } else { command.after_help(simco::CONNECTION_HELP) }
        })
    })
}

fn with_hints(command: clap::Command) -> clap::Command {
    let with_hint = |argument: Arg| {
        let hint = hint(&argument);
        if argument.get_action().takes_values() { argument.value_hint(hint) } else { argument }
    };
    command.mut_args(with_hint).mut_subcommands(with_hints)
}

/// Returns the completions of a value that a shell may offer: files where a file is wanted, and nothing where
/// no list of values is known.
fn hint(argument: &Arg) -> ValueHint {
    let names = argument.get_value_names().unwrap_or_default();
    match names.first().map(clap::builder::Str::as_str) {
        Some("FILE" | "PLAN.toml") => ValueHint::FilePath,
        Some("DIR") => ValueHint::DirPath,
        Some("COMMAND") => ValueHint::CommandWithArguments,
        Some(_) | None => ValueHint::Other,
    }
}

fn main() -> ExitCode {
    let command = match Cli::from_arg_matches(&with_brief_help(definitions()).get_matches()) {
        Ok(cli) => cli.command,
        Err(error) => error.exit(),
    };
    match command.run(command.rights()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            // If standard error is gone, the exit status still tells.
            let _ = writeln!(std::io::stderr(), "error: {failure}");
            ExitCode::from(failure.exit_status())
        }
    }
}

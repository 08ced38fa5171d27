//! `headway demo`: scenes to watch, on the code that ships.

mod handover;

use clap::{Args, Subcommand};

use crate::failure::Failure;
use crate::rights::Rights;

/// Scenes to watch, on the code that ships
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  headway demo handover")]
pub(crate) struct Arguments {
    #[command(subcommand)]
    scene: DemoCommand,
}

#[derive(Debug, Subcommand)]
enum DemoCommand {
    Handover(handover::Arguments),
}

pub(crate) fn run(arguments: &Arguments, rights: Rights) -> Result<(), Failure> {
    match &arguments.scene {
        DemoCommand::Handover(arguments) => handover::run(arguments, rights),
    }
}

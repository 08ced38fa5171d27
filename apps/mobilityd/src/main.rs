//! The movement-detection daemon: it watches the interfaces of a host and tells local applications which address to use, and why.
//!
//! ```text
//!  kernel ─► interface_watch ─► View (mobility) ─► Line ─► Clients ─► applications, mobilityd explain
//!                                                   │
//!                                                   └───► HostName ─► name server, by signed updates
//! ```
//!
//! What is not here: the kernel's messages (`interface-watch`), states and policies (`mobility`), and associations, which applications take
//! along themselves (`handover`).
#![forbid(unsafe_code)]
#![cfg(target_os = "linux")]

mod clients;
mod config;
mod explain;
mod line;
mod names;
mod server;
mod socket;
mod view;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

use self::config::Settings;
use self::server::Server;

/// Watches the interfaces of a host that moves, and tells local applications over a Unix socket which address to use, and why.
///
/// SIGHUP reads policies, clients and the address of metrics anew; SIGTERM and SIGINT stop.
#[derive(Debug, Parser)]
#[command(
    version,
    args_conflicts_with_subcommands = true,
    arg_required_else_help = true,
    after_help = "Examples:\n  mobilityd /etc/mobilityd/mobilityd.toml\n  mobilityd explain video"
)]
struct Arguments {
    /// The configuration, TOML
    configuration: Option<PathBuf>,
    /// Check the configuration and stop
    #[arg(long, requires = "configuration")]
    check: bool,
    /// How much to log: error, warn, info, debug or trace
    #[arg(long, value_name = "LEVEL", default_value = "info")]
    log: tracing::Level,
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Debug, Subcommand)]
enum Command {
    Explain(explain::Question),
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    daemon::run(arguments.log, || run(&arguments))
}

fn run(arguments: &Arguments) -> Result<(), Box<dyn std::error::Error>> {
    if let Some(Command::Explain(question)) = &arguments.command {
        return Ok(explain::run(question)?);
    }
    let Some(path) = &arguments.configuration else { return Ok(()) };
    let settings = Settings::read(path)?;
    if arguments.check {
        return Ok(());
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let configuration = path.clone();
        let controls = daemon::controls(move || Settings::read(&configuration))?;
        let server = Server::new(settings).await?;
        daemon::ready("");
        tracing::info!("interfaces are watched");
        Ok(server.run(controls).await?)
    })
}

//! The name server of hosts that move: it serves zones, and takes signed updates of them that survive whatever comes.
//!
//! ```text
//!  UDP, TCP ─► Server ─► Service ─► Zone, answer, update ─► answers
//!                          │  Keyring: who signed
//!                          ▼
//!                        Journal: kept before it is acknowledged ─► NOTIFY to secondaries
//! ```
//!
//! What is not here: names of others (it answers for its zones alone), signed zones (DNSSEC), delegations, and wildcards.
#![forbid(unsafe_code)]
#![cfg(target_os = "linux")]

mod answer;
mod config;
mod journal;
mod keys;
mod secondaries;
mod server;
mod service;
mod signature;
mod start;
#[cfg(test)]
mod testing;
mod update;
mod zone;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;

use self::config::Settings;
use self::server::Server;

/// Serves the names of hosts that move: signed dynamic updates (RFC 2136, RFC 8945) that are kept before they are answered.
///
/// SIGHUP reads keys and the address of metrics anew; SIGTERM and SIGINT stop.
#[derive(Debug, Parser)]
#[command(version, arg_required_else_help = true, after_help = "Example:\n  namesd /etc/namesd/namesd.toml")]
struct Arguments {
    /// The configuration, TOML
    configuration: PathBuf,
    /// Check the configuration and stop
    #[arg(long)]
    check: bool,
    /// How much to log: error, warn, info, debug or trace
    #[arg(long, value_name = "LEVEL", default_value = "info")]
    log: tracing::Level,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    daemon::run(arguments.log, || run(&arguments))
}

fn run(arguments: &Arguments) -> Result<(), Box<dyn std::error::Error>> {
    let settings = Settings::read(&arguments.configuration)?;
    if arguments.check {
        return Ok(());
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let configuration = arguments.configuration.clone();
        let controls = daemon::controls(move || Settings::read(&configuration))?;
        let server = Server::new(settings)?;
        daemon::ready("");
        Ok(server.run(controls).await?)
    })
}

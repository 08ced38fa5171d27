//! The movement-detection daemon: it watches the interfaces of a host and tells local applications which address to use, and why.
#![forbid(unsafe_code)]
#![cfg(target_os = "linux")]

mod config;
mod server;
mod view;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;
use tokio::signal::unix::{SignalKind, signal};

use self::config::Settings;
use self::server::Server;

/// Watches the interfaces of a host that moves, and tells local applications over a Unix socket which address to use, and why.
#[derive(Debug, Parser)]
#[command(version, after_help = "Example:\n  mobilityd /etc/mobilityd/mobilityd.toml")]
struct Arguments {
    /// The configuration, TOML
    configuration: PathBuf,
    /// Check the configuration and stop
    #[arg(long)]
    check: bool,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    tracing_subscriber::fmt().with_writer(std::io::stderr).init();
    match run(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            tracing::error!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &Arguments) -> Result<(), Box<dyn std::error::Error>> {
    let settings = Settings::read(&arguments.configuration)?;
    if arguments.check {
        return Ok(());
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let mut terminate = signal(SignalKind::terminate())?;
        let mut server = Server::new(settings)?;
        if let Err(error) = daemon::tell_systemd("READY=1") {
            tracing::warn!(%error, "systemd cannot be told");
        }
        tokio::select! {
            ended = server.run() => Ok(ended?),
            _ = terminate.recv() => Ok(()),
        }
    })
}

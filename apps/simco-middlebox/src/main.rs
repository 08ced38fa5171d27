//! The program of the middlebox daemon.
#![forbid(unsafe_code)]

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;
use simco_middlebox::{Opened, Server, Settings, tell_systemd};

/// A SIMCO (RFC 4540) middlebox: agents ask over TCP or SCTP, nftables lets packets pass.
///
/// SIGHUP reads agents, keys, limits, realms, the address of metrics and the TLS certificate anew and opens the audit log again; SIGTERM and SIGINT end sessions and leave rules to their lifetimes.
#[derive(Debug, Parser)]
#[command(version, after_help = "Example:\n  simco-middlebox /etc/simco-middlebox.toml")]
struct Arguments {
    /// The configuration, TOML
    configuration: PathBuf,
    /// Check the configuration and stop
    #[arg(long)]
    check: bool,
    /// Take the table out of nftables, which opens the network, and stop; for a host whose daemon does not run
    #[arg(long, conflicts_with = "check")]
    remove_table: bool,
    /// How much to log: error, warn, info, debug or trace
    #[arg(long, value_name = "LEVEL", default_value = "info")]
    log: tracing::Level,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    daemon::run(arguments.log, || run(&arguments))
}

fn run(arguments: &Arguments) -> Result<(), Box<dyn std::error::Error>> {
    if arguments.remove_table {
        let table = Settings::table(&arguments.configuration)?;
        let what = if nft_filter::NftFilter::remove(&table)? { "removed" } else { "not there" };
        tracing::warn!(table, "{what}: the network is open");
        return Ok(());
    }
    let settings = Settings::read(&arguments.configuration)?;
    if arguments.check {
        settings.filter.check_interfaces()?;
        return Ok(());
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(serve(arguments, &settings))
}

async fn serve(arguments: &Arguments, settings: &Settings) -> Result<(), Box<dyn std::error::Error>> {
    // The network is closed before anything else is tried.
    let server = Server::new(settings)?;
    let path = arguments.configuration.clone();
    let controls = daemon::controls(move || Settings::read(&path))?;
    server.run(open(settings), controls).await;
    Ok(())
}

/// Opens sockets and files, however long that takes. systemd may go on meanwhile: an address may be there only after the
/// network is up, and that waits for us.
async fn open(settings: &Settings) -> Opened {
    let mut is_ready = false;
    let opened = Opened::patiently(settings, |error| {
        tracing::error!("nobody is served yet, the network is closed: {error}");
        notify(&mut is_ready, &format!("nobody is served yet: {error}"));
    });
    let opened = opened.await;
    let summary = opened.listeners().summary();
    tracing::info!("listening: {summary}");
    notify(&mut is_ready, &summary);
    opened
}

fn notify(is_ready: &mut bool, status: &str) {
    let ready = if std::mem::replace(is_ready, true) { "" } else { "READY=1\n" };
    if let Err(error) = tell_systemd(&format!("{ready}STATUS={status}")) {
        tracing::warn!(%error, "systemd cannot be told");
    }
}

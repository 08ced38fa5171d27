//! The program of the back-to-back user agent.
#![forbid(unsafe_code)]

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;
use sip_b2bua::{Server, Settings};

/// A SIP back-to-back user agent that opens the firewall for the media of its calls by SIMCO (RFC 4540).
///
/// SIGHUP reads routes, limits, the address of metrics and the file of records anew; SIGTERM and SIGINT take no more calls and wait for those that there are, a second one ends them.
#[derive(Debug, Parser)]
#[command(version, after_help = "Example:\n  sip-b2bua /etc/sip-b2bua/sip-b2bua.toml")]
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
    runtime.block_on(serve(arguments, &settings))
}

async fn serve(arguments: &Arguments, settings: &Settings) -> Result<(), Box<dyn std::error::Error>> {
    let server = Server::new(settings).await?;
    let path = arguments.configuration.clone();
    let controls = daemon::controls(move || Settings::read(&path))?;
    let addresses = server.endpoint().config().addresses.iter();
    let summary: Vec<String> = addresses
        .map(|(transport, address)| format!("{} {address}", transport.name().to_lowercase()))
        .collect();
    let summary = summary.join(", ");
    tracing::info!("listening: {summary}");
    daemon::ready(&summary);
    server.run(controls).await;
    Ok(())
}

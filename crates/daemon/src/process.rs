//! The beginning and the end of a daemon's process.

use std::error::Error;
use std::process::ExitCode;

use crate::tell_systemd;

/// Runs a daemon with its log on standard error; the reason why it cannot go on is the log's last line, and makes the exit status 1.
pub fn run(log: tracing::Level, work: impl FnOnce() -> Result<(), Box<dyn Error>>) -> ExitCode {
    tracing_subscriber::fmt().with_max_level(log).with_writer(std::io::stderr).init();
    match work() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            tracing::error!("{error}");
            ExitCode::FAILURE
        }
    }
}

/// Tells systemd, if it waits for that, that the daemon is ready and what it does: in `systemctl status`, where it is not empty.
pub fn ready(status: &str) {
    let status = if status.is_empty() { String::new() } else { format!("\nSTATUS={status}") };
    if let Err(error) = tell_systemd(&format!("READY=1{status}")) {
        tracing::warn!(%error, "systemd cannot be told");
    }
}

//! `--events`: what associations do, as a file.

use std::path::PathBuf;

use clap::Args;
use lab::EventFile;

use super::UsageError;

/// The option of every command that has associations.
#[derive(Debug, Clone, Args)]
pub(crate) struct EventsArguments {
    /// Write what our SCTP does to this file, an event a line in JSON: states, losses, windows, paths (docs/events.md)
    #[arg(long, value_name = "FILE")]
    events: Option<PathBuf>,
}

impl EventsArguments {
    /// Begins to write events, if they are wanted.
    pub(crate) fn begin(&self) -> Result<Option<EventFile>, UsageError> {
        let Some(path) = &self.events else { return Ok(None) };
        lab::write_events(path).map(Some).map_err(|error| {
            let (value, because) = (path.display(), error.to_string());
            UsageError::value("--events", value, &because, "name a file in a writable folder")
        })
    }
}

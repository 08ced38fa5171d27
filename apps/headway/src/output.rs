//! Where results go: text for people, JSON for programs.

use std::fs::File;
use std::io::{self, Write};
use std::path::PathBuf;

use clap::Args;
use serde::Serialize;

use crate::arguments::JsonTarget;

/// The output options that every command has.
#[derive(Debug, Clone, Args)]
pub(crate) struct OutputArguments {
    /// Also write the result as JSON to this file; `-` is standard output, then without any text
    #[arg(long, value_name = "FILE")]
    json: Option<JsonTarget>,
    /// Print no text
    #[arg(long)]
    quiet: bool,
}

/// A result could not be written.
#[derive(Debug, thiserror::Error)]
pub(crate) enum OutputError {
    #[error("cannot write to standard output: {0}")]
    StandardOutput(#[source] io::Error),
    #[error("cannot write --json '{}': {error}; name a file in a writable folder, or - for standard output", path.display())]
    File { path: PathBuf, error: io::Error },
    #[error("the result cannot be expressed in JSON: {0}")]
    Json(#[from] serde_json::Error),
}

impl OutputArguments {
    /// Writes a result: as `text`, and as JSON where that was asked for.
    pub(crate) fn write(&self, text: &str, result: &impl Serialize) -> Result<(), OutputError> {
        match &self.json {
            Some(JsonTarget::StandardOutput) => print(&json(result)?),
            Some(JsonTarget::File(path)) => {
                let written =
                    File::create(path).and_then(|mut file| file.write_all(json(result)?.as_bytes()));
                written.map_err(|error| OutputError::File { path: path.clone(), error })?;
                self.print_unless_quiet(text)
            }
            None => self.print_unless_quiet(text),
        }
    }

    /// Prints a line while the result is still coming; not where only JSON is wanted on standard output.
    pub(crate) fn tell(&self, line: &str) -> Result<(), OutputError> {
        let is_for_json = matches!(self.json, Some(JsonTarget::StandardOutput));
        if is_for_json { Ok(()) } else { self.print_unless_quiet(line) }
    }

    /// As [`write`](Self::write), but the text goes to standard error: standard output is that of a command run by
    /// this one.
    pub(crate) fn write_beside_a_command(
        &self,
        text: &str,
        result: &impl Serialize,
    ) -> Result<(), OutputError> {
        if !self.quiet {
            // If standard error is gone, the JSON may still be wanted.
            let _ = io::stderr().write_all(text.as_bytes());
        }
        if self.json.is_some() { self.quietly().write("", result) } else { Ok(()) }
    }

    /// For results that come one after the other: a line of text each, a line of JSON where that was asked for.
    pub(crate) fn lines(&self) -> Result<Lines, OutputError> {
        let json = match &self.json {
            None => JsonLines::None,
            Some(JsonTarget::StandardOutput) => JsonLines::StandardOutput,
            Some(JsonTarget::File(path)) => {
                let file =
                    File::create(path).map_err(|error| OutputError::File { path: path.clone(), error })?;
                JsonLines::File { file, path: path.clone() }
            }
        };
        Ok(Lines { json, quiet: self.quiet })
    }

    fn quietly(&self) -> Self {
        Self { quiet: true, ..self.clone() }
    }

    /// Whether no text is wanted.
    pub(crate) fn is_quiet(&self) -> bool {
        self.quiet
    }

    fn print_unless_quiet(&self, text: &str) -> Result<(), OutputError> {
        if self.quiet { Ok(()) } else { print(text) }
    }
}

/// Where lines go.
#[derive(Debug)]
pub(crate) struct Lines {
    json: JsonLines,
    quiet: bool,
}

#[derive(Debug)]
enum JsonLines {
    None,
    StandardOutput,
    File { file: File, path: PathBuf },
}

impl Lines {
    /// Writes one result: `text` with its line end, and JSON where that was asked for.
    pub(crate) fn write(&mut self, text: &str, result: &impl Serialize) -> Result<(), OutputError> {
        match &mut self.json {
            JsonLines::None => {}
            JsonLines::StandardOutput => return print(&(serde_json::to_string(result)? + "\n")),
            JsonLines::File { file, path } => {
                let line = serde_json::to_string(result)? + "\n";
                let written = file.write_all(line.as_bytes());
                written.map_err(|error| OutputError::File { path: path.clone(), error })?;
            }
        }
        if self.quiet { Ok(()) } else { print(text) }
    }
}

fn json(result: &impl Serialize) -> Result<String, serde_json::Error> {
    let mut json = serde_json::to_string_pretty(result)?;
    json.push('\n');
    Ok(json)
}

/// A reader that has seen enough, as `head` does, is no error.
pub(crate) fn print(text: &str) -> Result<(), OutputError> {
    let mut output = io::stdout().lock();
    match output.write_all(text.as_bytes()).and_then(|()| output.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(OutputError::StandardOutput(error)),
        Ok(()) | Err(_) => Ok(()),
    }
}

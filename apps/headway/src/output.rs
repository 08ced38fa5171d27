//! The places where results go: text for people, JSON for programs. Files are opened before anything runs.

use std::cell::Cell;
use std::ffi::OsString;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use clap::Args;
use serde::Serialize;

use crate::arguments::JsonTarget;
use crate::failure::CommandError;

/// The output options that every command has.
#[derive(Debug, Clone, Args)]
pub(crate) struct OutputArguments {
    /// The file to write the result to as JSON, besides the text; `-` is standard output, then without any text
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

impl CommandError for OutputError {}

impl OutputArguments {
    /// Opens what results will be written to. Comes before the run: afterwards is too late to learn that a file cannot be
    /// written.
    pub(crate) fn open(&self) -> Result<Output, OutputError> {
        let json = match &self.json {
            None => Json::None,
            Some(JsonTarget::StandardOutput) => Json::StandardOutput,
            Some(JsonTarget::File(path)) => {
                let file = ResultFile::open(path);
                Json::File(file.map_err(|error| OutputError::File { path: path.clone(), error })?)
            }
        };
        Ok(Output { json, quiet: self.quiet })
    }

    /// Returns these options as another program of this house takes them.
    pub(crate) fn handed_over(&self) -> Vec<OsString> {
        let target = self.json.as_ref().map(|json| match json {
            JsonTarget::StandardOutput => OsString::from("-"),
            JsonTarget::File(path) => path.into(),
        });
        let json = target.into_iter().flat_map(|target| ["--json".into(), target]);
        json.chain(self.quiet.then(|| "--quiet".into())).collect()
    }

    /// Returns whether standard output is for JSON alone.
    pub(crate) fn is_json_printed(&self) -> bool {
        matches!(self.json, Some(JsonTarget::StandardOutput))
    }

    /// Returns whether no text is wanted.
    pub(crate) fn is_quiet(&self) -> bool {
        self.quiet
    }
}

/// The open files that results are written to.
#[derive(Debug)]
pub(crate) struct Output {
    json: Json,
    quiet: bool,
}

#[derive(Debug)]
enum Json {
    None,
    StandardOutput,
    File(ResultFile),
}

impl Output {
    /// Writes a result: as `text`, and as JSON where that was asked for. A file that fails takes no text away.
    pub(crate) fn write(&self, text: &str, result: &impl Serialize) -> Result<(), OutputError> {
        match &self.json {
            Json::StandardOutput => print(&json(result)?),
            Json::File(file) => {
                let printed = self.print_unless_quiet(text);
                file.write(&json(result)?).and(printed)
            }
            Json::None => self.print_unless_quiet(text),
        }
    }

    /// Writes as [`write`](Self::write) does, for results that come one after the other: a line of text each,
    /// and a line of JSON.
    pub(crate) fn write_line(&self, text: &str, result: &impl Serialize) -> Result<(), OutputError> {
        let line = || Ok::<_, OutputError>(serde_json::to_string(result)? + "\n");
        match &self.json {
            Json::StandardOutput => print(&line()?),
            Json::File(file) => {
                let printed = self.print_unless_quiet(text);
                file.write(&line()?).and(printed)
            }
            Json::None => self.print_unless_quiet(text),
        }
    }

    /// Prints a line while the result is still coming; not where only JSON is wanted on standard output.
    pub(crate) fn tell(&self, line: &str) -> Result<(), OutputError> {
        let is_for_json = matches!(self.json, Json::StandardOutput);
        if is_for_json { Ok(()) } else { self.print_unless_quiet(line) }
    }

    /// Writes as [`write`](Self::write) does, but the text goes to standard error: standard output is that of a
    /// command run by this one.
    pub(crate) fn write_beside_a_command(
        &self,
        text: &str,
        result: &impl Serialize,
    ) -> Result<(), OutputError> {
        if !self.quiet {
            // If standard error is gone, the JSON may still be wanted.
            let _ = io::stderr().write_all(text.as_bytes());
        }
        match &self.json {
            Json::None => Ok(()),
            Json::StandardOutput => print(&json(result)?),
            Json::File(file) => file.write(&json(result)?),
        }
    }

    fn print_unless_quiet(&self, text: &str) -> Result<(), OutputError> {
        if self.quiet { Ok(()) } else { print(text) }
    }
}

/// The file of `--json`. What was in it before stays until there is a result; without one, a new file goes again.
#[derive(Debug)]
struct ResultFile {
    file: File,
    path: PathBuf,
    is_new: bool,
    is_begun: Cell<bool>,
}

impl ResultFile {
    fn open(path: &Path) -> io::Result<Self> {
        let is_new = !path.exists();
        let file = OpenOptions::new().write(true).create(true).truncate(false).open(path)?;
        Ok(Self { file, path: path.to_owned(), is_new, is_begun: Cell::new(false) })
    }

    fn write(&self, text: &str) -> Result<(), OutputError> {
        let written = self.begin().and_then(|()| (&self.file).write_all(text.as_bytes()));
        written.map_err(|error| OutputError::File { path: self.path.clone(), error })
    }

    /// Pipes and devices have no length to cut.
    fn begin(&self) -> io::Result<()> {
        if !self.is_begun.replace(true) && self.file.metadata()?.is_file() {
            self.file.set_len(0)?;
        }
        Ok(())
    }
}

impl Drop for ResultFile {
    fn drop(&mut self) {
        if self.is_new && !self.is_begun.get() {
            // An empty file is a blemish, no fault.
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

/// Fails where `path` could not be written to later: as a file beside those that are there, or over the one that is.
pub(crate) fn check_file(path: &Path) -> io::Result<()> {
    ResultFile::open(path).map(drop)
}

/// Makes `folder` if need be, and fails where no file could be made in it later.
pub(crate) fn check_folder(folder: &Path) -> io::Result<()> {
    std::fs::create_dir_all(folder)?;
    check_file(&folder.join(format!(".headway-{}", std::process::id())))
}

fn json(result: &impl Serialize) -> Result<String, serde_json::Error> {
    let mut json = serde_json::to_string_pretty(result)?;
    json.push('\n');
    Ok(json)
}

/// Prints text; a reader that has seen enough, as `head` does, is no error.
pub(crate) fn print(text: &str) -> Result<(), OutputError> {
    let mut output = io::stdout().lock();
    match output.write_all(text.as_bytes()).and_then(|()| output.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(OutputError::StandardOutput(error)),
        Ok(()) | Err(_) => Ok(()),
    }
}

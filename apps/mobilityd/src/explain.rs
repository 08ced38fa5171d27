//! Asks the daemon of this host what it has decided, and says so to a person.

use std::io::{self, BufRead as _, BufReader, Write as _};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::time::Duration;

use crate::config::DEFAULT_SOCKET;
use crate::line::Line;

/// Say which address an application is to use, by which rule, and what was found about every address
#[derive(Debug, clap::Args)]
pub(crate) struct Question {
    /// The application whose policy counts
    #[arg(default_value = mobility::DEFAULT_APPLICATION)]
    application: String,
    /// The socket of the daemon
    #[arg(long, value_name = "PATH", default_value = DEFAULT_SOCKET)]
    socket: PathBuf,
}

/// The reason why there is no answer.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ExplainError {
    #[error("{}: {because}; is mobilityd running, and is this its daemon.socket?", path.display())]
    Unreachable { path: PathBuf, because: io::Error },
    #[error("the daemon says something else: {}", .0.trim_end())]
    Answer(String),
    #[error("no application {wanted} has a policy; there are: {there}")]
    Unknown { wanted: String, there: String },
    #[error("the answer cannot be written: {0}")]
    Written(#[from] io::Error),
}

pub(crate) fn run(question: &Question) -> Result<(), ExplainError> {
    let unreachable = |because| ExplainError::Unreachable { path: question.socket.clone(), because };
    let stream = UnixStream::connect(&question.socket).map_err(unreachable)?;
    stream.set_read_timeout(Some(PATIENCE)).map_err(unreachable)?;
    let mut text = String::new();
    BufReader::new(stream).read_line(&mut text).map_err(unreachable)?;
    let Ok(line) = serde_json::from_str::<Line>(&text) else { return Err(ExplainError::Answer(text)) };
    let Some(found) = line.state.applications.get(&question.application) else {
        let there: Vec<&str> = line.state.applications.keys().map(String::as_str).collect();
        let wanted = question.application.clone();
        return Err(ExplainError::Unknown { wanted, there: there.join(", ") });
    };
    Ok(writeln!(io::stdout(), "{found}")?)
}

const PATIENCE: Duration = Duration::from_secs(5);

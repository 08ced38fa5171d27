//! Local control: an operator on this host asks over a Unix socket, a line of JSON there, a line back. Not: what is done.

use std::fs::Permissions;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream as Probe;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::Deserialize;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::{mpsc, oneshot};

/// A command of an operator.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
#[serde(tag = "do", rename_all = "kebab-case", deny_unknown_fields)]
pub(crate) enum Command {
    Status,
    /// The list of all rules is asked for.
    Rules,
    /// A rule is to end.
    Remove {
        pid: u32,
    },
    /// All rules of an agent are to end.
    RemoveOf {
        agent: String,
    },
    RemoveAll,
    /// The packets that pass from now on are chosen.
    Pass {
        what: Passing,
    },
    RemoveTable,
    RestoreTable,
}

/// The packets that are to pass, in the operator's words.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Passing {
    Pinholes,
    Everything,
    Nothing,
}

/// A command that waits for its answer.
#[derive(Debug)]
pub(crate) struct Asked {
    pub(crate) command: Command,
    /// The user whose process asks.
    pub(crate) user: u32,
    pub(crate) reply: oneshot::Sender<Value>,
}

/// A socket of which the file goes with it.
#[derive(Debug)]
pub(crate) struct Socket {
    listener: UnixListener,
    path: PathBuf,
}

impl Socket {
    /// Binds, readable for our user only; a file that a dead process has left is taken away.
    pub(crate) fn bind(path: &Path) -> io::Result<Self> {
        if let Err(error) = Probe::connect(path)
            && error.kind() == io::ErrorKind::ConnectionRefused
        {
            std::fs::remove_file(path)?;
        }
        let listener = UnixListener::bind(path)?;
        std::fs::set_permissions(path, Permissions::from_mode(0o600))?;
        Ok(Self { listener, path: path.to_owned() })
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        // Who took it away already has done no harm.
        let _gone = std::fs::remove_file(&self.path);
    }
}

/// Takes commands until the server stops.
pub(crate) async fn serve(socket: Socket, asked: mpsc::Sender<Asked>) {
    while !asked.is_closed() {
        match socket.listener.accept().await {
            Ok((stream, _)) => {
                let answered = answer(stream, asked.clone());
                tokio::spawn(async move { tokio::time::timeout(PATIENCE, answered).await });
            }
            Err(error) => {
                tracing::warn!(%error, "a connection for control could not be accepted");
                tokio::time::sleep(RETRY).await;
            }
        }
    }
}

async fn answer(stream: UnixStream, asked: mpsc::Sender<Asked>) -> Option<()> {
    let user = stream.peer_cred().ok()?.uid();
    let (from, mut to) = stream.into_split();
    let mut line = String::new();
    BufReader::new(from.take(MOST_REQUEST_BYTES)).read_line(&mut line).await.ok()?;
    let answer = match serde_json::from_str(&line) {
        Ok(command) => {
            let (reply, answer) = oneshot::channel();
            asked.send(Asked { command, user, reply }).await.ok()?;
            answer.await.ok()?
        }
        Err(error) => json!({ "error": format!("not understood: {error}") }),
    };
    to.write_all(format!("{answer}\n").as_bytes()).await.ok()
}

const MOST_REQUEST_BYTES: u64 = 4096;
const PATIENCE: Duration = Duration::from_secs(30);
const RETRY: Duration = Duration::from_millis(100);

//! The requests of an operator to a middlebox daemon on the same host, over a Unix socket: a line of JSON
//! there, a line back.

use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::{Args, Subcommand, ValueEnum};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::UnixStream;

use super::answer::table;
use crate::failure::{CommandError, Failure};
use crate::output::OutputArguments;

/// Control a middlebox on this host, over its Unix socket
///
/// Who may write to the socket may do all of this: root, unless the configuration says otherwise.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  headway simco control status\n  headway simco control rules\n  \
                  headway simco control remove --rule 7\n  headway simco control pass everything")]
pub(super) struct ControlArguments {
    /// The socket: `control.socket` of the daemon's configuration
    #[arg(long, value_name = "FILE", global = true, default_value = "/run/simco-middlebox/control")]
    socket: PathBuf,
    #[command(flatten)]
    output: OutputArguments,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Tell how the packet filter stands, and how many rules, sessions and connections there are
    Status,
    /// List the rules of all agents
    Rules,
    /// End rules before their time; their agents are told
    Remove(RemoveArguments),
    /// Let everything pass, or nothing, until `pass pinholes`; a restart ends it, too
    Pass {
        /// The packets that pass from now on
        #[arg(value_enum)]
        what: Passing,
    },
    /// Take the daemon's table out of nftables, which opens the network, or put it back
    Table {
        /// The fate of the table from now on
        #[arg(value_enum)]
        what: Table,
    },
}

#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
struct RemoveArguments {
    /// The number of the rule to remove
    #[arg(long, value_name = "PID")]
    rule: Option<u32>,
    /// All rules of this agent
    #[arg(long, value_name = "NAME")]
    agent: Option<String>,
    /// Remove all rules there are
    #[arg(long)]
    all: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Passing {
    /// Packets of open pinholes, as usual
    Pinholes,
    /// Everything, whatever rules there are
    Everything,
    /// Nothing, whatever rules there are
    Nothing,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Table {
    /// Removed: until it is restored nothing is granted
    Remove,
    /// Restored, with the rules there are
    Restore,
}

/// The reason why the daemon did not do it.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ControlError {
    #[error(
        "--socket '{}': {because}; is the middlebox running, has its configuration [control], are you root?", path.display()
    )]
    Socket { path: PathBuf, because: String },
    #[error("the middlebox refuses: {0}")]
    Refused(String),
}

impl CommandError for ControlError {}

/// Makes one request, and prints the reply.
pub(super) async fn run(arguments: &ControlArguments) -> Result<(), Failure> {
    let output = arguments.output.open()?;
    let request = arguments.command.request();
    let asked = ask(&arguments.socket, &request);
    let failed = |because: String| ControlError::Socket { path: arguments.socket.clone(), because };
    let reply = match tokio::time::timeout(PATIENCE, asked).await {
        Ok(reply) => reply.map_err(|error| failed(error.to_string()))?,
        Err(_late) => return Err(failed("no answer".to_owned()).into()),
    };
    if let Some(error) = reply.get("error").and_then(Value::as_str) {
        output.write("", &reply)?;
        return Err(ControlError::Refused(error.to_owned()).into());
    }
    Ok(output.write(&text(&reply), &reply)?)
}

async fn ask(socket: &Path, request: &Value) -> std::io::Result<Value> {
    let mut stream = BufReader::new(UnixStream::connect(socket).await?);
    stream.write_all(format!("{request}\n").as_bytes()).await?;
    let mut line = String::new();
    stream.read_line(&mut line).await?;
    serde_json::from_str(&line).map_err(std::io::Error::other)
}

impl Command {
    fn request(&self) -> Value {
        match self {
            Self::Status => json!({"do": "status"}),
            Self::Rules => json!({"do": "rules"}),
            Self::Remove(RemoveArguments { rule: Some(rule), .. }) => json!({"do": "remove", "pid": rule}),
            Self::Remove(RemoveArguments { agent: Some(agent), .. }) => {
                json!({"do": "remove-of", "agent": agent})
            }
            Self::Remove(_) => json!({"do": "remove-all"}),
            Self::Pass { what } => json!({"do": "pass", "what": name(*what)}),
            Self::Table { what: Table::Remove } => json!({"do": "remove-table"}),
            Self::Table { what: Table::Restore } => json!({"do": "restore-table"}),
        }
    }
}

/// Returns rules as a table, all else a line for each thing known.
fn text(reply: &Value) -> String {
    if let Some(rules) = reply.get("rules").and_then(Value::as_array) {
        if rules.is_empty() {
            return "no rules\n".to_owned();
        }
        let word = |rule: &Value, key: &str| plain(&rule[key]);
        return table(rules.iter().map(|rule| {
            let left = format!("{}s", word(rule, "lifetime_s"));
            (word(rule, "pid"), left, word(rule, "owner"), word(rule, "rule"))
        }));
    }
    let line = |(key, value): (&String, &Value)| format!("{key}: {}\n", plain(value));
    reply.as_object().into_iter().flatten().map(line).collect()
}

/// Returns text without quotes, all else as in JSON.
fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

const fn name(passing: Passing) -> &'static str {
    match passing {
        Passing::Pinholes => "pinholes",
        Passing::Everything => "everything",
        Passing::Nothing => "nothing",
    }
}

const PATIENCE: Duration = Duration::from_secs(30);

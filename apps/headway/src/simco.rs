//! `headway simco`: an agent for one request, for watching, for load.

mod answer;
mod connection;
mod control;
mod load;
mod request;
mod tuple;

use std::collections::BTreeMap;
use std::time::Duration;

use clap::{Args, Subcommand};
use simco::agent::{AgentCloseReason, AgentEvent, PolicyReply, Reconnection, Resynchronisation};
use simco::{NegativeCode, PolicyRequest};
use simco_agent::{ConnectError, RequestError, SimcoAgent};
use tokio::task::JoinSet;

use self::answer::{Answer, Listing, Refusal, Watched};
use self::connection::ConnectionArguments;
use self::request::{
    DisableArguments, EnableArguments, EnableReservedArguments, LifetimeArguments, ListArguments,
    ReserveArguments, StatusArguments,
};
use crate::failure::{CommandError, Failure, Interrupted};
use crate::interrupt::{Ending, Signals};
use crate::output::{Output, OutputArguments};

/// A SIMCO agent (RFC 4540): opens pinholes on a middlebox
///
/// Rules live on when the session ends, until their lifetime does. A refusal is status 1.
#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  headway simco --to 127.0.0.1:7626 per \\\n      --internal 10.1.8.3:12345/udp \
                  --external 203.0.113.9:0/udp \\\n      --direction inbound --lifetime 300s"
)]
pub(crate) struct Arguments {
    #[command(flatten)]
    connection: ConnectionArguments,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Per(EnableArguments),
    Prr(ReserveArguments),
    Pea(EnableReservedArguments),
    Plc(LifetimeArguments),
    Pdr(DisableArguments),
    Prs(StatusArguments),
    Prl(ListArguments),
    Watch(WatchArguments),
    Load(load::LoadArguments),
    Control(control::ControlArguments),
}

/// Print what becomes of rules as the middlebox tells it (ARE), a line each; when the session breaks, connect anew
#[derive(Debug, Args)]
struct WatchArguments {
    /// How long [default: until Ctrl-C or SIGTERM]
    #[arg(long, value_name = "D", value_parser = workload::parse_duration)]
    duration: Option<Duration>,
    #[command(flatten)]
    output: OutputArguments,
}

/// The reason why a request was not done.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SimcoError {
    #[error(transparent)]
    Connect(#[from] ConnectError),
    #[error(
        "no session within {timeout:?}; is the middlebox running, are these its ports? --timeout waits longer"
    )]
    NoAnswer { timeout: Duration },
    #[error("the middlebox refuses: {} ({:#06x})", .0.meaning(), .0.code())]
    Refused(NegativeCode),
    #[error("the session ended: {0}")]
    Closed(AgentCloseReason),
    #[error("the system refuses what an agent needs: {0}")]
    System(#[from] std::io::Error),
}

impl CommandError for SimcoError {}

pub(crate) fn run(arguments: &Arguments) -> Result<(), Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(SimcoError::from)?;
    runtime.block_on(async {
        let mut signals = Signals::new().map_err(SimcoError::from)?;
        tokio::select! {
            outcome = arguments.command.run(&arguments.connection) => outcome,
            ending = signals.next() => match ending {
                Ending::Interrupt => Err(Interrupted("").into()),
                Ending::Terminate => Ok(()),
            },
        }
    })
}

impl Command {
    async fn run(&self, connection: &ConnectionArguments) -> Result<(), Failure> {
        let (request, output) = match self {
            Self::Per(arguments) => (arguments.request(), &arguments.output),
            Self::Prr(arguments) => (arguments.request(), &arguments.output),
            Self::Pea(arguments) => (arguments.request(), &arguments.output),
            Self::Plc(arguments) => (arguments.request(), &arguments.output),
            Self::Pdr(arguments) => (arguments.request(), &arguments.output),
            Self::Prs(arguments) => (arguments.request(), &arguments.output),
            Self::Prl(arguments) => return list(connection, arguments).await,
            Self::Control(arguments) => return control::run(arguments).await,
            Self::Watch(arguments) => return watch(connection, arguments).await,
            Self::Load(arguments) => return load::run(connection, arguments).await,
        };
        ask(connection, request, output).await
    }
}

/// Asks one request in a session of its own.
async fn ask(
    connection: &ConnectionArguments,
    request: PolicyRequest,
    output: &OutputArguments,
) -> Result<(), Failure> {
    let output = output.open()?;
    let (agent, _events) = connection.connect(Resynchronisation::Never, None).await?;
    let outcome = agent.request(request).await;
    agent.terminate().await;
    match outcome {
        Ok(reply) => {
            let answer = Answer::new(&request, &reply);
            Ok(output.write(&answer.text(), &answer)?)
        }
        Err(error) => refused(&output, error),
    }
}

/// Returns all rules, each with its status unless only numbers are wanted.
async fn list(connection: &ConnectionArguments, arguments: &ListArguments) -> Result<(), Failure> {
    let output = arguments.output.open()?;
    let (agent, _events) = connection.connect(Resynchronisation::Never, None).await?;
    let outcome = statuses(&agent, arguments.numbers).await;
    agent.terminate().await;
    match outcome {
        Ok(listing) => Ok(output.write(&listing.text(), &listing)?),
        Err(error) => refused(&output, error),
    }
}

async fn statuses(agent: &SimcoAgent, only_numbers: bool) -> Result<Listing, RequestError> {
    let reply = agent.request(PolicyRequest::List).await?;
    let PolicyReply::List(rules) = reply else { return Ok(Listing::new(Vec::new(), Vec::new())) };
    let mut known = BTreeMap::new();
    if only_numbers {
        return Ok(Listing::new(rules.iter().map(|rule| rule.get()).collect(), Vec::new()));
    }
    for part in rules.chunks(AT_ONCE) {
        let mut under_way = JoinSet::new();
        for rule in part.iter().copied() {
            let agent = agent.clone();
            let request = PolicyRequest::Status { rule };
            under_way.spawn(async move { (rule, agent.request(request).await) });
        }
        for (rule, status) in under_way.join_all().await {
            match status {
                Ok(status) => drop(known.insert(rule, Answer::new(&PolicyRequest::Status { rule }, &status))),
                // It has ended meanwhile.
                Err(RequestError::Refused(NegativeCode::NoSuchRule)) => {}
                Err(error) => return Err(error),
            }
        }
    }
    let (pids, rules) = known.into_iter().map(|(rule, answer)| (rule.get(), answer)).unzip();
    Ok(Listing::new(pids, rules))
}

/// Returns the error of a request that was not done, and writes it where JSON is wanted.
fn refused(output: &Output, error: RequestError) -> Result<(), Failure> {
    if let RequestError::Refused(code) = error {
        output.write("", &Refusal::new(code))?;
    }
    Err(SimcoError::from(error).into())
}

impl From<RequestError> for SimcoError {
    fn from(error: RequestError) -> Self {
        match error {
            RequestError::Refused(code) => Self::Refused(code),
            RequestError::Closed(reason) => Self::Closed(reason),
            RequestError::NotConnected => Self::Closed(AgentCloseReason::Lost),
        }
    }
}

/// Prints the rules there are, then what becomes of them; when the session breaks, it goes on over the next
/// one.
async fn watch(connection: &ConnectionArguments, arguments: &WatchArguments) -> Result<(), Failure> {
    let output = arguments.output.open()?;
    let reconnection = Some(Reconnection::default());
    let (_agent, mut events) = connection.connect(Resynchronisation::Always, reconnection).await?;
    let over = async {
        match arguments.duration {
            Some(span) => tokio::time::sleep(span).await,
            None => std::future::pending().await,
        }
    };
    tokio::pin!(over);
    let (mut ended, mut is_first) = (AgentCloseReason::Lost, true);
    loop {
        let event = tokio::select! {
            event = events.next() => event,
            () = &mut over => return Ok(()),
        };
        let Some(event) = event else { return Err(SimcoError::Closed(ended).into()) };
        if let AgentEvent::Closed { reason } = event {
            ended = reason;
        }
        let is_opening = matches!(event, AgentEvent::Opened { .. });
        // That there is a session needs no line before it has broken.
        if let Some(watched) = Watched::new(&event).filter(|_| !(is_opening && is_first)) {
            output.write_line(&watched.text(), &watched)?;
        }
        is_first &= !is_opening;
    }
}

/// The words in the help of a command on the options that all commands share.
pub(crate) const CONNECTION_HELP: &str = "Which middlebox, over what, and who asks: the options of `headway simco --help`, before or after the command";
/// Requests for the status of rules that are under way at once.
const AT_ONCE: usize = 64;

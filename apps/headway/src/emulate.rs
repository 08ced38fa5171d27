//! `headway emulate`: a wide-area network around a command, or between two network namespaces.

mod report;

use std::ffi::OsString;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{Command, ExitStatus};
use std::sync::mpsc;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use clap::Args;
use emulator::{
    CaptureFile, CommandHandle, EmulatedLink, EmulatorError, EmulatorOptions, EmulatorReport, Outside,
    Permission, between, namespace_path, permission, run_command,
};

use crate::arguments::{CapturePointArguments, ImpairmentArguments, UsageError, check_capture, parse_seed};
use crate::failure::{CommandError, Failure, Interrupted};
use crate::interrupt::{self, Ending};
use crate::output::{Output, OutputArguments};
use crate::rights::Rights;
use report::Answer;

/// A wide-area network: around a command, or between two existing network namespaces
///
/// The command gets a namespace of its own with the address 10.77.1.1 (fd77:1::1); at the other end of the link is
/// this host with 10.77.1.2 (fd77:1::2), and nothing is routed further without --nat. Its exit status is ours, 128 and the
/// signal's number if one ended it. Without root rights the far end is an empty network. Between two namespaces the first one is 10.77.1.1 and the second 10.77.1.2, until Ctrl-C or SIGTERM;
/// that needs root.
#[derive(Debug, Args)]
#[command(
    override_usage = "headway emulate [OPTIONS] -- COMMAND...\n       headway emulate [OPTIONS] --between NS1 NS2",
    after_help = "Example:\n  headway emulate --rtt 80ms --loss 1% -- ping -c 5 10.77.1.2"
)]
pub(crate) struct Arguments {
    #[command(flatten)]
    path: ImpairmentArguments,
    /// Number of the link, in its addresses 10.77.N.1 and 10.77.N.2: links at the same time need different ones
    #[arg(long, value_name = "N", default_value = "1", value_parser = clap::value_parser!(u8).range(1..))]
    link: u8,
    /// Seed of everything random: the same seed does the same to the same packet numbers
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = parse_seed)]
    seed: u64,
    /// Write the packets of both directions to this pcapng file
    #[arg(long, value_name = "FILE")]
    pcap: Option<PathBuf>,
    #[command(flatten)]
    pcap_at: CapturePointArguments,
    /// Let the command reach what this host reaches by IPv4, from the host's address, as through a NAT; needs root and nft.
    /// What changes on the host is taken back at the end: a table of its own in nftables, and forwarding between devices
    #[arg(long, conflicts_with = "between")]
    nat: bool,
    /// Two namespaces: names as of `ip netns`, or paths such as /proc/PID/ns/net
    #[arg(long, num_args = 2, value_names = ["NS1", "NS2"], required_unless_present = "command", conflicts_with = "command")]
    between: Vec<String>,
    #[command(flatten)]
    output: OutputArguments,
    /// The command to run behind the link
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

/// The reason why the emulator did not run, or not well.
#[derive(Debug, thiserror::Error)]
pub(crate) enum EmulateError {
    #[error("cannot emulate a network here: {0}")]
    Refused(String),
    #[error("--between joins namespaces of this host, which needs root: run it with sudo")]
    NotRoot,
    #[error(
        "--nat lets this host forward packets, which needs root: run it with sudo, or leave it out (the far end is then \
         an empty network)"
    )]
    NatNotRoot,
    #[error(transparent)]
    Emulator(#[from] EmulatorError),
    #[error("the command '{}' cannot be run: {source}; name a program that exists", command.to_string_lossy())]
    NotRun { command: OsString, source: std::io::Error },
    #[error("the command '{}' did not end well: {status}", command.to_string_lossy())]
    Command { command: OsString, status: ExitStatus },
    #[error("--pcap: not all was written: {0}; the counters above are complete")]
    Capture(String),
}

impl CommandError for EmulateError {
    /// Returns the exit status of the command, if it did not end well, as shells have it; else 1.
    fn exit_status(&self) -> u8 {
        let Self::Command { status, .. } = self else { return 1 };
        let status = status.code().or_else(|| status.signal().map(|signal| 128 + signal));
        status.and_then(|status| u8::try_from(status).ok()).unwrap_or(1)
    }
}

impl Arguments {
    /// Returns whether a namespace is made; without root rights it is made in a user namespace.
    pub(crate) fn makes_namespace(&self) -> bool {
        !self.command.is_empty()
    }

    fn link(&self) -> Result<EmulatedLink, UsageError> {
        let path = self.path.path()?;
        Ok(EmulatedLink { index: self.link, request: path.request, response: path.response, seed: self.seed })
    }

    fn outside(&self) -> Outside {
        if self.nat { Outside::Translated } else { Outside::Unreachable }
    }

    fn options(&self) -> EmulatorOptions {
        let point = self.pcap_at.point();
        let capture = self.pcap.clone().map(|path| CaptureFile { path, point });
        EmulatorOptions { capture, ..EmulatorOptions::default() }
    }
}

pub(crate) fn run(arguments: &Arguments, rights: Rights) -> Result<(), Failure> {
    let link = arguments.link()?;
    let output = arguments.output.open()?;
    check_capture(arguments.pcap.as_deref())?;
    match (arguments.command.split_first(), arguments.between.as_slice()) {
        (Some((program, rest)), _) => {
            let permission = rights.permission().map_err(EmulateError::Refused)?;
            if arguments.nat && permission == Permission::UserNamespace {
                return Err(EmulateError::NatNotRoot.into());
            }
            around(arguments, link, &output, program, rest)
        }
        (None, [first, second]) => join(arguments, link, &output, first, second),
        (None, _) => {
            let (value, because) = (arguments.between.join(" "), "it joins two namespaces");
            Err(UsageError::value("--between", value, because, "name both, or write -- COMMAND").into())
        }
    }
}

/// Runs a command behind the link. The counters go to standard error: standard output is the command's.
fn around(
    arguments: &Arguments,
    link: EmulatedLink,
    output: &Output,
    program: &OsString,
    rest: &[OsString],
) -> Result<(), Failure> {
    let signals = CommandSignals::survive();
    let mut command = Command::new(program);
    command.args(rest);
    let for_command = signals.clone();
    let started = move |handle| for_command.started(handle);
    let (status, report) = run_command(link, command, arguments.outside(), arguments.options(), started)
        .map_err(|error| not_run(program, error))?;
    let answer = Answer::new(report, Some(status));
    output.write_beside_a_command(&answer.text(), &answer)?;
    match signals.received() {
        Some(Ending::Interrupt) => Err(Interrupted("").into()),
        Some(Ending::Terminate) | None if status.success() => Ok(()),
        Some(Ending::Terminate) | None => {
            Err(EmulateError::Command { command: program.clone(), status }.into())
        }
    }
}

fn not_run(program: &OsString, error: EmulatorError) -> EmulateError {
    if let EmulatorError::Command { source } = error {
        EmulateError::NotRun { command: program.clone(), source }
    } else {
        EmulateError::Emulator(error)
    }
}

fn join(
    arguments: &Arguments,
    link: EmulatedLink,
    output: &Output,
    first: &str,
    second: &str,
) -> Result<(), Failure> {
    match permission() {
        Ok(Permission::Privileged) => {}
        Ok(Permission::UserNamespace) => return Err(EmulateError::NotRoot.into()),
        Err(refused) => return Err(EmulateError::Refused(refused.to_string()).into()),
    }
    let (signalled, is_signalled) = mpsc::channel();
    interrupt::on_signal(move |ending| {
        let _nobody_waits = signalled.send(ending);
    });
    let (first, second) = (namespace_path(first), namespace_path(second));
    let emulator = between(link, &first, &second, arguments.options()).map_err(EmulateError::from)?;
    // An error means that signals act as by default, which needs nobody to wait for them.
    let ending = is_signalled.recv();
    let report: EmulatorReport = emulator.stop().map_err(EmulateError::from)?;
    let answer = Answer::new(report, None);
    output.write(&answer.text(), &answer)?;
    answer.check_capture()?;
    match ending {
        Ok(Ending::Interrupt) => Err(Interrupted("").into()),
        Ok(Ending::Terminate) | Err(_) => Ok(()),
    }
}

/// Signals that arrived while the command ran. Ctrl-C reaches the command by itself; what is sent to this process
/// alone is passed on, also what came before the command was known here.
#[derive(Clone)]
struct CommandSignals(Arc<Mutex<Seen>>);

#[derive(Default)]
struct Seen {
    last: Option<Ending>,
    command: Option<CommandHandle>,
    from_terminal: bool,
}

impl Seen {
    fn pass_on(&self) {
        match (self.last, self.command) {
            (Some(Ending::Interrupt), Some(command)) if !self.from_terminal => command.interrupt(),
            (Some(Ending::Terminate), Some(command)) => command.terminate(),
            _ => {}
        }
    }
}

impl CommandSignals {
    fn survive() -> Self {
        let from_terminal = std::io::IsTerminal::is_terminal(&std::io::stdin());
        let signals = Self(Arc::new(Mutex::new(Seen { from_terminal, ..Seen::default() })));
        let heard = signals.clone();
        interrupt::on_signal(move |ending| {
            let mut seen = heard.seen();
            seen.last = Some(ending);
            seen.pass_on();
        });
        signals
    }

    fn started(&self, command: CommandHandle) {
        let mut seen = self.seen();
        seen.command = Some(command);
        seen.pass_on();
    }

    fn received(&self) -> Option<Ending> {
        self.seen().last
    }

    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

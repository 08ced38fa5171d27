//! `headway emulate`: a command behind an emulated link, or two existing namespaces joined by one.

use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use super::error::EmulatorError;
use super::link::{EmulatedLink, LinkEnd};
use super::nat::{Outside, Translation};
use super::netlink::Netlink;
use super::report::EmulatorReport;
use super::running::{EmulatorOptions, RunningEmulator};
use super::world::World;

/// Runs `command` to its end in a network namespace of its own, at the client's end of `link`; the server's end is
/// in the calling thread's namespace. What else the command reaches is what `outside` says.
///
/// An interrupt from the terminal reaches the command as well; a caller that wants the report in that case has to
/// survive the signal. Signals from elsewhere can be passed on through the handle that `started` is given.
///
/// # Errors
/// When the namespace or a device is refused, or the command cannot be run.
pub fn run_command(
    link: EmulatedLink,
    mut command: Command,
    outside: Outside,
    options: EmulatorOptions,
    started: impl FnOnce(CommandHandle) + Send + 'static,
) -> Result<(ExitStatus, EmulatorReport), EmulatorError> {
    let index = link.index;
    let mut world = World::new(vec![link])?;
    world.attach_here(&[LinkEnd::server(index)])?;
    let translation = match outside {
        Outside::Unreachable => None,
        Outside::Translated => Some(Translation::begin(index)?),
    };
    let side = world.spawn_side("command", &[LinkEnd::client(index)], move |_| {
        if outside == Outside::Translated {
            Netlink::open()?.add_default_route(LinkEnd::server(index).ipv4())?;
        }
        let mut child = command.spawn()?;
        started(CommandHandle { pid: i32::try_from(child.id()).ok().map(Pid::from_raw) });
        child.wait()
    })?;
    let emulator = world.start(options)?;
    let status = side.join()?.map_err(|source| EmulatorError::Command { source })?;
    let report = emulator.stop()?;
    translation.map_or(Ok(()), Translation::end)?;
    Ok((status, report))
}

/// The command behind an emulated link.
#[derive(Clone, Copy, Debug)]
pub struct CommandHandle {
    pid: Option<Pid>,
}

impl CommandHandle {
    /// Asks the command to end as Ctrl-C does (SIGINT); harmless when it has ended just now.
    pub fn interrupt(self) {
        self.signal(Signal::SIGINT);
    }

    /// Asks the command to end as `kill` does (SIGTERM); harmless when it has ended just now.
    pub fn terminate(self) {
        self.signal(Signal::SIGTERM);
    }

    fn signal(self, signal: Signal) {
        if let Some(pid) = self.pid {
            let _has_ended = kill(pid, signal);
        }
    }
}

/// Joins two existing network namespaces by `link`, the first at the client's end, until the emulator is stopped.
///
/// # Errors
/// When a namespace or a device is refused.
pub fn between(
    link: EmulatedLink,
    first: &Path,
    second: &Path,
    options: EmulatorOptions,
) -> Result<RunningEmulator, EmulatorError> {
    let index = link.index;
    let mut world = World::new(vec![link])?;
    world.attach_namespace(first, &[LinkEnd::client(index)])?;
    world.attach_namespace(second, &[LinkEnd::server(index)])?;
    world.start(options)
}

/// Returns the path of a namespace: `/run/netns/NAME` as `ip netns` makes them, unless it is a path already,
/// such as `/proc/PID/ns/net`.
#[must_use]
pub fn namespace_path(name: &str) -> PathBuf {
    if name.contains('/') { PathBuf::from(name) } else { Path::new("/run/netns").join(name) }
}

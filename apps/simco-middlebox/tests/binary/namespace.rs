//! A network namespace with a loopback, and `nft` in it.

use std::fs::File;
use std::process::{Command, Output};
use std::sync::atomic::{AtomicU32, Ordering};

use nix::sched::{CloneFlags, setns};

/// A namespace that vanishes with this.
#[derive(Debug)]
pub(crate) struct Namespace {
    name: String,
}

impl Namespace {
    /// A new one; `None` where that is refused, which is said, and a failure where everything must run.
    pub(crate) fn new() -> Option<Self> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let namespace = Self { name: format!("simco-{}-{number}", std::process::id()) };
        let made = ip(&["netns", "add", &namespace.name]);
        let works = made.and_then(|()| ip(&["-n", &namespace.name, "link", "set", "lo", "up"]));
        let works = works.and_then(|()| namespace.nft(&["list", "ruleset"]).map(|_| ()));
        match works {
            Ok(()) => Some(namespace),
            Err(why) => {
                let is_mandatory = std::env::var("CI").is_ok_and(|value| value == "true");
                assert!(!is_mandatory, "{why}");
                eprintln!("skipped: {why}; root, `ip` and `nft` are needed");
                None
            }
        }
    }

    /// A command that will run in it.
    pub(crate) fn command(&self, program: &str) -> Command {
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &self.name, program]);
        command
    }

    /// `nft` in it; what it says.
    pub(crate) fn nft(&self, arguments: &[&str]) -> Result<String, String> {
        let output = self.command("nft").args(arguments).output();
        said(output, "nft", arguments)
    }

    /// Moves this thread into it.
    pub(crate) fn enter(&self) {
        let namespace = File::open(format!("/run/netns/{}", self.name)).unwrap();
        setns(namespace, CloneFlags::CLONE_NEWNET).unwrap();
    }
}

impl Drop for Namespace {
    fn drop(&mut self) {
        let _not_made = ip(&["netns", "del", &self.name]);
    }
}

fn ip(arguments: &[&str]) -> Result<(), String> {
    said(Command::new("ip").args(arguments).output(), "ip", arguments).map(|_| ())
}

fn said(output: std::io::Result<Output>, program: &str, arguments: &[&str]) -> Result<String, String> {
    let output = output.map_err(|error| format!("{program} cannot be started: {error}"))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    Err(format!("{program} {arguments:?}: {}", String::from_utf8_lossy(&output.stderr).trim()))
}

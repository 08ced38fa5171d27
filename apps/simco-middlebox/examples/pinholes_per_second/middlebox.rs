//! The daemon, in a namespace, on a processor.

use std::error::Error;
use std::path::PathBuf;
use std::process::{Child, Command};

use nix::sched::{CloneFlags, CpuSet, sched_setaffinity, unshare};
use nix::unistd::Pid;

/// A namespace of its own for this process and those it starts, with a loopback.
pub(crate) fn enter_namespace() -> Result<(), Box<dyn Error>> {
    unshare(CloneFlags::CLONE_NEWNET)
        .map_err(|error| format!("a network namespace: {error}; run it as root"))?;
    let done = Command::new("ip").args(["link", "set", "lo", "up"]).status()?;
    if done.success() { Ok(()) } else { Err("`ip link set lo up` failed".into()) }
}

/// This process and no other processor.
pub(crate) fn pin_to(processor: usize) -> Result<(), Box<dyn Error>> {
    let mut set = CpuSet::new();
    set.set(processor)?;
    Ok(sched_setaffinity(Pid::from_raw(0), &set)?)
}

/// A daemon that ends with this.
#[derive(Debug)]
pub(crate) struct Daemon {
    child: Child,
    folder: PathBuf,
}

impl Daemon {
    /// Starts it on the first processor; `extra` comes first in its configuration.
    pub(crate) fn start(extra: &str) -> Result<Self, Box<dyn Error>> {
        let folder = std::env::temp_dir().join(format!("simco-speed-{}", std::process::id()));
        std::fs::create_dir_all(&folder)?;
        let file = folder.join("middlebox.toml");
        std::fs::write(&file, format!("{extra}{CONFIGURATION}"))?;
        let program = std::env::current_exe()?.with_file_name("../simco-middlebox");
        let mut command = Command::new("taskset");
        command.args(["-c", "0"]).arg(&program).arg(&file).args(["--log", "warn"]);
        let child = command.spawn().map_err(|error| format!("taskset: {error}"))?;
        Ok(Self { child, folder })
    }

    /// What it holds in memory, MB of 10⁶ octets.
    pub(crate) fn resident_mb(&self) -> Result<u64, Box<dyn Error>> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id()))?;
        let line = status.lines().find(|line| line.starts_with("VmRSS:")).ok_or("no VmRSS")?;
        let kibibytes: u64 = line.split_whitespace().nth(1).ok_or("no number")?.parse()?;
        Ok(kibibytes * 1024 / 1_000_000)
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ended = self.child.kill();
        let _status = self.child.wait();
        let _kept = std::fs::remove_dir_all(&self.folder);
    }
}

const CONFIGURATION: &str = "
[listen]
tcp = [\"127.0.0.1:7626\"]
sctp = { addresses = [\"127.0.0.1\"], carrier = \"udp\" }
[anonymous]
most_rules = 1000000
";

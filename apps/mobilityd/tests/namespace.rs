//! The daemon in a network namespace of the test's own.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]
#![allow(clippy::print_stderr, reason = "a test that cannot run says why")]
#![cfg(target_os = "linux")]

use std::io::{BufRead as _, BufReader};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use nix::sched::{CloneFlags, unshare};

const PATIENCE: Duration = Duration::from_secs(30);

fn in_a_namespace(work: fn()) {
    let outcome = std::thread::spawn(move || {
        unshare(CloneFlags::CLONE_NEWNET).map_err(|error| format!("no network namespace: {error}"))?;
        Command::new("ip").arg("-V").output().map_err(|_| "the command `ip` is not installed")?;
        work();
        Ok::<_, String>(())
    });
    if let Err(reason) = outcome.join().unwrap() {
        assert!(std::env::var("CI").as_deref() != Ok("true"), "{reason}");
        eprintln!("left out: {reason}");
    }
}

fn ip(arguments: &str) {
    assert!(Command::new("ip").args(arguments.split(' ')).status().unwrap().success(), "ip {arguments}");
}

struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _gone = self.0.kill();
        let _gone = self.0.wait();
    }
}

fn command(folder: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_mobilityd"));
    command.arg(folder.join("mobilityd.toml"));
    command
}

fn folder(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("mobilityd-{name}-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("policies.toml"), "[applications.default]\nbetter_for_ms = 0\n").unwrap();
    let text = format!("socket = '{0}/socket'\npolicies = '{0}/policies.toml'\n", folder.display());
    std::fs::write(folder.join("mobilityd.toml"), text).unwrap();
    folder
}

/// Waits for a daemon that answers, and returns the lines that it tells.
fn connect(folder: &Path) -> BufReader<UnixStream> {
    let begin = Instant::now();
    loop {
        if let Ok(stream) = UnixStream::connect(folder.join("socket")) {
            stream.set_read_timeout(Some(PATIENCE)).unwrap();
            return BufReader::new(stream);
        }
        assert!(begin.elapsed() < PATIENCE, "no daemon answers");
        std::thread::yield_now();
    }
}

fn line(lines: &mut BufReader<UnixStream>) -> serde_json::Value {
    let mut text = String::new();
    assert!(lines.read_line(&mut text).unwrap() > 0, "the daemon has closed the connection");
    serde_json::from_str(&text).unwrap()
}

/// Reads lines until one decides so; their numbers follow each other.
fn until(lines: &mut BufReader<UnixStream>, action: &serde_json::Value) {
    let mut sequence = None;
    loop {
        let line = line(lines);
        let number = line["sequence"].as_u64().unwrap();
        assert!(sequence.is_none_or(|before| before + 1 == number), "{line}");
        sequence = Some(number);
        if line["decision"]["action"] == *action {
            return;
        }
    }
}

fn travel() {
    let folder = folder("travel");
    let daemon = Running(command(&folder).spawn().unwrap());
    let mut lines = connect(&folder);
    let nothing = serde_json::json!([]);
    assert_eq!(line(&mut lines)["found"], nothing);
    ip("link add near type veth peer name far");
    ip("link set far up");
    ip("link set near up");
    ip("address add 10.72.0.2/24 dev near");
    let here = serde_json::json!({"set_primary": "10.72.0.2"});
    until(&mut lines, &here);
    let second = command(&folder).output().unwrap();
    assert!(!second.status.success());
    drop(daemon);
    let _again = Running(command(&folder).spawn().unwrap());
    let mut lines = connect(&folder);
    let snapshot = line(&mut lines);
    assert_eq!(snapshot["decision"]["action"], here, "{snapshot}");
    ip("address delete 10.72.0.2/24 dev near");
    until(&mut lines, &serde_json::json!({"hold": {"instead_of": null, "until": null}}));
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn host_that_moves_is_told_of_and_a_restart_after_a_kill_finds_how_things_stand() {
    in_a_namespace(travel);
}

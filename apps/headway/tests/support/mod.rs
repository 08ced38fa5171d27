//! Runs the program as a user does.
#![allow(
    clippy::unwrap_used,
    clippy::print_stderr,
    dead_code,
    reason = "helpers of tests, each file uses some"
)]

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::atomic::{AtomicU16, Ordering};

use serde_json::Value;

/// Runs `headway` with arguments separated by spaces.
pub(crate) fn headway(arguments: &str) -> Output {
    Command::new(env!("CARGO_BIN_EXE_headway")).args(arguments.split_whitespace()).output().unwrap()
}

/// Standard output of a run that must succeed.
pub(crate) fn text(arguments: &str) -> String {
    let output = headway(arguments);
    assert_eq!(output.status.code(), Some(0), "{arguments}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// What `--json -` prints.
pub(crate) fn json(arguments: &str) -> Value {
    serde_json::from_str(&text(&format!("{arguments} --json -"))).unwrap()
}

/// The result of a comparison between namespaces without losses; `None` where this host refuses them, which is checked to be said, and which a run
/// for CI does not allow.
pub(crate) fn compare_in_namespaces(options: &str) -> Option<Value> {
    let allowed = std::fs::read_to_string("/proc/sys/net/ipv4/tcp_allowed_congestion_control").unwrap();
    let congestion = allowed.split_whitespace().next().unwrap();
    let fixed = "compare --backend namespaces --loss 0 --no-report --json -";
    let output = headway(&format!("{fixed} --tcp-congestion {congestion} {options}"));
    let error = String::from_utf8(output.stderr).unwrap();
    if error.contains("is refused") {
        assert_eq!(output.status.code(), Some(1));
        assert!(std::env::var("CI").as_deref() != Ok("true"), "{error}");
        eprintln!("left out: {error}");
        return None;
    }
    assert_eq!(output.status.code(), Some(0), "{error}");
    Some(serde_json::from_slice(&output.stdout).unwrap())
}

/// Standard error of a wrong usage.
pub(crate) fn refusal(arguments: &str) -> String {
    let output = headway(arguments);
    let error = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{arguments}: {error}");
    assert!(output.stdout.is_empty(), "{arguments}");
    error
}

/// A port that nobody has.
pub(crate) fn free_port() -> u16 {
    free_ports(1)
}

/// The first of so many ports in a row that nobody has and the system gives to nobody: it hands out higher ones. Not found by
/// binding them, for a process that another test starts would have that socket, too, until it is itself.
pub(crate) fn free_ports(count: u16) -> u16 {
    static COUNT: AtomicU16 = AtomicU16::new(0);
    // Another program of tests may run at the same time: it begins elsewhere.
    let first = 20_000 + u16::try_from(std::process::id() % 10_000).unwrap();
    loop {
        let port = first + COUNT.fetch_add(count, Ordering::Relaxed);
        let is_taken = |port| ["tcp", "tcp6", "udp", "udp6"].iter().any(|table| is_in(table, port));
        if !(port..port + count).any(is_taken) {
            return port;
        }
    }
}

/// Whether a socket in one of the kernel's tables has this local port (`proc_net(5)`).
fn is_in(table: &str, port: u16) -> bool {
    let ending = format!(":{port:04X}");
    let sockets = std::fs::read_to_string(format!("/proc/net/{table}")).unwrap_or_default();
    sockets.lines().any(|line| line.split_whitespace().nth(1).is_some_and(|local| local.ends_with(&ending)))
}

/// Every part is in the text.
pub(crate) fn assert_contains(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "no {part:?} in {text}");
    }
}

/// The names of an object's fields, sorted.
pub(crate) fn keys(value: &Value) -> Vec<&str> {
    let mut keys: Vec<_> = value.as_object().unwrap().keys().map(String::as_str).collect();
    keys.sort_unstable();
    keys
}

/// Every field of `expected` is in `value`, with its value; `value` may have more.
pub(crate) fn assert_fields(value: &Value, expected: &Value) {
    for (name, expected) in expected.as_object().unwrap() {
        assert_eq!(value.get(name), Some(expected), "{name}");
    }
}

/// A folder of this test's own; removed with it.
pub(crate) struct Folder(PathBuf);

impl Folder {
    /// An empty folder that does not exist yet.
    pub(crate) fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("headway-{name}-{}", std::process::id()));
        assert!(!path.exists(), "{} is there already", path.display());
        Self(path)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    pub(crate) fn read(&self, file: &str) -> String {
        std::fs::read_to_string(self.0.join(file)).unwrap()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _not_made = std::fs::remove_dir_all(&self.0);
    }
}

//! The agent as a process and its middlebox as a thread, both in the middle.

use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use simco_middlebox::Embedded;

use crate::network::{Network, OUTSIDE, Place};

/// A network with an agent and a middlebox.
#[derive(Debug)]
pub(crate) struct Agent {
    pub(crate) network: Network,
    child: Child,
    folder: PathBuf,
    middlebox: Option<Embedded>,
}

impl Agent {
    /// Starts all of it, calls going on over this transport; `None` where it cannot be.
    pub(crate) fn new(transport: &str, calls: &str) -> Option<Self> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let network = Network::new()?;
        let middlebox = network.within(Place::Middle, || {
            Embedded::start(simco_middlebox::Settings::parse(MIDDLEBOX, Path::new(".")).unwrap()).unwrap()
        });
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let folder = std::env::temp_dir().join(format!("sip-b2bua-{}-{number}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let route =
            format!("[[routes]]\nto = \"{OUTSIDE}:5060\"\ntransport = \"{transport}\"\n[calls]\n{calls}\n");
        std::fs::write(folder.join("b2bua.toml"), format!("{CONFIGURATION}{route}")).unwrap();
        let notices = folder.join("notices");
        let socket = UnixDatagram::bind(&notices).unwrap();
        socket.set_read_timeout(Some(PATIENCE)).unwrap();
        let log = std::fs::File::create(folder.join("log")).unwrap();
        let mut command = network.command(Place::Middle, env!("CARGO_BIN_EXE_sip-b2bua"));
        command.arg(folder.join("b2bua.toml")).env("NOTIFY_SOCKET", &notices);
        let child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log).spawn().unwrap();
        let agent = Self { network, child, folder, middlebox: Some(middlebox) };
        let mut notice = [0; 512];
        while let Err(error) = socket.recv(&mut notice) {
            assert_eq!(error.kind(), std::io::ErrorKind::Interrupted, "not ready: {}", agent.log());
        }
        // Before its session with the middlebox is open calls are refused, rightly.
        agent.wait_for("sip_middlebox_up{middlebox=\"edge\"} 1");
        Some(agent)
    }

    pub(crate) fn log(&self) -> String {
        std::fs::read_to_string(self.folder.join("log")).unwrap_or_default()
    }

    /// The call records so far.
    pub(crate) fn records(&self) -> Vec<serde_json::Value> {
        let text = std::fs::read_to_string(self.folder.join("calls.jsonl")).unwrap_or_default();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// The page of the agent for Prometheus.
    pub(crate) fn metrics(&self) -> String {
        self.network.within(Place::Middle, || {
            use std::io::{Read, Write};
            let mut stream = std::net::TcpStream::connect("127.0.0.1:9627").unwrap();
            stream.write_all(b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n").unwrap();
            let mut page = String::new();
            stream.read_to_string(&mut page).unwrap();
            page
        })
    }

    /// Waits until a line is in the metrics.
    pub(crate) fn wait_for(&self, line: &str) {
        let start = std::time::Instant::now();
        while !self.metrics().lines().any(|found| found == line) {
            assert!(start.elapsed() < PATIENCE, "no {line}: {}\n{}", self.metrics(), self.log());
        }
    }

    /// The rules that the middlebox has in the kernel, as elements of its sets.
    pub(crate) fn wait_until_closed(&self) {
        self.wait_for("sip_calls 0");
        self.wait_for("sip_pinholes 0");
    }

    /// Ends it in good order.
    pub(crate) fn stop(mut self) {
        kill(Pid::from_raw(i32::try_from(self.child.id()).unwrap()), Signal::SIGTERM).unwrap();
        let status = self.child.wait().unwrap();
        assert!(status.success(), "{}", self.log());
        self.middlebox.take().unwrap().stop();
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        // It may have ended already.
        let _ended = self.child.kill();
        let _status = self.child.wait();
        let _gone = std::fs::remove_dir_all(&self.folder);
    }
}

pub(crate) const PATIENCE: Duration = Duration::from_secs(30);
const MIDDLEBOX: &str = r#"
[listen]
tcp = ["127.0.0.1:7626"]
[filter]
kind = "nftables"
inside = ["in0"]
[realms]
internal = ["10.1.8.0/24"]
[anonymous]
"#;
const CONFIGURATION: &str = r#"
[listen]
udp = ["10.1.8.1:5060"]
tcp = ["10.1.8.1:5060"]
[[middleboxes]]
name = "edge"
addresses = ["127.0.0.1"]
internal = ["10.1.8.0/24"]
[metrics]
listen = "127.0.0.1:9627"
[records]
file = "calls.jsonl"
"#;

//! The daemon as a process, its configuration, its signals.

use std::io;
use std::net::SocketAddr;
use std::os::unix::net::UnixDatagram;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use simco_agent::{Carrier, Middlebox, Transport};

use crate::namespace::Namespace;

/// A folder with configuration and keys; removed with this.
#[derive(Debug)]
pub(crate) struct Folder(PathBuf);

impl Folder {
    /// With a key for `alice` and one for `boss`, who may access everybody's rules.
    pub(crate) fn new(extra: &str) -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("simco-daemon-{}-{number}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        let folder = Self(path);
        folder.write("alice.key", &hex(ALICE));
        folder.write("boss.key", &hex(BOSS));
        folder.write("middlebox.toml", &format!("{extra}\n{CONFIGURATION}"));
        folder
    }

    pub(crate) fn write(&self, file: &str, text: &str) {
        std::fs::write(self.0.join(file), text).unwrap();
    }

    /// The next daemon listens where this one does.
    pub(crate) fn keep_addresses(&self, daemon: &Daemon) {
        let text = self.read("middlebox.toml");
        let text = text.replace("tcp = [\"127.0.0.1:0\"]", &format!("tcp = [\"{}\"]", daemon.tcp));
        let port = format!("encapsulation_port = {}", daemon.sctp.port());
        self.write("middlebox.toml", &text.replace("encapsulation_port = 0", &port));
    }

    pub(crate) fn read(&self, file: &str) -> String {
        std::fs::read_to_string(self.0.join(file)).unwrap()
    }

    pub(crate) fn path(&self, file: &str) -> PathBuf {
        self.0.join(file)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _gone = std::fs::remove_dir_all(&self.0);
    }
}

/// A process that serves.
#[derive(Debug)]
pub(crate) struct Daemon {
    child: Child,
    pub(crate) tcp: SocketAddr,
    /// Its UDP address.
    pub(crate) sctp: SocketAddr,
    pub(crate) metrics: SocketAddr,
}

/// A transport to talk over.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Over {
    Tcp,
    Sctp,
}

/// A daemon in a namespace of its own, and the way there over TCP; `None` where there can be no namespace.
pub(crate) fn in_namespace(configuration: &str) -> Option<(Namespace, Folder, Daemon, Middlebox)> {
    let namespace = Namespace::new()?;
    let folder = Folder::new(configuration);
    let daemon = Daemon::start(&folder, Some(&namespace));
    let middlebox = daemon.middlebox(Over::Tcp);
    Some((namespace, folder, daemon, middlebox))
}

impl Daemon {
    /// Starts it and waits until it says that it is ready.
    pub(crate) fn start(folder: &Folder, namespace: Option<&Namespace>) -> Self {
        let command = match namespace {
            Some(namespace) => namespace.command(PROGRAM),
            None => Command::new(PROGRAM),
        };
        Self::start_by(command, folder)
    }

    /// The same by a command that becomes the daemon, once it has the configuration's path.
    pub(crate) fn start_by(command: Command, folder: &Folder) -> Self {
        Self::start_with(command, folder, Stdio::null())
    }

    /// The same with something for its standard input.
    pub(crate) fn start_with(mut command: Command, folder: &Folder, input: Stdio) -> Self {
        let notices = folder.path("notices");
        let _none_before = std::fs::remove_file(&notices);
        let socket = UnixDatagram::bind(&notices).unwrap();
        socket.set_read_timeout(Some(PATIENCE)).unwrap();
        let log = std::fs::File::create(folder.path("log")).unwrap();
        command.arg(folder.path("middlebox.toml")).env("NOTIFY_SOCKET", &notices);
        let child = command.stdin(input).stdout(Stdio::null()).stderr(log).spawn().unwrap();
        let notice =
            notice_at(&socket).unwrap_or_else(|error| panic!("not ready: {error}: {}", folder.read("log")));
        let status = notice.strip_prefix("READY=1\nSTATUS=").unwrap_or_else(|| panic!("{notice}"));
        let address = |name: &str| {
            let at = status.split(", ").find_map(|part| part.strip_prefix(name)).unwrap();
            at.trim().parse::<SocketAddr>().unwrap()
        };
        Self { child, tcp: address("tcp"), sctp: address("sctp"), metrics: address("metrics") }
    }

    /// How agents reach it.
    pub(crate) fn middlebox(&self, over: Over) -> Middlebox {
        match over {
            Over::Tcp => Middlebox { addresses: vec![self.tcp], transport: Transport::Tcp, capture: None },
            Over::Sctp => {
                let addresses = vec![SocketAddr::new(self.sctp.ip(), simco::PORT)];
                let carrier = Carrier::Udp { local: 0, remote: self.sctp.port() };
                Middlebox { addresses, transport: Transport::Sctp { streams: 6, carrier }, capture: None }
            }
        }
    }

    /// The page for Prometheus.
    pub(crate) fn metrics_page(&self) -> String {
        metrics_page(self.metrics)
    }

    /// Has it read its configuration again.
    pub(crate) fn reload(&self) {
        self.signal(Signal::SIGHUP);
    }

    /// No farewell.
    pub(crate) fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Ends it in good order.
    pub(crate) fn stop(mut self) {
        self.signal(Signal::SIGTERM);
        assert!(self.child.wait().unwrap().success());
    }

    /// What it holds in memory.
    pub(crate) fn resident_bytes(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap();
        let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
        let kibibytes: u64 = line.split_whitespace().nth(1).unwrap().parse().unwrap();
        kibibytes << 10
    }

    fn signal(&self, signal: Signal) {
        kill(Pid::from_raw(i32::try_from(self.child.id()).unwrap()), signal).unwrap();
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        // It may have ended already.
        let _ended = self.child.kill();
        let _status = self.child.wait();
    }
}

/// What a daemon says when it is ready. A receive with a timeout ends for any signal, even one that is ignored, and
/// other tests' daemons send theirs when they end.
fn notice_at(socket: &UnixDatagram) -> io::Result<String> {
    let mut notice = [0; 512];
    loop {
        match socket.recv(&mut notice) {
            // The socket that owns the table, to be kept.
            Ok(bytes) if notice[..bytes].starts_with(b"FDSTORE=1") => {}
            Ok(bytes) => return String::from_utf8(notice[..bytes].to_vec()).map_err(io::Error::other),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

/// The page for Prometheus at an address.
pub(crate) fn metrics_page(at: SocketAddr) -> String {
    use std::io::{Read, Write};
    let mut stream = std::net::TcpStream::connect(at).unwrap();
    stream.write_all(b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n").unwrap();
    let mut page = String::new();
    stream.read_to_string(&mut page).unwrap();
    page
}

/// Asks until the answer is yes; how long that took.
pub(crate) fn time_until(mut asks: impl FnMut() -> bool) -> Duration {
    let start = Instant::now();
    while !asks() {
        assert!(start.elapsed() < PATIENCE, "it does not come to pass");
    }
    start.elapsed()
}

/// A key as it is written in a file.
pub(crate) fn hex(octet: u8) -> String {
    format!("{octet:02x}").repeat(32)
}

pub(crate) const ALICE: u8 = 0xA1;
pub(crate) const BOSS: u8 = 0xB0;
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);
const CONFIGURATION: &str = r#"
[listen]
tcp = ["127.0.0.1:0"]
sctp = { addresses = ["127.0.0.1"], carrier = "udp", encapsulation_port = 0 }
[metrics]
listen = "127.0.0.1:0"
[agents.alice]
key_file = "alice.key"
may_disable = true
[agents.boss]
key_file = "boss.key"
may_access_others = true
"#;
pub(crate) const PROGRAM: &str = env!("CARGO_BIN_EXE_simco-middlebox");
/// To be had for `extra`.
pub(crate) const NFTABLES: &str =
    "[filter]\nkind = \"nftables\"\ninside = [\"in0\"]\ninside_may_come_later = true\n";

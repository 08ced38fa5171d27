//! The agent as a process and its middlebox as another one, both in the middle.

use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::middlebox::Middlebox;
use crate::network::{AGENT, Network, OUTSIDE, Place};

/// A process of the agent; it ends with this.
#[derive(Debug)]
pub(crate) struct Process {
    child: Child,
    folder: PathBuf,
    place: Place,
}

impl Process {
    /// Starts it, and waits until it is ready.
    pub(crate) fn start(network: &Network, place: Place, configuration: &str) -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let folder = std::env::temp_dir().join(format!("sip-b2bua-{}-{number}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("b2bua.toml"), configuration).unwrap();
        let notices = folder.join("notices");
        let socket = UnixDatagram::bind(&notices).unwrap();
        socket.set_read_timeout(Some(PATIENCE)).unwrap();
        let log = std::fs::File::create(folder.join("log")).unwrap();
        let mut command: Command = network.command(place, env!("CARGO_BIN_EXE_sip-b2bua"));
        command.arg(folder.join("b2bua.toml")).env("NOTIFY_SOCKET", &notices);
        let child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log).spawn().unwrap();
        let process = Self { child, folder, place };
        let mut notice = [0; 512];
        while let Err(error) = socket.recv(&mut notice) {
            assert_eq!(error.kind(), std::io::ErrorKind::Interrupted, "not ready: {}", process.log());
        }
        process
    }

    pub(crate) fn log(&self) -> String {
        std::fs::read_to_string(self.folder.join("log")).unwrap_or_default()
    }

    fn records(&self) -> Vec<serde_json::Value> {
        let text = std::fs::read_to_string(self.folder.join("calls.jsonl")).unwrap_or_default();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// Its page for Prometheus.
    pub(crate) fn metrics(&self, network: &Network) -> String {
        network.within(self.place, || {
            use std::io::{Read, Write};
            let mut stream = std::net::TcpStream::connect("127.0.0.1:9627").unwrap();
            stream.write_all(b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n").unwrap();
            let mut page = String::new();
            stream.read_to_string(&mut page).unwrap();
            page
        })
    }

    /// Waits until a line is in the metrics.
    pub(crate) fn wait_for(&self, network: &Network, line: &str) {
        let start = std::time::Instant::now();
        loop {
            let page = self.metrics(network);
            if page.lines().any(|found| found == line) {
                return;
            }
            assert!(start.elapsed() < PATIENCE, "no {line}: {page}\n{}", self.log());
        }
    }

    fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Ends it in good order.
    pub(crate) fn stop(mut self) {
        kill(Pid::from_raw(i32::try_from(self.child.id()).unwrap()), Signal::SIGTERM).unwrap();
        let status = self.child.wait().unwrap();
        assert!(status.success(), "{}", self.log());
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // It may have ended already.
        let _ended = self.child.kill();
        let _status = self.child.wait();
        let _gone = std::fs::remove_dir_all(&self.folder);
    }
}

/// A network with an agent and a middlebox.
#[derive(Debug)]
pub(crate) struct Agent {
    pub(crate) network: Network,
    process: Process,
    pub(crate) middlebox: Middlebox,
}

impl Agent {
    /// Starts all of it, calls going on over this transport; `None` where it cannot be.
    pub(crate) fn new(transport: &str, calls: &str) -> Option<Self> {
        Some(Self::within(Network::new()?, CONFIGURATION, transport, calls, ""))
    }

    /// The same over UDP, with a middlebox that translates to these ports and is said to be of this kind.
    pub(crate) fn with_translator(kind: &str, ports: (u16, u16), is_up: bool) -> Option<Self> {
        let (named, further) = translator(kind, ports);
        let configuration = CONFIGURATION.replace("name = \"edge\"", &named);
        Some(Self::until(Network::new()?, &configuration, (&route("udp"), ""), &further, is_up))
    }

    /// The same over UDP, with addresses of IPv6 for media, too.
    pub(crate) fn with_ipv6() -> Option<Self> {
        let network = Network::new()?;
        network.add_ipv6();
        Some(Self::within(network, CONFIGURATION, "udp", "", ""))
    }

    /// The same over UDP, with a middlebox that translates, asked over SCTP.
    pub(crate) fn with_translator_over_sctp(ports: (u16, u16)) -> Option<Self> {
        let (kind, of_middlebox) = translator("nat", ports);
        let sctp = format!("{kind}\ntransport = \"sctp\"\nencapsulation_port = 9898");
        let configuration = CONFIGURATION.replace("name = \"edge\"", &sctp);
        let listen =
            "[listen.sctp]\naddresses = [\"127.0.0.1\"]\ncarrier = \"udp\"\nencapsulation_port = 9898\n";
        let of_middlebox = format!("{of_middlebox}{listen}");
        Some(Self::within(Network::new()?, &configuration, "udp", "", &of_middlebox))
    }

    /// The same over UDP, with a middlebox that grants no lifetime longer than this.
    pub(crate) fn with_lifetime(seconds: u32) -> Option<Self> {
        let further = format!("[service]\nlongest_lifetime_s = {seconds}\n");
        Some(Self::within(Network::new()?, CONFIGURATION, "udp", "", &further))
    }

    /// The same over TLS alone, on both sides, with the certificate and the authority of a folder.
    pub(crate) fn over_tls(folder: &Path) -> Option<Self> {
        let (_, rest) = CONFIGURATION.split_once("[[middleboxes]]").unwrap();
        let file = |name| folder.join(name).display().to_string();
        let (certificate, key) = (file("tls.pem"), file("tls.key"));
        let configuration = format!(
            "[listen]\ntls = [\"{AGENT}:5061\"]\n[tls]\ncertificate = \"{certificate}\"\nkey = \"{key}\"\n\
             authorities = \"{certificate}\"\n[[middleboxes]]{rest}"
        );
        let route = format!("to = \"{OUTSIDE}:5061\"\ntransport = \"tls\"");
        Some(Self::until(Network::new()?, &configuration, (&route, ""), "", true))
    }

    /// The same with calls going on over SCTP to [`SECOND`], both agents with two addresses for it.
    pub(crate) fn with_second_at_two_addresses() -> Option<(Self, Process)> {
        let network = Network::new()?;
        network.add_path();
        let agent = Self::within(network, &at_two_addresses(CONFIGURATION), "sctp", "", "");
        let second = Process::start(&agent.network, Place::Outside, &at_two_addresses(SECOND));
        Some((agent, second))
    }

    fn within(
        network: Network,
        configuration: &str,
        transport: &str,
        calls: &str,
        of_middlebox: &str,
    ) -> Self {
        Self::until(network, configuration, (&route(transport), calls), of_middlebox, true)
    }

    /// The same, until the middlebox is said to be up, or its kind to be wrong.
    fn until(
        network: Network,
        configuration: &str,
        (route, calls): (&str, &str),
        of_middlebox: &str,
        is_up: bool,
    ) -> Self {
        let middlebox = Middlebox::start_with(&network, of_middlebox);
        let route = format!("[[routes]]\n{route}\n[calls]\n{calls}\n");
        let process = Process::start(&network, Place::Middle, &format!("{configuration}{route}"));
        let agent = Self { network, process, middlebox };
        // Before its session with the middlebox is open calls are refused, rightly.
        if is_up {
            agent.wait_for("sip_middlebox_up{middlebox=\"edge\"} 1");
        } else {
            agent.wait_for_log("not of the kind");
        }
        agent
    }

    /// Kills the agent's process: it ends no call, and closes nothing.
    pub(crate) fn kill(&mut self) {
        self.process.kill();
    }

    pub(crate) fn log(&self) -> String {
        self.process.log()
    }

    /// The call records so far.
    pub(crate) fn records(&self) -> Vec<serde_json::Value> {
        self.process.records()
    }

    pub(crate) fn metrics(&self) -> String {
        self.process.metrics(&self.network)
    }

    /// Waits until a line is in the metrics.
    pub(crate) fn wait_for(&self, line: &str) {
        self.process.wait_for(&self.network, line);
    }

    /// Waits until the log says this.
    pub(crate) fn wait_for_log(&self, text: &str) {
        let start = std::time::Instant::now();
        while !self.log().contains(text) {
            assert!(start.elapsed() < PATIENCE, "no {text}: {}", self.log());
        }
    }

    /// Waits until nothing is left of any call.
    pub(crate) fn wait_until_closed(&self) {
        self.wait_for("sip_calls 0");
        self.wait_for("sip_pinholes 0");
    }

    /// Ends it in good order.
    pub(crate) fn stop(self) {
        self.process.stop();
        self.middlebox.stop();
    }
}

/// What the agent and a middlebox that translates to these ports have to be told for it.
fn translator(kind: &str, ports: (u16, u16)) -> (String, String) {
    let pool = format!("addresses = [\"198.51.100.1\"], first_port = {}, last_port = {}", ports.0, ports.1);
    let of_middlebox = format!("[service]\nkind = \"traditional-nat\"\noutside = {{ {pool} }}\n");
    (format!("name = \"edge\"\nkind = \"{kind}\""), of_middlebox)
}

/// The route to the called side.
fn route(transport: &str) -> String {
    format!("to = \"{OUTSIDE}:5060\"\ntransport = \"{transport}\"")
}

/// A configuration in which SCTP has the address at the other end of the second cable, too.
fn at_two_addresses(configuration: &str) -> String {
    ["1", "9"].into_iter().fold(configuration.to_owned(), |text, host| {
        let (one, other) = (format!("[\"198.51.100.{host}\"]"), format!("\"203.0.113.{host}\""));
        text.replace(&one, &format!("[\"198.51.100.{host}\", {other}]"))
    })
}

pub(crate) const PATIENCE: Duration = Duration::from_secs(30);
const CONFIGURATION: &str = r#"
[listen]
udp = ["10.1.8.1:5060"]
tcp = ["10.1.8.1:5060"]
[listen.sctp]
addresses = ["198.51.100.1"]
encapsulation_port = 9899
[[middleboxes]]
name = "edge"
addresses = ["127.0.0.1"]
internal = ["10.1.8.0/24", "fd00::/8"]
[metrics]
listen = "127.0.0.1:9627"
[records]
file = "calls.jsonl"
"#;
/// The second agent, outside, with the called side behind it.
pub(crate) const SECOND: &str = r#"
[listen]
udp = ["198.51.100.9:5070"]
[listen.sctp]
addresses = ["198.51.100.9"]
encapsulation_port = 9899
[[routes]]
to = "198.51.100.9:5060"
[metrics]
listen = "127.0.0.1:9627"
"#;

//! `headway echo` and `headway load` over the loopback device.
#![allow(clippy::unwrap_used, clippy::unreachable, clippy::print_stderr, reason = "tests")]

mod support;

use std::io::{BufRead, BufReader, Read};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, TcpListener, UdpSocket};
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};
use support::{assert_contains, assert_fields, free_port, free_ports, headway, json, keys, text};

/// One that this user may choose; the default, `cubic`, may be reserved to root.
fn allowed_congestion() -> String {
    let allowed = std::fs::read_to_string("/proc/sys/net/ipv4/tcp_allowed_congestion_control").unwrap();
    allowed.split_whitespace().next().unwrap().to_owned()
}

/// An echo server in a process of its own; ended with it.
struct Echo {
    process: Child,
    to: String,
    encap_port: u16,
}

impl Echo {
    /// Serves `transports` at a free port; ready when it says so.
    fn start(ip: IpAddr, transports: &str) -> Self {
        // QUIC has the port above.
        let is_free =
            |port: u16| port.checked_add(1).is_some_and(|above| UdpSocket::bind((ip, above)).is_ok());
        let port = std::iter::repeat_with(free_port).find(|port| is_free(*port)).unwrap();
        let to = std::net::SocketAddr::new(ip, port).to_string();
        let arguments = ["echo", "--listen", &to, "--transport", transports, "--encap-port", "0"];
        let congestion = allowed_congestion();
        let mut process = Command::new(env!("CARGO_BIN_EXE_headway"))
            .args(arguments)
            .args(["--tcp-congestion", &congestion])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut encap_port = 0;
        let lines = BufReader::new(process.stdout.as_mut().unwrap()).lines();
        for line in lines.map(Result::unwrap).take(transports.split(',').count()) {
            assert_contains(&line, &["echo over ", &ip.to_string()]);
            if let Some((_, port)) = line.split_once("UDP port ") {
                encap_port = port.parse().unwrap();
            }
        }
        Self { process, to, encap_port }
    }

    /// Sends a signal; the exit status.
    fn end(&mut self, signal: &str) -> Option<i32> {
        Command::new("kill").args([signal, &self.process.id().to_string()]).status().unwrap();
        self.process.wait().unwrap().code()
    }

    fn load(&self, options: &str) -> String {
        let Self { to, encap_port, .. } = self;
        let encapsulation = match encap_port {
            0 => String::new(),
            port => format!("--encap-port 0:{port}"),
        };
        let congestion = allowed_congestion();
        format!(
            "load --to {to} {encapsulation} --tcp-congestion {congestion} --duration 300ms --rate 200 {options}"
        )
    }
}

impl Drop for Echo {
    fn drop(&mut self) {
        let _has_ended = self.process.kill();
        let _reaped = self.process.wait();
    }
}

#[test]
fn every_transport_is_answered_and_reported_as_compare_does() {
    let echo = Echo::start(Ipv4Addr::LOCALHOST.into(), "tcp,sctp,quic,udp");
    let result = json(&echo.load(""));
    let fields = [
        "command",
        "commit",
        "headway",
        "host",
        "path",
        "reading",
        "runs",
        "schema",
        "settings",
        "skipped",
        "started",
        "unpredicted",
        "workload",
    ];
    assert_eq!(keys(&result), fields);
    assert_fields(
        &result["path"],
        &json!({"backend": "network", "rtt_ms": null, "loss": null, "delay_ms": null}),
    );
    let ids: Vec<_> =
        result["runs"].as_array().unwrap().iter().map(|run| run["id"].as_str().unwrap()).collect();
    assert_eq!(ids, ["tcp", "tcp:4", "sctp:1", "sctp:6", "sctp:unordered", "quic:6", "udp"]);
    for run in result["runs"].as_array().unwrap() {
        assert!(run["requests"].as_u64().unwrap() > 30, "{run}");
        assert_fields(run, &json!({"responses": run["requests"], "predicted": null, "packets": null}));
    }
}

/// Needs CAP_NET_RAW and a kernel without its own SCTP, and says so where it lacks one.
#[test]
fn sctp_travels_directly_over_ip() {
    let to = format!("ip:127.0.0.1:{}", free_port());
    let mut process = Command::new(env!("CARGO_BIN_EXE_headway"))
        .args(["echo", "--listen", &to, "--transport", "sctp"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(process.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
    if line.is_empty() {
        let output = process.wait_with_output().unwrap();
        let reason = String::from_utf8(output.stderr).unwrap();
        assert!(reason.contains("CAP_NET_RAW") || reason.contains("kernel's own SCTP"), "{reason}");
        assert!(std::env::var("CI").as_deref() != Ok("true"), "{reason}");
        return eprintln!("left out: {reason}");
    }
    let echo = Echo { process, to: to.clone(), encap_port: 0 };
    assert_contains(&line, &["echo over sctp at 127.0.0.1", "directly over IP"]);
    let result = json(&echo.load("--transport sctp:6"));
    assert!(result["runs"][0]["requests"].as_u64().unwrap() > 30);
    assert_fields(&result["runs"][0], &json!({"responses": result["runs"][0]["requests"]}));
}

#[test]
fn large_messages_and_many_streams_fit_a_server_over_ipv6() {
    if UdpSocket::bind((Ipv6Addr::LOCALHOST, 0)).is_err() {
        return;
    }
    let echo = Echo::start(Ipv6Addr::LOCALHOST.into(), "sctp");
    let table = text(&echo.load("--transport sctp:300 --message 200KiB --profile rfc9260"));
    assert_contains(&table, &["backend network", "sctp:300"]);
}

#[test]
fn server_ends_by_signals_and_says_how() {
    assert_eq!(Echo::start(Ipv4Addr::LOCALHOST.into(), "tcp,udp").end("-INT"), Some(130));
    assert_eq!(Echo::start(Ipv4Addr::LOCALHOST.into(), "sctp").end("-TERM"), Some(0));
}

#[test]
fn address_in_use_is_named() {
    let taken = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let address = taken.local_addr().unwrap();
    let output = headway(&format!("echo --listen {address} --transport tcp"));
    assert_eq!(output.status.code(), Some(1));
    let address = format!("--listen '{address}'");
    assert_contains(&String::from_utf8(output.stderr).unwrap(), &[&address, "tcp", "choose another"]);
}

/// The second server would serve nobody: who binds first has the UDP port that carries SCTP, also at all addresses.
#[test]
fn a_second_server_at_the_same_udp_port_is_refused_with_the_port() {
    let first = Echo::start(Ipv4Addr::LOCALHOST.into(), "sctp");
    let ports = format!("--encap-port {}", first.encap_port);
    let said = format!("UDP port {} at 0.0.0.0 is in use", first.encap_port);
    for command in ["echo --transport sctp", "perf server"] {
        let output = headway(&format!("{command} --listen 0.0.0.0:{} {ports}", free_port()));
        assert_eq!(output.status.code(), Some(1));
        assert_contains(&String::from_utf8(output.stderr).unwrap(), &["--listen '", &said, "--encap-port"]);
    }
}

#[test]
fn absent_server_fails_the_run_with_the_remedy() {
    let port = free_port();
    let output = headway(&format!("load --to 127.0.0.1:{port} --transport tcp --duration 1s --json -"));
    assert_eq!(output.status.code(), Some(1));
    let result: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_contains(result["runs"][0]["because"].as_str().unwrap(), &["no TCP server", "headway echo"]);
}

/// Known before the first request: nobody waits for answers that cannot come.
#[test]
fn nobody_is_known_before_anything_is_sent_over_every_transport() {
    let (port, encap_port) = (free_ports(2), free_port());
    let transports = "tcp,sctp:2,quic:2,udp --rate 100 --duration 1s --json -";
    let to = format!("--to 127.0.0.1:{port} --encap-port 0:{encap_port}");
    let output =
        headway(&format!("load {to} --transport {transports} --tcp-congestion {}", allowed_congestion()));
    assert_eq!(output.status.code(), Some(1));
    let result: Value = serde_json::from_slice(&output.stdout).unwrap();
    let servers = [("TCP", port), ("SCTP", port), ("QUIC", port + 1), ("UDP", port)];
    for (run, (protocol, port)) in result["runs"].as_array().unwrap().iter().zip(servers) {
        assert_fields(run, &json!({"requests": 0}));
        let said = run["because"].as_str().unwrap();
        assert_contains(said, &[&format!("no {protocol} server at 127.0.0.1:{port}"), "headway echo"]);
        assert!(!said.contains("within"), "not waited for, for this host says so: {said}");
    }
}

#[test]
fn names_stand_for_their_addresses() {
    let echo = Echo::start(IpAddr::V4(Ipv4Addr::LOCALHOST), "tcp,sctp,udp");
    let by_name = echo.load("--transport tcp,sctp:1,udp --no-report").replace("127.0.0.1", "localhost");
    let printed = text(&by_name);
    assert!(printed.starts_with("localhost is ") && printed.contains("127.0.0.1"), "{printed}");
    let unknown = support::refusal("load --to no-such-host.invalid:5000 --no-report");
    assert_contains(&unknown, &["--to 'no-such-host.invalid:5000'", "cannot be resolved"]);
}

#[test]
fn interrupted_load_ends_with_status_130_and_what_it_has() {
    let server = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let to = server.local_addr().unwrap();
    let options = "--transport tcp,sctp:1 --sequential --duration 60s --json -";
    let mut load = Command::new(env!("CARGO_BIN_EXE_headway"))
        .args(
            format!("load --to {to} --tcp-congestion {} {options}", allowed_congestion()).split_whitespace(),
        )
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // The first connection only finds out whether a server is there; the second brings requests.
    let _inquiry = server.accept().unwrap();
    let (mut connection, _) = server.accept().unwrap();
    connection.read_exact(&mut [0]).unwrap();
    let pid = load.id().to_string();
    Command::new("kill").args(["-INT", &pid]).status().unwrap();
    assert_eq!(load.wait().unwrap().code(), Some(130));
    let mut printed = String::new();
    load.stdout.take().unwrap().read_to_string(&mut printed).unwrap();
    let result: Value = serde_json::from_str(&printed).unwrap();
    assert_fields(&result["runs"][0], &json!({"id": "tcp", "responses": 0}));
    assert_contains(result["runs"][0]["because"].as_str().unwrap(), &["interrupted; ", "not answered"]);
    assert_eq!(result["skipped"], json!([{"id": "sctp:1", "because": "interrupted"}]));
}

/// What the association did, its packets, and how its path stood at the end.
#[test]
fn load_over_sctp_shows_events_packets_and_paths() {
    let folder = support::Folder::new("load-events");
    std::fs::create_dir(folder.path()).unwrap();
    let echo = Echo::start(IpAddr::V4(Ipv4Addr::LOCALHOST), "sctp,udp");
    let files = folder.path().display();
    let options =
        format!("--transport sctp:2,udp --events {files}/events --pcap {files}/load.pcapng --no-report");
    let output = headway(&format!("{} --json -", echo.load(&options)));
    let result: Value = serde_json::from_slice(&output.stdout).unwrap();
    let paths = result["runs"][0]["paths"].as_array().unwrap();
    assert_eq!(paths.len(), 1);
    assert_fields(&paths[0], &json!({"path": 0, "address": "127.0.0.1", "state": "active", "primary": true}));
    assert!(paths[0]["packets_sent"].as_u64().unwrap() > 10);
    assert!(paths[0]["srtt_ms"].is_number());
    assert!(result["runs"][1].get("paths").is_none(), "UDP has none");
    let events = folder.read("events");
    let states: Vec<Value> = events
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap())
        .filter(|event| event["event"] == "association_state")
        .collect();
    let to: Vec<&str> = states.iter().map(|event| event["to"].as_str().unwrap()).collect();
    assert_eq!(to[..3], ["COOKIE-WAIT", "COOKIE-ECHOED", "ESTABLISHED"]);
    assert_eq!(*to.last().unwrap(), "CLOSED");
    let elsewhere: Vec<_> = states.iter().filter(|event| event["transport"] != "sctp:2").collect();
    assert!(elsewhere.is_empty(), "{elsewhere:?}");
    let capture = std::fs::read(folder.path().join("load-sctp-2.pcapng")).unwrap();
    assert_eq!(capture[..4], [0x0a, 0x0d, 0x0d, 0x0a], "the block type of a section header");
}

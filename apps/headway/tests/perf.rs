//! `headway perf` over the loopback device.
#![allow(clippy::unwrap_used, clippy::print_stderr, reason = "tests")]

mod support;

use std::io::{BufRead, BufReader};
use std::process::{Child, ChildStdout, Command, Stdio};

use serde_json::Value;
use support::{assert_contains, assert_fields, free_port, headway, json, keys, refusal, text};

/// A server in a process of its own; ended with it.
struct Server {
    process: Child,
    lines: std::io::Lines<BufReader<ChildStdout>>,
    to: String,
    encap_port: Option<u16>,
}

impl Server {
    fn start(ip: &str, options: &[&str]) -> Self {
        Self::try_start(&[format!("{ip}:{}", free_port())], options).unwrap()
    }

    /// Ready when it says so; otherwise what it says instead.
    fn try_start(addresses: &[String], options: &[&str]) -> Result<Self, String> {
        let mut process = Command::new(env!("CARGO_BIN_EXE_headway"))
            .args(["perf", "server", "--listen"])
            .args(addresses)
            .args(options)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(process.stdout.take().unwrap()).lines();
        let Some(ready) = lines.next() else {
            return Err(String::from_utf8(process.wait_with_output().unwrap().stderr).unwrap());
        };
        let ready = ready.unwrap();
        assert_contains(&ready, &["perf over ", addresses[0].trim_start_matches("ip:")]);
        let encap_port = ready.split_once("UDP port ").map(|(_, port)| port.parse().unwrap());
        Ok(Self { process, lines, to: addresses.join(" "), encap_port })
    }

    fn sctp(options: &[&str]) -> Self {
        Self::start("127.0.0.1", &[&["--encap-port", "0"], options].concat())
    }

    fn tcp() -> Self {
        Self::start("127.0.0.1", &["--transport", "tcp"])
    }

    /// Arguments of a client for this server.
    fn client(&self, options: &str) -> String {
        let encapsulation = self.encap_port.map(|port| format!("--encap-port 0:{port}")).unwrap_or_default();
        let duration = if options.contains("--duration") { "" } else { "--duration 300ms" };
        format!("perf client --to {} {encapsulation} {duration} {options}", self.to)
    }

    /// What a client measures with these options.
    fn measure(&self, options: &str) -> Value {
        json(&self.client(options))
    }

    /// A client that runs until it is stopped, once it has printed its first interval.
    fn start_endless_client(&self) -> (Child, String, std::io::Lines<BufReader<ChildStdout>>) {
        let mut client = Command::new(env!("CARGO_BIN_EXE_headway"))
            .args(self.client("--duration 1h").split_whitespace())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(client.stdout.take().unwrap()).lines();
        let first = lines.next().unwrap().unwrap();
        (client, first, lines)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _has_ended = self.process.kill();
        let _reaped = self.process.wait();
    }
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap()
}

/// Rates agree with each other, and both ends have spent processor time.
fn assert_plausible(result: &Value, message_bytes: f64) {
    let (goodput, rate) = (number(&result["goodput_mb_per_s"]), number(&result["messages_per_s"]));
    assert!(rate > 100.0, "{result}");
    assert!((goodput * 1e6 / message_bytes / rate - 1.0).abs() < 0.01, "{result}");
    for end in ["sender", "receiver"] {
        assert!(number(&result["cpu_s_per_gb"][end]) > 0.0, "{result}");
    }
    let intervals = result["intervals"].as_array().unwrap();
    assert_eq!(number(&intervals[0]["start_s"]), 0.0);
    let covered = number(&intervals.last().unwrap()["end_s"]);
    assert!((covered - number(&result["duration_s"])).abs() < 1e-6, "{result}");
}

/// What is left after the last whole second is no measurement by itself.
#[test]
fn a_run_does_not_end_with_a_sliver() {
    let result = Server::tcp().measure("--transport tcp --duration 1030ms");
    let intervals = result["intervals"].as_array().unwrap();
    let length = |interval: &Value| number(&interval["end_s"]) - number(&interval["start_s"]);
    assert!(intervals.iter().skip(1).all(|interval| length(interval) >= 0.5), "{result}");
    assert_plausible(&result, 1200.0);
}

/// Known at once, as this host says so: a client does not wait for answers that cannot come.
#[test]
fn nobody_is_said_by_the_network_over_either_transport() {
    for (transport, said) in [("sctp", "the network reports that nobody is there"), ("tcp", "refused")] {
        let (port, encap_port) = (free_port(), free_port());
        let to = format!("--to 127.0.0.1:{port} --transport {transport}");
        let encapsulation =
            if transport == "sctp" { format!("--encap-port 0:{encap_port}") } else { String::new() };
        let output = headway(&format!("perf client {to} {encapsulation}"));
        assert_eq!(output.status.code(), Some(1));
        let error = String::from_utf8(output.stderr).unwrap();
        assert_contains(&error, &[said, "headway perf server"]);
    }
}

/// Its sockets share the port among themselves, and with nobody else.
#[test]
fn a_second_server_at_the_same_port_is_refused() {
    let first = Server::sctp(&[]);
    let port = first.encap_port.unwrap().to_string();
    let second = [format!("127.0.0.1:{}", free_port())];
    let refused = Server::try_start(&second, &["--encap-port", &port]).err().unwrap();
    assert_contains(&refused, &[&format!("UDP port {port} at 127.0.0.1 is in use"), "--encap-port"]);
}

#[test]
fn both_transports_are_measured_as_the_contract_says() {
    for (server, transport) in [(Server::sctp(&[]), "sctp"), (Server::tcp(), "tcp")] {
        let congestion = if transport == "tcp" { "--tcp-congestion reno" } else { "" };
        let result = server.measure(&format!("--transport {transport} --message 1000 {congestion}"));
        for key in
            ["headway", "message_bytes", "goodput_mb_per_s", "messages_per_s", "cpu_s_per_gb", "intervals"]
        {
            assert!(keys(&result).contains(&key), "{key}: {result}");
        }
        assert_fields(
            &result,
            &serde_json::json!({"message_bytes": 1000, "transport": transport, "rtt_us": null}),
        );
        assert_plausible(&result, 1000.0);
    }
}

#[test]
fn echoed_messages_have_round_trip_times() {
    for (server, transport) in [(Server::sctp(&[]), "sctp"), (Server::tcp(), "tcp")] {
        let result = server.measure(&format!("--transport {transport} --message 64 --ping --duration 600ms"));
        let times = &result["rtt_us"];
        assert!(number(&times["p50"]) > 0.0, "{times}");
        // A busy machine does not come to the five samples beyond it.
        assert!(times["p99"].is_null() || number(&times["p99"]) >= number(&times["p50"]), "{times}");
        // One at a time: no more than fit one after the other.
        let busy_s = number(&times["samples"]) * number(&times["p50"]) * 1e-6;
        assert!(busy_s < 1.5, "{result}");
    }
}

/// Bulk of a size that is no multiple of what is read at once, and echoes.
#[test]
fn fresh_messages_are_made_read_and_named_over_either_transport() {
    for (server, transport) in [(Server::sctp(&[]), "sctp"), (Server::tcp(), "tcp")] {
        let options = format!("--transport {transport} --message 1003");
        let result = server.measure(&format!("{options} --fresh"));
        assert_fields(&result, &serde_json::json!({"fresh": true, "message_bytes": 1003}));
        assert_plausible(&result, 1003.0);
        let result = server.measure(&format!("{options} --fresh --ping"));
        assert!(number(&result["rtt_us"]["p50"]) > 0.0, "{result}");
        assert_fields(&server.measure(&options), &serde_json::json!({"fresh": false}));
    }
    let mut server = Server::sctp(&["--once"]);
    let said = "1200 octets a message made anew and read";
    assert_contains(&text(&server.client("--fresh")), &[said]);
    assert_contains(&server.lines.next().unwrap().unwrap(), &[said]);
}

#[test]
fn associations_streams_and_unordered_messages_arrive_whole() {
    let server = Server::sctp(&[]);
    let result = server.measure("--message 100 --streams 16 --unordered 50% --associations 3");
    assert_fields(&result, &serde_json::json!({"streams": 16, "associations": 3, "unordered": 0.5}));
    assert_plausible(&result, 100.0);
    // A message longer than any packet, to the same server.
    let result = server.measure("--message 64000 --unordered 100%");
    assert_plausible(&result, 64_000.0);
}

#[test]
fn the_first_run_is_the_last_of_a_server_that_serves_once() {
    let mut server = Server::sctp(&["--once"]);
    let printed = text(&server.client(""));
    assert_contains(
        &printed,
        &["sctp, 1200 octets a message", "MB/s", "messages/s", "CPU seconds per GB", " - "],
    );
    assert_contains(&server.lines.next().unwrap().unwrap(), &["1200 octets a message"]);
    assert_eq!(server.process.wait().unwrap().code(), Some(0));
}

#[test]
fn several_addresses_are_one_association() {
    let port = free_port();
    let addresses = [format!("127.0.0.1:{port}"), format!("127.0.0.2:{port}")];
    let server = Server::try_start(&addresses, &["--encap-port", "0"]).unwrap();
    assert_plausible(&server.measure(""), 1200.0);
}

/// Needs CAP_NET_RAW and a kernel without its own SCTP, and says so where it lacks one.
#[test]
fn sctp_is_measured_directly_over_ip() {
    let to = format!("ip:127.0.0.1:{}", free_port());
    match Server::try_start(&[to], &[]) {
        Ok(server) => assert_plausible(&server.measure(""), 1200.0),
        Err(reason) => {
            assert!(reason.contains("CAP_NET_RAW") || reason.contains("kernel's own SCTP"), "{reason}");
            assert!(std::env::var("CI").as_deref() != Ok("true"), "{reason}");
            eprintln!("not run: {reason}");
        }
    }
}

#[test]
fn an_interrupted_client_prints_what_it_has() {
    let server = Server::sctp(&[]);
    let (mut client, first, lines) = server.start_endless_client();
    assert_contains(&first, &["0.0 - ", "MB/s"]);
    Command::new("kill").args(["-INT", &client.id().to_string()]).status().unwrap();
    assert_eq!(client.wait().unwrap().code(), Some(130));
    let rest: Vec<_> = lines.map(Result::unwrap).collect();
    assert!(rest.iter().any(|line| line.contains("1200 octets a message")), "{rest:?}");
}

#[test]
fn a_second_client_is_told_that_the_server_is_busy() {
    let server = Server::sctp(&[]);
    let (mut client, _first, _more) = server.start_endless_client();
    let second = headway(&server.client(""));
    client.kill().unwrap();
    client.wait().unwrap();
    assert_eq!(second.status.code(), Some(1));
    assert_contains(&String::from_utf8(second.stderr).unwrap(), &["somebody else", "another port"]);
}

#[test]
fn a_server_that_is_not_there_is_named_with_the_remedy() {
    let to = format!("127.0.0.1:{}", free_port());
    let failed = headway(&format!("perf client --to {to} --transport tcp"));
    assert_eq!(failed.status.code(), Some(1));
    let error = String::from_utf8(failed.stderr).unwrap();
    assert_contains(&error, &["--to", &to, "headway perf server --transport tcp"]);
}

#[test]
fn wrong_usage_names_the_option_its_value_and_the_remedy() {
    let cases: [(&str, &[&str]); 15] = [
        ("perf client", &["--to"]),
        ("perf client --to 127.0.0.1:x", &["--to", "'127.0.0.1:x'", "192.0.2.1:5000"]),
        ("perf client --to 127.0.0.1:5 --message 0", &["--message '0'", "1200"]),
        ("perf client --to 127.0.0.1:5 --message 2MiB", &["--message '2097152'", "1MiB"]),
        ("perf client --to 127.0.0.1:5 --streams 0", &["--streams", "'0'"]),
        ("perf client --to 127.0.0.1:5 --unordered 1", &["--unordered", "'1'", "did you mean 1%?"]),
        ("perf client --to 127.0.0.1:5 --associations 0", &["--associations", "'0'"]),
        ("perf client --to 127.0.0.1:5 --duration 5", &["--duration", "'5'", "5s"]),
        ("perf client --to 127.0.0.1:5 --transport tcp --streams 2", &["--streams '2'", "--transport sctp"]),
        ("perf client --to 127.0.0.1:5 --transport tcp --fill", &["--fill", "--transport sctp"]),
        (
            "perf client --to 127.0.0.1:5 --transport tcp --sctp-congestion cubic",
            &["--sctp-congestion", "--tcp-congestion"],
        ),
        (
            "perf client --to 127.0.0.1:5 --tcp-congestion cubic",
            &["--tcp-congestion 'cubic'", "--transport tcp"],
        ),
        ("perf client --to 127.0.0.1:5 --mtu 100", &["--mtu '100'", "1400"]),
        ("perf client --to ip:127.0.0.1:5 --transport tcp", &["--to 'ip:127.0.0.1:5'", "leave ip: out"]),
        ("perf server --listen 127.0.0.1:0", &["--listen", "'127.0.0.1:0'", "1 to 65535"]),
    ];
    for (arguments, parts) in cases {
        assert_contains(&refusal(arguments), parts);
    }
    assert_contains(&text("perf --help"), &["server", "client", "Example:"]);
    for end in ["server", "client"] {
        assert_contains(&text(&format!("perf {end} --help")), &["Example:", "--json"]);
    }
}

/// A file for the server, and for the client one of each association: control, and two that carry.
#[test]
fn packets_of_every_association_are_written_down() {
    let folder = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("perf-packets");
    std::fs::create_dir_all(&folder).unwrap();
    let file = |name: &str| folder.join(name).to_str().unwrap().to_owned();
    let server = Server::sctp(&["--pcap", &file("server.pcapng")]);
    server.measure(&format!("--associations 2 --duration 50ms --pcap {}", file("client.pcapng")));
    for name in ["server", "client-1", "client-2", "client-3"] {
        let octets = std::fs::read(file(&format!("{name}.pcapng"))).unwrap();
        assert!(octets.starts_with(&[0x0a, 0x0d, 0x0d, 0x0a]) && octets.len() > 1000, "{name}");
    }
}

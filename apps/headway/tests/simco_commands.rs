//! `headway simco` as a user types it, with a middlebox at the other end: the daemon's server, its filter in memory.
#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests")]

use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::process::{Child, Command, Output, Stdio};
use std::thread::JoinHandle;

use serde_json::{Value, json};
use simco_middlebox::{Control, Listeners, Server, Settings};
use tokio::sync::mpsc;

mod support;
use support::{Folder, assert_contains, keys};

/// A middlebox on a thread of its own, and how to reach it.
struct Middlebox {
    tcp: SocketAddr,
    sctp: SocketAddr,
    controls: mpsc::Sender<Control>,
    thread: JoinHandle<()>,
    folder: Folder,
}

#[derive(Clone, Copy)]
enum Over {
    Tcp,
    Sctp,
}

impl Middlebox {
    fn start(name: &str) -> Self {
        let folder = Folder::new(name);
        std::fs::create_dir_all(folder.path()).unwrap();
        std::fs::write(folder.path().join("b2bua.key"), "5a".repeat(32)).unwrap();
        std::fs::write(folder.path().join("other.key"), "11".repeat(32)).unwrap();
        let settings = Settings::parse(CONFIGURATION, folder.path()).unwrap();
        let (told, tell) = std::sync::mpsc::channel();
        let (controls, receiver) = mpsc::channel(1);
        let thread = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async {
                let listeners = Listeners::bind(&settings.listen, settings.metrics).await.unwrap();
                let addresses = (listeners.tcp_addresses()[0], listeners.sctp_address().unwrap());
                let server = Server::new(&settings, listeners).unwrap();
                told.send(addresses).unwrap();
                server.run(receiver).await;
            });
        });
        let (tcp, sctp) = tell.recv().unwrap();
        Self { tcp, sctp, controls, thread, folder }
    }

    fn command(&self, over: Over, key: &str, arguments: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_headway"));
        command.args(["simco", "--agent", "b2bua", "--key-file"]).arg(self.folder.path().join(key));
        match over {
            Over::Tcp => command.args(["--to", &self.tcp.to_string()]),
            Over::Sctp => {
                let port = format!("0:{}", self.sctp.port());
                command.args(["--transport", "sctp", "--to", "127.0.0.1:7626", "--encap-port", &port])
            }
        };
        command.args(arguments.split_whitespace());
        command
    }

    fn run(&self, over: Over, arguments: &str) -> Output {
        self.command(over, "b2bua.key", arguments).output().unwrap()
    }

    fn text(&self, over: Over, arguments: &str) -> String {
        let output = self.run(over, arguments);
        assert!(output.status.success(), "{arguments}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }

    fn json(&self, over: Over, arguments: &str) -> Value {
        serde_json::from_str(&self.text(over, &format!("{arguments} --json -"))).unwrap()
    }

    /// The code, from the JSON and from what a person reads.
    fn refusal(&self, over: Over, arguments: &str) -> String {
        let output = self.run(over, &format!("{arguments} --json -"));
        assert_eq!(output.status.code(), Some(1), "{arguments}");
        let printed: Value = serde_json::from_slice(&output.stdout).unwrap();
        let (code, meaning) = (&printed["error"]["code"], &printed["error"]["meaning"]);
        let said = String::from_utf8(output.stderr).unwrap();
        assert_contains(&said, &[code.as_str().unwrap(), meaning.as_str().unwrap()]);
        code.as_str().unwrap().to_owned()
    }

    fn stop(self) {
        self.controls.blocking_send(Control::Stop).unwrap();
        self.thread.join().unwrap();
    }
}

const CONFIGURATION: &str = r#"
[listen]
tcp = ["127.0.0.1:0"]
sctp = { addresses = ["127.0.0.1"], carrier = "udp", encapsulation_port = 0 }
[agents.b2bua]
key_file = "b2bua.key"
may_disable = true
"#;
const PER: &str = "per --internal 10.1.8.3:12345/udp --external 203.0.113.9:0/udp --direction inbound";

fn a_rule_from_opening_to_end(over: Over, name: &str) {
    let middlebox = Middlebox::start(name);
    let opened = middlebox.json(over, &format!("{PER} --lifetime 300s"));
    assert_eq!(keys(&opened), ["gid", "inside", "lifetime_s", "outside", "pid"]);
    assert_eq!((&opened["pid"], &opened["lifetime_s"]), (&json!(1), &json!(300)));
    assert_eq!(
        (&opened["outside"], &opened["inside"]),
        (&json!("10.1.8.3:12345/udp"), &json!("203.0.113.9:*/udp"))
    );
    let status = middlebox.json(over, "prs --rule 1");
    let expected = json!(["enable", "inbound", "any", "b2bua", "10.1.8.3:12345/udp", "203.0.113.9:*/udp"]);
    let found =
        ["kind", "direction", "parity", "owner", "internal", "external"].map(|key| status[key].clone());
    assert_eq!(json!(found), expected);
    assert_eq!(middlebox.json(over, "plc --rule 1 --lifetime 600s"), json!({"pid": 1, "lifetime_s": 600}));
    assert_eq!(middlebox.json(over, "prl"), json!({"pids": [1]}));
    let group = opened["gid"].as_u64().unwrap();
    let second = middlebox.json(over, &format!("{PER} --lifetime 60s --group {group}"));
    assert_eq!((&second["pid"], &second["gid"]), (&json!(2), &opened["gid"]));
    assert_eq!(middlebox.json(over, "plc --rule 1 --lifetime 0s"), json!({"pid": 1, "lifetime_s": 0}));
    assert_eq!(middlebox.refusal(over, "prs --rule 1"), "0x0343");
    let block = middlebox.json(over, "pdr --internal *v4/udp --external 203.0.113.0/24:*/udp --lifetime 60s");
    assert_eq!(block, json!({"pid": 3, "lifetime_s": 60}));
    assert_eq!(middlebox.json(over, "prl"), json!({"pids": [3]}));
    assert_eq!(middlebox.refusal(over, &format!("{PER} --lifetime 300s")), "0x0350");
    middlebox.stop();
}

#[test]
fn a_rule_from_opening_to_end_over_tcp() {
    a_rule_from_opening_to_end(Over::Tcp, "simco-tcp");
}

#[test]
fn a_rule_from_opening_to_end_over_sctp() {
    a_rule_from_opening_to_end(Over::Sctp, "simco-sctp");
}

#[test]
fn people_read_lines() {
    let middlebox = Middlebox::start("simco-lines");
    let over = Over::Sctp;
    assert_eq!(middlebox.text(over, "prl"), "no rules\n");
    let reserved = middlebox.text(over, "prr --ports 2 --parity even --lifetime 300s");
    assert_contains(&reserved, &["rule 1\n", "group 1\n", "lifetime 300s\n", "outside *v4/udp\n"]);
    let enabled = middlebox.text(
        over,
        "pea --rule 1 --internal 10.1.8.3:5004+2/udp --external 203.0.113.9:6000+2/udp --lifetime 60s",
    );
    assert_contains(&enabled, &["rule 1\n", "lifetime 60s\n", "outside 10.1.8.3:5004+2/udp\n"]);
    assert_contains(&middlebox.text(over, "prs --rule 1"), &["kind enable\n", "owner b2bua\n"]);
    assert_eq!(middlebox.text(over, "prl"), "rule 1\n");
    assert_eq!(middlebox.text(over, "plc --rule 1 --lifetime 0s"), "rule 1\ndeleted\n");
    middlebox.stop();
}

/// A `watch` that runs; its lines.
fn watch(middlebox: &Middlebox, over: Over) -> (Child, impl Iterator<Item = String>) {
    let mut command = middlebox.command(over, "b2bua.key", "watch --json -");
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines().map(|line| line.unwrap());
    (child, lines)
}

#[test]
fn watch_tells_what_there_is_and_what_becomes_of_it() {
    let middlebox = Middlebox::start("simco-watch");
    for (over, first) in [(Over::Tcp, 1), (Over::Sctp, 3)] {
        middlebox.text(over, &format!("{PER} --lifetime 300s"));
        let (mut child, mut lines) = watch(&middlebox, over);
        let mut next = || serde_json::from_str::<Value>(&lines.next().unwrap()).unwrap();
        let found = next();
        assert_eq!((&found["event"], &found["pid"]), (&json!("found"), &json!(first)));
        middlebox.text(over, &format!("{PER} --lifetime 120s"));
        assert_eq!(next(), json!({"event": "rule", "pid": first + 1, "lifetime_s": 120}));
        for rule in [first, first + 1] {
            middlebox.text(over, &format!("plc --rule {rule} --lifetime 0s"));
            assert_eq!(next(), json!({"event": "rule", "pid": rule, "lifetime_s": 0}));
        }
        child.kill().unwrap();
        child.wait().unwrap();
    }
    middlebox.stop();
}

#[test]
fn a_wrong_key_is_said() {
    let middlebox = Middlebox::start("simco-key");
    for over in [Over::Tcp, Over::Sctp] {
        let output = middlebox.command(over, "other.key", "prl").output().unwrap();
        assert_eq!(output.status.code(), Some(1));
        assert_contains(&String::from_utf8(output.stderr).unwrap(), &["has not proved that it has the key"]);
    }
    middlebox.stop();
}

#[test]
fn load_measures_over_both_transports() {
    let middlebox = Middlebox::start("simco-load");
    let load = "load --opening-rate 50 --call-duration 1s --refresh 500ms --duration 2s";
    for (over, id) in [(Over::Tcp, "tcp"), (Over::Sctp, "sctp:6")] {
        let report = middlebox.json(over, load);
        let run = &report["runs"][0];
        assert_eq!((&run["id"], &run["failed"]), (&json!(id), &json!(0)));
        assert_eq!(run["requests"], run["responses"]);
        assert!(run["requests"].as_u64().unwrap() > 50, "{run}");
        assert!(run["response_ms"]["mean"].as_f64().unwrap() > 0.0);
    }
    middlebox.stop();
}

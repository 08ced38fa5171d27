//! `headway simco` as a user types it, with a middlebox at the other end: the daemon's server, its filter in memory.
#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests")]

use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use rcgen::{CertifiedKey, generate_simple_self_signed};
use serde_json::{Value, json};
use simco_middlebox::{Embedded, Settings};

mod support;
use support::{Folder, assert_contains, keys};

/// A middlebox on a thread of its own, and the keys of its agents.
struct Middlebox {
    served: Embedded,
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
        Self { served: serve(&folder, CONFIGURATION), folder }
    }

    fn tcp(&self) -> SocketAddr {
        self.served.tcp_addresses()[0]
    }

    /// Stops, and starts again at the same addresses with nothing in its memory.
    fn restart(self) -> Self {
        let tcp = format!("tcp = [\"{}\"]", self.tcp());
        let sctp = format!("encapsulation_port = {}", self.served.sctp_address().unwrap().port());
        self.served.stop();
        let text = CONFIGURATION.replace("tcp = [\"127.0.0.1:0\"]", &tcp);
        let served = serve(&self.folder, &text.replace("encapsulation_port = 0", &sctp));
        Self { served, folder: self.folder }
    }

    fn command(&self, over: Over, key: &str, arguments: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_headway"));
        command.args(["simco", "--agent", "b2bua", "--key-file"]).arg(self.folder.path().join(key));
        match over {
            Over::Tcp => command.args(["--to", &self.tcp().to_string()]),
            Over::Sctp => {
                let port = format!("0:{}", self.served.sctp_address().unwrap().port());
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
        self.served.stop();
    }
}

/// A port of before may be taken for a moment: a process that another test starts has our sockets until it is itself.
fn serve(folder: &Folder, configuration: &str) -> Embedded {
    let begin = Instant::now();
    loop {
        match Embedded::start(Settings::parse(configuration, folder.path()).unwrap()) {
            Ok(served) => return served,
            Err(error) if error.to_string().contains("in use") && begin.elapsed() < PATIENCE => {
                std::thread::yield_now();
            }
            Err(error) => panic!("{error}"),
        }
    }
}

const PATIENCE: Duration = Duration::from_secs(5);

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
    let listed = middlebox.json(over, "prl");
    assert_eq!(
        (&listed["pids"], &listed["rules"]),
        (&json!([1]), &json!([middlebox.json(over, "prs --rule 1")]))
    );
    let group = opened["gid"].as_u64().unwrap();
    let second = middlebox.json(over, &format!("{PER} --lifetime 60s --group {group}"));
    assert_eq!((&second["pid"], &second["gid"]), (&json!(2), &opened["gid"]));
    assert_eq!(middlebox.json(over, "plc --rule 1 --lifetime 0s"), json!({"pid": 1, "lifetime_s": 0}));
    assert_eq!(middlebox.refusal(over, "prs --rule 1"), "0x0343");
    let block = middlebox.json(over, "pdr --internal *v4/udp --external 203.0.113.0/24:*/udp --lifetime 60s");
    assert_eq!(block, json!({"pid": 3, "lifetime_s": 60}));
    assert_eq!(middlebox.json(over, "prl --numbers"), json!({"pids": [3], "rules": []}));
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
    middlebox
        .text(over, "per --internal 10.1.8.3:80/tcp --external *v4/tcp --direction outbound --lifetime 1h");
    middlebox.text(over, "pdr --internal *v4/udp --external 198.51.100.0/24:*/udp --lifetime 1h");
    let listed = middlebox.text(over, "prl");
    let lines: Vec<Vec<&str>> = listed.lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(lines[0], ["RULE", "LEFT", "OWNER", "WHAT"]);
    let what = |line: usize| lines[line][2..].join(" ");
    assert_eq!(what(1), "b2bua 203.0.113.9:6000+2/udp -> 10.1.8.3:5004+2/udp");
    assert_eq!(what(2), "b2bua 10.1.8.3:80/tcp -> *v4/tcp");
    assert_eq!(what(3), "b2bua blocks *v4/udp <-> 198.51.100.0/24:*/udp");
    assert_eq!(middlebox.text(over, "prl --numbers"), "1\n2\n3\n");
    assert_eq!(middlebox.text(over, "plc --rule 1 --lifetime 0s"), "rule 1\ndeleted\n");
    middlebox.stop();
}

#[test]
fn an_operator_controls_the_daemon_of_his_host() {
    let middlebox = Middlebox::start("simco-control");
    let socket = middlebox.folder.path().join("control");
    let served = serve(&middlebox.folder, &format!("[control]\nsocket = \"control\"\n{CONFIGURATION}"));
    let controlled = Middlebox { served, folder: middlebox.folder };
    let control = |arguments: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_headway"));
        command.args(["simco", "control", "--socket"]).arg(&socket);
        command.args(arguments.split_whitespace()).output().unwrap()
    };
    let says = |arguments: &str| String::from_utf8(control(arguments).stdout).unwrap();
    controlled.text(Over::Tcp, PER);
    assert_contains(&says("status"), &["rules: 1\n", "table: none, no packet is touched\n"]);
    assert_contains(&says("rules"), &["RULE", "b2bua  203.0.113.9:*/udp -> 10.1.8.3:12345/udp\n"]);
    assert_eq!(says("remove --rule 1"), "removed: 1\n");
    assert_eq!(says("rules"), "no rules\n");
    for (refused, why) in [("remove --rule 1", "there is no rule 1"), ("pass nothing", "touches no packet")] {
        let output = control(refused);
        assert_eq!(output.status.code(), Some(1));
        assert_contains(&String::from_utf8(output.stderr).unwrap(), &[why]);
    }
    assert_eq!(control("remove").status.code(), Some(2), "which one?");
    middlebox.served.stop();
    controlled.stop();
    let output = control("status");
    assert_eq!(output.status.code(), Some(1));
    assert_contains(&String::from_utf8(output.stderr).unwrap(), &["--socket", "is the middlebox running"]);
}

#[test]
fn help_of_a_command_has_its_own_options_and_none_of_the_connection() {
    let help = |arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_headway"));
        let output = command.arg("simco").args(arguments).arg("--help").output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    assert_contains(&help(&[]), &["Connection, for all commands", "--to <ADDR:PORT>", "--key-file <FILE>"]);
    for (command, own) in
        [("per", "--internal"), ("prl", "--numbers"), ("watch", "--duration"), ("control", "--socket")]
    {
        let help = help(&[command]);
        assert_contains(&help, &[own]);
        assert!(!help.contains("--to ") && !help.contains("--key-file"), "{help}");
    }
    assert_contains(&help(&["per"]), &["headway simco --help"]);
}

/// A `watch` that runs; its lines.
fn watch(middlebox: &Middlebox, over: Over) -> (Child, impl Iterator<Item = String> + use<>) {
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
fn watch_goes_on_when_the_middlebox_comes_back() {
    let mut middlebox = Middlebox::start("simco-comes-back");
    for over in [Over::Tcp, Over::Sctp] {
        middlebox.text(over, &format!("{PER} --lifetime 300s"));
        let (mut child, lines) = watch(&middlebox, over);
        let mut told = lines.map(|line| serde_json::from_str::<Value>(&line).unwrap());
        let mut next = |event: &str| told.find(|line| line["event"] == event).unwrap();
        assert_eq!(next("found")["pid"], 1);
        middlebox = middlebox.restart();
        let closed = next("closed");
        assert_eq!(closed["because"], "the middlebox has ended the session");
        let attempt = next("reconnecting");
        assert!(attempt["attempt"] == 1 && attempt["after_s"].as_f64().unwrap() <= 0.5, "{attempt}");
        next("opened");
        assert_eq!(next("lost"), json!({"event": "lost", "pid": 1, "because": "not listed"}));
        middlebox.text(over, &format!("{PER} --lifetime 120s"));
        assert_eq!(next("rule"), json!({"event": "rule", "pid": 1, "lifetime_s": 120}));
        middlebox.text(over, "plc --rule 1 --lifetime 0s");
        child.kill().unwrap();
        child.wait().unwrap();
        middlebox = middlebox.restart();
    }
    middlebox.stop();
}

/// Over TLS to a middlebox with a certificate of its own, which is believed by its file and by nothing else.
#[test]
fn tls_protects_and_other_certificates_are_not_believed() {
    let middlebox = Middlebox::start("simco-tls");
    let write = |file: &str, text: String| std::fs::write(middlebox.folder.path().join(file), text).unwrap();
    let names = || vec!["127.0.0.1".to_owned(), "middlebox.example".to_owned()];
    let CertifiedKey { cert, signing_key } = generate_simple_self_signed(names()).unwrap();
    write("tls.pem", cert.pem());
    write("tls.key", signing_key.serialize_pem());
    write("other.pem", generate_simple_self_signed(names()).unwrap().cert.pem());
    let tls = "[tls]\ncertificate = \"tls.pem\"\nkey = \"tls.key\"\n";
    let served = serve(&middlebox.folder, &format!("{tls}{CONFIGURATION}"));
    let protected = Middlebox { served, folder: middlebox.folder };
    let ask = |authority: &str, arguments: &str| {
        let authority = protected.folder.path().join(authority);
        let mut command = protected.command(Over::Tcp, "b2bua.key", arguments);
        command.arg("--tls-ca").arg(authority).output().unwrap()
    };
    for arguments in ["prl", "prl --tls-name middlebox.example"] {
        let output = ask("tls.pem", arguments);
        assert_eq!(String::from_utf8(output.stdout).unwrap(), "no rules\n");
    }
    let wrong = [("other.pem", "prl", 1, "TLS"), ("tls.pem", "prl --tls-name elsewhere.example", 1, "TLS")];
    let unusable = [("tls.key", "prl", 2, "--tls-ca"), ("nothing.pem", "prl", 2, "--tls-ca")];
    for (authority, arguments, status, says) in wrong.into_iter().chain(unusable) {
        let output = ask(authority, arguments);
        assert_eq!(output.status.code(), Some(status), "{authority}: {arguments}");
        assert_contains(&String::from_utf8(output.stderr).unwrap(), &[says]);
    }
    // Who speaks plainly to it is not understood, and does not wait for ever.
    let plain = protected.run(Over::Tcp, "prl --timeout 2s");
    assert_eq!(plain.status.code(), Some(1));
    middlebox.served.stop();
    protected.stop();
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

//! The daemon as agents and operators meet it: sockets, messages, metrics, the audit log.

#![allow(clippy::unwrap_used, reason = "only tests, but clippy does not see that outside of test functions")]

use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::time::Duration;

use simco::{Header, Message};
use simco_middlebox::{Embedded, Settings};

/// A daemon on a thread of its own.
struct Daemon(Embedded);

impl Daemon {
    fn start(extra: &str) -> Self {
        let text = format!(
            "{extra}\n[listen]\ntcp = [\"127.0.0.1:0\"]\n[metrics]\nlisten = \"127.0.0.1:0\"\n[anonymous]\nmay_disable = true\n"
        );
        Self(Embedded::start(Settings::parse(&text, Path::new(".")).unwrap()).unwrap())
    }

    fn connect(&self) -> Agent {
        let stream = TcpStream::connect(self.0.tcp_addresses()[0]).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
        Agent { stream }
    }

    fn session(&self) -> Agent {
        let mut agent = self.connect();
        agent.send(SESSION);
        assert_eq!(agent.receive()[..2], [0x02, 0x01]);
        agent
    }

    fn metrics(&self) -> String {
        let mut stream = TcpStream::connect(self.0.metrics_address().unwrap()).unwrap();
        stream.write_all(b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n").unwrap();
        let mut page = String::new();
        stream.read_to_string(&mut page).unwrap();
        page
    }

    fn stop(self) {
        self.0.stop();
    }
}

struct Agent {
    stream: TcpStream,
}

impl Agent {
    fn send(&mut self, octets: &[u8]) {
        self.stream.write_all(octets).unwrap();
    }

    /// One message.
    fn receive(&mut self) -> Vec<u8> {
        let mut message = vec![0; 8];
        self.stream.read_exact(&mut message).unwrap();
        let length = Header::decode(&message).unwrap().payload_bytes;
        message.resize(8 + length, 0);
        self.stream.read_exact(&mut message[8..]).unwrap();
        Message::decode(&message).unwrap();
        message
    }

    fn is_closed(&mut self) -> bool {
        matches!(self.stream.read(&mut [0]), Ok(0))
    }
}

/// SE, version 3.0.
const SESSION: &[u8] = &[1, 1, 0, 8, 0, 0, 0, 1, 0, 1, 0, 4, 3, 0, 0, 0];

/// PER, inbound, 10.1.8.3:12345 and 203.0.113.9 with any port, UDP, 300 s.
fn enable(transaction: u32) -> Vec<u8> {
    let mut message = vec![1, 0x12, 0, 48];
    message.extend(transaction.to_be_bytes());
    message.extend([0, 0x0B, 0, 4, 0, 1, 0, 0]);
    message.extend([0, 9, 0, 12, 1, 0x20, 0x11, 0, 0x30, 0x39, 0, 1, 10, 1, 8, 3]);
    message.extend([0, 9, 0, 12, 1, 0x20, 0x11, 3, 0, 0, 0, 1, 203, 0, 113, 9]);
    message.extend([0, 7, 0, 4, 0, 0, 1, 0x2C]);
    message
}

#[test]
fn an_agent_opens_a_pinhole_over_tcp_and_others_hear_of_it() {
    let daemon = Daemon::start("");
    let (mut agent, mut witness) = (daemon.session(), daemon.session());
    agent.send(&enable(2));
    let reply = agent.receive();
    assert_eq!(reply[..2], [0x02, 0x12], "PER is granted");
    assert_eq!(witness.receive()[..2], [0x04, 0x03], "ARE");
    let page = daemon.metrics();
    assert!(page.contains("simco_rules 1\n") && page.contains("simco_sessions 2\n"), "{page}");
    assert!(page.contains("simco_changes_total{kind=\"inserted\"} 1\n"), "{page}");
    daemon.stop();
}

#[test]
fn a_thousand_requests_in_one_write_are_answered_in_order() {
    let daemon = Daemon::start("");
    let mut agent = daemon.session();
    let requests: Vec<u8> = (2..1002).flat_map(enable).collect();
    agent.send(&requests);
    for transaction in 2..1002_u32 {
        let reply = agent.receive();
        assert_eq!(reply[..2], [0x02, 0x12]);
        assert_eq!(reply[4..8], transaction.to_be_bytes());
    }
    daemon.stop();
}

#[test]
fn messages_that_come_octet_by_octet_are_taken() {
    let daemon = Daemon::start("");
    let mut agent = daemon.connect();
    for octet in SESSION {
        agent.send(&[*octet]);
    }
    assert_eq!(agent.receive()[..2], [0x02, 0x01]);
    daemon.stop();
}

#[test]
fn a_hostile_agent_is_cut_off_and_others_go_on() {
    let daemon = Daemon::start("");
    let mut good = daemon.session();
    let mut hostile = daemon.session();
    hostile.send(&[0xFF; 4096]);
    assert_eq!(hostile.receive()[..2], [0x04, 0x01], "BFM");
    assert_eq!(hostile.receive()[..2], [0x04, 0x02], "AST");
    assert!(hostile.is_closed());
    let mut half = daemon.connect();
    half.send(&SESSION[..5]);
    good.send(&enable(2));
    assert_eq!(good.receive()[..2], [0x02, 0x12]);
    daemon.stop();
}

#[test]
fn stopping_ends_sessions_with_ast() {
    let daemon = Daemon::start("");
    let mut agent = daemon.session();
    daemon.stop();
    assert_eq!(agent.receive()[..2], [0x04, 0x02]);
    assert!(agent.is_closed());
}

#[test]
fn more_sessions_than_allowed_are_refused() {
    let daemon = Daemon::start("[limits]\nsessions = 1");
    let _first = daemon.session();
    let mut second = daemon.connect();
    second.send(SESSION);
    assert_eq!(second.receive()[..2], [0x03, 0x21], "lack of resources");
    assert!(second.is_closed());
    daemon.stop();
}

#[test]
fn every_change_is_in_the_audit_log() {
    let path = std::env::temp_dir().join(format!("simco-audit-{}.jsonl", std::process::id()));
    let _ = std::fs::remove_file(&path);
    let daemon = Daemon::start(&format!("[audit]\nfile = {path:?}"));
    let mut agent = daemon.session();
    agent.send(&enable(2));
    let reply = agent.receive();
    let mut delete = vec![1, 0x15, 0, 16, 0, 0, 0, 3];
    delete.extend(&reply[8..16]);
    delete.extend([0, 7, 0, 4, 0, 0, 0, 0]);
    agent.send(&delete);
    assert_eq!(agent.receive()[..2], [0x02, 0x16], "PRD");
    daemon.stop();
    let log = std::fs::read_to_string(&path).unwrap();
    let lines: Vec<serde_json::Value> = log.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let (lines, events): (Vec<_>, Vec<_>) = lines.into_iter().partition(|line| !line["change"].is_null());
    assert_eq!(events[0]["event"], "session_opened");
    let changes: Vec<&str> = lines.iter().filter_map(|line| line["change"].as_str()).collect();
    assert_eq!(changes, ["inserted", "deleted"]);
    assert_eq!(lines[0]["owner"], "127.0.0.1");
    std::fs::remove_file(&path).unwrap();
}

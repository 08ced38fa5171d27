//! What is told of interfaces that come and go, in a network namespace of each test's own.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::process::Command;

use nix::sched::{CloneFlags, unshare};
use serde_json::Value;

use crate::daemon::{Daemon, Folder, Lines, PATIENCE};

/// Runs a test in a namespace that vanishes with its last thread; where that is refused, says so, and fails where everything must run.
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

/// Makes an interface that carries packets as soon as it is up.
fn add_interface(name: &str) {
    ip(&format!("link add {name} type veth peer name {name}-far"));
    ip(&format!("link set {name}-far up"));
}

fn primary(line: &Value) -> &Value {
    &line["applications"]["default"]["primary"]
}

fn state<'a>(line: &'a Value, name: &str) -> &'a str {
    let interfaces = line["interfaces"].as_array().unwrap();
    let found = interfaces.iter().find(|found| found["name"] == name);
    found.and_then(|found| found["state"].as_str()).unwrap_or("absent")
}

#[test]
fn a_host_that_moves_is_told_of_and_a_restart_finds_how_things_stand() {
    in_a_namespace(|| {
        let folder = Folder::new("[applications.default]\nbetter_for_ms = 0\nprimary_interval_ms = 0\n");
        let daemon = Daemon::start(&folder);
        let mut lines = Lines::of(&folder);
        assert_eq!(*primary(&daemon.first), Value::Null);
        for (name, address) in [("near", "10.72.0.2"), ("other", "10.72.1.2")] {
            add_interface(name);
            ip(&format!("address add {address}/24 dev {name}"));
        }
        ip("link set near up");
        lines.until(|line| primary(line) == "10.72.0.2");
        // Another network, and then the first one is gone.
        ip("link set other up");
        ip("link set near down");
        let line = lines.until(|line| primary(line) == "10.72.1.2");
        let decision = &line["applications"]["default"]["decision"];
        assert_eq!(decision["rule"], "primary_gone", "{line}");
        daemon.kill();
        let daemon = Daemon::start(&folder);
        assert_eq!(*primary(&daemon.first), "10.72.1.2", "{}", daemon.first);
        let mut lines = Lines::of(&folder);
        ip("address delete 10.72.1.2/24 dev other");
        lines.until(|line| primary(line).is_null());
        ip("address add 2001:db8:72::2/64 dev other nodad");
        lines.until(|line| primary(line) == "2001:db8:72::2");
        ip("link delete other");
        lines.until(|line| primary(line).is_null() && state(line, "other") == "absent");
    });
}

#[test]
fn an_interface_that_flaps_is_damped_and_the_other_one_is_used() {
    in_a_namespace(|| {
        // However long a flap takes on a busy machine: the third is one too many.
        let folder = Folder::new(
            "[damping]\nflap_cost_ms = 1200000\nsuppress_ms = 3000000\nreuse_ms = 1200000\nlimit_ms = 3600000\n
            [applications.default]\nbetter_for_ms = 0\nprimary_interval_ms = 0\n
            [[applications.default.prefer]]\ninterface = \"near\"\n
            [[applications.default.prefer]]\ninterface = \"steady\"\ncost = 10\n",
        );
        let _daemon = Daemon::start(&folder);
        let mut lines = Lines::of(&folder);
        for (name, address) in [("near", "10.72.0.2"), ("steady", "10.72.1.2")] {
            add_interface(name);
            ip(&format!("address add {address}/24 dev {name}"));
        }
        ip("link set steady up");
        lines.until(|line| primary(line) == "10.72.1.2");
        // Each is seen, for what comes and goes within an instant is no flap.
        for _ in 0..4 {
            ip("link set near up");
            lines.until(|line| state(line, "near") == "addressed");
            ip("link set near down");
            lines.until(|line| state(line, "near") == "down");
        }
        ip("link set near up");
        let is_damped =
            |judged: &Value| judged["address"] == "10.72.0.2" && judged["verdict"]["damped"].is_object();
        let line = lines.until(|line| {
            line["applications"]["default"]["addresses"].as_array().unwrap().iter().any(is_damped)
        });
        assert_eq!(*primary(&line), "10.72.1.2", "{line}");
    });
}

#[test]
fn a_client_that_does_not_read_holds_up_nobody_and_finds_the_newest_line_later() {
    in_a_namespace(|| {
        let folder = Folder::new("");
        let _daemon = Daemon::start(&folder);
        let (mut slow, mut quick) = (Lines::of(&folder), Lines::of(&folder));
        add_interface("near");
        ip("link set near up");
        for last in 1..=60 {
            let address = format!("10.72.{last}.2");
            ip(&format!("address add {address}/24 dev near"));
            quick.until(|line| primary(line) == address.as_str());
            ip(&format!("address delete {address}/24 dev near"));
            quick.until(|line| primary(line).is_null());
        }
        ip("address add 10.72.99.2/24 dev near");
        slow.until(|line| primary(line) == "10.72.99.2");
    });
}

#[test]
fn an_operator_can_read_the_counters() {
    in_a_namespace(|| {
        ip("link set lo up");
        let folder = Folder::new("[daemon]\nclients = 1\nmetrics = \"127.0.0.1:9465\"\n");
        let _daemon = Daemon::start(&folder);
        let mut stream = TcpStream::connect("127.0.0.1:9465").unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.write_all(b"GET /metrics HTTP/1.1\r\n\r\n").unwrap();
        let mut page = String::new();
        stream.read_to_string(&mut page).unwrap();
        for line in ["mobility_readings_total 1", "mobility_facts_refused_total{reason=\"too_fast\"} 0"] {
            assert!(page.contains(line), "{page}");
        }
    });
}

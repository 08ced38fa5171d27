//! `headway emulate` around a command. Where namespaces are refused the tests check that this is said, and why.
#![allow(clippy::unwrap_used, clippy::unreachable, reason = "tests")]

mod support;

use std::process::{Command, Output, Stdio};

use serde_json::Value;
use support::assert_contains;

/// Runs `headway emulate`; `None` where this host refuses, which is then status 1 with a reason.
fn emulate(options: &str, command: &[&str]) -> Option<Output> {
    let output = Command::new(env!("CARGO_BIN_EXE_headway"))
        .arg("emulate")
        .args(options.split_whitespace())
        .arg("--")
        .args(command)
        .output()
        .unwrap();
    let error = String::from_utf8_lossy(&output.stderr);
    if error.contains("cannot emulate a network here") {
        assert_eq!(output.status.code(), Some(1));
        return None;
    }
    Some(output)
}

// The far end is in this host's namespace: tests at the same time need links of their own.

#[test]
fn command_sees_the_link_and_counters_follow_it() {
    let Some(output) = emulate("--link 201 --rtt 20ms --json -", &["cat", "/proc/net/dev"]) else { return };
    assert_eq!(output.status.code(), Some(0));
    let printed = String::from_utf8(output.stdout).unwrap();
    assert_contains(&printed, &["headway201:"]);
    let json = printed.split_at(printed.find("\n{").unwrap()).1;
    let result: Value = serde_json::from_str(json).unwrap();
    assert_eq!((&result["command_status"], &result["links"][0]["index"]), (&0.into(), &201.into()));
    assert_eq!(result["links"][0]["request"]["stats"]["offered"], 0);
    assert_contains(&String::from_utf8(output.stderr).unwrap(), &["direction", "request", "response"]);
}

#[test]
fn packets_of_the_command_are_dropped_as_listed() {
    // UDP to the discard port: nobody answers but with ICMP errors, which are not numbered.
    let script = "for n in 1 2 3; do echo $n > /dev/udp/10.77.202.2/9; done; exit 0";
    let Some(output) = emulate("--link 202 --delay 1ms --drop 2 --quiet --json -", &["bash", "-c", script])
    else {
        return;
    };
    let result: Value = serde_json::from_slice(&output.stdout).unwrap();
    let request = &result["links"][0]["request"];
    assert_eq!(request["stats"]["offered"], 3);
    assert_eq!(
        (&request["dropped"][0]["number"], &request["stats"]["dropped_listed"]),
        (&2.into(), &1.into())
    );
    assert!(output.stderr.is_empty());
}

#[test]
fn command_that_fails_or_does_not_exist_is_named() {
    let Some(output) = emulate("--link 203 --quiet", &["false"]) else { return };
    assert_eq!(output.status.code(), Some(1));
    assert_contains(&String::from_utf8(output.stderr).unwrap(), &["'false'", "exit status: 1"]);
    let output = emulate("--link 203 --quiet", &["no-such-program"]).unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert_contains(&String::from_utf8(output.stderr).unwrap(), &["'no-such-program'", "cannot be run"]);
}

/// As `env`, `timeout` and `ssh` do: whoever runs a test behind a link wants to know how it ended.
#[test]
fn exit_status_is_that_of_the_command() {
    for (script, status) in [("exit 7", 7), ("exit 0", 0), ("kill -TERM $$", 143), ("kill -KILL $$", 137)] {
        let Some(output) = emulate("--link 207 --quiet", &["sh", "-c", script]) else { return };
        assert_eq!(output.status.code(), Some(status), "{script}");
    }
}

/// A host of this test's own with a neighbour who knows nothing of the link's addresses. What `emulate` changed on the host is
/// as before at the end: after a run, after an interrupt, and when nobody was left to take it back.
const NAT: &str = r#"
set -e
ip link set lo up
unshare -n sleep 600 & neighbour=$!
trap "kill $neighbour" EXIT
while [ "$(readlink /proc/$neighbour/ns/net)" = "$(readlink /proc/self/ns/net)" ]; do :; done
there() { nsenter -t $neighbour -n "$@"; }
ip link add inside type veth peer name outside netns $neighbour
ip address add 192.0.2.1/24 dev inside; ip link set inside up
there ip address add 192.0.2.2/24 dev outside; there ip link set outside up
exec 3< <(exec nsenter -t $neighbour -n "$HEADWAY" echo --listen 192.0.2.2:5000 --transport udp)
trap "kill $neighbour $!" EXIT
read -r line <&3; echo "$line"
left() { echo "left by $1: $(nft list tables) $(cat /proc/sys/net/ipv4/conf/inside/forwarding)"; }
emulate() { "$HEADWAY" emulate --nat --link 205 --rtt 10ms --quiet "$@"; }
emulate -- "$HEADWAY" load --to 192.0.2.2:5000 --transport udp --duration 300ms --no-report --json - ; left run
emulate -- sh -c 'kill -INT $PPID; exec sleep 600' || echo "status $?"; left interrupt
emulate -- sh -c 'kill -KILL $PPID' || echo "status $?"
for _ in $(seq 1000); do [ -n "$(nft list tables)" ] || break; done; left kill
"#;

#[test]
fn behind_a_nat_the_hosts_network_is_reached_and_left_as_it_was() {
    let Some(output) = emulate("--link 205 --nat --quiet", &["true"]) else { return };
    let error = String::from_utf8(output.stderr).unwrap();
    if output.status.code() != Some(0) {
        assert_contains(&error, &["--nat", "needs root"]);
        return;
    }
    let output = Command::new("unshare")
        .args(["-n", "bash", "-c", NAT])
        .env("HEADWAY", env!("CARGO_BIN_EXE_headway"))
        .output()
        .unwrap();
    let error = String::from_utf8(output.stderr).unwrap();
    let printed = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(0), "{printed}\n{error}");
    let json = &printed[printed.find("\n{").unwrap()..printed.find("\n}").unwrap() + 2];
    let run = &serde_json::from_str::<Value>(json).unwrap()["runs"][0];
    assert!(run["requests"].as_u64().unwrap() > 0 && run["responses"] == run["requests"], "{run}");
    let ends = ["left by run:  0", "status 130", "left by interrupt:  0", "status 137", "left by kill:  0"];
    assert_contains(&printed, &ends);
}

#[test]
fn interrupt_is_passed_on_and_counters_are_printed() {
    // The command interrupts the emulator, which is its parent.
    let script = "kill -INT $PPID; exec sleep 600";
    let Some(output) = emulate("--link 204 --json -", &["sh", "-c", script]) else { return };
    assert_eq!(output.status.code(), Some(130));
    let result: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(result["command_status"], Value::Null);
    assert_contains(&String::from_utf8(output.stderr).unwrap(), &["direction", "interrupted"]);
}

#[test]
fn namespaces_that_do_not_exist_are_named() {
    let output = Command::new(env!("CARGO_BIN_EXE_headway"))
        .args(["emulate", "--between", "no-such-namespace", "another"])
        .stdin(Stdio::null())
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1));
    let error = String::from_utf8(output.stderr).unwrap();
    let reasons = ["no-such-namespace", "needs root", "cannot emulate a network here"];
    assert!(reasons.iter().any(|reason| error.contains(reason)), "{error}");
}

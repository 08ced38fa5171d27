//! `headway demo handover` without a terminal. Where namespaces are refused the test checks that this is said, and why.
#![allow(clippy::unwrap_used, reason = "tests")]

mod support;

use serde_json::Value;
use support::{Folder, assert_contains, headway, refusal};

/// Order and counters alone: how long anything takes is this machine's business.
#[test]
fn frames_arrive_once_while_their_receiver_goes_from_network_to_network() {
    let folder = Folder::new("demo");
    std::fs::create_dir(folder.path()).unwrap();
    let at = folder.path().display();
    let output = headway(&format!("demo handover --duration 2s --html {at}/a.html --json {at}/a.json"));
    let error = String::from_utf8(output.stderr).unwrap();
    if error.contains("cannot make networks here") {
        assert_eq!(output.status.code(), Some(1));
        return;
    }
    let printed = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(0), "{printed}\n{error}");
    let result: Value = serde_json::from_str(&folder.read("a.json")).unwrap();
    let frames = &result["frames"];
    assert!(frames["sent"].as_u64().unwrap() > 0, "{printed}");
    assert_eq!(frames["arrived"], frames["sent"], "{printed}");
    assert_eq!((&frames["missing"], &frames["duplicates"]), (&0.into(), &0.into()), "{printed}");
    let movements = result["movements"].as_array().unwrap();
    let first = &movements[0];
    assert_eq!((&first["from"], &first["to"], &first["rule"]), (&1.into(), &2.into(), &"cheaper".into()));
    assert!(movements.windows(2).all(|pair| pair[0]["to"] == pair[1]["from"]), "{printed}");
    let switched = "network 2 (WLAN) is switched";
    let [on, off, again] =
        [format!("{switched} on"), format!("{switched} off"), "add 10.77.2.1: it stands by".to_owned()]
            .map(|line| printed.find(&line).unwrap());
    assert!(on < again && again < off, "{printed}");
    let html = folder.read("a.html");
    assert_contains(
        &html,
        &["<svg", "network 1 (mobile)", "it costs less", "--json FILE writes the numbers"],
    );
}

#[test]
fn length_that_no_network_can_come_and_go_in_is_refused() {
    for duration in ["100ms", "2h"] {
        let refused = refusal(&format!("demo handover --duration {duration}"));
        assert_contains(&refused, &["--duration", "1s to 1h"]);
    }
}

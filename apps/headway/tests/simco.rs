//! `headway simco` as a user sees it where there is no middlebox, or no sense in what is asked. What a middlebox answers
//! is tested where one runs: `simco-agent`, `simco-middlebox`.
#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use std::net::TcpListener;
use std::process::{Command, Output};

mod support;
use support::free_port;

fn simco(arguments: &str) -> Output {
    let words = arguments.split_whitespace();
    Command::new(env!("CARGO_BIN_EXE_headway")).arg("simco").args(words).output().unwrap()
}

fn refusal(arguments: &str, status: i32) -> String {
    let output = simco(arguments);
    assert_eq!(output.status.code(), Some(status), "{arguments}");
    assert!(output.stdout.is_empty(), "{arguments}");
    String::from_utf8(output.stderr).unwrap()
}

#[test]
fn nobody_at_the_port_is_said_with_the_port() {
    let port = free_port();
    let said = refusal(&format!("--to 127.0.0.1:{port} prl"), 1);
    assert!(
        said.contains(&format!("127.0.0.1:{port}")) && said.contains("is the middlebox running"),
        "{said}"
    );
}

#[test]
fn middlebox_that_says_nothing_is_given_up() {
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let said = refusal(&format!("--to {} --timeout 200ms prl", silent.local_addr().unwrap()), 1);
    assert!(said.contains("error: "), "{said}");
}

#[test]
fn tuple_without_protocol_is_refused_with_an_example() {
    let said =
        refusal("per --internal 10.1.8.3 --external 192.0.2.1:0/udp --direction inbound --lifetime 300s", 2);
    assert!(said.contains("--internal") && said.contains("10.1.8.3:12345/udp"), "{said}");
}

#[test]
fn lifetime_without_unit_is_refused() {
    let said = refusal("plc --rule 1 --lifetime 300", 2);
    assert!(said.contains("--lifetime") && said.contains("300"), "{said}");
}

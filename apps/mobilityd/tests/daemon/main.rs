//! The daemon as a process: its socket, its clients, its configuration; and in network namespaces that the tests make, what it tells of
//! interfaces.
//!
//! Nothing is judged by time. Who waits gives up after two minutes.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]
#![allow(clippy::print_stderr, reason = "a test that cannot run says why")]
#![cfg(target_os = "linux")]

mod daemon;
mod moving;

use std::io::Write as _;
use std::path::Path;

use self::daemon::{Daemon, Folder, Lines, explain};

#[test]
fn a_second_daemon_is_refused_and_says_why() {
    let folder = Folder::new("");
    let daemon = Daemon::start(&folder);
    let error = Daemon::failure(&folder);
    assert!(error.contains("another mobilityd has this socket"), "{error}");
    // The first one is not disturbed.
    assert_eq!(Lines::of(&folder).next()["daemon"], daemon.first["daemon"]);
}

#[test]
fn what_a_killed_daemon_left_is_replaced_and_clients_can_tell() {
    let folder = Folder::new("");
    let daemon = Daemon::start(&folder);
    let before = daemon.first["daemon"].clone();
    daemon.kill();
    assert!(folder.socket().exists());
    let daemon = Daemon::start(&folder);
    assert_ne!(daemon.first["daemon"], before);
}

#[test]
fn a_file_that_is_no_socket_stays() {
    let folder = Folder::new("");
    std::fs::write(folder.socket(), "precious").unwrap();
    let error = Daemon::failure(&folder);
    assert!(error.contains("no socket, and stays"), "{error}");
    assert_eq!(std::fs::read_to_string(folder.socket()).unwrap(), "precious");
}

#[test]
fn a_daemon_that_is_stopped_takes_its_socket_along() {
    let folder = Folder::new("");
    let daemon = Daemon::start(&folder);
    let mut lines = Lines::of(&folder);
    lines.next();
    assert!(daemon.stop().success());
    assert!(lines.is_over() && !folder.socket().exists());
}

#[test]
fn clients_beyond_the_limit_and_those_that_speak_are_told_so() {
    let folder = Folder::new("[daemon]\nclients = 2\n");
    let _daemon = Daemon::start(&folder);
    let (_quiet, mut loud) = (Lines::admitted(&folder), Lines::admitted(&folder));
    let mut third = Lines::of(&folder);
    assert_eq!(third.next()["error"], "too many clients; see daemon.clients");
    assert!(third.is_over());
    loud.stream().write_all(b"hello\n").unwrap();
    assert_eq!(loud.next()["error"], "nothing is to be said here");
    assert!(loud.is_over());
    // Its place is free again.
    Lines::admitted(&folder);
}

#[test]
fn a_configuration_that_is_read_again_holds_and_one_with_a_fault_changes_nothing() {
    let folder = Folder::new("");
    let daemon = Daemon::start(&folder);
    let mut lines = Lines::of(&folder);
    folder.configure("[applications.video]\naddresses = 1\n");
    daemon.hang_up();
    folder.configure("[applications.video]\naddresses = 2\n");
    daemon.hang_up();
    lines.until(|line| line["applications"]["video"].is_object());
}

#[test]
fn a_person_is_told_which_rule_fired_or_what_is_wrong() {
    let folder = Folder::new("[applications.video]\n");
    let unreachable = explain(&["--socket", folder.socket().to_str().unwrap()]);
    assert!(unreachable.contains("is mobilityd running"), "{unreachable}");
    let _daemon = Daemon::start(&folder);
    let of = |application: &str| explain(&["--socket", folder.socket().to_str().unwrap(), application]);
    assert!(of("video").starts_with("use "), "{}", of("video"));
    assert!(of("nobody").contains("there are: default, video"), "{}", of("nobody"));
}

#[test]
fn a_fault_in_the_configuration_is_said_and_nothing_begins() {
    let folder = Folder::new("[daemon]\nclients = 0\n");
    let error = Daemon::failure(&folder);
    assert!(error.contains("daemon.clients = 0: from 1 to 1024 are possible"), "{error}");
    assert!(!folder.socket().exists());
}

#[test]
fn the_configuration_that_is_installed_is_valid() {
    let installed = Path::new(env!("CARGO_MANIFEST_DIR")).join("dist/mobilityd.toml");
    assert!(daemon::program().arg(installed).arg("--check").status().unwrap().success());
}

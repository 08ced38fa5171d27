//! Hostile agents: others are served all the while, and memory stays within its limit.

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use simco::agent::AgentCloseReason;
use simco_agent::{ConnectError, SimcoAgent};

use crate::agent::{alice, lifetime, make, pinhole, settings, with_agents};
use crate::daemon::{Daemon, Folder, Over, PATIENCE, time_until};

/// SE, version 3.0.
const SESSION: [u8; 16] = [1, 1, 0, 8, 0, 0, 0, 1, 0, 1, 0, 4, 3, 0, 0, 0];
/// PRL.
const LIST: [u8; 8] = [1, 0x22, 0, 0, 0, 0, 0, 9];
/// Nobody waits longer for an answer, whatever the others do.
const BEARABLE: Duration = Duration::from_secs(2);
/// By how much memory may grow: outboxes and half messages are limited, each.
const MOST_GROWTH_BYTES: u64 = 48 << 20;

/// A good agent asks all the while `attack` lasts; how often it was answered.
fn served_during(daemon: &Daemon, over: Over, attack: impl FnOnce() + Send) -> u32 {
    let middlebox = daemon.middlebox(over);
    let is_over = AtomicBool::new(false);
    let before = daemon.resident_bytes();
    let answered = std::thread::scope(|scope| {
        let good = scope.spawn(|| {
            with_agents(None, async || {
                let (agent, _) = alice(&middlebox).await;
                let mut answered = 0;
                while !is_over.load(Ordering::Relaxed) || answered < 3 {
                    let start = Instant::now();
                    let rule = make(&agent, pinhole(4000, 0, 60)).await;
                    agent.request(lifetime(rule, 0)).await.unwrap();
                    assert!(start.elapsed() < BEARABLE, "{:?}", start.elapsed());
                    answered += 1;
                }
                answered
            })
        });
        attack();
        is_over.store(true, Ordering::Relaxed);
        good.join().unwrap()
    });
    let grown = daemon.resident_bytes().saturating_sub(before);
    assert!(grown < MOST_GROWTH_BYTES, "{grown} octets more");
    answered
}

fn connect(daemon: &Daemon) -> TcpStream {
    let stream = TcpStream::connect(daemon.tcp).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    stream
}

#[test]
fn bad_keys_are_refused_one_after_the_other() {
    let folder = Folder::new("");
    let daemon = Daemon::start(&folder, None);
    for over in [Over::Tcp, Over::Sctp] {
        let middlebox = daemon.middlebox(over);
        served_during(&daemon, Over::Tcp, || {
            with_agents(None, async || {
                for attempt in 0..100 {
                    let name = if attempt % 2 == 0 { "alice" } else { "nobody" };
                    let refused = SimcoAgent::connect(&middlebox, settings(name, 0xEE)).await;
                    assert!(matches!(
                        refused,
                        Err(ConnectError::Session(AgentCloseReason::NotAuthenticated))
                    ));
                }
            });
        });
    }
    daemon.stop();
}

#[test]
fn a_flood_without_reading_is_cut_off() {
    let folder = Folder::new("[anonymous]\n[limits]\noutbox_bytes = 1000000");
    let daemon = Daemon::start(&folder, None);
    let answered = served_during(&daemon, Over::Sctp, || {
        let mut flood = connect(&daemon);
        flood.write_all(&SESSION).unwrap();
        let requests = LIST.repeat(8192);
        // Replies are not read: in the end the connection is.
        flood.set_write_timeout(Some(PATIENCE)).unwrap();
        time_until(|| match flood.write_all(&requests) {
            Ok(()) => false,
            Err(error) => {
                let is_cut = matches!(error.kind(), ErrorKind::ConnectionReset | ErrorKind::BrokenPipe);
                assert!(is_cut, "{error}");
                true
            }
        });
    });
    assert!(answered > 0);
    daemon.stop();
}

#[test]
fn the_longest_messages_and_longer_ones_are_answered_as_they_must() {
    let folder = Folder::new("[anonymous]");
    let daemon = Daemon::start(&folder, None);
    served_during(&daemon, Over::Tcp, || {
        let mut stream = connect(&daemon);
        stream.write_all(&SESSION).unwrap();
        stream.read_exact(&mut [0; 20]).unwrap();
        let mut longest = vec![0x5A; 8 + 65_528];
        longest[..8].copy_from_slice(&[1, 0x12, 0xFF, 0xF8, 0, 0, 0, 2]);
        for _ in 0..100 {
            stream.write_all(&longest).unwrap();
            let mut reply = [0; 8];
            stream.read_exact(&mut reply).unwrap();
            assert_eq!(reply[..2], [0x03, 0x12], "badly formed");
        }
        longest[2..4].copy_from_slice(&[0xFF, 0xFF]);
        stream.write_all(&longest).unwrap();
        let mut notices = [0; 16];
        stream.read_exact(&mut notices).unwrap();
        assert_eq!((&notices[..2], &notices[8..10]), (&[4, 1][..], &[4, 2][..]), "BFM, AST");
    });
    daemon.stop();
}

#[test]
fn half_messages_of_many_connections_hold_up_nobody() {
    let folder = Folder::new("[anonymous]\n[limits]\nconnections_per_host = 300");
    let daemon = Daemon::start(&folder, None);
    let mut half = vec![0; 60_000];
    half[..8].copy_from_slice(&[1, 0x12, 0xFF, 0xF8, 0, 0, 0, 2]);
    let mut connections = Vec::new();
    served_during(&daemon, Over::Tcp, || {
        for _ in 0..250 {
            let mut stream = connect(&daemon);
            stream.write_all(&half).unwrap();
            connections.push(stream);
        }
    });
    // They are all still there, and say nothing.
    connections[0].set_nonblocking(true).unwrap();
    assert_eq!(connections[0].read(&mut [0]).unwrap_err().kind(), ErrorKind::WouldBlock);
    daemon.stop();
}

#[test]
fn a_host_with_too_many_connections_is_turned_away() {
    let folder = Folder::new("[limits]\nconnections_per_host = 10");
    let daemon = Daemon::start(&folder, None);
    let held: Vec<TcpStream> = (0..10).map(|_| connect(&daemon)).collect();
    let mut one_more = connect(&daemon);
    assert!(matches!(one_more.read(&mut [0]), Ok(0) | Err(_)));
    drop(held);
    let middlebox = daemon.middlebox(Over::Tcp);
    with_agents(None, async || {
        crate::agent::time_until(async || {
            SimcoAgent::connect(&middlebox, settings("alice", crate::daemon::ALICE)).await.is_ok()
        })
        .await;
    });
    daemon.stop();
}

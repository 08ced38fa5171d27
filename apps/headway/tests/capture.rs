//! Packets of `headway compare` between namespaces: each once, and on the clock of the events. Where namespaces are refused
//! the tests check that this is said.
#![allow(clippy::unwrap_used, clippy::print_stderr, reason = "tests")]

mod support;

use std::path::Path;
use std::process::Command;

use serde_json::Value;
use support::{Folder, assert_contains, compare_in_namespaces};

/// What was measured with packets written to `run.pcapng`; `None` where this host refuses namespaces.
fn compare(folder: &Folder, options: &str) -> Option<Value> {
    std::fs::create_dir_all(folder.path()).unwrap();
    let here = folder.path().display();
    compare_in_namespaces(&format!("--duration 2s --pcap {here}/run.pcapng {options}"))
}

/// An IP packet, and when it was seen, in nanoseconds since 1970.
struct Packet {
    at_ns: u64,
    octets: Vec<u8>,
}

impl Packet {
    fn is_of(&self, protocol: u8) -> bool {
        self.octets[0] == 0x45 && self.octets[9] == protocol
    }

    /// Of SCTP in UDP: behind the headers of IP, UDP and SCTP.
    fn first_chunk(&self) -> Option<u8> {
        self.octets.get(40).copied().filter(|_| self.is_of(17))
    }
}

/// The packets of a pcapng file (block type, length, and for packets interface, time, lengths, data).
fn packets(file: &Path) -> Vec<Packet> {
    let octets = std::fs::read(file).unwrap();
    let number = |at: usize| u32::from_le_bytes(octets[at..at + 4].try_into().unwrap());
    let (mut at, mut packets) = (0, Vec::new());
    while at < octets.len() {
        if number(at) == 6 {
            let at_ns = u64::from(number(at + 12)) << 32 | u64::from(number(at + 16));
            let length = usize::try_from(number(at + 20)).unwrap();
            packets.push(Packet { at_ns, octets: octets[at + 28..at + 28 + length].to_vec() });
        }
        at += usize::try_from(number(at + 4)).unwrap();
    }
    packets
}

fn sent(result: &Value) -> usize {
    let packets = &result["runs"][0]["packets"];
    let sent = packets["request"]["sent"].as_u64().unwrap() + packets["response"]["sent"].as_u64().unwrap();
    usize::try_from(sent).unwrap()
}

#[test]
fn every_packet_is_there_once_unless_both_places_are_wanted() {
    let folder = Folder::new("capture-once");
    for (place, times) in [("", 1), ("--pcap-at receiver", 1), ("--pcap-at both", 2)] {
        let Some(result) = compare(&folder, &format!("--transport tcp {place}")) else { return };
        let packets = packets(&folder.path().join("run.pcapng"));
        let of_tcp = packets.iter().filter(|packet| packet.is_of(6)).count();
        let sent = sent(&result);
        // The last ones may not have come out yet when the emulator ends.
        let range = if place.is_empty() { sent..=sent } else { times * sent - 20..=times * sent };
        assert!(range.contains(&of_tcp), "{place}: {of_tcp} packets of {sent}");
    }
}

/// Wireshark takes a packet that is there twice for a retransmission.
#[test]
fn wireshark_sees_no_retransmissions_where_nothing_was_lost() {
    if Command::new("tshark").arg("--version").output().is_err() {
        return eprintln!("left out: no tshark");
    }
    let folder = Folder::new("capture-tshark");
    let Some(result) = compare(&folder, "--transport tcp") else { return };
    let flagged = Command::new("tshark")
        .arg("-r")
        .arg(folder.path().join("run.pcapng"))
        .args(["-Y", "tcp.analysis.retransmission || tcp.analysis.duplicate_ack"])
        .output()
        .unwrap();
    let flagged = String::from_utf8(flagged.stdout).unwrap().lines().count();
    // A busy machine makes TCP repeat a segment now and then, which is no fault of the capture.
    assert!(flagged * 20 < sent(&result), "{flagged} of {}", sent(&result));
}

#[test]
fn packets_and_events_are_on_one_clock() {
    let folder = Folder::new("capture-clock");
    let events = folder.path().join("events");
    let Some(_) = compare(&folder, &format!("--transport sctp:1 --events {}", events.display())) else {
        return;
    };
    let packets = packets(&folder.path().join("run.pcapng"));
    let chunk = |kind: u8| packets.iter().find(|packet| packet.first_chunk() == Some(kind)).unwrap().at_ns;
    let (init, init_ack, cookie_echo) = (chunk(1), chunk(2), chunk(10));
    let events: Vec<Value> =
        folder.read("events").lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let state = |name: &str| {
        let mut reached = events.iter().filter(|event| event["to"] == name);
        reached.next().unwrap()["at_ns"].as_u64().unwrap()
    };
    let order = [state("COOKIE-WAIT"), init, init_ack, state("COOKIE-ECHOED"), cookie_echo];
    assert!(order.is_sorted(), "{order:?}");
}

#[test]
fn a_place_that_does_not_exist_is_refused() {
    let error = support::refusal("compare --pcap-at middle");
    assert_contains(&error, &["--pcap-at", "middle", "sender, receiver, both"]);
}

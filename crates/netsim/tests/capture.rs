//! Captures hold what was on the links, in a form that other programs read.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on ends here")]

mod peer;

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use netem::Impairments;
use netsim::{CapturePoint, CaptureScope, LinkSpec, Protocol, World};
use pcap_file::pcapng::{Block, PcapNgReader};
use peer::{Pair, Peer, delay, host};
use virtual_time::Instant;

const UDP: Protocol = Protocol::Udp { source_port: 9899, destination_port: 9900 };

fn path(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name)
}

/// Two hosts over IPv4 and IPv6, the second of four packets is dropped; returns departures and arrivals.
fn record(name: &str) -> [PathBuf; 2] {
    let files = ["departure", "arrival"].map(|point| path(&format!("{name}-{point}.pcapng")));
    let mut world = World::new(1);
    let (left, a) = host(&mut world, &["10.0.0.1 fd00::1"]);
    let (_, b) = host(&mut world, &["10.0.0.2 fd00::2"]);
    let request = Impairments { drop_packets: [2].into(), ..delay(20) };
    world.connect(a[0], b[0], LinkSpec { request, response: delay(20) }).unwrap();
    for (file, point) in files.iter().zip([CapturePoint::Departure, CapturePoint::Arrival]) {
        world.capture(Box::new(File::create(file).unwrap()), CaptureScope::World, point).unwrap();
    }
    world.run_until(Instant::from_nanos(1_000_000_001));
    world.with_host(left, |peer: &mut Peer, _| {
        peer.send(None, "10.0.0.2", UDP, b"odd length!");
        peer.send(None, "10.0.0.2", UDP, b"dropped");
        peer.send(None, "fd00::2", UDP, b"over IPv6");
        peer.send(None, "10.0.0.2", Protocol::Sctp, &[0; 12]);
    });
    world.run_until(Instant::from_millis(2_000));
    world.finish_captures().unwrap();
    files
}

/// Time, comment and octets of every packet of a file.
fn packets(file: &PathBuf) -> Vec<(Duration, bool, Vec<u8>)> {
    let mut reader = PcapNgReader::new(File::open(file).unwrap()).unwrap();
    let mut packets = Vec::new();
    while let Some(block) = reader.next_block() {
        if let Block::EnhancedPacket(packet) = block.unwrap() {
            packets.push((packet.timestamp, !packet.options.is_empty(), packet.data.to_vec()));
        }
    }
    packets
}

#[test]
fn departures_and_arrivals_are_written_at_their_times() {
    let [departures, arrivals] = record("read-back").map(|file| packets(&file));
    let sent_at = Duration::from_nanos(1_000_000_001);
    let is_dropped: Vec<bool> = departures.iter().map(|(_, is_commented, _)| *is_commented).collect();
    assert_eq!(is_dropped, [false, true, false, false]);
    assert!(departures.iter().all(|(at, _, _)| *at == sent_at));
    assert_eq!(arrivals.len(), 3);
    assert!(arrivals.iter().all(|(at, _, _)| *at == sent_at + Duration::from_millis(20)));
    let lengths: Vec<usize> = arrivals.iter().map(|(_, _, octets)| octets.len()).collect();
    assert_eq!(lengths, [20 + 8 + 11, 40 + 8 + 9, 20 + 12]);
    assert!(arrivals[1].2.ends_with(b"over IPv6"));
}

#[test]
fn headers_have_right_checksums() {
    let [departures, _] = record("checksums").map(|file| packets(&file));
    let ones_complement = |words: &mut dyn Iterator<Item = u16>| {
        let total: u32 = words.map(u32::from).sum();
        (total & 0xFFFF) + (total >> 16)
    };
    let words = |octets: &[u8]| -> Vec<u16> {
        octets.chunks(2).map(|pair| u16::from_be_bytes([pair[0], *pair.get(1).unwrap_or(&0)])).collect()
    };
    for (_, _, octets) in departures.iter().filter(|(_, _, octets)| octets[0] >> 4 == 4) {
        assert_eq!(ones_complement(&mut words(&octets[..20]).into_iter()), 0xFFFF);
    }
    let udp = &departures[0].2;
    let pseudo_header = [&udp[12..20], &[0, 17], &udp[24..26]].concat();
    let covered = [words(&pseudo_header), words(&udp[20..])].concat();
    assert_eq!(ones_complement(&mut covered.into_iter()), 0xFFFF);
}

#[test]
fn tshark_reads_addresses_lengths_and_checksums() {
    if Command::new("tshark").arg("--version").output().is_err() {
        println!("tshark is not installed: nothing to compare with");
        return;
    }
    let [departures, _] = record("tshark");
    let mut tshark = Command::new("tshark");
    tshark.arg("-r").arg(&departures);
    tshark.args(["-o", "ip.check_checksum:TRUE", "-o", "udp.check_checksum:TRUE"]);
    tshark.args(["-T", "fields", "-E", "separator=;"]);
    for field in ["frame.time_epoch", "frame.interface_name", "ip.src", "ip.checksum.status", "ipv6.dst"] {
        tshark.args(["-e", field]);
    }
    for field in ["udp.dstport", "udp.checksum.status", "ip.proto", "frame.comment"] {
        tshark.args(["-e", field]);
    }
    let output = tshark.output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let expected = "\
1.000000001;link 0;10.0.0.1;1;;9900;1;17;
1.000000001;link 0;10.0.0.1;1;;9900;1;17;dropped: its number was listed
1.000000001;link 0;;;fd00::2;9900;1;;
1.000000001;link 0;10.0.0.1;1;;;;132;
";
    assert_eq!(text, expected, "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn a_capture_of_one_link_leaves_the_others_out() {
    let mut pair = Pair::new(1, delay(1));
    let (stranger, a) = host(&mut pair.world, &["10.9.0.1"]);
    let (_, b) = host(&mut pair.world, &["10.9.0.2"]);
    let other = pair.world.connect(a[0], b[0], LinkSpec::default()).unwrap();
    let file = path("one-link.pcapng");
    let writer = Box::new(File::create(&file).unwrap());
    pair.world.capture(writer, CaptureScope::Link(other), CapturePoint::Arrival).unwrap();
    pair.send(b"not this");
    pair.world.with_host(stranger, |peer, _| peer.send(None, "10.9.0.2", Protocol::Sctp, b"this"));
    pair.world.run_until(Instant::from_millis(10));
    pair.world.finish_captures().unwrap();
    let written = packets(&file);
    assert_eq!(written.len(), 1);
    assert!(written[0].2.ends_with(b"this"));
    assert_eq!(written[0].2[12..16], [10, 9, 0, 1]);
    fs::remove_file(file).unwrap();
}

#[test]
fn a_full_disk_is_reported_and_does_not_stop_the_run() {
    struct Full(usize);
    impl Write for Full {
        fn write(&mut self, octets: &[u8]) -> io::Result<usize> {
            self.0 = self.0.checked_sub(octets.len()).ok_or(io::ErrorKind::StorageFull)?;
            Ok(octets.len())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let mut pair = Pair::new(1, delay(1));
    pair.world.capture(Box::new(Full(100)), CaptureScope::World, CapturePoint::Departure).unwrap();
    pair.send_numbered(10, Duration::from_millis(1));
    pair.world.run_until(Instant::from_millis(100));
    assert_eq!(pair.world.host(pair.right).inbox.len(), 10);
    assert!(pair.world.finish_captures().is_err());
}

#[test]
fn a_capture_changes_nothing() {
    let hash = |is_captured| {
        let mut pair = Pair::new(1, peer::rough());
        if is_captured {
            let writer = Box::new(io::sink());
            pair.world.capture(writer, CaptureScope::World, CapturePoint::Arrival).unwrap();
        }
        pair.send_numbered(100, Duration::from_millis(1));
        pair.world.trace_hash()
    };
    assert_eq!(hash(true), hash(false));
}

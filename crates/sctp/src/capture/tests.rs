use pcap_file::pcapng::{Block, PcapNgReader};
use sctp_core::{Destination, Ecn};

use std::time::Duration;

use super::*;

/// What a reader finds: time since the epoch of the file's first packet, direction, packet.
fn packets(path: &Path) -> Vec<(Duration, u32, Vec<u8>)> {
    let mut reader = PcapNgReader::new(File::open(path).unwrap()).unwrap();
    let mut found = Vec::new();
    while let Some(block) = reader.next_block() {
        if let Block::EnhancedPacket(packet) = block.unwrap() {
            let flags = packet.options.iter().find_map(|option| {
                if let EnhancedPacketOption::Flags(flags) = option { Some(*flags) } else { None }
            });
            found.push((packet.timestamp, flags.unwrap(), packet.data.into_owned()));
        }
    }
    found
}

#[test]
fn sent_and_received_packets_are_found_with_times_and_direction() {
    let directory = std::env::temp_dir().join(format!("sctp-capture-{}", std::process::id()));
    let mut capture = Capture::create(&directory).unwrap();
    let bound: SocketAddr = "0.0.0.0:9899".parse().unwrap();
    let encapsulation = Encapsulation::Udp { port: 5_000 };
    let peer = Destination { address: [127, 0, 0, 9].into(), encapsulation };
    let ecn = Ecn::NotEct;
    let contents = b"firstothers".as_slice();
    capture.sent(
        Instant::from_millis(1),
        bound,
        &Outgoing { segment_bytes: Some(5), ..Outgoing::single(peer, contents) },
    );
    let datagram = Datagram { source: peer, local: None, ecn, payload: b"answer" };
    capture.received(Instant::from_millis(3), bound, &datagram);
    capture.flush();

    let found = packets(&directory);
    std::fs::remove_file(&directory).unwrap();
    let payloads: Vec<_> = found.iter().map(|(_, direction, data)| (*direction, &data[28..])).collect();
    let expected = [
        (OUTBOUND, b"first".as_slice()),
        (OUTBOUND, b"other".as_slice()),
        (OUTBOUND, b"s".as_slice()),
        (INBOUND, b"answer".as_slice()),
    ];
    assert_eq!(payloads, expected);
    assert_eq!(found[3].0 - found[0].0, Duration::from_millis(2));
    // The unspecified address was replaced by the one the routing table chooses.
    assert_eq!(found[0].2[12..16], [127, 0, 0, 1]);
}

//! What the fuzz targets do with octets.

pub mod operations;
pub mod simco;
pub mod sip;

#[allow(dead_code, reason = "the tests of `sctp-core` use the rest")]
#[path = "../../crates/sctp-core/tests/pair/by_hand.rs"]
mod by_hand;
#[allow(dead_code, reason = "the tests of `sctp-core` use the rest")]
#[path = "../../crates/sctp-core/tests/pair/dice.rs"]
mod dice;
#[allow(dead_code, unused_imports, reason = "the tests of `sctp-core` use the rest")]
#[path = "../../crates/sctp-core/tests/pair/forging.rs"]
mod forging;
#[allow(dead_code, unused_imports, reason = "the tests of `sctp-core` use the rest")]
#[path = "../../crates/sctp-core/tests/pair/hostile.rs"]
mod hostile;
#[allow(dead_code, reason = "the tests of `sctp-core` use the rest")]
#[path = "../../crates/sctp-core/tests/pair/net.rs"]
mod net;
#[allow(dead_code, reason = "the tests of `sctp-core` use the rest")]
#[path = "../../crates/sctp-core/tests/pair/replay.rs"]
mod replay;

use sctp_core::{Datagram, Destination, Encapsulation, Endpoint, EndpointConfig, SctpPort};
use sctp_wire::{Causes, Checksum, Chunk, Packet, Parameters};
use virtual_time::Instant;

use crate::dice::Dice;

/// Lets two ends talk while their packets are forged: a third of the octets says what the users do, the others how the packets
/// of each end are changed.
pub fn forge(octets: &[u8]) {
    let (users, ends) = octets.split_at(octets.len() / 3);
    let (left, right) = ends.split_at(ends.len() / 2);
    forging::play(0, [(users, 0), (left, 1), (right, 2)].map(|(octets, seed)| Dice::reading(octets, seed)));
}

/// Lets a peer do what the octets say, beside an honest one.
pub fn misbehave(octets: &[u8]) {
    hostile::play(0, Dice::reading(octets, 0));
}

/// Reads everything there is to read in a packet, then lets an endpoint read it.
pub fn packet(octets: &[u8]) {
    if let Ok(packet) = Packet::decode(octets, Checksum::Ignore) {
        let _shown = packet.to_string();
        packet.chunks().flatten().for_each(walk);
    }
    let port = SctpPort::new(u16::from_be_bytes([0x13, 0x89])).expect("not zero");
    let mut endpoint = Endpoint::new(EndpointConfig::new(port), [7; 32]).expect("the default works");
    let octets = repaired(octets);
    let encapsulation = Encapsulation::Udp { port: 9899 };
    let source = Destination { address: [10, 0, 0, 1].into(), encapsulation };
    let datagram = Datagram::new(source, &octets);
    endpoint.handle_packet(Instant::EPOCH, datagram);
    let mut buffer = Vec::new();
    while endpoint.poll_transmit(Instant::EPOCH, &mut buffer).is_some() {}
    // Towards an unverified peer: one packet, and not much larger than what provoked it.
    assert!(buffer.len() <= octets.len() + 256, "{} octets provoke {}", octets.len(), buffer.len());
    assert_eq!(endpoint.association_count(), 0);
}

fn walk(chunk: Chunk<'_>) {
    match chunk {
        Chunk::Init(init) | Chunk::InitAck(init) => parameters(init.parameters),
        Chunk::Abort(abort) => causes(abort.causes),
        Chunk::Error(list) => causes(list),
        Chunk::Sack(sack) => {
            let _ = (sack.gap_ack_blocks().count(), sack.duplicate_tsns().count());
        }
        _ => {}
    }
}

fn parameters(list: Parameters<'_>) {
    for parameter in list.iter().flatten() {
        let _shown = parameter.to_string();
    }
}

fn causes(list: Causes<'_>) {
    for cause in list.iter().flatten() {
        let _shown = cause.to_string();
    }
}

/// The packet with the checksum it should have.
pub(crate) fn repaired(octets: &[u8]) -> Vec<u8> {
    const CRC32C: crc::Crc<u32> = crc::Crc::<u32>::new(&crc::CRC_32_ISCSI);
    let mut octets = octets.to_vec();
    if let Some(checksum) = octets.get_mut(8..12) {
        checksum.fill(0);
        let sum = CRC32C.checksum(&octets);
        octets[8..12].copy_from_slice(&sum.to_le_bytes());
    }
    octets
}

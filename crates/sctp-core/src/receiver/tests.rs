//! The whole receiver: scripted packets, then laws under any order, loss and repetition.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use sctp_wire::{
    Checksum, Data, DataFlags, Packet, PayloadProtocolId, SctpPort, Ssn, StreamId, VerificationTag,
};

use super::window::{CHUNK_OVERHEAD_BYTES, MEMORY_FACTOR};
use super::*;
use crate::message::Delivery;

mod forward;
mod interleaving;
mod laws;
mod partial;
mod reconfig;

const CONFIG: ReceiverConfig = ReceiverConfig {
    buffer_bytes: 100_000,
    grown_bytes: 0,
    message_bytes: 20_000,
    partial_delivery_point: None,
    inbound_streams: 4,
    sack_every_packets: 2,
    capabilities: Capabilities::NONE,
};

/// Blocks that no other receiver has.
fn blocks() -> SpareBlocks {
    SpareBlocks::within(usize::MAX)
}

fn receiver(config: ReceiverConfig) -> Receiver {
    Receiver::new(config, Tsn::new(1), &blocks())
}

/// A whole ordered message on stream 0.
fn whole(tsn: u32, ssn: u16, payload: &[u8]) -> Data<'_> {
    Data {
        tsn: Tsn::new(tsn),
        stream: StreamId::new(0),
        ssn: Ssn::new(ssn),
        ppid: PayloadProtocolId::new(7),
        flags: DataFlags::WHOLE,
        payload,
    }
}

fn arrive(receiver: &mut Receiver, data: &Data<'_>) -> Arrival {
    receiver.on_fragment(Instant::EPOCH, &data.into())
}

/// Writes the SACK and tells it the way packets are printed.
fn sack(receiver: &mut Receiver) -> String {
    let port = SctpPort::new(9).unwrap();
    let mut octets = Vec::new();
    let mut writer = PacketWriter::begin(&mut octets, port, port, VerificationTag::new(1), 1_400);
    receiver.write_sack(&mut writer).unwrap();
    assert!(writer.finish() > 0);
    let text = Packet::decode(&octets, Checksum::Verify).unwrap().to_string();
    text.split_once("SACK ").unwrap().1.to_owned()
}

const READY: Arrival = Arrival::Accepted { message_ready: true };
const NOT_READY: Arrival = Arrival::Accepted { message_ready: false };

#[test]
fn a_message_in_one_chunk_is_ready_at_once_and_its_sack_may_wait_but_for_the_first() {
    let mut receiver = receiver(CONFIG);
    arrive(&mut receiver, &whole(1, 0, b"first"));
    assert_eq!(receiver.on_packet_end(), SackDemand::Immediate);
    assert_eq!(sack(&mut receiver), "cum=1 a_rwnd=99995");
    assert_eq!(&receiver.receive().unwrap().message.payload[..], b"first");
    assert_eq!(arrive(&mut receiver, &whole(2, 1, b"policy")), READY);
    assert_eq!(receiver.on_packet_end(), SackDemand::Delayed);
    assert!(receiver.is_sack_pending() && !receiver.wants_sack());
    let received = receiver.receive().unwrap();
    assert_eq!(&received.message.payload[..], b"policy");
    assert_eq!(received.message.ppid, PayloadProtocolId::new(7));
    assert_eq!(received.message.delivery, Delivery::Ordered);
    receiver.hurry_sack();
    assert!(receiver.wants_sack());
    assert_eq!(sack(&mut receiver), "cum=2 a_rwnd=100000");
    assert!(!receiver.is_sack_pending() && receiver.is_empty());
}

#[test]
fn a_sack_reports_gaps_duplicates_and_the_window() {
    let mut receiver = receiver(CONFIG);
    for (tsn, ssn) in [(1, 0), (3, 2), (4, 3), (7, 6)] {
        arrive(&mut receiver, &whole(tsn, ssn, &[0; 100]));
    }
    assert_eq!(arrive(&mut receiver, &whole(3, 2, &[0; 100])), Arrival::Duplicate);
    assert_eq!(receiver.on_packet_end(), SackDemand::Immediate);
    assert_eq!(sack(&mut receiver), "cum=1 a_rwnd=99600 gaps=[2-3 6-6] dup=[3]");
    assert_eq!(sack(&mut receiver), "cum=1 a_rwnd=99600 gaps=[2-3 6-6]");
}

#[test]
fn a_sack_without_room_stays_owed() {
    let mut receiver = receiver(CONFIG);
    arrive(&mut receiver, &whole(1, 0, b"a"));
    receiver.on_packet_end();
    let port = SctpPort::new(9).unwrap();
    let mut octets = Vec::new();
    let mut writer = PacketWriter::begin(&mut octets, port, port, VerificationTag::new(1), 24);
    assert_eq!(receiver.write_sack(&mut writer), Err(Full));
    assert!(receiver.is_sack_pending());
}

#[test]
fn data_on_an_unknown_stream_is_acknowledged_and_thrown_away() {
    let mut receiver = receiver(CONFIG);
    let data = Data { stream: StreamId::new(4), ..whole(1, 0, b"lost") };
    assert_eq!(arrive(&mut receiver, &data), Arrival::InvalidStream(StreamId::new(4)));
    assert_eq!(receiver.cumulative_tsn(), Tsn::new(1));
    assert!(receiver.receive().is_none() && receiver.memory_bytes() == 0);
    assert_eq!(receiver.statistics().invalid_streams, 1);
}

#[test]
fn data_without_octets_changes_nothing() {
    let mut receiver = receiver(CONFIG);
    assert_eq!(arrive(&mut receiver, &whole(1, 0, b"")), Arrival::NoUserData(Tsn::new(1)));
    assert_eq!(receiver.on_packet_end(), SackDemand::None);
    assert_eq!(receiver.cumulative_tsn(), Tsn::new(0));
}

#[test]
fn a_violation_is_not_acknowledged() {
    let mut receiver = receiver(CONFIG);
    arrive(&mut receiver, &whole(1, 0, b"a"));
    let violation = Arrival::Violation(ReceiverViolation::SsnUsedTwice {
        tsn: Tsn::new(2),
        stream: StreamId::new(0),
        ssn: Ssn::new(0),
    });
    assert_eq!(arrive(&mut receiver, &whole(2, 0, b"a")), violation);
    assert_eq!(receiver.cumulative_tsn(), Tsn::new(1));
}

#[test]
fn a_full_buffer_drops_what_is_new_until_the_application_reads() {
    let mut receiver = receiver(ReceiverConfig { buffer_bytes: 8_000, ..CONFIG });
    for index in 0..8_u16 {
        assert_eq!(arrive(&mut receiver, &whole(u32::from(index) + 1, index, &[0; 1_000])), READY);
    }
    assert_eq!(arrive(&mut receiver, &whole(9, 8, &[0; 1_000])), Arrival::DroppedNoBuffer);
    assert_eq!(receiver.on_packet_end(), SackDemand::Immediate);
    assert_eq!(sack(&mut receiver), "cum=8 a_rwnd=0");
    receiver.receive();
    assert!(!receiver.window_update_due());
    receiver.receive();
    assert!(receiver.window_update_due() && receiver.wants_sack());
    assert_eq!(sack(&mut receiver), "cum=8 a_rwnd=2000");
    assert_eq!(arrive(&mut receiver, &whole(9, 8, &[0; 1_000])), READY);
    assert_eq!(receiver.statistics().dropped_no_window, 1);
}

#[test]
fn robustness_14_the_chunk_that_fills_the_gap_enters_a_full_buffer() {
    let mut receiver = receiver(ReceiverConfig { buffer_bytes: 8_000, message_bytes: 2_000, ..CONFIG });
    for index in 1..=8_u16 {
        assert_eq!(arrive(&mut receiver, &whole(u32::from(index) + 1, index, &[0; 1_000])), NOT_READY);
    }
    assert_eq!(arrive(&mut receiver, &whole(10, 9, &[0; 1_000])), Arrival::DroppedNoBuffer);
    assert_eq!(arrive(&mut receiver, &whole(1, 0, &[0; 1_000])), READY);
    assert_eq!(arrive(&mut receiver, &whole(10, 9, &[0; 1_000])), Arrival::DroppedNoBuffer);
    assert_eq!(core::iter::from_fn(|| receiver.receive()).count(), 9);
    assert_eq!((receiver.a_rwnd(), receiver.memory_bytes()), (8_000, 0));
}

#[test]
fn robustness_13_a_flood_of_first_fragments_stays_within_the_memory_limit() {
    let mut receiver = receiver(ReceiverConfig { buffer_bytes: 8_000, message_bytes: 2_000, ..CONFIG });
    let first = DataFlags { ending: false, ..DataFlags::WHOLE };
    for tsn in (1..60_000).map(|tsn| 2 * tsn) {
        arrive(&mut receiver, &Data { flags: first, ..whole(tsn, 0, &[0]) });
    }
    assert!(receiver.memory_bytes() <= MEMORY_FACTOR * 8_000);
    let statistics = receiver.statistics();
    assert!(statistics.dropped_no_window > 0 && statistics.dropped_out_of_reach > 0);
}

#[test]
fn the_last_read_reopens_a_window_that_fragments_keep_nearly_full() {
    let mut receiver = receiver(ReceiverConfig { buffer_bytes: 8_000, ..CONFIG });
    assert_eq!(arrive(&mut receiver, &whole(1, 0, &[0; 800])), READY);
    assert_eq!(arrive(&mut receiver, &whole(2, 1, &[0; 800])), READY);
    let first = DataFlags { ending: false, ..DataFlags::WHOLE };
    assert_eq!(arrive(&mut receiver, &Data { flags: first, ..whole(3, 2, &[0; 6_400]) }), NOT_READY);
    assert_eq!(sack(&mut receiver), "cum=3 a_rwnd=0");
    receiver.receive();
    assert!(!receiver.window_update_due(), "there is more to read");
    receiver.receive();
    assert!(receiver.window_update_due(), "less than a quarter, but nothing else will open it");
    assert_eq!(sack(&mut receiver), "cum=3 a_rwnd=1600");
    assert!(!receiver.window_update_due());
}

#[test]
fn an_idle_receiver_is_small() {
    assert!(size_of::<Receiver>() <= 640, "{}", size_of::<Receiver>());
}

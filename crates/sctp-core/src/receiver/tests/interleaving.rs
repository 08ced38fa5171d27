//! I-DATA (RFC 8260 §2): what only the whole receiver shows.

use sctp_wire::{Fsn, Mid};

use super::*;

pub(super) const INTERLEAVING: ReceiverConfig =
    ReceiverConfig { capabilities: Capabilities::NONE.with(Capability::Interleaving), ..CONFIG };

/// A fragment of an ordered message; `bits` as in the chunk header: 4 unordered, 2 begins, 1 ends.
pub(super) fn piece(tsn: u32, stream: u16, mid: u32, fsn: u32, bits: u8, payload: &[u8]) -> DataChunk<'_> {
    DataChunk {
        tsn: Tsn::new(tsn),
        stream: StreamId::new(stream),
        sequence: Mid::new(mid).into(),
        fsn: Fsn::new(fsn),
        ppid: PayloadProtocolId::new(7),
        flags: DataFlags::from(bits),
        payload,
    }
}

pub(super) fn take(receiver: &mut Receiver, fragment: &DataChunk<'_>) -> Arrival {
    receiver.on_fragment(Instant::EPOCH, fragment)
}

fn payloads(receiver: &mut Receiver) -> Vec<Vec<u8>> {
    core::iter::from_fn(|| receiver.receive()).map(|received| received.message.payload.to_vec()).collect()
}

#[test]
fn messages_of_two_streams_interleave_and_order_holds_within_each_rfc_8260_2_2_3() {
    let mut receiver = receiver(INTERLEAVING);
    assert_eq!(take(&mut receiver, &piece(1, 0, 0, 0, 2, b"lo")), NOT_READY);
    assert_eq!(take(&mut receiver, &piece(2, 1, 0, 0, 3, b"short")), READY);
    assert_eq!(take(&mut receiver, &piece(3, 0, 1, 0, 3, b"next")), NOT_READY);
    assert_eq!(take(&mut receiver, &piece(4, 0, 0, 1, 1, b"ng")), READY);
    assert_eq!(payloads(&mut receiver), [&b"short"[..], b"long", b"next"]);
    assert_eq!((receiver.memory_bytes(), receiver.cumulative_tsn()), (0, Tsn::new(4)));
}

#[test]
fn ordered_and_unordered_messages_with_the_same_mid_are_two_rfc_8260_2_1() {
    let mut receiver = receiver(INTERLEAVING);
    assert_eq!(take(&mut receiver, &piece(1, 0, 0, 0, 2, b"or")), NOT_READY);
    assert_eq!(take(&mut receiver, &piece(2, 0, 0, 0, 6, b"un")), NOT_READY);
    assert_eq!(take(&mut receiver, &piece(3, 0, 0, 1, 5, b"ordered")), READY);
    assert_eq!(take(&mut receiver, &piece(4, 0, 0, 1, 1, b"dered")), READY);
    assert_eq!(payloads(&mut receiver), [&b"unordered"[..], b"ordered"]);
}

#[test]
fn a_mid_used_twice_is_a_violation_and_not_acknowledged_rfc_8260_2_1() {
    let mut receiver = receiver(INTERLEAVING);
    take(&mut receiver, &piece(1, 0, 0, 0, 3, b"a"));
    let (tsn, stream, mid) = (Tsn::new(2), StreamId::new(0), Mid::new(0));
    let violation = Arrival::Violation(ReceiverViolation::MidUsedTwice { tsn, stream, mid });
    assert_eq!(take(&mut receiver, &piece(2, 0, 0, 0, 3, b"b")), violation);
    assert_eq!(receiver.cumulative_tsn(), Tsn::new(1));
}

/// What it means is for the association to judge.
#[test]
fn data_is_not_taken_where_i_data_was_agreed_rfc_8260_2_2_3() {
    let mut receiver = receiver(INTERLEAVING);
    let port = SctpPort::new(9).unwrap();
    let mut octets = Vec::new();
    let mut writer = PacketWriter::begin(&mut octets, port, port, VerificationTag::new(1), 100);
    writer.data(&whole(1, 0, b"a").header(), b"a").unwrap();
    assert!(writer.finish() > 0);
    let packet = Packet::decode(&octets, Checksum::Verify).unwrap();
    let mut chunks = packet.chunks();
    assert_eq!(receiver.take_in(Instant::EPOCH, &mut chunks, None), TakenIn::default());
    assert!(!chunks.rest().is_empty());
    assert_eq!(receiver.cumulative_tsn(), Tsn::new(0));
}

/// Every stream begins a message and none ends one: a header for every octet.
#[test]
fn robustness_13_an_i_data_flood_of_single_octets_stays_within_the_memory_limit() {
    let config = ReceiverConfig {
        buffer_bytes: 8_000,
        message_bytes: 2_000,
        inbound_streams: u16::MAX,
        ..INTERLEAVING
    };
    let limit = MEMORY_FACTOR * (8_000 + 2_000);
    let mut receiver = receiver(config);
    let mut kept = 0_u32;
    for (tsn, stream) in (1..).zip(0..60_000) {
        let arrival = take(&mut receiver, &piece(tsn, stream, 0, 0, 2, b"x"));
        assert!(receiver.memory_bytes() <= limit);
        if arrival != NOT_READY {
            let bytes = usize::try_from(kept).unwrap();
            assert_eq!(arrival, Arrival::Hopeless { bytes }, "nothing could ever be delivered");
            break;
        }
        kept += 1;
    }
    assert!(kept >= 100, "{kept}");
    let above_a_gap = piece(kept + 5, 60_001, 0, 0, 2, b"x");
    assert_eq!(take(&mut receiver, &above_a_gap), Arrival::DroppedNoBuffer);
}

#[test]
fn robustness_14_the_i_data_that_completes_a_message_enters_a_full_buffer() {
    let mut receiver = receiver(ReceiverConfig { buffer_bytes: 8_000, message_bytes: 2_000, ..INTERLEAVING });
    assert_eq!(take(&mut receiver, &piece(1, 0, 0, 0, 2, &[0; 1_000])), NOT_READY);
    for index in 1..8_u32 {
        assert_eq!(take(&mut receiver, &piece(index + 1, 0, index, 0, 3, &[0; 1_000])), NOT_READY);
    }
    assert_eq!(take(&mut receiver, &piece(10, 1, 0, 0, 3, &[0; 1_000])), Arrival::DroppedNoBuffer);
    assert_eq!(take(&mut receiver, &piece(9, 0, 0, 1, 1, &[0; 1_000])), READY);
    assert_eq!(payloads(&mut receiver).len(), 8);
    assert_eq!((receiver.a_rwnd(), receiver.memory_bytes()), (8_000, 0));
}

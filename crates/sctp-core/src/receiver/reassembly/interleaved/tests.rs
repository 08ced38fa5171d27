use sctp_wire::{DataFlags, Mid, PayloadProtocolId, Tsn};

use super::super::Assembled;
use super::*;
use crate::receiver::blocks::SpareBlocks;
use crate::receiver::window::CHUNK_OVERHEAD_BYTES;

const MESSAGE_BYTES: usize = 100;

/// A fragment of stream 0; `bits` as in the chunk header: 4 unordered, 2 begins, 1 ends.
fn fragment(mid: u32, fsn: u32, bits: u8, payload: &[u8]) -> DataChunk<'_> {
    DataChunk {
        tsn: Tsn::new(100 * mid + fsn),
        stream: StreamId::new(0),
        sequence: Mid::new(mid).into(),
        fsn: Fsn::new(fsn),
        ppid: PayloadProtocolId::new(fsn),
        flags: DataFlags::from(bits),
        payload,
    }
}

fn arrive(
    runs: &mut Runs<FsnPlace>,
    fragment: &DataChunk<'_>,
) -> Result<Option<Assembled>, ReceiverViolation> {
    runs.check(fragment, MESSAGE_BYTES)?;
    Ok(runs.insert(runs.place_of(fragment), fragment))
}

#[test]
fn fragments_of_two_messages_alternate_in_any_order_rfc_8260_2_2_3() {
    let chunks = [
        fragment(0, 0, 2, b"ab"),
        fragment(1, 0, 2, b"AB"),
        fragment(0, 1, 0, b"cd"),
        fragment(1, 1, 1, b"C"),
        fragment(0, 2, 1, b"e"),
    ];
    for rotation in 0..5 {
        let mut runs = Runs::new(SpareBlocks::within(usize::MAX));
        let turned = (0..5).map(|index| &chunks[(index + rotation) % 5]);
        let messages: Vec<_> = turned.filter_map(|chunk| arrive(&mut runs, chunk).unwrap()).collect();
        let mut payloads: Vec<_> = messages.iter().map(|message| &message.payload[..]).collect();
        payloads.sort();
        assert_eq!(payloads, [&b"ABC"[..], b"abcde"]);
        assert!(
            messages.iter().all(|message| message.ppid == PayloadProtocolId::new(0)),
            "the first fragment's"
        );
        assert_eq!(runs.bytes(), 0);
    }
}

#[test]
fn stream_u_bit_and_mid_keep_messages_apart_rfc_8260_2_2_3() {
    let mut runs = Runs::new(SpareBlocks::within(usize::MAX));
    let elsewhere = DataChunk { stream: StreamId::new(1), ..fragment(0, 0, 2, b"a") };
    for first in [fragment(0, 0, 2, b"a"), fragment(0, 0, 6, b"a"), fragment(1, 0, 2, b"a"), elsewhere] {
        assert_eq!(arrive(&mut runs, &first), Ok(None));
    }
    assert_eq!(&arrive(&mut runs, &fragment(0, 1, 5, b"b")).unwrap().unwrap().payload[..], b"ab");
    assert_eq!(runs.bytes(), 3);
}

#[test]
fn a_fragment_number_used_twice_is_a_violation_rfc_8260_2_1() {
    let mut runs = Runs::new(SpareBlocks::within(usize::MAX));
    for (fsn, bits) in [(0, 2), (1, 0), (5, 0)] {
        arrive(&mut runs, &fragment(0, fsn, bits, b"a")).unwrap();
    }
    for (fsn, bits) in [(0, 2), (1, 0), (5, 0)] {
        let again = DataChunk { tsn: Tsn::new(77), ..fragment(0, fsn, bits, b"a") };
        let (tsn, stream, mid, fsn) = (Tsn::new(77), StreamId::new(0), Mid::new(0), Fsn::new(fsn));
        assert_eq!(arrive(&mut runs, &again), Err(ReceiverViolation::FsnUsedTwice { tsn, stream, mid, fsn }));
    }
}

#[test]
fn a_fragment_beyond_the_end_of_its_message_is_a_violation_rfc_8260_2_1() {
    let mut runs = Runs::new(SpareBlocks::within(usize::MAX));
    arrive(&mut runs, &fragment(0, 5, 1, b"end")).unwrap();
    let beyond = Err(ReceiverViolation::BoundaryInsideMessage(Tsn::new(9)));
    assert_eq!(arrive(&mut runs, &fragment(0, 9, 0, b"a")), beyond);
    let inside = Err(ReceiverViolation::BoundaryInsideMessage(Tsn::new(3)));
    assert_eq!(arrive(&mut runs, &fragment(0, 3, 1, b"end")), inside);
    assert_eq!(arrive(&mut runs, &fragment(0, 4, 0, b"a")), Ok(None));
}

/// Number 0 is the first fragment's alone, and says so by its B bit.
#[test]
fn fragment_0_without_b_is_a_violation_rfc_8260_2_1() {
    let mut runs = Runs::new(SpareBlocks::within(usize::MAX));
    assert_eq!(arrive(&mut runs, &fragment(0, 0, 1, b"a")), Err(ReceiverViolation::NoBeginning(Tsn::new(0))));
}

#[test]
fn a_message_beyond_the_limit_is_a_violation_as_soon_as_its_parts_show_it() {
    let mut runs = Runs::new(SpareBlocks::within(usize::MAX));
    arrive(&mut runs, &fragment(0, 0, 2, &[0; 50])).unwrap();
    arrive(&mut runs, &fragment(0, 2, 0, &[0; 50])).unwrap();
    let too_long = Err(ReceiverViolation::MessageTooLong { bytes: 101, limit: 100 });
    assert_eq!(arrive(&mut runs, &fragment(0, 1, 0, b"x")), too_long);
}

#[test]
fn the_overhead_charged_for_a_chunk_covers_a_run_of_one_fragment() {
    let mut runs = Runs::new(SpareBlocks::within(usize::MAX));
    arrive(&mut runs, &fragment(0, 0, 2, b"a")).unwrap();
    assert!(runs.overhead_bytes() > 0 && runs.overhead_bytes() <= CHUNK_OVERHEAD_BYTES);
}

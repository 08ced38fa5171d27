//! The same laws for I-DATA, where the sender alternates between streams as it likes (RFC 8260 §2.2.2).

use std::collections::VecDeque;

use sctp_wire::{Fsn, Mid};

use super::super::interleaving::INTERLEAVING;
use super::*;

/// An owned fragment.
#[derive(Clone, Debug)]
struct Piece {
    tsn: Tsn,
    stream: StreamId,
    mid: Mid,
    fsn: Fsn,
    flags: DataFlags,
    payload: Vec<u8>,
}

impl Piece {
    fn as_fragment(&self) -> DataChunk<'_> {
        DataChunk {
            tsn: self.tsn,
            stream: self.stream,
            sequence: self.mid.into(),
            fsn: self.fsn,
            ppid: PayloadProtocolId::new(7),
            flags: self.flags,
            payload: &self.payload,
        }
    }
}

/// Each stream sends its messages one after the other; `turns` says whose fragment is next.
fn interleaved(script: &[Scripted], turns: &[prop::sample::Index], initial: Tsn) -> Vec<Piece> {
    let mut streams: Vec<VecDeque<Piece>> =
        (0..4).map(|stream| stream_pieces(script, StreamId::new(stream))).collect();
    let mut schedule = Vec::new();
    for turn in turns.iter().cycle() {
        streams.retain(|pieces| !pieces.is_empty());
        let Some(count) = core::num::NonZeroUsize::new(streams.len()) else { break };
        let tsn = initial.advance(u32::try_from(schedule.len()).unwrap());
        let piece = streams[turn.index(count.get())].pop_front().unwrap();
        schedule.push(Piece { tsn, ..piece });
    }
    schedule
}

fn stream_pieces(script: &[Scripted], stream: StreamId) -> VecDeque<Piece> {
    let mut mids = [Mid::new(0); 2];
    let messages = script.iter().filter(|message| message.stream == stream);
    let pieces = messages.flat_map(|message| {
        let unordered = message.delivery == Delivery::Unordered;
        let slot = &mut mids[usize::from(unordered)];
        let mid = *slot;
        *slot = mid.next();
        let count = message.payload.len().div_ceil(message.fragment_bytes);
        let fragments = message.payload.chunks(message.fragment_bytes).zip(0_u32..);
        let pieces = fragments.map(move |(payload, fsn)| {
            let ending = usize::try_from(fsn).unwrap() + 1 == count;
            let flags = DataFlags { immediate: false, unordered, beginning: fsn == 0, ending };
            Piece { tsn: Tsn::new(0), stream, mid, fsn: Fsn::new(fsn), flags, payload: payload.to_vec() }
        });
        pieces.collect::<Vec<_>>()
    });
    pieces.collect()
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 128, ..ProptestConfig::default() })]

    #[test]
    fn every_interleaved_message_arrives_once_in_order_and_unharmed(
        (script, order, initial) in arrivals(),
        turns in prop::collection::vec(any::<prop::sample::Index>(), 1..40),
        partial_delivery_point in prop::option::of(1_usize..3_000),
    ) {
        let chunks = interleaved(&script, &turns, Tsn::new(initial));
        let config = ReceiverConfig { partial_delivery_point, ..INTERLEAVING };
        let mut receiver = Receiver::new(config, Tsn::new(initial), &blocks());
        let mut delivered = Vec::new();
        let mut seen = BTreeSet::new();
        let first_try = order.iter().map(|index| index.index(chunks.len()));
        for (index, now) in first_try.chain((0..chunks.len()).rev()).zip(0..) {
            let arrival = receiver.on_fragment(Instant::from_millis(now), &chunks[index].as_fragment());
            let is_new = seen.insert(index);
            prop_assert_eq!(matches!(arrival, Arrival::Accepted { .. }), is_new, "{:?}", arrival);
            prop_assert_eq!(arrival == Arrival::Duplicate, !is_new);
            receiver.on_packet_end();
            delivered.extend(receiver.receive());
        }
        delivered.extend(core::iter::from_fn(|| receiver.receive()));
        assert_delivered(&script, &put_together(delivered)?)?;
        prop_assert!(receiver.is_empty());
        prop_assert_eq!((receiver.memory_bytes(), receiver.a_rwnd()), (0, 100_000));
    }

    #[test]
    fn robustness_18_no_sequence_of_i_data_panics_or_exceeds_the_limits(
        chunks in prop::collection::vec(
            (0_u32..30, 0_u16..6, 0_u32..4, 0_u32..6, any::<u8>(), 0_usize..400), 0..300),
        partial_delivery_point in prop::option::of(1_usize..1_000),
    ) {
        let config = ReceiverConfig { buffer_bytes: 4_000, message_bytes: 1_000, ..INTERLEAVING };
        let config = ReceiverConfig { partial_delivery_point, ..config };
        let mut receiver = Receiver::new(config, Tsn::new(u32::MAX - 5), &blocks());
        for (ahead, stream, mid, fsn, flags, bytes) in chunks {
            let tsn = receiver.cumulative_tsn().advance(ahead);
            let flags = DataFlags::from(flags);
            let fsn = Fsn::new(if flags.beginning { 0 } else { fsn });
            let (stream, mid, payload) = (StreamId::new(stream), Mid::new(mid), vec![0; bytes]);
            let piece = Piece { tsn, stream, mid, fsn, flags, payload };
            receiver.on_fragment(Instant::EPOCH, &piece.as_fragment());
            receiver.on_packet_end();
            prop_assert!(receiver.memory_bytes() <= MEMORY_FACTOR * (4_000 + config.overdraft_bytes()));
            sack(&mut receiver);
            if mid == Mid::new(0) {
                receiver.receive();
            }
        }
    }
}

//! What holds whatever the network does.

use super::*;

mod interleaved;
mod packets;

/// A message of the script and the chunks it is cut into.
#[derive(Clone, Debug)]
struct Scripted {
    stream: StreamId,
    delivery: Delivery,
    ssn: Ssn,
    payload: Vec<u8>,
    fragment_bytes: usize,
}

/// An owned DATA chunk.
#[derive(Clone, Debug)]
struct OwnedChunk {
    tsn: Tsn,
    message: Scripted,
    flags: DataFlags,
    payload: Vec<u8>,
}

impl OwnedChunk {
    fn as_data(&self) -> Data<'_> {
        Data {
            tsn: self.tsn,
            stream: self.message.stream,
            ssn: self.message.ssn,
            ppid: PayloadProtocolId::new(7),
            flags: self.flags,
            payload: &self.payload,
        }
    }
}

/// Messages on four streams, each with octets that tell it from the others.
fn script(max_messages: usize) -> impl Strategy<Value = Vec<Scripted>> {
    let message = (0_u16..4, any::<bool>(), 2_usize..3_000, 200_usize..1_400);
    prop::collection::vec(message, 1..max_messages).prop_map(|messages| {
        let mut next_ssn = [Ssn::new(0); 4];
        let numbered = messages.into_iter().zip(0_u16..);
        let scripted = numbered.map(|((stream, is_ordered, bytes, fragment_bytes), index)| {
            let slot = &mut next_ssn[usize::from(stream)];
            let ssn = *slot;
            *slot = if is_ordered { ssn.next() } else { ssn };
            let delivery = if is_ordered { Delivery::Ordered } else { Delivery::Unordered };
            let payload = index.to_be_bytes().into_iter().cycle().take(bytes).collect();
            Scripted { stream: StreamId::new(stream), delivery, ssn, payload, fragment_bytes }
        });
        scripted.collect()
    })
}

/// Cut into chunks as a sender does (RFC 9260 §6.9).
fn chunks_of(script: &[Scripted], initial: Tsn) -> Vec<OwnedChunk> {
    let fragments = script.iter().flat_map(|message| {
        let count = message.payload.len().div_ceil(message.fragment_bytes);
        message.payload.chunks(message.fragment_bytes).enumerate().map(move |(index, payload)| {
            let flags = DataFlags {
                immediate: false,
                unordered: message.delivery == Delivery::Unordered,
                beginning: index == 0,
                ending: index + 1 == count,
            };
            (message.clone(), flags, payload.to_vec())
        })
    });
    let numbered = fragments.zip(0..).map(|((message, flags, payload), index)| OwnedChunk {
        tsn: initial.advance(index),
        message,
        flags,
        payload,
    });
    numbered.collect()
}

/// Exactly once, in order within each stream, octet for octet.
fn assert_delivered(script: &[Scripted], delivered: &[Received]) -> Result<(), TestCaseError> {
    prop_assert_eq!(delivered.len(), script.len());
    for stream in (0..4).map(StreamId::new) {
        let sent = script.iter().filter(|m| m.stream == stream && m.delivery == Delivery::Ordered);
        let got = delivered.iter().map(|received| &received.message);
        let got = got.filter(|m| m.stream == stream && m.delivery == Delivery::Ordered);
        let got: Vec<_> = got.map(|m| m.payload.to_vec()).collect();
        prop_assert_eq!(sent.map(|m| m.payload.clone()).collect::<Vec<_>>(), got);
    }
    let mut sent: Vec<_> = script.iter().map(|m| m.payload.clone()).collect();
    let mut got: Vec<_> = delivered.iter().map(|received| received.message.payload.to_vec()).collect();
    sent.sort();
    got.sort();
    prop_assert_eq!(sent, got);
    Ok(())
}

/// Whole messages of what was delivered, at the places of their ends; pieces of one have to fit together.
fn put_together(delivered: Vec<Received>) -> Result<Vec<Received>, TestCaseError> {
    let mut begun: BTreeMap<u64, Vec<u8>> = BTreeMap::new();
    let mut whole = Vec::new();
    for mut received in delivered {
        if let Some(piece) = received.piece {
            let payload = begun.entry(piece.message).or_default();
            prop_assert_eq!(u64::try_from(payload.len()).unwrap(), piece.offset);
            payload.extend_from_slice(&received.message.payload);
            if !piece.is_last {
                continue;
            }
            received.message.payload = begun.remove(&piece.message).unwrap_or_default().into();
        }
        whole.push(received);
    }
    prop_assert!(begun.is_empty(), "unfinished");
    Ok(whole)
}

/// Arrivals in any order, some twice, some never.
fn arrivals() -> impl Strategy<Value = (Vec<Scripted>, Vec<prop::sample::Index>, u32)> {
    let initial = prop_oneof![any::<u32>(), (u32::MAX - 100)..=u32::MAX];
    (script(40), prop::collection::vec(any::<prop::sample::Index>(), 0..150), initial)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 128, ..ProptestConfig::default() })]

    #[test]
    fn every_message_arrives_once_in_order_and_unharmed(
        (script, order, initial) in arrivals(),
        packet_chunks in 1_usize..4,
        partial_delivery_point in prop::option::of(1_usize..3_000),
    ) {
        let chunks = chunks_of(&script, Tsn::new(initial));
        let mut receiver =
            Receiver::new(ReceiverConfig { partial_delivery_point, ..CONFIG }, Tsn::new(initial), &blocks());
        let mut delivered = Vec::new();
        let mut seen = BTreeSet::new();
        let first_try = order.iter().map(|index| index.index(chunks.len()));
        let arriving: Vec<_> = first_try.chain((0..chunks.len()).rev()).collect();
        for (packet, now) in arriving.chunks(packet_chunks).zip(0..) {
            for index in packet {
                let arrival = receiver.on_fragment(Instant::from_millis(now), &(&chunks[*index].as_data()).into());
                let is_new = seen.insert(*index);
                prop_assert_eq!(matches!(arrival, Arrival::Accepted { .. }), is_new, "{:?}", arrival);
                prop_assert_eq!(arrival == Arrival::Duplicate, !is_new);
            }
            let has_gap = seen.len() != seen.last().map_or(0, |last| last + 1);
            let demand = receiver.on_packet_end();
            prop_assert!(!has_gap || demand == SackDemand::Immediate);
            delivered.extend(receiver.receive());
        }
        delivered.extend(core::iter::from_fn(|| receiver.receive()));
        let delivered = put_together(delivered)?;
        assert_delivered(&script, &delivered)?;
        prop_assert!(receiver.is_empty());
        prop_assert_eq!((receiver.memory_bytes(), receiver.a_rwnd()), (0, 100_000));
        let waited = delivered.iter().filter(|received| !received.blocked.is_zero()).count();
        let recorded = receiver.statistics().blocked.histogram().count();
        prop_assert_eq!(recorded, u64::try_from(waited).unwrap());
    }

    #[test]
    fn robustness_14_a_small_buffer_and_a_slow_reader_never_stall(
        (script, order, initial) in arrivals(),
        read_every in 1_usize..5,
        partial_delivery_point in prop::option::of(1_usize..3_000),
    ) {
        let config = ReceiverConfig { buffer_bytes: 4_000, message_bytes: 3_000, ..CONFIG };
        let config = ReceiverConfig { partial_delivery_point, ..config };
        let mut receiver = Receiver::new(config, Tsn::new(initial), &blocks());
        let chunks = chunks_of(&script, Tsn::new(initial));
        let mut missing: Vec<usize> = (0..chunks.len()).collect();
        let mut delivered = Vec::new();
        let mut shuffle = order.iter().cycle();
        for round in 0..=read_every * (script.len() + chunks.len()) {
            if let Some(index) = shuffle.next() && !missing.is_empty() {
                let first = index.index(missing.len());
                missing.rotate_left(first);
            }
            // The network delivers everything that is unacknowledged, beginning somewhere.
            missing.retain(|index| {
                !matches!(receiver.on_fragment(Instant::EPOCH, &(&chunks[*index].as_data()).into()), Arrival::Accepted { .. })
            });
            receiver.on_packet_end();
            prop_assert!(receiver.memory_bytes() <= MEMORY_FACTOR * (4_000 + 3_000));
            if round % read_every == 0 {
                delivered.extend(receiver.receive());
            }
        }
        prop_assert!(missing.is_empty() && receiver.is_empty(), "stalled with {} chunks to go", missing.len());
        assert_delivered(&script, &put_together(delivered)?)?;
    }

    #[test]
    fn robustness_18_no_sequence_of_chunks_panics_or_exceeds_the_limits(
        chunks in prop::collection::vec(
            (0_u32..30, 0_u16..6, 0_u16..4, any::<u8>(), 0_usize..400), 0..300),
        partial_delivery_point in prop::option::of(1_usize..1_000),
    ) {
        let config = ReceiverConfig { buffer_bytes: 4_000, message_bytes: 1_000, ..CONFIG };
        let config = ReceiverConfig { partial_delivery_point, ..config };
        let mut receiver = Receiver::new(config, Tsn::new(u32::MAX - 5), &blocks());
        let mut promised = 4_000_u32;
        for (ahead, stream, ssn, flags, bytes) in chunks {
            let tsn = receiver.cumulative_tsn().advance(ahead);
            let payload = vec![0; bytes];
            let (stream, flags) = (StreamId::new(stream), DataFlags::from(flags));
            let data = Data { tsn, stream, ssn: Ssn::new(ssn), flags, ..whole(0, 0, &payload) };
            let arrival = receiver.on_fragment(Instant::EPOCH, &(&data).into());
            let kept = if matches!(arrival, Arrival::Accepted { .. }) { bytes } else { 0 };
            prop_assert!(receiver.a_rwnd() >= promised.saturating_sub(u32::try_from(kept + CHUNK_OVERHEAD_BYTES).unwrap()));
            receiver.on_packet_end();
            prop_assert!(receiver.memory_bytes() <= MEMORY_FACTOR * (4_000 + config.overdraft_bytes()));
            promised = receiver.a_rwnd();
            sack(&mut receiver);
            if ssn == 0 {
                receiver.receive();
            }
        }
    }
}

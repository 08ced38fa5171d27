//! A walk over a packet does what its chunks do one by one.

use super::*;

/// The chunks of short messages, mostly as they were sent, some twice, some late; all of them once more at the end.
fn arriving() -> impl Strategy<Value = Vec<OwnedChunk>> {
    (script(60), prop::collection::vec(0_u8..16, 200)).prop_map(|(mut script, fates)| {
        script.iter_mut().for_each(|message| message.payload.truncate(1 + message.payload.len() % 300));
        let sent = chunks_of(&script, Tsn::new(1));
        let first = sent.iter().zip(fates).flat_map(|(chunk, fate)| match fate {
            0 => vec![],
            1 => vec![chunk.clone(), chunk.clone()],
            _ => vec![chunk.clone()],
        });
        first.chain(sent.iter().cloned()).collect()
    })
}

fn packet_of(chunks: &[OwnedChunk]) -> Vec<u8> {
    let port = SctpPort::new(9).unwrap();
    let mut octets = Vec::new();
    let mut writer = PacketWriter::begin(&mut octets, port, port, VerificationTag::new(1), 60_000);
    chunks.iter().for_each(|chunk| writer.data(&chunk.as_data().header(), &chunk.payload).unwrap());
    assert!(writer.finish() > 0);
    octets
}

/// Whether something became ready, and what was not kept.
fn walk(receiver: &mut Receiver, now: Instant, octets: &[u8]) -> (bool, Vec<Arrival>) {
    let packet = Packet::decode(octets, Checksum::Verify).unwrap();
    let (mut chunks, mut ready, mut refused) = (packet.chunks(), false, Vec::new());
    loop {
        let taken = receiver.take_in(now, &mut chunks, None);
        ready |= taken.message_ready;
        let Some(arrival) = taken.stopped_at else { break };
        refused.push(arrival);
    }
    assert!(chunks.rest().is_empty());
    (ready, refused)
}

fn one_by_one(receiver: &mut Receiver, now: Instant, chunks: &[OwnedChunk]) -> (bool, Vec<Arrival>) {
    let (mut ready, mut refused) = (false, Vec::new());
    for chunk in chunks {
        let arrival = receiver.on_fragment(now, &(&chunk.as_data()).into());
        ready |= arrival == READY;
        refused.extend(Some(arrival).filter(|arrival| !matches!(arrival, Arrival::Accepted { .. })));
    }
    (ready, refused)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 128, ..ProptestConfig::default() })]

    #[test]
    fn packets_are_taken_in_as_their_chunks_are(
        arriving in arriving(),
        packet_chunks in 1_usize..14,
        inbound_streams in 3_u16..5,
        buffer_bytes in prop_oneof![Just(100_000), 200_usize..4_000],
        read_every in 1_usize..6,
    ) {
        let config = ReceiverConfig { inbound_streams, buffer_bytes, ..CONFIG };
        let [mut walked, mut single] = [(); 2].map(|()| receiver(config));
        for (number, chunks) in arriving.chunks(packet_chunks).enumerate() {
            let now = Instant::from_millis(u64::try_from(number).unwrap());
            let octets = packet_of(chunks);
            prop_assert_eq!(walk(&mut walked, now, &octets), one_by_one(&mut single, now, chunks));
            prop_assert_eq!(walked.on_packet_end(), single.on_packet_end());
            prop_assert_eq!(walked.statistics(), single.statistics());
            // Short ones that share a copy of their packet count a little more; then small windows differ.
            prop_assert!(walked.memory_bytes() >= single.memory_bytes());
            if walked.memory_bytes() > single.memory_bytes() && buffer_bytes < 100_000 {
                return Ok(());
            }
            prop_assert_eq!(sack(&mut walked), sack(&mut single));
            if number % read_every == 0 {
                let mut read = Vec::new();
                walked.receive_many(usize::MAX, &mut read);
                prop_assert_eq!(read, core::iter::from_fn(|| single.receive()).collect::<Vec<_>>());
            }
        }
    }
}

#[test]
fn a_message_keeps_no_more_of_its_packet_than_is_counted_for_it() {
    let message = |tsn, ssn, bytes| OwnedChunk {
        tsn: Tsn::new(tsn),
        message: Scripted {
            stream: StreamId::new(0),
            delivery: Delivery::Ordered,
            ssn: Ssn::new(ssn),
            payload: Vec::new(),
            fragment_bytes: 0,
        },
        flags: DataFlags::WHOLE,
        payload: vec![7; bytes],
    };
    let mut receiver = receiver(CONFIG);
    // The first message of a stream is not expected.
    walk(&mut receiver, Instant::EPOCH, &packet_of(&[message(1, 0, 10)]));
    let together: Vec<_> = (1..12).map(|ssn| message(1 + u32::from(ssn), ssn, 100)).collect();
    walk(&mut receiver, Instant::EPOCH, &packet_of(&together));
    // One that is new, and one twelve times longer that is not.
    walk(&mut receiver, Instant::EPOCH, &packet_of(&[message(13, 12, 100), message(12, 11, 1_200)]));
    let mut read = Vec::new();
    receiver.receive_many(usize::MAX, &mut read);
    let places: Vec<usize> = read.iter().map(|received| received.message.payload.as_ptr().addr()).collect();
    assert!(places[1..12].windows(2).all(|pair| pair[1] == pair[0] + 116));
    assert!(read[12].message.payload.is_unique() && !read[1].message.payload.is_unique());
}

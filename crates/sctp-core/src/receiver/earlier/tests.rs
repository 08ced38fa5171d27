use super::*;

fn set_aside(earlier: &mut EarlierSacks, now: Instant, tsn: u32) -> bool {
    earlier.set_aside(now, (Tsn::new(tsn), 1000), core::iter::empty(), &[])
}

fn written(earlier: &mut EarlierSacks) -> usize {
    let mut count = 0;
    while !earlier.is_empty() {
        let mut octets = Vec::new();
        let port = sctp_wire::SctpPort::new(1).unwrap();
        let tag = sctp_wire::VerificationTag::new(1);
        earlier.write_first(&mut PacketWriter::begin(&mut octets, port, port, tag, 1400)).unwrap();
        count += 1;
    }
    count
}

#[test]
fn burst_is_set_aside_whole_and_then_as_many_as_time_gives() {
    let mut earlier = EarlierSacks::default();
    let begun = Instant::from_millis(1000);
    assert_eq!((0..2000).filter(|tsn| set_aside(&mut earlier, begun, *tsn)).count(), SACKS_AT_ONCE);
    assert_eq!(written(&mut earlier), SACKS_AT_ONCE);
    for millis in 1..100 {
        let now = begun + Duration::from_millis(millis);
        assert_eq!((0..2000).filter(|tsn| set_aside(&mut earlier, now, *tsn)).count(), 50);
        assert_eq!(written(&mut earlier), 50);
    }
    let rested = begun + Duration::from_secs(1);
    assert_eq!((0..2000).filter(|tsn| set_aside(&mut earlier, rested, *tsn)).count(), SACKS_AT_ONCE);
}

/// What waits is bounded by number and by octets, also while nobody asks for packets.
#[test]
fn robustness_31_sacks_that_wait_are_bounded_however_many_gap_ack_blocks_they_report() {
    let mut earlier = EarlierSacks::default();
    let blocks =
        |count: u16| (0..count).map(|number| GapAckBlock { start: 2 * number + 2, end: 2 * number + 2 });
    let mut taken = 0;
    for millis in 0..100_000 {
        let now = Instant::from_millis(millis);
        taken += usize::from(earlier.set_aside(now, (Tsn::new(1), 0), blocks(1024), &[Tsn::new(1); 16]));
    }
    assert_eq!(taken, ENTRIES_AT_ONCE.div_ceil(1024 + 16));
    assert_eq!(written(&mut earlier), taken);
    let mut earlier = EarlierSacks::default();
    let taken = (0..100_000).filter(|&at| set_aside(&mut earlier, Instant::from_millis(at), 1)).count();
    assert_eq!(taken, SACKS_AT_ONCE);
}

/// A packet without room for all of it carries what fits, and nothing of the next SACK.
#[test]
fn each_is_written_with_its_own_blocks_and_duplicates() {
    let mut earlier = EarlierSacks::default();
    for number in 1..4_u16 {
        let blocks = (0..number).map(|block| GapAckBlock { start: 2 + 2 * block, end: 2 + 2 * block });
        let duplicates = vec![Tsn::new(u32::from(number)); usize::from(number)];
        let now = Instant::from_millis(1);
        assert!(earlier.set_aside(now, (Tsn::new(u32::from(number)), 0), blocks, &duplicates));
    }
    for number in 1..4 {
        let mut octets = Vec::new();
        let port = sctp_wire::SctpPort::new(1).unwrap();
        let mut writer =
            PacketWriter::begin(&mut octets, port, port, sctp_wire::VerificationTag::new(1), 1400);
        earlier.write_first(&mut writer).unwrap();
        let _len = writer.finish();
        let packet = sctp_wire::Packet::decode(&octets, sctp_wire::Checksum::Verify).unwrap();
        let Some(Ok(sctp_wire::Chunk::Sack(sack))) = packet.chunks().next() else { panic!("a SACK") };
        assert_eq!(sack.cumulative_tsn_ack, Tsn::new(number));
        assert_eq!(sack.gap_ack_blocks().len(), number as usize);
        assert!(sack.duplicate_tsns().eq(vec![Tsn::new(number); number as usize]));
    }
}

use core::time::Duration;

use bytes::Bytes;
use sctp_wire::{Data, DataFlags, Mid, PayloadProtocolId, Ssn, Tsn};

use super::*;

fn message(stream: u16, ssn: Option<u16>) -> Assembled {
    Assembled {
        tsn: Tsn::new(9),
        stream: StreamId::new(stream),
        delivery: if ssn.is_some() { Delivery::Ordered } else { Delivery::Unordered },
        sequence: Ssn::new(ssn.unwrap_or_default()).into(),
        ppid: PayloadProtocolId::new(0),
        payload: Bytes::from(vec![1, 2, 3]),
        piece: None,
    }
}

fn with_ssn(ssn: u16) -> Data<'static> {
    Data {
        tsn: Tsn::new(9),
        stream: StreamId::new(0),
        ssn: Ssn::new(ssn),
        ppid: PayloadProtocolId::new(0),
        flags: DataFlags::WHOLE,
        payload: b"x",
    }
}

fn at(millis: u64) -> Instant {
    Instant::from_millis(millis)
}

#[test]
fn later_messages_of_a_stream_wait_and_their_waiting_is_measured() {
    let mut ordering = Ordering::new(Numbering::Ssn);
    assert!(!ordering.insert(at(10), message(5, Some(2))));
    assert!(!ordering.insert(at(30), message(5, Some(1))));
    assert!(ordering.insert(at(50), message(5, Some(0))));
    let blocked: Vec<_> =
        core::iter::from_fn(|| ordering.receive()).map(|received| received.blocked).collect();
    assert_eq!(blocked, [0, 20, 40].map(Duration::from_millis));
    let expected = crate::stats::StreamBlocking { messages: 2, total: Duration::from_millis(60) };
    assert_eq!(ordering.statistics().streams().collect::<Vec<_>>(), [(StreamId::new(5), expected)]);
    assert_eq!(ordering.statistics().histogram().count(), 2);
}

#[test]
fn streams_and_unordered_messages_do_not_wait_for_each_other() {
    let mut ordering = Ordering::new(Numbering::Ssn);
    assert!(!ordering.insert(at(1), message(0, Some(1))));
    assert!(ordering.insert(at(2), message(1, Some(0))));
    assert!(ordering.insert(at(3), message(0, None)));
    let first = ordering.receive().unwrap();
    assert_eq!((first.message.stream.get(), first.complete_at, first.blocked), (1, at(2), Duration::ZERO));
    assert_eq!(ordering.receive().unwrap().message.delivery, Delivery::Unordered);
    assert!(ordering.receive().is_none() && !ordering.is_empty());
}

#[test]
fn ssns_wrap_after_65535() {
    let mut ordering = Ordering::new(Numbering::Ssn);
    for ssn in 0..=u16::MAX {
        assert!(ordering.insert(at(0), message(0, Some(ssn))));
    }
    assert!(!ordering.insert(at(0), message(0, Some(1))));
    assert!(ordering.insert(at(0), message(0, Some(0))));
    assert_eq!(core::iter::from_fn(|| ordering.receive()).count(), 65_538);
}

#[test]
fn an_ssn_that_is_delivered_or_waits_is_refused() {
    let mut ordering = Ordering::new(Numbering::Ssn);
    ordering.insert(at(0), message(0, Some(0)));
    ordering.insert(at(0), message(0, Some(2)));
    let check = |ssn| ordering.check(&DataChunk::from(&with_ssn(ssn)));
    for ssn in [0, 2, u16::MAX] {
        let (stream, ssn) = (StreamId::new(0), Ssn::new(ssn));
        let twice = ReceiverViolation::SsnUsedTwice { tsn: Tsn::new(9), stream, ssn };
        assert_eq!(check(ssn.get()), Err(twice));
    }
    assert_eq!((check(1), check(3)), (Ok(()), Ok(())));
}

/// RFC 8260 §2.1: a MID has 32 bits.
#[test]
fn mids_go_on_where_ssns_wrap() {
    let mut ordering = Ordering::new(Numbering::Mid);
    let numbered = |mid: u32| Assembled { sequence: Mid::new(mid).into(), ..message(0, Some(0)) };
    assert!(!ordering.insert(at(0), numbered(0x1_0000)));
    for mid in 0..=0xffff {
        assert!(ordering.insert(at(0), numbered(mid)));
    }
    assert_eq!(core::iter::from_fn(|| ordering.receive()).count(), 65_537);
    let fragment = DataChunk { sequence: Mid::new(0x1_0000).into(), ..DataChunk::from(&with_ssn(0)) };
    let (tsn, stream, mid) = (Tsn::new(9), StreamId::new(0), Mid::new(0x1_0000));
    assert_eq!(ordering.check(&fragment), Err(ReceiverViolation::MidUsedTwice { tsn, stream, mid }));
}

#[test]
fn the_overhead_charged_for_a_chunk_covers_a_message_that_waits() {
    let overhead = super::super::window::CHUNK_OVERHEAD_BYTES;
    assert!([BLOCKED_BYTES, READY_BYTES].iter().all(|bytes| *bytes <= overhead));
}

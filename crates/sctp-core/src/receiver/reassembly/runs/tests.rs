use sctp_wire::{Data, DataFlags, Ssn, Tsn};

use super::*;
use crate::receiver::tsn_map::TsnPlace as Arrival;
use crate::receiver::window::CHUNK_OVERHEAD_BYTES;

const MESSAGE_BYTES: usize = 100;

/// Reassembly with the map it relies on.
struct Bench {
    reassembly: Runs<Position>,
    arrived: TsnMap,
}

impl Bench {
    fn new() -> Self {
        Self { reassembly: Runs::new(SpareBlocks::within(usize::MAX)), arrived: TsnMap::new(Tsn::new(1)) }
    }

    fn arrive(&mut self, data: &Data<'_>) -> Result<Option<Assembled>, ReceiverViolation> {
        let Arrival::New(position) = self.arrived.place(data.tsn) else { panic!("{} is not new", data.tsn) };
        let fragment = DataChunk::from(data);
        self.reassembly.check(position, &fragment, &self.arrived, MESSAGE_BYTES)?;
        self.arrived.insert(position);
        Ok(self.reassembly.insert(position, &fragment))
    }
}

/// A fragment of stream 0, SSN 0; `bits` as in the chunk header: 2 begins, 1 ends.
fn fragment(tsn: u32, bits: u8, payload: &[u8]) -> Data<'_> {
    Data {
        tsn: Tsn::new(tsn),
        stream: StreamId::new(0),
        ssn: Ssn::new(0),
        ppid: PayloadProtocolId::new(tsn),
        flags: DataFlags::from(bits),
        payload,
    }
}

#[test]
fn every_order_of_three_fragments_gives_the_message_once() {
    let chunks = [fragment(1, 2, b"ab"), fragment(2, 0, b"cd"), fragment(3, 1, b"e")];
    for order in [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
        let mut bench = Bench::new();
        assert_eq!(bench.arrive(&chunks[order[0]]), Ok(None));
        assert_eq!(bench.arrive(&chunks[order[1]]), Ok(None));
        let message = bench.arrive(&chunks[order[2]]).unwrap().unwrap();
        assert_eq!(&message.payload[..], b"abcde", "{order:?}");
        assert_eq!(message.ppid, PayloadProtocolId::new(1), "the first fragment's counts: {order:?}");
        assert_eq!(bench.reassembly.bytes(), 0);
    }
}

#[test]
fn a_long_message_arriving_backwards_is_put_together() {
    let octets: Vec<u8> = (0..100).collect();
    let mut bench = Bench::new();
    for tsn in (2..=100).rev() {
        let bits = u8::from(tsn == 100);
        let at = usize::try_from(tsn).unwrap() - 1;
        assert_eq!(bench.arrive(&fragment(tsn, bits, &octets[at..=at])), Ok(None));
    }
    let message = bench.arrive(&fragment(1, 2, &octets[..1])).unwrap().unwrap();
    assert_eq!(message.payload, octets);
}

#[test]
fn neighbouring_messages_stay_apart() {
    let mut bench = Bench::new();
    assert_eq!(bench.arrive(&fragment(2, 1, b"b")), Ok(None));
    assert_eq!(bench.arrive(&fragment(3, 2, b"c")), Ok(None));
    assert_eq!(&bench.arrive(&fragment(1, 2, b"a")).unwrap().unwrap().payload[..], b"ab");
    assert_eq!(&bench.arrive(&fragment(4, 1, b"d")).unwrap().unwrap().payload[..], b"cd");
}

#[test]
fn a_middle_fragment_after_the_end_of_a_message_is_a_violation() {
    let mut bench = Bench::new();
    let orphan = Err(ReceiverViolation::NoBeginning(Tsn::new(1)));
    assert_eq!(bench.arrive(&fragment(1, 0, b"a")), orphan, "before the initial TSN nothing begins");
    bench.arrive(&fragment(2, 3, b"whole")).unwrap().unwrap();
    assert_eq!(bench.arrive(&fragment(3, 1, b"c")), Err(ReceiverViolation::NoBeginning(Tsn::new(3))));
    assert_eq!(bench.arrive(&fragment(1, 2, b"a")), Err(ReceiverViolation::NoEnding(Tsn::new(1))));
}

#[test]
fn a_boundary_inside_a_message_is_a_violation() {
    let mut bench = Bench::new();
    bench.arrive(&fragment(1, 2, b"a")).unwrap();
    bench.arrive(&fragment(5, 0, b"e")).unwrap();
    let inside = |tsn| Err(ReceiverViolation::BoundaryInsideMessage(Tsn::new(tsn)));
    assert_eq!(bench.arrive(&fragment(2, 2, b"b")), inside(2));
    assert_eq!(bench.arrive(&fragment(4, 1, b"d")), inside(4));
}

#[test]
fn fragments_of_two_streams_do_not_join() {
    let mut bench = Bench::new();
    bench.arrive(&fragment(1, 2, b"a")).unwrap();
    let mixed = Err(ReceiverViolation::MixedFragments(Tsn::new(2)));
    assert_eq!(bench.arrive(&Data { stream: StreamId::new(1), ..fragment(2, 1, b"b") }), mixed);
    assert_eq!(bench.arrive(&Data { ssn: Ssn::new(1), ..fragment(2, 1, b"b") }), mixed);
    assert_eq!(bench.arrive(&fragment(2, 5, b"b")), mixed, "U differs");
}

#[test]
fn the_ssn_of_unordered_fragments_is_ignored() {
    let mut bench = Bench::new();
    bench.arrive(&fragment(1, 6, b"a")).unwrap();
    let last = Data { ssn: Ssn::new(77), ..fragment(2, 5, b"b") };
    assert_eq!(&bench.arrive(&last).unwrap().unwrap().payload[..], b"ab");
}

#[test]
fn a_message_beyond_the_limit_is_a_violation_as_soon_as_its_parts_show_it() {
    let mut bench = Bench::new();
    bench.arrive(&fragment(1, 2, &[0; 50])).unwrap();
    bench.arrive(&fragment(3, 0, &[0; 50])).unwrap();
    let too_long = Err(ReceiverViolation::MessageTooLong { bytes: 101, limit: 100 });
    assert_eq!(bench.arrive(&fragment(2, 0, b"x")), too_long);
}

#[test]
fn the_overhead_charged_for_a_chunk_covers_a_run_of_one_fragment() {
    let mut bench = Bench::new();
    bench.arrive(&fragment(1, 2, b"a")).unwrap();
    let overhead_bytes = bench.reassembly.overhead_bytes();
    assert!(overhead_bytes > 0 && overhead_bytes <= CHUNK_OVERHEAD_BYTES);
}

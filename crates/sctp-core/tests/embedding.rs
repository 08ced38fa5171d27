//! The example of a driver runs, and what it says about the end of an association is so.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
#![allow(clippy::disallowed_types, clippy::disallowed_methods, reason = "the example has clocks and threads")]

#[path = "../examples/pipe.rs"]
mod pipe;

use sctp_core::{Datagram, Destination, Endpoint, Event, Message, StreamId};
use virtual_time::Instant;

#[test]
fn the_example_asks_on_three_streams_and_both_ends_end_by_agreement() {
    let (near, far) = pipe::Pipe::pair();
    let mut server = pipe::Driver::new(pipe::core([1; 32]).unwrap(), far);
    let serving = std::thread::spawn(move || server.run(pipe::echo));
    let mut client = pipe::Driver::new(pipe::core([2; 32]).unwrap(), near);
    let mut answers = pipe::ask(&mut client, &["INVITE", "OPTIONS", "BYE"]).unwrap();
    answers.sort();
    assert_eq!(answers, ["BYE", "INVITE", "OPTIONS"]);
    // The last packet reached it: it did not have to ask again.
    serving.join().unwrap().unwrap();
}

#[test]
fn the_program_itself_runs() {
    pipe::main().unwrap();
}

/// Two cores whose association is about to end: the near one has heard SHUTDOWN ACK, and told of the end.
struct Ending {
    near: Endpoint,
    far: Endpoint,
}

/// The clock stands still: nothing here depends on a timer.
const NOW: Instant = Instant::from_millis(1);

fn carry(from: &mut Endpoint, to: &mut Endpoint) -> usize {
    let (mut packet, mut packets) = (Vec::new(), 0);
    while from.poll_transmit(NOW, &mut packet).is_some() {
        let source = Destination::channel(0);
        to.handle_packet(NOW, Datagram::new(source, &packet));
        packet.clear();
        packets += 1;
    }
    packets
}

fn is_told(core: &mut Endpoint, wanted: &Event) -> bool {
    std::iter::from_fn(|| core.poll_event()).any(|(_, event)| event == *wanted)
}

impl Ending {
    fn new() -> Self {
        let (mut near, mut far) = (pipe::core([1; 32]).unwrap(), pipe::core([2; 32]).unwrap());
        let (port, config) = (near.port(), near.accepted().clone());
        let id = near.connect(NOW, &[Destination::channel(0)], port, config).unwrap();
        near.send(NOW, id, Message::ordered(StreamId::new(0), "all")).unwrap();
        while carry(&mut near, &mut far) + carry(&mut far, &mut near) > 0 {}
        let (heard, _) = std::iter::from_fn(|| far.poll_event()).last().unwrap();
        far.receive(NOW, heard).unwrap();
        near.shutdown(NOW, id).unwrap();
        carry(&mut near, &mut far);
        carry(&mut far, &mut near);
        assert!(is_told(&mut near, &Event::ShutdownComplete), "SHUTDOWN ACK has come");
        Self { near, far }
    }
}

/// The trap for drivers: who leaves at `ShutdownComplete` leaves a packet behind.
#[test]
fn shutdown_complete_is_told_before_its_last_packet_is_fetched() {
    let mut ending = Ending::new();
    assert!(ending.near.may_transmit(), "SHUTDOWN COMPLETE waits to be fetched");
    assert!(!is_told(&mut ending.far, &Event::ShutdownComplete), "and the peer for it");
    assert_eq!(carry(&mut ending.near, &mut ending.far), 1);
    assert!(is_told(&mut ending.far, &Event::ShutdownComplete));
}

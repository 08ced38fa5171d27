//! What middleboxes do to addresses, and how it shows. (That an association survives a new UDP port is shown in
//! `homes::addresses`.)

use sctp_wire::Chunk;

use crate::by_hand::{Hand, with_tag};
use crate::net::{End, LEFT_PORT, RIGHT_PORT, Setup, is_up};

/// An INIT ACK that comes from another address than the INIT went to is not believed, and is counted: who cannot connect
/// through a load balancer finds the reason in `EndpointStatistics::unknown_source`.
#[test]
fn robustness_23_an_init_ack_from_another_address_is_counted_and_the_right_one_counts() {
    let mut pair = Setup::signalling().build();
    pair.connect();
    let first = pair.side(End::Left).sent[0].clone();
    let Some(Ok(Chunk::Init(init))) = first.packet().chunks().next() else { panic!("an INIT") };
    let tag = init.initiate_tag.get();
    let header = Hand::new(RIGHT_PORT, 7).header();
    let ack = with_tag(RIGHT_PORT, LEFT_PORT, tag, |writer| writer.init_ack(&header, &[]).unwrap());
    pair.inject(End::Left, [10, 0, 0, 77].into(), &ack);
    assert_eq!(pair.side(End::Left).endpoint.statistics().unknown_source, 1);
    pair.run_ms(100);
    assert_eq!(pair.count(End::Left, is_up), 1);
}

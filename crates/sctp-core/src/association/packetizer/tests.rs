//! A path MTU that falls (RFC 9260 §6.9): what was numbered before, and what is cut afterwards.

use core::time::Duration;

use smallvec::smallvec;

use super::*;
use crate::association::{Commons, LocalAddresses, PeerNotes, StateCookie};
use crate::capabilities::{Capabilities, Negotiated};
use crate::config::{AssociationConfig, Profile};
use crate::message::Message;
use crate::path::PathSet;
use crate::receiver::SpareBlocks;
use crate::rng::Nonces;
use crate::transmit::{Destination, Encapsulation, Fragmentation};
use sctp_wire::{SctpPort, StreamId, Tsn, VerificationTag};

const PEER: Destination = Destination {
    address: std::net::IpAddr::V4(std::net::Ipv4Addr::new(10, 0, 0, 1)),
    encapsulation: Encapsulation::Ip,
};

fn established(now: Instant, config: AssociationConfig) -> Box<Association> {
    let port = SctpPort::new(9).unwrap();
    let cookie = StateCookie {
        expires_at: now,
        issued_at: Instant::EPOCH,
        local_port: port,
        peer_port: port,
        local_tag: VerificationTag::new(1),
        peer_tag: VerificationTag::new(2),
        tie_tag: 0,
        local_initial_tsn: Tsn::new(0),
        peer_initial_tsn: Tsn::new(0),
        peer_window: 100_000,
        agreed: Negotiated { outbound: 1, inbound: 1, capabilities: Capabilities::NONE },
        key_material: None,
        source: PEER,
        addresses: smallvec![PEER.address],
        notes: PeerNotes::default(),
    };
    let locals = LocalAddresses::default();
    let commons = Commons::new(config, SpareBlocks::within(0)).into();
    Association::accept(now, &cookie, PEER, &locals, commons, Nonces::new(&[1; 32]))
}

#[test]
fn chunks_longer_than_a_fallen_path_mtu_go_alone_and_ip_may_cut_them() {
    let now = Instant::from_millis(1000);
    let mut config = AssociationConfig::profile(Profile::Rfc9260);
    let mut association = established(now, config.clone());
    let message = || [Message::ordered(StreamId::new(0), vec![7; 1352])];
    assert_eq!(association.send(now, message()), (1, None));
    let mut buffer = Vec::new();
    let mut next = |association: &mut Association, now| {
        let mut only = None;
        association.transmit(now, 1, &mut buffer, &mut |transmit| only = Some(transmit));
        only.map(|transmit: Transmit| (transmit.len, transmit.fragmentation))
    };
    while next(&mut association, now).is_some() {}
    config.path_mtu.bytes = 600;
    association.outbound.paths = PathSet::new(PEER, &[], &config);
    assert_eq!(association.send(now, message()), (1, None));
    let now = now + Duration::from_secs(2);
    association.handle_timeout(now);
    assert_eq!(next(&mut association, now), Some((12 + 16 + 1352, Fragmentation::Allowed)));
    // With a window as before the timeout.
    association.outbound.paths = PathSet::new(PEER, &[], &config);
    let len = next(&mut association, now).map(|(len, _)| len);
    assert_eq!(len, Some(580), "new ones are cut smaller");
}

use std::net::{IpAddr, Ipv6Addr, SocketAddr};

use super::*;
use crate::transmit::Encapsulation;

fn to(address: impl Into<IpAddr>) -> Destination {
    SocketAddr::new(address.into(), 9899).into()
}

fn search() -> PathMtu {
    let config = PathMtuConfig { discovery: Discovery::On, ..PathMtuConfig::default() };
    PathMtu::new(config, to([192, 0, 2, 1]))
}

/// Answers probes as a path that carries `carried` does; gives the probes sent until nothing more is to be done.
fn explore(mtu: &mut PathMtu, mut next: Next, carried: usize) -> (u64, Next) {
    for nonce in 0..1000 {
        if next != Next::Probe {
            return (nonce, next);
        }
        let size = mtu.send_probe(nonce).unwrap();
        next = if size <= carried { mtu.on_ack(nonce).unwrap() } else { mtu.on_unanswered().0 };
    }
    panic!("the search does not end");
}

#[test]
fn path_that_carries_the_most_takes_two_probes() {
    let mut mtu = search();
    assert_eq!(mtu.current(), 1200);
    let begun = mtu.begin();
    assert_eq!(explore(&mut mtu, begun, 1500), (2, Next::Nothing));
    assert_eq!(mtu.current(), 1500);
}

/// RFC 8899 §5.3: whatever the path carries is found within a step.
#[test]
fn search_ends_within_one_step_of_what_the_path_carries() {
    for carried in 576..=1500 {
        let mut mtu = search();
        let begun = mtu.begin();
        let (probes, next) = explore(&mut mtu, begun, carried);
        assert!(mtu.current() <= carried && carried - mtu.current() <= STEP_BYTES, "{carried}: {mtu:?}");
        assert!(probes < 30, "{carried}: {probes} probes");
        assert_eq!(next == Next::Nothing, carried == 1500, "{carried}");
    }
}

#[test]
fn vanishing_packets_lead_back_to_the_base_and_a_new_search() {
    let mut mtu = search();
    let begun = mtu.begin();
    explore(&mut mtu, begun, 1500);
    assert!(mtu.on_black_hole());
    assert_eq!(mtu.current(), 1200);
    explore(&mut mtu, Next::Probe, 1280);
    assert!((1248..=1280).contains(&mtu.current()));
    assert!(mtu.on_black_hole() && !mtu.on_black_hole(), "less than the base is a matter of probes");
    explore(&mut mtu, Next::Probe, 1200);
    assert!(!mtu.on_black_hole() && mtu.wants_probe());
    explore(&mut mtu, Next::Probe, 900);
    assert!((868..=900).contains(&mtu.current()));
}

/// RFC 8899 §5.2: after the raise timer the path may carry more.
#[test]
fn later_search_finds_what_the_path_carries_by_then() {
    let mut mtu = search();
    let begun = mtu.begin();
    let (_, next) = explore(&mut mtu, begun, 1300);
    assert_eq!(next, Next::RaiseAfter(Duration::from_secs(600)));
    let again = mtu.begin();
    explore(&mut mtu, again, 1500);
    assert_eq!(mtu.current(), 1500);
}

/// A forged ICMP message costs one probe and no octet of the size (RFC 8899 §4.6.2).
#[test]
fn hint_is_tried_and_never_believed() {
    let mut mtu = search();
    let begun = mtu.begin();
    explore(&mut mtu, begun, 1500);
    for nonsense in [0, 100, 1500, 9000] {
        assert!(!mtu.on_hint(nonsense));
    }
    assert!(mtu.on_hint(600));
    assert_eq!((mtu.current(), mtu.send_probe(5)), (1500, Some(1500)));
    assert_eq!(mtu.on_ack(4), None, "another nonce");
    assert_eq!(mtu.on_ack(5), Some(Next::Nothing));
    assert_eq!(mtu.current(), 1500);
}

#[test]
fn hint_below_the_probe_shortens_the_search() {
    let mut mtu = search();
    mtu.begin();
    mtu.send_probe(1);
    mtu.on_ack(1);
    assert_eq!(mtu.send_probe(2), Some(1500));
    assert!(mtu.on_hint(1400));
    assert_eq!(mtu.send_probe(3), Some(1400));
    assert!(matches!(mtu.on_ack(3), Some(Next::RaiseAfter(_))));
    assert_eq!(mtu.current(), 1400);
}

#[test]
fn without_discovery_the_size_is_the_configured_one_for_ever() {
    let mut mtu = PathMtu::new(PathMtuConfig::default(), to([192, 0, 2, 1]));
    assert_eq!((mtu.begin(), mtu.send_probe(1), mtu.on_black_hole()), (Next::Nothing, None, false));
    assert!(!mtu.on_hint(600) && mtu.current() == 1400);
}

/// Chunks are padded to four octets.
#[test]
fn packets_fill_what_the_headers_in_front_of_them_leave() {
    let config = PathMtuConfig { bytes: 1399, ..PathMtuConfig::default() };
    let over_udp = to([192, 0, 2, 1]);
    let mut mtu = PathMtu::new(config, over_udp);
    assert_eq!(mtu.packet_bytes(), 1368, "28 octets of headers, 3 that no chunk can use");
    mtu.change_headers(Destination { encapsulation: Encapsulation::Ip, ..over_udp });
    assert_eq!(mtu.packet_bytes(), 1376);
    assert_eq!(PathMtu::new(config, to(Ipv6Addr::LOCALHOST)).packet_bytes(), 1348);
}

#[test]
fn ipv6_never_goes_below_1280() {
    let config = PathMtuConfig { discovery: Discovery::On, ..PathMtuConfig::default() };
    let mut mtu = PathMtu::new(config, to(Ipv6Addr::LOCALHOST));
    assert_eq!(mtu.current(), 1280);
    let begun = mtu.begin();
    explore(&mut mtu, begun, 0);
    assert_eq!(mtu.current(), 1280);
}

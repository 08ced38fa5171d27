//! What a plain socket sees of what ours sent, on the loopback interface.

use std::io::Read;

use sctp_core::Destination;

use super::observer::Observer;
use super::*;
use crate::{Outgoing, PacketIo, UdpEncapsulation};

fn observer(address: &str) -> Observer {
    Observer::of_udp(address.parse().unwrap())
}

fn at(observer: &Observer) -> Destination {
    Destination::from(observer.address())
}

#[test]
fn packets_carry_the_code_point_of_each_call_and_the_ecn_bits_beside_it_rfc_2474_3() {
    for (from, to) in [("127.0.0.1:0", "127.0.0.1:0"), ("[::1]:0", "[::1]:0"), ("[::]:0", "127.0.0.1:0")] {
        let (here, there) = (UdpEncapsulation::bind(from.parse().unwrap()).unwrap(), observer(to));
        let plain = Outgoing::single(at(&there), b"x");
        let source = Some(at(&there).address);
        here.send(&mut Outgoing { dscp: Dscp::CS5, ..plain }).unwrap();
        here.send(&mut { plain }).unwrap();
        here.send(&mut Outgoing { dscp: Dscp::AF41, ecn: Ecn::Ect0, source, ..plain }).unwrap();
        assert_eq!(there.class_octets(3, |_| true), [40 << 2, 0, 34 << 2 | 0b10], "{from} to {to}");
    }
}

#[test]
fn every_packet_of_a_run_carries_the_code_point() {
    let (here, there) =
        (UdpEncapsulation::bind("127.0.0.1:0".parse().unwrap()).unwrap(), observer("127.0.0.1:0"));
    let contents = [7; 4_500];
    let run = Outgoing::single(at(&there), &contents);
    let (dscp, segment_bytes) = (Dscp::EF, Some(1_000));
    here.send(&mut Outgoing { dscp, segment_bytes, ..run }).unwrap();
    assert_eq!(there.class_octets(5, |_| true), [46 << 2; 5]);
    assert_eq!((here.statistics().packets_sent, here.statistics().send_calls), (5, 1));
}

/// The DF bits of `expected` UDP packets to a port, seen by a raw socket; `None` where none is to be had.
fn df_bits(port: u16, send: impl FnOnce(), expected: usize) -> Option<Vec<bool>> {
    let udp = Some(socket2::Protocol::UDP);
    let raw = match Socket::new(socket2::Domain::IPV4, socket2::Type::RAW, udp) {
        Ok(raw) => raw,
        Err(error) => {
            let must_run = std::env::var("CI").is_ok_and(|ci| ci == "true");
            assert!(!must_run, "{error}");
            return None;
        }
    };
    raw.set_read_timeout(Some(std::time::Duration::from_secs(5))).unwrap();
    send();
    let mut bits = Vec::new();
    while bits.len() < expected {
        let mut octets = [0; 2_000];
        let _len = (&raw).read(&mut octets).unwrap();
        if u16::from_be_bytes([octets[22], octets[23]]) == port {
            bits.push(octets[6] & 0x40 != 0);
        }
    }
    Some(bits)
}

#[test]
fn df_is_set_where_fragmentation_is_forbidden_and_only_there() {
    let there = observer("127.0.0.1:0");
    for address in ["127.0.0.1:0", "[::]:0"] {
        let here = UdpEncapsulation::bind(address.parse().unwrap()).unwrap();
        let kinds = [
            Fragmentation::Forbidden,
            Fragmentation::Allowed,
            Fragmentation::Allowed,
            Fragmentation::Forbidden,
        ];
        let send = || {
            for fragmentation in kinds {
                let mut packet = Outgoing { fragmentation, ..Outgoing::single(at(&there), b"x") };
                here.send(&mut packet).unwrap();
            }
        };
        let Some(bits) = df_bits(there.address().port(), send, kinds.len()) else { return };
        assert_eq!(bits, kinds.map(|kind| kind == Fragmentation::Forbidden), "from {address}");
    }
}

use std::net::Ipv4Addr;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::time::Timespec;
use sctp_core::Ecn;

use super::*;

fn bind(address: &str) -> UdpEncapsulation {
    UdpEncapsulation::bind(address.parse().unwrap()).unwrap()
}

fn destination(of: &UdpEncapsulation, address: &str) -> Destination {
    let encapsulation = Encapsulation::Udp { port: of.local_address().port() };
    Destination { address: address.parse().unwrap(), encapsulation }
}

fn single(destination: Destination, contents: &[u8]) -> Outgoing<'_> {
    Outgoing::single(destination, contents)
}

/// Blocks until the socket shows one of `flags`, five seconds at most.
fn wait(socket: &UdpEncapsulation, flags: PollFlags) {
    let timeout = Timespec::try_from(Duration::from_secs(5)).unwrap();
    assert_eq!(poll(&mut [PollFd::new(socket, flags)], Some(&timeout)).unwrap(), 1, "nothing came");
}

/// What a datagram was, with its payload copied.
#[derive(Debug, PartialEq)]
struct Seen {
    source: Destination,
    local: Option<IpAddr>,
    ecn: Ecn,
    payload: Vec<u8>,
}

fn receive(socket: &UdpEncapsulation, expected: usize) -> Vec<Seen> {
    let mut batch = ReceiveBatch::new();
    let mut seen = Vec::new();
    while seen.len() < expected {
        wait(socket, PollFlags::IN);
        socket.receive(&mut batch).unwrap();
        seen.extend(batch.datagrams().map(|datagram| Seen {
            source: datagram.source,
            local: datagram.local,
            ecn: datagram.ecn,
            payload: datagram.payload.to_vec(),
        }));
    }
    seen
}

/// Sends a run of packets with offload and returns what arrived.
fn run_of_packets(address: &str, ecn: Ecn) -> (Vec<Vec<u8>>, Vec<Seen>, IoStatistics) {
    let (here, there) = (bind(&format!("{address}:0")), bind(&format!("{address}:0")));
    let sizes = [1_000, 1_000, 1_000, 1_000, 1_000, 1_000, 1_000, 1_000, 1_000, 300];
    let sent: Vec<Vec<u8>> = (0..).zip(sizes).map(|(number, size)| vec![number; size]).collect();
    let contents = sent.concat();
    let destination = destination(&there, address.trim_matches(['[', ']']));
    let mut packets = Outgoing { ecn, segment_bytes: Some(1_000), ..single(destination, &contents) };
    here.send(&mut packets).unwrap();
    assert!(packets.contents.is_empty());
    let seen = receive(&there, sent.len());
    (sent, seen, there.statistics())
}

#[test]
fn a_packet_arrives_with_source_and_local_address() {
    for address in ["127.0.0.1", "::1"] {
        let host: IpAddr = address.parse().unwrap();
        let (here, there) =
            (bind(&SocketAddr::new(host, 0).to_string()), bind(&SocketAddr::new(host, 0).to_string()));
        here.send(&mut single(destination(&there, address), b"INIT")).unwrap();
        let expected = Seen {
            source: destination(&here, address),
            local: Some(host),
            ecn: Ecn::NotEct,
            payload: b"INIT".to_vec(),
        };
        assert_eq!(receive(&there, 1), [expected]);
    }
}

#[test]
fn the_source_address_can_be_chosen() {
    let (here, there) = (bind("0.0.0.0:0"), bind("127.0.0.1:0"));
    let source = IpAddr::from([127, 0, 0, 7]);
    let mut packet = Outgoing { source: Some(source), ..single(destination(&there, "127.0.0.1"), b"x") };
    here.send(&mut packet).unwrap();
    assert_eq!(receive(&there, 1)[0].source.address, source);
}

#[test]
fn a_dual_stack_socket_serves_both_families() {
    let dual = bind("[::]:0");
    let (four, six) = (bind("127.0.0.1:0"), bind("[::1]:0"));
    for (peer, address) in [(&four, "127.0.0.1"), (&six, "::1")] {
        peer.send(&mut single(destination(&dual, address), b"to dual")).unwrap();
        let seen = receive(&dual, 1);
        assert_eq!(seen[0].source, destination(peer, address));
        assert_eq!(seen[0].local, Some(address.parse().unwrap()));
        let mut reply =
            Outgoing { source: seen[0].local, ecn: Ecn::Ect0, ..single(seen[0].source, b"from dual") };
        dual.send(&mut reply).unwrap();
        let reply = &receive(peer, 1)[0];
        assert_eq!((reply.payload.as_slice(), reply.ecn), (b"from dual".as_slice(), Ecn::Ect0));
    }
}

#[test]
fn packets_sent_with_offload_arrive_one_by_one() {
    for address in ["127.0.0.1", "[::1]"] {
        let (sent, seen, _) = run_of_packets(address, Ecn::NotEct);
        assert_eq!(seen.into_iter().map(|seen| seen.payload).collect::<Vec<_>>(), sent);
    }
}

#[test]
fn more_packets_than_one_call_takes_all_arrive() {
    let (here, there) = (bind("127.0.0.1:0"), bind("127.0.0.1:0"));
    let contents: Vec<u8> = (0..=255).flat_map(|number| [number; 700]).collect();
    let mut packets =
        Outgoing { segment_bytes: Some(700), ..single(destination(&there, "127.0.0.1"), &contents) };
    here.send(&mut packets).unwrap();
    let seen = receive(&there, 256);
    assert_eq!(seen.into_iter().flat_map(|seen| seen.payload).collect::<Vec<_>>(), contents);
    assert_eq!(here.statistics().packets_sent, 256);
}

/// quinn-udp asks for timestamps, whose control message leaves no room for the ECN field of coalesced packets.
#[test]
fn ecn_survives_coalescing() {
    for address in ["127.0.0.1", "[::1]"] {
        for ecn in [Ecn::Ect0, Ecn::Ect1, Ecn::Ce] {
            let (_, seen, statistics) = run_of_packets(address, ecn);
            assert_eq!(statistics.receive_calls, 1, "not coalesced: this test shows nothing");
            assert!(seen.iter().all(|seen| seen.ecn == ecn), "{ecn:?} over {address}: {:?}", seen[0].ecn);
        }
    }
}

#[test]
fn an_unreachable_port_is_counted_and_harms_nobody_else() {
    let (here, there) = (bind("127.0.0.1:0"), bind("127.0.0.1:0"));
    let nobody = destination(&bind("127.0.0.1:0"), "127.0.0.1"); // closed again at once
    here.send(&mut single(nobody, b"anyone?")).unwrap();
    wait(&here, PollFlags::ERR);
    here.send(&mut single(destination(&there, "127.0.0.1"), b"hello")).unwrap();
    assert_eq!(receive(&there, 1)[0].payload, b"hello");

    let would_block = here.receive(&mut ReceiveBatch::new()).unwrap_err();
    assert_eq!(would_block.kind(), io::ErrorKind::WouldBlock);
    while here.receive_error().unwrap().is_some() {}
    assert_eq!(here.statistics().reported_unreachable, 1);
}

#[test]
fn a_packet_beyond_the_mtu_is_refused_not_fragmented() {
    let (here, there) = (bind("127.0.0.1:0"), bind("127.0.0.1:0"));
    let beyond_loopback_mtu = vec![0; 65_530];
    let error = here.send(&mut single(destination(&there, "127.0.0.1"), &beyond_loopback_mtu)).unwrap_err();
    assert!(quinn_udp::is_msg_size_err(&error), "{error}");
    assert_eq!(here.statistics().send_too_big, 1);
}

#[test]
fn destinations_the_socket_does_not_speak_are_refused() {
    let here = bind("127.0.0.1:0");
    let raw = Destination { address: Ipv4Addr::LOCALHOST.into(), encapsulation: Encapsulation::Ip };
    for unsupported in [raw, destination(&here, "::1")] {
        for outcome in [here.check(unsupported), here.send(&mut single(unsupported, b"x"))] {
            assert_eq!(outcome.unwrap_err().kind(), io::ErrorKind::Unsupported);
        }
    }
    assert_eq!(here.statistics().send_refused, 2);
}

#[test]
fn a_full_send_buffer_leaves_the_rest_to_send() {
    let here = bind("127.0.0.1:0");
    here.socket.set_send_buffer_size(1).unwrap();
    let there = bind("127.0.0.1:0");
    let contents = vec![7; 400 * 1_000];
    let mut packets =
        Outgoing { segment_bytes: Some(1_000), ..single(destination(&there, "127.0.0.1"), &contents) };
    // Loopback hands packets over at once, so the buffer may or may not fill: both ends are right.
    while let Err(error) = here.send(&mut packets) {
        assert_eq!(error.kind(), io::ErrorKind::WouldBlock);
        wait(&here, PollFlags::OUT);
    }
    assert_eq!(here.statistics().packets_sent, 400);
}

#[test]
fn several_addresses_are_served_and_others_are_not() {
    let ours = ["127.13.20.1", "127.13.20.2", "::1"].map(|address| address.parse().unwrap());
    let there = UdpEncapsulation::bind_addresses(&ours, 0).unwrap();
    let (here, here_v6) = (bind("127.13.20.9:0"), bind("[::1]:0"));
    for address in ["127.13.20.3", "127.13.20.1", "127.13.20.2"] {
        here.send(&mut single(destination(&there, address), b"four")).unwrap();
    }
    here_v6.send(&mut single(destination(&there, "::1"), b"six")).unwrap();
    let locals: Vec<_> = receive(&there, 3).into_iter().map(|seen| seen.local).collect();
    assert_eq!(locals, ours.map(Some));
    assert_eq!((there.statistics().packets_received, there.statistics().packets_foreign), (3, 1));

    let chosen = Outgoing { source: Some(ours[1]), ..single(destination(&here, "127.13.20.9"), b"answer") };
    there.send(&mut { chosen }).unwrap();
    assert_eq!(receive(&here, 1)[0].source.address, ours[1]);
}

#[test]
fn addresses_that_are_not_ours_are_refused() {
    let bind = |addresses: &[&str]| {
        let addresses: Vec<_> = addresses.iter().map(|address| address.parse().unwrap()).collect();
        UdpEncapsulation::bind_addresses(&addresses, 0).map(drop).map_err(|error| error.kind())
    };
    assert_eq!(bind(&["127.0.0.1", "192.0.2.1"]), Err(io::ErrorKind::AddrNotAvailable));
    assert_eq!(bind(&[]), Err(io::ErrorKind::InvalidInput));
    assert_eq!(bind(&["0.0.0.0", "127.0.0.1"]), Ok(()));
}

#[test]
fn a_port_is_had_by_one_socket_or_one_group_at_a_time() {
    let group = |address: SocketAddr, count: u16| {
        UdpEncapsulation::bind_shards(address, count.try_into().unwrap()).map_err(|error| error.kind())
    };
    for count in [1, 2, 5] {
        let shards = group("127.0.0.1:0".parse().unwrap(), count).unwrap();
        let taken = shards[0].local_address();
        let everywhere = SocketAddr::new([0, 0, 0, 0].into(), taken.port());
        for wanted in [taken, everywhere] {
            assert_eq!(UdpEncapsulation::bind(wanted).unwrap_err().kind(), io::ErrorKind::AddrInUse);
            assert_eq!(group(wanted, 1).unwrap_err(), io::ErrorKind::AddrInUse);
            assert_eq!(group(wanted, 3).unwrap_err(), io::ErrorKind::AddrInUse);
        }
        let several = [taken.ip(), [127, 13, 20, 1].into()];
        let refused = UdpEncapsulation::bind_addresses(&several, taken.port()).unwrap_err();
        assert_eq!(refused.kind(), io::ErrorKind::AddrInUse);
    }
    let alone = bind("127.0.0.1:0");
    assert_eq!(group(alone.local_address(), 2).unwrap_err(), io::ErrorKind::AddrInUse);
}

#[test]
fn sockets_at_one_port_get_the_packets_with_their_tags() {
    let count = 3.try_into().unwrap();
    let shards = UdpEncapsulation::bind_shards("127.0.0.1:0".parse().unwrap(), count).unwrap();
    let to = Destination::from(shards[0].local_address());
    let sender = UdpEncapsulation::bind("127.0.0.1:0".parse().unwrap()).unwrap();
    // Common header and one chunk: ports, tag, no checksum, type, flags.
    let packet = |tag: u32, chunk: [u8; 2]| {
        [&[0x13, 0x88, 0x0f, 0x17], &tag.to_be_bytes()[..], &[0; 4], &chunk, &[0, 4]].concat()
    };
    let taker = |packet: &[u8]| {
        sender.send(&mut Outgoing::single(to, packet)).unwrap();
        let mut batch = ReceiveBatch::new();
        let has_it = |shard: &UdpEncapsulation| shard.receive(&mut batch).is_ok();
        shards.iter().position(has_it).unwrap()
    };
    for tag in [1, 2, 3, 4, 5, 3_000_000_000, u32::MAX] {
        let data = packet(tag, [0, 3]);
        assert_eq!(taker(&data), usize::try_from(tag % 3).unwrap(), "tag {tag}");
        assert_eq!(taker(&packet(tag, [6, 0])), usize::try_from(tag % 3).unwrap(), "ABORT with tag {tag}");
    }
    // The same peer's INIT, and what carries its own tag back.
    let of_peer = taker(&packet(0, [1, 0]));
    assert_eq!(taker(&packet(0, [1, 0])), of_peer);
    for tag in [7, 8, 9] {
        assert_eq!((taker(&packet(tag, [6, 1])), taker(&packet(tag, [14, 1]))), (of_peer, of_peer));
    }
}

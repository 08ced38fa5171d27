//! On the loopback interface. Each test has addresses (IPv4) or ports (IPv6) of its own: a raw socket hears all.
#![allow(clippy::print_stderr, reason = "a test that is left out says why")]

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::time::Timespec;
use sctp_core::{Dscp, Ecn};

use super::claim::check_kernel_sctp;
use super::*;

/// A socket, or `None` after saying why this machine gives none; where tests must run (CI=true) that is a failure.
fn open(address: &str, number: u16, port_filter: PortFilter) -> Option<RawIp> {
    let options = RawIpOptions { port_filter, ..RawIpOptions::default() };
    match RawIp::bind_with(&[address.parse().unwrap()], port(number), options) {
        Ok(socket) => Some(socket),
        Err(reason @ (RawIpError::NotPermitted | RawIpError::KernelSctp { .. })) => {
            let must_run = std::env::var("CI").is_ok_and(|ci| ci == "true");
            assert!(!must_run, "{reason}");
            eprintln!("left out: {reason}");
            None
        }
        Err(error) => panic!("{error}"),
    }
}

fn port(number: u16) -> SctpPort {
    SctpPort::try_from(number).unwrap()
}

/// Something with the ports of an SCTP packet; sockets look no further.
fn packet(from: u16, to: u16, octets: usize) -> Vec<u8> {
    let mut packet = [from.to_be_bytes(), to.to_be_bytes()].concat();
    packet.extend((0..=250).cycle().take(octets.saturating_sub(4)));
    packet
}

fn to(address: &str, contents: &[u8]) -> Outgoing<'static> {
    let destination = Destination { address: address.parse().unwrap(), encapsulation: Encapsulation::Ip };
    let contents = contents.to_vec().leak();
    Outgoing::single(destination, contents)
}

/// Blocks until the socket shows one of `flags`, five seconds at most.
fn wait(socket: &RawIp, flags: PollFlags) {
    let timeout = Timespec::try_from(Duration::from_secs(5)).unwrap();
    assert_eq!(poll(&mut [PollFd::new(socket, flags)], Some(&timeout)).unwrap(), 1, "nothing came");
}

/// What a datagram was, with its payload copied.
#[derive(Debug, PartialEq)]
struct Seen {
    source: IpAddr,
    local: Option<IpAddr>,
    ecn: Ecn,
    payload: Vec<u8>,
}

fn receive(socket: &RawIp, expected: usize) -> Vec<Seen> {
    let mut batch = ReceiveBatch::new();
    let mut seen = Vec::new();
    while seen.len() < expected {
        wait(socket, PollFlags::IN);
        socket.receive(&mut batch).unwrap();
        seen.extend(batch.datagrams().map(|datagram| {
            assert_eq!(datagram.source.encapsulation, Encapsulation::Ip);
            Seen {
                source: datagram.source.address,
                local: datagram.local,
                ecn: datagram.ecn,
                payload: datagram.payload.to_vec(),
            }
        }));
    }
    seen
}

/// Whatever still waits in the socket is not ours.
fn nothing_is_left(socket: &RawIp) {
    let mut batch = ReceiveBatch::new();
    while let Ok(()) = socket.receive(&mut batch) {
        assert_eq!(batch.datagrams().count(), 0);
    }
}

#[test]
fn a_packet_arrives_without_ip_header_with_addresses_and_ecn() {
    for (here_at, there_at, number) in [("127.13.1.1", "127.13.1.2", 11), ("::1", "::1", 13)] {
        let Some(here) = open(here_at, number, PortFilter::Kernel) else { return };
        let there = open(there_at, number + 1, PortFilter::Kernel).unwrap();
        for ecn in [Ecn::NotEct, Ecn::Ect0, Ecn::Ect1, Ecn::Ce] {
            let payload = packet(number, number + 1, 1_201);
            here.send(&mut Outgoing { ecn, ..to(there_at, &payload) }).unwrap();
            let (source, local) = (here_at.parse().unwrap(), Some(there_at.parse().unwrap()));
            assert_eq!(receive(&there, 1), [Seen { source, local, ecn, payload }]);
        }
    }
}

#[test]
fn a_run_of_packets_is_cut_and_arrives_in_order() {
    for (address, number) in [("127.13.2.1", 21), ("::1", 23)] {
        let Some(here) = open(address, number, PortFilter::Kernel) else { return };
        let there = open(address, number + 1, PortFilter::Kernel).unwrap();
        let sent: Vec<_> =
            (0..100).map(|index| packet(number, number + 1, if index < 99 { 900 } else { 77 })).collect();
        let mut packets = Outgoing { segment_bytes: Some(900), ..to(address, &sent.concat()) };
        here.send(&mut packets).unwrap();
        assert!(packets.contents.is_empty());
        let seen = receive(&there, 100);
        assert_eq!(seen.into_iter().map(|seen| seen.payload).collect::<Vec<_>>(), sent);
        assert_eq!((here.statistics().packets_sent, there.statistics().packets_received), (100, 100));
        assert!(there.statistics().receive_calls < 100, "received one by one");
    }
}

#[test]
fn packets_for_another_port_are_ignored_and_counted() {
    for (address, number) in [("127.13.3.1", 31), ("::1", 34)] {
        let Some(here) = open(address, number, PortFilter::Kernel) else { return };
        let counting = open(address, number + 1, PortFilter::Process).unwrap();
        for contents in [packet(number, number + 2, 100), packet(number, number + 1, 50)] {
            here.send(&mut to(address, &contents)).unwrap();
        }
        assert_eq!(receive(&counting, 1)[0].payload, packet(number, number + 1, 50));
        // Packets of other tests may be among them: all those to ::1, and some from before the socket was bound.
        assert!(counting.statistics().packets_foreign >= 1);
        assert_eq!(counting.statistics().packets_received, 1);
    }
}

#[test]
fn packets_for_another_port_do_not_even_wake_the_process() {
    for (address, number) in [("127.13.4.1", 41), ("::1", 44)] {
        let Some(here) = open(address, number, PortFilter::Kernel) else { return };
        let there = open(address, number + 1, PortFilter::Kernel).unwrap();
        nothing_is_left(&there);
        let before = there.statistics().packets_foreign;
        for stump in [packet(number, number + 2, 100), vec![0, 1, 2], packet(number, number + 1, 60)] {
            here.send(&mut to(address, &stump)).unwrap();
        }
        assert_eq!(receive(&there, 1)[0].payload, packet(number, number + 1, 60));
        nothing_is_left(&there);
        assert_eq!(there.statistics().packets_received, 1);
        // None of the two, then; packets of other tests may have come before the socket was bound.
        assert_eq!(before, there.statistics().packets_foreign);
    }
}

/// One thread keeps sending to one port while sockets of that port at another address are made.
#[test]
fn what_came_before_the_socket_was_bound_is_not_received() {
    let Some(sender) = open("127.13.12.1", 121, PortFilter::Kernel) else { return };
    let is_done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let stray = to("127.13.12.2", &packet(121, 122, 40));
            while !is_done.load(Ordering::Relaxed) {
                // Nobody has protocol 132 there: what the kernel reports about it is not the point.
                let _ = sender.send(&mut { stray });
            }
        });
        let (mut foreign, mut received) = (0, 0);
        // The moment is short: until it was met a few times, on a busy machine perhaps never.
        for _ in 0..20_000 {
            let late = open("127.13.12.3", 122, PortFilter::Kernel).unwrap();
            let mut batch = ReceiveBatch::new();
            if late.receive(&mut batch).is_ok() {
                received += batch.datagrams().count();
            }
            foreign += late.statistics().packets_foreign;
            if foreign >= 10 {
                break;
            }
        }
        is_done.store(true, Ordering::Relaxed);
        assert_eq!(received, 0);
        if foreign == 0 {
            eprintln!("no packet came before a socket was bound: nothing shown");
        }
    });
}

#[test]
fn of_several_addresses_each_receives_and_others_do_not() {
    let Some(here) = open("127.13.5.1", 51, PortFilter::Kernel) else { return };
    let ours = ["127.13.5.2", "127.13.5.3"].map(|address| address.parse().unwrap());
    let there = RawIp::bind(&ours, port(52)).unwrap();
    for address in ["127.13.5.2", "127.13.5.4", "127.13.5.3"] {
        here.send(&mut to(address, &packet(51, 52, 40))).unwrap();
    }
    let locals: Vec<_> = receive(&there, 2).into_iter().map(|seen| seen.local).collect();
    assert_eq!(locals, ours.map(Some));
    nothing_is_left(&there);
    assert!(there.statistics().packets_foreign >= 1);
    assert!(there.local_address().ip().is_unspecified());

    // The routing table would choose 127.0.0.1.
    there.send(&mut to("127.13.5.1", &packet(52, 51, 40))).unwrap();
    let chosen = Outgoing { source: Some(ours[1]), ..to("127.13.5.1", &packet(52, 51, 40)) };
    there.send(&mut { chosen }).unwrap();
    let sources: Vec<_> = receive(&here, 2).into_iter().map(|seen| seen.source).collect();
    assert_eq!(sources, ours);
}

/// Sends to an address without protocol 132 until the kernel says so. A socket of another test that is bound to all
/// addresses takes the packet for its own, so one attempt may not be enough.
fn provoke_report(socket: &RawIp, nobody: &str) {
    let a_moment = Timespec::try_from(Duration::from_millis(100)).unwrap();
    for _ in 0..50 {
        socket.send(&mut to(nobody, &packet(61, 62, 40))).unwrap();
        if poll(&mut [PollFd::new(socket, PollFlags::ERR)], Some(&a_moment)).unwrap() == 1 {
            return;
        }
    }
    panic!("no report came");
}

#[test]
fn an_unreachable_protocol_is_counted_and_harms_nobody_else() {
    let Some(here) = open("127.13.6.1", 61, PortFilter::Kernel) else { return };
    let there = open("127.13.6.2", 62, PortFilter::Kernel).unwrap();
    provoke_report(&here, "127.13.6.3");
    here.send(&mut to("127.13.6.2", &packet(61, 62, 40))).unwrap();
    assert_eq!(receive(&there, 1).len(), 1);
    nothing_is_left(&here);
    while here.receive_error().unwrap().is_some() {}
    let statistics = here.statistics();
    assert_eq!(statistics.reported_unreachable + statistics.reported_other, 1, "{statistics:?}");
}

#[test]
fn a_packet_beyond_the_mtu_is_refused_not_fragmented() {
    for (address, number) in [("127.13.7.1", 71), ("::1", 73)] {
        let Some(here) = open(address, number, PortFilter::Kernel) else { return };
        // The loopback interface carries 65,536 octets, an IPv4 packet 65,535.
        let beyond = packet(number, number + 1, if address == "::1" { 65_500 } else { 65_520 });
        let error = here.send(&mut to(address, &beyond)).unwrap_err();
        assert!(quinn_udp::is_msg_size_err(&error), "{error}");
        assert_eq!(here.statistics().send_too_big, 1);
    }
}

#[test]
fn ipv4_packets_carry_the_df_bit() {
    let Some(here) = open("127.13.11.1", 111, PortFilter::Kernel) else { return };
    let listener = Socket::new(Domain::IPV4, Type::RAW, Some(Protocol::from(PROTOCOL_SCTP))).unwrap();
    listener.bind(&SocketAddr::from(([127, 13, 11, 2], 0)).into()).unwrap();
    listener.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
    here.send(&mut to("127.13.11.2", &packet(111, 112, 40))).unwrap();
    let mut message = [0; 100];
    assert_eq!(std::io::Read::read(&mut &listener, &mut message).unwrap(), 60);
    assert_eq!(message[6] & 0x40, 0x40, "{message:02x?}");
}

#[test]
fn a_port_is_had_by_one_socket_at_a_time() {
    let Some(first) = open("127.13.8.1", 81, PortFilter::Kernel) else { return };
    let again = || RawIp::bind(&["127.13.8.1".parse().unwrap()], port(81));
    assert!(matches!(again(), Err(RawIpError::PortInUse { .. })));
    assert!(RawIp::bind(&["127.13.8.2".parse().unwrap()], port(81)).is_ok(), "another address");
    let refused = RawIp::bind(&["0.0.0.0".parse().unwrap()], port(81)).unwrap_err().to_string();
    assert!(refused.contains("port 81 at 0.0.0.0") && refused.contains("at 127.13.8.1"), "{refused}");
    drop(first);
    // A program that another test starts has copies of all descriptors until it runs.
    let is_free = (0..500).any(|_| {
        again().is_ok() || {
            std::thread::park_timeout(Duration::from_millis(10));
            false
        }
    });
    assert!(is_free, "given up");
}

#[test]
fn a_port_at_all_addresses_is_a_port_at_each() {
    if open("127.13.14.1", 140, PortFilter::Kernel).is_none() {
        return;
    }
    let bind = |address: &str, number| RawIp::bind(&[address.parse().unwrap()], port(number));
    let _all = bind("0.0.0.0", 141).unwrap();
    for address in ["127.13.14.1", "127.13.14.2"] {
        let error = bind(address, 141).unwrap_err();
        assert!(matches!(error, RawIpError::PortInUse { holder, .. } if holder.is_unspecified()), "{error}");
    }
    assert!(bind("127.13.14.1", 1410).is_ok(), "another port");
    let several = ["127.13.14.1", "127.13.14.2"].map(|address| address.parse().unwrap());
    assert!(matches!(RawIp::bind(&several, port(141)), Err(RawIpError::PortInUse { .. })));
    assert!(bind("::1", 141).is_ok(), "another family");
}

#[test]
fn addresses_that_cannot_be_bound_say_why() {
    if open("127.13.9.1", 91, PortFilter::Kernel).is_none() {
        return;
    }
    let bind = |addresses: &[&str]| {
        let addresses: Vec<_> = addresses.iter().map(|address| address.parse().unwrap()).collect();
        RawIp::bind(&addresses, port(92)).unwrap_err()
    };
    assert!(matches!(bind(&[]), RawIpError::NoAddress));
    assert!(matches!(bind(&["127.0.0.1", "::1"]), RawIpError::MixedFamilies { .. }));
    assert!(matches!(bind(&["127.0.0.1", "0.0.0.0"]), RawIpError::AnyAmongOthers(_)));
    for foreign in [&["192.0.2.1"][..], &["127.0.0.1", "192.0.2.1"]] {
        let error = bind(foreign);
        assert!(error.to_string().contains("192.0.2.1"), "{error}");
    }
}

#[test]
fn destinations_the_socket_does_not_speak_are_refused() {
    let Some(here) = open("127.13.10.1", 101, PortFilter::Kernel) else { return };
    let udp = Destination::from(SocketAddr::from(([127, 0, 0, 1], 9899)));
    for destination in [udp, to("::1", b"").destination] {
        let mut packet = Outgoing { destination, ..to("127.0.0.1", b"x") };
        for outcome in [here.check(destination), here.send(&mut packet)] {
            assert_eq!(outcome.unwrap_err().kind(), io::ErrorKind::Unsupported);
        }
    }
    assert_eq!(here.statistics().send_refused, 2);
}

#[test]
fn both_ip_versions_come_through_one_descriptor() {
    if open("127.13.13.9", 130, PortFilter::Kernel).is_none() {
        return;
    }
    let addresses = ["127.13.13.1", "::1"].map(|address| address.parse().unwrap());
    let there = DualStackRawIp::bind_with(&addresses, port(131), RawIpOptions::default()).unwrap();
    let timeout = Timespec::try_from(Duration::from_secs(5)).unwrap();
    let mut batch = ReceiveBatch::new();
    for (number, address) in (132..).zip(["127.13.13.1", "::1", "::1", "127.13.13.1"]) {
        let here =
            open(if address == "::1" { "::1" } else { "127.13.13.2" }, number, PortFilter::Kernel).unwrap();
        here.send(&mut to(address, &packet(number, 131, 64))).unwrap();
        while there.receive(&mut batch).is_err() || batch.datagrams().count() == 0 {
            assert_eq!(
                poll(&mut [PollFd::new(&there, PollFlags::IN)], Some(&timeout)).unwrap(),
                1,
                "{address}"
            );
        }
        assert_eq!(batch.datagrams().next().unwrap().local, Some(address.parse().unwrap()));
        there.send(&mut to(&here.local_address().ip().to_string(), &packet(131, number, 64))).unwrap();
        assert_eq!(receive(&here, 1)[0].source, address.parse::<IpAddr>().unwrap());
    }
    assert_eq!((there.statistics().packets_received, there.statistics().packets_sent), (4, 4));
    let idle = poll(&mut [PollFd::new(&there, PollFlags::IN)], Some(&Timespec { tv_sec: 0, tv_nsec: 0 }));
    assert_eq!(idle.unwrap(), 0, "room to send wakes nobody who does not wait for it");
}

#[test]
fn a_kernel_with_its_own_sctp_is_refused_with_the_remedy() {
    let folder = std::env::temp_dir();
    let error = check_kernel_sctp(&folder).unwrap_err().to_string();
    assert!(error.contains("/etc/modprobe.d") && error.contains("UDP"), "{error}");
    assert!(check_kernel_sctp(&folder.join("there is no such folder")).is_ok());
}

/// RFC 2474 §3: what each packet asks of routers stands in the IP header that arrives, with the ECN bits beside it.
#[test]
fn packets_carry_the_code_point_of_each_call() {
    for (here_at, there_at, number) in [("127.13.9.1", "127.13.9.2", 91), ("::1", "::1", 93)] {
        let Some(here) = open(here_at, number, PortFilter::Kernel) else { return };
        let there = open(there_at, number + 1, PortFilter::Kernel).unwrap();
        let observer = crate::header::observer::Observer::of_sctp(there_at.parse().unwrap());
        let payload = packet(number, number + 1, 100);
        let plain = to(there_at, &payload);
        here.send(&mut Outgoing { dscp: Dscp::CS5, ..plain }).unwrap();
        here.send(&mut { plain }).unwrap();
        here.send(&mut Outgoing { dscp: Dscp::AF41, ecn: Ecn::Ect0, ..plain }).unwrap();
        let is_ours = |octets: &[u8]| octets.ends_with(&payload);
        assert_eq!(observer.class_octets(3, is_ours), [40 << 2, 0, 34 << 2 | 0b10], "{here_at}");
        assert_eq!(receive(&there, 3).len(), 3);
    }
}

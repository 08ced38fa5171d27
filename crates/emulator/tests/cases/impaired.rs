//! Impairments of real packets.

use std::collections::BTreeSet;
use std::net::UdpSocket;
use std::time::Duration;

use emulator::{
    CaptureFile, CapturePoint, Direction, EmulatedLink, EmulatorOptions, LinkEnd, LinkState, SideContext,
    World,
};
use netem::{Impairments, Probability};
use pcap_file::pcapng::{Block, PcapNgReader};

use super::transports::{median, round_trip, wan, with_udp_echo};

/// Sends numbered datagrams over every link, one link after the other; what arrives at the other side per link.
fn send_over(links: Vec<EmulatedLink>, count: u8) -> (Vec<Vec<u8>>, emulator::EmulatorReport) {
    let indices: Vec<u8> = links.iter().map(|link| link.index).collect();
    let ends = |end: fn(u8) -> LinkEnd| indices.iter().copied().map(end).collect::<Vec<_>>();
    let mut world = World::new(links).unwrap();
    let (bound, is_bound) = std::sync::mpsc::channel();
    let (sent, is_sent) = std::sync::mpsc::channel();
    let server = world.spawn_side("server", &ends(LinkEnd::server), move |side: SideContext| {
        let bind = |link: &emulator::SideLink| UdpSocket::bind((link.local_v4, 5000)).unwrap();
        let sockets: Vec<UdpSocket> = side.links.iter().map(bind).collect();
        bound.send(()).unwrap();
        is_sent.recv().unwrap();
        sockets.iter().map(received).collect::<Vec<_>>()
    });
    let client = world.spawn_side("client", &ends(LinkEnd::client), move |side: SideContext| {
        is_bound.recv().unwrap();
        let socket = UdpSocket::bind("0.0.0.0:0").unwrap();
        for link in &side.links {
            for number in 1..=count {
                socket.send_to(&[number], (link.peer_v4, 5000)).unwrap();
            }
        }
        sent.send(()).unwrap();
    });
    let (server, client) = (server.unwrap(), client.unwrap());
    let emulator = world.start(EmulatorOptions::default()).unwrap();
    client.join().unwrap();
    let arrived = server.join().unwrap();
    (arrived, emulator.stop().unwrap())
}

/// The first octets of all datagrams until nothing comes for a while.
fn received(socket: &UdpSocket) -> Vec<u8> {
    socket.set_read_timeout(Some(Duration::from_millis(300))).unwrap();
    let mut buffer = [0];
    std::iter::from_fn(|| socket.recv(&mut buffer).ok().map(|_| buffer[0])).collect()
}

pub(crate) fn listed_drops() {
    let request = Impairments { drop_packets: BTreeSet::from([2, 5]), ..Impairments::default() };
    let link = EmulatedLink { index: 1, request, response: Impairments::default(), seed: 1 };
    let (arrived, report) = send_over(vec![link], 8);
    assert_eq!(arrived, [[1, 3, 4, 6, 7, 8]]);
    let dropped: Vec<u64> = report.links[0].request.dropped.iter().map(|packet| packet.number).collect();
    assert_eq!(dropped, [2, 5]);
}

pub(crate) fn same_seed() {
    let lossy = Impairments { loss: "20%".parse().unwrap(), ..Impairments::default() };
    let link = |index, seed| EmulatedLink::symmetric(index, lossy.clone(), seed);
    let (arrived, report) = send_over(vec![link(1, 7), link(2, 7), link(3, 8)], 100);
    assert_eq!(arrived[0], arrived[1]);
    assert_ne!(arrived[0], arrived[2]);
    let dropped = |at: usize| &report.links[at].request.dropped;
    assert_eq!(dropped(0), dropped(1));
    assert!((5..40).contains(&dropped(0).len()) && dropped(0).len() + arrived[0].len() == 100);
}

pub(crate) fn corruption() {
    let corrupt = Probability::new(0.5).unwrap();
    let link = EmulatedLink::symmetric(1, Impairments { corrupt, ..Impairments::default() }, 1);
    let (arrived, report) = send_over(vec![link], 200);
    let corrupted = report.links[0].request.stats.corrupted;
    assert!((70..130).contains(&corrupted), "{corrupted}");
    // Whole ones arrive, each as it was sent; of the damaged ones none does.
    assert_eq!(arrived[0].len(), 200 - usize::try_from(corrupted).unwrap());
    assert!(arrived[0].is_sorted_by(|one, next| one < next));
}

pub(crate) fn duplicates() {
    let duplicate = Probability::new(0.999_999).unwrap();
    let link = EmulatedLink::symmetric(1, Impairments { duplicate, ..Impairments::default() }, 1);
    let (arrived, _) = send_over(vec![link], 3);
    assert_eq!(arrived, [[1, 1, 2, 2, 3, 3]]);
}

pub(crate) fn change_in_the_middle() {
    let (bound, is_bound) = std::sync::mpsc::channel();
    let (quick, is_quick) = std::sync::mpsc::channel();
    let (slow_now, is_slow_now) = std::sync::mpsc::channel();
    let mut world = World::new(vec![wan(0)]).unwrap();
    let server = world.spawn_side("server", &[LinkEnd::server(1)], move |side: SideContext| {
        let socket = UdpSocket::bind((side.links[0].local_v4, 5000)).unwrap();
        bound.send(()).unwrap();
        for _ in 0..20 {
            let (_, from) = socket.recv_from(&mut [0; 64]).unwrap();
            socket.send_to(&[1], from).unwrap();
        }
    });
    let client = world.spawn_side("client", &[LinkEnd::client(1)], move |side: SideContext| {
        is_bound.recv().unwrap();
        let socket = UdpSocket::bind((side.links[0].local_v4, 0)).unwrap();
        socket.connect((side.links[0].peer_v4, 5000)).unwrap();
        quick.send(median((0..10).map(|_| round_trip(&socket)).collect())).unwrap();
        is_slow_now.recv().unwrap();
        median((0..10).map(|_| round_trip(&socket)).collect())
    });
    let (server, client) = (server.unwrap(), client.unwrap());
    let emulator = world.start(EmulatorOptions::default()).unwrap();
    assert!(is_quick.recv().unwrap() < Duration::from_millis(10));
    let slow = wan(15).request;
    emulator.set_impairments(1, Direction::Request, slow.clone()).unwrap();
    assert!(emulator.set_impairments(2, Direction::Request, slow).is_err());
    slow_now.send(()).unwrap();
    assert!(client.join().unwrap() >= Duration::from_millis(15));
    server.join().unwrap();
}

pub(crate) fn link_down() {
    let (bound, is_bound) = std::sync::mpsc::channel();
    let (answered, is_answered) = std::sync::mpsc::channel();
    let (down_now, is_down_now) = std::sync::mpsc::channel();
    let (over, is_over) = std::sync::mpsc::channel();
    let mut world = World::new(vec![wan(0)]).unwrap();
    let server = world.spawn_side("server", &[LinkEnd::server(1)], move |side: SideContext| {
        let socket = UdpSocket::bind((side.links[0].local_v4, 5000)).unwrap();
        bound.send(()).unwrap();
        let (_, from) = socket.recv_from(&mut [0; 64]).unwrap();
        socket.send_to(&[1], from).unwrap();
        // With its last thread a namespace goes, and what its devices hold.
        is_over.recv().unwrap();
    });
    let client = world.spawn_side("client", &[LinkEnd::client(1)], move |side: SideContext| {
        is_bound.recv().unwrap();
        let socket = UdpSocket::bind((side.links[0].local_v4, 0)).unwrap();
        socket.connect((side.links[0].peer_v4, 5000)).unwrap();
        answered.send(round_trip(&socket)).unwrap();
        is_down_now.recv().unwrap();
        (0..5).for_each(|_| assert_eq!(socket.send(&[2; 64]).unwrap(), 64));
    });
    let (server, client) = (server.unwrap(), client.unwrap());
    let emulator = world.start(EmulatorOptions::default()).unwrap();
    is_answered.recv().unwrap();
    emulator.set_link_state(1, LinkState::Down).unwrap();
    assert!(emulator.set_link_state(2, LinkState::Down).is_err());
    down_now.send(()).unwrap();
    client.join().unwrap();
    over.send(()).unwrap();
    server.join().unwrap();
    let request = &emulator.stop().unwrap().links[0].request;
    assert_eq!((request.stats.offered, request.lost_while_down), (1, 5));
}

pub(crate) fn capture() {
    for (point, expected) in [
        (CapturePoint::Sender, &[5, 3][..]),
        (CapturePoint::Receiver, &[4, 3]),
        // Request offered and delivered, response offered and delivered: one dropped, the last one not echoed.
        (CapturePoint::Both, &[5, 4, 3, 3]),
    ] {
        assert_eq!(captured(point), expected, "{point:?}");
    }
}

/// Packets by interface.
fn captured(point: CapturePoint) -> Vec<u32> {
    let path = std::env::temp_dir().join(format!("headway-{}.pcapng", std::process::id()));
    let capture = Some(CaptureFile { path: path.clone(), point });
    let options = EmulatorOptions { capture, ..EmulatorOptions::default() };
    let mut link = wan(0);
    link.request.drop_packets.insert(3);
    let (_, report) = with_udp_echo(link, options, |socket| {
        round_trip(socket);
        round_trip(socket);
        socket.send(&[9; 64]).unwrap();
        round_trip(socket)
    });
    assert_eq!(report.capture_error, None);
    let mut packets = Vec::new();
    let mut reader = PcapNgReader::new(std::fs::File::open(&path).unwrap()).unwrap();
    while let Some(block) = reader.next_block() {
        let block = block.unwrap();
        if let Block::InterfaceDescription(_) = block {
            packets.push(0);
        } else if let Block::EnhancedPacket(packet) = block {
            packets[usize::try_from(packet.interface_id).unwrap()] += 1;
            assert_eq!(packet.data[0], 0x45);
        }
    }
    std::fs::remove_file(path).unwrap();
    packets
}

//! What differs between the kinds of devices.

use std::net::UdpSocket;
use std::time::Duration;

use emulator::DeviceKind;
use emulator::{EmulatedLink, EmulatorOptions, LinkEnd, SideContext, World, device_kind};
use netem::Impairments;

use super::child::DEVICE;
use super::transports::{wan, with_udp_echo};

pub(crate) fn kind_is_reported() {
    let (_, report) = with_udp_echo(wan(0), EmulatorOptions::default(), |_| ());
    assert_eq!(report.device, device_kind().unwrap());
    let asked_for = std::env::var(DEVICE).ok();
    assert!(asked_for.is_none_or(|asked_for| asked_for == report.device.name()));
    let missed = report.links[0].request.missed;
    assert_eq!(missed, (report.device == DeviceKind::Veth).then_some(0));
}

/// The emulator is told to end before it has looked for packets.
pub(crate) fn end_before_a_look() {
    let mut world = World::new(vec![EmulatedLink::symmetric(9, Impairments::default(), 1)]).unwrap();
    let here = world.attach_here(&[LinkEnd::client(9)]).unwrap().remove(0);
    let server = world.spawn_side("server", &[LinkEnd::server(9)], |_| ());
    let socket = UdpSocket::bind((here.local_v4, 0)).unwrap();
    for _ in 0..3 {
        socket.send_to(PROBE, (here.peer_v4, 5000)).unwrap();
    }
    let report = world.start(EmulatorOptions::default()).unwrap().stop().unwrap();
    server.unwrap().join().unwrap();
    assert_eq!(report.links[0].request.stats.offered, 3);
}

/// More than any device holds, sent before the emulator reads.
pub(crate) fn burst() {
    let mut world = World::new(vec![EmulatedLink::symmetric(9, Impairments::default(), 1)]).unwrap();
    let here = world.attach_here(&[LinkEnd::client(9)]).unwrap().remove(0);
    let server = world.spawn_side("server", &[LinkEnd::server(9)], |side: SideContext| {
        let socket = UdpSocket::bind((side.links[0].local_v4, 5000)).unwrap();
        let mut buffer = [0; 2048];
        loop {
            let (length, from) = socket.recv_from(&mut buffer).unwrap();
            if length == PROBE.len() {
                return socket.send_to(PROBE, from).unwrap();
            }
        }
    });
    let socket = UdpSocket::bind((here.local_v4, 0)).unwrap();
    socket.connect((here.peer_v4, 5000)).unwrap();
    socket.set_read_timeout(Some(Duration::from_millis(100))).unwrap();
    let mut sent = (0..BURST).filter(|_| socket.send(&[0; 1400]).is_ok()).count();
    let emulator = world.start(EmulatorOptions::default()).unwrap();
    // The server's own buffer overflows as well: again until a probe is answered.
    loop {
        sent += usize::from(socket.send(PROBE).is_ok());
        if socket.recv(&mut [0; 64]).is_ok() {
            break;
        }
    }
    server.unwrap().join().unwrap();
    let request = &emulator.stop().unwrap().links[0].request;
    let (offered, sent) = (request.stats.offered, u64::try_from(sent).unwrap());
    println!("{sent} sent, {offered} offered, missed {:?}", request.missed);
    match request.missed {
        Some(missed) => assert!(missed > 0 && offered + missed == sent),
        None => assert!((10_000..sent).contains(&offered)),
    }
}

const PROBE: &[u8] = b"probe";
const BURST: usize = 50_000;

//! What differs between the kinds of devices.

use std::net::UdpSocket;
use std::time::Duration;

use emulator::DeviceKind;
use emulator::{
    EmulatedLink, EmulatorOptions, LinkEnd, LinkState, SideContext, World, device_kind, switch_device,
};
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

/// What is sent while a device is off goes nowhere, and on again it carries as before.
pub(crate) fn switched_off_and_on() {
    let (bound, is_bound) = std::sync::mpsc::channel();
    let mut world = World::new(vec![wan(0)]).unwrap();
    let server = world.spawn_side("server", &[LinkEnd::server(1)], move |side: SideContext| {
        let socket = UdpSocket::bind((side.links[0].local_v4, 5000)).unwrap();
        bound.send(()).unwrap();
        for _ in 0..2 {
            let (length, from) = socket.recv_from(&mut [0; 64]).unwrap();
            socket.send_to(&PROBE[..length], from).unwrap();
        }
    });
    let client = world.spawn_side("client", &[LinkEnd::client(1)], move |side: SideContext| {
        is_bound.recv().unwrap();
        let link = &side.links[0];
        let socket = UdpSocket::bind((link.local_v4, 0)).unwrap();
        let there = (link.peer_v4, 5000);
        let echo = || {
            assert_eq!(socket.send_to(PROBE, there).unwrap(), PROBE.len());
            socket.recv(&mut [0; 64]).unwrap()
        };
        assert_eq!(echo(), PROBE.len());
        switch_device(&link.device, LinkState::Down).unwrap();
        assert!(socket.send_to(PROBE, there).is_err(), "there is no route");
        switch_device(&link.device, LinkState::Up).unwrap();
        assert_eq!(echo(), PROBE.len());
        let unknown = switch_device("no-such-device", LinkState::Up).unwrap_err();
        assert!(unknown.to_string().contains("no-such-device"), "{unknown}");
    });
    let emulator = world.start(EmulatorOptions::default()).unwrap();
    client.unwrap().join().unwrap();
    server.unwrap().join().unwrap();
    assert_eq!(emulator.stop().unwrap().links[0].request.stats.offered, 2);
}

const PROBE: &[u8] = b"probe";
const BURST: usize = 50_000;

//! The SCTP that ships, between simulated hosts.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on ends here")]

use std::fs::File;
use std::net::IpAddr;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use netem::Impairments;
use netsim::sctp::{Application, SctpHost};
use netsim::{CapturePoint, CaptureScope, Direction, Ended, HostId, LinkId, LinkSpec, World};
use sctp_core::{
    AssociationConfig, AssociationId, Destination, Encapsulation, Endpoint, EndpointConfig, Event, Message,
    ReceivedMessage, SctpPort, StreamId,
};
use virtual_time::Instant;

/// Sends numbered requests and collects the answers, or answers.
struct User {
    role: Role,
    association: Option<AssociationId>,
    received: Vec<(u16, Vec<u8>)>,
    ended: Vec<Event>,
    next_request: Option<Instant>,
    requests: u32,
}

#[derive(PartialEq, Eq)]
enum Role {
    Client,
    Server,
}

impl Application for User {
    fn on_event(&mut self, now: Instant, endpoint: &mut Endpoint, id: AssociationId, event: Event) {
        match event {
            Event::CommunicationUp { .. } => {
                self.association = Some(id);
                self.next_request = (self.role == Role::Client).then_some(now);
            }
            Event::MessageReady => {
                while let Some(received) = endpoint.receive(now, id) {
                    let ReceivedMessage { stream, payload, .. } = received.message.clone();
                    self.received.push((stream.get(), payload.to_vec()));
                    if self.role == Role::Server {
                        endpoint.send(now, id, received.message.into()).unwrap();
                    }
                }
            }
            Event::SenderDry
            | Event::SendBufferAvailable
            | Event::NewPeerKey(_)
            | Event::PartialDeliveryAborted { .. }
            | Event::AddressChangeAnswered { .. }
            | Event::PeerPrimary(_)
            | Event::TrainReceived { .. }
            | Event::PeerAddressChange { .. } => {}
            Event::ShutdownComplete
            | Event::ShutdownReceived
            | Event::Restart { .. }
            | Event::StreamsReset { .. }
            | Event::AssociationReset { .. }
            | Event::StreamsAdded { .. }
            | Event::CommunicationLost(_)
            | Event::CannotStart(_)
            | Event::RemoteError(_)
            | Event::SendFailed { .. }
            | _ => self.ended.push(event),
        }
    }

    fn poll_timeout(&self) -> Option<Instant> {
        self.next_request
    }

    fn handle_timeout(&mut self, now: Instant, endpoint: &mut Endpoint) {
        let stream = StreamId::new(u16::try_from(self.requests % 4).unwrap());
        let message = Message::ordered(stream, self.requests.to_be_bytes().to_vec());
        endpoint.send(now, self.association.unwrap(), message).unwrap();
        self.requests += 1;
        self.next_request = (self.requests < REQUESTS).then(|| now + Duration::from_millis(3));
    }
}

const REQUESTS: u32 = 200;

struct Lab {
    world: World<SctpHost<User>>,
    client: HostId,
    server: HostId,
    link: LinkId,
}

fn lab(seed: u64, impairments: Impairments, encapsulation: Encapsulation) -> Lab {
    let mut world = World::new(seed);
    let [client, server] = [(5001, Role::Client), (7626, Role::Server)].map(|(port, role)| {
        world.add_host_with(|_, entropy| {
            let config = EndpointConfig::new(SctpPort::try_from(port).unwrap());
            let (association, received, ended) = (None, Vec::new(), Vec::new());
            let user = User { role, association, received, ended, next_request: None, requests: 0 };
            SctpHost::new(Endpoint::new(config, entropy).unwrap(), user)
        })
    });
    let a = world.add_interface(client, &[IpAddr::from([10, 0, 0, 1])]).unwrap();
    let b = world.add_interface(server, &[IpAddr::from([10, 0, 0, 2])]).unwrap();
    let link = world.connect(a, b, LinkSpec::symmetric(impairments)).unwrap();
    let at = Destination { address: [10, 0, 0, 2].into(), encapsulation };
    world.with_host(client, |host, now| {
        let port = SctpPort::try_from(7626).unwrap();
        host.endpoint.connect(now, &[at], port, AssociationConfig::default()).unwrap();
    });
    Lab { world, client, server, link }
}

/// Runs until the client has all answers; panics after ten minutes of virtual time.
fn run(lab: &mut Lab) {
    let (client, deadline) = (lab.client, Instant::from_millis(600_000));
    let all = usize::try_from(REQUESTS).unwrap();
    let ended = lab.world.run_while(deadline, |world| world.host(client).application.received.len() < all);
    assert_eq!(ended, Ended::ConditionFailed);
}

fn lossy() -> Impairments {
    Impairments { delay: Duration::from_millis(20), loss: "5%".parse().unwrap(), ..Impairments::default() }
}

#[test]
fn every_request_is_answered_once_and_in_order_per_stream_over_a_lossy_link() {
    for encapsulation in [Encapsulation::Ip, Encapsulation::Udp { port: 9899 }] {
        let mut lab = lab(1, lossy(), encapsulation);
        run(&mut lab);
        assert!(lab.world.link_stats(lab.link, Direction::Request).dropped_loss > 0);
        let received = &lab.world.host(lab.client).application.received;
        for stream in 0..4 {
            let numbers = received.iter().filter(|(of, _)| *of == stream);
            let numbers: Vec<u32> =
                numbers.map(|(_, payload)| u32::from_be_bytes(payload[..].try_into().unwrap())).collect();
            let expected: Vec<u32> = (u32::from(stream)..REQUESTS).step_by(4).collect();
            assert_eq!(numbers, expected, "stream {stream}, {encapsulation:?}");
        }
    }
}

#[test]
fn equal_seeds_repeat_the_run() {
    let hashes = [1, 1, 2].map(|seed| {
        let mut lab = lab(seed, lossy(), Encapsulation::Ip);
        run(&mut lab);
        lab.world.trace_hash()
    });
    assert_eq!(hashes[0], hashes[1]);
    assert_ne!(hashes[0], hashes[2]);
}

#[test]
fn a_graceful_shutdown_ends_both_sides() {
    let mut lab = lab(1, lossy(), Encapsulation::Ip);
    run(&mut lab);
    lab.world.with_host(lab.client, |host, now| {
        host.endpoint.shutdown(now, host.application.association.unwrap()).unwrap();
    });
    let later = lab.world.now() + Duration::from_secs(60);
    lab.world.run_until(later);
    assert_eq!(lab.world.host(lab.client).application.ended, [Event::ShutdownComplete]);
    let server = &lab.world.host(lab.server).application;
    assert_eq!(server.ended, [Event::ShutdownReceived, Event::ShutdownComplete]);
}

#[test]
fn udp_to_another_port_is_ignored() {
    let mut lab = lab(1, Impairments::default(), Encapsulation::Udp { port: 4000 });
    lab.world.run_until(Instant::from_millis(10));
    assert_eq!(lab.world.host(lab.server).ignored_packets(), 1);
}

/// Another dissector's judgement of what sctp-core sends, losses and retransmissions included.
#[test]
fn tshark_finds_no_flaw_in_any_packet() {
    if Command::new("tshark").arg("--version").output().is_err() {
        println!("tshark is not installed: nothing to judge");
        return;
    }
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join("sctp.pcapng");
    let mut lab = lab(4, lossy(), Encapsulation::Udp { port: 9899 });
    let writer = Box::new(File::create(&file).unwrap());
    lab.world.capture(writer, CaptureScope::World, CapturePoint::Departure).unwrap();
    run(&mut lab);
    lab.world.finish_captures().unwrap();
    let mut tshark = Command::new("tshark");
    tshark.arg("-r").arg(&file).args(["-d", "udp.port==9899,sctp", "-T", "fields", "-E", "separator=;"]);
    tshark.args(["-o", "sctp.checksum:CRC 32c", "-o", "udp.check_checksum:TRUE"]);
    for field in ["sctp.checksum.status", "udp.checksum.status", "_ws.malformed"] {
        tshark.args(["-e", field]);
    }
    let output = tshark.output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    // Both checksums good, nothing malformed.
    let flawed: Vec<(usize, &str)> = text.lines().enumerate().filter(|(_, line)| *line != "1;1;").collect();
    assert_eq!(flawed, [], "{}", String::from_utf8_lossy(&output.stderr));
    assert!(text.lines().count() > usize::try_from(REQUESTS).unwrap(), "{} packets", text.lines().count());
}

//! One flow without pause: goodput of the kernel's TCP through the emulator, and of the simulator's.

use core::time::Duration;
use std::error::Error;
use std::io::{Read, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::mpsc::channel;

use emulator::{EmulatedLink, EmulatorOptions, LinkEnd, SideContext, World};
use netem::{Impairments, Loss, Probability};
use netsim::LinkSpec;
use netsim::tcp::{Application, ConnectionId, Connections, TcpHost};
use socket2::{Domain, Socket, Type};
use tcp_core::{CongestionAlgorithm, Event, TcpConfig};
use virtual_time::Instant;

type Failure = Box<dyn Error>;

/// Both ways 10 ms and 20 Mbit/s with a queue of 100 packets; only data is lost.
pub(crate) fn path(loss: f64) -> Result<[Impairments; 2], Failure> {
    let back = Impairments {
        delay: Duration::from_millis(10),
        rate: Some("20mbit".parse()?),
        queue: Some("100p".parse()?),
        ..Impairments::default()
    };
    Ok([Impairments { loss: Loss::Bernoulli(Probability::new(loss)?), ..back.clone() }, back])
}

/// Mbit/s that the receiving application read.
pub(crate) fn of_kernel(
    congestion: &str,
    path: &[Impairments; 2],
    time: Duration,
    seed: u64,
) -> Result<f64, Failure> {
    let [request, response] = path.clone();
    let mut world = World::new(vec![EmulatedLink { index: 1, request, response, seed }])?;
    let congestion = congestion.to_owned();
    let (bound, is_bound) = channel();
    let server = world.spawn_side("server", &[LinkEnd::server(1)], move |side: SideContext| {
        let listener = TcpListener::bind((side.links[0].local_v4, PORT))?;
        let _gone = bound.send(());
        let (mut stream, _) = listener.accept()?;
        let (mut octets, mut buffer) = (0_u64, vec![0; 64 << 10]);
        loop {
            match stream.read(&mut buffer)? {
                0 => return Ok::<_, std::io::Error>(octets),
                len => octets += u64::try_from(len).unwrap_or(0),
            }
        }
    })?;
    let client = world.spawn_side("client", &[LinkEnd::client(1)], move |side: SideContext| {
        let _gone = is_bound.recv();
        let socket = Socket::new(Domain::IPV4, Type::STREAM, None)?;
        socket.set_tcp_congestion(congestion.as_bytes())?;
        socket.connect(&SocketAddr::from((side.links[0].peer_v4, PORT)).into())?;
        let mut stream = TcpStream::from(socket);
        let begun = std::time::Instant::now();
        while begun.elapsed() < time {
            stream.write_all(&[7; 16 << 10])?;
        }
        Ok::<_, std::io::Error>(())
    })?;
    let emulator = world.start(EmulatorOptions::default())?;
    let begun = std::time::Instant::now();
    client.join()??;
    let octets = server.join()??;
    let seconds = begun.elapsed().as_secs_f64();
    emulator.stop()?;
    Ok(megabits(octets, seconds))
}

/// The same in virtual time.
pub(crate) fn of_simulator(
    congestion: &str,
    path: &[Impairments; 2],
    time: Duration,
    seed: u64,
) -> Result<f64, Failure> {
    let congestion = match congestion {
        "reno" => CongestionAlgorithm::NewReno,
        _ => CongestionAlgorithm::LinuxCubic,
    };
    let config =
        TcpConfig { congestion, send_bytes: 4 << 20, receive_bytes: 4 << 20, ..TcpConfig::default() };
    let mut world = netsim::World::new(seed);
    let client = world.add_host(TcpHost::new(CLIENT, config, 1, Bulk::default()));
    let server = world.add_host(TcpHost::new(SERVER, config, 2, Bulk::default()));
    let near = world.add_interface(client, &[CLIENT])?;
    let far = world.add_interface(server, &[SERVER])?;
    let [request, response] = path.clone();
    world.connect(near, far, LinkSpec { request, response })?;
    world.host_mut(server).connections.listen(PORT);
    world.with_host(client, |host, _| {
        host.application.is_sender = true;
        host.connections.connect(SERVER, PORT);
    });
    world.run_until(Instant::EPOCH + time);
    Ok(megabits(world.host(server).application.received, time.as_secs_f64()))
}

/// Writes without pause, or reads all that comes.
#[derive(Default)]
struct Bulk {
    is_sender: bool,
    received: u64,
    buffer: Vec<u8>,
}

impl Application for Bulk {
    fn on_event(&mut self, _: Instant, connections: &mut Connections, id: ConnectionId, event: Event) {
        if self.is_sender {
            let may_write = matches!(event, Event::Connected | Event::Writable);
            while may_write && connections[id].write(&[7; 16 << 10]) > 0 {}
        } else {
            self.buffer.clear();
            connections[id].read(&mut self.buffer);
            self.received += u64::try_from(self.buffer.len()).unwrap_or(0);
        }
    }
}

fn megabits(octets: u64, seconds: f64) -> f64 {
    let kilobytes = u32::try_from(octets / 1000).map_or(f64::INFINITY, f64::from);
    kilobytes * 8.0 / 1000.0 / seconds
}

const CLIENT: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1));
const SERVER: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 2));
const PORT: u16 = 5001;

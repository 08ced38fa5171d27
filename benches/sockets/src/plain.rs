//! The kernel alone: TCP with one write for each message, which is what else a program would use, or with one for many;
//! and UDP, than which nothing over UDP is faster, by the shortest calls and by those that a stack with timers needs.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::os::fd::AsFd;
use std::time::Duration;

use sctp_io::{
    Clock, Doorbell, Notice, Outgoing, PacketIo, ReceiveBatch, Room, Sources, Timer, UdpEncapsulation,
};

use crate::tally::{RoundTrips, Tally};
use crate::task::{End, Task};

/// What a sender over TCP writes at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Writes {
    /// One message.
    Each,
    /// As many messages as a run of packets would hold.
    Batched,
}

/// With calls that block.
///
/// # Panics
/// If anything fails.
pub fn tcp(task: &Task, writes: Writes) -> ! {
    let mut stream = match task.end.opens() {
        true => TcpStream::connect(task.address).expect("the receiver is there"),
        false => TcpListener::bind(task.address).expect("it is free").accept().expect("it is open").0,
    };
    stream.set_nodelay(matches!(task.end, End::Ping | End::Echo)).expect("it is up");
    let mut buffer = vec![0; task.octets.max(256 << 10)];
    let (payload, mut tally) = (task.payload(), Tally::new(task));
    let written = payload.repeat(match writes {
        Writes::Each => 1,
        Writes::Batched => (WRITTEN_BYTES / task.octets).max(1),
    });
    let mut round_trips = RoundTrips::begin(task);
    loop {
        match task.end {
            End::Send => stream.write_all(&written).expect("it is up"),
            End::Receive => {
                let octets = stream.read(&mut buffer).expect("it is up");
                assert!(octets > 0, "the sender ended before the time was over");
                tally.add_octets(octets);
                tally.look();
            }
            End::Echo => {
                stream.read_exact(&mut buffer[..payload.len()]).expect("it is up");
                stream.write_all(&payload).expect("it is up");
            }
            End::Ping => {
                stream.write_all(&payload).expect("it is up");
                stream.read_exact(&mut buffer[..payload.len()]).expect("it is up");
                round_trips.next();
            }
        }
    }
}

/// Round trips of datagrams with calls that block.
///
/// # Panics
/// If anything fails, or asked for something else.
pub fn udp(task: &Task) -> ! {
    assert!(matches!(task.end, End::Ping | End::Echo), "{:?} is for what loses nothing", task.end);
    let any = SocketAddr::new(task.address.ip(), 0);
    let socket = UdpSocket::bind(if task.end.opens() { any } else { task.address }).expect("it is free");
    let mut buffer = vec![0; task.octets];
    if task.end == End::Echo {
        let (_, peer) = socket.recv_from(&mut buffer).expect("the socket is open");
        socket.connect(peer).expect("loopback is there");
        loop {
            socket.send(&buffer).expect("it is up");
            socket.recv(&mut buffer).expect("it is up");
        }
    }
    socket.connect(task.address).expect("loopback is there");
    socket.set_read_timeout(Some(UNANSWERED)).expect("it is a time");
    let (payload, mut round_trips) = (task.payload(), RoundTrips::begin(task));
    loop {
        socket.send(&payload).expect("it is up");
        socket.recv(&mut buffer).expect("the echo is there");
        round_trips.next();
    }
}

/// Round trips of datagrams through the sockets of our stack, and as it waits for them: what is left of its round trip is
/// the protocol's.
///
/// # Panics
/// If anything fails, or asked for something else.
pub fn sockets(task: &Task) -> ! {
    assert!(matches!(task.end, End::Ping | End::Echo), "{:?} is for what loses nothing", task.end);
    let any = SocketAddr::new(task.address.ip(), 0);
    let socket =
        UdpEncapsulation::bind(if task.end.opens() { any } else { task.address }).expect("it is free");
    let timer = Timer::new(Clock::start()).expect("descriptors are left");
    let timer = timer.as_fd().try_clone_to_owned().expect("descriptors are left");
    let bell = Doorbell::new().expect("descriptors are left");
    let mut sources = Sources::new(&socket, timer, &bell, None).expect("descriptors are left");
    let mut batch = ReceiveBatch::new();
    batch.set_notice(Notice::Again);
    let (payload, mut round_trips) = (task.payload(), RoundTrips::begin(task));
    if task.end == End::Ping {
        socket.send(&mut Outgoing::single(task.address.into(), &payload)).expect("loopback is there");
    }
    loop {
        sources.wait(Room::Irrelevant, None).expect("memory is left");
        if socket.receive(&mut batch).is_err() {
            continue;
        }
        for datagram in batch.datagrams() {
            if task.end == End::Ping {
                round_trips.next();
            }
            socket.send(&mut Outgoing::single(datagram.source, &payload)).expect("loopback is there");
        }
    }
}

/// Nothing is lost on an idle loopback.
const UNANSWERED: Duration = Duration::from_secs(1);
/// As much as one call with segmentation offload carries.
const WRITTEN_BYTES: usize = 64 << 10;

//! The kernel alone: TCP with one write for each message, which is what else a program would use, and UDP, than which
//! nothing over UDP is faster.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::time::Duration;

use crate::tally::{RoundTrips, Tally};
use crate::task::{End, Task};

/// With calls that block.
///
/// # Panics
/// If anything fails.
pub fn tcp(task: &Task) -> ! {
    let mut stream = match task.end.opens() {
        true => TcpStream::connect(task.address).expect("the receiver is there"),
        false => TcpListener::bind(task.address).expect("it is free").accept().expect("it is open").0,
    };
    stream.set_nodelay(matches!(task.end, End::Ping | End::Echo)).expect("it is up");
    let mut buffer = vec![0; task.octets.max(256 << 10)];
    let (payload, mut tally) = (task.payload(), Tally::new(task));
    let mut round_trips = RoundTrips::begin(task);
    loop {
        match task.end {
            End::Send => stream.write_all(&payload).expect("it is up"),
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

/// Nothing is lost on an idle loopback.
const UNANSWERED: Duration = Duration::from_secs(1);

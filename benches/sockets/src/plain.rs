//! The kernel's TCP, with one write for each message: what else a program would use.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};

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

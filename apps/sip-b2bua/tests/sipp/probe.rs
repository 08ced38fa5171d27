//! Datagrams from one side to the other, as media would go.

use std::net::UdpSocket;
use std::time::{Duration, Instant};

use crate::agent::PATIENCE;
use crate::network::{INSIDE, Network, OUTSIDE, Place};

/// A socket on each side, at the ports of the session descriptions.
#[derive(Debug)]
pub(crate) struct Media {
    inside: UdpSocket,
    outside: UdpSocket,
}

impl Media {
    pub(crate) fn new(network: &Network) -> Self {
        Self::between(network, INSIDE, OUTSIDE)
    }

    /// The same at other addresses.
    pub(crate) fn between(network: &Network, inside: &str, outside: &str) -> Self {
        let bind = |place, address: &str, port: u16| {
            network.within(place, || {
                let socket = UdpSocket::bind((address, port)).unwrap();
                socket.set_read_timeout(Some(Duration::from_millis(100))).unwrap();
                socket
            })
        };
        Self { inside: bind(Place::Inside, inside, 6_000), outside: bind(Place::Outside, outside, 7_000) }
    }

    /// Returns whether a datagram arrives in each direction: out, and in.
    pub(crate) fn passes(&self) -> (bool, bool) {
        self.passes_towards(&self.inside.local_addr().unwrap().to_string())
    }

    /// The same, where the inside is reached at another address.
    pub(crate) fn passes_towards(&self, inside: &str) -> (bool, bool) {
        let outside = self.outside.local_addr().unwrap().to_string();
        (passes(&self.inside, &self.outside, &outside), passes(&self.outside, &self.inside, inside))
    }

    /// Waits until media pass in both directions.
    pub(crate) fn wait(&self, log: impl Fn() -> String) {
        let start = Instant::now();
        while self.passes() != (true, true) {
            assert!(start.elapsed() < PATIENCE, "media do not pass: {}", log());
        }
    }
}

fn passes(from: &UdpSocket, at: &UdpSocket, to: &str) -> bool {
    from.send_to(b"media", to).unwrap();
    let mut buffer = [0; 16];
    let has_come = at.recv_from(&mut buffer).is_ok();
    // What came late is not to be taken for the next one.
    while has_come && at.set_nonblocking(true).is_ok() && at.recv_from(&mut buffer).is_ok() {}
    at.set_nonblocking(false).unwrap();
    has_come
}

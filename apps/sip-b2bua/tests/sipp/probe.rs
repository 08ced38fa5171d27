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
        let bind = |place, address: &str| {
            network.within(place, || {
                let socket = UdpSocket::bind(address).unwrap();
                socket.set_read_timeout(Some(Duration::from_millis(100))).unwrap();
                socket
            })
        };
        let (inside, outside) = (format!("{INSIDE}:6000"), format!("{OUTSIDE}:7000"));
        Self { inside: bind(Place::Inside, &inside), outside: bind(Place::Outside, &outside) }
    }

    /// Returns whether a datagram arrives in each direction: out, and in.
    pub(crate) fn passes(&self) -> (bool, bool) {
        self.passes_towards(&format!("{INSIDE}:6000"))
    }

    /// The same, where the inside is reached at another address.
    pub(crate) fn passes_towards(&self, inside: &str) -> (bool, bool) {
        let outside = format!("{OUTSIDE}:7000");
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

//! The interface of client and server over QUIC to those who carry their datagrams.

use std::net::SocketAddr;

use virtual_time::Instant;

/// One end of QUIC with its client or server on top: the verbs of every core.
pub(super) trait Core {
    /// A datagram has come.
    fn handle_datagram(&mut self, now: Instant, from: SocketAddr, octets: &[u8]);

    /// Takes note of the time that has passed.
    fn handle_timeout(&mut self, now: Instant);

    /// Appends the next datagram to `buffer` and says where it goes.
    fn poll_transmit(&mut self, now: Instant, buffer: &mut Vec<u8>) -> Option<SocketAddr>;

    /// Returns whether its datagrams are to leave from the next address of its host from now on. By default never.
    fn goes_elsewhere(&mut self, _now: Instant) -> bool {
        false
    }

    /// Returns when it wants to be woken.
    fn poll_timeout(&self) -> Option<Instant>;
}

//! What client and server over QUIC have in common for those who carry their datagrams.

use std::net::SocketAddr;

use virtual_time::Instant;

/// One end of QUIC with its client or server on top: the verbs of every core.
pub(super) trait Core {
    /// A datagram has come.
    fn handle_datagram(&mut self, now: Instant, from: SocketAddr, octets: &[u8]);

    /// It is later now.
    fn handle_timeout(&mut self, now: Instant);

    /// Appends the next datagram to `buffer` and says where it goes.
    fn poll_transmit(&mut self, now: Instant, buffer: &mut Vec<u8>) -> Option<SocketAddr>;

    /// When it wants to be woken.
    fn poll_timeout(&self) -> Option<Instant>;
}

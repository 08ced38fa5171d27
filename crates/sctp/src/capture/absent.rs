//! The capture of a library built without the feature `pcap`: there is none.

use std::net::SocketAddr;

use sctp_core::Datagram;
use sctp_io::Outgoing;
use virtual_time::Instant;

/// A capture that nobody can create.
#[derive(Debug)]
pub(crate) enum Capture {}

impl Capture {
    pub(crate) fn received(&mut self, _now: Instant, _bound: SocketAddr, _datagram: &Datagram<'_>) {
        match *self {}
    }

    pub(crate) fn sent(&mut self, _now: Instant, _bound: SocketAddr, _packets: &Outgoing<'_>) {
        match *self {}
    }

    pub(crate) fn flush(&mut self) {
        match *self {}
    }
}

//! The two ends of a flow: a transport below, client or server above.

pub(super) mod sctp;
pub(super) mod tcp;
pub(super) mod udp;

use netsim::sctp::SctpHost;
use netsim::{Host, Outgoing, Packet};
use virtual_time::Instant;

use self::sctp::{SctpClient, SctpServer};
use self::tcp::{TcpClient, TcpServer};
use self::udp::{UdpClient, UdpServer};
use super::one_way::OneWay;
use super::outcome::TransportCounts;
use crate::traffic::Client;

/// One end of a flow.
pub(super) enum End {
    SctpClient(Box<SctpHost<SctpClient>>),
    SctpServer(Box<SctpHost<SctpServer>>),
    TcpClient(Box<TcpClient>),
    TcpServer(Box<TcpServer>),
    UdpClient(Box<UdpClient>),
    UdpServer(Box<UdpServer>),
}

/// Calls the same method of whatever end it is.
macro_rules! each {
    ($end:expr, $inner:ident => $call:expr) => {
        match $end {
            End::SctpClient($inner) => $call,
            End::SctpServer($inner) => $call,
            End::TcpClient($inner) => $call,
            End::TcpServer($inner) => $call,
            End::UdpClient($inner) => $call,
            End::UdpServer($inner) => $call,
        }
    };
}

impl End {
    pub(super) fn handle_packet(&mut self, now: Instant, packet: Packet<'_>) {
        each!(self, end => end.handle_packet(now, packet));
    }

    pub(super) fn handle_timeout(&mut self, now: Instant) {
        each!(self, end => end.handle_timeout(now));
    }

    pub(super) fn poll_transmit(&mut self, now: Instant, buffer: &mut Vec<u8>) -> Option<Outgoing> {
        each!(self, end => end.poll_transmit(now, buffer))
    }

    pub(super) fn poll_timeout(&self) -> Option<Instant> {
        each!(self, end => end.poll_timeout())
    }

    /// The client of the flow, at the end that has it.
    pub(super) fn client(&self) -> Option<&Client> {
        match self {
            Self::SctpClient(end) => Some(&end.application.client),
            Self::TcpClient(end) => Some(&end.client),
            Self::UdpClient(end) => Some(&end.client),
            Self::SctpServer(_) | Self::TcpServer(_) | Self::UdpServer(_) => None,
        }
    }

    /// Messages delivered at the end that has the server.
    pub(super) fn delivered(&self) -> u64 {
        match self {
            Self::SctpServer(end) => end.application.server.delivered(),
            Self::TcpServer(end) => end.server.delivered(),
            Self::UdpServer(end) => end.server.delivered(),
            Self::SctpClient(_) | Self::TcpClient(_) | Self::UdpClient(_) => 0,
        }
    }

    pub(super) fn counts(&self) -> TransportCounts {
        match self {
            Self::SctpClient(end) => end.application.counts(&end.endpoint),
            Self::SctpServer(end) => end.application.counts(&end.endpoint),
            Self::TcpClient(end) => end.counts(),
            Self::UdpClient(end) => end.counts(),
            Self::TcpServer(_) | Self::UdpServer(_) => TransportCounts::default(),
        }
    }
}

impl End {
    pub(super) fn into_client(self) -> Option<Client> {
        match self {
            Self::SctpClient(end) => Some(end.application.client),
            Self::TcpClient(end) => Some(end.client),
            Self::UdpClient(end) => Some(end.client),
            Self::SctpServer(_) | Self::TcpServer(_) | Self::UdpServer(_) => None,
        }
    }

    /// What the server received: messages, octets, and until when.
    pub(super) fn into_received(self) -> (Option<OneWay>, u64, Instant) {
        let (one_way, octets, until) = match self {
            Self::SctpServer(end) => end.application.server.into_parts(),
            Self::TcpServer(end) => end.server.into_parts(),
            Self::UdpServer(end) => end.server.into_parts(),
            Self::SctpClient(_) | Self::TcpClient(_) | Self::UdpClient(_) => {
                return (None, 0, Instant::EPOCH);
            }
        };
        (Some(one_way), octets, until)
    }
}

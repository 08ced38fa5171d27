//! SCTP directly over IP, which needs raw sockets as Linux has them.

use std::io;
use std::net::{IpAddr, SocketAddr, UdpSocket};

use sctp_core::{Destination, SctpPort};

use crate::batch::ReceiveBatch;
use crate::packet_io::{Descriptor, IoStatistics, NetworkError, Outgoing, PacketIo};
use crate::raw_options::{RawIpError, RawIpOptions};

/// A raw socket that carries the SCTP packets of one port. There is none on this system: nobody can have one.
#[derive(Debug)]
pub enum RawIp {}

/// Two raw sockets, one of each IP version. There are none on this system: nobody can have them.
#[derive(Debug)]
pub enum DualStackRawIp {}

macro_rules! refused {
    ($type:ident) => {
        impl $type {
            /// Refuses: see [`RawIpError::NotOnThisSystem`].
            ///
            /// # Errors
            ///
            /// Always.
            pub fn bind(_addresses: &[IpAddr], _port: SctpPort) -> Result<Self, RawIpError> {
                Err(RawIpError::NotOnThisSystem)
            }

            /// Refuses as [`bind`](Self::bind) does.
            ///
            /// # Errors
            ///
            /// Always.
            pub fn bind_with(
                _addresses: &[IpAddr],
                _port: SctpPort,
                _options: RawIpOptions,
            ) -> Result<Self, RawIpError> {
                Err(RawIpError::NotOnThisSystem)
            }
        }

        impl Descriptor for $type {
            fn duplicate(&self) -> io::Result<UdpSocket> {
                match *self {}
            }
        }

        impl PacketIo for $type {
            fn check(&self, _destination: Destination) -> io::Result<()> {
                match *self {}
            }

            fn send(&self, _packets: &mut Outgoing<'_>) -> io::Result<()> {
                match *self {}
            }

            fn receive(&self, _batch: &mut ReceiveBatch) -> io::Result<()> {
                match *self {}
            }

            fn receive_error(&self) -> io::Result<Option<NetworkError>> {
                match *self {}
            }

            fn local_address(&self) -> SocketAddr {
                match *self {}
            }

            fn statistics(&self) -> IoStatistics {
                match *self {}
            }
        }
    };
}

refused!(RawIp);
refused!(DualStackRawIp);

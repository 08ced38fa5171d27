//! Binding an endpoint that a task of a tokio runtime drives.

use std::net::{IpAddr, SocketAddr};
#[cfg(target_os = "linux")]
use std::os::fd::OwnedFd;
use std::sync::Arc;

use sctp_core::{AssociationConfig, EndpointConfig, IncomingPolicy, SctpPort};
#[cfg(target_os = "linux")]
use sctp_io::DatagramChannel;
use sctp_io::{DualStackRawIp, PacketIo, RawIp, RawIpError, RawIpOptions, UdpEncapsulation};

use super::{Assembled, Endpoint, EndpointBuilder, PortChoice};
use crate::driver::{self, Readiness};
use crate::error::BindError;

impl Endpoint {
    /// Binds an endpoint to a UDP socket (RFC 6951) at `address` and starts driving it.
    ///
    /// The registered UDP port is 9899; port 0 lets the system choose. `0.0.0.0` serves the host's IPv4 addresses,
    /// `[::]` IPv6 and IPv4.
    ///
    /// # Errors
    ///
    /// If the configuration cannot work, the address cannot be bound, or this is not a tokio runtime.
    pub async fn bind(config: EndpointConfig, address: SocketAddr) -> Result<Self, BindError> {
        Self::builder(config).bind(address).await
    }

    /// Binds an endpoint that serves an SCTP port, to a UDP socket at `address` and with the default parameters: every peer
    /// waits until it is let in by [`accept`](Self::accept) or asked about by [`incoming`](Self::incoming).
    ///
    /// # Errors
    ///
    /// As [`bind`](Self::bind).
    pub async fn server(port: SctpPort, address: SocketAddr) -> Result<Self, BindError> {
        let mut config = EndpointConfig::new(port);
        config.incoming = IncomingPolicy::ASK;
        Self::bind(config, address).await
    }

    /// Binds an endpoint that only opens associations, to a UDP socket at `address`: with an SCTP port of its own choice,
    /// refusing peers that call, and with the default parameters ([`connect_with`](Self::connect_with) has others).
    ///
    /// # Errors
    ///
    /// As [`bind`](Self::bind).
    pub async fn client(address: SocketAddr) -> Result<Self, BindError> {
        Self::builder_of_client(AssociationConfig::default()).bind(address).await
    }
}

impl EndpointBuilder {
    /// Binds the endpoint as [`Endpoint::bind`] does.
    ///
    /// # Errors
    ///
    /// As [`Endpoint::bind`], or if the capture file cannot be written.
    pub async fn bind(self, address: SocketAddr) -> Result<Endpoint, BindError> {
        self.config.validate()?; // before a socket is bound in vain
        let io = UdpEncapsulation::bind(address).map_err(BindError::of_socket(address))?;
        self.bind_io(io).await
    }

    /// Binds the endpoint to UDP port `port` (RFC 6951) at each of `addresses`, of which peers are told: a multi-homed
    /// endpoint. See [`UdpEncapsulation::bind_addresses`] and [`EndpointConfig::local_addresses`], which `addresses`
    /// replace unless it is set. Addresses that come and go are noticed.
    ///
    /// # Errors
    ///
    /// As [`bind`](Self::bind).
    pub async fn bind_addresses(self, addresses: &[IpAddr], port: u16) -> Result<Endpoint, BindError> {
        let builder = self.listing(addresses);
        builder.config.validate()?; // before a socket is bound in vain
        let first = addresses.first().copied().unwrap_or(IpAddr::V4(std::net::Ipv4Addr::UNSPECIFIED));
        let io = UdpEncapsulation::bind_addresses(addresses, port)
            .map_err(BindError::of_socket(SocketAddr::new(first, port)))?;
        builder.bind_io(io).await
    }

    /// Lists several addresses to peers, each by itself.
    fn listing(mut self, addresses: &[IpAddr]) -> Self {
        let are_named = addresses.len() > 1 && !addresses.iter().any(IpAddr::is_unspecified);
        if are_named && self.config.local_addresses.is_empty() {
            self.config.local_addresses = addresses.to_vec();
        }
        self
    }

    /// Binds the endpoint to protocol 132, SCTP directly over IP, at `addresses` and starts driving it.
    ///
    /// `0.0.0.0` stands for all IPv4 addresses, `::` for all of IPv6; both versions together are possible. Packets for
    /// other SCTP ports of the host are left to whom they belong to. Several addresses are told to peers, as by
    /// [`bind_addresses`](Self::bind_addresses). Needs the capability CAP_NET_RAW, and a kernel whose own
    /// SCTP is not loaded. For other options see [`RawIp::bind_with`] and [`bind_io`](Self::bind_io).
    ///
    /// # Errors
    ///
    /// As [`bind`](Self::bind); [`BindError::RawIp`] says what the socket lacks and what to do.
    pub async fn bind_ip(self, addresses: &[IpAddr]) -> Result<Endpoint, BindError> {
        let mut builder = self.listing(addresses);
        builder.config.validate()?; // before a socket is bound in vain
        let both = addresses.iter().any(IpAddr::is_ipv4) && addresses.iter().any(IpAddr::is_ipv6);
        if both {
            let bind = |port| DualStackRawIp::bind_with(addresses, port, RawIpOptions::default());
            let io = builder.at_port(bind)?;
            return builder.keeping_port().bind_io(io).await;
        }
        let io = builder.at_port(|port| RawIp::bind(addresses, port))?;
        builder.keeping_port().bind_io(io).await
    }

    /// Returns the builder, whose port is not chosen anew: a socket has it.
    const fn keeping_port(mut self) -> Self {
        self.port_choice = PortChoice::Given;
        self
    }

    /// Starts an endpoint whose packets are the datagrams of `socket`, a connected one: SCTP over DTLS or whatever else
    /// keeps their boundaries (RFC 8261), see [`DatagramChannel`]. The peer to connect to is [`DatagramChannel::PEER`],
    /// the parameters to begin with are those of [`Profile::WebRtc`](sctp_core::Profile::WebRtc).
    ///
    /// ```
    /// use sctp::{AssociationConfig, DatagramChannel, Endpoint, EndpointConfig, Message, Profile, SctpPort, StreamId};
    /// use tokio::net::UnixDatagram;
    ///
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let port = SctpPort::try_from(5000)?;
    /// let association = AssociationConfig::profile(Profile::WebRtc);
    /// let config = EndpointConfig::with_association(port, association);
    /// // Between these two there would be DTLS and the network.
    /// let (near, far) = UnixDatagram::pair()?;
    /// let far = Endpoint::builder(config.clone()).bind_channel(far.into_std()?).await?;
    /// let near = Endpoint::builder(config).bind_channel(near.into_std()?).await?;
    /// let (opened, accepted) = tokio::join!(near.connect(&[DatagramChannel::PEER], port), far.accept());
    /// opened?.send(Message::ordered(StreamId::new(0), "offer")).await?;
    /// let received = accepted.ok_or("closed")?.recv().await?.ok_or("over")?;
    /// assert_eq!(received.message.payload, "offer");
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// As [`bind`](Self::bind), or if `socket` is none of datagrams.
    #[cfg(target_os = "linux")]
    pub async fn bind_channel(self, socket: impl Into<OwnedFd>) -> Result<Endpoint, BindError> {
        let io = DatagramChannel::new(socket).map_err(BindError::Channel)?;
        self.bind_io(io).await
    }

    /// Starts an endpoint over a socket of your own: one with other options, or one that does something to the
    /// packets.
    ///
    /// # Errors
    ///
    /// As [`bind`](Self::bind), but for the socket.
    pub async fn bind_io(self, io: impl PacketIo + 'static) -> Result<Endpoint, BindError> {
        let runtime = tokio::runtime::Handle::try_current().map_err(|_| BindError::NoRuntime)?;
        let Assembled { shared, descriptors } = self.assemble(io)?;
        let readiness = Readiness::new(&shared, descriptors).map_err(BindError::System)?;
        let driving = driver::run(Arc::clone(&shared), readiness);
        // What its associations do belongs to what binds it.
        #[cfg(feature = "tracing")]
        let driving = tracing::Instrument::in_current_span(driving);
        runtime.spawn(driving);
        Ok(Endpoint::of(shared))
    }

    /// Binds a raw socket at the configured port, or at one that is free.
    fn at_port<T>(&mut self, bind: impl Fn(SctpPort) -> Result<T, RawIpError>) -> Result<T, BindError> {
        let mut attempts = PORT_ATTEMPTS;
        loop {
            self.choose_port().map_err(BindError::System)?;
            match bind(self.config.port) {
                Err(RawIpError::PortInUse { .. })
                    if attempts > 1 && self.port_choice == PortChoice::Dynamic =>
                {
                    attempts -= 1;
                }
                bound => return Ok(bound?),
            }
        }
    }
}

/// Ports that are tried before the last error is told.
const PORT_ATTEMPTS: u32 = 16;

#[cfg(test)]
mod tests;

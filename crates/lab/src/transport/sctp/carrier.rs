//! The carriers of SCTP packets: UDP, or IP itself.

use core::time::Duration;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use sctp::{Association, AssociationConfig, BindError, Destination, Endpoint, EndpointBuilder, SctpPort};

/// A carrier of SCTP packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Carrier {
    /// UDP carries them, at these ports.
    Udp(EncapsulationPorts),
    /// IP itself carries them, as protocol 132.
    Ip,
}

/// UDP ports that carry SCTP (RFC 6951).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EncapsulationPorts {
    /// Ours; 0 lets the system choose. Default 0.
    pub local: u16,
    /// The server's UDP port. Default 9899, the registered one.
    pub remote: u16,
}

impl Default for EncapsulationPorts {
    fn default() -> Self {
        Self { local: 0, remote: 9899 }
    }
}

impl Carrier {
    /// Binds a client's endpoint to any address of the families of the server's addresses `to`, which are one at least.
    ///
    /// # Errors
    ///
    /// The port is taken, or for IP protocol 132 the right to raw sockets is missing.
    pub async fn bind_client(
        self,
        builder: EndpointBuilder,
        to: &[SocketAddr],
    ) -> Result<Endpoint, BindError> {
        let any_v4 = IpAddr::V4(Ipv4Addr::UNSPECIFIED);
        let any_v6 = IpAddr::V6(Ipv6Addr::UNSPECIFIED);
        let has_v6 = to.iter().any(SocketAddr::is_ipv6);
        match self {
            // Unspecified IPv6 serves IPv4 too.
            Self::Udp(ports) => {
                builder.bind(SocketAddr::new(if has_v6 { any_v6 } else { any_v4 }, ports.local)).await
            }
            Self::Ip => {
                let has_v4 = to.iter().any(SocketAddr::is_ipv4);
                let used = [(has_v4, any_v4), (has_v6, any_v6)].into_iter().filter(|(is_used, _)| *is_used);
                builder.bind_ip(&used.map(|(_, any)| any).collect::<Vec<_>>()).await
            }
        }
    }

    /// Opens an association with the server at `to`, one address at least, all with the same port.
    ///
    /// # Errors
    ///
    /// The reason in words: nobody answers in time, the network reports that nobody is there, or the server refuses.
    pub async fn associate(
        self,
        endpoint: &Endpoint,
        to: &[SocketAddr],
        config: AssociationConfig,
    ) -> Result<Association, String> {
        let port = to.first().map_or(0, SocketAddr::port);
        let port = SctpPort::try_from(port).map_err(|error| error.to_string())?;
        let peer: Vec<_> = to.iter().map(|to| self.destination(to.ip())).collect();
        let connecting = tokio::time::timeout(CONNECT_TIME, endpoint.connect_with(&peer, port, config));
        tokio::select! {
            connected = connecting => connected
                .map_err(|_late| format!("no answer within {CONNECT_TIME:?}"))?
                .map_err(|error| error.to_string()),
            () = self.reported_absent(endpoint, to.len()) => {
                Err("the network reports that nobody is there (ICMP)".to_owned())
            }
        }
    }

    /// Returns when the network has reported each address unreachable. Reports about protocol 132 may be about others.
    async fn reported_absent(self, endpoint: &Endpoint, addresses: usize) {
        let addresses = u64::try_from(addresses).unwrap_or(u64::MAX);
        let is_ours = matches!(self, Self::Udp(_));
        while !is_ours || endpoint.io_statistics().reported_unreachable < addresses {
            tokio::time::sleep(LOOK_FOR_REPORTS).await;
        }
    }

    /// Returns the destination of packets that are for a server's address.
    pub fn destination(self, address: IpAddr) -> Destination {
        match self {
            Self::Udp(ports) => sctp::udp(SocketAddr::new(address, ports.remote)),
            Self::Ip => sctp::ip(address),
        }
    }
}

/// As in "no answer at … in UDP port 9899".
impl core::fmt::Display for Carrier {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::Udp(ports) => write!(f, "in UDP port {}", ports.remote),
            Self::Ip => f.write_str("over IP protocol 132"),
        }
    }
}

/// How long a server may take to accept an association.
const CONNECT_TIME: Duration = Duration::from_secs(5);
const LOOK_FOR_REPORTS: Duration = Duration::from_millis(20);

//! The sockets where the agent speaks SIP.

use std::net::{IpAddr, SocketAddr};

use sctp::{BindError, Encapsulation, Endpoint, EndpointConfig, SctpPort};

/// The addresses where the agent speaks SIP. Peers are told these addresses, so that none may be a wildcard.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Listen {
    /// The addresses for UDP, one of each family.
    pub udp: Vec<SocketAddr>,
    /// The addresses for TCP, one of each family.
    pub tcp: Vec<SocketAddr>,
    /// The addresses for TLS over TCP, one of each family.
    pub tls: Vec<SocketAddr>,
    /// The endpoint of SCTP (RFC 4168); `None`: there is none.
    pub sctp: Option<SctpListen>,
}

/// The endpoint of SCTP: one, at all of its addresses, for associations of both directions.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SctpListen {
    /// The addresses of the endpoint; peers are told the first of each family in Via and Contact, and all of them by SCTP.
    pub addresses: Vec<IpAddr>,
    /// The SCTP port of the endpoint; default 5060.
    pub port: SctpPort,
    /// The UDP port in which SCTP travels here (RFC 6951); `None`: directly over IP, for which rights are needed.
    pub encapsulation_port: Option<u16>,
    /// The UDP port of peers that are connected to, where SCTP travels in UDP; default 9899.
    pub peer_encapsulation_port: u16,
}

impl SctpListen {
    /// Returns the addresses that peers are told: the first of each family, with the SCTP port.
    pub(crate) fn told(&self) -> impl Iterator<Item = SocketAddr> {
        let first = |is_ipv4| self.addresses.iter().find(move |address| address.is_ipv4() == is_ipv4);
        [first(true), first(false)].into_iter().flatten().map(|at| SocketAddr::new(*at, self.port.get()))
    }

    /// Returns how SCTP travels to peers.
    pub(crate) fn encapsulation_of_peers(&self) -> Encapsulation {
        match self.encapsulation_port {
            Some(_) => Encapsulation::Udp { port: self.peer_encapsulation_port },
            None => Encapsulation::Ip,
        }
    }

    /// Binds the endpoint, which holds no more associations than there may be connections.
    pub(crate) async fn bind(&self, connections: usize) -> Result<Endpoint, BindError> {
        let mut config = EndpointConfig::new(self.port);
        config.association_limit = connections;
        let builder = Endpoint::builder(config);
        match self.encapsulation_port {
            Some(port) => builder.bind_addresses(&self.addresses, port).await,
            None => builder.bind_ip(&self.addresses).await,
        }
    }
}

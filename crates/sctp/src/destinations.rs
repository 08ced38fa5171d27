//! The addresses of a peer, as programs have them.

use std::net::{IpAddr, SocketAddr};

use sctp_core::Destination;

/// The addresses at which a peer may be reached, the preferred one first: what [`Endpoint::connect`](crate::Endpoint::connect)
/// takes.
///
/// A socket address, or an IP address with a port, stands for SCTP in UDP at that UDP port (RFC 6951), an IP address alone for
/// SCTP directly over IP. Arrays, slices and vectors of these are several addresses of one peer.
///
/// ```
/// use sctp::{Destination, Destinations};
/// use std::net::{IpAddr, SocketAddr};
///
/// let udp: SocketAddr = "192.0.2.1:9899".parse()?;
/// let ip: IpAddr = "192.0.2.1".parse()?;
/// assert_eq!(Destinations::from(udp), Destinations::from((ip, 9899)));
/// assert_eq!(Destinations::from(ip), Destinations::from([sctp::ip(ip)]));
/// let both: Vec<Destination> = vec!["192.0.2.1:9899".parse()?, "198.51.100.1:9899".parse()?];
/// assert_eq!(Destinations::from(&both).as_slice(), both);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Destinations(Vec<Destination>);

impl Destinations {
    /// Returns the addresses in their order.
    #[must_use]
    pub fn as_slice(&self) -> &[Destination] {
        &self.0
    }
}

impl From<Destination> for Destinations {
    fn from(destination: Destination) -> Self {
        Self(vec![destination])
    }
}

impl From<SocketAddr> for Destinations {
    fn from(address: SocketAddr) -> Self {
        Destination::from(address).into()
    }
}

impl From<IpAddr> for Destinations {
    fn from(address: IpAddr) -> Self {
        Destination::from(address).into()
    }
}

impl From<(IpAddr, u16)> for Destinations {
    fn from(address: (IpAddr, u16)) -> Self {
        SocketAddr::from(address).into()
    }
}

impl<T: Into<Destination>> From<Vec<T>> for Destinations {
    fn from(addresses: Vec<T>) -> Self {
        addresses.into_iter().collect()
    }
}

impl<T: Into<Destination> + Copy> From<&Vec<T>> for Destinations {
    fn from(addresses: &Vec<T>) -> Self {
        addresses.iter().copied().collect()
    }
}

impl<T: Into<Destination> + Copy> From<&[T]> for Destinations {
    fn from(addresses: &[T]) -> Self {
        addresses.iter().copied().collect()
    }
}

impl<T: Into<Destination>, const N: usize> From<[T; N]> for Destinations {
    fn from(addresses: [T; N]) -> Self {
        addresses.into_iter().collect()
    }
}

impl<T: Into<Destination> + Copy, const N: usize> From<&[T; N]> for Destinations {
    fn from(addresses: &[T; N]) -> Self {
        addresses.iter().copied().collect()
    }
}

impl<T: Into<Destination>> FromIterator<T> for Destinations {
    fn from_iter<I: IntoIterator<Item = T>>(addresses: I) -> Self {
        Self(addresses.into_iter().map(Into::into).collect())
    }
}

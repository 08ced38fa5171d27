//! The choice of addresses: which are told to whom, and which one to send from. Pure decisions on address
//! scopes.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::transmit::is_unicast;

use smallvec::SmallVec;

/// How far an address reaches, rising.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Scope {
    /// The address reaches this host alone.
    Loopback,
    /// The address reaches one link.
    Link,
    /// One site: RFC 1918, RFC 6598, RFC 4193.
    Private,
    /// The address reaches every host.
    Global,
}

impl Scope {
    pub(crate) fn of(address: IpAddr) -> Self {
        match address {
            IpAddr::V4(v4) if v4.is_loopback() => Self::Loopback,
            IpAddr::V4(v4) if v4.is_link_local() => Self::Link,
            // RFC 6598: addresses shared behind a carrier's NAT.
            IpAddr::V4(v4) if v4.is_private() || (v4.octets()[0] == 100 && v4.octets()[1] & 0xc0 == 64) => {
                Self::Private
            }
            IpAddr::V6(v6) if v6.is_loopback() => Self::Loopback,
            IpAddr::V6(v6) if v6.is_unicast_link_local() => Self::Link,
            IpAddr::V6(v6) if v6.is_unique_local() => Self::Private,
            IpAddr::V4(_) | IpAddr::V6(_) => Self::Global,
        }
    }

    /// Returns whether a peer that is reached in scope `peer` may be told of an address of this scope.
    ///
    /// A narrower address is of no use to it, and none of its business: it would send to whoever has that address
    /// where it is. A link-local one is told to the same link alone, and a loopback one to the same host alone.
    pub(crate) fn may_be_listed_to(self, peer: Self) -> bool {
        match self {
            Self::Loopback => peer == Self::Loopback,
            Self::Link => peer == Self::Link,
            Self::Private => peer <= Self::Private,
            Self::Global => true,
        }
    }
}

/// Returns the local addresses to list in INIT or INIT ACK (RFC 9260 §5.1.2) to a peer at these addresses: none
/// if fewer than two are left, for the source address says it then, unless the packet leaves from another one,
/// `from`, because the peer knew that. With several peer addresses the widest scope counts.
pub(crate) fn listed(
    locals: &[IpAddr],
    from: Option<IpAddr>,
    peer: impl Iterator<Item = IpAddr>,
) -> SmallVec<[IpAddr; 2]> {
    if locals.is_empty() {
        return SmallVec::new();
    }
    let widest = peer.map(Scope::of).max().unwrap_or(Scope::Global);
    let fits = |address: &&IpAddr| Scope::of(**address).may_be_listed_to(widest);
    let mut listed: SmallVec<[IpAddr; 2]> = locals.iter().filter(fits).copied().collect();
    let says_it = |only: &IpAddr| from.is_none_or(|from| from == *only);
    if listed.len() < 2 && listed.iter().all(says_it) {
        listed.clear();
    }
    listed
}

/// Returns whether a peer may list this address: an address packets can be sent to, and not of a narrower reach
/// than the one it writes from.
pub(crate) fn is_usable(address: IpAddr, source: IpAddr) -> bool {
    is_unicast(address) && Scope::of(address).may_be_listed_to(Scope::of(source))
}

/// Returns the address of all zeros, of the family of this one.
pub(crate) fn unspecified_like(address: IpAddr) -> IpAddr {
    match address {
        IpAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
        IpAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
    }
}

/// Returns the local address to send to `destination` from, as long as the peer has not shown on which one it
/// reaches us.
///
/// Of the same family, in this order: the same scope before another; the longest common prefix with the destination
/// (RFC 6724 §5, rule 8); and where these leave a choice the `ordinal`-th in turn, so that the paths of hosts with
/// equal numbers of interfaces use them all. `None` leaves it to the routing table.
pub(crate) fn source_for(destination: IpAddr, locals: &[IpAddr], ordinal: usize) -> Option<IpAddr> {
    if locals.is_empty() {
        return None;
    }
    let scope = Scope::of(destination);
    let rank = |local: &IpAddr| (Scope::of(*local) == scope, common_prefix_bits(*local, destination));
    let same_family = || locals.iter().filter(|local| local.is_ipv4() == destination.is_ipv4());
    let best = same_family().map(rank).max()?;
    let ties: SmallVec<[IpAddr; 4]> = same_family().filter(|local| rank(local) == best).copied().collect();
    ties.get(ordinal % ties.len().max(1)).copied()
}

fn common_prefix_bits(one: IpAddr, other: IpAddr) -> u32 {
    (bits(one) ^ bits(other)).leading_zeros()
}

fn bits(address: IpAddr) -> u128 {
    let v6 = match address {
        IpAddr::V4(v4) => v4.to_ipv6_mapped(),
        IpAddr::V6(v6) => v6,
    };
    Ipv6Addr::to_bits(v6)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ip(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    #[test]
    fn scopes_of_both_families() {
        let rows = [
            ("127.0.0.1", Scope::Loopback),
            ("::1", Scope::Loopback),
            ("169.254.1.1", Scope::Link),
            ("fe80::1", Scope::Link),
            ("10.1.2.3", Scope::Private),
            ("172.16.0.1", Scope::Private),
            ("192.168.0.1", Scope::Private),
            ("100.64.0.1", Scope::Private),
            ("fd00::1", Scope::Private),
            ("100.128.0.1", Scope::Global),
            ("192.0.2.1", Scope::Global),
            ("2001:db8::1", Scope::Global),
        ];
        for (address, scope) in rows {
            assert_eq!(Scope::of(ip(address)), scope, "{address}");
        }
    }

    /// RFC 9260 §5.1.2 leaves it to us: rows are what may be listed, columns whom to.
    #[test]
    fn narrow_addresses_are_not_told_to_those_who_cannot_use_them() {
        use Scope::{Global, Link, Loopback, Private};
        let table = [
            (Loopback, [true, false, false, false]),
            (Link, [false, true, false, false]),
            (Private, [true, true, true, false]),
            (Global, [true, true, true, true]),
        ];
        for (address, row) in table {
            for (peer, expected) in [Loopback, Link, Private, Global].into_iter().zip(row) {
                assert_eq!(address.may_be_listed_to(peer), expected, "{address:?} to {peer:?}");
            }
        }
    }

    #[test]
    fn a_list_has_at_least_two_addresses_and_the_widest_destination_decides() {
        let locals = ["127.0.0.1", "10.0.0.1", "192.0.2.1", "2001:db8::1", "fe80::1"].map(ip);
        let to = |peers: &[&str]| listed(&locals, None, peers.iter().map(|peer| ip(peer))).to_vec();
        assert_eq!(to(&["10.0.0.9"]), ["10.0.0.1", "192.0.2.1", "2001:db8::1"].map(ip));
        assert_eq!(to(&["198.51.100.1"]), ["192.0.2.1", "2001:db8::1"].map(ip));
        assert_eq!(to(&["10.0.0.9", "198.51.100.1"]), ["192.0.2.1", "2001:db8::1"].map(ip));
        let to = |peer: &str, from| listed(&locals[..3], from, core::iter::once(ip(peer))).to_vec();
        assert!(to("198.51.100.1", None).is_empty(), "one says nothing new");
        assert!(to("198.51.100.1", Some(ip("192.0.2.1"))).is_empty());
        assert_eq!(
            to("198.51.100.1", Some(ip("192.0.2.7"))),
            [ip("192.0.2.1")],
            "the answer leaves from elsewhere"
        );
        assert!(listed(&[], None, [ip("10.0.0.9")].into_iter()).is_empty());
    }

    #[test]
    fn addresses_nobody_can_send_to_are_not_usable() {
        let usable = |address| is_usable(ip(address), ip("198.51.100.1"));
        assert!(usable("192.0.2.7") && usable("2001:db8::7"));
        for address in ["0.0.0.0", "::", "224.0.0.1", "ff02::1", "255.255.255.255", "127.0.0.1", "10.0.0.1"] {
            assert!(!usable(address), "{address}");
        }
        assert!(is_usable(ip("127.0.0.2"), ip("127.0.0.1")));
    }

    #[test]
    fn source_is_of_the_family_then_scope_then_prefix_then_in_turn() {
        let locals = ["10.0.0.1", "10.0.1.1", "192.0.2.1", "2001:db8::1", "fd00::1"].map(ip);
        let rows = [
            ("10.0.1.2", 0, Some("10.0.1.1")),
            ("10.0.0.2", 1, Some("10.0.0.1")),
            ("172.16.0.1", 0, Some("10.0.0.1")),
            ("172.16.0.1", 1, Some("10.0.1.1")),
            ("198.51.100.1", 3, Some("192.0.2.1")),
            ("2001:db8:1::1", 0, Some("2001:db8::1")),
            ("fd00:1::1", 0, Some("fd00::1")),
        ];
        for (destination, ordinal, expected) in rows {
            assert_eq!(source_for(ip(destination), &locals, ordinal), expected.map(ip), "{destination}");
        }
        assert_eq!(source_for(ip("2001:db8::2"), &locals[..3], 0), None);
    }
}

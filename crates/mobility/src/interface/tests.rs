use super::*;

fn interface(link: Option<LinkState>, addresses: &[(&str, Usability)]) -> Interface {
    let link = link.map(|state| Link { name: "eth0".parse().unwrap(), state });
    let addresses = addresses.iter().map(|(text, usability)| (text.parse().unwrap(), *usability)).collect();
    Interface { link, addresses, ..Interface::default() }
}

/// Row by row: link, addresses, state.
#[test]
fn state_follows_from_the_facts_whatever_their_order_was() {
    use {InterfaceState as State, LinkState as Link, Usability::*};
    let global = [("192.0.2.1", Preferred)];
    let rows: [(_, &[_], _); 9] = [
        (None, &[], State::Absent),
        (None, &global, State::Absent),
        (Some(Link::Down), &global, State::Down),
        (Some(Link::Up), &global, State::Up),
        (Some(Link::Operational), &[], State::Associated),
        (Some(Link::Operational), &global, State::Addressed),
        (Some(Link::Operational), &[("2001:db8::1", Tentative)], State::Associated),
        (Some(Link::Operational), &[("2001:db8::1", Deprecated)], State::Addressed),
        (Some(Link::Operational), &[("fe80::1", Preferred), ("127.0.0.1", Preferred)], State::Associated),
    ];
    for (link, addresses, expected) in rows {
        assert_eq!(interface(link, addresses).state(), expected, "{link:?} {addresses:?}");
    }
}

/// RFC 4861 §6.3.4: an advertised router counts until its lifetime is over.
#[test]
fn advertised_router_is_a_default_route_of_ipv6_for_its_lifetime() {
    let mut interface = interface(Some(LinkState::Operational), &[]);
    let until = Instant::from_millis(1_000);
    interface.router_until = Some(until);
    assert!(interface.has_default_route(Instant::from_millis(999), Family::V6));
    assert!(!interface.has_default_route(until, Family::V6));
    assert!(!interface.has_default_route(Instant::EPOCH, Family::V4));
}

use super::*;
use crate::event::{LinkState, Usability};

fn at(millis: u64) -> Instant {
    Instant::from_millis(millis)
}

fn id(index: u32) -> InterfaceId {
    InterfaceId::new(index)
}

fn ip(text: &str) -> IpAddr {
    text.parse().unwrap()
}

fn link(index: u32, state: LinkState) -> Event {
    Event::Link { interface: id(index), name: format!("eth{index}").parse().unwrap(), state }
}

fn address(index: u32, text: &str) -> Event {
    Event::Address { interface: id(index), address: ip(text), usability: Usability::Preferred }
}

fn told(now: Instant, events: impl IntoIterator<Item = Event>) -> Host {
    let mut host = Host::new(Damping::default());
    events.into_iter().for_each(|event| host.handle_event(now, event).unwrap());
    host
}

#[test]
fn interface_comes_all_the_way_and_goes_back_by_what_is_told_of_it() {
    let (mut host, first) = (Host::new(Damping::default()), ip("192.0.2.1"));
    let mut steps = vec![
        (link(1, LinkState::Down), InterfaceState::Down),
        (link(1, LinkState::Up), InterfaceState::Up),
        (link(1, LinkState::Operational), InterfaceState::Associated),
        (address(1, "192.0.2.1"), InterfaceState::Addressed),
        (Event::Verified { address: first }, InterfaceState::Verified),
        (Event::Refuted { address: first }, InterfaceState::Addressed),
        (Event::Verified { address: first }, InterfaceState::Verified),
    ];
    // A new network may be behind the link when it comes back.
    steps.extend([
        (link(1, LinkState::Up), InterfaceState::Up),
        (link(1, LinkState::Operational), InterfaceState::Addressed),
        (Event::AddressGone { interface: id(1), address: first }, InterfaceState::Associated),
        (Event::LinkGone { interface: id(1) }, InterfaceState::Absent),
    ]);
    for (step, (event, expected)) in (0..).zip(steps) {
        host.handle_event(at(step), event.clone()).unwrap();
        assert_eq!(host.settle(at(step)).state(id(1)), expected, "after {event:?}");
    }
}

#[test]
fn address_before_its_link_and_after_it_counts_while_both_are_there() {
    let mut host = told(at(1), [address(1, "192.0.2.1")]);
    assert_eq!(host.settle(at(1)).usable().count(), 0);
    host.handle_event(at(2), link(1, LinkState::Operational)).unwrap();
    assert_eq!(host.settle(at(2)).usable().collect::<Vec<_>>(), [ip("192.0.2.1")]);
    host.handle_event(at(3), Event::LinkGone { interface: id(1) }).unwrap();
    assert_eq!(host.settle(at(3)).usable().count(), 0);
    let gone = Event::AddressGone { interface: id(1), address: ip("192.0.2.1") };
    host.handle_event(at(4), gone).unwrap();
    host.settle(at(60_000));
    assert!(host.interfaces.is_empty(), "nothing is left to remember");
}

#[test]
fn what_is_beyond_the_bounds_is_refused_and_counted() {
    let mut host = Host::new(Damping::default());
    for index in 0..64 {
        host.handle_event(at(1), link(index, LinkState::Up)).unwrap();
    }
    assert_eq!(host.handle_event(at(1), link(64, LinkState::Up)), Err(Refused::TooManyInterfaces));
    for last in 0..16 {
        host.handle_event(at(1), address(0, &format!("10.0.0.{last}"))).unwrap();
    }
    assert_eq!(host.handle_event(at(1), address(0, "10.0.0.16")), Err(Refused::TooManyAddresses));
    assert_eq!(host.handle_event(at(1), address(0, "10.0.0.1")), Ok(()), "it is known already");
    let refused = RefusedEvents { too_fast: 0, too_many_interfaces: 1, too_many_addresses: 1 };
    assert_eq!((host.refused(), host.needs_reading()), (refused, false));
}

#[test]
fn more_events_than_a_second_may_have_are_refused_until_everything_is_read_anew() {
    let mut host = Host::new(Damping::default());
    let flap =
        |count: u32| link(1, if count.is_multiple_of(2) { LinkState::Operational } else { LinkState::Up });
    let taken = (0..5_000).filter(|count| host.handle_event(at(1_000), flap(*count)).is_ok()).count();
    assert_eq!((taken, host.refused().too_fast, host.needs_reading()), (1_000, 4_000, true));
    // A tenth of a second later there is room for a tenth of them.
    let taken = (0..5_000).filter(|count| host.handle_event(at(1_100), flap(*count)).is_ok()).count();
    assert_eq!(taken, 100);
    host.read_anew(at(1_101), [link(2, LinkState::Operational), address(2, "192.0.2.1")]);
    let settled = host.settle(at(1_101));
    assert_eq!(settled.state(id(1)), InterfaceState::Absent);
    assert_eq!(settled.state(id(2)), InterfaceState::Addressed);
    assert!(!host.needs_reading());
}

#[test]
fn reading_anew_keeps_what_was_measured_of_addresses_that_are_still_there() {
    let mut host = told(at(1), [link(1, LinkState::Operational), address(1, "192.0.2.1")]);
    host.handle_event(at(1), Event::Verified { address: ip("192.0.2.1") }).unwrap();
    host.read_anew(at(2), [link(1, LinkState::Operational), address(1, "192.0.2.1")]);
    assert_eq!(host.settle(at(2)).state(id(1)), InterfaceState::Verified);
    host.read_anew(at(3), [link(1, LinkState::Operational)]);
    assert_eq!(host.settle(at(3)).state(id(1)), InterfaceState::Associated);
}

#[test]
fn interface_that_flaps_ten_times_a_second_is_damped_until_it_is_quiet() {
    let mut host = told(at(0), [address(1, "192.0.2.1")]);
    for count in 0..20 {
        let state = if count % 2 == 0 { LinkState::Operational } else { LinkState::Up };
        host.handle_event(at(count * 50), link(1, state)).unwrap();
        host.settle(at(count * 50));
    }
    host.handle_event(at(1_000), link(1, LinkState::Operational)).unwrap();
    host.settle(at(1_000));
    let until = host.poll_timeout().unwrap();
    assert!(until > at(1_000) && until <= at(950 + 10_000), "{until:?}");
    let settled = host.settle(until);
    assert!(settled.interfaces().all(|(_, interface)| settled.damped_until(interface).is_none()));
}

#[test]
fn every_interface_is_listed_with_its_name_as_far_as_its_link_is_known() {
    let mut host = told(at(5), [link(2, LinkState::Up), address(7, "192.0.2.1")]);
    let host = host.settle(at(5));
    let found: Vec<_> = host
        .states()
        .map(|(interface, name, state)| (interface.index(), name.map(|name| name.as_str().to_owned()), state))
        .collect();
    assert_eq!(found, [(2, Some("eth2".to_owned()), InterfaceState::Up), (7, None, InterfaceState::Absent)]);
}

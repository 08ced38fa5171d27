use core::net::Ipv4Addr;

use simco::{
    Direction, EnableParameters, EnableParity, GroupId, Location, NatMode, PolicyRuleId, ReserveParameters,
    ReserveParity, TransportProtocol,
};

use super::*;

fn tuple(location: Location, last: u8, port: u16) -> AddressTuple {
    AddressTuple::host(location, TransportProtocol::UDP, Ipv4Addr::new(192, 0, 2, last).into(), port, 2)
}

fn rule(kind: RuleKind) -> PolicyRule {
    PolicyRule {
        id: PolicyRuleId::new(7),
        owner: Owner::new(&[b'a'; 255]).unwrap(),
        created: Instant::from_millis(7),
        deadline: Instant::from_millis(5000),
        kind,
    }
}

fn assert_kept(rule: &PolicyRule) {
    let octets = encode(rule).unwrap();
    assert_eq!(decode(&octets, rule.deadline).as_ref(), Ok(rule));
    for end in 0..octets.len() {
        decode(&octets[..end], rule.deadline).unwrap_err();
    }
}

#[test]
fn a_pinhole_is_kept_with_its_translation() {
    let outside = tuple(Location::OUTSIDE, 1, 4000);
    for (inside, twice) in [(None, false), (Some(tuple(Location::INSIDE, 2, 6000)), true)] {
        let translation = Translation {
            protocol: TransportProtocol::UDP,
            outside: mapping(&outside).unwrap(),
            inside: inside.as_ref().filter(|_| twice).and_then(mapping),
        };
        assert_kept(&rule(RuleKind::Enable(Pinhole {
            group: GroupId::new(3),
            parameters: EnableParameters { parity: EnableParity::Same, direction: Direction::Inbound },
            internal: tuple(Location::INTERNAL, 3, 1000),
            external: tuple(Location::EXTERNAL, 4, 2000),
            outside,
            inside,
            translation: Some(translation),
        })));
    }
}

#[test]
fn a_reservation_is_kept_with_what_was_asked_for() {
    let outside = tuple(Location::OUTSIDE, 1, 4000);
    assert_kept(&rule(RuleKind::Reserve(Reservation {
        group: GroupId::new(3),
        parameters: ReserveParameters {
            nat_mode: Some(NatMode::Traditional),
            parity: ReserveParity::Even,
            inside_version: None,
            outside_version: Some(simco::IpVersion::V4),
            protocol: TransportProtocol::UDP,
            port_range: 2,
        },
        outside,
        inside: None,
        translation: Some(Translation {
            protocol: TransportProtocol::ANY,
            outside: mapping(&outside).unwrap(),
            inside: None,
        }),
    })));
}

#[test]
fn a_blockade_is_kept() {
    let any = |location| AddressTuple::protocols_only(location, TransportProtocol::UDP, simco::IpVersion::V6);
    let kind =
        RuleKind::Disable(Blockade { internal: any(Location::INTERNAL), external: any(Location::EXTERNAL) });
    assert_kept(&rule(kind));
}

//! Media over IPv6, and sides that listen at addresses of two families.

use super::translated::{descriptions, hang_up, open};
use super::*;

const OFFER_V6: &str = "c=IN IP6 fd00::3|t=0 0|m=audio 6000 RTP/AVP 0|";
const ANSWER_V6: &str = "c=IN IP6 2001:db8::9|t=0 0|m=audio 7000 RTP/AVP 0|";

/// Behind the only middlebox are networks of both families.
fn world(translators: &[usize]) -> World {
    let mut world = World::new();
    world.calls.settings.internal[0].push(Network::new("fd00::".parse().unwrap(), 8));
    world.calls.settings.translators = translators.iter().copied().collect();
    world
}

#[test]
fn media_over_ipv6_get_pinholes_of_their_own_family() {
    let mut world = world(&[]);
    let (offer, answer) = descriptions(&mut world, OFFER_V6, ANSWER_V6);
    assert!(offer.contains("c=IN IP6 fd00::3\r\n") && answer.contains("c=IN IP6 2001:db8::9\r\n"));
    assert_eq!(open(&world), ["0: 2001:db8::9:7000 from fd00::3", "0: fd00::3:6000 from Outside"]);
    hang_up(&mut world);
}

#[test]
fn a_translator_gives_out_addresses_of_ipv6_too() {
    let mut world = world(&[0]);
    let (offer, _) = descriptions(&mut world, OFFER_V6, ANSWER_V6);
    assert!(offer.contains("m=audio 20100 ") && offer.contains("c=IN IP6 2001:db8::1\r\n"), "{offer}");
    assert_eq!(open(&world), ["0: 2001:db8::9:7000 from fd00::3", "0: fd00::3:6000 from 2001:db8::9"]);
    hang_up(&mut world);
}

#[test]
fn each_stream_of_a_call_may_have_a_family_of_its_own() {
    for translators in [[].as_slice(), &[0]] {
        let mut world = world(translators);
        let both = |v4: &str, v6: &str| {
            format!("t=0 0|m=audio 6000 RTP/AVP 0|c=IN IP4 {v4}|m=video 6100 RTP/AVP 31|c=IN IP6 {v6}|")
        };
        let (offer, answer) = (both("10.1.8.3", "fd00::3"), both("198.51.100.9", "2001:db8::9"));
        descriptions(&mut world, &offer, &answer);
        assert_eq!(world.open.len(), 4);
        for (_, pinhole) in &world.open {
            if let Source::Host(host) = pinhole.from {
                assert_eq!(host.is_ipv4(), pinhole.towards.address.is_ipv4(), "{pinhole:?}");
            }
        }
        hang_up(&mut world);
    }
}

#[test]
fn an_answer_of_the_other_family_ends_the_call_with_488_and_early_it_is_no_answer() {
    for translators in [[].as_slice(), &[0]] {
        for (offer, answer) in [(OFFER, ANSWER_V6), (OFFER_V6, ANSWER)] {
            let mut world = world(translators);
            world.invite(offer);
            let (transaction, request) = world.received();
            world.respond(transaction, &request, Status::new(183).unwrap(), answer);
            let early = *world.told().1.unwrap();
            assert_eq!((early.status.code(), early.body.len()), (183, 0));
            world.respond(transaction, &request, Status::OK, answer);
            let (codes, refusal) = world.told();
            assert_eq!(codes, [488], "{:#?}", world.trace);
            assert!(refusal.unwrap().headers.first(&HeaderName::Reason).unwrap().contains("cause=488"));
            assert!(world.is_before("agent ACK", "agent BYE"));
            world.assert_nothing_is_left();
            assert_eq!(world.cause(), "bad_media");
        }
    }
}

#[test]
fn where_media_cross_nothing_families_are_their_own_affair() {
    let mut world = World::new();
    world.calls.settings.internal.clear();
    let (_, answer) = descriptions(&mut world, OFFER, ANSWER_V6);
    assert!(answer.contains("c=IN IP6 2001:db8::9\r\n"));
    hang_up(&mut world);
}

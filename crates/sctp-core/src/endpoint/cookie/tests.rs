use super::*;
use crate::capabilities::Capability;
use crate::config::{AssociationConfig, HmacPreference, Offer};

const LIFE: Duration = Duration::from_secs(60);

fn keys() -> CookieKeys {
    CookieKeys::new(Rng::new(&[7; 32]), LIFE, Duration::from_secs(10))
}

fn cookie() -> StateCookie {
    StateCookie {
        expires_at: Instant::from_millis(1234),
        issued_at: Instant::from_millis(1000),
        local_port: SctpPort::new(7626).unwrap(),
        peer_port: SctpPort::new(5001).unwrap(),
        local_tag: VerificationTag::new(0x0102_0304),
        peer_tag: VerificationTag::new(0x0506_0708),
        tie_tag: 99,
        local_initial_tsn: Tsn::new(u32::MAX),
        peer_initial_tsn: Tsn::new(0),
        peer_window: 65_536,
        agreed: Negotiated {
            outbound: 6,
            inbound: 10,
            capabilities: Capabilities::NONE.with(Capability::Reconfiguration),
        },
        key_material: None,
        source: Destination {
            address: [10, 0, 0, 1].into(),
            encapsulation: Encapsulation::Udp { port: 9899 },
        },
        addresses: SmallVec::from_iter([IpAddr::from([10, 0, 0, 1]), IpAddr::from(Ipv6Addr::LOCALHOST)]),
        notes: PeerNotes { addresses_ignored: 3, ..PeerNotes::default() },
    }
}

/// With what authentication needs: RANDOM, CHUNKS, HMAC-ALGO of both sides (RFC 4895 §6.3).
fn cookie_with_keys(peer_lists: &[u8]) -> StateCookie {
    let lists = [0, 3, 0xc1, 0x80, 2, 0, 3, 0, 1];
    let octets = [&[1; 32][..], &lists, &[2; 32], peer_lists].concat();
    let mut cookie = cookie();
    cookie.agreed.capabilities = cookie.agreed.capabilities.with(Capability::Authentication);
    cookie.key_material = KeyMaterial::decode(&mut &octets[..], peer_lists.is_empty(), None);
    assert!(cookie.key_material.is_some());
    cookie
}

fn lists_of(hmacs: HmacPreference) -> Option<Arc<AnnouncedLists>> {
    let mut config = AssociationConfig::default();
    config.extensions.authentication = Offer::On;
    config.authentication.hmacs = hmacs;
    AnnouncedLists::ours(&config)
}

#[test]
fn signed_cookie_with_key_material_comes_back_whole() {
    let mut keys = keys();
    for peer_lists in [&[][..], &[0, 0, 1, 0, 1], &[0, 0, 2, 0, 3, 0, 1], &[0, 1, 2, 0, 3, 0, 1]] {
        let cookie = cookie_with_keys(peer_lists);
        let octets = keys.sign(Instant::EPOCH, &cookie);
        assert_eq!(keys.verify(Instant::from_millis(20), &octets, None), Ok(cookie.clone()));
        for announced in [HmacPreference::Sha256First, HmacPreference::Sha1Only].map(lists_of) {
            let read = keys.verify(Instant::from_millis(20), &octets, announced.as_ref());
            assert_eq!(read, Ok(cookie.clone()), "whatever is announced here");
        }
        never_parses_truncated(&cookie);
    }
}

/// What two ends of this stack agree on by the default profile, over UDP and IPv4: one block of the hash.
#[test]
fn usual_cookie_and_the_octet_before_it_fit_a_block_of_the_hash() {
    let mut cookie = cookie_with_keys(&[]);
    (cookie.tie_tag, cookie.notes.addresses_ignored) = (0, 0);
    cookie.addresses = SmallVec::from_elem(cookie.source.address, 1);
    let lists = [&[1; 32][..], &[0, 0, 2, 0, 3, 0, 1], &[2; 32]].concat();
    cookie.key_material = KeyMaterial::decode(&mut &lists[..], true, None);
    assert_eq!(cookie.encode().len(), 124);
}

fn never_parses_truncated(cookie: &StateCookie) {
    let body = cookie.encode();
    for len in 0..body.len() {
        assert_eq!(StateCookie::decode(&body[..len], None), None, "length {len}");
    }
    assert_eq!(StateCookie::decode(&[&body[..], &[0]].concat(), None), None, "an octet too many");
}

#[test]
fn signed_cookie_comes_back_whole() {
    let mut keys = keys();
    let octets = keys.sign(Instant::EPOCH, &cookie());
    assert_eq!(keys.verify(Instant::from_millis(20), &octets, None), Ok(cookie()));
}

#[test]
fn robustness_02_any_flipped_bit_is_refused() {
    let mut keys = keys();
    let octets = keys.sign(Instant::EPOCH, &cookie());
    for bit in 0..octets.len() * 8 {
        let mut forged = octets.clone();
        forged[bit / 8] ^= 1 << (bit % 8);
        assert_eq!(keys.verify(Instant::EPOCH, &forged, None), Err(CookieRefused::Signature), "bit {bit}");
    }
}

#[test]
fn robustness_02_any_truncation_is_refused() {
    let mut keys = keys();
    let octets = keys.sign(Instant::EPOCH, &cookie());
    for len in 0..octets.len() {
        let refused = keys.verify(Instant::EPOCH, &octets[..len], None);
        assert!(
            matches!(refused, Err(CookieRefused::Signature | CookieRefused::Length)),
            "length {len}: {refused:?}"
        );
    }
}

/// Nothing is hashed that cannot be ours: the work of a forged cookie does not grow with it.
#[test]
fn robustness_37_longest_cookie_fits_the_bound_and_what_is_longer_is_refused_unread() {
    let mut keys = keys();
    let lists = |octet: u8| [&[1, 1][..], &[octet; 256], &[32], &[octet; 64]].concat();
    let octets = [&[1; 32][..], &lists(1), &[2; 32], &lists(2)].concat();
    let mut longest = cookie();
    longest.agreed.capabilities = longest.agreed.capabilities.with(Capability::Authentication);
    longest.key_material = KeyMaterial::decode(&mut &octets[..], false, None);
    assert!(longest.key_material.is_some());
    longest.addresses = (0..8).map(|last| IpAddr::from(Ipv6Addr::from_bits(last))).collect();
    longest.source.address = Ipv6Addr::LOCALHOST.into();
    longest.notes =
        PeerNotes { addresses_ignored: 1, primary: Some(Ipv6Addr::LOCALHOST.into()), adaptation: Some(7) };
    let signed = keys.sign(Instant::EPOCH, &longest);
    assert!(signed.len() <= MAX_BYTES, "{}", signed.len());
    assert_eq!(keys.verify(Instant::EPOCH, &signed, None), Ok(longest));
    let padded = [&[0; 65_535][..], &signed].concat();
    assert_eq!(keys.verify(Instant::EPOCH, &padded, None), Err(CookieRefused::Length));
}

/// RFC 9260 §5.1.5, step 1: the time a cookie tells says with which key, and only with that it counts.
#[test]
fn cookie_counts_with_the_key_of_its_time_alone() {
    let mut keys = keys();
    let made_at = |ms| StateCookie { issued_at: Instant::from_millis(ms), ..cookie() };
    let signed: Vec<_> = [0, 60_000, 120_000]
        .into_iter()
        .map(|ms| keys.sign(Instant::from_millis(ms), &made_at(ms)))
        .collect();
    let now = Instant::from_millis(121_000);
    assert!(signed.iter().all(|octets| keys.verify(now, octets, None).is_ok()));
    let late = keys.sign(now, &made_at(1000));
    assert_eq!(keys.verify(now, &late, None), Err(CookieRefused::Signature));
}

#[test]
fn truncated_body_never_parses_to_a_cookie_that_lacks_fields() {
    let alone = SmallVec::from_elem(IpAddr::from([10, 0, 0, 1]), 1);
    for addresses in [cookie().addresses, alone, SmallVec::new()] {
        never_parses_truncated(&StateCookie { addresses, ..cookie() });
    }
}

/// RFC 9260 §5.2.6: the owner of a cookie that is merely too old is told so, which takes a key that still knows it.
#[test]
fn cookie_is_recognised_for_three_lives_and_then_forgotten() {
    let mut keys = keys();
    let octets = keys.sign(Instant::from_millis(59_000), &cookie());
    for millis in [61_000, 122_000, 183_000, 239_000] {
        assert!(keys.verify(Instant::from_millis(millis), &octets, None).is_ok(), "{millis}");
    }
    assert_eq!(keys.verify(Instant::from_millis(300_000), &octets, None), Err(CookieRefused::Signature));
    assert!(keys.keys.len() <= 4, "keys do not pile up");
}

/// RFC 9260 §3.3.2.1.3: a wish, met within the bound.
#[test]
fn wish_for_a_longer_life_is_met_within_the_bound() {
    let (keys, at) = (keys(), Instant::from_millis);
    assert_eq!(keys.expiry(at(5), Duration::ZERO), at(60_005));
    assert_eq!(keys.expiry(at(5), Duration::from_secs(3)), at(63_005));
    assert_eq!(keys.expiry(at(5), Duration::from_millis(u64::from(u32::MAX))), at(70_005));
}

#[test]
fn wishes_of_the_peer_come_back_whole() {
    let mut keys = keys();
    for (primary, adaptation) in [
        (Some(IpAddr::from([10, 0, 0, 1])), None),
        (Some(Ipv6Addr::LOCALHOST.into()), Some(0)),
        (None, Some(u32::MAX)),
    ] {
        let notes = PeerNotes { primary, adaptation, ..PeerNotes::default() };
        let cookie = StateCookie { notes, ..cookie() };
        let octets = keys.sign(Instant::EPOCH, &cookie);
        assert_eq!(keys.verify(Instant::from_millis(20), &octets, None), Ok(cookie));
    }
}

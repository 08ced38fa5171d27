use super::*;

fn ip(last: u8) -> IpAddr {
    [10, 0, 0, last].into()
}

/// HB.Max.Burst is about what is asked from one address: nothing that went unanswered there delays what is asked from another one.
#[test]
fn unconfirmed_address_is_asked_at_once_from_an_address_that_is_new() {
    let (old, new, now) = (ip(1), ip(9), Instant::from_millis(1000));
    let config = AssociationConfig::default();
    let at = |last| Destination { address: ip(last), encapsulation: Encapsulation::Ip };
    let mut paths = PathSet::new(at(2), &[old], &config);
    assert_eq!(paths.add(at(3), PathState::Unconfirmed, &config), Added::New);
    let unconfirmed = paths.by_address(ip(3)).unwrap();
    assert_eq!(paths.verification_slot(now, unconfirmed, 1), VerificationSlot::Now);
    (0..5).for_each(|_| paths.path_mut(unconfirmed).back_off());
    assert!(matches!(paths.verification_slot(now, unconfirmed, 1), VerificationSlot::At(_)));
    assert_eq!(paths.on_local_down(old).into_iter().count(), 2);
    assert_eq!(paths.on_local_up(new).into_iter().count(), 2);
    let path = paths.path(unconfirmed);
    assert_eq!((path.source.address(), path.rto.rto()), (Some(new), config.rto.initial));
    assert_eq!(paths.verification_slot(now, unconfirmed, 1), VerificationSlot::Now);
    assert!(matches!(paths.verification_slot(now, unconfirmed, 1), VerificationSlot::At(_)));
}

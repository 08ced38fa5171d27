use proptest::prelude::*;

use super::*;

#[test]
fn serial_numbers_go_on_after_their_largest_value() {
    let last = Tsn::new(u32::MAX);
    assert_eq!(last.next(), Tsn::new(0));
    assert_eq!(Tsn::new(0).previous(), last);
    assert!(last.precedes(Tsn::new(0)));
    assert!(!Tsn::new(0).precedes(last));
    assert_eq!(last.distance(Tsn::new(4)), 5);
    assert!(Ssn::new(65535).precedes(Ssn::new(3)));
    assert_eq!(Ssn::new(65535).advance(2), Ssn::new(1));
}

#[test]
fn numbers_half_the_space_apart_have_no_order() {
    let (here, there) = (Ssn::new(5), Ssn::new(5 + 0x8000));
    assert!(!here.precedes(there));
    assert!(!there.precedes(here));
    assert!(here.precedes(there.previous()));
    assert!(there.next().precedes(here));
}

#[test]
fn port_zero_is_refused() {
    assert_eq!(SctpPort::try_from(0), Err(ZeroPort));
    assert_eq!(SctpPort::try_from(7626).map(SctpPort::get), Ok(7626));
}

#[test]
fn tags_show_in_hexadecimal() {
    assert_eq!(VerificationTag::new(0x1234).to_string(), "0x00001234");
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// RFC 1982 §3.2: of two different numbers exactly one precedes, unless they are half the space apart.
    #[test]
    fn exactly_one_of_two_numbers_precedes(a: u32, b: u32) {
        prop_assume!(a != b && a.wrapping_sub(b) != 1 << 31);
        let (a, b) = (Tsn::new(a), Tsn::new(b));
        prop_assert_ne!(a.precedes(b), b.precedes(a));
        prop_assert_eq!(a.advance(a.distance(b)), b);
    }
}

use proptest::prelude::*;

use super::*;

fn open(label: &str) -> ChannelConfig {
    ChannelConfig { label: label.to_owned(), ..ChannelConfig::default() }
}

/// RFC 8832 §5.1, the figure, octet by octet.
#[test]
fn open_has_the_layout_of_the_figure() {
    let config = ChannelConfig {
        label: "chat".to_owned(),
        protocol: "v1".to_owned(),
        delivery: Delivery::Unordered,
        reliability: Reliability::Lifetime(Duration::from_millis(0x0102_0304)),
        priority: Priority::HIGH,
    };
    let octets = Dcep::Open(config.clone()).encode().unwrap();
    assert_eq!(octets, &b"\x03\x82\x02\x00\x01\x02\x03\x04\x00\x04\x00\x02chatv1"[..]);
    assert_eq!(Dcep::decode(&octets), Ok(Dcep::Open(config)));
}

#[test]
fn ack_is_one_octet() {
    assert_eq!(Dcep::Ack.encode().unwrap(), &[2][..]);
    assert_eq!(Dcep::decode(&[2]), Ok(Dcep::Ack));
}

#[test]
fn what_is_no_message_is_named() {
    let good = Dcep::Open(open("label")).encode().unwrap();
    let changed = |at: usize, to: u8| {
        let mut octets = good.to_vec();
        octets[at] = to;
        Dcep::decode(&octets)
    };
    assert_eq!(Dcep::decode(&[]), Err(DcepError::TooShort { octets: 0, needed: 1 }));
    assert_eq!(Dcep::decode(&good[..11]), Err(DcepError::TooShort { octets: 11, needed: 12 }));
    assert_eq!(Dcep::decode(&good[..16]), Err(DcepError::TooShort { octets: 16, needed: 17 }));
    assert_eq!(changed(9, 4), Err(DcepError::TooLong { octets: 17, needed: 16 }));
    assert_eq!(changed(0, 1), Err(DcepError::UnknownMessage { kind: 1 }));
    assert_eq!(changed(1, 0x83), Err(DcepError::UnknownChannelType { kind: 0x83 }));
    assert_eq!(changed(12, 0xff), Err(DcepError::NotText));
}

#[test]
fn what_has_no_room_in_the_fields_is_refused() {
    let too_long = Dcep::Open(open(&"x".repeat(65_536))).encode();
    assert_eq!(too_long, Err(NotEncodable::NameTooLong { octets: 65_536 }));
    let lifetime = Duration::from_secs(5_000_000);
    let config = ChannelConfig { reliability: Reliability::Lifetime(lifetime), ..open("") };
    assert_eq!(Dcep::Open(config).encode(), Err(NotEncodable::LifetimeTooLong { lifetime }));
    let config = ChannelConfig { reliability: Reliability::Priority(1), ..open("") };
    assert_eq!(Dcep::Open(config).encode(), Err(NotEncodable::PriorityPolicy));
}

fn reliability() -> impl Strategy<Value = Reliability> {
    prop_oneof![
        Just(Reliability::Reliable),
        any::<u32>().prop_map(Reliability::Retransmissions),
        any::<u32>().prop_map(|millis| Reliability::Lifetime(Duration::from_millis(millis.into()))),
    ]
}

proptest! {
    #[test]
    fn decoding_undoes_encoding(
        label in ".{0,40}", protocol in ".{0,40}", priority: u16, is_ordered: bool, reliability in reliability(),
    ) {
        let delivery = if is_ordered { Delivery::Ordered } else { Delivery::Unordered };
        let config = ChannelConfig { label, protocol, delivery, reliability, priority: Priority(priority) };
        let octets = Dcep::Open(config.clone()).encode().unwrap();
        prop_assert_eq!(Dcep::decode(&octets), Ok(Dcep::Open(config)));
    }

    #[test]
    fn no_octets_can_do_harm(octets in proptest::collection::vec(any::<u8>(), 0..64)) {
        if let Ok(message) = Dcep::decode(&octets) {
            // An ACK may have a tail, which means nothing.
            let again = message.encode().unwrap();
            prop_assert!(octets.starts_with(&again));
        }
    }
}

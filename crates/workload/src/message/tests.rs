use proptest::prelude::*;

use super::*;

fn message(number: u64, sent: u64, octets: u32) -> Message {
    Message { number: MessageNumber(number), sent: SendTime(sent), size: MessageSize::new(octets).unwrap() }
}

#[test]
fn fields_lie_where_the_contract_puts_them() {
    let wire = message(0x0102_0304_0506_0708, 0x1112_1314_1516_1718, 24).encode();
    let expected =
        [0, 0, 0, 24, 1, 2, 3, 4, 5, 6, 7, 8, 0x11, 0x12, 0x13, 0x14, 0x15, 0x16, 0x17, 0x18, 0, 0, 0, 0];
    assert_eq!(wire[..], expected);
}

#[test]
fn sizes_out_of_bounds_are_refused() {
    assert_eq!(MessageSize::new(19), Err(MessageError::SizeOutOfRange { octets: 19 }));
    assert!(MessageSize::new(20).is_ok());
    assert!(MessageSize::new(1 << 20).is_ok());
    assert!(MessageSize::new((1 << 20) + 1).is_err());
    assert_eq!("64KiB".parse::<MessageSize>().map(MessageSize::get), Ok(65_536));
    assert!("64k".parse::<MessageSize>().is_err());
    assert!("4194305KiB".parse::<MessageSize>().is_err());
}

#[test]
fn a_wrong_length_field_and_a_dirty_fill_are_told_apart() {
    let mut wire = message(1, 2, 32).encode().to_vec();
    assert_eq!(Message::decode(&wire[..31]), Err(MessageError::LengthMismatch { field: 32, octets: 31 }));
    for offset in HEADER_BYTES..32 {
        wire[offset] = 1;
        assert_eq!(Message::decode(&wire), Err(MessageError::FillNotZero { offset }));
        wire[offset] = 0;
    }
    assert_eq!(Message::decode(&wire[..19]), Err(MessageError::Truncated { octets: 19 }));
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn decode_undoes_encode(number: u64, sent: u64, octets in 20u32..5000) {
        let original = message(number, sent, octets);
        let wire = original.encode();
        prop_assert_eq!(wire.len(), original.size.octets());
        prop_assert_eq!(Message::decode(&wire), Ok(original));
    }

    #[test]
    fn arbitrary_octets_never_panic(wire in proptest::collection::vec(any::<u8>(), 0..64)) {
        if let Ok(message) = Message::decode(&wire) {
            prop_assert_eq!(&message.encode()[..], &wire[..]);
        }
    }
}

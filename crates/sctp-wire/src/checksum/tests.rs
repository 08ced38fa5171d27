use proptest::prelude::*;

use super::*;

#[test]
fn published_vectors_hold() {
    let counting: Vec<u8> = (0..32).collect();
    let vectors: [(&[u8], u32); 4] = [
        (b"123456789", 0xE306_9283),
        (&[0; 32], 0x8A91_36AA),
        (&[0xFF; 32], 0x62A8_AB43),
        (&counting, 0x46DD_794E),
    ];
    for (octets, value) in vectors {
        assert_eq!(of_zeroed(octets), value, "{octets:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn an_independent_implementation_agrees(packet in prop::collection::vec(any::<u8>(), 12..2000)) {
        let mut zeroed = packet.clone();
        zeroed[8..12].fill(0);
        let expected = crc::Crc::<u32>::new(&crc::CRC_32_ISCSI).checksum(&zeroed);
        prop_assert_eq!(of_zeroed(&zeroed), expected);
        let (header, chunks) = packet.split_first_chunk().unwrap();
        let mut last = KnownHeader::default();
        prop_assert_eq!(of_received(header, chunks, &mut last), expected);
        prop_assert_eq!(of_received(header, chunks, &mut last), expected);
    }
}

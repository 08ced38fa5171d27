use super::*;

/// An IPv4 packet from 10.77.1.1 to 10.77.1.2.
fn v4(protocol: u8, payload: &[u8]) -> Vec<u8> {
    let mut packet = vec![0; 20];
    (packet[0], packet[9]) = (0x45, protocol);
    packet[2..4].copy_from_slice(&u16::try_from(20 + payload.len()).unwrap().to_be_bytes());
    packet[12..20].copy_from_slice(&[10, 77, 1, 1, 10, 77, 1, 2]);
    packet.extend(payload);
    packet
}

/// An IPv6 packet from fd77:1::1 to fd77:1::2.
fn v6(next: u8, payload: &[u8]) -> Vec<u8> {
    let mut packet = vec![0; 40];
    (packet[0], packet[6]) = (0x60, next);
    packet[4..6].copy_from_slice(&u16::try_from(payload.len()).unwrap().to_be_bytes());
    packet[8..12].copy_from_slice(&[0xfd, 0x77, 0, 1]);
    packet[24..28].copy_from_slice(&[0xfd, 0x77, 0, 1]);
    (packet[23], packet[39]) = (1, 2);
    packet.extend(payload);
    packet
}

/// A datagram from port 5000 to 5001 with the text `hello` and this checksum.
fn datagram(checksum: u16) -> Vec<u8> {
    let [high, low] = checksum.to_be_bytes();
    [&[0x13, 0x88, 0x13, 0x89, 0, 13, high, low][..], b"hello"].concat()
}

fn completed(mut packet: Vec<u8>) -> Vec<u8> {
    complete(&mut packet);
    packet
}

/// Computed by hand: 0x0a4d + 0x0101 + 0x0a4d + 0x0102 + 17 + 13.
const PREPARED_V4: u16 = 0x16bb;
/// 0xfd77 + 1 + 1 + 0xfd77 + 1 + 2 + 17 + 13, folded.
const PREPARED_V6: u16 = 0xfb12;

#[test]
fn prepared_datagram_gets_the_checksum_that_its_receiver_verifies() {
    // The words add up: ports 0x2711, length 0x000d, text 0x6865 + 0x6c6c + 0x6f00 = 0x143d1.
    let of_udp = 0x2711 + 0x0d + 0x0001_43d1;
    let v4_checksum = !fold(of_udp + u32::from(PREPARED_V4));
    assert_eq!(completed(v4(UDP, &datagram(PREPARED_V4))), v4(UDP, &datagram(v4_checksum)));
    assert_eq!(v4_checksum, 0x7e54);
    let v6_checksum = !fold(of_udp + u32::from(PREPARED_V6));
    assert_eq!(completed(v6(UDP, &datagram(PREPARED_V6))), v6(UDP, &datagram(v6_checksum)));
}

#[test]
fn prepared_segment_is_completed_behind_extension_headers_too() {
    let mut segment = vec![0; 21];
    segment[20] = 0xab;
    let pseudo = 0xfd77 + 1 + 1 + 0xfd77 + 1 + 2 + u32::from(TCP) + 21;
    segment[16..18].copy_from_slice(&fold(pseudo).to_be_bytes());
    let options = [&[TCP, 0, 1, 4, 0, 0, 0, 0][..], &segment].concat();
    let packet = completed(v6(DESTINATION_OPTIONS, &options));
    let expected = !fold(pseudo + 0xab00);
    assert_eq!(packet[48 + 16..48 + 18], expected.to_be_bytes());
    assert_eq!(fold(pseudo + sum(&packet[48..])), u16::MAX, "what a receiver finds");
}

#[test]
fn what_the_kernel_completed_stays_right_or_wrong() {
    for checksum in [0, 0x7e54, 0x7e55, 0xffff] {
        let packet = v4(UDP, &datagram(checksum));
        assert_eq!(completed(packet.clone()), packet);
    }
    let mut fragment = v4(UDP, &datagram(PREPARED_V4));
    fragment[6] = 0x20;
    assert_eq!(completed(fragment.clone()), fragment);
    let icmp = v4(1, &[8; 40]);
    assert_eq!(completed(icmp.clone()), icmp);
}

#[test]
fn udp_checksum_that_comes_out_as_zero_is_written_as_all_ones() {
    let mut payload = datagram(PREPARED_V4);
    // One word makes the whole sum 0xffff.
    payload[8..13].fill(0);
    let rest = fold(0x2711 + 0x0d + u32::from(PREPARED_V4));
    payload[8..10].copy_from_slice(&(!rest).to_be_bytes());
    assert_eq!(completed(v4(UDP, &payload))[26..28], [0xff, 0xff]);
}

#[test]
fn sctp_without_a_checksum_gets_its_crc() {
    let cookie_ack = [0x13, 0x88, 0x13, 0x89, 1, 2, 3, 4, 0, 0, 0, 0, 11, 0, 0, 4];
    let packet = completed(v4(SCTP, &cookie_ack));
    assert!(Packet::decode(&packet[20..], Checksum::Verify).is_ok());
    let mut wrong = v4(SCTP, &cookie_ack);
    wrong[28] = 1;
    assert_eq!(completed(wrong.clone()), wrong);
}

#[test]
fn truncated_packets_are_left_alone_and_do_not_panic() {
    for whole in
        [v4(UDP, &datagram(PREPARED_V4)), v6(UDP, &datagram(PREPARED_V6)), v6(HOP_BY_HOP, &[UDP, 255])]
    {
        for length in 0..whole.len() {
            let cut = whole[..length].to_vec();
            assert_eq!(completed(cut.clone()), cut);
        }
    }
    let mut long_header = v4(UDP, &datagram(PREPARED_V4));
    long_header[0] = 0x4f;
    assert_eq!(completed(long_header.clone()), long_header);
}
